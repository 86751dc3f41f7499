/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worth: whether a read datum is worth a watchpoint.  Constants would fill the debug
 * registers, so a place where no watch sees a write gets fewer and fewer watches.  So
 * do the few data that a thread reads all the time.  Where a burst shows a write,
 * bursts tell more than watches do; a datum that only its reader writes is private
 * and needs no watch.
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
	uint8_t dull; /* recent watches whose answer makes another one tell little */
	bool written; /* a burst wrote here */
	int writer;   /* the one thread that was seen to write; 0: none, -1: many */
};

struct comm_worth {
	struct comm_worth_place place[COMM_WORTH_PLACES];
};

/* Returns a shift: of 2^shift such reads, one is worth a watch.  tid is the reader. */
unsigned int comm_worth_dull(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/* A burst of thread tid writes to addr. */
void comm_worth_written(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr);
/* A watch of addr has ended: thread writer wrote first, or no thread did (0). */
void comm_worth_watched(struct comm_worth *worth, uint32_t tgid, uint64_t addr, uint32_t writer);

#endif
