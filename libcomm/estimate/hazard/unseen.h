/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unseen writers: guesses (edge.h) about data that no sampled write explains, so that what is not
 * known is at least put where it is most likely.  Nothing of it is ever stated.
 *
 *	q = t / (t + (1 - t) * (1 + w)^-n)	the datum is of a table: written once, long ago
 *	share(initial) = q * others / (n + 1)
 *	share(reader) = q - share(initial)
 *	share(nearest) = 1 - q
 *
 * n: reads of other bursts, nearer than half way to the nearest sampled write; others: those by
 * threads other than the reader; t, w: UNSEEN_TABLE, UNSEEN_WRITES_PER_READ.  What several threads
 * read and none writes was written before they were there, by the thread that made them: the
 * process's initial one, if it runs at all.  What one thread alone reads is its own; all else is of
 * who wrote nearest.  docs/method/accuracy.md has what each is worth.
 */
#ifndef COMM_UNSEEN_H
#define COMM_UNSEEN_H

#include <stdbool.h>

#include "edge_sums.h"
#include "touch.h"
#include "window.h"

/*
 * Bytes, 16 KiB to 256 KiB: further from any sampled write the hazards, which pool whole
 * objects, know less than the nearest write.
 */
#define UNSEEN_FAR_BYTES 65536
/* Share, 0.02 to 0.2: reads that are of a table, before anything is known. */
#define UNSEEN_TABLE 0.1
/* Writes per read, 0.02 to 0.1: of data that are written again and again. */
#define UNSEEN_WRITES_PER_READ 0.05

struct comm_unseen;

int comm_unseen_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_unseen **ret);
void comm_unseen_destroy(struct comm_unseen *unseen);

/* The process of which thread is the initial one begins its program in this run. */
void comm_unseen_began(struct comm_unseen *unseen, uint32_t thread);
/* Takes up the accesses of the window's n oldest bursts. */
void comm_unseen_learn(struct comm_unseen *unseen, struct comm_window *window, uint32_t n);
/*
 * Whether a read is further than UNSEEN_FAR_BYTES from all sampled writes, and first writers of its
 * memory are not told, for its process was there before the run or its source tells of none.
 */
bool comm_unseen_far(struct comm_unseen *unseen, const struct comm_touches *touches,
		     const struct comm_window_burst *burst, const struct comm_window_read *read);
/* Puts bytes of a read down to those who may have written it; returns the part that is left. */
double comm_unseen_guess(struct comm_unseen *unseen, const struct comm_window_burst *burst,
			 const struct comm_window_read *read, double bytes, double first_bytes,
			 struct comm_edge_sums *edges);

#endif
