// SPDX-License-Identifier: GPL-2.0-or-later
#include "readers.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

enum { FIRST = COMM_EXACT_THREADS, TABLE_BITS = 13, TABLE = 1 << TABLE_BITS, TRIES = 32 };

_Static_assert(FIRST + TABLE <= 1 << COMM_READERS_BITS, "the numbers fit");

/* Open addressing; 0: free. */
static uint64_t *table;

int comm_readers_init(void)
{
	/* By number: the name is interposed (mapping.c). */
	void *p = (void *)syscall(SYS_mmap, NULL, TABLE * sizeof(*table), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	table = p;
	return 0;
}

uint64_t comm_readers_of(uint32_t set)
{
	return !set ? 0 : set < FIRST ? comm_readers_bit(set) : table[set - FIRST];
}

int comm_readers_have(uint32_t set, uint32_t slot)
{
	return set < FIRST ? set == slot : !!(table[set - FIRST] & comm_readers_bit(slot));
}

uint32_t comm_readers_with(uint32_t set, uint32_t slot)
{
	uint64_t members = comm_readers_of(set) | comm_readers_bit(slot);
	uint32_t i = members * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS), tries;

	if (!set)
		return slot;
	for (tries = 0; tries < TRIES; tries++) {
		uint64_t old = 0;

		if (table[i] == members ||
		    __atomic_compare_exchange_n(&table[i], &old, members, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED) ||
		    old == members)
			return FIRST + i;
		i = (i + 1) & (TABLE - 1);
	}
	return 0;
}
