// SPDX-License-Identifier: GPL-2.0-or-later
#include "copy_weight.h"

#include "timing.h"

enum {
	/*
	 * Duration of a system call that copies data in, such as read().  A sample
	 * says only that the thread was somewhere inside the call; the order of
	 * magnitude is enough, since bytes are counted where they are read.
	 */
	WRITE_CYCLES = 3000,
	/*
	 * A copy out, such as for send(), whose bytes nobody counts: it begins, and goes on at so many
	 * bytes a cycle, as a string instruction of the thread itself (timing.h).
	 */
	READ_CYCLES = 100,
	READ_BYTES = 12,
};

void comm_copy_weigh(const struct comm_precise *copy, struct comm_access_burst *burst,
		     struct comm_access *access)
{
	bool reads = copy->flags & COMM_ACCESS_READ;

	burst->exact = reads && copy->period && !(copy->flags & COMM_ACCESS_BY_TIME);
	burst->cycles =
		reads ? COMM_TIMING_SLOWDOWN * (READ_CYCLES + (float)copy->size_bytes / READ_BYTES)
		      : WRITE_CYCLES;
	access->cycle = burst->cycles / 2;
}
