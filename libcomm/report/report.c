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
	free(whole);
}

const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i)
{
	return i < report->n_nodes ? &whole_of(report)->nodes[i] : NULL;
}

const struct comm_report_edge *comm_report_edge_at(const struct comm_report *report, size_t i)
{
	return i < report->n_edges ? &whole_of(report)->edges[i] : NULL;
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
