// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_rings.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

enum {
	RING_BYTES = 1 << 20,
	/*
	 * For each ring that is put into an array of maps, the kernel waits for a grace
	 * period of RCU: some 10 ms, and seconds on a busy machine.
	 */
	RINGS_MAX = 16,
	ALL_RINGS_BYTES_MIN = 4 << 20,
	ALL_RINGS_BYTES_MAX = 64 << 20,
};

void comm_bpf_rings_plan(unsigned int n_online, struct comm_bpf_rings_plan *ret)
{
	uint64_t bytes = RING_BYTES, all = (uint64_t)RING_BYTES * n_online;

	if (all < ALL_RINGS_BYTES_MIN)
		all = ALL_RINGS_BYTES_MIN;
	if (all > ALL_RINGS_BYTES_MAX)
		all = ALL_RINGS_BYTES_MAX;
	ret->n = n_online < RINGS_MAX ? n_online : RINGS_MAX;
	while (2 * bytes * ret->n <= all)
		bytes *= 2;
	ret->bytes = (uint32_t)bytes;
}

static int add(struct ring_buffer **rings, int fd, int (*fn)(void *ctx, void *data, size_t size),
	       void *ctx)
{
	if (*rings)
		return ring_buffer__add(*rings, fd, fn, ctx);
	*rings = ring_buffer__new(fd, fn, ctx, NULL);
	return *rings ? 0 : -errno;
}

/* Makes ring i.  Its descriptor is not kept: the array and the mapping hold the ring. */
static int make_ring(int array_fd, uint32_t i, uint32_t bytes, struct ring_buffer **rings,
		     int (*fn)(void *ctx, void *data, size_t size), void *ctx)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "comm_ring", 0, 0, bytes, NULL), rc;

	if (fd < 0)
		return fd;
	rc = add(rings, fd, fn, ctx);
	if (!rc)
		rc = bpf_map_update_elem(array_fd, &i, &fd, BPF_ANY);
	close(fd);
	return rc;
}

int comm_bpf_rings_make(int array_fd, const struct comm_bpf_rings_plan *plan,
			struct ring_buffer **rings, int (*fn)(void *ctx, void *data, size_t size),
			void *ctx)
{
	int rc = 0;

	for (uint32_t i = 0; i < plan->n && !rc; i++)
		rc = make_ring(array_fd, i, plan->bytes, rings, fn, ctx);
	return rc;
}
