// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include <stdlib.h>

#include "reader.h"

struct comm_report_whole *comm_report_create(void)
{
	struct comm_report_whole *whole = calloc(1, sizeof(*whole));

	if (whole)
		whole->shown.run = &whole->run;
	return whole;
}

static const struct comm_report_whole *whole_of(const struct comm_report *report)
{
	return (const struct comm_report_whole *)report;
}

void comm_report_free(struct comm_report *report)
{
	struct comm_report_whole *whole = (struct comm_report_whole *)report;

	if (!report)
		return;
	comm_texts_deinit(&whole->texts);
	comm_run_deinit(&whole->run);
	free(whole->nodes);
	free(whole->edges);
	free(whole->losses);
	free(whole->slices);
	free(whole->origins);
	free(whole->places);
	free(whole->cachelines);
	free(whole->cacheline_uses);
	free(whole->counts);
	free(whole->totals);
	free(whole->census);
	free(whole);
}

const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i)
{
	return i < report->n_nodes ? &whole_of(report)->nodes[i] : NULL;
}

const struct comm_report_edge *comm_report_edge_at(const struct comm_report *report, size_t i)
{
	return i < report->n_edges ? &whole_of(report)->edges[i].edge : NULL;
}

void comm_report_intervals(const struct comm_report *report, double confidence,
			   struct comm_interval *ret)
{
	const struct comm_report_whole *whole = whole_of(report);
	struct comm_intervals intervals;

	comm_intervals_init(&intervals, &whole->error_model, &whole->blocks, &whole->sums,
			    confidence);
	for (size_t i = 0; i < report->n_edges; i++)
		comm_intervals_state(&intervals, &whole->edges[i].estimate, &ret[i]);
}

const struct comm_report_loss *comm_report_loss_at(const struct comm_report *report, size_t i)
{
	return i < report->n_losses ? &whole_of(report)->losses[i] : NULL;
}

const struct comm_report_slice *comm_report_slice_at(const struct comm_report *report, size_t i)
{
	return i < report->n_slices ? &whole_of(report)->slices[i] : NULL;
}

const struct comm_report_part *comm_report_part_at(const struct comm_report *report, size_t i)
{
	return i < COMM_PARTS ? &whole_of(report)->parts[i] : NULL;
}

const struct comm_report_origin *comm_report_origin_at(const struct comm_report *report, size_t i)
{
	return i < report->n_origins ? &whole_of(report)->origins[i] : NULL;
}

const struct comm_report_place *comm_report_place_at(const struct comm_report *report, size_t i)
{
	return i < report->n_places ? &whole_of(report)->places[i] : NULL;
}

const struct comm_report_cacheline *comm_report_cacheline_at(const struct comm_report *report,
							     size_t i)
{
	return i < report->n_cachelines ? &whole_of(report)->cachelines[i] : NULL;
}

const struct comm_report_cacheline_use *
comm_report_cacheline_use_at(const struct comm_report *report, size_t i)
{
	return i < report->n_cacheline_uses ? &whole_of(report)->cacheline_uses[i] : NULL;
}

const struct comm_report_count *comm_report_count_at(const struct comm_report *report, size_t i)
{
	return i < report->n_counts ? &whole_of(report)->counts[i] : NULL;
}

const struct comm_report_total *comm_report_total_at(const struct comm_report *report, size_t i)
{
	return i < report->n_totals ? &whole_of(report)->totals[i] : NULL;
}

const struct comm_report_census *comm_report_census_at(const struct comm_report *report, size_t i)
{
	return i < report->n_census ? &whole_of(report)->census[i] : NULL;
}
