// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact.h"
#include "mark.h"

enum { FIRST_EDGES = 1024, PAGE_BYTES = 4096 };

#define ARENA_BYTES ((size_t)1 << 34)

/*
 * Shared with children of fork(), at the same address: who looks at the end sees
 * what all of them have counted.
 */
struct dictionary {
	uint32_t threads;
	uint64_t lost;
	struct comm_exact_thread *newest;
	size_t arena_fill;
	char *arena;
	struct comm_exact_identity identity[COMM_EXACT_THREADS];
	/* Open addressing: a site's number is its place. */
	uint64_t pc[COMM_EXACT_SITES];
	/* Likewise: the region around << 48 and the address of the name. */
	uint64_t region[COMM_EXACT_REGIONS];
};

static const uint64_t low_bits = ((uint64_t)1 << COMM_EXACT_REGION_SHIFT) - 1;

__thread struct comm_exact_thread *comm_exact_self;
uint16_t comm_exact_frame_now;
uint64_t comm_exact_frames;

static struct dictionary *dictionary;
static int self_first, has_key;
static pthread_key_t end_key;

static void take_name(void *t)
{
	uint32_t slot = ((struct comm_exact_thread *)t)->slot_bits >> COMM_SITE_BITS;

	prctl(PR_GET_NAME, dictionary->identity[slot].name);
}

void comm_exact_thread_end(void)
{
	if (comm_exact_self)
		take_name(comm_exact_self);
}

static void __attribute__((noreturn)) out_of_memory(void)
{
	static const char what[] = "comm-exact: out of memory\n";

	syscall(SYS_write, 2, what, sizeof(what) - 1);
	for (;;)
		syscall(SYS_exit_group, 1);
}

static void *map_shared(size_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		out_of_memory();
	return p;
}

/* Whole pages, zero, never given back. */
static void *allocate(size_t bytes)
{
	size_t at;

	bytes = (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
	at = __atomic_fetch_add(&dictionary->arena_fill, bytes, __ATOMIC_RELAXED);
	if (at + bytes > ARENA_BYTES)
		out_of_memory();
	return dictionary->arena + at;
}

/* The child is one new thread. */
static void after_fork(void)
{
	comm_exact_self = NULL;
}

void comm_exact_threads_init(void)
{
	const char *text = getenv("COMM_EXACT_SELF_FIRST");

	if (dictionary)
		return;
	self_first = text && text[0] == '1';
	dictionary = map_shared(sizeof(*dictionary));
	dictionary->arena = map_shared(ARENA_BYTES);
	pthread_atfork(NULL, NULL, after_fork);
	has_key = !pthread_key_create(&end_key, take_name);
}

struct comm_exact_thread *comm_exact_thread_create(void)
{
	struct comm_exact_thread *t;
	uint32_t slot;

	comm_exact_init();
	/* What init called may have come here before us. */
	if (comm_exact_self)
		return comm_exact_self;
	t = allocate(sizeof(*t));
	/* Slot 0 is nobody. */
	slot = __atomic_add_fetch(&dictionary->threads, 1, __ATOMIC_RELAXED);
	if (slot >= COMM_EXACT_THREADS) {
		slot = COMM_EXACT_THREADS - 1;
		__atomic_fetch_add(&dictionary->lost, 1, __ATOMIC_RELAXED);
	} else {
		dictionary->identity[slot].pid = getpid();
		dictionary->identity[slot].tid = syscall(SYS_gettid);
		prctl(PR_GET_NAME, dictionary->identity[slot].name);
	}
	t->slot_bits = slot << COMM_SITE_BITS;
	t->bit = (uint64_t)1 << slot % 64;
	t->after_write = self_first ? 0 : t->bit;
	t->mask = FIRST_EDGES - 1;
	t->edge = allocate(FIRST_EDGES * sizeof(*t->edge));
	t->next = __atomic_load_n(&dictionary->newest, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&dictionary->newest, &t->next, t, 0, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE))
		;
	comm_exact_self = t;
	comm_object_stack(slot);
	if (has_key)
		pthread_setspecific(end_key, t);
	return t;
}

/* Partner: grow(). */
struct comm_exact_edge *comm_exact_table(struct comm_exact_thread *t, uint64_t *ret_mask)
{
	struct comm_exact_edge *edge;

	do {
		*ret_mask = __atomic_load_n(&t->mask, __ATOMIC_ACQUIRE);
		edge = __atomic_load_n(&t->edge, __ATOMIC_ACQUIRE);
	} while (*ret_mask != __atomic_load_n(&t->mask, __ATOMIC_ACQUIRE));
	return edge;
}

struct comm_exact_thread *comm_exact_threads(void)
{
	return __atomic_load_n(&dictionary->newest, __ATOMIC_ACQUIRE);
}

const struct comm_exact_identity *comm_exact_identity(uint32_t slot)
{
	return &dictionary->identity[slot];
}

uint64_t comm_exact_threads_lost(void)
{
	return dictionary ? dictionary->lost : 0;
}

static uint64_t hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

static struct comm_exact_edge *place(struct comm_exact_edge *edge, uint64_t mask, uint64_t key,
				     uint64_t object)
{
	uint64_t i = hash(hash(key) + object) & mask;

	while (edge[i].key && (edge[i].key != key || edge[i].object != object))
		i = (i + 1) & mask;
	return &edge[i];
}

/* The old table stays: a dump may be reading it.  All old ones together are as big as the new one. */
static void grow(struct comm_exact_thread *t)
{
	uint64_t mask = t->mask * 2 + 1, i;
	struct comm_exact_edge *edge = allocate((mask + 1) * sizeof(*edge));

	for (i = 0; i <= t->mask; i++)
		if (t->edge[i].key)
			*place(edge, mask, t->edge[i].key, t->edge[i].object) = t->edge[i];
	/* The table before its size, or a dump reads past the end (partner: comm_exact_table()). */
	__atomic_store_n(&t->edge, edge, __ATOMIC_RELEASE);
	__atomic_store_n(&t->mask, mask, __ATOMIC_RELEASE);
	/* They have edges of the old table, where nobody looks any more. */
	for (i = 0; i < COMM_EXACT_RECENT; i++)
		t->recent[i].pc = 0;
}

static struct comm_exact_edge *edge_of(struct comm_exact_thread *t, uint64_t key, uint64_t object)
{
	struct comm_exact_edge *e = place(t->edge, t->mask, key, object);

	if (!e->key) {
		if (++t->n * 2 > t->mask) {
			grow(t);
			e = place(t->edge, t->mask, key, object);
		}
		e->object = object;
		e->key = key;
	}
	return e;
}

uint32_t comm_exact_site(uint64_t key)
{
	uint32_t i = hash(key) >> 20 & (COMM_EXACT_SITES - 1), tries;

	if (key < COMM_SITE_FIRST)
		return key;
	for (tries = 0; tries < COMM_EXACT_SITES / 2; tries++) {
		uint64_t old = 0;

		if (i < COMM_SITE_FIRST)
			i = COMM_SITE_FIRST;
		if (dictionary->pc[i] == key ||
		    __atomic_compare_exchange_n(&dictionary->pc[i], &old, key, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    old == key)
			return i;
		i = (i + 1) & (COMM_EXACT_SITES - 1);
	}
	return COMM_SITE_UNKNOWN;
}

uint64_t comm_exact_site_pc(uint32_t site)
{
	return site < COMM_SITE_FIRST ? site : dictionary->pc[site] & low_bits & ~COMM_EXACT_CALLED;
}

int comm_exact_site_is_own(uint32_t site)
{
	return !(dictionary->pc[site] & COMM_EXACT_CALLED);
}

uint32_t comm_exact_site_region(uint32_t site)
{
	return dictionary->pc[site] >> COMM_EXACT_REGION_SHIFT;
}

void comm_exact_region(uint32_t region, uint32_t *ret_parent, const char **ret_name)
{
	*ret_parent = dictionary->region[region] >> COMM_EXACT_REGION_SHIFT;
	*ret_name = (const char *)(dictionary->region[region] & low_bits);
}

/* The region whose name stands there, within another. */
static uint32_t region_within(uint32_t parent, const char *name)
{
	uint64_t key = (uint64_t)parent << COMM_EXACT_REGION_SHIFT | ((uint64_t)name & low_bits);
	uint32_t i = hash(key) >> 20 & (COMM_EXACT_REGIONS - 1), tries;

	for (tries = 0; tries < COMM_EXACT_REGIONS / 2; tries++) {
		uint64_t old = 0;

		if (i < COMM_EXACT_REGION_FIRST)
			i = COMM_EXACT_REGION_FIRST;
		if (dictionary->region[i] == key ||
		    __atomic_compare_exchange_n(&dictionary->region[i], &old, key, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    old == key)
			return i;
		i = (i + 1) & (COMM_EXACT_REGIONS - 1);
	}
	return COMM_EXACT_REGION_OTHER;
}

/*
 * The header calls this after each change; a name that is NULL has no region of its own, nor has
 * code in place of one (COMM_MARK_CODE(), a negative number).
 */
void comm_exact_mark(const struct comm_mark_stack *stack)
{
	struct comm_exact_thread *t = comm_exact_thread();
	uint32_t region = COMM_EXACT_REGION_NONE;
	uint64_t i;

	for (i = 0; i < stack->depth && i < COMM_EXACT_MARKS && region != COMM_EXACT_REGION_OTHER;
	     i++)
		region = (intptr_t)stack->name[i] > 0 ? region_within(region, stack->name[i])
						      : COMM_EXACT_REGION_OTHER;
	t->region_bits = (uint64_t)region << COMM_EXACT_REGION_SHIFT;
}

/* Likewise: that frame begins.  Frames are of the process that writes the result. */
void comm_exact_frame(uint64_t frame)
{
	comm_exact_init();
	comm_exact_frames = frame;
	comm_exact_frame_now = (frame - 1) % COMM_EXACT_FRAME_WRAP + 1;
}

/* A signal handler of this thread may come in between: it shall find all of one access or none. */
static void remember(struct comm_exact_recent *r, uint64_t pc, const struct comm_exact_recent *now)
{
	r->pc = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*r = *now;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->pc = pc;
}

static uint32_t site_of(struct comm_exact_thread *t, uint64_t pc)
{
	struct comm_exact_recent *r = comm_exact_recent(t, pc, 0);
	uint64_t key = pc | t->region_bits;
	uint32_t site = r->site;

	if (r->pc != key) {
		site = comm_exact_site(key);
		/* An object that no cell has: this is no read of what nobody wrote. */
		remember(r, key, &(struct comm_exact_recent){.site = site, .object = UINT32_MAX});
	}
	return site;
}

static void first_read(struct comm_exact_thread *t, struct comm_cell *cell, uint64_t len_bytes,
		       struct comm_exact_edge *e)
{
	e->first_bytes += len_bytes;
	__atomic_fetch_or(&cell->seen, t->bit, __ATOMIC_RELAXED);
}

void comm_exact_read(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	const uint64_t granule = comm_shadow_mask + 1;
	uint64_t part = granule - (addr & comm_shadow_mask);
	struct comm_cell *cell = comm_cell(addr);
	struct comm_exact_recent now = {.site = site_of(t, pc)};

	for (; len_bytes; cell++) {
		uint32_t object = comm_object_of(addr), frames = comm_exact_frames_of(cell);

		if (part > len_bytes)
			part = len_bytes;
		if (!now.edge || cell->writer != now.writer || frames != now.frames ||
		    object != now.object) {
			now.writer = cell->writer;
			now.frames = frames;
			now.object = object;
			now.edge = edge_of(t,
					   (uint64_t)now.writer << 32 |
						   comm_exact_back(cell->frame) | now.site,
					   object);
		}
		now.edge->bytes += part;
		if (!(cell->seen & t->bit))
			first_read(t, cell, part, now.edge);
		len_bytes -= part;
		addr += part;
		part = granule;
	}
	remember(comm_exact_recent(t, pc, now.writer), pc | t->region_bits, &now);
}

void comm_exact_write(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	uint64_t granule = (uint64_t)1 << comm_shadow_shift;
	uint64_t cells = ((addr & (granule - 1)) + len_bytes + granule - 1) >> comm_shadow_shift;
	uint32_t writer = t->slot_bits | site_of(t, pc);
	struct comm_cell *cell = comm_cell(addr);

	for (; cells; cells--, cell++) {
		cell->writer = writer;
		cell->frame = comm_exact_frame_now;
		cell->seen = t->after_write;
	}
}

void comm_exact_read_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	comm_exact_read(comm_exact_thread(), addr, len_bytes, pc);
}

void comm_exact_write_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	comm_exact_write(comm_exact_thread(), addr, len_bytes, pc);
}
