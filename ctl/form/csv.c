// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv.h"

#include <stdio.h>

#include "form.h"

static void field(const char *text)
{
	ctl_csv_field(stdout, text);
	putchar(',');
}

static void node_fields(const struct comm_node *node)
{
	field(node->id);
	field(node->kind_name);
	field(node->name);
	field(node->module);
	printf("%u,", node->tid);
	field(node->source);
	printf("%u,", node->line);
}

/* The sums, which the library gives first; JSON has each origin by itself, too. */
enum { ORIGIN_SUMS = 3 };

#define ORIGIN_COLUMNS                                                                 \
	",loads,latency_cycles,hitm,hitm_low,hitm_high,remote,remote_low,remote_high," \
	"local,local_low,local_high"

static void origin_fields(const struct comm_report *report, const struct comm_report_edge *edge)
{
	if (!edge->n_origins) {
		fputs(",,,,,,,,,,,", stdout);
		return;
	}
	printf(",%.0f,", edge->origin_loads);
	if (edge->latency_cycles > 0)
		printf("%.6g", edge->latency_cycles);
	for (size_t i = 0; i < ORIGIN_SUMS; i++) {
		const struct comm_report_origin *origin =
			comm_report_origin_at(report, edge->first_origin + i);

		printf(",%.6g,%.6g,%.6g", origin->share, origin->share_low, origin->share_high);
	}
}

void ctl_form_csv(const struct comm_query *query, const struct comm_report *report)
{
	(void)query;
	fputs("from,from_kind,from_name,from_module,from_tid,from_source,from_line,"
	      "to,to_kind,to_name,to_module,to_tid,to_source,to_line,"
	      "bytes,low,high,share,samples,level,resolved,share_low,share_high",
	      stdout);
	/* Columns that would be empty in all other reports. */
	if (report->n_origins)
		fputs(ORIGIN_COLUMNS, stdout);
	putchar('\n');
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		node_fields(comm_report_node_at(report, edge->from));
		node_fields(comm_report_node_at(report, edge->to));
		printf("%.10g,%.10g,%.10g,%.6g,%llu,%u,%d,%.6g,%.6g", edge->bytes, edge->low,
		       edge->high, edge->share, (unsigned long long)edge->samples, edge->level,
		       edge->resolved, edge->share_low, edge->share_high);
		if (report->n_origins)
			origin_fields(report, edge);
		putchar('\n');
	}
}
