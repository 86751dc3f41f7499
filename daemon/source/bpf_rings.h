/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of one kind of BPF record: one for each online CPU, in a BPF array of maps
 * that the programs look into by the number of their CPU.  All of them together take a
 * bounded amount of memory: on large machines CPUs share rings.  A CPU that was offline
 * at the start shares one, too.
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
 * Makes the rings, puts one into each of the n_cpus entries of the array of maps, and
 * adds each to *rings, which is made if it is NULL: the records go to fn.  Returns 0 or
 * -errno.
 */
int comm_bpf_rings_make(int array_fd, unsigned int n_cpus, struct ring_buffer **rings,
			int (*fn)(void *ctx, void *data, size_t size), void *ctx);

#endif
