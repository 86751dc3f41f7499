// SPDX-License-Identifier: GPL-2.0-or-later
#include "processes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(elt) ((elt)->lost = true)
#include <uthash.h>

enum {
	PROCESSES_MAX = 1 << 16,
	THREADS_MAX = 1 << 18,
	MAPPINGS_MAX = 1 << 19, /* of all processes together */
	LINE_BYTES = PATH_MAX + 128,
};

struct process {
	UT_hash_handle hh;
	uint32_t tgid;
	bool lost; /* no memory to file it */
	struct comm_mapping *map;
	size_t n;
};

struct thread {
	UT_hash_handle hh;
	uint32_t tid;
	bool lost;
	char name[16];
};

struct comm_perfdata_processes {
	struct comm_maps *maps;
	struct process *process;
	struct thread *thread;
	size_t n_mappings;
};

int comm_perfdata_processes_create(struct comm_maps *maps, struct comm_perfdata_processes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->maps = maps;
	return 0;
}

void comm_perfdata_processes_destroy(struct comm_perfdata_processes *processes)
{
	struct process *p, *next_p;
	struct thread *t, *next_t;

	if (!processes)
		return;
	p = processes->process;
	t = processes->thread;
	/* Free the hash tables first: HASH_CLEAR() must not find freed entries. */
	HASH_CLEAR(hh, processes->process);
	HASH_CLEAR(hh, processes->thread);
	for (; p; p = next_p) {
		next_p = p->hh.next;
		free(p->map);
		free(p);
	}
	for (; t; t = next_t) {
		next_t = t->hh.next;
		free(t);
	}
	free(processes);
}

static struct process *find(const struct comm_perfdata_processes *processes, uint32_t tgid)
{
	struct process *p;

	HASH_FIND(hh, processes->process, &tgid, sizeof(tgid), p);
	return p;
}

static struct process *get(struct comm_perfdata_processes *processes, uint32_t tgid)
{
	struct process *p = find(processes, tgid);

	if (p || HASH_COUNT(processes->process) >= PROCESSES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD(hh, processes->process, tgid, sizeof(p->tgid), p);
	if (!p->lost)
		return p;
	free(p);
	return NULL;
}

static void unmap_all(struct comm_perfdata_processes *processes, struct process *p)
{
	processes->n_mappings -= p->n;
	free(p->map);
	p->map = NULL;
	p->n = 0;
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
	struct thread *t;

	HASH_FIND(hh, processes->thread, &tid, sizeof(tid), t);
	return t;
}

void comm_perfdata_processes_name(struct comm_perfdata_processes *processes, uint32_t tid,
				  const char *name, size_t bytes)
{
	struct thread *t = find_thread(processes, tid);

	if (!t && HASH_COUNT(processes->thread) < THREADS_MAX) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return;
		t->tid = tid;
		HASH_ADD(hh, processes->thread, tid, sizeof(t->tid), t);
		if (t->lost) {
			free(t);
			return;
		}
	}
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
	struct thread *t = find_thread(processes, tid);
	struct process *p = tid == tgid ? find(processes, tgid) : NULL;

	if (t) {
		HASH_DEL(processes->thread, t);
		free(t);
	}
	if (p) {
		HASH_DEL(processes->process, p);
		unmap_all(processes, p);
		free(p);
	}
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
