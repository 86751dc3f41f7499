// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "trigger.h"

enum {
	RING_BYTES = 1 << 20,
	RINGS_MAX = 256,
	ALL_RINGS_BYTES_MIN = 4 << 20,
	ALL_RINGS_BYTES_MAX = 64 << 20,
};

void comm_bpf_rings_plan(unsigned int n_online, struct comm_bpf_rings_plan *ret)
{
	uint64_t bytes = RING_BYTES;

	ret->n = n_online < RINGS_MAX ? n_online : RINGS_MAX;
	while (bytes * ret->n < ALL_RINGS_BYTES_MIN)
		bytes *= 2;
	while (bytes * ret->n > ALL_RINGS_BYTES_MAX)
		bytes /= 2;
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

/* Online CPUs get a ring each as far as there are rings; an offline one shares. */
static void assign(const int *online, unsigned int n_online, unsigned int n_rings,
		   unsigned int n_cpus, uint32_t *ret_ring)
{
	for (unsigned int cpu = 0; cpu < n_cpus; cpu++)
		ret_ring[cpu] = cpu % n_rings;
	for (unsigned int i = 0; i < n_online; i++)
		if ((unsigned int)online[i] < n_cpus)
			ret_ring[online[i]] = i % n_rings;
}

/* Makes ring i.  Its descriptor is not kept: the array and the mapping hold the ring. */
static int make_ring(int array_fd, uint32_t bytes, const uint32_t *ring_of, unsigned int n_cpus,
		     uint32_t i, struct ring_buffer **rings,
		     int (*fn)(void *ctx, void *data, size_t size), void *ctx)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "comm_ring", 0, 0, bytes, NULL), rc;

	if (fd < 0)
		return fd;
	rc = add(rings, fd, fn, ctx);
	for (uint32_t cpu = 0; cpu < n_cpus && !rc; cpu++)
		if (ring_of[cpu] == i)
			rc = bpf_map_update_elem(array_fd, &cpu, &fd, BPF_ANY);
	close(fd);
	return rc;
}

int comm_bpf_rings_make(int array_fd, unsigned int n_cpus, struct ring_buffer **rings,
			int (*fn)(void *ctx, void *data, size_t size), void *ctx)
{
	struct comm_bpf_rings_plan plan;
	uint32_t *ring_of = calloc(n_cpus, sizeof(*ring_of));
	int *online = calloc(n_cpus, sizeof(*online)), rc = -ENOMEM, n;

	if (!online || !ring_of)
		goto out;
	n = comm_online_cpus(online, (int)n_cpus);
	rc = n < 0 ? n : 0;
	if (rc)
		goto out;
	comm_bpf_rings_plan((unsigned int)n, &plan);
	assign(online, (unsigned int)n, plan.n, n_cpus, ring_of);
	for (uint32_t i = 0; i < plan.n && !rc; i++)
		rc = make_ring(array_fd, plan.bytes, ring_of, n_cpus, i, rings, fn, ctx);
out:
	free(online);
	free(ring_of);
	return rc;
}
