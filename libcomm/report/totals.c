// SPDX-License-Identifier: GPL-2.0-or-later
#include "totals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

/* What the volumes of a node are sums of. */
enum sum_kind {
	WRITTEN,
	READ,
	ALL_WRITTEN,
	ALL_READ,
	SUMS,
};

/* Around a function its callers, the unknown ones, and a thread. */
enum { AROUND_MAX = COMM_CALL_DEPTH_MAX + 3, TOTALS_FIRST = 64 };

/* As comm.h says: 5 % of all bytes for sure. */
static const double intensive_share = 0.05;

struct total {
	uint32_t id;
	uint32_t around; /* index and one; 0: none */
	struct comm_estimate sum[SUMS];
	double own_bytes[SUMS];		   /* of sum, that the reading threads wrote */
	double reader_bytes, writer_bytes; /* of the largest edges */
	const struct comm_edge *to_reader, *from_writer; /* these */
	double unwritten_bytes, all_unwritten_bytes;
	double all_wrote_bytes, all_length; /* of the nodes within it, and itself */
	double size;
	uint32_t child, next; /* index and one; in the tree */
};

struct totals {
	struct comm_aggregate *aggregate;
	const struct comm_intervals *intervals;
	struct total *total;
	size_t n, capacity;
	struct comm_edge_table index;	/* of total, by the node's id; its order is theirs */
	struct comm_edge_table readers; /* of a sum, by total and kind: bursts of each reader */
};

static void totals_deinit(struct totals *totals)
{
	comm_edge_table_deinit(&totals->index);
	comm_edge_table_deinit(&totals->readers);
	free(totals->total);
}

/* The index and one of the node's total, which is 0 while there is none. */
static int find(struct totals *totals, uint32_t id, uint32_t around, bool make, uint32_t *ret)
{
	struct comm_edge *cell, key = {.dst_thread = id};
	int code = comm_edge_table_at(&totals->index, &key, &cell);

	if (code)
		return code;
	if (!cell->bursts && make) {
		if (totals->n == totals->capacity) {
			size_t capacity = totals->capacity ? 2 * totals->capacity : TOTALS_FIRST;
			struct total *grown = reallocarray(totals->total, capacity, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			totals->total = grown;
			totals->capacity = capacity;
		}
		totals->total[totals->n] = (struct total){.id = id, .around = around};
		cell->bursts = (uint32_t)++totals->n;
	}
	*ret = cell->bursts;
	return 0;
}

/*
 * Makes those around it first, the outermost before all: so each is within one that was there
 * before it, also where a damaged store has nodes within each other.
 */
static int total_of(struct totals *totals, uint32_t id, uint32_t *ret)
{
	struct comm_grouping_use *use = &totals->aggregate->own;
	uint32_t path[AROUND_MAX], at = 0;
	size_t n = 0;
	int code = 0;

	while (!code && n < AROUND_MAX) {
		code = find(totals, id, 0, false, &at);
		if (code || at)
			break;
		path[n++] = id;
		if (!use->ops->around || id == COMM_ID_OTHER)
			break;
		code = use->ops->around(use, id, &id);
		if (id == COMM_ID_OTHER)
			break;
	}
	while (!code && n--)
		code = find(totals, path[n], at, true, &at);
	*ret = at;
	return code;
}

/* Adds an edge to one of the sums of a total. */
static int add(struct totals *totals, uint32_t at, enum sum_kind kind, const struct comm_edge *edge,
	       const struct comm_aggregate_seen *seen)
{
	struct comm_estimate *sum = &totals->total[at - 1].sum[kind];
	struct comm_edge *reader,
		key = {.src_thread = at,
		       .src_site = SUMS + kind,
		       .dst_thread = comm_aggregate_reads_of(totals->aggregate, edge),
		       .dst_site = edge->src_site};
	double own, others;
	int code = comm_edge_table_at(&totals->readers, &key, &reader);

	/* What an edge may be mistaken for counts once, though several edges may be for it. */
	if (!code && !reader->level) {
		reader->level = 1;
		code = comm_aggregate_reads(totals->aggregate, edge, true, &own);
		if (!code)
			code = comm_aggregate_reads(totals->aggregate, edge, false, &others);
		if (!code) {
			sum->read_bytes += own + others;
			sum->own_bytes += own;
		}
	}
	key.src_site = kind;
	key.dst_thread = edge->dst_thread;
	if (!code)
		code = comm_edge_table_at(&totals->readers, &key, &reader);
	if (code)
		return code;
	sum->bytes += edge->bytes;
	sum->variance += edge->variance;
	sum->doubt_bytes += edge->doubts.thread;
	/* Bursts of one reader may be in several edges to it, those of several are different ones. */
	if (edge->bursts > reader->bursts) {
		sum->samples += edge->bursts - reader->bursts;
		reader->bursts = edge->bursts;
	}
	sum->slices = seen->slices > sum->slices ? seen->slices : sum->slices;
	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++)
		sum->sums.sum[i] += seen->sums.sum[i];
	totals->total[at - 1].own_bytes[kind] += seen->own_bytes;
	return 0;
}

static int add_end(struct totals *totals, uint32_t at, enum sum_kind kind,
		   const struct comm_edge *edge, const struct comm_aggregate_seen *seen)
{
	int code = add(totals, at, kind, edge, seen);

	for (; at && !code; at = totals->total[at - 1].around)
		code = add(totals, at, kind == WRITTEN ? ALL_WRITTEN : ALL_READ, edge, seen);
	return code;
}

static void find_reader(struct totals *totals, uint32_t at, const struct comm_edge *edge)
{
	struct total *total = &totals->total[at - 1];

	if (edge->bytes <= total->reader_bytes)
		return;
	total->reader_bytes = edge->bytes;
	total->to_reader = edge;
}

static void find_writer(struct totals *totals, uint32_t at, const struct comm_edge *edge)
{
	struct total *total = &totals->total[at - 1];

	if (edge->bytes <= total->writer_bytes)
		return;
	total->writer_bytes = edge->bytes;
	total->from_writer = edge;
}

/* Each byte goes into a node between and out of it when it is read: that is one read of it, and no write. */
static int add_edge(struct totals *totals, const struct comm_edge *edge,
		    const struct comm_aggregate_seen *seen)
{
	bool in = comm_aggregate_is_end(edge, true), out = comm_aggregate_is_end(edge, false);
	uint32_t at;
	int code = 0;

	if (!in) {
		code = total_of(totals, edge->src_thread, &at);
		if (!code)
			code = add_end(totals, at, out ? READ : WRITTEN, edge, seen);
		if (!code)
			find_reader(totals, at, edge);
	}
	if (code || out)
		return code;
	code = total_of(totals, edge->dst_thread, &at);
	if (!code && !in)
		code = add_end(totals, at, READ, edge, seen);
	if (!code)
		find_writer(totals, at, edge);
	return code;
}

static int add_unseen(struct totals *totals, const struct comm_edge *unseen)
{
	uint32_t at;
	int code = total_of(totals, unseen->dst_thread, &at);

	if (code)
		return code;
	totals->total[at - 1].unwritten_bytes += unseen->bytes;
	for (; at; at = totals->total[at - 1].around)
		totals->total[at - 1].all_unwritten_bytes += unseen->bytes;
	return 0;
}

/* What a node wrote, which may be all that is known of it. */
static int add_wrote(struct totals *totals, const struct comm_id_sum *wrote)
{
	uint32_t at;
	int code = total_of(totals, wrote->id[0], &at);

	if (code)
		return code;
	for (; at; at = totals->total[at - 1].around)
		totals->total[at - 1].all_wrote_bytes += wrote->bytes;
	return 0;
}

/* The same of how long a node was. */
static int add_length(struct totals *totals, const struct comm_id_sum *length)
{
	uint32_t at;
	int code = total_of(totals, length->id[0], &at);

	if (code)
		return code;
	for (; at; at = totals->total[at - 1].around)
		totals->total[at - 1].all_length += length->bytes;
	return 0;
}

static void put_volume(const struct totals *totals, const struct total *total, enum sum_kind kind,
		       bool is_other, struct comm_report_volume *ret)
{
	const struct comm_report *report = totals->aggregate->report;
	struct comm_estimate sum = total->sum[kind];
	double spread = 1;

	sum.own_bytes = fmax(0, sum.own_bytes - total->own_bytes[kind]);
	ret->bytes = ret->low = ret->high = sum.bytes;
	ret->resolved = report->exact;
	sum.share = ret->share = report->total_bytes > 0 ? sum.bytes / report->total_bytes : 0;
	if (!report->exact) {
		comm_intervals_of(totals->intervals, &sum, &ret->low, &ret->high, &spread);
		ret->resolved = !is_other && comm_intervals_resolve(totals->intervals, &sum);
	}
	ret->share_low = ret->share / spread;
	ret->share_high = fmin(1, ret->share * spread);
	ret->samples = sum.samples;
	ret->slices = sum.slices;
}

static bool is_intensive(const struct comm_report_volume *volume)
{
	return volume->resolved && volume->share_low >= intensive_share;
}

static int put(struct totals *totals, const struct total *from, struct comm_report_total *to)
{
	struct comm_report_whole *whole = totals->aggregate->whole;
	int code = comm_grouping_describe(&totals->aggregate->own, from->id, &to->node);
	size_t node;

	if (code)
		return code;
	put_volume(totals, from, WRITTEN, to->node.other, &to->written);
	put_volume(totals, from, READ, to->node.other, &to->read);
	put_volume(totals, from, ALL_WRITTEN, to->node.other, &to->all_written);
	put_volume(totals, from, ALL_READ, to->node.other, &to->all_read);
	to->node.written_bytes = to->written.bytes;
	to->node.read_bytes = to->read.bytes;
	to->node.unwritten_bytes = from->unwritten_bytes;
	to->all_unwritten_bytes = from->all_unwritten_bytes;
	code = comm_node_ends_of(&totals->aggregate->writes.writes, from->id, &to->wrote_bytes);
	to->all_wrote_bytes = to->wrote_bytes < 0 ? to->wrote_bytes : from->all_wrote_bytes;
	if (!code)
		code = comm_node_ends_of(&totals->aggregate->lengths.ends, from->id, &to->length);
	to->all_length = to->length < 0 ? to->length : from->all_length;
	if (!code)
		code = comm_node_writes_reads_of(&totals->aggregate->writes, from->id,
						 &to->reads_bytes);
	to->reads_bytes += from->unwritten_bytes;
	to->intensive = is_intensive(&to->written) || is_intensive(&to->read);
	if (!code)
		code = comm_aggregate_own(totals->aggregate, from->id, &to->own_bytes);
	if (!code && from->to_reader) {
		code = comm_aggregate_reader(totals->aggregate, from->to_reader, &node);
		to->reader = code ? NULL : &whole->nodes[node];
		to->reader_bytes = from->reader_bytes;
	}
	if (!code && from->from_writer) {
		code = comm_aggregate_writer(totals->aggregate, from->from_writer, &node);
		to->writer = code ? NULL : &whole->nodes[node];
		to->writer_bytes = from->writer_bytes;
	}
	return code;
}

static int order(const void *pa, const void *pb, void *ctx)
{
	const struct total *total = ctx, *a = &total[*(const uint32_t *)pa],
			   *b = &total[*(const uint32_t *)pb];

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->all_wrote_bytes != b->all_wrote_bytes)
		return a->all_wrote_bytes > b->all_wrote_bytes ? -1 : 1;
	if (a->all_length != b->all_length)
		return a->all_length > b->all_length ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Puts the children behind each node, the largest first. */
static int make_tree(struct totals *totals, uint32_t *ret_first)
{
	uint32_t *by_size = calloc(totals->n + 1, sizeof(*by_size));

	if (!by_size)
		return -ENOMEM;
	for (uint32_t i = 0; i < totals->n; i++) {
		struct total *total = &totals->total[i];

		by_size[i] = i;
		total->size = total->sum[ALL_WRITTEN].bytes + total->sum[ALL_READ].bytes;
	}
	qsort_r(by_size, totals->n, sizeof(*by_size), order, totals->total);
	*ret_first = 0;
	for (size_t i = totals->n; i-- > 0;) {
		struct total *total = &totals->total[by_size[i]];
		uint32_t *first =
			total->around ? &totals->total[total->around - 1].child : ret_first;

		total->next = *first;
		*first = by_size[i] + 1;
	}
	free(by_size);
	return 0;
}

/* A node, then all that is within it, then its neighbour. */
static int put_all(struct totals *totals, uint32_t first)
{
	struct comm_report_whole *whole = totals->aggregate->whole;
	uint32_t *placed = calloc(totals->n + 1, sizeof(*placed)), at = first;
	int code = placed ? 0 : -ENOMEM;

	while (at && !code) {
		const struct total *total = &totals->total[at - 1];
		size_t i = whole->shown.n_totals++;
		struct comm_report_total *to = &whole->totals[i];

		placed[at] = (uint32_t)i;
		to->around = total->around ? placed[total->around] : SIZE_MAX;
		to->depth = total->around ? whole->totals[to->around].depth + 1 : 0;
		code = put(totals, total, to);
		at = total->child;
		while (!at && total) {
			at = total->next;
			total = total->around ? &totals->total[total->around - 1] : NULL;
		}
	}
	free(placed);
	return code;
}

int comm_totals_make(struct comm_aggregate *aggregate, const struct comm_edge_table *edges,
		     const struct comm_aggregate_seen *seen, const struct comm_intervals *intervals)
{
	struct totals totals = {.aggregate = aggregate, .intervals = intervals};
	uint32_t first = 0;
	int code = 0;

	for (size_t i = 0; i < edges->n && !code; i++)
		code = add_edge(&totals, &edges->edge[i], &seen[i]);
	for (size_t i = 0; i < aggregate->writes.writes.sums.n && !code; i++)
		code = add_wrote(&totals, &aggregate->writes.writes.sums.sum[i]);
	for (size_t i = 0; i < aggregate->lengths.ends.sums.n && !code; i++)
		code = add_length(&totals, &aggregate->lengths.ends.sums.sum[i]);
	for (size_t i = 0; i < aggregate->unseen.nodes.n && !code; i++)
		if (!aggregate->unseen.nodes.edge[i].src_thread)
			code = add_unseen(&totals, &aggregate->unseen.nodes.edge[i]);
	if (!code)
		code = comm_node_lengths_unit(&aggregate->lengths, &aggregate->whole->texts,
					      &aggregate->report->length_unit);
	if (!code)
		code = make_tree(&totals, &first);
	if (!code) {
		aggregate->whole->totals = calloc(totals.n + 1, sizeof(*aggregate->whole->totals));
		code = aggregate->whole->totals ? put_all(&totals, first) : -ENOMEM;
	}
	totals_deinit(&totals);
	return code;
}
