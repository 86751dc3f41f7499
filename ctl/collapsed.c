// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exporter.h"
#include "utf8.h"

/* A frame: what separates frames and lines, and what is no text, is replaced. */
static void frame(FILE *out, const char *what, const char *text, char end)
{
	fprintf(out, "%s ", what);
	while (*text) {
		int n = ctl_utf8_length(text);
		bool is_plain = n > 1 || (n == 1 && (unsigned char)*text >= 0x20 && *text != 0x7f &&
					  *text != ';');

		if (is_plain)
			fwrite(text, 1, n, out);
		else
			putc('?', out);
		text += n ? n : 1;
	}
	putc(end, out);
}

int ctl_export_collapsed(const struct comm_query *query, const struct comm_report *report,
			 FILE *out)
{
	(void)query;
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		const struct comm_node *from = comm_report_node_at(report, edge->from);
		const struct comm_node *to = comm_report_node_at(report, edge->to);

		if (from->other || to->other || edge->bytes < 1)
			continue;
		frame(out, "thread", from->parts[CTL_PART_THREAD]->name, ';');
		frame(out, "writer", from->parts[CTL_PART_FUNCTION]->name, ';');
		frame(out, "object", to->parts[CTL_PART_OBJECT]->name, ';');
		frame(out, "thread", to->parts[CTL_PART_THREAD]->name, ';');
		frame(out, edge->resolved ? "reader" : "? reader",
		      to->parts[CTL_PART_FUNCTION]->name, ' ');
		fprintf(out, "%.0f\n", edge->bytes);
	}
	return 0;
}
