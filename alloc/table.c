// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampled.h"

enum {
	WAYS = 4,			       /* of a bucket */
	MOST_LIVE = COMM_ALLOC_BLOCKS / 8 * 7, /* of more, some give way */
	TRIES = 8,			       /* places that are looked at then */
	SLOT_BITS = 16,
	ADDRESS_BITS = 64 - SLOT_BITS,
	PAGE_BYTES = 4096,
	SIGNAL_SET_BYTES = 8,
};

_Static_assert(COMM_ALLOC_BLOCKS <= 1 << SLOT_BITS, "a place fits beside an address");

uint8_t alloc_table_held[1 << ALLOC_BUCKET_BITS];

extern struct comm_alloc_table alloc_table;
struct comm_alloc_table alloc_table;

/* Address and place in the table of each block that is allocated; who takes a key out has the place for itself. */
static uint64_t held[1 << ALLOC_BUCKET_BITS][WAYS];
static uint64_t n_claimed;
static uint32_t n_live;

__asm__(".pushsection .note.commprof.alloc,\"a\",@note\n"
	".balign 4\n"
	".long 9, 8, 3\n"
	".asciz \"commprof\"\n"
	".balign 4\n"
	".quad alloc_table - .\n"
	".popsection\n");

static __attribute__((constructor)) void begin(void)
{
	alloc_table.n_blocks = COMM_ALLOC_BLOCKS;
	/* Last.  Partner: libcomm/heap/sampled_blocks.c */
	__atomic_store_n(&alloc_table.version, (uint32_t)COMM_ALLOC_VERSION, __ATOMIC_RELEASE);
}

uint64_t alloc_table_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t key_of(uint64_t start, uint32_t slot)
{
	return start << SLOT_BITS | slot;
}

static int hold(uint64_t start, uint32_t slot)
{
	uint32_t bucket = alloc_table_bucket(start);

	for (int way = 0; way < WAYS; way++) {
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&held[bucket][way], &none, key_of(start, slot), 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(&alloc_table_held[bucket], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&n_live, 1, __ATOMIC_RELAXED);
		return 1;
	}
	return 0;
}

static int let_go(uint32_t bucket, int way, uint64_t key)
{
	if (!__atomic_compare_exchange_n(&held[bucket][way], &key, 0, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return 0;
	__atomic_fetch_sub(&alloc_table_held[bucket], 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&n_live, 1, __ATOMIC_RELAXED);
	return 1;
}

static void changed(void)
{
	__atomic_fetch_add(&alloc_table.changes, 1, __ATOMIC_RELEASE);
}

int alloc_table_leave(uint64_t start)
{
	uint32_t bucket = alloc_table_bucket(start);

	for (int way = 0; way < WAYS; way++) {
		uint64_t key = __atomic_load_n(&held[bucket][way], __ATOMIC_ACQUIRE);

		if (!key || key >> SLOT_BITS != start || !let_go(bucket, way, key))
			continue;
		__atomic_store_n(&alloc_table.block[key & ((1 << SLOT_BITS) - 1)].until_ns,
				 alloc_table_now_ns(), __ATOMIC_RELEASE);
		changed();
		return 1;
	}
	return 0;
}

/* Takes the place of a live block, which is not told any more. */
static int evict(uint32_t slot)
{
	uint64_t start = __atomic_load_n(&alloc_table.block[slot].start, __ATOMIC_RELAXED);
	uint32_t bucket = alloc_table_bucket(start);

	for (int way = 0; way < WAYS; way++)
		if (__atomic_load_n(&held[bucket][way], __ATOMIC_RELAXED) == key_of(start, slot))
			return let_go(bucket, way, key_of(start, slot));
	return 0;
}

/*
 * A place for a block, which is BUSY from then on; -1: there is none.  Places are used in turns, so
 * that of blocks that are freed the last ones stay: commd looks some time later.  Live ones stand side by side, as
 * programs begin with what they keep: as long as there are others, these are passed over.
 */
static int claim(size_t size)
{
	int tries =
		__atomic_load_n(&n_live, __ATOMIC_RELAXED) < MOST_LIVE ? COMM_ALLOC_BLOCKS : TRIES;

	for (int i = 0; i < tries; i++) {
		uint32_t slot =
			__atomic_fetch_add(&n_claimed, 1, __ATOMIC_RELAXED) % COMM_ALLOC_BLOCKS;
		struct comm_alloc_block *block = &alloc_table.block[slot];
		uint64_t until_ns = __atomic_load_n(&block->until_ns, __ATOMIC_ACQUIRE);

		if (until_ns == COMM_ALLOC_BUSY)
			continue;
		/* Of all that are live, what is large stays; another thread may take its place meanwhile. */
		if (until_ns == COMM_ALLOC_LIVE &&
		    (i < tries - 1 ||
		     __atomic_load_n(&block->size_bytes, __ATOMIC_RELAXED) > size || !evict(slot)))
			continue;
		if (__atomic_compare_exchange_n(&block->until_ns, &until_ns, COMM_ALLOC_BUSY, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return (int)slot;
	}
	return -1;
}

/* The kernel reads a set of signals before it looks at what it shall do with it, which is nothing. */
static int is_readable(const void *at)
{
	int before = errno, error;

	syscall(SYS_rt_sigprocmask, -1L, at, NULL, (size_t)SIGNAL_SET_BYTES);
	error = errno;
	errno = before;
	return error != EFAULT;
}

/* How many words of the stack there are: it may end here, where a coroutine begins. */
static uint64_t words_at(const uintptr_t *sp)
{
	uint64_t here = (PAGE_BYTES - (uintptr_t)sp % PAGE_BYTES) / sizeof(*sp);

	return here >= COMM_ALLOC_WORDS || is_readable(sp + here) ? COMM_ALLOC_WORDS : here;
}

void alloc_table_enter(uint64_t start, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	struct comm_alloc_origin *origin;
	struct comm_alloc_block *block;
	int slot;

	if (start >> ADDRESS_BITS)
		return;
	/* Freed by a function that we do not know. */
	if (alloc_table_may_hold(start))
		alloc_table_leave(start);
	slot = claim(size);
	if (slot < 0)
		return;
	block = &alloc_table.block[slot];
	origin = &alloc_table.origin[slot];
	block->since_ns = origin->since_ns = alloc_table_now_ns();
	origin->size_bytes = size;
	__atomic_store_n(&block->size_bytes, size, __ATOMIC_RELAXED);
	origin->start = start;
	origin->code = sp[-1];
	origin->sp = (uintptr_t)sp;
	origin->rbp = rbp;
	origin->n_words = words_at(sp);
	for (uint64_t i = 0; i < origin->n_words; i++)
		origin->word[i] = sp[i];
	__atomic_store_n(&block->start, start, __ATOMIC_RELEASE);
	__atomic_store_n(&block->until_ns, COMM_ALLOC_LIVE, __ATOMIC_RELEASE);
	if (!hold(start, (uint32_t)slot))
		__atomic_store_n(&block->until_ns, block->since_ns, __ATOMIC_RELEASE);
	changed();
}
