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
	 * A copy out that nobody counts: it begins, and goes on at so many bytes a cycle, as a
	 * string instruction (timing.h).
	 */
	READ_CYCLES = 100,
	READ_BYTES = 12,
	/*
	 * send() and its like, without what each piece and byte adds: 4,600 where the receiver sleeps,
	 * 1,000 where it does not.  A piece takes 20 where it lies in a near cache, and 1,000 where it does not.
	 */
	SEND_CYCLES = 2500,
	SEND_PIECE_CYCLES = 300,
};

static const float send_byte_cycles = 0.15F;

/* Of what is met in such a copy, or anywhere in a call, of which it is a piece. */
static float read_cycles(const struct comm_precise *copy)
{
	float bytes = (float)copy->size_bytes, of = (float)copy->call_bytes;

	if (copy->call_bytes)
		return SEND_PIECE_CYCLES + SEND_CYCLES * bytes / of + send_byte_cycles * bytes;
	return COMM_TIMING_SLOWDOWN * (READ_CYCLES + bytes / READ_BYTES);
}

void comm_copy_weigh(const struct comm_precise *copy, struct comm_access_burst *burst,
		     struct comm_access *access)
{
	bool reads = copy->flags & COMM_ACCESS_READ;

	burst->exact = reads && copy->period && !(copy->flags & COMM_ACCESS_BY_TIME);
	burst->cycles = reads ? read_cycles(copy) : WRITE_CYCLES;
	access->cycle = burst->cycles / 2;
}
