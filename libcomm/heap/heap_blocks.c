// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap_blocks.h"

#include "allocator.h"
#include "block_class.h"
#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	AREAS = 1024, /* powers of two */
	PIECES = 2048,
	WAYS = 8,   /* places of a table that one thing may have */
	STEPS = 32, /* of an allocator, for one question */
	SITE_ALIGNMENT = 4096,
	SITELESS_MOST = 64,
	SITELESS_AGAIN = 64,
	SITES = 256, /* a power of two */
	SITE_AGAIN_NS = 20 * 1000 * 1000,
	AGREE_NS = 100 * 1000 * 1000,
	AGAIN_NS = 100 * 1000 * 1000,	 /* after the memory could not be understood */
	REFUSED_NS = 2000 * 1000 * 1000, /* until memory is asked again whose it is */
	STATES_BYTES_MAX = 16 << 20,	 /* of all areas: how large they are, targets say */
	CHANGED_PART = 8,		 /* of a piece's blocks: it does not hold for long */
	STILL_PART = 64,     /* of an area's blocks: none of its pieces holds for longer */
	STILL_BLOCKS = 4096, /* that this is told by: half of what is older counts */
	SHARE = 200,	     /* where nothing else is allowed: of all time, and so much at once */
	AT_ONCE_NS = 5 * 1000 * 1000,
	/*
	 * After so many readings in which no block of an area had a class, classes are looked for
	 * in one of that many alone: most programs have none, and it would take as long as the blocks.
	 */
	CLASSLESS = 32,
	CLASSLESS_EACH = 16,
};

/* Between readings of a piece that look farther in front of it. */
static const uint64_t FAR_NS = UINT64_C(10) * 1000 * 1000 * 1000;
/*
 * What two readings agree on is good for as long again as they are apart, and then the next is twice as far;
 * farther where no block has changed, and few of the pieces around it.
 */
static const uint64_t FRESH_MOST_NS = UINT64_C(1600) * 1000 * 1000;
static const uint64_t UNCHANGED_MOST_NS = UINT64_C(6400) * 1000 * 1000;

struct area {
	uint64_t start, again_ns, used;
	uint32_t tgid;
	uint8_t allocator; /* + 1; 0: a free place */
	uint64_t serial;
	void *state;	     /* NULL: its allocator knows it not */
	size_t state_bytes;  /* when it was asked last */
	uint32_t n_siteless; /* blocks in a row that nobody said who asked for */
	uint32_t classless;  /* readings since a block had a class */
	uint32_t n_again;    /* blocks that were in readings of a piece that had one before */
	uint32_t n_changed;  /* and how many of them were not in that */
};

enum { LESS_ALL = 63 };

/* A block of a piece: from where in it, and for how many bytes the program has it. */
struct packed {
	uint64_t bytes : 43, at : 14;
	uint64_t less : 6; /* 2^less - 1 bytes less it may have asked for, or LESS_ALL of them */
	uint64_t sure : 1;
};

_Static_assert(COMM_PIECE_BYTES <= 1 << 14 && sizeof(struct packed) == 8, "a packed block");

struct read_piece {
	uint64_t start, serial; /* of its area; 0: a free place */
	uint64_t read_ns, far_read_ns, used;
	uint64_t others_ns; /* until then it is known not to be this allocator's */
	uint64_t fresh_ns;
	uint64_t reading; /* number of the last one; 0: none */
	uint32_t n;
	bool is_agreed; /* there were two readings */
	struct packed *block;
	struct comm_block_class *class; /* of each block; NULL: of none */
};

/* Who asked for a block; serial 0: a free place. */
struct site {
	uint64_t start, serial; /* serial: of its area */
	uint64_t read_ns;
	int err;
	struct comm_allocation allocation;
};

/* What the blocks in answer were made of: most questions in a row are about one piece. */
struct answered {
	uint64_t serial, start; /* of the area, 0: of none; of the piece */
	uint64_t reading,
		before; /* of the piece, and of that in which a block before it begins; 0: none */
	size_t n;
};

struct comm_heap_blocks {
	struct comm_heap_reading reading;
	struct area area[AREAS];
	struct read_piece piece[PIECES];
	struct site site[SITES];
	uint64_t serial, used, n_readings;
	size_t states_bytes;
	int64_t left_ns;
	uint64_t allowed_at_ns;
	bool is_limited, is_allowed;
	uint32_t tgid; /* that is read */
	struct comm_block_list list;
	struct comm_seen seen; /* of the piece in list */
	struct comm_block_classes *classes;
	struct comm_block_class class[COMM_PIECE_BLOCKS]; /* of those in list */
	struct answered answered;
	struct comm_block answer[COMM_PIECE_BLOCKS + 1];
};

int comm_heap_blocks_create(const struct comm_heap_reading *reading, struct comm_heap_blocks **ret)
{
	struct comm_heap_blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks || comm_block_classes_create(&blocks->classes)) {
		free(blocks);
		return -ENOMEM;
	}
	blocks->reading = *reading;
	blocks->list.seen = &blocks->seen;
	blocks->allowed_at_ns = reading->now_ns(reading->ctx);
	blocks->left_ns = AT_ONCE_NS;
	*ret = blocks;
	return 0;
}

static void forget_area(struct comm_heap_blocks *blocks, struct area *a)
{
	if (a->state)
		comm_allocators[a->allocator - 1]->close(a->state);
	blocks->states_bytes -= a->state_bytes;
	*a = (struct area){0};
}

void comm_heap_blocks_destroy(struct comm_heap_blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < AREAS; i++)
		forget_area(blocks, &blocks->area[i]);
	for (size_t i = 0; i < PIECES; i++) {
		free(blocks->piece[i].block);
		free(blocks->piece[i].class);
	}
	comm_block_classes_destroy(blocks->classes);
	free(blocks);
}

void comm_heap_blocks_allow(struct comm_heap_blocks *blocks, uint64_t cpu_ns)
{
	blocks->is_limited = cpu_ns != UINT64_MAX;
	if (!blocks->is_limited)
		return;
	blocks->left_ns += (int64_t)(cpu_ns < AT_ONCE_NS ? cpu_ns : AT_ONCE_NS);
	if (blocks->left_ns > AT_ONCE_NS)
		blocks->left_ns = AT_ONCE_NS;
}

/*
 * Whether one step of an allocator may read.  It is not stopped halfway: what it had read would be lost, and with
 * little allowed no step would ever come to its end.
 */
static bool may_read(struct comm_heap_blocks *blocks)
{
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx);
	uint64_t more_ns = (now_ns - blocks->allowed_at_ns) / SHARE;

	if (!blocks->is_limited && more_ns) {
		blocks->left_ns += (int64_t)(more_ns < AT_ONCE_NS ? more_ns : AT_ONCE_NS);
		if (blocks->left_ns > AT_ONCE_NS)
			blocks->left_ns = AT_ONCE_NS;
		blocks->allowed_at_ns = now_ns;
	}
	blocks->is_allowed = blocks->left_ns > 0;
	return blocks->is_allowed;
}

static ssize_t read_target(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	struct comm_heap_blocks *blocks = ctx;
	const struct comm_heap_reading *reading = &blocks->reading;
	uint64_t spent_ns;
	ssize_t n;

	if (!blocks->is_allowed)
		return -EAGAIN;
	spent_ns = reading->spent_ns(reading->ctx);
	n = reading->read(reading->ctx, blocks->tgid, addr, buf, len_bytes);

	blocks->left_ns -= (int64_t)(reading->spent_ns(reading->ctx) - spent_ns);
	return n;
}

/* The place of an area, which is another's that was not asked for as lately, if it is new. */
static struct area *area_place(struct comm_heap_blocks *blocks, uint32_t tgid, uint8_t allocator,
			       uint64_t start)
{
	uint64_t key =
		comm_hash_mix(comm_hash_mix(start, start >> 32), (uint64_t)tgid << 8 | allocator);
	struct area *way = &blocks->area[key & (AREAS - WAYS)], *oldest = way;

	for (size_t i = 0; i < WAYS; i++) {
		struct area *a = &way[i];

		if (a->allocator == allocator + 1 && a->tgid == tgid && a->start == start)
			return a;
		if (a->used < oldest->used)
			oldest = a;
	}
	return oldest;
}

/* NULL: *ret_err says whether it is another's (-ENOENT), or not known yet. */
static struct area *area_at(struct comm_heap_blocks *blocks, uint32_t tgid, uint8_t allocator,
			    const struct comm_heap_place *place, const struct comm_range *range,
			    uint64_t now_ns, int *ret_err)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	struct area *a = area_place(blocks, tgid, allocator, range->start);
	int err;

	*ret_err = -ENOENT;
	if (a->allocator == allocator + 1 && a->tgid == tgid && a->start == range->start &&
	    (a->state || now_ns < a->again_ns)) {
		a->used = ++blocks->used;
		return a->state ? a : NULL;
	}
	forget_area(blocks, a);
	*a = (struct area){
		.start = range->start,
		.again_ns = now_ns + REFUSED_NS,
		.used = ++blocks->used,
		.tgid = tgid,
		.allocator = (uint8_t)(allocator + 1),
		.serial = ++blocks->serial,
	};
	may_read(blocks);
	err = comm_allocators[allocator]->open(&memory, place, range, &a->state);
	if (!err) {
		a->again_ns = 0;
		return a;
	}
	if (err != -ENOENT) {
		forget_area(blocks, a);
		*ret_err = -EAGAIN;
	}
	return NULL;
}

static struct read_piece *piece_way(struct comm_heap_blocks *blocks, const struct area *a,
				    uint64_t start)
{
	uint64_t key = comm_hash_mix(start / COMM_PIECE_BYTES, a->serial);

	return &blocks->piece[key & (PIECES - WAYS)];
}

static struct read_piece *known_piece(struct comm_heap_blocks *blocks, const struct area *a,
				      uint64_t start)
{
	struct read_piece *way = piece_way(blocks, a, start);

	for (size_t i = 0; i < WAYS; i++)
		if (way[i].serial == a->serial && way[i].start == start) {
			way[i].used = ++blocks->used;
			return &way[i];
		}
	return NULL;
}

static struct read_piece *piece_at(struct comm_heap_blocks *blocks, const struct area *a,
				   uint64_t start)
{
	struct read_piece *way = piece_way(blocks, a, start), *found = way;
	struct read_piece *known = known_piece(blocks, a, start);

	if (known)
		return known;
	for (size_t i = 0; i < WAYS; i++)
		if (way[i].used < found->used)
			found = &way[i];
	found->serial = a->serial;
	found->start = start;
	found->used = ++blocks->used;
	found->fresh_ns = 0;
	found->is_agreed = false;
	found->read_ns = found->far_read_ns = found->others_ns = 0;
	found->reading = 0;
	found->n = 0;
	return found;
}

static unsigned int less_of(const struct comm_block *block)
{
	uint64_t less = block->size_bytes - block->least_bytes;

	if (!block->least_bytes)
		return LESS_ALL;
	return less ? 64 - (unsigned int)__builtin_clzll(less) : 0;
}

/* A class is sure that a block has in two readings, if it is one block. */
static void agree(struct comm_block_class *class, const struct read_piece *p, uint32_t old)
{
	const struct comm_block_class *was = p->class ? &p->class[old] : NULL;

	class->sure = was && class->id == was->id && class->object == was->object;
}

/* How long a reading is good at most, of whose blocks so many were in the one before. */
static uint64_t fresh_most_ns(struct area *a, uint32_t n, uint32_t sure)
{
	if (a->n_again >= STILL_BLOCKS) {
		a->n_again /= 2;
		a->n_changed /= 2;
	}
	a->n_again += n;
	a->n_changed += n - sure;
	return sure < n || a->n_changed > a->n_again / STILL_PART ? FRESH_MOST_NS
								  : UNCHANGED_MOST_NS;
}

/* Takes a reading, of classes too unless that is NULL; what was there in the one before is sure. */
static int take(struct area *a, struct read_piece *p, const struct comm_block_list *list,
		const struct comm_block_class *from_class, uint64_t now_ns)
{
	struct packed *block = calloc(list->n ? list->n : 1, sizeof(*block));
	struct comm_block_class *class = NULL;
	uint64_t most_ns;
	uint32_t old = 0, sure = 0;

	if (from_class)
		class = calloc(list->n, sizeof(*class));
	if (!block || (from_class && !class)) {
		free(block);
		free(class);
		return -ENOMEM;
	}
	if (class)
		memcpy(class, from_class, list->n * sizeof(*class));
	for (size_t i = 0; i < list->n; i++) {
		const struct comm_block *from = &list->block[i];

		block[i].at = (from->start - p->start) & (COMM_PIECE_BYTES - 1);
		block[i].bytes = from->size_bytes & ((UINT64_C(1) << 43) - 1);
		block[i].less = less_of(from) & LESS_ALL;
		while (old < p->n && p->block[old].at < block[i].at)
			old++;
		block[i].sure = p->fresh_ns && old < p->n && p->block[old].at == block[i].at &&
				p->block[old].bytes == block[i].bytes;
		sure += block[i].sure;
		if (class && block[i].sure)
			agree(&class[i], p, old);
	}
	p->is_agreed = p->fresh_ns;
	most_ns = p->is_agreed ? fresh_most_ns(a, (uint32_t)list->n, sure) : 0;
	if (!p->is_agreed || sure < list->n - list->n / CHANGED_PART)
		p->fresh_ns = AGREE_NS;
	else
		p->fresh_ns = 2 * p->fresh_ns < most_ns ? 2 * p->fresh_ns : most_ns;
	free(p->block);
	free(p->class);
	p->block = block;
	p->class = class;
	p->n = (uint32_t)list->n;
	p->read_ns = now_ns;
	return 0;
}

/* The classes of the blocks that were read now; NULL: none of them has one that is known. */
static const struct comm_block_class *classes_of(struct comm_heap_blocks *blocks, struct area *a,
						 const struct comm_heap_place *place,
						 uint64_t now_ns)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	const struct comm_class_question question = {&memory, &blocks->reading, place,
						     blocks->tgid};
	int found;

	if (a->classless++ >= CLASSLESS && a->classless % CLASSLESS_EACH)
		return NULL;
	found = comm_block_classes_read(blocks->classes, &question, now_ns, &blocks->list,
					blocks->class);
	if (found <= 0)
		return NULL;
	a->classless = 0;
	return blocks->class;
}

/* Has a piece read, if that is due.  -EAGAIN: there are no two readings yet. */
static int look_at(struct comm_heap_blocks *blocks, struct area *a,
		   const struct comm_heap_place *place, const struct comm_range *range,
		   uint64_t start, struct read_piece **ret)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx);
	struct read_piece *p = piece_at(blocks, a, start);
	bool is_far = !p->far_read_ns || now_ns - p->far_read_ns >= FAR_NS;
	int err;

	*ret = p;
	if (p->read_ns && now_ns - p->read_ns < (p->fresh_ns ? p->fresh_ns : AGREE_NS))
		return p->is_agreed ? 0 : -EAGAIN;
	if (!may_read(blocks))
		return -EAGAIN;
	blocks->seen.start = blocks->seen.n = 0;
	err = comm_allocators[a->allocator - 1]->read(a->state, &memory, range, start, is_far,
						      &blocks->list);
	if (err) {
		if (err != -EAGAIN) {
			p->fresh_ns = 0;
			p->is_agreed = false;
			p->read_ns = now_ns;
		}
		return -EAGAIN;
	}
	if (is_far)
		p->far_read_ns = now_ns;
	err = take(a, p, &blocks->list, classes_of(blocks, a, place, now_ns), now_ns);
	p->reading = ++blocks->n_readings;
	return !err && !p->is_agreed ? -EAGAIN : err;
}

/* Of an area that was gone into; those that were not asked for as lately give way. */
static void weigh(struct comm_heap_blocks *blocks, struct area *a)
{
	size_t bytes = comm_allocators[a->allocator - 1]->state_bytes(a->state);

	blocks->states_bytes += bytes - a->state_bytes;
	a->state_bytes = bytes;
	while (blocks->states_bytes > STATES_BYTES_MAX) {
		struct area *oldest = NULL;

		for (size_t i = 0; i < AREAS; i++) {
			struct area *other = &blocks->area[i];

			if (other != a && other->state_bytes &&
			    (!oldest || other->used < oldest->used))
				oldest = other;
		}
		if (!oldest)
			return;
		forget_area(blocks, oldest);
	}
}

static int enter(struct comm_heap_blocks *blocks, struct area *a, const struct comm_range *range,
		 uint64_t piece, uint64_t now_ns, uint64_t *ret)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	const struct comm_allocator_ops *ops = comm_allocators[a->allocator - 1];
	int err = -EAGAIN;

	if (now_ns < a->again_ns)
		return -EAGAIN;
	for (int i = 0; i < STEPS && err == -EAGAIN && (may_read(blocks) || !i); i++)
		err = ops->enter(a->state, &memory, range, piece, ret);
	weigh(blocks, a);
	if (err == -ENODATA)
		return err;
	if (err && err != -EAGAIN)
		a->again_ns = now_ns + AGAIN_NS;
	return err ? -EAGAIN : 0;
}

static struct comm_block block_of(const struct comm_heap_blocks *blocks, const struct read_piece *p,
				  uint32_t i)
{
	const struct packed *from = &p->block[i];
	const struct comm_block_class *class = p->class && p->class[i].sure ? &p->class[i] : NULL;
	uint64_t less = from->less == LESS_ALL ? from->bytes : (UINT64_C(1) << from->less) - 1;

	return (struct comm_block){
		.start = p->start + from->at,
		.size_bytes = from->bytes,
		.least_bytes = less < from->bytes ? from->bytes - less : 0,
		.class = class ? comm_block_classes_name(blocks->classes, class->id) : NULL,
		.object = class ? class->object : 0,
	};
}

static bool reaches(const struct comm_block *block, uint64_t addr)
{
	return addr < block->start + block->size_bytes;
}

/* Has the blocks of a piece in answer, behind the one that begins before it, unless that is NULL. */
static void make_answer(struct comm_heap_blocks *blocks, const struct answered *wanted,
			const struct comm_block *before, const struct read_piece *p)
{
	struct answered *is = &blocks->answered;
	size_t n = 0;

	if (wanted->serial == is->serial && wanted->start == is->start &&
	    wanted->reading == is->reading && wanted->before == is->before)
		return;
	*is = *wanted;
	if (before)
		blocks->answer[n++] = *before;
	for (uint32_t i = 0; p && i < p->n; i++)
		if (p->block[i].sure &&
		    !(n && reaches(&blocks->answer[n - 1], p->start + p->block[i].at)))
			blocks->answer[n++] = block_of(blocks, p, i);
		else if (p->block[i].sure)
			n = 0; /* pieces were read at different times */
	is->n = n;
}

/*
 * The blocks that two readings agree on: one that began before the piece of addr, and its own.
 * -ENODATA: it is another allocator's.
 */
static int answer(struct comm_heap_blocks *blocks, struct area *a,
		  const struct comm_heap_place *place, const struct comm_range *range,
		  struct comm_blocks_found *ret)
{
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx), addr = place->addr;
	uint64_t start = comm_piece_of(addr), before = 0;
	struct read_piece *p = known_piece(blocks, a, start);
	struct answered wanted = {.serial = a->serial, .start = start};
	struct comm_block front = {0};
	size_t n;
	int err;

	if (p && now_ns < p->others_ns)
		return -ENODATA;
	err = enter(blocks, a, range, start, now_ns, &before);
	if (err == -ENODATA)
		piece_at(blocks, a, start)->others_ns = now_ns + REFUSED_NS;
	if (err)
		return err;
	if (before && !look_at(blocks, a, place, range, comm_piece_of(before), &p) && p->n &&
	    p->block[p->n - 1].sure) {
		front = block_of(blocks, p, p->n - 1);
		wanted.before = reaches(&front, start) ? p->reading : 0;
	}
	p = NULL;
	if (!wanted.before || !reaches(&front, start + COMM_PIECE_BYTES - 1))
		err = look_at(blocks, a, place, range, start, &p);
	wanted.reading = p && !err ? p->reading : 0;
	make_answer(blocks, &wanted, wanted.before ? &front : NULL, err ? NULL : p);
	n = blocks->answered.n;
	*ret = (struct comm_blocks_found){blocks->answer, n};
	return n && reaches(&blocks->answer[n - 1], addr) ? 0 : err;
}

int comm_heap_blocks_at(struct comm_heap_blocks *blocks, uint32_t tgid,
			const struct comm_heap_place *place, struct comm_blocks_found *ret)
{
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx);
	struct comm_range range;
	struct area *a;
	int err;

	*ret = (struct comm_blocks_found){0};
	blocks->tgid = tgid;
	for (unsigned int i = 0; i < COMM_ALLOCATORS; i++) {
		if (!comm_allocators[i]->range(place, &range))
			continue;
		a = area_at(blocks, tgid, i, place, &range, now_ns, &err);
		if (a)
			err = answer(blocks, a, place, &range, ret);
		if (err != (a ? -ENODATA : -ENOENT))
			return err;
	}
	return -ENOENT;
}

/*
 * Of a profile only blocks at the start of a page are, and few others begin there.  Where the first ones are not in it,
 * there is none, or it has begun late: then one in some is asked for.
 */
static bool may_have_site(struct area *a, uint64_t start)
{
	if (start % SITE_ALIGNMENT)
		return false;
	return a->n_siteless < SITELESS_MOST || a->n_siteless++ % SITELESS_AGAIN == 0;
}

/* What its allocator says of a block is read once for all questions about moments before. */
static int site_of(struct comm_heap_blocks *blocks, struct area *a, uint64_t start, uint64_t now_ns,
		   uint64_t time_ns, const struct site **ret)
{
	const struct comm_marks_memory memory = {read_target, blocks};
	struct site *site = &blocks->site[comm_hash_mix(start, a->serial) & (SITES - 1)];
	bool is_known = site->serial == a->serial && site->start == start;

	*ret = site;
	if (is_known && time_ns <= site->read_ns)
		return site->err;
	if (is_known && now_ns - site->read_ns < SITE_AGAIN_NS)
		return -EAGAIN;
	if (!may_have_site(a, start))
		return -ENOENT;
	if (!may_read(blocks))
		return -EAGAIN;
	site->err = comm_allocators[a->allocator - 1]->site(a->state, &memory, start,
							    &site->allocation);
	site->start = start;
	site->serial = site->err == -EAGAIN ? 0 : a->serial;
	site->read_ns = now_ns;
	if (!site->err)
		a->n_siteless = 0;
	else if (a->n_siteless < SITELESS_MOST)
		a->n_siteless++;
	return time_ns <= now_ns ? site->err : -EAGAIN;
}

int comm_heap_blocks_site(struct comm_heap_blocks *blocks, uint32_t tgid,
			  const struct comm_heap_place *place, uint64_t time_ns,
			  struct comm_allocation *ret)
{
	uint64_t now_ns = blocks->reading.now_ns(blocks->reading.ctx), addr = place->addr;
	struct comm_blocks_found found;
	const struct site *site;
	struct comm_range range;
	struct area *a;
	int err;

	blocks->tgid = tgid;
	for (unsigned int i = 0; i < COMM_ALLOCATORS; i++) {
		if (!comm_allocators[i]->site || !comm_allocators[i]->range(place, &range))
			continue;
		a = area_at(blocks, tgid, i, place, &range, now_ns, &err);
		if (a)
			err = answer(blocks, a, place, &range, &found);
		if (err == (a ? -ENODATA : -ENOENT))
			continue;
		if (err)
			return err;
		for (size_t j = 0; j < found.n; j++) {
			if (addr - found.block[j].start >= found.block[j].size_bytes)
				continue;
			err = site_of(blocks, a, found.block[j].start, now_ns, time_ns, &site);
			if (err || time_ns < site->allocation.since_ns)
				return err == -EAGAIN ? err : -ENOENT;
			*ret = site->allocation;
			/* It is still there, so it was at any moment between. */
			ret->until_ns = site->read_ns;
			return 0;
		}
		return -ENOENT;
	}
	return -ENOSYS;
}
