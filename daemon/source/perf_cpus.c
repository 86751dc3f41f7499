// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_cpus.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "source.h"

/* On every CPU, and listed for those that come back. */
static int open_events(struct comm_perf_cpus *cpus, struct comm_cpu_events *events,
		       const char *name, const struct perf_event_attr *attr, char **err)
{
	const struct comm_cpu_rings *rings = cpus->rings;
	int rc;

	if (!attr)
		return 0;
	rc = comm_cpu_events_init(events, rings->n_cpus);
	if (!rc)
		rc = comm_cpu_events_open(events, name, attr, err);
	for (unsigned int i = 0; i < rings->n && !rc; i++) {
		const struct comm_cpu_ring *ring = &rings->ring[i];
		int fd = events->fd[ring->cpu];

		if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
			rc = comm_source_fail(err, -errno, "cannot open %s on CPU %d: %s", name,
					      ring->cpu, strerror(errno));
	}
	if (!rc)
		rc = comm_hotplug_add(cpus->hotplug, attr);
	return rc < 0 ? rc : 0;
}

int comm_perf_cpus_open(struct comm_perf_cpus *cpus, const struct comm_perf_cpus_config *config,
			char **err)
{
	int rc;

	cpus->rings = config->rings;
	cpus->precise = config->precise;
	rc = comm_hotplug_create(NULL, &cpus->hotplug);
	if (!rc && config->precise)
		rc = comm_perf_precise_list(config->precise, cpus->hotplug);
	if (!rc)
		rc = open_events(cpus, &cpus->samples, config->name, config->samples, err);
	if (!rc)
		rc = open_events(cpus, &cpus->life, "the life cycle", config->life, err);
	if (!rc)
		rc = open_events(cpus, &cpus->switches, "context switches", config->switches, err);
	return rc ? rc : comm_hotplug_start(cpus->hotplug);
}

void comm_perf_cpus_close(struct comm_perf_cpus *cpus)
{
	comm_hotplug_destroy(cpus->hotplug);
	comm_cpu_events_deinit(&cpus->samples);
	comm_cpu_events_deinit(&cpus->life);
	comm_cpu_events_deinit(&cpus->switches);
	*cpus = (struct comm_perf_cpus){0};
}

int comm_perf_cpus_enable(struct comm_perf_cpus *cpus, char **err)
{
	int rc = comm_cpu_events_enable(&cpus->life, err);

	return rc ? rc : comm_cpu_events_enable(&cpus->samples, err);
}

void comm_perf_cpus_disable(struct comm_perf_cpus *cpus)
{
	comm_cpu_events_disable(&cpus->samples);
	comm_cpu_events_disable(&cpus->life);
	comm_cpu_events_disable(&cpus->switches);
}

static void cpu_gone(void *ctx, unsigned int cpu)
{
	struct comm_perf_cpus *cpus = ctx;

	if (cpus->precise)
		comm_perf_precise_gone(cpus->precise, cpu);
	comm_cpu_events_gone(&cpus->samples, cpu);
	comm_cpu_events_gone(&cpus->life, cpu);
	comm_cpu_events_gone(&cpus->switches, cpu);
}

/* By the numbers in which they were listed: precise ones come first, in the place of samples. */
static struct comm_cpu_events *events_of(struct comm_perf_cpus *cpus, unsigned int number)
{
	struct comm_cpu_events *listed[] = {&cpus->samples, &cpus->life, &cpus->switches};

	if (cpus->precise)
		number += 1 - comm_perf_precise_events(cpus->precise);
	return number < sizeof(listed) / sizeof(*listed) ? listed[number] : NULL;
}

static bool cpu_back(void *ctx, unsigned int event, unsigned int cpu, int fd)
{
	struct comm_perf_cpus *cpus = ctx;
	const struct comm_cpu_ring *ring = comm_cpu_rings_of(cpus->rings, cpu);
	struct comm_perf_precise *precise = cpus->precise;
	struct comm_cpu_events *events;

	if (precise && event < comm_perf_precise_events(precise))
		return comm_perf_precise_back(precise, event, cpu, fd);
	events = events_of(cpus, event);
	if (!events || !ring || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)) {
		close(fd);
		return false;
	}
	return comm_cpu_events_back(events, cpu, fd);
}

void comm_perf_cpus_look(struct comm_perf_cpus *cpus, uint64_t now_ns)
{
	static const struct comm_hotplug_ops ops = {.gone = cpu_gone, .back = cpu_back};

	comm_hotplug_look(cpus->hotplug, now_ns, &ops, cpus);
}

unsigned int comm_perf_cpus_fds(const struct comm_perf_cpus *cpus)
{
	return cpus->samples.n_open + cpus->life.n_open + cpus->switches.n_open;
}
