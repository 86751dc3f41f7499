// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpu_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "source.h"
#include "trigger.h"

static int find_cpus(struct comm_cpu_rings *rings)
{
	unsigned int possible = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	int *cpu = calloc(possible, sizeof(*cpu)), n = -ENOMEM;

	rings->ring = calloc(possible, sizeof(*rings->ring));
	if (cpu && rings->ring)
		n = comm_online_cpus(cpu, (int)possible);
	for (int i = 0; i < n; i++) {
		rings->ring[i].cpu = cpu[i];
		rings->ring[i].fd = -1;
		if (cpu[i] >= (int)possible)
			n = -ERANGE;
	}
	free(cpu);
	if (n < 0)
		return n;
	rings->n = (unsigned int)n;
	rings->n_cpus = possible;
	return 0;
}

static int open_one(const struct comm_cpu_rings_config *config, struct comm_cpu_ring *ring,
		    char **err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = config->sample_type,
		.sample_id_all = 1,
		.use_clockid = !config->perf_clock,
		.clockid = config->perf_clock ? 0 : CLOCK_MONOTONIC,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = 1U << 30, /* never: rings are polled */
	};
	size_t pages = config->pages;
	int rc;

	ring->fd = comm_perf_open(&attr, config->pid, ring->cpu, -1, 0);
	if (ring->fd < 0)
		return comm_source_fail(err, ring->fd, "cannot open a ring on CPU %d: %s",
					ring->cpu, strerror(-ring->fd));
	do {
		rc = comm_perf_ring_map(ring->fd, pages, &ring->ring);
		pages /= 2;
	} while (rc == -EPERM && pages >= config->pages_min);
	if (rc)
		return comm_source_fail(err, rc,
					"cannot map a ring: %s (see kernel.perf_event_mlock_kb and "
					"'ulimit -l')",
					strerror(-rc));
	return 0;
}

int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err)
{
	int rc;

	*ret = (struct comm_cpu_rings){0};
	rc = find_cpus(ret);
	if (rc)
		comm_source_fail(err, rc, "cannot tell which CPUs there are: %s", strerror(-rc));
	for (unsigned int i = 0; i < ret->n && !rc; i++)
		rc = open_one(config, &ret->ring[i], err);
	if (rc)
		comm_cpu_rings_close(ret);
	return rc;
}

void comm_cpu_rings_close(struct comm_cpu_rings *rings)
{
	for (unsigned int i = 0; i < rings->n; i++) {
		comm_perf_ring_unmap(&rings->ring[i].ring);
		if (rings->ring[i].fd >= 0)
			close(rings->ring[i].fd);
	}
	free(rings->ring);
	*rings = (struct comm_cpu_rings){0};
}

const struct comm_cpu_ring *comm_cpu_rings_of(const struct comm_cpu_rings *rings, unsigned int cpu)
{
	for (unsigned int i = 0; i < rings->n; i++)
		if (rings->ring[i].cpu == (int)cpu)
			return &rings->ring[i];
	return NULL;
}
