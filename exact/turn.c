/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "turn.h"

#include <stdint.h>

#include <asm/unistd.h>

#include "pub_tool_basics.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"

#include "kernel.h"
#include "memory.h"

enum {
	FUTEX_WAIT = 0,
	FUTEX_WAKE = 1,
	LOOK_NS = 100000000, /* then whether who has the turn still lives */
	LOOKS = 100,
	LET_NS = 1000000, /* for who waits to see that it is free */
};

/* On memory that all processes share. */
static struct {
	int32_t owner; /* process, 0: nobody */
	uint32_t waiting, taken;
	uint32_t is_wanted;
} * turn;

static int depth; /* of begins that have had no end */
static int32_t own;
static Bool has_it;

void comm_turn_init(void)
{
	turn = comm_mem_map_shared(sizeof(*turn));
	own = VG_(getpid)();
}

void comm_turn_want(void)
{
	__atomic_store_n(&turn->is_wanted, 1, __ATOMIC_SEQ_CST);
}

static void sleep_on(const void *word, uint32_t as_long_as, long ns)
{
	const struct vki_timespec time = {0, ns};

	comm_kernel(__NR_futex, (long)word, FUTEX_WAIT, as_long_as, (long)&time, 0);
}

static void wake(const void *word)
{
	comm_kernel(__NR_futex, (long)word, FUTEX_WAKE, 1, 0, 0);
}

static Bool take(int32_t from)
{
	return __atomic_compare_exchange_n(&turn->owner, &from, own, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Who was killed within its turn does not give it back, nor does, for a while, who was stopped there. */
static void wait_for_turn(void)
{
	int32_t owner, last = 0;
	UInt looks = 0;

	__atomic_fetch_add(&turn->waiting, 1, __ATOMIC_SEQ_CST);
	while (!take(0)) {
		owner = __atomic_load_n(&turn->owner, __ATOMIC_RELAXED);
		looks = owner == last ? looks + 1 : 0;
		last = owner;
		if (owner && (looks > LOOKS || (looks && VG_(kill)(owner, 0) != 0)) && take(owner))
			break;
		if (owner)
			sleep_on(&turn->owner, owner, LOOK_NS);
	}
	__atomic_fetch_sub(&turn->waiting, 1, __ATOMIC_SEQ_CST);
}

void comm_turn_begin(void)
{
	if (depth++ || !__atomic_load_n(&turn->is_wanted, __ATOMIC_RELAXED))
		return;
	if (!take(0))
		wait_for_turn();
	has_it = True;
	__atomic_fetch_add(&turn->taken, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&turn->waiting, __ATOMIC_RELAXED))
		wake(&turn->taken);
}

void comm_turn_end(void)
{
	uint32_t taken = __atomic_load_n(&turn->taken, __ATOMIC_RELAXED);
	int32_t mine = own;

	if (--depth || !has_it)
		return;
	has_it = False;
	__atomic_compare_exchange_n(&turn->owner, &mine, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&turn->waiting, __ATOMIC_SEQ_CST))
		return;
	wake(&turn->owner);
	/* Else this process would have it again before another one has seen that it is free. */
	sleep_on(&turn->taken, taken, LET_NS);
}

void comm_turn_forked(void)
{
	own = VG_(getpid)();
	has_it = False;
}
