// SPDX-License-Identifier: GPL-2.0-or-later
#include "aggregate_edges.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "interval.h"
#include "totals.h"

/* Added before bursts are cut to integers: sums of weights may round to just below one. */
static const double burst_rounding = 1e-6;

static bool is_large(const struct comm_query *query, const struct comm_report_edge *edge)
{
	return edge->share >= query->min_share && edge->bytes >= query->min_bytes;
}

static int order_edges(const void *pa, const void *pb, void *query)
{
	const struct comm_report_edge *a = pa, *b = pb;

	if (is_large(query, a) != is_large(query, b))
		return is_large(query, a) ? -1 : 1;
	if (a->resolved != b->resolved)
		return a->resolved ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* The edges in the making: sums over the groups' reading threads, and what make_edge() needs. */
struct making {
	struct comm_edge_table edges;
	struct comm_aggregate_seen *seen; /* one per edge */
	struct comm_intervals intervals;
};

/* Appends what is known of where the edge's loads found their data. */
static int add_origins(struct comm_aggregate *aggregate, const struct making *making,
		       const struct comm_edge *edge, struct comm_report_edge *out)
{
	const struct comm_origin_mix *origin_mix =
		comm_origin_mixes_of(&aggregate->origin_mixes, edge);
	struct comm_report *report = aggregate->report;

	if (!origin_mix)
		return 0;
	if (!aggregate->whole->origins)
		aggregate->whole->origins = calloc(making->edges.n * COMM_ORIGIN_MIX_SHARES,
						   sizeof(*aggregate->whole->origins));
	if (!aggregate->whole->origins)
		return -ENOMEM;
	out->first_origin = report->n_origins;
	out->n_origins = COMM_ORIGIN_MIX_SHARES;
	out->origin_loads = comm_origin_mix_loads(origin_mix);
	out->latency_cycles = comm_origin_mix_latency(origin_mix);
	comm_origin_mix_shares(origin_mix, &making->intervals,
			       aggregate->whole->origins + report->n_origins);
	report->n_origins += COMM_ORIGIN_MIX_SHARES;
	return 0;
}

/* Of an edge from code to itself the share that crosses threads; watched ones need no such care. */
static double in_turns(const struct comm_aggregate *aggregate, const struct comm_report_edge *edge,
		       double own_share)
{
	enum comm_node_kind kind = aggregate->own.ops->kind;
	bool is_code = kind == COMM_NODE_FUNCTION || kind == COMM_NODE_LINE;

	return is_code && edge->from == edge->to && !aggregate->query->fresh
		       ? fmax(0, 1 - own_share)
		       : 0;
}

static int make_edge(struct comm_aggregate *aggregate, struct making *making, size_t i,
		     struct comm_report_stated *stated)
{
	const struct comm_edge *e = &making->edges.edge[i];
	struct comm_estimate *estimate = &stated->estimate;
	struct comm_report_edge *out = &stated->edge;
	struct comm_report *report = aggregate->report;
	double own = 0, others = 0;
	int code;

	code = comm_aggregate_writer(aggregate, e, &out->from);
	if (!code)
		code = comm_aggregate_reader(aggregate, e, &out->to);
	if (!code)
		code = comm_aggregate_reads(aggregate, e, true, &own);
	if (!code)
		code = comm_aggregate_reads(aggregate, e, false, &others);
	if (!code)
		code = add_origins(aggregate, making, e, out);
	if (code)
		return code;
	*estimate =
		(struct comm_estimate){.bytes = e->bytes,
				       .share = comm_reader_share(e->bytes, report->total_bytes),
				       .variance = e->variance,
				       .read_bytes = own + others,
				       .own_bytes = fmax(0, own - making->seen[i].own_bytes),
				       .doubt_bytes = e->doubts.thread,
				       .samples = e->bursts,
				       .slices = making->seen[i].slices,
				       .sums = making->seen[i].sums};
	estimate->in_turns = in_turns(aggregate, out, making->seen[i].own_bytes / e->bytes);
	out->bytes = e->bytes;
	out->share = estimate->share;
	out->samples = e->bursts;
	out->slices = estimate->slices;
	out->level = e->level;
	aggregate->whole->nodes[out->from].written_bytes += e->bytes;
	aggregate->whole->nodes[out->to].read_bytes += e->bytes;
	comm_intervals_add(&making->intervals, estimate, &aggregate->whole->sums);
	report->n_edges++;
	return 0;
}

/* What is stated of an edge, now that all of them are known. */
static void state_edge(struct comm_aggregate *aggregate, struct making *making,
		       const struct comm_edge *e, struct comm_report_stated *stated)
{
	const struct comm_estimate *estimate = &stated->estimate;
	struct comm_report_edge *out = &stated->edge;
	struct comm_report *report = aggregate->report;
	struct comm_interval interval;

	comm_intervals_state(&making->intervals, estimate, &interval);
	out->low = interval.low;
	out->high = interval.high;
	out->share_low = interval.share_low;
	out->share_high = interval.share_high;
	out->noise = interval.noise;
	out->resolved = report->exact || (!aggregate->whole->nodes[out->from].other &&
					  !aggregate->whole->nodes[out->to].other &&
					  comm_intervals_resolve(&making->intervals, estimate));
	/* Each byte counts once, also where it goes in and out of a node between. */
	if (!out->resolved && !comm_aggregate_is_end(e, false)) {
		report->n_unresolved++;
		report->unresolved_bytes += e->bytes;
	}
}

/* A group as an edge: its nodes stand for threads, its part for a site, its doubt for theirs. */
static struct comm_edge edge_of(const struct comm_aggregate_group *group)
{
	double n = group->seen.bursts + burst_rounding;

	return (struct comm_edge){.src_thread = group->from,
				  .dst_thread = group->to,
				  .src_site = group->part,
				  .bursts = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
				  .level = group->level,
				  .bytes = group->bytes,
				  .variance = group->variance,
				  .doubts = {.thread = (float)group->doubt_bytes}};
}

/* Sums the groups over reading threads, which only add_seen() needed apart. */
static int sum_groups(struct comm_aggregate *aggregate, struct making *making)
{
	struct comm_edge *edge, key;
	int code = 0;

	for (size_t i = 0; i < aggregate->n_groups && !code; i++) {
		key = edge_of(&aggregate->group[i]);
		code = comm_edge_table_add(&making->edges, &key);
	}
	if (code)
		return code;
	comm_edge_table_sort(&making->edges);
	making->seen = calloc(making->edges.n + 1, sizeof(*making->seen));
	aggregate->whole->edges = calloc(making->edges.n + 1, sizeof(*aggregate->whole->edges));
	if (!making->seen || !aggregate->whole->edges)
		return -ENOMEM;
	for (size_t i = 0; i < aggregate->n_groups && !code; i++) {
		const struct comm_aggregate_seen *from = &aggregate->group[i].seen;
		struct comm_aggregate_seen *to;

		key = edge_of(&aggregate->group[i]);
		code = comm_edge_table_at(&making->edges, &key, &edge);
		if (code)
			break;
		to = &making->seen[edge - making->edges.edge];
		for (size_t j = 0; j < COMM_BLOCKS_MAX; j++)
			to->sums.sum[j] += from->sums.sum[j];
		to->own_bytes += from->own_bytes;
		to->slices = from->slices > to->slices ? from->slices : to->slices;
	}
	/* Lower bounds of the slices in which any of the threads read: each may be short-lived. */
	for (size_t i = 0; i < making->edges.n && !code; i++) {
		uint32_t used = comm_block_sums_used(&making->seen[i].sums);

		if (used > making->seen[i].slices)
			making->seen[i].slices = used;
	}
	return code;
}

/* Of each edge what its reading end reads of writers that are not known; make_edge() has made all nodes. */
static int find_unknown(struct comm_aggregate *aggregate, size_t n_edges)
{
	struct comm_report_stated *stated = aggregate->whole->edges;
	const struct comm_node *nodes = aggregate->whole->nodes;
	double *unknown = calloc(aggregate->report->n_nodes + 1, sizeof(*unknown));

	if (!unknown)
		return -ENOMEM;
	for (size_t i = 0; i < n_edges; i++)
		if (nodes[stated[i].edge.from].other)
			unknown[stated[i].edge.to] += stated[i].edge.bytes;
	for (size_t i = 0; i < n_edges; i++)
		if (!nodes[stated[i].edge.from].other)
			stated[i].estimate.unknown_bytes = unknown[stated[i].edge.to];
	free(unknown);
	return 0;
}

/*
 * Whether what was read of writers that nobody saw is more than COMM_RESOLVED_RATIO times what the
 * edges are known of: how that would change their shares, nobody knows.
 */
static bool is_hidden(const struct comm_aggregate *aggregate)
{
	const struct comm_report *report = aggregate->report;

	return !report->exact && !aggregate->query->fresh &&
	       report->unwritten_bytes - report->polled_bytes >
		       COMM_RESOLVED_RATIO * aggregate->known_bytes;
}

static int make_edges(struct comm_aggregate *aggregate, struct making *making)
{
	struct comm_report *report = aggregate->report;
	const struct comm_report_edge *edge;
	int code;

	aggregate->whole->blocks = aggregate->blocks;
	comm_intervals_init(&making->intervals, &aggregate->whole->error_model, &aggregate->blocks,
			    &aggregate->whole->sums, report->confidence);
	making->intervals.is_hidden = is_hidden(aggregate);
	making->intervals.is_survey = aggregate->query->fresh;
	code = sum_groups(aggregate, making);
	for (size_t i = 0; i < making->edges.n && !code; i++)
		code = make_edge(aggregate, making, i, &aggregate->whole->edges[i]);
	if (!code && !report->exact)
		code = find_unknown(aggregate, making->edges.n);
	if (code)
		return code;
	for (size_t i = 0; i < making->edges.n; i++)
		state_edge(aggregate, making, &making->edges.edge[i], &aggregate->whole->edges[i]);
	qsort_r(aggregate->whole->edges, report->n_edges, sizeof(*aggregate->whole->edges),
		order_edges, (void *)aggregate->query);
	for (; report->n_shown < report->n_edges; report->n_shown++) {
		edge = &aggregate->whole->edges[report->n_shown].edge;
		if (!is_large(aggregate->query, edge) ||
		    (aggregate->query->resolved && !edge->resolved) ||
		    (aggregate->query->top && report->n_shown >= aggregate->query->top))
			break;
	}
	return 0;
}

/* Sets the main writer and reader of each object node; make_edge() has made all nodes. */
static int find_main_pairs(struct comm_aggregate *aggregate)
{
	struct comm_node *nodes = aggregate->whole->nodes;
	size_t between, writer, reader;
	int code = 0;

	for (size_t i = 0; i < aggregate->pairs.n && !code; i++) {
		const struct comm_id_sum *pair = &aggregate->pairs.sum[i];

		code = comm_aggregate_node(aggregate, false, pair->id[2], &between);
		if (!code)
			code = comm_aggregate_node(aggregate, true, pair->id[0], &writer);
		if (!code)
			code = comm_aggregate_node(aggregate, true, pair->id[1], &reader);
		if (code || pair->bytes <= nodes[between].main_bytes)
			continue;
		nodes[between].main_writer = writer;
		nodes[between].main_reader = reader;
		nodes[between].main_bytes = pair->bytes;
	}
	return code;
}

/* Sets what nodes read whose writer was not seen, of nodes that no edge has, too. */
static int put_unseen(struct comm_aggregate *aggregate)
{
	int code = 0;

	for (size_t i = 0; i < aggregate->unseen.nodes.n && !code; i++) {
		const struct comm_edge *from = &aggregate->unseen.nodes.edge[i];
		size_t at;

		code = comm_aggregate_node(aggregate, from->src_thread, from->dst_thread, &at);
		if (code)
			break;
		aggregate->whole->nodes[at].unwritten_bytes = from->bytes;
	}
	return code;
}

static int order_census(const void *pa, const void *pb)
{
	const struct comm_report_census *a = pa, *b = pb;

	if ((a->node == SIZE_MAX) != (b->node == SIZE_MAX))
		return a->node == SIZE_MAX ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* The rows of the census, and nodes that no edge has. */
static int make_census(struct comm_aggregate *aggregate)
{
	const struct comm_census_nodes *census = &aggregate->census;
	double z = comm_interval_z(aggregate->report->confidence);
	struct comm_report_census *rows;
	int code = 0;

	/* The first row that any slice gave is a sum of all. */
	if (!census->n)
		return 0;
	rows = calloc(census->n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	aggregate->whole->census = rows;
	aggregate->report->n_census = census->n;
	for (size_t i = 0; i < census->n && !code; i++) {
		const struct comm_census_node *node = &census->node[i];

		comm_census_shares(node, &census->node[0], z, &rows[i]);
		rows[i].node = SIZE_MAX;
		if (!node->is_all)
			code = comm_aggregate_node(aggregate, false, node->id, &rows[i].node);
	}
	if (!aggregate->report->exact)
		comm_census_widen(census, rows, z);
	qsort(rows, census->n, sizeof(*rows), order_census);
	return code;
}

int comm_aggregate_edges_make(struct comm_aggregate *aggregate)
{
	struct making making = {0};
	int code;

	comm_origin_mixes_close(&aggregate->origin_mixes, aggregate->block);
	code = make_edges(aggregate, &making);
	if (!code)
		code = find_main_pairs(aggregate);
	if (!code)
		code = put_unseen(aggregate);
	if (!code)
		code = make_census(aggregate);
	if (!code && aggregate->query->totals)
		code = comm_totals_make(aggregate, &making.edges, making.seen, &making.intervals);
	comm_edge_table_deinit(&making.edges);
	free(making.seen);
	if (code)
		return code;
	aggregate->report->n_blocks = aggregate->blocks.n;
	return comm_breakdown_finish(&aggregate->breakdown, &aggregate->blocks,
				     aggregate->own.reader, aggregate->whole);
}
