/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes in the order in which they were asked about: what is kept of each, found by its number
 * and never moved.  Of too many the one that was asked about least recently is forgotten.  Ends are
 * told by drop(): otherwise a number that is given again finds what was kept of the process
 * before.  Numbers may be of a hostile recording.  One thread uses a table.
 */
#ifndef COMM_PROCESS_LRU_H
#define COMM_PROCESS_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of what is kept of a process. */
struct comm_process_lru_entry {
	struct comm_process_lru_entry *next; /* of the same bucket */
	struct comm_process_lru_entry *older, *newer;
	uint32_t tgid;
};

enum { COMM_PROCESS_LRU_BUCKETS = 4096 };

struct comm_process_lru {
	struct comm_process_lru_entry *bucket[COMM_PROCESS_LRU_BUCKETS];
	struct comm_process_lru_entry *oldest, *newest;
	size_t n, max; /* max 0: none is too many */
	size_t bytes;  /* that are kept of each */
	void (*forget)(void *ctx,
		       struct comm_process_lru_entry
			       *kept); /* frees all but kept itself; NULL: all is kept itself */
	void *ctx;
};

void comm_process_lru_init(struct comm_process_lru *lru, size_t max, size_t bytes,
			   void (*forget)(void *ctx, struct comm_process_lru_entry *kept),
			   void *ctx);
/* Of a zeroed table, too. */
void comm_process_lru_deinit(struct comm_process_lru *lru);

/* What is kept of a process, at first zeros.  NULL: out of memory.  Valid until it is forgotten. */
void *comm_process_lru_get(struct comm_process_lru *lru, uint32_t tgid);
/* NULL: nothing is.  Does not count as asking. */
void *comm_process_lru_known(const struct comm_process_lru *lru, uint32_t tgid);
/* Forgets a process, if it is known. */
void comm_process_lru_drop(struct comm_process_lru *lru, uint32_t tgid);
/* Of those that have what is asked for, the one that was asked about least recently; NULL: none. */
void *comm_process_lru_oldest(const struct comm_process_lru *lru,
			      bool (*has)(const struct comm_process_lru_entry *kept,
					  const void *ctx),
			      const void *ctx);
/* From the oldest on; fn() neither asks nor drops. */
void comm_process_lru_each(const struct comm_process_lru *lru,
			   void (*fn)(void *ctx, struct comm_process_lru_entry *kept), void *ctx);

#endif
