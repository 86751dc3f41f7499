// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphviz's language, https://graphviz.org/doc/info/lang.html: functions and lines oval,
 * objects rectangular, as published graphs of this kind have them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acyclic.h"
#include "dot.h"
#include "drawing.h"
#include "notes.h"
#include "number.h"
#include "ramp.h"
#include "utf8.h"

enum {
	DOT_NAME = 44,	 /* bytes of a name in a node; its tooltip has all of it */
	DOT_LONGEST = 6, /* inches; others are as wide as they are long, and as their labels need */
};

void ctl_dot_text(FILE *out, const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (*shown == '&') {
			fputs("&amp;", out);
			continue;
		}
		if (*shown == '"' || *shown == '\\')
			putc('\\', out);
		fwrite(shown, 1, n, out);
	}
}

const char *ctl_dot_shape(const struct comm_node *node)
{
	switch (node->kind) {
	case COMM_NODE_FUNCTION:
	case COMM_NODE_LINE:
		return "oval";
	case COMM_NODE_OBJECT:
		return "box";
	case COMM_NODE_THREAD:
		return "hexagon";
	case COMM_NODE_NAMED:
		break;
	}
	return strcmp(node->kind_name, "region") ? "octagon" : "folder";
}

static void print_node(FILE *out, const struct ctl_panel *panel, size_t panel_number, size_t i,
		       double longest)
{
	const struct comm_report *report = panel->report;
	const struct comm_node *node = comm_report_node_at(report, i);
	const char *label = panel->labels.text[i];
	size_t bytes = strlen(label);
	char size[CTL_NUMBER], cut[DOT_NAME + 1];
	double length = ctl_panel_length(panel, i);

	snprintf(cut, sizeof(cut), "%.*s",
		 bytes > DOT_NAME ? (int)ctl_utf8_start(label, DOT_NAME / 2 - 1) : DOT_NAME, label);
	fprintf(out, "    \"p%zu.%s\" [shape=%s, label=\"", panel_number, node->id,
		ctl_dot_shape(node));
	ctl_dot_text(out, cut);
	if (bytes > DOT_NAME) {
		fputs("..", out);
		ctl_dot_text(out, label + ctl_utf8_start(label, bytes - DOT_NAME / 2 + 1));
	}
	if (node->kind == COMM_NODE_OBJECT && node->size_bytes)
		fprintf(out, "\\n%s", ctl_bytes(size, node->size_bytes));
	if (length > 0) {
		fprintf(out, "\\n%s ", ctl_length(size, length, report->length_unit));
		ctl_dot_text(out, ctl_length_noun(report->length_unit));
	}
	fputs("\", tooltip=\"", out);
	ctl_dot_text(out, label);
	putc('"', out);
	if (length > 0)
		fprintf(out, ", width=%.2f", DOT_LONGEST * fmin(1, length / longest));
	if (100 * fmax(node->written_bytes, node->read_bytes) >=
	    CTL_DOT_HOT_PCT * report->total_bytes)
		fputs(", style=filled, fillcolor=\"gray80\"", out);
	fputs("];\n", out);
}

void ctl_dot_edge(FILE *out, const struct comm_report *report, const struct comm_report_edge *edge,
		  double largest)
{
	char bytes[CTL_NUMBER], range[CTL_NUMBER], colour[CTL_RAMP];

	fprintf(out, " [label=\" %s%s ", ctl_bytes(bytes, edge->bytes), edge->resolved ? "" : " ?");
	if (!report->exact)
		fprintf(out, "\\n %s ", ctl_range(range, edge->low, edge->high));
	fprintf(out, "\", penwidth=%.2f, color=\"%s\"%s];\n",
		0.8 + 3.2 * ctl_ramp_level(edge->bytes, largest),
		ctl_ramp(colour, edge->bytes, largest), edge->resolved ? "" : ", style=dashed");
}

static int print_panel(FILE *out, const struct ctl_panel *panel, size_t number, double largest,
		       double longest)
{
	const struct comm_report *report = panel->report;
	bool *used = calloc(report->n_nodes + 1, sizeof(*used));

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_shown; i++)
		used[comm_report_edge_at(report, i)->from] =
			used[comm_report_edge_at(report, i)->to] = true;
	for (size_t i = 0; i < report->n_nodes; i++)
		if (used[i])
			print_node(out, panel, number, i, longest);
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		fprintf(out, "    \"p%zu.%s\" -> \"p%zu.%s\"", number,
			comm_report_node_at(report, edge->from)->id, number,
			comm_report_node_at(report, edge->to)->id);
		ctl_dot_edge(out, report, edge, largest);
	}
	free(used);
	return 0;
}

static void print_notes(FILE *out, const struct ctl_panels *panels, const struct ctl_panel *panel,
			size_t first)
{
	struct ctl_notes notes;

	ctl_notes_write(&notes, panels, panel);
	for (size_t i = first; i < CTL_NOTES; i++) {
		ctl_dot_text(out, notes.line[i]);
		fputs("\\l", out);
	}
}

void ctl_dot_begin(FILE *out, const struct ctl_panels *panels, const char *more)
{
	fputs("digraph communication {\n"
	      "  graph [labelloc=t, labeljust=l, fontname=\"sans-serif\", fontsize=11, label=\"",
	      out);
	for (size_t i = 0; i < panels->n_courses; i++)
		print_notes(out, panels, &panels->course[i].whole, 0);
	fprintf(out,
		"colours by the logarithm of the bytes, dark is most; %s; dashed edges are not "
		"confirmed\\l\"];\n"
		"  node [fontname=\"sans-serif\", fontsize=11];\n"
		"  edge [fontname=\"sans-serif\", fontsize=9];\n",
		more);
}

int ctl_draw_dot(const struct ctl_panels *panels, FILE *out)
{
	size_t n = ctl_panels_count(panels);
	double largest = ctl_panels_largest(panels);
	char hot[64];
	int code = 0;

	if (panels->acyclic)
		return ctl_acyclic_dot(panels, out);
	snprintf(hot, sizeof(hot), "grey nodes write or read at least %d %% of them",
		 CTL_DOT_HOT_PCT);
	ctl_dot_begin(out, panels, hot);
	for (size_t i = 0; i < n && !code; i++) {
		const struct ctl_panel *panel = ctl_panels_at(panels, i);

		if (n > 1) {
			fprintf(out, "  subgraph cluster_%zu {\n    graph [label=\"", i);
			ctl_dot_text(out, panel->title);
			fputs("\\l", out);
			print_notes(out, panels, panel, 2);
			fputs("\", fontsize=9, color=gray60];\n", out);
		}
		code = print_panel(out, panel, i, largest,
				   ctl_panels_longest(panels, panel->report->length_unit));
		if (n > 1)
			fputs("  }\n", out);
	}
	fputs("}\n", out);
	return code;
}
