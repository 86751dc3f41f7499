// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "form.h"
#include "number.h"

/* Text inside of a DOT string: nothing in it may end the string. */
static void quoted(const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text >= 0x20 && *text <= 0x7e ? *text : '?');
	}
}

static void print_node(const struct comm_node *node)
{
	char size[CTL_NUMBER];

	printf("  \"%s\" [shape=%s, label=\"", node->id,
	       node->kind == COMM_NODE_OBJECT ? "box" : "oval");
	if (node->kind == COMM_NODE_LINE && *node->source) {
		quoted(node->source);
		printf(":%u\\n", node->line);
	}
	quoted(node->name);
	if (node->kind == COMM_NODE_THREAD && node->tid)
		printf("\\n%u", node->tid);
	if (node->kind == COMM_NODE_OBJECT && node->size_bytes)
		printf("\\n%s", ctl_bytes(size, node->size_bytes));
	if (*node->module) {
		printf("\\n");
		quoted(node->module);
	}
	printf("\"];\n");
}

void ctl_form_dot(const struct comm_query *query, const struct comm_report *report)
{
	char *used = calloc(report->n_nodes + 1, 1);
	char bytes[CTL_NUMBER], share[CTL_NUMBER];
	double largest = 0;

	(void)query;
	/* If calloc() fails (used is NULL), every node is drawn, connected or not. */
	for (size_t i = 0; used && i < report->n_shown; i++)
		used[comm_report_edge_at(report, i)->from] =
			used[comm_report_edge_at(report, i)->to] = 1;
	printf("digraph communication {\n"
	       "  graph [label=\"run %lld: ",
	       (long long)report->run->id);
	quoted(report->run->command);
	printf("\\nfrom the writer to the reader\", labelloc=t, fontname=\"sans-serif\"];\n"
	       "  node [fontname=\"sans-serif\", fontsize=11];\n"
	       "  edge [fontname=\"sans-serif\", fontsize=9];\n");
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (!used || used[i])
			print_node(comm_report_node_at(report, i));
	}
	for (size_t i = 0; i < report->n_shown; i++)
		largest = fmax(largest, comm_report_edge_at(report, i)->bytes);
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		/* Hue from blue for the smallest to red for the largest. */
		double heat = largest > 0 ? sqrt(edge->bytes / largest) : 0;

		printf("  \"%s\" -> \"%s\" [label=\"%s, %s\", penwidth=%.2f, "
		       "color=\"%.3f 0.85 0.80\"%s];\n",
		       comm_report_node_at(report, edge->from)->id,
		       comm_report_node_at(report, edge->to)->id, ctl_bytes(bytes, edge->bytes),
		       ctl_percent(share, edge->share), 0.5 + 5.5 * heat, 0.62 * (1 - heat),
		       edge->resolved ? "" : ", style=dashed");
	}
	printf("}\n");
	free(used);
}
