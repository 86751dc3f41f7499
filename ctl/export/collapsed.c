// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exporter.h"
#include "utf8.h"

/* A frame: what separates frames, and what is not to be shown, is replaced. */
static void frame(FILE *out, const char *what, const char *text, char end)
{
	fprintf(out, "%s ", what);
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (*shown == ';')
			putc('?', out);
		else
			fwrite(shown, 1, n, out);
	}
	putc(end, out);
}

static void frames(FILE *out, const char *what, const struct comm_node *function, char end)
{
	size_t n = ctl_export_frames(function);

	for (size_t i = 0; i < n; i++)
		frame(out, what, ctl_export_frame(function, i)->name, i + 1 < n ? ';' : end);
}

int ctl_export_collapsed(const struct ctl_export *export, FILE *out, char **err)
{
	const struct comm_report *report = export->report;

	(void)err;
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		const struct comm_node *from = comm_report_node_at(report, edge->from);
		const struct comm_node *to = comm_report_node_at(report, edge->to);

		if (from->other || to->other || edge->bytes < 1)
			continue;
		frame(out, "thread", from->parts[CTL_PART_THREAD]->name, ';');
		frames(out, "writer", from->parts[CTL_PART_FUNCTION], ';');
		frame(out, "object", to->parts[CTL_PART_OBJECT]->name, ';');
		frame(out, "thread", to->parts[CTL_PART_THREAD]->name, ';');
		frames(out, edge->resolved ? "reader" : "? reader", to->parts[CTL_PART_FUNCTION],
		       ' ');
		fprintf(out, "%.0f\n", edge->bytes);
	}
	return 0;
}
