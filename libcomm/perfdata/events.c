// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "sample.h"
#include "text.h"

enum {
	PMU_TYPES = 6,	    /* perf's own types are below: PERF_TYPE_MAX */
	CODE_MASK = 0xffff, /* event and umask of Intel's config */
};

/*
 * Intel's events with data addresses, as config has them (umask, event); the same on all
 * cores since Haswell.  Sources: libpfm4 4.13 and the kernel's arch/x86/events/intel/ds.c.
 */
static const struct {
	uint16_t code, ways;
	bool all, latency;
} intel[] = {
	{0x81d0, COMM_ACCESS_READ, true, false},  /* all loads */
	{0x82d0, COMM_ACCESS_WRITE, true, false}, /* all stores */
	{0x01cd, COMM_ACCESS_READ, false, true},  /* mem-loads: latency */
	{0x02cd, COMM_ACCESS_WRITE, false, false},
	{0x05d0, COMM_ACCESS_READ, false, true}, /* mem-loads and mem-stores of small cores */
	{0x06d0, COMM_ACCESS_WRITE, false, false},
};

void comm_perfdata_events_deinit(struct comm_perfdata_events *events)
{
	free(events->event);
	free(events->id);
	*events = (struct comm_perfdata_events){0};
}

int comm_perfdata_events_add(struct comm_perfdata_events *events, const void *attr, size_t bytes)
{
	struct comm_perfdata_event *bigger;
	struct perf_event_attr *to;

	if (events->n == COMM_PERFDATA_EVENTS_MAX)
		return -ENOSPC;
	bigger = realloc(events->event, (events->n + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	events->event = bigger;
	bigger += events->n++;
	*bigger = (struct comm_perfdata_event){0};
	to = &bigger->attr;
	memcpy(to, attr, bytes < sizeof(*to) ? bytes : sizeof(*to));
	return 0;
}

int comm_perfdata_events_add_id(struct comm_perfdata_events *events, uint64_t id)
{
	if (events->n_ids == events->ids_capacity) {
		size_t capacity = events->ids_capacity ? 2 * events->ids_capacity : 64;
		struct comm_perfdata_id *bigger;

		if (capacity > COMM_PERFDATA_IDS_MAX)
			return -ENOSPC;
		bigger = realloc(events->id, capacity * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		events->id = bigger;
		events->ids_capacity = capacity;
	}
	events->id[events->n_ids++] = (struct comm_perfdata_id){id, (uint32_t)events->n - 1};
	return 0;
}

void comm_perfdata_events_name(struct comm_perfdata_events *events, size_t nth, const char *name,
			       size_t bytes)
{
	if (nth < events->n)
		comm_text_clean(name, bytes, events->event[nth].name, sizeof(events->event->name));
}

/* Case does not matter: MEM_LOAD_L3_HIT_RETIRED is as good. */
static bool says(const struct comm_perfdata_event *event, const char *word)
{
	return strcasestr(event->name, word);
}

static void look(struct comm_perfdata_event *event, bool is_intel)
{
	const struct perf_event_attr *attr = &event->attr;
	bool of_cpu = attr->type == PERF_TYPE_RAW || attr->type >= PMU_TYPES;
	bool load = says(event, "load"), store = says(event, "store");

	event->accesses = event->all = event->latency = false;
	event->ways = 0;
	event->says_exact = attr->precise_ip || says(event, "ibs_op");
	/* Software events, tracepoints and breakpoints have addresses, too. */
	if (!(attr->sample_type & PERF_SAMPLE_ADDR) || (!of_cpu && attr->type))
		return;
	/* It has to stand in mem-loads' group, and its samples say nothing. */
	if (says(event, "mem-loads-aux") || says(event, "mem_load_aux"))
		return;
	if (load != store)
		event->ways = load ? COMM_ACCESS_READ : COMM_ACCESS_WRITE;
	event->latency = says(event, "ldlat");
	for (size_t i = 0; of_cpu && is_intel && i < sizeof(intel) / sizeof(*intel); i++) {
		if ((attr->config & CODE_MASK) != intel[i].code)
			continue;
		event->ways = intel[i].ways;
		event->all = intel[i].all;
		event->latency = intel[i].latency;
	}
	event->accesses = event->ways || attr->sample_type & PERF_SAMPLE_DATA_SRC;
}

static int by_id(const void *a, const void *b)
{
	const struct comm_perfdata_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Where the ids stand must be the same for all events: a record tells its event by that alone. */
int comm_perfdata_events_look(struct comm_perfdata_events *events, const char *cpuid)
{
	events->from_start = events->from_end = -ENOENT;
	for (size_t i = 0; i < events->n; i++) {
		const struct perf_event_attr *attr = &events->event[i].attr;
		int start = comm_perfdata_id_from_start(attr),
		    end = comm_perfdata_id_from_end(attr);

		if (i && (start != events->from_start || end != events->from_end))
			return -EINVAL;
		events->from_start = start;
		events->from_end = end;
		look(&events->event[i], !strncmp(cpuid, "GenuineIntel", 12));
	}
	if (events->n > 1 && events->from_start < 0)
		return -EINVAL;
	if (events->n_ids)
		qsort(events->id, events->n_ids, sizeof(*events->id), by_id);
	return 0;
}

static struct comm_perfdata_event *find(const struct comm_perfdata_events *events, uint64_t id)
{
	const struct comm_perfdata_id key = {.id = id}, *found = NULL;

	if (events->n_ids)
		found = bsearch(&key, events->id, events->n_ids, sizeof(*events->id), by_id);
	return found ? &events->event[found->event] : NULL;
}

const struct comm_perfdata_event *comm_perfdata_events_of(const struct comm_perfdata_events *events,
							  bool is_sample, const void *body,
							  size_t bytes)
{
	int at = is_sample ? events->from_start : (int)bytes - events->from_end;
	uint64_t id;

	if (!events->n)
		return NULL;
	if (events->n == 1 || (!is_sample && events->from_end < 0))
		return events->event;
	if (at < 0 || bytes < sizeof(id) || (size_t)at > bytes - sizeof(id))
		return NULL;
	memcpy(&id, (const unsigned char *)body + at, sizeof(id));
	/* perf makes up records of what was there before it began, without an id. */
	return id ? find(events, id) : events->event;
}
