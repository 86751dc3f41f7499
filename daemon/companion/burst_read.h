/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read of a burst: one of a burst's reads, picked at random, whose word is looked at again; and the
 * bytes that the burst stands for.
 */
#ifndef COMM_BURST_READ_H
#define COMM_BURST_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "burst.h"
#include "event.h"
#include "trigger.h"

struct comm_burst_read {
	uint64_t time_ns, addr, ip;
	uint64_t code_ip; /* of the instruction; ip: of what it interprets, if it does */
	uint32_t tgid, tid;
	uint32_t size_bytes; /* up to 8: of a longer read a part */
	bool has_value; /* the sample brought what is read, and the burst did not write it before */
	uint64_t value; /* size_bytes of it */
	double stands_for; /* bytes; with a trigger of time, in a nanosecond of one cycle */
	bool waits;	   /* for another thread's write (wait_reads.h); set by the caller */
};

/*
 * Picks a read with a probability proportional to its bytes; event is the burst's sample, *random the
 * state of a stream (hash.h).  False: none fits, for own stacks are left out.
 */
bool comm_burst_read_pick(struct comm_burst_read *ret, uint64_t *random, enum comm_trigger trigger,
			  const struct comm_event *event, const struct comm_burst *burst);

/* Fills in what a CENSUS event says of the read itself. */
void comm_burst_read_tell(const struct comm_burst_read *read, struct comm_event *ret);

#endif
