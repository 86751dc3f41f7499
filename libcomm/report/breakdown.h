/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The breakdown of a report: where all bytes that were read went, in parts that add up to
 * them, each part's share with an interval out of the blocks of time, and whether a single
 * object carries it.  aggregate.c and query.c fill it.
 */
#ifndef COMM_BREAKDOWN_H
#define COMM_BREAKDOWN_H

#include "blocks.h"
#include "id_sums.h"
#include "reader.h"
#include "report.h"

struct comm_breakdown {
	struct comm_block_sums part[COMM_PARTS];
	struct comm_id_sums objects; /* by object and enum comm_part */
	struct comm_id_sums readers; /* of windows: by the reader's context and enum comm_part */
	double doubt_bytes; /* that may be others' in place of the reader's own, or the reverse */
};

void comm_breakdown_deinit(struct comm_breakdown *breakdown);

/* object: 0 where it is not known.  at: the shares of the blocks of time in these bytes. */
int comm_breakdown_add(struct comm_breakdown *breakdown, enum comm_part part, uint32_t object,
		       double bytes, const struct comm_block_sums *at);
/* Adds what windows saw a context read to what is known of the part's readers. */
int comm_breakdown_add_reader(struct comm_breakdown *breakdown, enum comm_part part,
			      uint32_t context, double bytes);
/* Fills whole->parts.  The breakdown's own sums are the parts' bytes. */
int comm_breakdown_finish(struct comm_breakdown *breakdown, const struct comm_blocks *blocks,
			  struct comm_reader *reader, struct comm_report_whole *whole);

#endif
