// SPDX-License-Identifier: GPL-2.0-or-later
#include "aggregate.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

/* Which kinds of nodes a group is an edge between. */
enum part {
	PART_PLAIN,
	PART_IN,  /* from a writer's node to the node between (thread -> object) */
	PART_OUT, /* from the node between to a reader's node (object -> thread) */
};

bool comm_aggregate_by_time(const struct comm_aggregate *aggregate)
{
	return aggregate->own.by_time || aggregate->ends.by_time;
}

/*
 * Strands are of the estimator's reads: not of watched ones, of places, of counts, or of where loads
 * went.
 */
bool comm_aggregate_takes_strands(const struct comm_aggregate *aggregate)
{
	const struct comm_query *query = aggregate->query;

	return !query->first_read && !query->fresh && !query->places && !query->counts &&
	       !comm_aggregate_by_time(aggregate) && !aggregate->origin_mixes.ask &&
	       !aggregate->own.ops->many && !(aggregate->ends.ops && aggregate->ends.ops->many);
}

static bool has_between(const struct comm_aggregate *aggregate)
{
	return aggregate->own.ops->ends;
}

const struct comm_grouping_use *comm_aggregate_ends(const struct comm_aggregate *aggregate)
{
	return has_between(aggregate) ? &aggregate->ends : &aggregate->own;
}

int comm_aggregate_init(struct comm_aggregate *aggregate, const struct comm_query *query,
			struct comm_reader *reader, struct comm_report_whole *whole, char **err)
{
	const struct comm_grouping_ops *ops = comm_grouping_find(query->by), *ends;
	const char *by = query->by;
	int code;

	memset(aggregate, 0, sizeof(*aggregate));
	aggregate->query = query;
	aggregate->whole = whole;
	aggregate->report = &whole->shown;
	if (!ops)
		return comm_reader_fail(err, -EINVAL, "there is no grouping '%s'", query->by);
	if (query->fresh && query->first_read)
		return comm_reader_fail(err, -EINVAL, "windows tell no first reads");
	ends = ops->ends;
	if (query->objects && !ends) {
		ends = ops;
		ops = &comm_grouping_object;
	}
	aggregate->report->by = &ops->grouping;
	aggregate->across = query->across || ((ends ? ends : ops)->grouping.across && !query->self);
	code = comm_grouping_open(&aggregate->own, ops, by, query->piece_ns, reader, &whole->run,
				  &whole->texts, err);
	if (!code && ends)
		code = comm_grouping_open(&aggregate->ends, ends, by, query->piece_ns, reader,
					  &whole->run, &whole->texts, err);
	if (!code && query->fresh && comm_aggregate_by_time(aggregate))
		code = comm_reader_fail(err, -EINVAL,
					"windows do not tell when what was read had been written");
	if (code)
		return code;
	/* A filter by site or object takes parts of what threads hand over, which may be drawn. */
	aggregate->by_code = !aggregate->own.by_thread || query->function || query->object;
	code = comm_origin_mixes_init(&aggregate->origin_mixes, reader->db, whole->run.id);
	if (!code && query->unwritten)
		code = comm_unseen_nodes_init(&aggregate->unseen, query->first_read, reader->db,
					      whole->run.id);
	if (!code && query->census)
		code = comm_census_nodes_init(&aggregate->census, reader->db, whole->run.id);
	if (!code && query->totals)
		code = comm_node_writes_init(&aggregate->writes, query, &aggregate->own, reader->db,
					     whole->run.id);
	if (!code && query->totals)
		code = comm_node_lengths_init(&aggregate->lengths, query, &aggregate->own,
					      reader->db, whole->run.id);
	return code ? comm_reader_fail_db(reader, err, code) : 0;
}

void comm_aggregate_deinit(struct comm_aggregate *aggregate)
{
	comm_grouping_close(&aggregate->own);
	comm_grouping_close(&aggregate->ends);
	comm_keyed_deinit(&aggregate->groups);
	comm_keyed_deinit(&aggregate->pairs.keyed);
	comm_keyed_deinit(&aggregate->reads.keyed);
	comm_keyed_deinit(&aggregate->index.keyed);
	comm_keyed_deinit(&aggregate->selfs.keyed);
	comm_breakdown_deinit(&aggregate->breakdown);
	comm_origin_mixes_deinit(&aggregate->origin_mixes);
	comm_unseen_nodes_deinit(&aggregate->unseen);
	comm_census_nodes_deinit(&aggregate->census);
	comm_node_writes_deinit(&aggregate->writes);
	comm_node_lengths_deinit(&aggregate->lengths);
	memset(aggregate, 0, sizeof(*aggregate));
}

/* Puts a slice's or a row's shares by strand where its strands are. */
static void place(struct comm_block_sums *at, size_t first, const double share[COMM_STRANDS])
{
	for (size_t i = 0; i < COMM_STRANDS; i++)
		at->sum[(first + i) % COMM_BLOCKS_MAX] = share[i];
}

void comm_aggregate_strands(struct comm_aggregate *aggregate, const uint8_t *packed, size_t n)
{
	double share[COMM_STRANDS];

	aggregate->at = aggregate->slice_at;
	if (n >= COMM_STRANDS_PACKED && comm_strands_unpack(packed, share))
		place(&aggregate->at, aggregate->block, share);
	aggregate->in_blocks = 0;
	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++)
		aggregate->in_blocks |= (uint8_t)((aggregate->at.sum[i] > 0) << i);
}

/* Deals a slice out to blocks of time; *ret_unwritten is how its bytes without a writer lie. */
static void deal(struct comm_aggregate *aggregate, const struct comm_slices_one *slice,
		 struct comm_block_sums *ret_unwritten)
{
	memset(&aggregate->slice_at, 0, sizeof(aggregate->slice_at));
	if (slice->parts) {
		aggregate->block = comm_blocks_add_parts(&aggregate->blocks, slice->enabled_ns,
							 slice->enabled_share, slice->parts);
		place(&aggregate->slice_at, aggregate->block, slice->enabled_share);
		place(ret_unwritten, aggregate->block, slice->unwritten_share);
		return;
	}
	/* Time without sampling is no block: its part of every flow would be nothing. */
	if (slice->enabled_ns || slice->end_ns == slice->start_ns)
		aggregate->block = comm_blocks_add(&aggregate->blocks, slice->enabled_ns);
	aggregate->slice_at.sum[aggregate->block] = 1;
	*ret_unwritten = aggregate->slice_at;
	aggregate->at = aggregate->slice_at;
	aggregate->in_blocks = (uint8_t)(1U << aggregate->block);
}

int comm_aggregate_slice(struct comm_aggregate *aggregate, const struct comm_slices_one *slice)
{
	struct comm_block_sums at;
	bool first = aggregate->query->first_read, watched = aggregate->query->fresh;
	double unwritten = watched ? slice->unanswered_bytes
			   : first ? slice->unwritten_first_bytes
				   : slice->unwritten_bytes;
	/* Who waits reads the same word again, so none but the last of these is a first read. */
	double polled = first || watched ? 0 : fmax(0, slice->polled_bytes);
	int code = 0;

	comm_origin_mixes_close(&aggregate->origin_mixes, aggregate->block);
	aggregate->slice++;
	deal(aggregate, slice, &at);
	if (unwritten > 0 && isfinite(unwritten)) {
		aggregate->report->unwritten_bytes += unwritten;
		aggregate->report->polled_bytes += polled;
		aggregate->report->read_bytes += unwritten;
		code = comm_breakdown_add(&aggregate->breakdown, COMM_PART_UNSEEN, COMM_ID_OTHER,
					  unwritten - polled, &at);
		if (!code)
			code = comm_breakdown_add(&aggregate->breakdown, COMM_PART_POLLED,
						  COMM_ID_OTHER, polled, &at);
	}
	if (!code && aggregate->own.ops->slice)
		code = aggregate->own.ops->slice(&aggregate->own, slice);
	if (!code && has_between(aggregate) && aggregate->ends.ops->slice)
		code = aggregate->ends.ops->slice(&aggregate->ends, slice);
	if (!code)
		code = comm_origin_mixes_begin(&aggregate->origin_mixes, slice->id);
	return code;
}

static bool is_own(const struct comm_edge *row)
{
	return row->src_thread == row->dst_thread && row->src_thread != COMM_ID_OTHER;
}

/*
 * Adds a row's bursts and bytes to a group.  One burst may have given many rows of a
 * slice, so within one slice and reading thread only the row with most bursts counts: the
 * sum over slices and readers is a lower bound of the distinct bursts.
 */
static void add_seen(const struct comm_aggregate *aggregate, struct comm_aggregate_seen *seen,
		     double bursts, double bytes, bool own)
{
	comm_block_sums_add(&seen->sums, &aggregate->at, bytes);
	seen->own_bytes += own ? bytes : 0;
	if (seen->slice != aggregate->slice) {
		seen->slice = aggregate->slice;
		seen->in_blocks = 0;
		seen->most = 0;
	}
	seen->slices +=
		(uint32_t)__builtin_popcount(aggregate->in_blocks & ~seen->in_blocks & 0xff);
	seen->in_blocks |= aggregate->in_blocks;
	/* No two watches are of one read. */
	if (aggregate->query->fresh) {
		seen->bursts += bursts;
	} else if (bursts > seen->most) {
		seen->bursts += bursts - seen->most;
		seen->most = bursts;
	}
}

/* The largest of a row's doubts that concern the groups. */
static double doubt_of(const struct comm_aggregate *aggregate, const struct comm_edge *row)
{
	const struct comm_grouping_use *use = comm_aggregate_ends(aggregate);
	const struct comm_doubts *d = &row->doubts;
	double most = use->tells_threads ? d->thread : use->tells_roles ? d->role : 0;

	if (!use->by_thread || aggregate->query->function)
		most = fmax(most, d->code + (aggregate->across ? d->side : 0));
	return fmin(most, row->bytes);
}

/*
 * Adds a part of a row to a group.  The part's variance is weight times the row's, as
 * if each burst went to one of the nodes at random.
 */
static int add(struct comm_aggregate *aggregate, enum part part, uint32_t from, uint32_t to,
	       double weight, const struct comm_edge *row)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_aggregate_group, reader)};
	const uint32_t key[] = {from, to, part, row->dst_thread};
	struct comm_aggregate_group *group;
	size_t at;
	int code = comm_keyed_at(&aggregate->groups, &kind, key, &at);

	/* An object reads nothing. */
	if (!code && part != PART_IN)
		code = comm_origin_mixes_add(&aggregate->origin_mixes, aggregate->end, key,
					     weight * row->bytes);
	if (code)
		return code;
	group = &aggregate->group[at];
	add_seen(aggregate, &group->seen, weight * row->bursts, weight * row->bytes, is_own(row));
	group->bytes += weight * row->bytes;
	if (row->variance > 0 && isfinite(row->variance))
		group->variance += weight * row->variance;
	if (aggregate->by_code && row->drawn_variance > 0 && isfinite(row->drawn_variance))
		group->variance += weight * row->drawn_variance;
	group->doubt_bytes += weight * doubt_of(aggregate, row);
	if (row->level > group->level)
		group->level = row->level;
	return 0;
}

/* The node whose reads are what an edge to node id may be mistaken for. */
static uint32_t reads_of(struct comm_aggregate *aggregate, enum part part, uint32_t id)
{
	const struct comm_grouping_ops *ops = aggregate->own.ops;

	return part == PART_PLAIN && ops->first ? ops->first(&aggregate->own, id) : id;
}

/* Adds to what the nodes to read in all of a node between (0: of any). */
static int add_reads(struct comm_aggregate *aggregate, enum part part, uint32_t between,
		     const struct comm_shares *to, double bytes, bool own)
{
	int code = 0;

	for (size_t i = 0; i < to->n && !code; i++) {
		const uint32_t key[] = {between, reads_of(aggregate, part, to->share[i].id), part,
					own};
		struct comm_id_sum *reads;

		code = comm_id_sums_at(&aggregate->reads, key, &reads);
		if (!code)
			reads->bytes += to->share[i].weight * bytes;
	}
	return code;
}

/*
 * Where the reader finds an object is certain, only who wrote it is not: out of a node between
 * counts what the reader reads of that node.
 */
static int add_reads_of(struct comm_aggregate *aggregate, const struct comm_shares *between,
			const struct comm_shares *to, double bytes, bool own)
{
	int code = add_reads(aggregate, PART_IN, 0, between, bytes, own);

	for (size_t i = 0; i < between->n && !code; i++)
		code = add_reads(aggregate, PART_OUT, between->share[i].id, to,
				 between->share[i].weight * bytes, own);
	return code;
}

static int add_pair(struct comm_aggregate *aggregate, uint32_t from, uint32_t to, uint32_t between,
		    double bytes)
{
	const uint32_t key[] = {from, to, between, 0};
	struct comm_id_sum *pair;
	int code = comm_id_sums_at(&aggregate->pairs, key, &pair);

	if (!code)
		pair->bytes += bytes;
	return code;
}

static int add_through(struct comm_aggregate *aggregate, uint32_t from,
		       const struct comm_shares *between, uint32_t to, double weight,
		       const struct comm_edge *row)
{
	int code = 0;

	for (size_t i = 0; i < between->n && !code; i++) {
		uint32_t node = between->share[i].id;
		double w = weight * between->share[i].weight;

		code = add(aggregate, PART_IN, from, node, w, row);
		if (!code)
			code = add(aggregate, PART_OUT, node, to, w, row);
		if (!code)
			code = add_pair(aggregate, from, to, node, w * row->bytes);
	}
	return code;
}

/* Of nodes between, what a thread reads of itself is no matter. */
static int add_self(struct comm_aggregate *aggregate, const struct comm_shares *between,
		    uint32_t node, double bytes)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *self;
	int code;

	if (between)
		return 0;
	code = comm_id_sums_at(&aggregate->selfs, key, &self);
	if (!code)
		self->bytes += bytes;
	return code;
}

static int add_account(struct comm_aggregate *aggregate, enum comm_part part,
		       const struct comm_edge *row, double bytes)
{
	int code =
		comm_breakdown_add(&aggregate->breakdown, part, row->object, bytes, &aggregate->at);

	if (!code && aggregate->query->fresh)
		code = comm_breakdown_add_reader(&aggregate->breakdown, part, row->dst_site, bytes);
	return code;
}

/* Adds the part of a row that goes from one node to another; between may be NULL. */
static int add_part(struct comm_aggregate *aggregate, uint32_t from,
		    const struct comm_shares *between, uint32_t to, double weight,
		    const struct comm_edge *row)
{
	struct comm_report *report = aggregate->report;
	double bytes = weight * row->bytes;
	int code;

	if (!between && from == COMM_ID_OTHER && to == COMM_ID_OTHER) {
		report->folded_bytes += bytes;
		return add_account(aggregate, COMM_PART_FOLDED, row, bytes);
	}
	/* Two threads of one node: what they hand over is no matter of the node's own. */
	if (from == to && !aggregate->query->self && !aggregate->across) {
		report->self_bytes += bytes;
		code = aggregate->query->totals ? add_self(aggregate, between, to, bytes) : 0;
		return code ? code : add_account(aggregate, COMM_PART_SELF, row, bytes);
	}
	report->total_bytes += bytes;
	code = add_account(aggregate, COMM_PART_OTHERS, row, bytes);
	if (code)
		return code;
	return between ? add_through(aggregate, from, between, to, weight, row)
		       : add(aggregate, PART_PLAIN, from, to, weight, row);
}

void comm_aggregate_dates(struct comm_aggregate *aggregate, const uint8_t *packed, size_t n)
{
	aggregate->dates = packed;
	aggregate->dates_bytes = n;
}

int comm_aggregate_row(struct comm_aggregate *aggregate, const struct comm_edge *row, bool wanted)
{
	struct comm_grouping_use *ends =
		has_between(aggregate) ? &aggregate->ends : &aggregate->own;
	struct comm_ages ages = row->ages;
	const struct comm_end writer = {.thread = row->src_thread,
					.context = row->src_site,
					.object = row->object,
					.read = row->dst_site,
					.ages = &ages,
					.dates = aggregate->dates,
					.dates_bytes = aggregate->dates_bytes,
					.bytes = row->bytes};
	const struct comm_end reader = {.thread = row->dst_thread,
					.context = row->dst_site,
					.object = row->object,
					.read = row->dst_site};
	struct comm_shares from, to, through, *between = NULL;
	bool own = is_own(row);
	int code;

	if (!(row->bytes > 0) || !isfinite(row->bytes))
		return 0;
	aggregate->report->read_bytes += row->bytes;
	aggregate->report->seen_bytes += row->bytes;
	if (row->src_thread != row->dst_thread || !(aggregate->across || ends->by_thread))
		aggregate->known_bytes += row->bytes;
	/* As shares of what counts. */
	if (comm_aggregate_by_time(aggregate))
		comm_ages_scale(&ages, fmin(DBL_MAX, 1 / row->bytes));
	code = ends->ops->at(ends, &writer, &from);
	if (!code)
		code = ends->ops->at(ends, &reader, &to);
	if (!code && has_between(aggregate)) {
		between = &through;
		code = aggregate->own.ops->at(&aggregate->own, &reader, between);
		if (!code)
			code = add_reads_of(aggregate, between, &to, row->bytes, own);
	} else if (!code) {
		code = add_reads(aggregate, PART_PLAIN, 0, &to, row->bytes, own);
	}
	if (!code)
		code = comm_origin_mixes_read(&aggregate->origin_mixes, row, row->bytes,
					      &aggregate->end);
	if (!code && !wanted)
		return add_account(aggregate, COMM_PART_UNASKED, row, row->bytes);
	if (!code && aggregate->query->totals)
		code = comm_node_writes_read(&aggregate->writes, between ? between : &to,
					     row->bytes);
	if (code)
		return code;
	aggregate->breakdown.doubt_bytes += row->doubts.side;
	if (aggregate->across && row->src_thread == row->dst_thread &&
	    row->src_thread == COMM_ID_OTHER) {
		aggregate->report->folded_bytes += row->bytes;
		return add_account(aggregate, COMM_PART_FOLDED, row, row->bytes);
	}
	if (aggregate->across && row->src_thread == row->dst_thread) {
		aggregate->report->within_bytes += row->bytes;
		return add_account(aggregate, COMM_PART_WITHIN, row, row->bytes);
	}
	for (size_t i = 0; i < from.n; i++) {
		for (size_t j = 0; j < to.n && !code; j++)
			code = add_part(aggregate, from.share[i].id, between, to.share[j].id,
					from.share[i].weight * to.share[j].weight, row);
	}
	return code;
}

int comm_aggregate_reads(struct comm_aggregate *aggregate, const struct comm_edge *edge, bool own,
			 double *ret)
{
	const uint32_t key[] = {edge->src_site == PART_OUT ? edge->src_thread : 0,
				reads_of(aggregate, edge->src_site, edge->dst_thread),
				edge->src_site, own};
	struct comm_id_sum *cell;
	int code = comm_id_sums_at(&aggregate->reads, key, &cell);

	if (!code)
		*ret = cell->bytes;
	return code;
}

uint32_t comm_aggregate_reads_of(struct comm_aggregate *aggregate, const struct comm_edge *edge)
{
	return reads_of(aggregate, edge->src_site, edge->dst_thread);
}

int comm_aggregate_own(struct comm_aggregate *aggregate, uint32_t node, double *ret)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *self;
	int code = comm_id_sums_at(&aggregate->selfs, key, &self);

	if (!code)
		*ret = self->bytes;
	return code;
}

bool comm_aggregate_is_end(const struct comm_edge *edge, bool writer)
{
	return edge->src_site == (writer ? PART_IN : PART_OUT);
}

int comm_aggregate_node(struct comm_aggregate *aggregate, bool is_end, uint32_t id, size_t *ret)
{
	const uint32_t key[] = {is_end, id, 0, 0};
	struct comm_report *report = aggregate->report;
	struct comm_id_sum *cell;
	int code;

	code = comm_id_sums_at(&aggregate->index, key, &cell);
	if (code)
		return code;
	*ret = cell - aggregate->index.sum;
	if (*ret < report->n_nodes)
		return 0;
	if (!(*ret & (*ret - 1))) {
		struct comm_node *grown =
			reallocarray(aggregate->whole->nodes, *ret ? 2 * *ret : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		aggregate->whole->nodes = grown;
	}
	code = comm_grouping_describe(is_end ? &aggregate->ends : &aggregate->own, id,
				      &aggregate->whole->nodes[*ret]);
	report->n_nodes += !code;
	return code;
}

int comm_aggregate_writer(struct comm_aggregate *aggregate, const struct comm_edge *edge,
			  size_t *ret)
{
	return comm_aggregate_node(aggregate, comm_aggregate_is_end(edge, true), edge->src_thread,
				   ret);
}

int comm_aggregate_reader(struct comm_aggregate *aggregate, const struct comm_edge *edge,
			  size_t *ret)
{
	return comm_aggregate_node(aggregate, comm_aggregate_is_end(edge, false), edge->dst_thread,
				   ret);
}
