// SPDX-License-Identifier: GPL-2.0-or-later
#include "file_notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Adds a sentence to the notes. */
static void note(struct comm_perfdata_info *info, const char *sentence)
{
	size_t used = strlen(info->notes);

	snprintf(info->notes + used, sizeof(info->notes) - used, "%s%s", used ? "; " : "",
		 sentence);
}

static void add_event(struct comm_perfdata_info *info, const struct comm_perfdata_event *e)
{
	size_t used = strlen(info->events);

	snprintf(info->events + used, sizeof(info->events) - used, "%s%s %s %llu%s",
		 used ? ", " : "", *e->name ? e->name : "unnamed", e->attr.freq ? "at" : "every",
		 (unsigned long long)e->attr.sample_period, e->attr.freq ? " Hz" : "");
}

void comm_perfdata_notes(const struct comm_perfdata_events *events, struct comm_perfdata_info *info)
{
	bool latency = false, no_cpu = false, no_maps = true, no_period = false;
	char machine[sizeof(info->cpu) + 16];

	for (size_t i = 0; i < events->n; i++) {
		const struct comm_perfdata_event *e = &events->event[i];

		no_maps &= !e->attr.mmap_data;
		if (!e->accesses)
			continue;
		add_event(info, e);
		latency |= e->latency;
		no_cpu |= !(e->attr.sample_type & PERF_SAMPLE_CPU);
		no_period |= e->attr.freq && !(e->attr.sample_type & PERF_SAMPLE_PERIOD);
	}
	if (*info->cpu) {
		snprintf(machine, sizeof(machine), "recorded on %s", info->cpu);
		note(info, machine);
	}
	note(info, "what sampling cost was not measured");
	if (latency)
		note(info, "loads were sampled by latency: shares can be compared, amounts cannot");
	if (no_period)
		note(info, "periods were not recorded: each sample counts as one access");
	if (no_cpu)
		note(info, "CPUs were not recorded (perf record --sample-cpu)");
	if (no_maps)
		note(info, "mappings of data were not recorded (perf record -d)");
}
