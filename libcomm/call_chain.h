/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call chain of a burst: in which call each of its accesses was made, by the functions that
 * the emulated code called and returned from, and by the stack at its sample, which is unwound
 * once an access asks for it.  engine.c has one for each burst, with --callers alone.
 */
#ifndef COMM_CALL_CHAIN_H
#define COMM_CALL_CHAIN_H

#include "burst.h"
#include "caller.h"
#include "event.h"
#include "identity.h"
#include "space.h"

/* All but the first members are zero at first. */
struct comm_call_chain {
	const struct comm_identity *identity;
	struct comm_space *space;
	const struct comm_sample *sample;
	const struct comm_burst *burst; /* that was emulated from it */
	uint64_t time_ns;		/* of both */
	unsigned int depth;		/* so many callers of an access are told */
	/* The functions that called the one that the sample met, as far as accesses ask for them. */
	uint32_t function[COMM_CALLERS_MAX];
	unsigned int n;
	bool is_whole; /* nobody called the last */
	bool is_known;
	/* By how many functions the burst has returned from: the call that its access is in. */
	uint32_t call[COMM_CALLERS_RETURNED + 1];
	bool has_call[COMM_CALLERS_RETURNED + 1];
};

/* The call in which the burst made an access (call.h). */
uint32_t comm_call_chain_of(struct comm_call_chain *chain, const struct comm_burst_access *access);

#endif
