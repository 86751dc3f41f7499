// SPDX-License-Identifier: GPL-2.0-or-later
#include "notes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter_text.h"
#include "number.h"
#include "term.h"

/* What the nodes are: "threads", "nodes by thread,function", with the objects between them. */
static void write_nodes(char text[CTL_NOTE], const struct ctl_panels *panels,
			const struct comm_report *report)
{
	const struct comm_grouping *const *all = comm_groupings();
	const struct comm_query *query = panels->query;
	const char *title = report->by->title;

	for (size_t i = 0; query->objects && all[i]; i++)
		if (!strcmp(all[i]->name, query->by ? query->by : all[0]->name))
			title = all[i]->title;
	if (query->by && strchr(query->by, ','))
		snprintf(text, CTL_NOTE, "nodes by %s", query->by);
	else
		snprintf(text, CTL_NOTE, "%s", title);
	if (query->objects && !strstr(title, "object"))
		strncat(text, " and the objects between them", CTL_NOTE - strlen(text) - 1);
}

static void write_cut(char text[CTL_NOTE], const struct ctl_panels *panels,
		      const struct comm_report *report)
{
	const struct comm_query *query = panels->query;
	char nodes[CTL_NOTE], a[CTL_NUMBER], filter[CTL_FILTER_TEXT];
	int n;

	write_nodes(nodes, panels, report);
	n = snprintf(text, CTL_NOTE, "%s: %zu of %zu edges from writer to reader%s", nodes,
		     report->n_shown, report->n_edges, query->first_read ? ", first reads" : "");
	if (query->min_share > 0)
		n += snprintf(text + n, CTL_NOTE - n, ", of at least %s",
			      ctl_percent(a, query->min_share));
	if (query->min_bytes > 0 && n < CTL_NOTE)
		n += snprintf(text + n, CTL_NOTE - n, ", of at least %s",
			      ctl_bytes(a, query->min_bytes));
	if (n < CTL_NOTE)
		snprintf(text + n, CTL_NOTE - n, "%s", ctl_filter_text(filter, query));
}

static void write_known(char text[CTL_NOTE], const struct comm_report *report)
{
	double read = report->read_bytes - report->polled_bytes;
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER];

	if (report->exact) {
		snprintf(text, CTL_NOTE, "counted, not estimated");
		return;
	}
	snprintf(text, CTL_NOTE,
		 "not confirmed (?): %zu edges, %s of the %s; writer not seen for %s of what was "
		 "read",
		 report->n_unresolved,
		 ctl_percent(a, report->unresolved_bytes / fmax(report->total_bytes, 1)),
		 ctl_bytes(b, report->total_bytes),
		 ctl_percent(c, 1 - report->seen_bytes / fmax(read, 1)));
}

static void write_price(char text[CTL_NOTE], const struct comm_report *report)
{
	char a[CTL_NUMBER];
	int n = snprintf(text, CTL_NOTE, "lost:");

	for (size_t i = 0; i < report->n_losses && n < CTL_NOTE / 2; i++)
		n += snprintf(text + n, CTL_NOTE - n, "%s %s %llu", i ? "," : "",
			      comm_report_loss_at(report, i)->cause,
			      (unsigned long long)comm_report_loss_at(report, i)->n);
	if (!report->n_losses)
		n += snprintf(text + n, CTL_NOTE - n, " nothing that was counted");
	if (report->exact || !report->target_ns)
		snprintf(text + n, CTL_NOTE - n, "; cost not known");
	else
		snprintf(text + n, CTL_NOTE - n, "; cost %s of the target's CPU time",
			 ctl_percent(a, report->overhead));
}

void ctl_notes_write(struct ctl_notes *notes, const struct ctl_panels *panels,
		     const struct ctl_panel *panel)
{
	const struct comm_report *report = panel->report;
	char from[CTL_NUMBER], to[CTL_NUMBER], command[CTL_NOTE / 2];

	*notes = (struct ctl_notes){0};
	snprintf(notes->line[0], CTL_NOTE, "run %lld: %s, %s to %s", (long long)report->run->id,
		 ctl_shown(command, sizeof(command), report->run->command),
		 ctl_duration(from, report->from_ns), ctl_duration(to, report->to_ns));
	write_cut(notes->line[1], panels, report);
	write_known(notes->line[2], report);
	write_price(notes->line[3], report);
}
