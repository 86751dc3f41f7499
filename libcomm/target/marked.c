// SPDX-License-Identifier: GPL-2.0-or-later
#include "marked.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "marks.h"

enum {
	FILES_MAX = 1 << 16, /* remembered whether they have marks */
	AWAITED_MAX = 64,    /* processes at once; more wait until their mappings change */
	AWAIT_NS = 1000 * 1000 * 1000,
};

struct awaited {
	uint32_t tgid; /* 0: free */
	uint64_t record, until_ns;
};

struct comm_marked {
	comm_marked_read_fn *read;
	void *read_ctx;
	comm_inspect_marks_fn *tell; /* NULL: nobody wants to know */
	void *tell_ctx;
	uint8_t no_marks[FILES_MAX / 8]; /* bit of a file's id: it has none */
	struct awaited awaited[AWAITED_MAX];
	uint32_t n_awaited;
};

/* The process whose memory comm_marks_find() and comm_marks_stack() read. */
struct marked_process {
	struct comm_marked *marked;
	uint32_t tgid;
};

static ssize_t read_process(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct marked_process *p = ctx;

	return p->marked->read(p->marked->read_ctx, p->tgid, addr, buf, len_bytes);
}

int comm_marked_create(comm_marked_read_fn *read, void *ctx, struct comm_marked **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->read = read;
	(*ret)->read_ctx = ctx;
	return 0;
}

void comm_marked_destroy(struct comm_marked *marked)
{
	free(marked);
}

void comm_marked_tell(struct comm_marked *marked, comm_inspect_marks_fn *fn, void *ctx)
{
	marked->tell = fn;
	marked->tell_ctx = ctx;
}

/* False: the module that has this record is not initialised yet. */
static bool tell(struct comm_marked *marked, uint32_t tgid, uint64_t record)
{
	struct marked_process process = {marked, tgid};
	const struct comm_marks_memory memory = {read_process, &process};
	int64_t stack;
	int err = comm_marks_stack(&memory, record, &stack);

	if (!err)
		marked->tell(marked->tell_ctx, tgid, stack);
	return err != -EAGAIN;
}

static void await(struct comm_marked *marked, uint32_t tgid, uint64_t record)
{
	for (size_t i = 0; i < AWAITED_MAX; i++) {
		struct awaited *a = &marked->awaited[i];

		if (a->tgid)
			continue;
		*a = (struct awaited){tgid, record, comm_clock_now_ns() + AWAIT_NS};
		marked->n_awaited++;
		return;
	}
}

static void stop_awaiting(struct comm_marked *marked, struct awaited *a)
{
	a->tgid = 0;
	marked->n_awaited--;
}

void comm_marked_look(struct comm_marked *marked, uint32_t tgid, const struct comm_mapping *map,
		      size_t n)
{
	struct marked_process process = {marked, tgid};
	const struct comm_marks_memory memory = {read_process, &process};

	for (size_t i = 0; marked->n_awaited && i < AWAITED_MAX; i++)
		if (marked->awaited[i].tgid == tgid)
			stop_awaiting(marked, &marked->awaited[i]);
	/* The first marked module counts: a program comes before its libraries. */
	for (size_t i = 0; marked->tell && i < n; i++) {
		const struct comm_mapping *m = &map[i];
		uint64_t record;
		int err;

		if (m->kind != COMM_MAP_FILE || m->offset || !m->readable || m->shared ||
		    m->file >= FILES_MAX || marked->no_marks[m->file / 8] >> m->file % 8 & 1)
			continue;
		err = comm_marks_find(&memory, m->start, &record);
		if (err == -ENOENT)
			marked->no_marks[m->file / 8] |= (uint8_t)(1 << m->file % 8);
		if (err)
			continue;
		if (!tell(marked, tgid, record))
			await(marked, tgid, record);
		return;
	}
}

void comm_marked_await(struct comm_marked *marked)
{
	for (size_t i = 0; marked->n_awaited && i < AWAITED_MAX; i++) {
		struct awaited *a = &marked->awaited[i];

		if (a->tgid &&
		    (tell(marked, a->tgid, a->record) || comm_clock_now_ns() >= a->until_ns))
			stop_awaiting(marked, a);
	}
}
