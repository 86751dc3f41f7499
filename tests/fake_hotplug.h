/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that go and come back at a test's word, in the place of daemon/hotplug.c. */
#ifndef FAKE_HOTPLUG_H
#define FAKE_HOTPLUG_H

#include "hotplug.h"

enum { NO_CPU = -1 };

static struct comm_hotplug {
	struct perf_event_attr listed[COMM_HOTPLUG_EVENTS];
	unsigned int n_listed;
	bool is_started;
	int gone, back; /* what the next look sees; NO_CPU: nothing */
	int fd;		/* of the next event that is opened again; -1: none can be */
	uint64_t lost;
} hotplug;

static inline void reset_hotplug(int fd)
{
	hotplug = (struct comm_hotplug){.gone = NO_CPU, .back = NO_CPU, .fd = fd};
}

int comm_hotplug_create(const char *online, struct comm_hotplug **ret)
{
	(void)online;
	*ret = &hotplug;
	return 0;
}

void comm_hotplug_destroy(struct comm_hotplug *h)
{
	(void)h;
}

int comm_hotplug_add(struct comm_hotplug *h, const struct perf_event_attr *attr)
{
	h->listed[h->n_listed] = *attr;
	return (int)h->n_listed++;
}

int comm_hotplug_start(struct comm_hotplug *h)
{
	h->is_started = true;
	return 0;
}

void comm_hotplug_look(struct comm_hotplug *h, uint64_t now_ns, const struct comm_hotplug_ops *ops,
		       void *ctx)
{
	(void)now_ns;
	if (h->gone != NO_CPU)
		ops->gone(ctx, (unsigned int)h->gone);
	for (unsigned int i = 0; i < h->n_listed && h->back != NO_CPU; i++)
		h->lost += h->fd < 0 || !ops->back(ctx, i, (unsigned int)h->back, h->fd);
	h->gone = h->back = NO_CPU;
}

uint64_t comm_hotplug_lost(const struct comm_hotplug *h)
{
	return h->lost;
}

#endif
