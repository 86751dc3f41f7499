// SPDX-License-Identifier: GPL-2.0-or-later
#include "columns.h"

#include <errno.h>
#include <math.h>

#include "data.h"

/* An edge's ends are its nodes' parts, or the node itself; of "(other)" in all parts none. */
enum { COLUMNS_NONE = -1 };

static int print_end(FILE *out, struct ctl_nodes *nodes, const struct comm_node *node, size_t part,
		     bool between)
{
	const struct comm_node *own = node->n_parts > part ? node->parts[part] : node;
	int number;

	if (!node->n_parts && node->id[0] == 'j') {
		fprintf(out, "%d", COLUMNS_NONE);
		return 0;
	}
	number = ctl_nodes_at(nodes, own);
	if (number < 0)
		return number;
	/* Where nodes stand between threads, they are the negative numbers. */
	fprintf(out, "%d", between && own->kind == COMM_NODE_OBJECT ? -1 - number : number);
	return 0;
}

static size_t parts_of(const struct comm_report *report)
{
	size_t n = 1;

	for (size_t i = 0; i < report->n_nodes; i++)
		if (comm_report_node_at(report, i)->n_parts > n)
			n = comm_report_node_at(report, i)->n_parts;
	return n;
}

static int print_ends(FILE *out, struct ctl_nodes *nodes, const struct comm_report *report)
{
	size_t parts = parts_of(report);
	int code = 0;

	for (int is_to = 0; is_to < 2; is_to++) {
		fprintf(out, "\"%s\":[", is_to ? "to" : "from");
		for (size_t part = 0; part < parts; part++) {
			fputs(part ? "],\n[" : "[", out);
			for (size_t i = 0; i < report->n_shown && !code; i++) {
				const struct comm_report_edge *edge =
					comm_report_edge_at(report, i);

				if (i)
					putc(',', out);
				code = print_end(
					out, nodes,
					comm_report_node_at(report, is_to ? edge->to : edge->from),
					part, report->by->between);
			}
		}
		fputs("]],\n", out);
	}
	return code;
}

enum column {
	COLUMN_BYTES,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_SPREAD, /* share / share_low: share_high is share * spread, at most 1 */
	COLUMN_SAMPLES,
	COLUMN_SLICES,
	COLUMN_RESOLVED,
	COLUMNS,
};

static const char *const column_names[] = {
	[COLUMN_BYTES] = "bytes",     [COLUMN_LOW] = "low",	    [COLUMN_HIGH] = "high",
	[COLUMN_SPREAD] = "spread",   [COLUMN_SAMPLES] = "samples", [COLUMN_SLICES] = "slices",
	[COLUMN_RESOLVED] = "stated",
};

static double value_of(const struct comm_report_edge *edge, enum column column)
{
	switch (column) {
	case COLUMN_LOW:
		return edge->low;
	case COLUMN_HIGH:
		return edge->high;
	case COLUMN_SPREAD:
		return edge->share_low > 0 ? edge->share / edge->share_low : NAN;
	case COLUMN_SAMPLES:
		return edge->samples;
	case COLUMN_SLICES:
		return edge->slices;
	case COLUMN_RESOLVED:
		return edge->resolved;
	default:
		return edge->bytes;
	}
}

static void print_columns(FILE *out, const struct comm_report *report)
{
	for (enum column column = 0; column < COLUMNS; column++) {
		fprintf(out, "\"%s\":[", column_names[column]);
		for (size_t i = 0; i < report->n_shown; i++) {
			if (i)
				putc(',', out);
			ctl_data_number(out, value_of(comm_report_edge_at(report, i), column));
		}
		fputs("],\n", out);
	}
}

/*
 * Where loads at the reading end found their data: of the sums, which the library gives
 * first, the intervals' ends; -1 where too few loads tell.
 */
static void print_origins(FILE *out, const struct comm_report *report)
{
	static const char *const names[] = {"hitm", "remote", "local"};

	for (size_t i = 0; i < 6; i++) {
		fprintf(out, "\"%s_%s\":[", names[i / 2], i % 2 ? "high" : "low");
		for (size_t j = 0; j < report->n_shown; j++) {
			const struct comm_report_edge *edge = comm_report_edge_at(report, j);
			const struct comm_report_origin *origin =
				comm_report_origin_at(report, edge->first_origin + i / 2);
			bool known = origin && edge->n_origins > i / 2 &&
				     edge->origin_loads >= COMM_RESOLVED_SAMPLES;

			if (j)
				putc(',', out);
			ctl_data_number(out, !known  ? -1
					     : i % 2 ? origin->share_high
						     : origin->share_low);
		}
		fputs("],\n", out);
	}
}

static void print_sums(FILE *out, const struct comm_report *report)
{
	double not_shown = 0;

	for (size_t i = report->n_shown; i < report->n_edges; i++)
		not_shown += comm_report_edge_at(report, i)->bytes;
	/* Bytes that go in and out of a node between count twice in the sums of edges. */
	if (report->by->between)
		not_shown /= 2;
	ctl_data_member_count(out, "edges", report->n_edges);
	ctl_data_member_count(out, "edges_not_stated", report->n_unresolved);
	ctl_data_member(out, "bytes_not_stated", report->unresolved_bytes);
	ctl_data_member_count(out, "edges_left_out", report->n_edges - report->n_shown);
	ctl_data_member(out, "bytes_left_out", not_shown);
	ctl_data_member(out, "total", report->total_bytes);
	ctl_data_member_count(out, "blocks", report->n_blocks);
	fprintf(out, "\"total_stated\":%s,",
		comm_report_part_at(report, 0)->resolved ? "true" : "false");
}

int ctl_columns_print(FILE *out, struct ctl_nodes *nodes, const char *by,
		      const struct comm_report *report)
{
	int code;

	putc('{', out);
	ctl_data_member_text(out, "by", by);
	ctl_data_member_text(out, "title", report->by->title);
	ctl_data_member_text(out, "noun", report->by->noun);
	ctl_data_member(out, "from_s", report->from_ns / 1e9);
	ctl_data_member(out, "to_s", report->to_ns / 1e9);
	ctl_data_member(out, "enabled_s", report->enabled_ns / 1e9);
	print_sums(out, report);
	code = print_ends(out, nodes, report);
	print_columns(out, report);
	if (report->n_origins)
		print_origins(out, report);
	fputs("\"nodes\":", out);
	ctl_nodes_print(nodes, out);
	fputs("}", out);
	return code;
}
