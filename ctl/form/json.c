// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "form.h"
#include "json.h"

static void print_run(struct ctl_json *json, const struct comm_report *report)
{
	const struct comm_run *run = report->run;

	ctl_json_open(json, "run", '{');
	ctl_json_int(json, "id", run->id);
	ctl_json_string(json, "uuid", run->uuid);
	ctl_json_string(json, "label", run->label);
	ctl_json_string(json, "source", run->source);
	ctl_json_string(json, "event", run->event);
	ctl_json_string(json, "estimator", run->estimator);
	ctl_json_string(json, "target", run->command);
	ctl_json_string(json, "host", run->host);
	ctl_json_string(json, "notes", run->notes);
	ctl_json_string(json, "how", run->how);
	ctl_json_count(json, "start_ns", run->start_ns);
	ctl_json_count(json, "end_ns", run->end_ns);
	ctl_json_count(json, "start_unix_ns", run->start_unix_ns);
	ctl_json_double(json, "overhead_pct", run->overhead * 100);
	ctl_json_double(json, "overhead_limit_pct", run->overhead_limit * 100);
	if (run->overhead_least > 0)
		ctl_json_double(json, "overhead_least_pct", run->overhead_least * 100);
	ctl_json_double(json, "overhead_floor_pct", run->floor * 100);
	ctl_json_count(json, "setup_ns", run->setup_ns);
	ctl_json_count(json, "granularity_bytes", run->granularity_bytes);
	ctl_json_count(json, "deleted_ns", run->deleted_ns);
	ctl_json_close(json, '}');
}

static void print_range(struct ctl_json *json, const struct comm_report *report)
{
	ctl_json_open(json, "range", '{');
	ctl_json_count(json, "from_ns", report->from_ns);
	ctl_json_count(json, "to_ns", report->to_ns);
	ctl_json_count(json, "enabled_ns", report->enabled_ns);
	ctl_json_double(json, "overhead_pct", report->overhead * 100);
	if (report->overhead_settled >= 0)
		ctl_json_double(json, "overhead_settled_pct", report->overhead_settled * 100);
	ctl_json_count(json, "samples", report->samples);
	ctl_json_count(json, "bursts", report->bursts);
	ctl_json_count(json, "accesses", report->accesses);
	ctl_json_count(json, "handler_ns", report->handler_ns);
	ctl_json_count(json, "daemon_ns", report->daemon_ns);
	ctl_json_count(json, "daemon_idle_ns", report->daemon_idle_ns);
	ctl_json_count(json, "target_ns", report->target_ns);
	ctl_json_double(json, "read_bytes", report->read_bytes);
	ctl_json_double(json, "total_bytes", report->total_bytes);
	ctl_json_double(json, "self_bytes", report->self_bytes);
	ctl_json_double(json, "within_bytes", report->within_bytes);
	ctl_json_double(json, "folded_bytes", report->folded_bytes);
	ctl_json_double(json, "unwritten_bytes", report->unwritten_bytes);
	ctl_json_double(json, "polled_bytes", report->polled_bytes);
	ctl_json_double(json, "seen_bytes", report->seen_bytes);
	ctl_json_double(json, "unresolved_bytes", report->unresolved_bytes);
	ctl_json_string(json, "basis", report->fresh ? "fresh" : "estimated");
	ctl_json_count(json, "windows", report->windows);
	ctl_json_count(json, "blocks", report->n_blocks);
	ctl_json_count(json, "edges_total", report->n_edges);
	ctl_json_count(json, "edges_unresolved", report->n_unresolved);
	ctl_json_double(json, "confidence", report->confidence);
	ctl_json_close(json, '}');
}

static void print_account(struct ctl_json *json, const struct comm_report *report)
{
	const struct comm_report_part *part;

	ctl_json_open(json, "account", '[');
	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++) {
		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "part", part->name);
		ctl_json_double(json, "bytes", part->bytes);
		ctl_json_double(json, "share", part->share);
		ctl_json_double(json, "share_low", part->share_low);
		ctl_json_double(json, "share_high", part->share_high);
		ctl_json_bool(json, "resolved", part->resolved);
		if (part->object)
			ctl_json_string(json, "object", part->object);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

static void print_node(struct ctl_json *json, const struct comm_report *report,
		       const struct comm_node *node)
{
	ctl_json_open(json, NULL, '{');
	ctl_json_string(json, "id", node->id);
	ctl_json_string(json, "kind", node->kind_name);
	ctl_json_string(json, "name", node->name);
	if (node->other)
		ctl_json_bool(json, "other", true);
	switch (node->kind) {
	case COMM_NODE_THREAD:
		ctl_json_count(json, "tgid", node->tgid);
		ctl_json_count(json, "tid", node->tid);
		ctl_json_count(json, "start_ns", node->start_ns);
		break;
	case COMM_NODE_OBJECT:
		ctl_json_string(json, "object_kind", node->object_kind);
		ctl_json_string(json, "module", node->module);
		ctl_json_string(json, "build_id", node->build_id);
		ctl_json_count(json, "size_bytes", node->size_bytes);
		/* What nobody was seen to write has no pair. */
		if (node->main_bytes > 0) {
			ctl_json_string(json, "main_writer",
					comm_report_node_at(report, node->main_writer)->id);
			ctl_json_string(json, "main_reader",
					comm_report_node_at(report, node->main_reader)->id);
		}
		ctl_json_double(json, "main_bytes", node->main_bytes);
		ctl_json_count(json, "tgid", node->tgid);
		ctl_json_count(json, "tid", node->tid);
		break;
	case COMM_NODE_LINE:
		ctl_json_string(json, "source", node->source);
		ctl_json_count(json, "line", node->line);
		ctl_json_string(json, "inlined", node->inlined);
		if (*node->call_source) {
			ctl_json_string(json, "call_source", node->call_source);
			ctl_json_count(json, "call_line", node->call_line);
		}
	/* fall through */
	case COMM_NODE_FUNCTION:
		ctl_json_string(json, "module", node->module);
		ctl_json_string(json, "build_id", node->build_id);
		ctl_json_count(json, "start", node->start);
		break;
	case COMM_NODE_NAMED:
		break;
	}
	if (node->to_ns) {
		ctl_json_count(json, "from_ns", node->from_ns);
		ctl_json_count(json, "to_ns", node->to_ns);
	}
	ctl_json_double(json, "written_bytes", node->written_bytes);
	ctl_json_double(json, "read_bytes", node->read_bytes);
	ctl_json_double(json, "unwritten_bytes", node->unwritten_bytes);
	ctl_json_close(json, '}');
}

/* Where the loads at the edge's reading end found their data; nothing where nobody knows. */
static void print_origins(struct ctl_json *json, const struct comm_report *report,
			  const struct comm_report_edge *edge)
{
	if (!edge->n_origins)
		return;
	ctl_json_double(json, "loads", edge->origin_loads);
	if (edge->latency_cycles > 0)
		ctl_json_double(json, "latency_cycles", edge->latency_cycles);
	ctl_json_open(json, "origin", '{');
	for (size_t i = 0; i < edge->n_origins; i++) {
		const struct comm_report_origin *origin =
			comm_report_origin_at(report, edge->first_origin + i);

		ctl_json_open(json, origin->name, '{');
		ctl_json_double(json, "share", origin->share);
		ctl_json_double(json, "share_low", origin->share_low);
		ctl_json_double(json, "share_high", origin->share_high);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, '}');
}

/* By node, of all together without one: what waits, and how soon the rest changes. */
static void print_census(struct ctl_json *json, const struct comm_report *report)
{
	static const double within_s[COMM_CENSUS_FRESH] = {0.01, 1, 10};

	ctl_json_open(json, "census", '[');
	for (size_t i = 0; i < report->n_census; i++) {
		const struct comm_report_census *row = comm_report_census_at(report, i);

		ctl_json_open(json, NULL, '{');
		if (row->node != SIZE_MAX)
			ctl_json_string(json, "node", comm_report_node_at(report, row->node)->id);
		ctl_json_count(json, "reads", row->reads);
		ctl_json_double(json, "bytes", row->bytes);
		ctl_json_double(json, "share", row->share);
		ctl_json_double(json, "share_low", row->share_low);
		ctl_json_double(json, "share_high", row->share_high);
		ctl_json_double(json, "waiting", row->waiting);
		ctl_json_double(json, "waiting_low", row->waiting_low);
		ctl_json_double(json, "waiting_high", row->waiting_high);
		ctl_json_open(json, "fresh", '[');
		for (int j = 0; j < COMM_CENSUS_FRESH; j++) {
			ctl_json_open(json, NULL, '{');
			ctl_json_double(json, "within_s", within_s[j]);
			ctl_json_double(json, "share", row->fresh[j]);
			ctl_json_double(json, "share_low", row->fresh_low[j]);
			ctl_json_double(json, "share_high", row->fresh_high[j]);
			ctl_json_close(json, '}');
		}
		ctl_json_close(json, ']');
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

/* Nodes that edges or the census name; *used NULL: no memory, and each node is listed. */
static void find_used(const struct comm_report *report, bool *used)
{
	for (size_t i = 0; used && i < report->n_shown; i++)
		used[comm_report_edge_at(report, i)->from] =
			used[comm_report_edge_at(report, i)->to] = true;
	for (size_t i = 0; used && i < report->n_census; i++)
		if (comm_report_census_at(report, i)->node != SIZE_MAX)
			used[comm_report_census_at(report, i)->node] = true;
}

void ctl_form_json_members(struct ctl_json *json, const struct comm_report *report)
{
	bool *used = calloc(report->n_nodes + 1, sizeof(*used));

	find_used(report, used);
	print_run(json, report);
	print_range(json, report);
	print_account(json, report);
	ctl_json_open(json, "nodes", '[');
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		if (!used || used[i] || node->unwritten_bytes > 0)
			print_node(json, report, node);
	}
	ctl_json_close(json, ']');
	ctl_json_open(json, "edges", '[');
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "from", comm_report_node_at(report, edge->from)->id);
		ctl_json_string(json, "to", comm_report_node_at(report, edge->to)->id);
		ctl_json_double(json, "bytes", edge->bytes);
		ctl_json_double(json, "low", edge->low);
		ctl_json_double(json, "high", edge->high);
		ctl_json_double(json, "share", edge->share);
		ctl_json_double(json, "share_low", edge->share_low);
		ctl_json_double(json, "share_high", edge->share_high);
		ctl_json_count(json, "samples", edge->samples);
		ctl_json_count(json, "slices", edge->slices);
		ctl_json_count(json, "level", edge->level);
		ctl_json_bool(json, "resolved", edge->resolved);
		print_origins(json, report, edge);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
	if (report->n_census)
		print_census(json, report);
	ctl_json_open(json, "loss", '{');
	for (size_t i = 0; i < report->n_losses; i++)
		ctl_json_count(json, comm_report_loss_at(report, i)->cause,
			       comm_report_loss_at(report, i)->n);
	ctl_json_close(json, '}');
	ctl_json_open(json, "time", '[');
	for (size_t i = 0; i < report->n_slices; i++) {
		const struct comm_report_slice *slice = comm_report_slice_at(report, i);

		ctl_json_open(json, NULL, '{');
		ctl_json_count(json, "start_ns", slice->start_ns);
		ctl_json_count(json, "end_ns", slice->end_ns);
		ctl_json_double(json, "bytes", slice->bytes);
		ctl_json_count(json, "samples", slice->samples);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
	free(used);
}

void ctl_form_json(const struct comm_query *query, const struct comm_report *report)
{
	struct ctl_json json = {0};

	(void)query;
	ctl_json_begin(&json);
	ctl_form_json_members(&json, report);
	ctl_json_close(&json, '}');
}
