// SPDX-License-Identifier: GPL-2.0-or-later
#include "fold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "interval.h"

/* Which kinds of nodes a group is an edge between. */
enum part {
	PART_PLAIN,
	PART_IN,  /* from a writer's node to the node between (thread -> object) */
	PART_OUT, /* from the node between to a reader's node (object -> thread) */
};

/* Added before bursts are cut to integers: sums of weights may round to just below one. */
static const double burst_rounding = 1e-6;

static bool has_between(const struct comm_fold *fold)
{
	return fold->own.ops->ends;
}

int comm_fold_init(struct comm_fold *fold, const struct comm_query *query,
		   struct comm_reader *reader, struct comm_report_whole *whole, char **err)
{
	const struct comm_grouping_ops *ops = comm_grouping_find(query->by);
	int code;

	memset(fold, 0, sizeof(*fold));
	fold->query = query;
	fold->whole = whole;
	fold->report = &whole->shown;
	if (!ops)
		return comm_reader_fail(err, -EINVAL, "there is no grouping '%s'", query->by);
	fold->report->by = &ops->grouping;
	code = comm_grouping_open(&fold->own, ops, reader, &whole->run, &whole->texts, err);
	if (!code && ops->ends)
		code = comm_grouping_open(&fold->ends, ops->ends, reader, &whole->run,
					  &whole->texts, err);
	return code;
}

void comm_fold_deinit(struct comm_fold *fold)
{
	comm_grouping_close(&fold->own);
	comm_grouping_close(&fold->ends);
	comm_edge_table_deinit(&fold->groups);
	comm_edge_table_deinit(&fold->pairs);
	comm_edge_table_deinit(&fold->coarse);
	comm_edge_table_deinit(&fold->reads);
	comm_edge_table_deinit(&fold->index);
	free(fold->bursts);
	memset(fold, 0, sizeof(*fold));
}

int comm_fold_slice(struct comm_fold *fold, int64_t slice)
{
	int code = 0;

	fold->slice++;
	if (fold->own.ops->slice)
		code = fold->own.ops->slice(&fold->own, slice);
	if (!code && has_between(fold) && fold->ends.ops->slice)
		code = fold->ends.ops->slice(&fold->ends, slice);
	return code;
}

/*
 * Adds a row's bursts to a group.  One burst may have given many rows of a slice, so
 * within one slice and reading thread only the row with most bursts counts: the sum over
 * slices and readers is a lower bound of the distinct bursts.
 */
static int add_bursts(struct comm_fold *fold, size_t group, double n)
{
	struct comm_fold_bursts *bursts;

	if (group >= fold->n_bursts) {
		size_t capacity = fold->groups.capacity;

		bursts = reallocarray(fold->bursts, capacity, sizeof(*bursts));
		if (!bursts)
			return -ENOMEM;
		memset(bursts + fold->n_bursts, 0, (capacity - fold->n_bursts) * sizeof(*bursts));
		fold->bursts = bursts;
		fold->n_bursts = capacity;
	}
	bursts = &fold->bursts[group];
	if (bursts->slice != fold->slice) {
		bursts->slice = fold->slice;
		bursts->most = 0;
	}
	if (n > bursts->most) {
		bursts->total += n - bursts->most;
		bursts->most = n;
	}
	return 0;
}

/*
 * Adds a part of a row to a group.  The part's variance is weight times the row's, as
 * if each burst went to one of the nodes at random.
 */
static int add(struct comm_fold *fold, enum part part, uint32_t from, uint32_t to, double weight,
	       const struct comm_edge *row)
{
	struct comm_edge *group, *group_coarse,
		key = {.src_thread = from,
		       .dst_thread = to,
		       .src_site = part,
		       .object = row->dst_thread};
	int code = comm_edge_table_at(&fold->groups, &key, &group);

	if (!code)
		code = add_bursts(fold, group - fold->groups.edge, weight * row->bursts);
	if (code)
		return code;
	group->bytes += weight * row->bytes;
	if (row->level >= COMM_LEVEL_OBJECT) {
		key.object = 0;
		code = comm_edge_table_at(&fold->coarse, &key, &group_coarse);
		if (code)
			return code;
		group_coarse->bytes += weight * row->bytes;
	}
	if (row->variance > 0 && isfinite(row->variance))
		group->variance += weight * row->variance;
	if (row->level > group->level)
		group->level = row->level;
	return 0;
}

/* Adds to what the nodes to read in all, from any writer, shown or not. */
static int add_reads(struct comm_fold *fold, enum part part, const struct comm_shares *to,
		     double bytes)
{
	int code = 0;

	for (size_t i = 0; i < to->n && !code; i++) {
		struct comm_edge *reads, key = {.dst_thread = to->share[i].id, .src_site = part};

		code = comm_edge_table_at(&fold->reads, &key, &reads);
		if (!code)
			reads->bytes += to->share[i].weight * bytes;
	}
	return code;
}

static int add_pair(struct comm_fold *fold, uint32_t from, uint32_t to, uint32_t between,
		    double bytes)
{
	struct comm_edge *pair, key = {.src_thread = from, .dst_thread = to, .object = between};
	int code = comm_edge_table_at(&fold->pairs, &key, &pair);

	if (!code)
		pair->bytes += bytes;
	return code;
}

static int add_through(struct comm_fold *fold, uint32_t from, const struct comm_shares *between,
		       uint32_t to, double weight, const struct comm_edge *row)
{
	int code = 0;

	for (size_t i = 0; i < between->n && !code; i++) {
		uint32_t node = between->share[i].id;
		double w = weight * between->share[i].weight;

		code = add(fold, PART_IN, from, node, w, row);
		if (!code)
			code = add(fold, PART_OUT, node, to, w, row);
		if (!code)
			code = add_pair(fold, from, to, node, w * row->bytes);
	}
	return code;
}

/* Adds the part of a row that goes from one node to another; between may be NULL. */
static int add_part(struct comm_fold *fold, uint32_t from, const struct comm_shares *between,
		    uint32_t to, double weight, const struct comm_edge *row)
{
	struct comm_report *report = fold->report;
	double bytes = weight * row->bytes;

	if (!between && from == COMM_ID_OTHER && to == COMM_ID_OTHER) {
		report->folded_bytes += bytes;
		return 0;
	}
	if (from == to && !fold->query->self) {
		report->self_bytes += bytes;
		return 0;
	}
	report->total_bytes += bytes;
	if (row->level >= COMM_LEVEL_OBJECT)
		report->coarse_bytes += bytes;
	return between ? add_through(fold, from, between, to, weight, row)
		       : add(fold, PART_PLAIN, from, to, weight, row);
}

int comm_fold_row(struct comm_fold *fold, const struct comm_edge *row, bool wanted)
{
	struct comm_grouping_use *ends = has_between(fold) ? &fold->ends : &fold->own;
	const struct comm_end writer = {row->src_thread, row->src_site, row->object};
	const struct comm_end reader = {row->dst_thread, row->dst_site, row->object};
	struct comm_shares from, to, through, *between = NULL;
	int code;

	if (!(row->bytes > 0) || !isfinite(row->bytes))
		return 0;
	fold->report->read_bytes += row->bytes;
	code = ends->ops->at(ends, &writer, &from);
	if (!code)
		code = ends->ops->at(ends, &reader, &to);
	if (!code && has_between(fold)) {
		between = &through;
		code = fold->own.ops->at(&fold->own, &reader, between);
		if (!code)
			code = add_reads(fold, PART_IN, between, row->bytes);
	}
	if (!code)
		code = add_reads(fold, between ? PART_OUT : PART_PLAIN, &to, row->bytes);
	if (code || !wanted)
		return code;
	if (fold->query->across && row->src_thread == row->dst_thread) {
		fold->report->within_bytes += row->bytes;
		return 0;
	}
	for (size_t i = 0; i < from.n; i++) {
		for (size_t j = 0; j < to.n && !code; j++)
			code = add_part(fold, from.share[i].id, between, to.share[j].id,
					from.share[i].weight * to.share[j].weight, row);
	}
	return code;
}

static int order_edges(const void *pa, const void *pb, void *ctx)
{
	const struct comm_report_edge *a = pa, *b = pb;
	double min_share = *(const double *)ctx;

	if ((a->share >= min_share) != (b->share >= min_share))
		return a->share >= min_share ? -1 : 1;
	if (a->resolved != b->resolved)
		return a->resolved ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Finds the node with that id, or makes it; *ret is its index. */
static int node_of(struct comm_fold *fold, bool is_end, uint32_t id, size_t *ret)
{
	struct comm_edge *cell, key = {.src_thread = is_end, .dst_thread = id};
	struct comm_report *report = fold->report;
	int code;

	code = comm_edge_table_at(&fold->index, &key, &cell);
	if (code)
		return code;
	*ret = cell - fold->index.edge;
	if (*ret < report->n_nodes)
		return 0;
	if (!(*ret & (*ret - 1))) {
		struct comm_node *grown =
			reallocarray(fold->whole->nodes, *ret ? 2 * *ret : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		fold->whole->nodes = grown;
	}
	code = comm_grouping_describe(is_end ? &fold->ends : &fold->own, id,
				      &fold->whole->nodes[*ret]);
	report->n_nodes += !code;
	return code;
}

/* Bytes of a cell in cells, which is keyed as groups are, but for the reading thread. */
static int bytes_of(struct comm_edge_table *cells, uint32_t from, uint32_t to, uint32_t part,
		    double *ret)
{
	struct comm_edge *cell, key = {.src_thread = from, .dst_thread = to, .src_site = part};
	int code = comm_edge_table_at(cells, &key, &cell);

	if (!code)
		*ret = cell->bytes;
	return code;
}

static int make_edge(struct comm_fold *fold, const struct comm_edge *e, double z,
		     struct comm_report_edge *out)
{
	struct comm_estimate estimate = {
		.bytes = e->bytes, .variance = e->variance, .samples = e->bursts};
	struct comm_report *report = fold->report;
	int code;

	code = node_of(fold, e->src_site == PART_IN, e->src_thread, &out->from);
	if (!code)
		code = node_of(fold, e->src_site == PART_OUT, e->dst_thread, &out->to);
	if (!code)
		code = bytes_of(&fold->reads, 0, e->dst_thread, e->src_site, &estimate.read_bytes);
	if (!code)
		code = bytes_of(&fold->coarse, e->src_thread, e->dst_thread, e->src_site,
				&out->coarse_bytes);
	if (code)
		return code;
	out->bytes = e->bytes;
	if (report->exact)
		out->low = out->high = e->bytes;
	else
		comm_interval(&fold->whole->error_model, &estimate, z, &out->low, &out->high);
	out->share = comm_reader_share(e->bytes, report->total_bytes);
	out->samples = e->bursts;
	out->level = e->level;
	out->resolved =
		report->exact || (comm_interval_resolved(&fold->whole->error_model, &estimate) &&
				  100 * out->coarse_bytes <= COMM_RESOLVED_COARSE_PCT * e->bytes);
	fold->whole->nodes[out->from].written_bytes += e->bytes;
	fold->whole->nodes[out->to].read_bytes += e->bytes;
	report->n_edges++;
	return 0;
}

static int make_edges(struct comm_fold *fold)
{
	double z = comm_interval_z(fold->query->confidence), min_share = fold->query->min_share;
	struct comm_report *report = fold->report;
	struct comm_edge_table edges = {0};
	int code = 0;

	/* Sum the groups over reading threads, which only add_bursts() needed apart. */
	for (size_t i = 0; i < fold->groups.n && !code; i++) {
		struct comm_edge *group = &fold->groups.edge[i];
		double n = fold->bursts[i].total + burst_rounding;

		group->bursts = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
		group->object = 0;
		code = comm_edge_table_add(&edges, group);
	}
	if (!code)
		code = comm_edge_table_sort(&edges);
	if (!code) {
		fold->whole->edges = calloc(edges.n + 1, sizeof(*fold->whole->edges));
		code = fold->whole->edges ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < edges.n && !code; i++)
		code = make_edge(fold, &edges.edge[i], z, &fold->whole->edges[i]);
	comm_edge_table_deinit(&edges);
	if (code)
		return code;
	qsort_r(fold->whole->edges, report->n_edges, sizeof(*fold->whole->edges), order_edges,
		&min_share);
	while (report->n_shown < report->n_edges &&
	       fold->whole->edges[report->n_shown].share >= min_share &&
	       (!fold->query->top || report->n_shown < fold->query->top))
		report->n_shown++;
	return 0;
}

/* Sets the main writer and reader of each object node; make_edge() has made all nodes. */
static int find_main_pairs(struct comm_fold *fold)
{
	struct comm_node *nodes = fold->whole->nodes;
	size_t between, writer, reader;
	int code = 0;

	for (size_t i = 0; i < fold->pairs.n && !code; i++) {
		const struct comm_edge *pair = &fold->pairs.edge[i];

		code = node_of(fold, false, pair->object, &between);
		if (!code)
			code = node_of(fold, true, pair->src_thread, &writer);
		if (!code)
			code = node_of(fold, true, pair->dst_thread, &reader);
		if (code || pair->bytes <= nodes[between].main_bytes)
			continue;
		nodes[between].main_writer = writer;
		nodes[between].main_reader = reader;
		nodes[between].main_bytes = pair->bytes;
	}
	return code;
}

int comm_fold_finish(struct comm_fold *fold)
{
	int code = make_edges(fold);

	return code ? code : find_main_pairs(fold);
}
