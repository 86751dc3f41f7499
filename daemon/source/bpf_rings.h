/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of one kind of BPF record, in a BPF array of maps.  CPU c writes into ring
 * c % n, so that few CPUs wait for the same spinlock, and one that was offline at the start
 * has a ring, too.  All of them together take a bounded amount of memory.
 *
 * Not for reading: libbpf's ring_buffer does that, to which the rings are added.
 */
#ifndef COMM_BPF_RINGS_H
#define COMM_BPF_RINGS_H

#include <stddef.h>
#include <stdint.h>

struct ring_buffer; /* bpf/libbpf.h */

struct comm_bpf_rings_plan {
	unsigned int n;
	uint32_t bytes; /* of each ring, a power of two */
};

/* How many rings for so many online CPUs, and how large. */
void comm_bpf_rings_plan(unsigned int n_online, struct comm_bpf_rings_plan *ret);

/*
 * Makes the rings, puts them into the plan's n entries of the array of maps, and adds each
 * to *rings, which is made if it is NULL: the records go to fn.  Returns 0 or -errno.
 */
int comm_bpf_rings_make(int array_fd, const struct comm_bpf_rings_plan *plan,
			struct ring_buffer **rings, int (*fn)(void *ctx, void *data, size_t size),
			void *ctx);

#endif
