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
#include "maps.h"

enum {
	SLOTS = 4096,
	CALLERS = 6, /* that may allocate for each other */
	CALLS_MOST = COMM_ALLOCATION_WORDS + 1,
	AGAIN_NS = 100 * 1000 * 1000, /* until a name that may come is asked for again */
	TARGETS = 256,
	CALL_BYTES = 5, /* call rel32 */
	STUB_BYTES = 7,
};

/* The object of one allocation, once it has one. */
struct named {
	uint64_t start, since_ns; /* since_ns 0: a free place */
	uint64_t until_ns;	  /* good up to then */
	uint32_t tgid;
	uint32_t object; /* COMM_ID_OTHER: no name */
	bool provisional;
};

/* Where a call leads. */
struct target {
	uint64_t behind; /* the call; 0: a free place */
	uint64_t map_start;
	uint32_t tgid, file; /* which mapping that is */
	uint64_t addr;	     /* 0: not known, or into another file */
	bool unread;	     /* it could not be read: ask again */
};

struct comm_allocations {
	const struct comm_inspect *inspect;
	struct comm_sites *sites;
	struct comm_objects *objects;
	struct comm_sample stack; /* of who allocated, as if that had been sampled */
	struct named named[SLOTS];
	struct target target[TARGETS];
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

bool comm_allocations_keeps_heap(const char *function)
{
	/* Of glibc's malloc.c and arena.c. */
	static const char *const names[] = {
		"malloc",	 "free",
		"cfree",	 "__libc_malloc",
		"__libc_free",	 "_int_malloc",
		"_int_free",	 "_int_memalign",
		"unlink_chunk",	 "malloc_consolidate",
		"sysmalloc",	 "sysmalloc_mmap",
		"systrim",	 "heap_trim",
		"munmap_chunk",	 "mremap_chunk",
		"alloc_perturb", "free_perturb",
		"arena_get2",	 "ptmalloc_init",
	};
	/* Of glibc's too, and of jemalloc, tcmalloc and mimalloc. */
	static const char *const starts[] = {"_int_free_", "tcache_", "je_", "tc_",
					     "tcmalloc::", "mi_",     "_mi_"};
	size_t n = strcspn(function, "(<@.");

	if (strcasestr(function, "calloc") || strcasestr(function, "realloc"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == n && !memcmp(function, names[i], n))
			return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(function, starts[i], strlen(starts[i])))
			return true;
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
	       !strncmp(comm_maps_base(m->path), library, sizeof(library) - 1);
}

/* Of a linkage table: jmp *offset(%rip), maybe behind endbr64 and with a prefix. */
static bool is_stub(const uint8_t *code, size_t n)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = n >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64))
			    ? sizeof(endbr64)
			    : 0;

	at += at < n && code[at] == 0xf2;
	return at + 2 <= n && code[at] == 0xff && code[at + 1] == 0x25;
}

/*
 * Where the call leads that ends at behind, if it says so, and to code of the same file: 0 where it does not.  Or an
 * error.
 */
static int read_target(const struct comm_inspect *inspect, uint32_t tgid,
		       const struct comm_mapping *m, uint64_t behind, uint64_t *ret)
{
	uint8_t call[CALL_BYTES], stub[STUB_BYTES];
	uint64_t addr;
	int32_t rel;
	ssize_t n;

	*ret = 0;
	if (behind - m->start < CALL_BYTES)
		return 0;
	n = inspect->ops->text(inspect->ctx, tgid, m, behind - CALL_BYTES, call, CALL_BYTES);
	if (n != CALL_BYTES || *call != 0xe8)
		return n < 0 ? (int)n : 0;
	memcpy(&rel, call + 1, sizeof(rel));
	addr = behind + (uint64_t)(int64_t)rel;
	/* A call by a register or a table may end in such bytes: these lead elsewhere. */
	if (addr < m->start || addr >= m->end)
		return 0;
	n = inspect->ops->text(inspect->ctx, tgid, m, addr, stub, STUB_BYTES);
	if (n > 0 && n <= STUB_BYTES && !is_stub(stub, (size_t)n))
		*ret = addr;
	return n < 0 ? (int)n : 0;
}

/* As read_target(), which is not asked again about what it could read. */
static int find_target(struct comm_allocations *allocations, uint32_t tgid,
		       const struct comm_mapping *m, uint64_t behind, uint64_t *ret)
{
	struct target *target = &allocations->target[comm_hash_mix(behind, tgid) & (TARGETS - 1)];
	int err = 0;

	if (target->behind != behind || target->tgid != tgid || target->file != m->file ||
	    target->map_start != m->start || target->unread) {
		*target = (struct target){
			.behind = behind,
			.map_start = m->start,
			.tgid = tgid,
			.file = m->file,
		};
		err = read_target(allocations->inspect, tgid, m, behind, &target->addr);
		target->unread = err < 0;
	}
	*ret = target->addr;
	return err;
}

/*
 * Whether the function that the call at behind leads to is the place.  It has no frame between the
 * caller's and the allocator's, or that of a function that allocates for others: it has jumped there as the last
 * thing it did.  From where in it is not known, so *ret is its beginning.  Provisional: that is not known now.
 */
static bool find_jumped(struct comm_allocations *allocations, struct comm_space *space,
			const struct comm_mapping *m, uint64_t behind, struct comm_code *ret)
{
	const struct comm_inspect *inspect = allocations->inspect;
	uint64_t addr;
	int err = find_target(allocations, comm_space_tgid(space), m, behind, &addr);

	if (err == -EAGAIN)
		*ret = (struct comm_code){.provisional = true};
	else if (addr)
		inspect->ops->code(inspect->ctx, comm_space_tgid(space), m, addr, ret);
	else
		return false;
	return ret->provisional || !comm_allocations_is_allocator(ret->function);
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
		if (!find_jumped(allocations, space, &at, call[i], ret))
			inspect->ops->code(inspect->ctx, comm_space_tgid(space), &at, call[i] - 1,
					   ret);
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
			 comm_maps_base(place->source), place->line, place->function);
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
