// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "notes.h"
#include "utf8.h"

/* What is left of a text has no characters that XML 1.0 does not allow (section 2.2). */
static void print_text(FILE *out, const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (strchr("<>&\"'", *shown))
			fprintf(out, "&#%d;", *shown);
		else
			fwrite(shown, 1, n, out);
	}
}

static void print_string(FILE *out, const char *key, const char *value)
{
	fprintf(out, "<data key=\"%s\">", key);
	print_text(out, value);
	fputs("</data>", out);
}

/* Values that are not finite are left out: programs differ in how they spell infinity. */
static void print_double(FILE *out, const char *key, double value)
{
	if (isfinite(value))
		fprintf(out, "<data key=\"%s\">%.10g</data>", key, value);
}

static void print_keys(FILE *out)
{
	static const struct {
		const char *element, *name, *type;
	} keys[] = {
		{"graph", "notes", "string"}, {"node", "kind", "string"},
		{"node", "name", "string"},   {"node", "module", "string"},
		{"node", "bytes", "double"},  {"node", "panel", "string"},
		{"edge", "bytes", "double"},  {"edge", "low", "double"},
		{"edge", "high", "double"},   {"edge", "share", "double"},
		{"edge", "samples", "long"},  {"edge", "resolved", "boolean"},
		{"edge", "panel", "string"},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		fprintf(out, " <key id=\"%s-%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
			keys[i].element, keys[i].name, keys[i].element, keys[i].name, keys[i].type);
}

/* Of several panels, each has nodes of its own: a program reads one graph of a file. */
struct place {
	const struct ctl_panel *panel;
	char prefix[24]; /* of the ids of its nodes */
	bool several;
};

static void print_node(FILE *out, const struct place *place, const struct comm_node *node)
{
	fprintf(out, "  <node id=\"%s%s\">", place->prefix, node->id);
	print_string(out, "node-kind", node->kind_name);
	print_string(out, "node-name", node->name);
	print_string(out, "node-module", node->module);
	print_double(out, "node-bytes", node->written_bytes + node->read_bytes);
	if (place->several)
		print_string(out, "node-panel", place->panel->title);
	fputs("</node>\n", out);
}

static void print_edge(FILE *out, const struct place *place, const struct comm_report_edge *edge)
{
	const struct comm_report *report = place->panel->report;

	fprintf(out, "  <edge source=\"%s%s\" target=\"%s%s\">", place->prefix,
		comm_report_node_at(report, edge->from)->id, place->prefix,
		comm_report_node_at(report, edge->to)->id);
	print_double(out, "edge-bytes", edge->bytes);
	print_double(out, "edge-low", edge->low);
	print_double(out, "edge-high", edge->high);
	print_double(out, "edge-share", edge->share);
	fprintf(out, "<data key=\"edge-samples\">%llu</data>", (unsigned long long)edge->samples);
	print_string(out, "edge-resolved", edge->resolved ? "true" : "false");
	if (place->several)
		print_string(out, "edge-panel", place->panel->title);
	fputs("</edge>\n", out);
}

static int print_panel(FILE *out, const struct place *place)
{
	const struct comm_report *report = place->panel->report;
	bool *used = calloc(report->n_nodes + 1, sizeof(*used));

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		used[edge->from] = used[edge->to] = true;
	}
	for (size_t i = 0; i < report->n_nodes; i++)
		if (used[i])
			print_node(out, place, comm_report_node_at(report, i));
	for (size_t i = 0; i < report->n_shown; i++)
		print_edge(out, place, comm_report_edge_at(report, i));
	free(used);
	return 0;
}

static void print_notes(FILE *out, const struct ctl_panels *panels)
{
	struct ctl_notes notes;

	fputs("  <data key=\"graph-notes\">", out);
	for (size_t i = 0; i < panels->n_courses; i++) {
		ctl_notes_write(&notes, panels, &panels->course[i].whole);
		for (size_t j = 0; j < CTL_NOTES; j++) {
			fputs(i || j ? "; " : "", out);
			print_text(out, notes.line[j]);
		}
	}
	fputs("</data>\n", out);
}

/* http://graphml.graphdrawing.org/specification.html; edges go from the writer to the reader. */
int ctl_draw_graphml(const struct ctl_panels *panels, FILE *out)
{
	const struct comm_run *run = panels->course[0].whole.report->run;
	size_t n = ctl_panels_count(panels);
	int code = 0;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
	      out);
	print_keys(out);
	fprintf(out, " <graph id=\"run-%lld\" edgedefault=\"directed\">\n  <desc>",
		(long long)run->id);
	print_text(out, run->command);
	fputs("</desc>\n", out);
	print_notes(out, panels);
	for (size_t i = 0; i < n && !code; i++) {
		struct place place = {.panel = ctl_panels_at(panels, i), .several = n > 1};

		if (place.several)
			snprintf(place.prefix, sizeof(place.prefix), "p%zu.", i);
		code = print_panel(out, &place);
	}
	fputs(" </graph>\n</graphml>\n", out);
	return code;
}
