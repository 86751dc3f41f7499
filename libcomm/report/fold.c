// SPDX-License-Identifier: GPL-2.0-or-later
#include "fold.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "ids.h"

/* Which kinds of nodes a group is an edge between. */
enum part {
	PART_PLAIN,
	PART_IN,  /* from a writer's node to the node between (thread -> object) */
	PART_OUT, /* from the node between to a reader's node (object -> thread) */
};

bool comm_fold_by_time(const struct comm_fold *fold)
{
	return fold->own.by_time || fold->ends.by_time;
}

/*
 * Strands are of the estimator's reads without guesses: not of watched ones, of places, of counts, or
 * of where loads went.
 */
bool comm_fold_takes_strands(const struct comm_fold *fold)
{
	const struct comm_query *query = fold->query;

	return !query->first_read && !query->guess && !query->fresh && !query->places &&
	       !query->counts && !comm_fold_by_time(fold) && !fold->mixes.ask &&
	       !fold->own.ops->many && !(fold->ends.ops && fold->ends.ops->many);
}

static bool has_between(const struct comm_fold *fold)
{
	return fold->own.ops->ends;
}

const struct comm_grouping_use *comm_fold_ends(const struct comm_fold *fold)
{
	return has_between(fold) ? &fold->ends : &fold->own;
}

int comm_fold_init(struct comm_fold *fold, const struct comm_query *query,
		   struct comm_reader *reader, struct comm_report_whole *whole, char **err)
{
	const struct comm_grouping_ops *ops = comm_grouping_find(query->by), *ends;
	const char *by = query->by;
	int code;

	memset(fold, 0, sizeof(*fold));
	fold->query = query;
	fold->whole = whole;
	fold->report = &whole->shown;
	if (!ops)
		return comm_reader_fail(err, -EINVAL, "there is no grouping '%s'", query->by);
	if (query->fresh && (query->first_read || query->guess))
		return comm_reader_fail(err, -EINVAL,
					"windows tell neither first reads nor guesses");
	ends = ops->ends;
	if (query->objects && !ends) {
		ends = ops;
		ops = &comm_grouping_object;
	}
	fold->report->by = &ops->grouping;
	fold->across = query->across || ((ends ? ends : ops)->grouping.across && !query->self);
	code = comm_grouping_open(&fold->own, ops, by, reader, &whole->run, &whole->texts, err);
	if (!code && ends)
		code = comm_grouping_open(&fold->ends, ends, by, reader, &whole->run, &whole->texts,
					  err);
	if (!code && query->fresh && comm_fold_by_time(fold))
		code = comm_reader_fail(err, -EINVAL,
					"windows do not tell when what was read had been written");
	if (code)
		return code;
	/* A filter by site or object takes parts of what threads hand over, which may be drawn. */
	fold->by_code = !fold->own.by_thread || query->function || query->object;
	code = comm_mixes_init(&fold->mixes, reader->db, whole->run.id);
	if (!code && query->unwritten)
		code = comm_unseen_nodes_init(&fold->unseen, reader->db, whole->run.id);
	if (!code && query->census)
		code = comm_census_nodes_init(&fold->census, reader->db, whole->run.id);
	if (!code && query->totals)
		code = comm_node_writes_init(fold, reader->db, whole->run.id);
	return code ? comm_reader_fail_db(reader, err, code) : 0;
}

void comm_fold_deinit(struct comm_fold *fold)
{
	comm_grouping_close(&fold->own);
	comm_grouping_close(&fold->ends);
	comm_keyed_deinit(&fold->groups);
	comm_keyed_deinit(&fold->pairs.keyed);
	comm_keyed_deinit(&fold->reads.keyed);
	comm_keyed_deinit(&fold->index.keyed);
	comm_keyed_deinit(&fold->selfs.keyed);
	comm_account_deinit(&fold->account);
	comm_mixes_deinit(&fold->mixes);
	comm_unseen_nodes_deinit(&fold->unseen);
	comm_census_nodes_deinit(&fold->census);
	comm_node_writes_deinit(&fold->writes);
	memset(fold, 0, sizeof(*fold));
}

/* Puts a slice's or a row's shares by strand where its strands are. */
static void place(struct comm_block_sums *at, size_t first, const double share[COMM_STRANDS])
{
	for (size_t i = 0; i < COMM_STRANDS; i++)
		at->sum[(first + i) % COMM_BLOCKS_MAX] = share[i];
}

void comm_fold_strands(struct comm_fold *fold, const uint8_t *packed, size_t n)
{
	double share[COMM_STRANDS];

	fold->at = fold->guess_at = fold->slice_at;
	if (n >= COMM_STRANDS_PACKED && comm_strands_unpack(packed, share))
		place(&fold->at, fold->block, share);
	if (n >= 2 * COMM_STRANDS_PACKED &&
	    comm_strands_unpack(packed + COMM_STRANDS_PACKED, share))
		place(&fold->guess_at, fold->block, share);
	fold->in_blocks = 0;
	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++)
		fold->in_blocks |= (uint8_t)((fold->at.sum[i] > 0) << i);
}

/* Deals a slice out to blocks of time; *ret_unwritten is how its bytes without a writer lie. */
static void deal(struct comm_fold *fold, const struct comm_slices_one *slice,
		 struct comm_block_sums *ret_unwritten)
{
	memset(&fold->slice_at, 0, sizeof(fold->slice_at));
	if (slice->parts) {
		fold->block = comm_blocks_add_parts(&fold->blocks, slice->enabled_ns,
						    slice->enabled_share, slice->parts);
		place(&fold->slice_at, fold->block, slice->enabled_share);
		place(ret_unwritten, fold->block, slice->unwritten_share);
		return;
	}
	/* Time without sampling is no block: its part of every flow would be nothing. */
	if (slice->enabled_ns || slice->end_ns == slice->start_ns)
		fold->block = comm_blocks_add(&fold->blocks, slice->enabled_ns);
	fold->slice_at.sum[fold->block] = 1;
	*ret_unwritten = fold->slice_at;
	fold->at = fold->guess_at = fold->slice_at;
	fold->in_blocks = (uint8_t)(1U << fold->block);
}

int comm_fold_slice(struct comm_fold *fold, const struct comm_slices_one *slice)
{
	struct comm_block_sums at;
	bool first = fold->query->first_read, watched = fold->query->fresh;
	double unwritten = watched ? slice->unanswered_bytes
			   : first ? slice->unwritten_first_bytes
				   : slice->unwritten_bytes;
	/* Who waits reads the same word again, so none but the last of these is a first read. */
	double polled = first || watched ? 0 : fmax(0, slice->polled_bytes);
	int code = 0;

	comm_mixes_close(&fold->mixes, fold->block);
	fold->slice++;
	deal(fold, slice, &at);
	if (unwritten > 0 && isfinite(unwritten)) {
		fold->report->unwritten_bytes += unwritten;
		fold->report->polled_bytes += polled;
		fold->report->read_bytes += unwritten;
		code = comm_account_add(&fold->account, COMM_PART_UNSEEN, COMM_ID_OTHER,
					unwritten - polled, &at);
		if (!code)
			code = comm_account_add(&fold->account, COMM_PART_POLLED, COMM_ID_OTHER,
						polled, &at);
	}
	if (!code && fold->own.ops->slice)
		code = fold->own.ops->slice(&fold->own, slice);
	if (!code && has_between(fold) && fold->ends.ops->slice)
		code = fold->ends.ops->slice(&fold->ends, slice);
	if (!code)
		code = comm_mixes_begin(&fold->mixes, slice->id);
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
static void add_seen(const struct comm_fold *fold, struct comm_fold_seen *seen, double bursts,
		     double bytes, bool own)
{
	comm_block_sums_add(&seen->sums, &fold->at, bytes);
	seen->own_bytes += own ? bytes : 0;
	if (seen->slice != fold->slice) {
		seen->slice = fold->slice;
		seen->in_blocks = 0;
		seen->most = 0;
	}
	seen->slices += (uint32_t)__builtin_popcount(fold->in_blocks & ~seen->in_blocks & 0xff);
	seen->in_blocks |= fold->in_blocks;
	/* No two watches are of one read. */
	if (fold->query->fresh) {
		seen->bursts += bursts;
	} else if (bursts > seen->most) {
		seen->bursts += bursts - seen->most;
		seen->most = bursts;
	}
}

/* The largest of a row's doubts that concern the groups. */
static double doubt_of(const struct comm_fold *fold, const struct comm_edge *row)
{
	const struct comm_grouping_use *use = comm_fold_ends(fold);
	const struct comm_doubts *d = &row->doubts;
	double most = use->tells_threads ? d->thread : use->tells_roles ? d->role : 0;

	if (!use->by_thread || fold->query->function)
		most = fmax(most, d->code + (fold->across ? d->side : 0));
	return fmin(most, row->bytes);
}

/*
 * Adds a part of a row to a group.  The part's variance is weight times the row's, as
 * if each burst went to one of the nodes at random.
 */
static int add(struct comm_fold *fold, enum part part, uint32_t from, uint32_t to, double weight,
	       const struct comm_edge *row)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_fold_group, reader)};
	const uint32_t key[] = {from, to, part, row->dst_thread};
	struct comm_fold_group *group;
	size_t at;
	int code = comm_keyed_at(&fold->groups, &kind, key, &at);

	/* An object reads nothing. */
	if (!code && part != PART_IN)
		code = comm_mixes_add(&fold->mixes, fold->end, key, weight * row->bytes);
	if (code)
		return code;
	group = &fold->group[at];
	add_seen(fold, &group->seen, weight * row->bursts, weight * row->bytes, is_own(row));
	group->bytes += weight * row->bytes;
	group->guess_bytes += weight * row->guess_bytes;
	if (row->variance > 0 && isfinite(row->variance))
		group->variance += weight * row->variance;
	if (fold->by_code && row->drawn_variance > 0 && isfinite(row->drawn_variance))
		group->variance += weight * row->drawn_variance;
	group->doubt_bytes += weight * doubt_of(fold, row);
	if (row->level > group->level)
		group->level = row->level;
	return 0;
}

/* The node whose reads are what an edge to node id may be mistaken for. */
static uint32_t reads_of(struct comm_fold *fold, enum part part, uint32_t id)
{
	const struct comm_grouping_ops *ops = fold->own.ops;

	return part == PART_PLAIN && ops->first ? ops->first(&fold->own, id) : id;
}

/* Adds to what the nodes to read in all of a node between (0: of any). */
static int add_reads(struct comm_fold *fold, enum part part, uint32_t between,
		     const struct comm_shares *to, double bytes, bool own)
{
	int code = 0;

	for (size_t i = 0; i < to->n && !code; i++) {
		const uint32_t key[] = {between, reads_of(fold, part, to->share[i].id), part, own};
		struct comm_id_sum *reads;

		code = comm_id_sums_at(&fold->reads, key, &reads);
		if (!code)
			reads->bytes += to->share[i].weight * bytes;
	}
	return code;
}

/*
 * Where the reader finds an object is certain, only who wrote it is not: out of a node between
 * counts what the reader reads of that node.
 */
static int add_reads_of(struct comm_fold *fold, const struct comm_shares *between,
			const struct comm_shares *to, double bytes, bool own)
{
	int code = add_reads(fold, PART_IN, 0, between, bytes, own);

	for (size_t i = 0; i < between->n && !code; i++)
		code = add_reads(fold, PART_OUT, between->share[i].id, to,
				 between->share[i].weight * bytes, own);
	return code;
}

static int add_pair(struct comm_fold *fold, uint32_t from, uint32_t to, uint32_t between,
		    double bytes)
{
	const uint32_t key[] = {from, to, between, 0};
	struct comm_id_sum *pair;
	int code = comm_id_sums_at(&fold->pairs, key, &pair);

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

/* Of nodes between, what a thread reads of itself is no matter. */
static int add_self(struct comm_fold *fold, const struct comm_shares *between, uint32_t node,
		    double bytes)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *self;
	int code;

	if (between)
		return 0;
	code = comm_id_sums_at(&fold->selfs, key, &self);
	if (!code)
		self->bytes += bytes;
	return code;
}

static int add_account(struct comm_fold *fold, enum comm_part part, const struct comm_edge *row,
		       double bytes)
{
	return comm_account_add(&fold->account, part, row->object, bytes, &fold->at);
}

/* Adds the part of a row that goes from one node to another; between may be NULL. */
static int add_part(struct comm_fold *fold, uint32_t from, const struct comm_shares *between,
		    uint32_t to, double weight, const struct comm_edge *row)
{
	struct comm_report *report = fold->report;
	double bytes = weight * row->bytes;
	int code;

	if (!between && from == COMM_ID_OTHER && to == COMM_ID_OTHER) {
		report->folded_bytes += bytes;
		return add_account(fold, COMM_PART_FOLDED, row, bytes);
	}
	/* Two threads of one node: what they hand over is no matter of the node's own. */
	if (from == to && !fold->query->self && !fold->across) {
		report->self_bytes += bytes;
		code = fold->query->totals ? add_self(fold, between, to, bytes) : 0;
		return code ? code : add_account(fold, COMM_PART_SELF, row, bytes);
	}
	report->total_bytes += bytes;
	report->coarse_bytes += weight * row->guess_bytes;
	code = add_account(fold, COMM_PART_OTHERS, row, bytes);
	if (code)
		return code;
	return between ? add_through(fold, from, between, to, weight, row)
		       : add(fold, PART_PLAIN, from, to, weight, row);
}

/* Takes the guesses out of a row: nobody was seen to write what they are about. */
static int drop_guess(struct comm_fold *fold, const struct comm_shares *between,
		      const struct comm_shares *to, struct comm_edge *row)
{
	double guess = row->guess_bytes;
	int code;

	if (fold->query->guess)
		return 0;
	row->bytes -= guess;
	row->guess_bytes = 0;
	fold->report->guess_bytes += guess;
	if (!(guess > 0))
		return 0;
	code = comm_unseen_nodes_guess(fold, between, to, guess);
	return code ? code
		    : comm_account_add(&fold->account, COMM_PART_UNSEEN, row->object, guess,
				       &fold->guess_at);
}

static int add_unasked(struct comm_fold *fold, const struct comm_edge *row)
{
	double guess = row->guess_bytes;
	int code = add_account(fold, COMM_PART_UNASKED, row, row->bytes - guess);

	if (code || !(guess > 0))
		return code;
	return comm_account_add(&fold->account, COMM_PART_UNASKED, row->object, guess,
				&fold->guess_at);
}

int comm_fold_row(struct comm_fold *fold, const struct comm_edge *stored, bool wanted)
{
	struct comm_grouping_use *ends = has_between(fold) ? &fold->ends : &fold->own;
	struct comm_ages ages = stored->ages;
	const struct comm_end writer = {.thread = stored->src_thread,
					.context = stored->src_site,
					.object = stored->object,
					.read = stored->dst_site,
					.ages = &ages};
	const struct comm_end reader = {.thread = stored->dst_thread,
					.context = stored->dst_site,
					.object = stored->object,
					.read = stored->dst_site};
	struct comm_shares from, to, through, *between = NULL;
	bool own = is_own(stored);
	struct comm_edge copy = *stored, *row = &copy;
	int code;

	if (!(row->bytes > 0) || !isfinite(row->bytes))
		return 0;
	row->guess_bytes = row->guess_bytes > 0 ? fmin(row->guess_bytes, row->bytes) : 0;
	fold->report->read_bytes += row->bytes;
	fold->report->seen_bytes += row->bytes - row->guess_bytes;
	/* As shares of what counts: of a guess no age is known. */
	if (comm_fold_by_time(fold) && row->bytes > row->guess_bytes)
		comm_ages_scale(
			&ages,
			fmin(DBL_MAX, 1 / (fold->query->guess ? row->bytes
							      : row->bytes - row->guess_bytes)));
	code = ends->ops->at(ends, &writer, &from);
	if (!code)
		code = ends->ops->at(ends, &reader, &to);
	if (!code && has_between(fold)) {
		between = &through;
		code = fold->own.ops->at(&fold->own, &reader, between);
		if (!code)
			code = add_reads_of(fold, between, &to, row->bytes, own);
	} else if (!code) {
		code = add_reads(fold, PART_PLAIN, 0, &to, row->bytes, own);
	}
	if (!code)
		code = comm_mixes_read(&fold->mixes, row, row->bytes, &fold->end);
	if (!code && !wanted)
		return add_unasked(fold, row);
	if (!code && fold->query->totals)
		code = comm_node_writes_read(&fold->writes, between ? between : &to, row->bytes);
	if (!code)
		code = drop_guess(fold, between, &to, row);
	if (code || !(row->bytes > 0))
		return code;
	fold->account.doubt_bytes += row->doubts.side;
	if (fold->across && row->src_thread == row->dst_thread &&
	    row->src_thread == COMM_ID_OTHER) {
		fold->report->folded_bytes += row->bytes;
		return add_account(fold, COMM_PART_FOLDED, row, row->bytes);
	}
	if (fold->across && row->src_thread == row->dst_thread) {
		fold->report->within_bytes += row->bytes;
		return add_account(fold, COMM_PART_WITHIN, row, row->bytes);
	}
	for (size_t i = 0; i < from.n; i++) {
		for (size_t j = 0; j < to.n && !code; j++)
			code = add_part(fold, from.share[i].id, between, to.share[j].id,
					from.share[i].weight * to.share[j].weight, row);
	}
	return code;
}

int comm_fold_reads(struct comm_fold *fold, const struct comm_edge *edge, bool own, double *ret)
{
	const uint32_t key[] = {edge->src_site == PART_OUT ? edge->src_thread : 0,
				reads_of(fold, edge->src_site, edge->dst_thread), edge->src_site,
				own};
	struct comm_id_sum *cell;
	int code = comm_id_sums_at(&fold->reads, key, &cell);

	if (!code)
		*ret = cell->bytes;
	return code;
}

uint32_t comm_fold_reads_of(struct comm_fold *fold, const struct comm_edge *edge)
{
	return reads_of(fold, edge->src_site, edge->dst_thread);
}

int comm_fold_own(struct comm_fold *fold, uint32_t node, double *ret)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *self;
	int code = comm_id_sums_at(&fold->selfs, key, &self);

	if (!code)
		*ret = self->bytes;
	return code;
}

bool comm_fold_is_end(const struct comm_edge *edge, bool writer)
{
	return edge->src_site == (writer ? PART_IN : PART_OUT);
}
