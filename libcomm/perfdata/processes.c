// SPDX-License-Identifier: GPL-2.0-or-later
#include "processes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process_lru.h"

enum {
	PROCESSES_MAX = 1 << 16,
	THREADS_MAX = 1 << 18,
	MAPPINGS_MAX = 1 << 19, /* of all processes together */
	LINE_BYTES = PATH_MAX + 128,
};

struct process {
	struct comm_process_lru_entry lru;
	struct comm_mapping *map;
	size_t n;
};

struct thread {
	struct comm_process_lru_entry lru; /* by its own number */
	char name[16];
};

struct comm_perfdata_processes {
	struct comm_maps *maps;
	struct comm_process_lru process, thread;
	size_t n_mappings;
};

static void unmap_all(struct comm_perfdata_processes *processes, struct process *p)
{
	processes->n_mappings -= p->n;
	free(p->map);
	p->map = NULL;
	p->n = 0;
}

static void forget_process(void *ctx, struct comm_process_lru_entry *kept)
{
	unmap_all(ctx, (struct process *)kept);
}

int comm_perfdata_processes_create(struct comm_maps *maps, struct comm_perfdata_processes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->maps = maps;
	comm_process_lru_init(&(*ret)->process, 0, sizeof(struct process), forget_process, *ret);
	comm_process_lru_init(&(*ret)->thread, 0, sizeof(struct thread), NULL, NULL);
	return 0;
}

void comm_perfdata_processes_destroy(struct comm_perfdata_processes *processes)
{
	if (!processes)
		return;
	comm_process_lru_deinit(&processes->process);
	comm_process_lru_deinit(&processes->thread);
	free(processes);
}

static struct process *find(const struct comm_perfdata_processes *processes, uint32_t tgid)
{
	return comm_process_lru_known(&processes->process, tgid);
}

static struct process *get(struct comm_perfdata_processes *processes, uint32_t tgid)
{
	if (processes->process.n >= PROCESSES_MAX)
		return find(processes, tgid);
	return comm_process_lru_get(&processes->process, tgid);
}

/* The first mapping that ends behind addr. */
static size_t first_behind(const struct process *p, uint64_t addr)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < p->map[mid].end)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Puts a mapping in the place of what was there, of which pieces before and behind stay. */
static int insert(struct comm_perfdata_processes *processes, struct process *p,
		  const struct comm_mapping *m)
{
	size_t first = first_behind(p, m->start), behind = first, n = 0;
	struct comm_mapping piece[3], *map;

	while (behind < p->n && p->map[behind].start < m->end)
		behind++;
	if (first < behind && p->map[first].start < m->start) {
		piece[n] = p->map[first];
		piece[n++].end = m->start;
	}
	piece[n++] = *m;
	if (first < behind && p->map[behind - 1].end > m->end) {
		piece[n] = p->map[behind - 1];
		piece[n].offset += m->end - piece[n].start;
		piece[n++].start = m->end;
	}
	if (n > behind - first && (processes->n_mappings + n - (behind - first) > MAPPINGS_MAX ||
				   p->n + n - (behind - first) > COMM_MAPS_MAX))
		return -ENOSPC;
	map = realloc(p->map, (p->n + n) * sizeof(*map));
	if (!map)
		return -ENOMEM;
	p->map = map;
	memmove(map + first + n, map + behind, (p->n - behind) * sizeof(*map));
	memcpy(map + first, piece, n * sizeof(*map));
	p->n += n - (behind - first);
	processes->n_mappings += n - (behind - first);
	return 0;
}

/*
 * A line as /proc/PID/maps has them, for what names a mapping there names it here, too.
 * perf calls anonymous memory "//anon".
 */
static int format(const struct comm_perfdata_mapping *from, char line[LINE_BYTES])
{
	size_t bytes = strnlen(from->path, from->path_bytes);
	bool anonymous = bytes == 6 && !memcmp(from->path, "//anon", 6);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", anonymous ? 0 : (int)bytes, from->path);
	for (char *c = path; *c; c++)
		if (*c == '\n')
			*c = '?';
	return snprintf(line, LINE_BYTES,
			"%" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " %x:%x %" PRIu64 " %s",
			from->start, from->start + from->bytes, from->readable ? 'r' : '-',
			from->writable ? 'w' : '-', from->executable ? 'x' : '-',
			from->shared ? 's' : 'p', from->offset, from->major, from->minor, from->ino,
			path);
}

int64_t comm_perfdata_processes_map(struct comm_perfdata_processes *processes, uint32_t tgid,
				    const struct comm_perfdata_mapping *mapping)
{
	struct process *p = get(processes, tgid);
	struct comm_mapping *m;
	char line[LINE_BYTES];
	int64_t file = -EINVAL;
	size_t n;
	int err;

	if (!p)
		return -ENOMEM;
	err = comm_maps_parse(processes->maps, line, (size_t)format(mapping, line), &m, &n);
	if (err)
		return err;
	if (n == 1) {
		err = insert(processes, p, m);
		file = err ? err : (int64_t)m->file;
	}
	free(m);
	return file;
}

static struct thread *find_thread(const struct comm_perfdata_processes *processes, uint32_t tid)
{
	return comm_process_lru_known(&processes->thread, tid);
}

void comm_perfdata_processes_name(struct comm_perfdata_processes *processes, uint32_t tid,
				  const char *name, size_t bytes)
{
	struct thread *t = find_thread(processes, tid);

	if (!t && processes->thread.n < THREADS_MAX)
		t = comm_process_lru_get(&processes->thread, tid);
	if (!t)
		return;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, strnlen(name, bytes < sizeof(t->name) ? bytes : sizeof(t->name) - 1));
}

void comm_perfdata_processes_fork(struct comm_perfdata_processes *processes, uint32_t tgid,
				  uint32_t tid, uint32_t child_tgid, uint32_t child_tid)
{
	const struct thread *parent_thread = find_thread(processes, tid);
	struct process *child, *parent;

	if (parent_thread)
		comm_perfdata_processes_name(processes, child_tid, parent_thread->name,
					     sizeof(parent_thread->name));
	if (child_tgid == tgid)
		return;
	child = get(processes, child_tgid);
	if (!child)
		return;
	unmap_all(processes, child);
	parent = find(processes, tgid);
	if (!parent || !parent->n || processes->n_mappings + parent->n > MAPPINGS_MAX)
		return;
	child->map = calloc(parent->n, sizeof(*child->map));
	if (!child->map)
		return;
	memcpy(child->map, parent->map, parent->n * sizeof(*child->map));
	child->n = parent->n;
	processes->n_mappings += child->n;
}

void comm_perfdata_processes_exec(struct comm_perfdata_processes *processes, uint32_t tgid)
{
	struct process *p = find(processes, tgid);

	if (p)
		unmap_all(processes, p);
}

void comm_perfdata_processes_exit(struct comm_perfdata_processes *processes, uint32_t tgid,
				  uint32_t tid)
{
	comm_process_lru_drop(&processes->thread, tid);
	if (tid == tgid)
		comm_process_lru_drop(&processes->process, tgid);
}

int comm_perfdata_processes_maps(const struct comm_perfdata_processes *processes, uint32_t tgid,
				 const struct comm_mapping **ret, size_t *ret_n)
{
	const struct process *p = find(processes, tgid);

	if (!p)
		return -ESRCH;
	*ret = p->map;
	*ret_n = p->n;
	return 0;
}

const struct comm_mapping *
comm_perfdata_processes_at(const struct comm_perfdata_processes *processes, uint32_t tgid,
			   uint64_t addr)
{
	const struct process *p = find(processes, tgid);
	size_t at = p ? first_behind(p, addr) : 0;

	return p && at < p->n && addr >= p->map[at].start ? &p->map[at] : NULL;
}

int comm_perfdata_processes_thread(const struct comm_perfdata_processes *processes, uint32_t tid,
				   char name[16])
{
	const struct thread *t = find_thread(processes, tid);

	if (!t)
		return -ESRCH;
	memcpy(name, t->name, sizeof(t->name));
	return 0;
}
