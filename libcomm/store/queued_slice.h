/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queued slices: a copy of a slice of a run that one thread makes and another one stores, with copies of the
 * names that it needs, as the tables behind them go on changing.  Texts are not copied: they live as long as
 * the run and do not change.
 *
 * All names that a slice's rows use go with it; of threads, and of code that waits to be named, only what has
 * changed.  Used by slice_queue.c alone: the packer in the thread that samples, the unpacker in that which stores.
 */
#ifndef COMM_QUEUED_SLICE_H
#define COMM_QUEUED_SLICE_H

#include "store.h"

enum comm_queued_kind {
	COMM_QUEUED_THREADS, /* by their places */
	COMM_QUEUED_FUNCTIONS,
	COMM_QUEUED_SITES,
	COMM_QUEUED_OBJECTS,
	COMM_QUEUED_REGIONS,
	COMM_QUEUED_CALLS,
	COMM_QUEUED_KINDS,
};

struct comm_queued_names {
	uint32_t limit; /* n_threads, n_functions, ... of the naming that they are from */
	size_t n;
	const uint32_t *id; /* each once */
	const void *row;    /* n structs of ids.h */
};

/* One block of memory, freed by free(). */
struct comm_queued_slice {
	struct comm_slice_info info;
	const struct comm_edge *edges;
	size_t n_edges;
	struct comm_cachelines cachelines; /* info's: rows alone */
	struct comm_queued_names names[COMM_QUEUED_KINDS];
	size_t bytes; /* of the block */
};

/* A set of small numbers, which is emptied at once. */
struct comm_queued_set {
	uint32_t *id;
	size_t n, capacity;
	uint32_t *index; /* of a member in id; of any other number whatever was there */
	size_t n_index;
};

/* A site that was packed before all was known of it, and is packed again when more is. */
struct comm_queued_waiting {
	uint32_t site, function;
	uint64_t settled_ns; /* end of the first slice with all of it; 0: none yet */
};

/* A zeroed one is ready for a run. */
struct comm_slice_packer {
	struct comm_queued_set set[COMM_QUEUED_KINDS];
	uint64_t *thread_hash; /* of each thread as it was packed last; 0: never */
	size_t n_hashes;
	struct comm_queued_waiting *waiting;
	size_t n_waiting, waiting_capacity;
	bool *is_waiting; /* by site */
	size_t n_is_waiting;
};

void comm_slice_packer_deinit(struct comm_slice_packer *packer);
/*
 * Copies a slice.  stored_ns: slices up to that time are stored.  -ENOBUFS: the copy would take more than
 * most_bytes; what it would have told is told by the next.
 */
int comm_slice_pack(struct comm_slice_packer *packer, const struct comm_slice_info *info,
		    const struct comm_edge *edges, size_t n_edges, const struct comm_naming *naming,
		    uint64_t stored_ns, size_t most_bytes, struct comm_queued_slice **ret);

/* A zeroed one is ready. */
struct comm_slice_unpacker {
	const struct comm_queued_slice *slice;
	uint32_t *index[COMM_QUEUED_KINDS];
	size_t n_index[COMM_QUEUED_KINDS];
};

void comm_slice_unpacker_deinit(struct comm_slice_unpacker *unpacker);
/*
 * The names of a slice, by the ids of the run, until the next call; NULL for those that it has not.  Both must
 * stay in place.
 */
int comm_slice_unpack(struct comm_slice_unpacker *unpacker, const struct comm_queued_slice *slice,
		      struct comm_naming *ret);

#endif
