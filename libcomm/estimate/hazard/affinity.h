/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Affinity: from which writers a thread reads.  Learned from reads whose datum a thread
 * was seen to write, and used for reads whose surroundings only are known: there
 * a back-off to coarser regions mixes the data of all threads, those that the
 * reader never looks at included.
 *
 * An affinity is a factor on a writer's coarse share: what the reader was seen
 * to read of the writer, over what the coarse share alone would have said of
 * the same reads.  Held per reader, per reader and object, and per reader,
 * object and site; each shrinks towards the one before it, and
 * counts for an object only while it foretells that object's reads better.
 */
#ifndef COMM_AFFINITY_H
#define COMM_AFFINITY_H

#include <stdint.h>

struct comm_affinities;

struct comm_affinity_reader {
	uint32_t thread, object, site;
};

int comm_affinities_create(uint64_t memory_bytes, struct comm_affinities **ret);
void comm_affinities_destroy(struct comm_affinities *affinities);

/* What the data say of a writer, and what its surroundings alone would. */
struct comm_affinity_writer {
	uint32_t thread;
	double seen, coarse; /* each sums up to one over the writers */
};

/* One read; weight is its share of its burst. */
void comm_affinity_learn(struct comm_affinities *affinities,
			 const struct comm_affinity_reader *reader,
			 const struct comm_affinity_writer *writer, uint32_t n, double weight);
/* 1: nothing is known. */
double comm_affinity_factor(struct comm_affinities *affinities,
			    const struct comm_affinity_reader *reader, uint32_t writer);
void comm_affinities_halve(struct comm_affinities *affinities);

#endif
