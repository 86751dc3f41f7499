// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "utf8.h"

/* What is left of a text has no characters that XML 1.0 does not allow (section 2.2). */
static void print_text(const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (strchr("<>&\"'", *shown))
			printf("&#%d;", *shown);
		else
			fwrite(shown, 1, n, stdout);
	}
}

static void print_string(const char *key, const char *value)
{
	printf("<data key=\"%s\">", key);
	print_text(value);
	printf("</data>");
}

/* Values that are not finite are left out: programs differ in how they spell infinity. */
static void print_double(const char *key, double value)
{
	if (isfinite(value))
		printf("<data key=\"%s\">%.10g</data>", key, value);
}

static void print_keys(void)
{
	static const struct {
		const char *element, *name, *type;
	} keys[] = {
		{"node", "kind", "string"},   {"node", "name", "string"},
		{"node", "module", "string"}, {"node", "bytes", "double"},
		{"edge", "bytes", "double"},  {"edge", "low", "double"},
		{"edge", "high", "double"},   {"edge", "share", "double"},
		{"edge", "samples", "long"},  {"edge", "resolved", "boolean"},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		printf(" <key id=\"%s-%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
		       keys[i].element, keys[i].name, keys[i].element, keys[i].name, keys[i].type);
}

static void print_node(const struct comm_node *node)
{
	printf("  <node id=\"%s\">", node->id);
	print_string("node-kind", node->kind_name);
	print_string("node-name", node->name);
	print_string("node-module", node->module);
	print_double("node-bytes", node->written_bytes + node->read_bytes);
	printf("</node>\n");
}

static void print_edge(const struct comm_report *report, const struct comm_report_edge *edge)
{
	printf("  <edge source=\"%s\" target=\"%s\">", comm_report_node_at(report, edge->from)->id,
	       comm_report_node_at(report, edge->to)->id);
	print_double("edge-bytes", edge->bytes);
	print_double("edge-low", edge->low);
	print_double("edge-high", edge->high);
	print_double("edge-share", edge->share);
	printf("<data key=\"edge-samples\">%llu</data>", (unsigned long long)edge->samples);
	print_string("edge-resolved", edge->resolved ? "true" : "false");
	printf("</edge>\n");
}

/* http://graphml.graphdrawing.org/specification.html; edges go from the writer to the reader. */
void ctl_form_graphml(const struct comm_query *query, const struct comm_report *report)
{
	bool *used = calloc(report->n_nodes + 1, sizeof(*used));

	(void)query;
	/* If calloc() fails (used is NULL), every node is listed, connected or not. */
	for (size_t i = 0; used && i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		used[edge->from] = used[edge->to] = true;
	}
	printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	       "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
	print_keys();
	printf(" <graph id=\"run-%lld\" edgedefault=\"directed\">\n  <desc>",
	       (long long)report->run->id);
	print_text(report->run->command);
	printf("</desc>\n");
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (!used || used[i])
			print_node(comm_report_node_at(report, i));
	}
	for (size_t i = 0; i < report->n_shown; i++)
		print_edge(report, comm_report_edge_at(report, i));
	printf(" </graph>\n</graphml>\n");
	free(used);
}
