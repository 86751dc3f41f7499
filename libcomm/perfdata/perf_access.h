/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Precise samples as events: what perf tells of one sampled load or store becomes an ACCESS,
 * with a SAMPLE behind it where the registers after the access came along.  Samples that
 * commd takes itself (perf:precise) and those of perf's own files go through here, so that
 * both give the same events.  Any thread may call.
 */
#ifndef COMM_PERF_ACCESS_H
#define COMM_PERF_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "merge.h"

/* One sample of user code. */
struct comm_perf_access {
	uint64_t time_ns, addr, ip, weight, data_src;
	uint64_t period;
	uint32_t pid, tid;
	uint16_t cpu;
	uint16_t ways; /* COMM_ACCESS_READ, COMM_ACCESS_WRITE; 0: see comm_perf_access_ways() */
	bool exact;    /* ip is that of the instruction which made the access */
	bool bursts;   /* each access of the event's kind is as likely to be sampled */
	/* Registers behind the access, those of the mask in ascending order; abi 0: none. */
	uint64_t regs_abi, regs_mask;
	const void *regs;
};

/* What a data source says of the direction: 0: nothing, or neither load nor store. */
uint16_t comm_perf_access_ways(uint64_t data_src);
/*
 * Pushes one event or two, or adds what keeps it from that to loss.  The second event
 * points to scratch.
 */
void comm_perf_access_push(const struct comm_perf_access *access, struct comm_sample *scratch,
			   uint64_t loss[COMM_LOSS_MAX], comm_event_fn *push, void *ctx);

#endif
