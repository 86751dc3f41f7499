/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Own reads: do threads read their own writes, or others'?  Learned from reads whose datum a thread
 * was seen to write, and used for reads whose surroundings only are known: there a back-off to coarser
 * areas mixes the data of all threads, those that the reader never looks at included.
 *
 * It is a factor on a writer's coarse share: what readers were seen to read of their own writes, or of
 * others', over what the coarse shares alone would have said of the same reads.  Held for each object,
 * which leans on all.
 */
#ifndef COMM_OWN_READS_H
#define COMM_OWN_READS_H

#include <stdbool.h>
#include <stdint.h>

struct comm_own_reads;

int comm_own_reads_create(struct comm_own_reads **ret);
void comm_own_reads_destroy(struct comm_own_reads *own);

/*
 * One read: the part of it that is the reader's own, by who was seen to write the datum, and by what is
 * around it alone; weight is its share of its burst.
 */
void comm_own_reads_learn(struct comm_own_reads *own, uint32_t object, double seen, double coarse,
			  double weight);
/* For the reader itself, or for another writer; 1: nothing is known. */
double comm_own_reads_factor(const struct comm_own_reads *own, uint32_t object, bool itself);
void comm_own_reads_halve(struct comm_own_reads *own);

#endif
