// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampled_blocks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "maps.h"
#include "sampled.h"

#define LIBRARY "libcomm-alloc.so"

enum {
	PROCESSES = 32,		     /* whose tables are kept */
	AGAIN_NS = 20 * 1000 * 1000, /* between readings of a table */
	LOOK_BACK = 256,	     /* blocks that begin before an address */
	FAILURES_MAX = 3,
};

#define USER_MOST (UINT64_C(1) << 47) /* the end of user memory */

_Static_assert((int)COMM_ALLOC_WORDS == (int)COMM_ALLOCATION_WORDS, "the words of an origin");
_Static_assert(COMM_ALLOC_BLOCKS <= UINT16_MAX, "a place is 16 bits");

/* Most of it is not touched unless it is asked for. */
struct sampled_process {
	uint32_t tgid;
	unsigned int failed; /* times in a row that its memory could not be read */
	uint64_t base;	     /* of the library */
	uint64_t table;	     /* 0: it has none */
	uint64_t used, read_ns, changes;
	struct comm_alloc_block block[COMM_ALLOC_BLOCKS];
	struct comm_alloc_origin origin[COMM_ALLOC_BLOCKS]; /* as far as they were asked for */
	/* Places of blocks, in order of addresses, and how far those up to each one reach. */
	uint16_t order[COMM_ALLOC_BLOCKS];
	uint64_t reach[COMM_ALLOC_BLOCKS];
	uint32_t n;
};

struct sited_block {
	uint64_t start, since_ns;
	uint16_t place;
};

struct comm_sampled_blocks {
	struct comm_sampled_reading reading;
	struct sampled_process *process[PROCESSES]; /* NULL: a free place */
	uint64_t used;
	uint32_t tgid; /* that is read */
	struct comm_alloc_block block[COMM_ALLOC_BLOCKS];
	struct sited_block fresh[COMM_ALLOC_BLOCKS];
	uint16_t order[COMM_ALLOC_BLOCKS];
};

int comm_sampled_blocks_create(const struct comm_sampled_reading *reading,
			       struct comm_sampled_blocks **ret)
{
	struct comm_sampled_blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	blocks->reading = *reading;
	*ret = blocks;
	return 0;
}

void comm_sampled_blocks_destroy(struct comm_sampled_blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < PROCESSES; i++)
		free(blocks->process[i]);
	free(blocks);
}

static ssize_t read_target(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	struct comm_sampled_blocks *blocks = ctx;
	const struct comm_sampled_reading *reading = &blocks->reading;

	return reading->read(reading->ctx, blocks->tgid, addr, buf, len_bytes);
}

static struct sampled_process **find(struct comm_sampled_blocks *blocks, uint32_t tgid)
{
	for (size_t i = 0; i < PROCESSES; i++)
		if (blocks->process[i] && blocks->process[i]->tgid == tgid)
			return &blocks->process[i];
	return NULL;
}

static void forget(struct comm_sampled_blocks *blocks, uint32_t tgid)
{
	struct sampled_process **at = find(blocks, tgid);

	if (!at)
		return;
	free(*at);
	*at = NULL;
}

static struct sampled_process *add(struct comm_sampled_blocks *blocks, uint32_t tgid, uint64_t base)
{
	struct sampled_process **at = &blocks->process[0];

	for (size_t i = 0; i < PROCESSES && *at; i++)
		if (!blocks->process[i] || blocks->process[i]->used < (*at)->used)
			at = &blocks->process[i];
	free(*at);
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->tgid = tgid;
	(*at)->base = base;
	(*at)->used = ++blocks->used;
	return *at;
}

void comm_sampled_blocks_look(struct comm_sampled_blocks *blocks, uint32_t tgid,
			      const struct comm_mapping *map, size_t n)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	struct sampled_process **known = find(blocks, tgid), *p;
	int err;

	for (size_t i = 0; i < n; i++) {
		const struct comm_mapping *m = &map[i];

		if (m->kind != COMM_MAP_FILE || m->offset || !m->readable || m->shared ||
		    strcmp(comm_maps_base(m->path), LIBRARY) != 0)
			continue;
		if (known && (*known)->base == m->start)
			return;
		forget(blocks, tgid);
		p = add(blocks, tgid, m->start);
		blocks->tgid = tgid;
		err = p ? comm_marks_find_note(&memory, m->start, COMM_ALLOC_NOTE, &p->table) : 0;
		if (err == -ENOENT)
			p->table = 0;
		else if (err)
			forget(blocks, tgid);
		return;
	}
	/* It runs another program now, which was not started with the library. */
	forget(blocks, tgid);
}

static int read_all(struct comm_sampled_blocks *blocks, uint64_t addr, void *buf, size_t len_bytes)
{
	size_t have = 0;

	while (have < len_bytes) {
		ssize_t n = read_target(blocks, addr + have, (char *)buf + have, len_bytes - have);

		if (n <= 0)
			return n ? (int)n : -EFAULT;
		have += (size_t)n;
	}
	return 0;
}

static bool is_told(const struct comm_alloc_block *b)
{
	return b->start && b->start < USER_MOST && b->size_bytes &&
	       b->size_bytes <= USER_MOST - b->start && b->until_ns != COMM_ALLOC_BUSY &&
	       b->since_ns <= b->until_ns;
}

static bool is_same(const struct comm_alloc_block *a, const struct comm_alloc_block *b)
{
	return a->start == b->start && a->size_bytes == b->size_bytes && a->since_ns == b->since_ns;
}

/* Of those that had the same address, the last one is the first that is looked at. */
static int by_start(const void *a, const void *b)
{
	const struct sited_block *x = a, *y = b;
	int order = (x->start > y->start) - (x->start < y->start);

	return order ? order : (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

/* Takes over what was read; between two readings little changes, so little is sorted. */
static void take(struct comm_sampled_blocks *blocks, struct sampled_process *p)
{
	struct sited_block *fresh = blocks->fresh;
	uint32_t n_fresh = 0, n = 0, at = 0;
	uint64_t reach = 0;

	for (uint32_t i = 0; i < COMM_ALLOC_BLOCKS; i++) {
		const struct comm_alloc_block *b = &blocks->block[i];

		if (is_told(b) && !(is_told(&p->block[i]) && is_same(b, &p->block[i])))
			fresh[n_fresh++] = (struct sited_block){b->start, b->since_ns, (uint16_t)i};
	}
	qsort(fresh, n_fresh, sizeof(*fresh), by_start);
	for (uint32_t i = 0; i < p->n; i++) {
		uint16_t place = p->order[i];
		const struct comm_alloc_block *b = &blocks->block[place];

		if (!is_told(b) || !is_same(b, &p->block[place]))
			continue;
		while (at < n_fresh &&
		       by_start(&fresh[at], &(struct sited_block){b->start, b->since_ns, 0}) < 0)
			blocks->order[n++] = fresh[at++].place;
		blocks->order[n++] = place;
	}
	while (at < n_fresh)
		blocks->order[n++] = fresh[at++].place;
	memcpy(p->block, blocks->block, sizeof(p->block));
	memcpy(p->order, blocks->order, sizeof(p->order));
	p->n = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_alloc_block *b = &p->block[p->order[i]];

		if (b->start + b->size_bytes > reach)
			reach = b->start + b->size_bytes;
		p->reach[i] = reach;
	}
}

/* 0: what is known of it holds up to p->read_ns. */
static int read_table(struct comm_sampled_blocks *blocks, struct sampled_process *p)
{
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx);
	struct {
		uint32_t version, n_blocks;
		uint64_t changes;
	} head;
	int err;

	_Static_assert(sizeof(head) == offsetof(struct comm_alloc_table, block), "its head");
	if (p->read_ns && now_ns - p->read_ns < AGAIN_NS)
		return -EAGAIN;
	err = read_all(blocks, p->table, &head, sizeof(head));
	if (err)
		return err;
	if (!head.version)
		return -ENOENT;
	if (head.version != COMM_ALLOC_VERSION || head.n_blocks != COMM_ALLOC_BLOCKS) {
		p->table = 0;
		return -ENOENT;
	}
	if (!p->read_ns || head.changes != p->changes) {
		err = read_all(blocks, p->table + offsetof(struct comm_alloc_table, block),
			       blocks->block, sizeof(blocks->block));
		if (err)
			return err;
		take(blocks, p);
	}
	p->changes = head.changes;
	p->read_ns = now_ns;
	return 0;
}

/* The block that an address was in at a time; -1: none. */
static int find_block(const struct sampled_process *p, uint64_t addr, uint64_t time_ns)
{
	uint32_t lo = 0, hi = p->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->block[p->order[mid]].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (int i = 0; i < LOOK_BACK && lo-- && addr < p->reach[lo]; i++) {
		const struct comm_alloc_block *b = &p->block[p->order[lo]];

		if (addr - b->start < b->size_bytes && b->since_ns <= time_ns &&
		    time_ns <= b->until_ns)
			return p->order[lo];
	}
	return -1;
}

/* Who asked for a block.  -EAGAIN: its place has become another's meanwhile. */
static int origin_of(struct comm_sampled_blocks *blocks, struct sampled_process *p, int place,
		     bool may_read)
{
	const struct comm_alloc_block *b = &p->block[place];
	struct comm_alloc_origin *o = &p->origin[place];
	uint64_t at =
		p->table + offsetof(struct comm_alloc_table, origin) + (uint64_t)place * sizeof(*o);
	int err = 0;

	if (o->start == b->start && o->size_bytes == b->size_bytes && o->since_ns == b->since_ns)
		return 0;
	if (!may_read)
		return -EAGAIN;
	err = read_all(blocks, at, o, sizeof(*o));
	if (!err && o->start == b->start && o->size_bytes == b->size_bytes &&
	    o->since_ns == b->since_ns && o->n_words <= COMM_ALLOC_WORDS)
		return 0;
	o->start = 0;
	return err ? err : -EAGAIN;
}

int comm_sampled_blocks_at(struct comm_sampled_blocks *blocks, uint32_t tgid, uint64_t addr,
			   uint64_t time_ns, bool may_read, struct comm_allocation *ret)
{
	struct sampled_process **at = find(blocks, tgid), *p = at ? *at : NULL;
	const struct comm_alloc_block *b;
	const struct comm_alloc_origin *o;
	int place, err = 0;

	if (!p || !p->table)
		return -ENOSYS;
	p->used = ++blocks->used;
	blocks->tgid = tgid;
	if (time_ns > p->read_ns)
		err = may_read ? read_table(blocks, p) : -EAGAIN;
	place = err ? -1 : find_block(p, addr, time_ns);
	if (!err && place < 0)
		return -ENOENT;
	if (!err)
		err = origin_of(blocks, p, place, may_read);
	if (!err)
		p->failed = 0;
	else if (err != -EAGAIN && err != -ENOENT && ++p->failed == FAILURES_MAX)
		p->table = 0;
	if (err)
		return err == -ENOENT ? err : -EAGAIN;
	b = &p->block[place];
	o = &p->origin[place];
	*ret = (struct comm_allocation){
		.start = b->start,
		.size_bytes = b->size_bytes,
		.since_ns = b->since_ns,
		.until_ns = b->until_ns < p->read_ns ? b->until_ns : p->read_ns,
		.code = o->code,
		.sp = o->sp,
		.rbp = o->rbp,
		.n_words = (uint32_t)o->n_words,
	};
	memcpy(ret->word, o->word, sizeof(ret->word));
	return 0;
}
