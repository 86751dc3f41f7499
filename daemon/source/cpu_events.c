// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpu_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "source.h"
#include "trigger.h"

int comm_cpu_events_init(struct comm_cpu_events *events, unsigned int n_cpus)
{
	*events = (struct comm_cpu_events){
		.n_cpus = n_cpus,
		.fd = malloc(n_cpus * sizeof(*events->fd)),
		.period = calloc(n_cpus, sizeof(*events->period)),
	};
	if (!events->fd || !events->period) {
		free(events->fd);
		free(events->period);
		*events = (struct comm_cpu_events){0};
		return -ENOMEM;
	}
	memset(events->fd, -1, n_cpus * sizeof(*events->fd));
	return 0;
}

void comm_cpu_events_deinit(struct comm_cpu_events *events)
{
	for (unsigned int i = 0; i < events->n_cpus; i++)
		if (events->fd[i] >= 0)
			close(events->fd[i]);
	free(events->fd);
	free(events->period);
	*events = (struct comm_cpu_events){0};
}

static int open_one(struct comm_cpu_events *events, unsigned int cpu,
		    const struct perf_event_attr *attr, char **err)
{
	int fd = comm_perf_open(attr, -1, (int)cpu, -1, 0);

	if (fd == -ENODEV) /* it has just gone offline */
		return 0;
	if (fd < 0)
		return comm_source_fail(err, fd, "cannot open %s on CPU %u: %s%s", events->name,
					cpu, strerror(-fd),
					fd == -EMFILE ? " (raise 'ulimit -n')" : "");
	events->fd[cpu] = fd;
	events->period[cpu] = attr->sample_period;
	events->n_open++;
	return 0;
}

int comm_cpu_events_open(struct comm_cpu_events *events, const char *name,
			 const struct perf_event_attr *attr, char **err)
{
	int *cpu = calloc(events->n_cpus, sizeof(*cpu)), n, rc;

	if (!cpu)
		return -ENOMEM;
	events->name = name;
	events->opened_period = attr->sample_period;
	n = comm_online_cpus(cpu, (int)events->n_cpus);
	rc = n < 0 ? comm_source_fail(err, n, "cannot tell which CPUs there are: %s", strerror(-n))
		   : 0;
	for (int i = 0; i < n && !rc; i++)
		if (cpu[i] < (int)events->n_cpus)
			rc = open_one(events, (unsigned int)cpu[i], attr, err);
	free(cpu);
	return rc;
}

int comm_cpu_events_enable(struct comm_cpu_events *events, char **err)
{
	for (unsigned int i = 0; i < events->n_cpus; i++)
		if (events->fd[i] >= 0 && ioctl(events->fd[i], PERF_EVENT_IOC_ENABLE, 0))
			return comm_source_fail(err, -errno, "cannot enable %s: %s", events->name,
						strerror(errno));
	events->enabled = true;
	return 0;
}

void comm_cpu_events_disable(struct comm_cpu_events *events)
{
	events->enabled = false;
	for (unsigned int i = 0; i < events->n_cpus; i++)
		if (events->fd[i] >= 0)
			ioctl(events->fd[i], PERF_EVENT_IOC_DISABLE, 0);
}

int comm_cpu_events_set_rate(struct comm_cpu_events *events, unsigned int cpu,
			     const struct comm_sampler_rate *rate)
{
	uint8_t parked = rate->park ? rate->park[cpu] : 0;
	uint64_t period = rate->period << parked;

	if (events->fd[cpu] < 0 || !comm_trigger_worth_setting(events->period[cpu], period, parked))
		return 0;
	if (ioctl(events->fd[cpu], PERF_EVENT_IOC_PERIOD, &period))
		return -errno;
	events->period[cpu] = period;
	return 1;
}

static uint64_t lost_by(int fd)
{
	enum { VALUE, LOST, FIELDS_MOST = 3 };
	uint64_t count[FIELDS_MOST];

	return fd >= 0 && read(fd, count, sizeof(count)) > (ssize_t)(LOST * sizeof(*count))
		       ? count[LOST]
		       : 0;
}

uint64_t comm_cpu_events_lost(const struct comm_cpu_events *events)
{
	uint64_t sum = events->lost;

	for (unsigned int i = 0; i < events->n_cpus; i++)
		sum += lost_by(events->fd[i]);
	return sum;
}

void comm_cpu_events_gone(struct comm_cpu_events *events, unsigned int cpu)
{
	if (cpu >= events->n_cpus || events->fd[cpu] < 0)
		return;
	events->lost += lost_by(events->fd[cpu]);
	close(events->fd[cpu]);
	events->fd[cpu] = -1;
	events->n_open--;
}

bool comm_cpu_events_back(struct comm_cpu_events *events, unsigned int cpu, int fd)
{
	if (cpu < events->n_cpus) {
		uint64_t *period = &events->period[cpu];

		comm_cpu_events_gone(events, cpu);
		if (!*period)
			*period = events->opened_period;
		if ((*period == events->opened_period ||
		     !ioctl(fd, PERF_EVENT_IOC_PERIOD, period)) &&
		    (!events->enabled || !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
			events->fd[cpu] = fd;
			events->n_open++;
			return true;
		}
	}
	close(fd);
	return false;
}
