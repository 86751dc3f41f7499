/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worth: how willingly a read datum is given a watchpoint.  Of pages where watches see no write,
 * such as constants', and of those that their reader alone writes fewer reads are watched, each of
 * which then stands for more: never for so many that a few of them decide.  Words that are polled
 * get none.
 *
 * Remembers pages, and reads, in tables of fixed size that forget.  One thread uses it; it is
 * zeroed to begin with.
 */
#ifndef COMM_WORTH_H
#define COMM_WORTH_H

#include <stdbool.h>
#include <stdint.h>

enum { COMM_WORTH_PLACES = 1024, COMM_WORTH_READS = 1024 };

/* A page. */
struct comm_worth_place {
	uint64_t key;
	uint8_t dull; /* the last watches in a row that saw no write */
	int writer;   /* the one thread that was seen to write; 0: none, -1: many */
};

/* How often of late one instruction was met to read one datum. */
struct comm_worth_read {
	uint64_t key;
	float n;
	uint64_t last; /* number of the read */
};

struct comm_worth {
	struct comm_worth_place place[COMM_WORTH_PLACES];
	struct comm_worth_read read[COMM_WORTH_READS];
	uint64_t n_reads;
};

/* The part of such reads that shall be watched, an eighth at least; tid is the reader. */
double comm_worth_share(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/*
 * Notes a read that was picked of a burst.  True: of the last reads so many were this instruction's of
 * this datum that it is likely to wait for what another thread writes there.
 */
bool comm_worth_polled(struct comm_worth *worth, uint32_t tgid, uint64_t ip, uint64_t addr);
/* A burst of thread tid writes to addr. */
void comm_worth_written(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/* A watch of addr has ended: thread writer wrote first, or no thread did (0). */
void comm_worth_watched(struct comm_worth *worth, uint32_t tgid, uint64_t addr, uint32_t writer);

#endif
