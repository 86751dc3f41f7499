/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring that the kernel's perf events write into, read in order.  The
 * barriers of its contract are all here.
 */
#ifndef COMM_PERF_RING_H
#define COMM_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct comm_perf_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	size_t bytes;			   /* of data, a power of two */
	uint64_t malformed; /* how often data were no record, and all in the ring was passed over */
	unsigned char record[1 << 16]; /* a record that wraps around the ring's end, joined */
};

/* record->size bytes are readable: a whole record, at least its header. */
typedef void comm_perf_record_fn(void *ctx, const struct perf_event_header *record);

/* pages is a power of two; on -EPERM (locked memory) fewer may do. */
int comm_perf_ring_map(int fd, size_t pages, struct comm_perf_ring *ret);
void comm_perf_ring_unmap(struct comm_perf_ring *ring);
/* Calls fn for all records that are there, then frees their space in the ring. */
void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx);

#endif
