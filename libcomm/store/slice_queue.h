/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue of slices to a store, and the thread that writes them there.  Who samples puts copies of slices in
 * (queued_slice.h) and waits for nothing, neither a disk nor a lock; one that finds no place is not stored.  The
 * thread has the store to itself from the start to the end.
 *
 * All functions are for the thread that samples.
 */
#ifndef COMM_SLICE_QUEUE_H
#define COMM_SLICE_QUEUE_H

#include "store.h"

enum { COMM_SLICE_QUEUE_BYTES = 32 << 20 }; /* of slices that wait; one finds a place in any case */

struct comm_slice_queue;

struct comm_slice_queue_stats {
	uint64_t unstored; /* slices that were taken and could not be stored */
	uint64_t full;	   /* that found no place */
	size_t most_bytes; /* that have waited at once */
};

/* With a run begun.  The store outlives the queue. */
int comm_slice_queue_create(struct comm_store *store, struct comm_slice_queue **ret);
/* After comm_slice_queue_end(), unless there was no start. */
void comm_slice_queue_destroy(struct comm_slice_queue *queue);
/* The thread begins; it has the rights that its maker has by now, and no signal is handled in it.  0 or -errno. */
int comm_slice_queue_start(struct comm_slice_queue *queue);

/*
 * Takes a slice to be stored.  -ENOBUFS: there is no place.  Losses of slices that could not be stored go with the
 * next one that can be.
 */
int comm_slice_queue_put(struct comm_slice_queue *queue, const struct comm_slice_info *info,
			 const struct comm_edge *edges, size_t n_edges,
			 const struct comm_naming *naming);
/* Slices up to that time are stored, with all names that were known then. */
uint64_t comm_slice_queue_stored_ns(const struct comm_slice_queue *queue);
/* As comm_store_lost(), when the last slice was stored. */
int comm_slice_queue_lost(const struct comm_slice_queue *queue);
/*
 * Has what waits stored until until_ns (CLOCK_MONOTONIC), counts the rest, and gives the store back.  -ETIMEDOUT: at
 * give_up_ns the thread is still in the midst of a slice, and may stay there: neither the store nor the names nor the
 * queue may go.
 */
int comm_slice_queue_end(struct comm_slice_queue *queue, uint64_t until_ns, uint64_t give_up_ns);
void comm_slice_queue_stats(const struct comm_slice_queue *queue,
			    struct comm_slice_queue_stats *ret);

#endif
