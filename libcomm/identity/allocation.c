// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "caller.h"
#include "hash.h"
#include "module.h"

enum {
	SLOTS = 4096,
	CALLERS = 6, /* that may allocate for each other */
	CALLS_MOST = COMM_ALLOCATION_WORDS + 1,
	AGAIN_NS = 100 * 1000 * 1000, /* until a name that may come is asked for again */
};

/* The object of one allocation, once it has one. */
struct named {
	uint64_t start, since_ns; /* since_ns 0: a free place */
	uint64_t until_ns;	  /* good up to then */
	uint32_t tgid;
	uint32_t object; /* COMM_ID_OTHER: no name */
	bool provisional;
};

struct comm_allocations {
	const struct comm_inspect *inspect;
	struct comm_sites *sites;
	struct comm_objects *objects;
	struct comm_sample stack; /* of who allocated, as if that had been sampled */
	struct named named[SLOTS];
};

int comm_allocations_create(const struct comm_inspect *inspect, struct comm_sites *sites,
			    struct comm_objects *objects, struct comm_allocations **ret)
{
	struct comm_allocations *allocations = calloc(1, sizeof(*allocations));

	if (!allocations)
		return -ENOMEM;
	allocations->inspect = inspect;
	allocations->sites = sites;
	allocations->objects = objects;
	*ret = allocations;
	return 0;
}

void comm_allocations_destroy(struct comm_allocations *allocations)
{
	free(allocations);
}

bool comm_allocations_is_allocator(const char *function)
{
	static const char *const parts[] = {"malloc", "calloc", "realloc"};
	static const char *const ends[] = {"alloc",   "alloc0",	  "memalign", "strdup",
					   "strndup", "asprintf", "getline"};
	static const char new_name[] = "operator new";
	char bare[COMM_NAME_BYTES];
	size_t n;

	/* Without arguments, as demangled names have them, and what compilers append. */
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(function, "(<@."), function);
	n = strlen(bare);
	if (!strncmp(bare, new_name, sizeof(new_name) - 1))
		return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcasestr(bare, parts[i]))
			return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (n >= end && !strcasecmp(bare + n - end, ends[i]))
			return true;
	}
	return false;
}

/* The code behind the calls, from the one that allocated on; at least one. */
static unsigned int find_calls(struct comm_allocations *allocations, struct comm_space *space,
			       const struct comm_allocation *from, uint64_t now_ns,
			       uint64_t ret[CALLS_MOST])
{
	struct comm_sample *stack = &allocations->stack;
	uint64_t back[COMM_CALLERS_MAX];
	unsigned int n;
	bool is_all;

	ret[0] = from->code;
	if (!from->sp) {
		memcpy(ret + 1, from->word, from->n_words * sizeof(*ret));
		return from->n_words + 1;
	}
	stack->mode_bits = 64;
	stack->known = 1 << COMM_RSP | 1 << COMM_RBP;
	/* Within the call: behind it may be another function. */
	stack->ip = from->code - 1;
	stack->reg[COMM_RSP] = from->sp;
	stack->reg[COMM_RBP] = from->rbp;
	stack->n_chunks = 1;
	stack->chunk[0] = (struct comm_chunk){
		.addr = from->sp,
		.len_bytes = from->n_words * (uint32_t)sizeof(*from->word),
	};
	memcpy(stack->data, from->word, sizeof(from->word));
	n = comm_callers_find(allocations->sites, space, now_ns, stack, CALLERS, back, &is_all);
	memcpy(ret + 1, back, n * sizeof(*back));
	return n + 1;
}

/* A trace of jemalloc's profile begins within itself. */
static bool is_jemallocs(const struct comm_mapping *m)
{
	static const char library[] = "libjemalloc.so";

	return m->kind == COMM_MAP_FILE &&
	       !strncmp(comm_module_base(m->path), library, sizeof(library) - 1);
}

/* The place in the code that a block belongs to.  0; -EAGAIN: its name may still come; -ENOENT. */
static int find_place(struct comm_allocations *allocations, struct comm_space *space,
		      const struct comm_allocation *from, uint64_t now_ns, struct comm_code *ret)
{
	const struct comm_inspect *inspect = allocations->inspect;
	uint64_t call[CALLS_MOST];
	unsigned int n = find_calls(allocations, space, from, now_ns, call);

	for (unsigned int i = 0; i < n; i++) {
		const struct comm_mapping *m = comm_space_find(space, call[i] - 1, now_ns);
		struct comm_mapping at;

		if (!m || !m->executable)
			return -ENOENT;
		if (!from->sp && is_jemallocs(m))
			continue;
		/* Its own functions are not told from others in a program that contains it. */
		if (!from->sp && !i)
			return -ENOENT;
		at = *m;
		inspect->ops->code(inspect->ctx, comm_space_tgid(space), &at, call[i] - 1, ret);
		if (ret->provisional)
			return -EAGAIN;
		if (comm_allocations_is_allocator(ret->function))
			continue;
		/* What allocates for the function may be inlined there. */
		if (ret->inlined && ret->call_source &&
		    comm_allocations_is_allocator(ret->inlined)) {
			ret->source = ret->call_source;
			ret->line = ret->call_line;
		}
		return 0;
	}
	return -ENOENT;
}

static uint32_t object_of(struct comm_allocations *allocations, uint32_t tgid,
			  const struct comm_allocation *block, uint64_t datum,
			  const struct comm_code *place)
{
	char name[COMM_NAME_BYTES];
	const struct comm_object o = {
		.kind = COMM_OBJECT_BLOCK,
		.name = name,
		.module = place->module,
		.build_id = place->build_id,
		.start = datum,
		.size_bytes = block->size_bytes,
		.tgid = tgid,
	};

	/* As the exact source calls it (daemon/source/exact_names.c). */
	if (place->source)
		snprintf(name, sizeof(name), "%.200s:%" PRIu32 " (%.200s)",
			 comm_module_base(place->source), place->line, place->function);
	else
		snprintf(name, sizeof(name), "%.200s (%.200s)", place->function, place->module);
	return comm_objects_block(allocations->objects, &o);
}

static void name(struct comm_allocations *allocations, struct comm_space *space,
		 const struct comm_allocation *block, uint64_t datum, uint64_t now_ns,
		 struct named *ret)
{
	struct comm_code place;
	int err = find_place(allocations, space, block, now_ns, &place);

	*ret = (struct named){
		.start = block->start,
		.since_ns = block->since_ns,
		.until_ns = err ? now_ns + AGAIN_NS : UINT64_MAX,
		.tgid = comm_space_tgid(space),
		.provisional = err == -EAGAIN,
	};
	if (!err)
		ret->object = object_of(allocations, ret->tgid, block, datum, &place);
}

int comm_allocations_at(struct comm_allocations *allocations, struct comm_space *space,
			uint64_t addr, uint64_t datum, uint64_t now_ns, struct comm_allocated *ret)
{
	const struct comm_inspect *inspect = allocations->inspect;
	uint32_t tgid = comm_space_tgid(space);
	struct comm_allocation block;
	struct named *named;
	int err;

	if (!inspect->ops->allocation)
		return -ENOENT;
	err = inspect->ops->allocation(inspect->ctx, tgid, addr, now_ns, &block);
	if (err)
		return err == -EAGAIN ? err : -ENOENT;
	if (addr < block.start || addr - block.start >= block.size_bytes)
		return -ENOENT;
	named = &allocations
			 ->named[comm_hash_mix(comm_hash_mix(block.start, block.since_ns), tgid) &
				 (SLOTS - 1)];
	if (named->tgid != tgid || named->start != block.start ||
	    named->since_ns != block.since_ns || now_ns >= named->until_ns)
		name(allocations, space, &block, datum - (addr - block.start), now_ns, named);
	if (named->provisional)
		return -EAGAIN;
	if (named->object == COMM_ID_OTHER)
		return -ENOENT;
	*ret = (struct comm_allocated){
		.start = block.start,
		.end = block.start + block.size_bytes,
		.until_ns = block.until_ns,
		.object = named->object,
	};
	return 0;
}
