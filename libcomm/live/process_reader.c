/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process_reader.h"

#include "process_lru.h"
#include "thread_pointer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPEN_MAX = 64, /* processes whose files are */
};

struct read_process {
	struct comm_process_lru_entry lru;
	bool is_open, has_maps;
	int fd;	  /* /proc/PID/mem */
	int maps; /* /proc/PID/maps, while it is read */
};

struct comm_process_reader {
	struct comm_peek *peek;
	bool reads_itself; /* memory, as the other process may not */
	struct comm_process_lru processes;
	char text[COMM_PEEK_PIECE_BYTES]; /* of mappings */
};

static void close_mem(struct read_process *p)
{
	if (p->is_open)
		close(p->fd);
	p->is_open = false;
}

static void close_maps(struct read_process *p)
{
	if (p->has_maps)
		close(p->maps);
	p->has_maps = false;
}

static void forget_process(void *ctx, struct comm_process_lru_entry *kept)
{
	(void)ctx;
	close_mem((struct read_process *)kept);
	close_maps((struct read_process *)kept);
}

int comm_process_reader_create(struct comm_peek *peek, struct comm_process_reader **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->peek = peek;
	comm_process_lru_init(&(*ret)->processes, OPEN_MAX, sizeof(struct read_process),
			      forget_process, NULL);
	return 0;
}

void comm_process_reader_destroy(struct comm_process_reader *reader)
{
	if (!reader)
		return;
	comm_process_lru_deinit(&reader->processes);
	free(reader);
}

/*
 * Whether this process reads what the other may not.  Without capabilities that one may read
 * less: with Yama's ptrace_scope only an ancestor may read a process of the same user, and this
 * one starts commands.  Where the other one has ended the next one is waited for: this process
 * would have to wait for pages that are never served, and has no right to read after the start.
 */
static bool is_left_to_us(ssize_t n)
{
	return n == -EACCES || n == -EPERM;
}

static int open_proc(uint32_t tgid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", tgid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static int open_mem(struct read_process *p)
{
	p->fd = open_proc(p->lru.tgid, "mem");
	if (p->fd < 0)
		return p->fd;
	p->is_open = true;
	return 0;
}

static ssize_t read_itself(struct comm_process_reader *reader, uint32_t tgid, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	struct read_process *p = comm_process_lru_get(&reader->processes, tgid);
	bool fresh;
	ssize_t n;

	if (!p)
		return -ENOMEM;
	fresh = !p->is_open;
	for (;;) {
		if (!p->is_open) {
			int err = open_mem(p);

			if (err)
				return err;
		}
		n = pread(p->fd, buf, len_bytes, (off_t)addr);
		if (n > 0)
			return n;
		n = n < 0 ? -errno : -ESRCH;
		/* After an exec the open /proc/PID/mem still means the old memory: open it anew. */
		close_mem(p);
		if (fresh)
			return n;
		fresh = true;
	}
}

ssize_t comm_process_reader_memory(struct comm_process_reader *reader, uint32_t tgid, uint64_t addr,
				   void *buf, size_t len_bytes)
{
	ssize_t n;

	if (reader->reads_itself)
		return read_itself(reader, tgid, addr, buf, len_bytes);
	n = comm_peek_memory(reader->peek, tgid, addr, buf, len_bytes);
	if (is_left_to_us(n)) {
		n = read_itself(reader, tgid, addr, buf, len_bytes);
		reader->reads_itself = n > 0;
	}
	return n;
}

int comm_process_reader_words(struct comm_process_reader *reader,
			      const struct comm_peek_place *place, size_t n,
			      struct comm_peek_word *ret)
{
	int err = reader->reads_itself ? -EPERM : comm_peek_words(reader->peek, place, n, ret);
	ssize_t bytes;

	if (!is_left_to_us(err))
		return err;
	for (size_t i = 0; i < n; i++) {
		bytes = read_itself(reader, (uint32_t)place[i].tgid, place[i].addr, &ret[i].value,
				    sizeof(ret[i].value));
		ret[i].is_known = bytes == sizeof(ret[i].value);
		reader->reads_itself |= ret[i].is_known;
	}
	return 0;
}

int comm_process_reader_words_of(struct comm_process_reader *reader, uint32_t tgid,
				 const uint64_t *addr, size_t n, uint64_t *ret)
{
	struct comm_peek_place place[COMM_PEEK_WORDS_MAX];
	struct comm_peek_word word[COMM_PEEK_WORDS_MAX];
	int err = 0;

	for (size_t some; n && !err; n -= some, addr += some, ret += some) {
		some = n < COMM_PEEK_WORDS_MAX ? n : COMM_PEEK_WORDS_MAX;
		for (size_t i = 0; i < some; i++)
			place[i] = (struct comm_peek_place){addr[i], tgid};
		err = comm_process_reader_words(reader, place, some, word);
		for (size_t i = 0; i < some && !err; i++)
			ret[i] = word[i].is_known ? word[i].value : 0;
	}
	return err;
}

static ssize_t read_maps_itself(struct comm_process_reader *reader, uint32_t tgid,
				uint64_t from_bytes)
{
	struct read_process *p = comm_process_lru_get(&reader->processes, tgid);
	size_t used = 0;
	ssize_t n = 0;

	if (!p)
		return -ENOMEM;
	if (!from_bytes) {
		close_maps(p);
		p->maps = open_proc(tgid, "maps");
		if (p->maps < 0)
			return p->maps;
		p->has_maps = true;
	}
	if (!p->has_maps)
		return -ESTALE;
	while (sizeof(reader->text) - used >= COMM_PEEK_LINE_BYTES &&
	       (n = pread(p->maps, reader->text + used, sizeof(reader->text) - used,
			  (off_t)(from_bytes + used))) > 0)
		used += (size_t)n;
	n = used || n >= 0 ? (ssize_t)used : -errno;
	if (comm_peek_is_last(n))
		close_maps(p);
	return n;
}

ssize_t comm_process_reader_maps(struct comm_process_reader *reader, uint32_t tgid,
				 uint64_t from_bytes, const char **ret)
{
	ssize_t n = comm_peek_maps(reader->peek, tgid, from_bytes, ret);

	/* Who was not let in has begun nothing either. */
	if (!is_left_to_us(n) && n != -ESTALE)
		return n;
	*ret = reader->text;
	return read_maps_itself(reader, tgid, from_bytes);
}

static int ipc_of(struct comm_process_reader *reader, uint32_t tgid, uint64_t *ret)
{
	int err = comm_peek_ipc(reader->peek, tgid, ret);
	struct stat st;
	char path[64];

	if (!err || err == -EAGAIN)
		return err;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/ipc", tgid);
	*ret = is_left_to_us(err) && stat(path, &st) == 0 ? st.st_ino : (uint64_t)tgid << 32;
	return 0;
}

int comm_process_reader_sysv(struct comm_process_reader *reader, uint32_t tgid,
			     struct comm_maps *maps, struct comm_mapping *map, size_t n)
{
	uint64_t ipc;
	int err = comm_maps_has_sysv(map, n) ? ipc_of(reader, tgid, &ipc) : -ENOENT;

	if (!err)
		comm_maps_set_ipc(maps, map, n, ipc);
	return err == -EAGAIN ? err : 0;
}

int comm_process_reader_program(struct comm_process_reader *reader, uint32_t tgid,
				struct comm_program_link *ret)
{
	int err = comm_peek_program(reader->peek, tgid, ret);

	return is_left_to_us(err) ? comm_program_link_find(tgid, ret) : err;
}

int comm_process_reader_thread_name(uint32_t tgid, uint32_t tid, char name[16])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", tgid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	memset(name, 0, 16);
	n = read(fd, name, 15);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	if (name[n - 1] == '\n')
		name[n - 1] = 0;
	return 0;
}

struct process_memory {
	struct comm_process_reader *reader;
	uint32_t tgid;
};

static ssize_t read_process_memory(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct process_memory *memory = ctx;

	return comm_process_reader_memory(memory->reader, memory->tgid, addr, buf, len_bytes);
}

int comm_process_reader_thread_pointer(struct comm_process_reader *reader, uint32_t tgid,
				       uint32_t tid, uint64_t *ret)
{
	struct process_memory process = {reader, tgid};
	const struct comm_marks_memory memory = {read_process_memory, &process};
	uint64_t robust_list;
	int err = comm_peek_robust_list(reader->peek, tgid, tid, &robust_list);

	return err ? err : comm_thread_pointer_find(&memory, robust_list, ret);
}
