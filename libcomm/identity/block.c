// SPDX-License-Identifier: GPL-2.0-or-later
#include "block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "hash.h"

enum {
	SLOTS = 4096,
	LINE_SHIFT = 6,		     /* an answer is looked for by this much of the address */
	AGAIN_NS = 50 * 1000 * 1000, /* until it is asked again */
	EXACT_BYTES = 1024,	     /* sizes up to here are classes of their own */
	LARGE_BYTES = 128 << 10,     /* from here on, too; such a block mostly is a mapping */
	IN_K_BYTES = 4096,	     /* from here on, sizes are told in K */
	PAGE = 4096,
	NAMES_BYTES_MAX = 8 << 20,
	LARGE_MAX = 4096, /* large blocks that are remembered */
	RECENT = 16, /* answers of more than a line that are looked through before it is asked */
};

/* A block of LARGE_BYTES or more, as it was last met. */
struct large {
	uint64_t start, end, met_ns;
	uint32_t tgid, id;
};

/* Of the bytes from start to end in a process. */
struct known {
	uint64_t start, end;
	uint64_t until_ns;
	uint32_t tgid;
	struct comm_block_object object;
};

struct comm_block_objects {
	const struct comm_inspect *inspect;
	struct comm_objects *objects;
	struct comm_allocations *allocations;
	struct comm_names *names; /* of classes */
	struct known known[SLOTS];
	struct known recent[RECENT];
	uint32_t n_recent;	       /* that were put there, ever */
	struct large large[LARGE_MAX]; /* by process and address; they do not overlap */
	uint32_t n_large, last_id;     /* how many; the latest's number */
};

int comm_block_objects_create(const struct comm_inspect *inspect, struct comm_sites *sites,
			      struct comm_objects *objects, struct comm_block_objects **ret)
{
	struct comm_block_objects *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	if (comm_allocations_create(inspect, sites, objects, &blocks->allocations) ||
	    comm_names_create(NAMES_BYTES_MAX, &blocks->names)) {
		comm_block_objects_destroy(blocks);
		return -ENOMEM;
	}
	blocks->inspect = inspect;
	blocks->objects = objects;
	*ret = blocks;
	return 0;
}

void comm_block_objects_destroy(struct comm_block_objects *blocks)
{
	if (!blocks)
		return;
	comm_allocations_destroy(blocks->allocations);
	comm_names_destroy(blocks->names);
	free(blocks);
}

/* The class of a size beyond EXACT_BYTES: more than *ret_above, up to *ret_most. */
static void class_of(uint64_t bytes, uint64_t *ret_above, uint64_t *ret_most)
{
	unsigned int log2 = 63 - (unsigned int)__builtin_clzll(bytes - 1);
	uint64_t step = (uint64_t)1 << (log2 - 2);

	*ret_above = (bytes - 1) / step * step;
	*ret_most = *ret_above + step;
}

void comm_block_name(const struct comm_block *block, char name[COMM_BLOCK_NAME_BYTES])
{
	static const char unit[] = "KMGT";
	uint64_t bytes = block->size_bytes, above, most;
	size_t u = 0;

	if (block->class) {
		snprintf(name, COMM_BLOCK_NAME_BYTES, "%.480s (heap blocks)", block->class);
		return;
	}
	if (bytes <= EXACT_BYTES && !block->least_bytes) {
		snprintf(name, COMM_BLOCK_NAME_BYTES, "heap blocks of up to %" PRIu64 " B", bytes);
		return;
	}
	if (bytes <= EXACT_BYTES) {
		snprintf(name, COMM_BLOCK_NAME_BYTES, "heap blocks of %" PRIu64 " to %" PRIu64 " B",
			 block->least_bytes, bytes);
		return;
	}
	/* Some allocators have classes of their own for large blocks: there are no others in between. */
	if (bytes < LARGE_BYTES || (block->least_bytes && bytes - block->least_bytes > PAGE)) {
		class_of(bytes, &above, &most);
		if (above < IN_K_BYTES) {
			snprintf(name, COMM_BLOCK_NAME_BYTES,
				 "heap blocks of %" PRIu64 " to %" PRIu64 " B", above + 1, most);
			return;
		}
		above >>= 10;
		most >>= 10;
		for (; above >= 4 * 1024 && u < sizeof(unit) - 2; u++) {
			above >>= 10;
			most >>= 10;
		}
		snprintf(name, COMM_BLOCK_NAME_BYTES,
			 "heap blocks of %" PRIu64 "%c to %" PRIu64 "%c", above, unit[u], most,
			 unit[u]);
		return;
	}
	/* Of what may have been asked for, the least whole number of K: mostly that is what was. */
	for (bytes = (block->least_bytes + 1023) >> 10; bytes >= 4 * 1024 && u < sizeof(unit) - 2;
	     u++)
		bytes >>= 10;
	snprintf(name, COMM_BLOCK_NAME_BYTES, "heap block of %" PRIu64 "%c", bytes, unit[u]);
}

/* The block at addr; false: *ret is what lies between two of them. */
static bool find(const struct comm_blocks_found *blocks, uint64_t addr, struct comm_block *ret)
{
	uint64_t start = comm_piece_of(addr), end = start + COMM_PIECE_BYTES;

	for (size_t i = 0; i < blocks->n; i++) {
		const struct comm_block *b = &blocks->block[i];

		if (addr < b->start) {
			end = b->start;
			break;
		}
		if (addr - b->start < b->size_bytes) {
			*ret = *b;
			return true;
		}
		start = b->start + b->size_bytes;
	}
	*ret = (struct comm_block){.start = start, .size_bytes = end - start};
	return false;
}

static uint32_t block_object(struct comm_block_objects *blocks, uint32_t tgid,
			     const struct comm_block *block, uint64_t datum)
{
	char name[COMM_BLOCK_NAME_BYTES];
	const struct comm_object o = {
		.kind = COMM_OBJECT_BLOCK,
		.name = name,
		.start = datum,
		.size_bytes = block->size_bytes,
		.tgid = tgid,
	};

	comm_block_name(block, name);
	return comm_objects_block(blocks->objects, &o);
}

/* The part of shared memory that a variable leads to. */
static uint32_t part_object(struct comm_block_objects *blocks, const struct comm_block *part,
			    uint64_t datum)
{
	char name[COMM_BLOCK_NAME_BYTES];
	const struct comm_object o = {
		.kind = COMM_OBJECT_SHARED,
		.name = name,
		.start = datum,
		.size_bytes = part->size_bytes,
	};

	snprintf(name, sizeof(name), "*%.480s+", part->class ? part->class : "");
	return comm_objects_block(blocks->objects, &o);
}

/* The same heap, by a name that says more of it. */
static uint32_t heap_object(struct comm_block_objects *blocks, const struct comm_object *heap,
			    const char *what)
{
	struct comm_object o = *heap;
	char name[64];

	snprintf(name, sizeof(name), "%.32s (%s)", heap->name, what);
	o.name = name;
	return comm_objects_block(blocks->objects, &o);
}

uint32_t comm_block_objects_lists(struct comm_block_objects *blocks, uint32_t object)
{
	const struct comm_object *heap = comm_objects_at(blocks->objects, object);

	return heap->kind == COMM_OBJECT_HEAP || heap->kind == COMM_OBJECT_ANON
		       ? heap_object(blocks, heap, "the allocator's")
		       : object;
}

/* Of shared memory, that without a lasting file. */
static bool may_have_blocks(struct comm_space *space, uint64_t addr,
			    const struct comm_object *within, uint64_t now_ns)
{
	const struct comm_mapping *m;

	if (within->kind != COMM_OBJECT_SHARED)
		return true;
	m = comm_space_find(space, addr, now_ns);
	return m && m->kind == COMM_MAP_SHARED && m->shared;
}

static void ask(struct comm_block_objects *blocks, struct comm_space *space, uint64_t addr,
		uint64_t datum, const struct comm_object *within, uint64_t now_ns,
		struct known *ret)
{
	const struct comm_inspect *inspect = blocks->inspect;
	uint32_t tgid = comm_space_tgid(space);
	struct comm_allocated allocated;
	struct comm_blocks_found all;
	struct comm_block b;
	bool is_block;
	int err;

	*ret = (struct known){
		.start = addr >> LINE_SHIFT << LINE_SHIFT,
		.end = (addr | ((1 << LINE_SHIFT) - 1)) + 1,
		.until_ns = now_ns + AGAIN_NS,
		.tgid = tgid,
	};
	/* What is not known of its place, or not yet, has a size all the same. */
	if (within->kind != COMM_OBJECT_SHARED &&
	    !comm_allocations_at(blocks->allocations, space, addr, datum, now_ns, &allocated)) {
		ret->start = allocated.start;
		ret->end = allocated.end;
		ret->object.id = allocated.object;
		if (allocated.until_ns < ret->until_ns)
			ret->until_ns = allocated.until_ns + 1;
		return;
	}
	if (!inspect->ops->blocks || !may_have_blocks(space, addr, within, now_ns))
		return;
	err = inspect->ops->blocks(inspect->ctx, tgid, addr, &all);
	ret->object.unread = err == -EAGAIN && within->kind != COMM_OBJECT_SHARED;
	if (err) {
		if (err == -ENOENT && within->kind == COMM_OBJECT_HEAP)
			ret->object.id = heap_object(blocks, within, "allocator not known");
		return;
	}
	is_block = find(&all, addr, &b);
	if (is_block && within->kind == COMM_OBJECT_SHARED)
		ret->object.id = part_object(blocks, &b, datum - (addr - b.start));
	else if (is_block)
		ret->object = (struct comm_block_object){
			.id = block_object(blocks, tgid, &b, datum - (addr - b.start)),
			.class = b.class ? comm_names_add(blocks->names, b.class, COMM_NAME_BYTES)
					 : NULL,
			.start = b.start + b.object,
		};
	ret->start = b.start;
	ret->end = b.start + b.size_bytes;
}

/* How many of the large blocks come before an address of a process, or begin there. */
static uint32_t large_until(const struct comm_block_objects *blocks, uint32_t tgid, uint64_t addr)
{
	uint32_t low = 0, high = blocks->n_large;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct large *l = &blocks->large[middle];

		if (l->tgid < tgid || (l->tgid == tgid && l->start <= addr))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void large_drop(struct comm_block_objects *blocks, uint32_t first, uint32_t n)
{
	blocks->n_large -= n;
	memmove(&blocks->large[first], &blocks->large[first + n],
		(blocks->n_large - first) * sizeof(*blocks->large));
}

/* What overlaps it is no more; of too many the one goes that was not met for longest. */
static void large_add(struct comm_block_objects *blocks, const struct known *met, uint64_t now_ns)
{
	struct large *l = blocks->large;
	uint32_t at = large_until(blocks, met->tgid, met->start), end, oldest = 0;

	if (at && l[at - 1].tgid == met->tgid && l[at - 1].end > met->start)
		at--;
	if (at < blocks->n_large && l[at].tgid == met->tgid && l[at].start == met->start &&
	    l[at].end == met->end) {
		l[at].met_ns = now_ns;
		return;
	}
	for (end = at;
	     end < blocks->n_large && l[end].tgid == met->tgid && l[end].start < met->end;)
		end++;
	large_drop(blocks, at, end - at);
	if (blocks->n_large == LARGE_MAX) {
		for (uint32_t i = 1; i < LARGE_MAX; i++)
			if (l[i].met_ns < l[oldest].met_ns)
				oldest = i;
		large_drop(blocks, oldest, 1);
		at -= oldest < at;
	}
	memmove(&l[at + 1], &l[at], (blocks->n_large++ - at) * sizeof(*l));
	l[at] = (struct large){met->start, met->end, now_ns, met->tgid, ++blocks->last_id};
}

uint32_t comm_block_objects_large(const struct comm_block_objects *blocks, uint32_t tgid,
				  uint64_t addr)
{
	uint32_t at = blocks->n_large ? large_until(blocks, tgid, addr) : 0;

	if (!at || blocks->large[at - 1].tgid != tgid || addr >= blocks->large[at - 1].end)
		return 0;
	return blocks->large[at - 1].id;
}

static bool holds(const struct known *known, uint32_t tgid, uint64_t addr, uint64_t now_ns)
{
	return known->tgid == tgid && addr >= known->start && addr < known->end &&
	       now_ns < known->until_ns;
}

/* Another line of a block that is known: a burst mostly reads several of one. */
static const struct known *recent_at(const struct comm_block_objects *blocks, uint32_t tgid,
				     uint64_t addr, uint64_t now_ns)
{
	for (size_t i = 0; i < RECENT; i++)
		if (holds(&blocks->recent[i], tgid, addr, now_ns))
			return &blocks->recent[i];
	return NULL;
}

struct comm_block_object comm_block_objects_at(struct comm_block_objects *blocks,
					       struct comm_space *space, uint64_t addr,
					       uint64_t datum, uint32_t object, uint64_t now_ns)
{
	uint32_t tgid = comm_space_tgid(space);
	const struct comm_object *within = comm_objects_at(blocks->objects, object);
	struct known *known = &blocks->known[comm_hash_mix(addr >> LINE_SHIFT, tgid) & (SLOTS - 1)];
	const struct known *recent;

	if (within->kind != COMM_OBJECT_HEAP && within->kind != COMM_OBJECT_ANON &&
	    within->kind != COMM_OBJECT_SHARED)
		return (struct comm_block_object){.id = COMM_ID_OTHER};
	if (!holds(known, tgid, addr, now_ns)) {
		recent = recent_at(blocks, tgid, addr, now_ns);
		if (recent)
			return (*known = *recent).object;
		ask(blocks, space, addr, datum, within, now_ns, known);
		if (known->object.id && known->end - known->start > 1 << LINE_SHIFT)
			blocks->recent[blocks->n_recent++ % RECENT] = *known;
		/* What processes share has addresses of its own in each, and must be one. */
		if (known->object.id && within->kind != COMM_OBJECT_SHARED &&
		    known->end - known->start >= LARGE_BYTES)
			large_add(blocks, known, now_ns);
	}
	return known->object;
}
