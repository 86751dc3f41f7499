// SPDX-License-Identifier: GPL-2.0-or-later
#include "wait_reads.h"

#include <stddef.h>

#include "event.h"
#include "window.h"

enum { WAIT_READS = 16 }; /* at most, of one turn */

static uint64_t key_of(uint32_t tgid, const struct comm_burst_access *read)
{
	return comm_waited_key(read->addr, read->ip ^ (uint64_t)tgid << 32);
}

bool comm_wait_reads_is(struct comm_waited_reads *known, uint32_t tgid,
			const struct comm_burst *burst)
{
	const struct comm_burst_access *first[WAIT_READS];
	uint32_t n = 0, reads = 0, j;
	bool all_known = true;

	/* An access of an unknown address may be a write. */
	if (burst->n_unknown)
		return false;
	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		if (a->flags & COMM_ACCESS_IMPLICIT)
			continue;
		if (a->flags & COMM_ACCESS_WRITE)
			return false;
		reads++;
		all_known &= comm_waited_reads_has(known, key_of(tgid, a));
		for (j = 0; j < n && (first[j]->ip != a->ip || first[j]->addr != a->addr); j++)
			;
		if (j < n)
			continue;
		if (n == WAIT_READS)
			return false;
		first[n++] = a;
	}
	if (!n || (reads < COMM_WINDOW_SPIN_TURNS * n && !burst->yields))
		return n && all_known;
	for (j = 0; j < n; j++)
		comm_waited_reads_add(known, key_of(tgid, first[j]));
	return true;
}
