/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sharing: whether a datum of an object that one thread writes is written by
 * the others too (a table under locks) or by that one alone (segments, tiles,
 * false sharing).  Learned per object from data that two threads were seen to
 * write, over how many there would be by now if all threads wrote all.
 */
#ifndef COMM_SHARING_H
#define COMM_SHARING_H

#include <stdbool.h>
#include <stdint.h>

struct comm_sharing;

int comm_sharing_create(struct comm_sharing **ret);
void comm_sharing_destroy(struct comm_sharing *sharing);

/* A burst of the thread wrote a line; first: that it was not seen to write before. */
void comm_sharing_wrote(struct comm_sharing *sharing, uint32_t object, uint32_t thread, bool first);
/*
 * The share of the lines of the object that the thread writes which were seen,
 * were their rates distributed exponentially.
 */
double comm_sharing_found(const struct comm_sharing *sharing, uint32_t object, uint32_t thread);

/* The share of the thread's writes to lines of the object that are to new ones. */
double comm_sharing_news(const struct comm_sharing *sharing, uint32_t object, uint32_t thread);

/*
 * Of a datum that some thread writes: another was seen to as well (1 or 0), and
 * would be with chance due if it did.
 */
void comm_sharing_learn(struct comm_sharing *sharing, uint32_t object, double seen, double due);
/* The share of its threads that write a datum which one of them writes. */
double comm_sharing_share(const struct comm_sharing *sharing, uint32_t object);
/* The chance that a thread writes what another one does and it was not seen to. */
double comm_sharing_chance(const struct comm_sharing *sharing, uint32_t object, uint32_t thread);

#endif
