/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worth: whether a read datum is worth a watchpoint.  Constants would fill the debug
 * registers: where nobody writes, fewer and fewer watches.  So would the few data
 * that a thread reads all the time.  Where bursts write, they tell more than watches
 * do, and what nobody but the reader writes is its own.
 *
 * Remembers places (pages and data) in a table of fixed size that forgets.  One
 * thread uses it; it is zeroed to begin with.
 */
#ifndef COMM_WORTH_H
#define COMM_WORTH_H

#include <stdbool.h>
#include <stdint.h>

enum { COMM_WORTH_PLACES = 1024 };

/* What became of the watches of a page, or of a datum. */
struct comm_worth_place {
	uint64_t key;
	uint8_t dull; /* watches, lately, after which another one tells little */
	bool written; /* a burst did */
	int writer;   /* the one thread that was seen to write; 0: none, -1: many */
};

struct comm_worth {
	struct comm_worth_place place[COMM_WORTH_PLACES];
};

/* One watch in 2^this of such a read is worth it; tid is the reader. */
unsigned int comm_worth_dull(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/* A burst of that thread writes there. */
void comm_worth_written(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/* A watch has ended: that thread wrote, or nobody (0) did. */
void comm_worth_watched(struct comm_worth *worth, uint32_t tgid, uint64_t addr, uint32_t writer);

#endif
