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
	NAMING_MAX = 64, /* processes that may name memory; of more the first are asked */
	FAILURES_MAX = 3,
	ASK_NS = 200 * 1000 * 1000,
	/* So much later for each object that was told: they may all change all the time. */
	TELL_NS = 2 * 1000 * 1000,
	LOOK_READS = 4096, /* of a process's memory, each time its modules are looked at */
};

struct awaited {
	uint32_t tgid; /* 0: free */
	uint64_t base, until_ns;
	uint64_t
		record; /* of the module at base; 0: not known, as its memory could not be read yet */
};

/* A process whose memory may have names. */
struct naming {
	uint32_t tgid;	/* 0: free */
	bool looked;	/* its mappings were read: all is told again */
	uint8_t failed; /* times in a row that its memory could not be read */
	uint64_t process;
	struct comm_marked_objects told;
};

struct comm_marked {
	comm_marked_read_fn *read;
	void *read_ctx;
	comm_inspect_marks_fn *tell; /* NULL: nobody wants to know */
	void *tell_ctx;
	uint8_t no_marks[FILES_MAX / 8]; /* bit of a file's id: it has none */
	struct awaited awaited[AWAITED_MAX];
	uint32_t n_awaited;
	comm_inspect_objects_fn *tell_objects; /* NULL: nobody wants to know */
	void *objects_ctx;
	struct naming naming[NAMING_MAX];
	uint32_t n_naming;
	uint64_t ask_ns; /* not asked before */
};

/* The process whose memory comm_marks_find() and comm_marks_read() read. */
struct marked_process {
	struct comm_marked *marked;
	uint32_t tgid, n_reads;
};

static ssize_t read_process(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	struct marked_process *p = ctx;

	p->n_reads++;
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

static void forget_naming(struct comm_marked *marked, uint32_t tgid)
{
	for (size_t i = 0; marked->n_naming && i < NAMING_MAX; i++) {
		if (marked->naming[i].tgid != tgid)
			continue;
		marked->naming[i].tgid = 0;
		marked->n_naming--;
	}
}

static void add_naming(struct comm_marked *marked, uint32_t tgid, uint64_t process)
{
	struct naming *free = NULL;

	for (size_t i = 0; i < NAMING_MAX; i++) {
		struct naming *n = &marked->naming[i];

		if (n->tgid == tgid && n->process == process) {
			n->looked = true;
			return;
		}
		if (!n->tgid && !free)
			free = n;
	}
	forget_naming(marked, tgid);
	if (!free || !process)
		return;
	*free = (struct naming){.tgid = tgid, .process = process};
	marked->n_naming++;
}

void comm_marked_tell_objects(struct comm_marked *marked, comm_inspect_objects_fn *fn, void *ctx)
{
	marked->tell_objects = fn;
	marked->objects_ctx = ctx;
}

/* Returns how many objects were told. */
static uint32_t ask_naming(struct comm_marked *marked, struct naming *n)
{
	struct marked_process process = {marked, n->tgid, 0};
	const struct comm_marks_memory memory = {read_process, &process};
	struct comm_marked_objects before = n->told;
	uint32_t n_told = 0;
	int err;

	if (n->looked)
		n->told.changes = 0;
	err = comm_marks_objects(&memory, n->process, &n->told);
	if (err == -EAGAIN)
		return 0;
	n->failed = err < 0 ? n->failed + 1 : 0;
	if (n->failed == FAILURES_MAX)
		forget_naming(marked, n->tgid);
	if (err < 0)
		return 0;
	for (uint32_t i = 0; err && i < COMM_MARKED_OBJECTS_MAX; i++) {
		uint64_t start = n->told.object[i].start, bytes = n->told.object[i].size_bytes;

		if (!bytes && !before.object[i].size_bytes)
			continue;
		marked->tell_objects(marked->objects_ctx, n->tgid, i, start, bytes,
				     n->told.object[i].name);
		n_told++;
	}
	n->looked = false;
	return n_told;
}

static void ask_all(struct comm_marked *marked)
{
	uint64_t now_ns, n_told = 0;

	if (!marked->n_naming || !marked->tell_objects)
		return;
	now_ns = comm_clock_now_ns();
	if (now_ns < marked->ask_ns)
		return;
	for (size_t i = 0; i < NAMING_MAX; i++)
		if (marked->naming[i].tgid)
			n_told += ask_naming(marked, &marked->naming[i]);
	marked->ask_ns = now_ns + ASK_NS + n_told * TELL_NS;
}

/* False: the module that has this record is not initialised yet. */
static bool tell(struct comm_marked *marked, uint32_t tgid, uint64_t record)
{
	struct marked_process process = {marked, tgid, 0};
	const struct comm_marks_memory memory = {read_process, &process};
	struct comm_marks_place place;
	int err = comm_marks_read(&memory, record, &place);

	if (!err) {
		add_naming(marked, tgid, place.process);
		marked->tell(marked->tell_ctx, tgid, &place);
	}
	return err != -EAGAIN;
}

static void await(struct comm_marked *marked, uint32_t tgid, uint64_t base, uint64_t record)
{
	for (size_t i = 0; i < AWAITED_MAX; i++) {
		struct awaited *a = &marked->awaited[i];

		if (a->tgid)
			continue;
		*a = (struct awaited){.tgid = tgid,
				      .base = base,
				      .until_ns = comm_clock_now_ns() + AWAIT_NS,
				      .record = record};
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
	struct marked_process process = {marked, tgid, 0};
	const struct comm_marks_memory memory = {read_process, &process};

	for (size_t i = 0; marked->n_awaited && i < AWAITED_MAX; i++)
		if (marked->awaited[i].tgid == tgid)
			stop_awaiting(marked, &marked->awaited[i]);
	/* The first marked module counts: a program comes before its libraries. */
	for (size_t i = 0; marked->tell && i < n && process.n_reads < LOOK_READS; i++) {
		const struct comm_mapping *m = &map[i];
		uint64_t record;
		int err;

		if (m->kind != COMM_MAP_FILE || m->offset || !m->readable || m->shared ||
		    m->file >= FILES_MAX || marked->no_marks[m->file / 8] >> m->file % 8 & 1)
			continue;
		err = comm_marks_find(&memory, m->start, &record);
		if (err == -ENOENT)
			marked->no_marks[m->file / 8] |= (uint8_t)(1 << m->file % 8);
		if (err && err != -EAGAIN)
			continue;
		if (err)
			await(marked, tgid, m->start, 0);
		else if (!tell(marked, tgid, record))
			await(marked, tgid, m->start, record);
		return;
	}
}

/* False: it is still to be awaited. */
static bool tell_awaited(struct comm_marked *marked, struct awaited *a)
{
	struct marked_process process = {marked, a->tgid, 0};
	const struct comm_marks_memory memory = {read_process, &process};
	int err = a->record ? 0 : comm_marks_find(&memory, a->base, &a->record);

	return err ? err != -EAGAIN : tell(marked, a->tgid, a->record);
}

void comm_marked_await(struct comm_marked *marked)
{
	for (size_t i = 0; marked->n_awaited && i < AWAITED_MAX; i++) {
		struct awaited *a = &marked->awaited[i];

		if (a->tgid && (tell_awaited(marked, a) || comm_clock_now_ns() >= a->until_ns))
			stop_awaiting(marked, a);
	}
	ask_all(marked);
}
