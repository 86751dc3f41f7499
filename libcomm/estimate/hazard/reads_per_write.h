/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads per write: how often a thread reads a datum for each time that it is written.
 * Learned per reader and object from each read and the writes close to it, for
 * data around which too little was seen to tell.  Readers of one object lean on
 * each other: their ratios' noise would show as unequal first reads.
 */
#ifndef COMM_READS_PER_WRITE_H
#define COMM_READS_PER_WRITE_H

#include <stdint.h>

struct comm_reads_per_write;

/* Reads of one thread against the writes of all: accesses, and bursts. */
struct comm_reads_per_write_count {
	float reads, writes;
	float n_reads, n_writes;
};

int comm_reads_per_write_create(struct comm_reads_per_write **ret);
void comm_reads_per_write_destroy(struct comm_reads_per_write *reads_per_write);

/* What was seen around one read, that read's own burst left out. */
void comm_reads_per_write_add(struct comm_reads_per_write *reads_per_write, uint32_t reader,
			      uint32_t object, const struct comm_reads_per_write_count *around);
/* The reader's, and added to it all readers' of the object, which count for some bursts at most. */
struct comm_reads_per_write_count
comm_reads_per_write_of(const struct comm_reads_per_write *reads_per_write, uint32_t reader,
			uint32_t object);

/* Reads for each write; 0: unknown. */
double comm_reads_per_write_ratio(const struct comm_reads_per_write_count *count);
/*
 * The chance that each write is read once, as in most programs that hand data
 * on: reads and writes that were counted are about as many.
 */
double comm_reads_per_write_once(const struct comm_reads_per_write_count *count);

#endif
