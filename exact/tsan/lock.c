// SPDX-License-Identifier: GPL-2.0-or-later
#include "lock.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { YIELDS = 1000, SLEEPS = 10000, SLEEP_US = 1000 };

uint64_t *comm_locks;

int comm_locks_init(void)
{
	/* By number: the name is interposed (mapping.c). */
	void *p = (void *)syscall(SYS_mmap, NULL, COMM_LOCKS * sizeof(*comm_locks),
				  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	comm_locks = p;
	return 0;
}

int comm_give_way(unsigned int turn)
{
	if (turn < YIELDS)
		sched_yield();
	else if (turn < YIELDS + SLEEPS)
		usleep(SLEEP_US);
	return turn < YIELDS + SLEEPS;
}

/*
 * The owner may be off its CPU: give way.  It may be the code that a signal
 * handler on this very thread interrupted: go on, it cannot finish before us.
 * A process that was killed in between never gives the lock back: it is taken.
 */
uint64_t *comm_lock_wait(uint64_t *lock, uint16_t owner)
{
	unsigned int turn = 0;
	int is_late = 0;

	for (;;) {
		uint64_t old = __atomic_load_n(lock, __ATOMIC_RELAXED);

		if ((old & COMM_LOCK_OWNER) == owner)
			return NULL;
		if ((comm_lock_is_free(old) || is_late) &&
		    __atomic_compare_exchange_n(lock, &old,
						(old & ~(uint64_t)COMM_LOCK_OWNER) | owner, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return lock;
		is_late = !comm_give_way(turn++);
	}
}
