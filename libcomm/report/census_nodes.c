// SPDX-License-Identifier: GPL-2.0-or-later
#include "census_nodes.h"

#include <math.h>
#include <string.h>

#include "ids.h"
#include "own_stack.h"
#include "schema.h"

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_census_node, is_all)};

/* The looks that comm_report_census.fresh is of. */
static const unsigned int look_of[COMM_CENSUS_FRESH] = {2, 6, 8};

bool comm_census_is_told(sqlite3 *db, int64_t run)
{
	sqlite3_stmt *ask = NULL;
	bool ret = false;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM census WHERE run = ?1 LIMIT 1", -1, &ask, NULL) ==
	    SQLITE_OK) {
		sqlite3_bind_int64(ask, 1, run);
		ret = sqlite3_step(ask) == SQLITE_ROW;
	}
	sqlite3_finalize(ask);
	return ret;
}

int comm_census_nodes_init(struct comm_census_nodes *census, sqlite3 *db, int64_t run)
{
	if (sqlite3_prepare_v2(db,
			       "SELECT thread, context, object, class, words, bytes, squares"
			       " FROM census WHERE run = ?1 AND slice = ?2" COMM_NO_OWN_STACK(
				       "census", "thread"),
			       -1, &census->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(census->ask, 1, run);
	sqlite3_bind_int(census->ask, 3, COMM_OBJECT_STACK);
	return 0;
}

void comm_census_nodes_deinit(struct comm_census_nodes *census)
{
	sqlite3_finalize(census->ask);
	comm_keyed_deinit(&census->keyed);
	memset(census, 0, sizeof(*census));
}

static int add(struct comm_census_nodes *census, uint32_t id, bool is_all, double weight,
	       const struct comm_census_words *words)
{
	const uint32_t key[] = {id, is_all};
	struct comm_census_node *node;
	size_t at;
	int code = comm_keyed_at(&census->keyed, &kind, key, &at);

	if (code)
		return code;
	node = &census->node[at];
	node->class[words->class].words += words->words;
	node->class[words->class].bytes += weight * words->bytes;
	/* As if each word were of one of the nodes at random. */
	node->class[words->class].squares += weight * words->squares;
	return 0;
}

/* False: a damaged store's. */
static bool read_words(sqlite3_stmt *row, struct comm_census_words *ret)
{
	int64_t class = sqlite3_column_int64(row, 3), words = sqlite3_column_int64(row, 4);

	*ret = (struct comm_census_words){
		.thread = comm_id_column(row, 0),
		.site = comm_id_column(row, 1),
		.object = comm_id_column(row, 2),
		.class = (uint32_t) class,
		.words = (uint64_t)words,
		.bytes = sqlite3_column_double(row, 5),
		.squares = sqlite3_column_double(row, 6),
	};
	return class >= 0 && class < COMM_CENSUS_CLASSES && words > 0 && ret->bytes > 0 &&
	       isfinite(ret->bytes) && ret->squares > 0 && isfinite(ret->squares);
}

static int take(struct comm_census_nodes *census, struct comm_grouping_use *own,
		const struct comm_filter *filter, const struct comm_census_words *words)
{
	const struct comm_end end = {.thread = words->thread,
				     .context = words->site,
				     .object = words->object,
				     .read = words->site};
	struct comm_shares shares;
	int code;

	if (!comm_filter_takes_read(filter, end.thread, end.context, end.object))
		return 0;
	code = add(census, 0, true, 1, words);
	if (!code)
		code = own->ops->at(own, &end, &shares);
	for (size_t i = 0; !code && i < shares.n; i++)
		code = add(census, shares.share[i].id, false, shares.share[i].weight, words);
	return code;
}

int comm_census_nodes_slice(struct comm_census_nodes *census, struct comm_grouping_use *own,
			    const struct comm_filter *filter, const struct comm_slices_one *slice)
{
	sqlite3_stmt *row = census->ask;
	struct comm_census_words words;
	int rc = SQLITE_DONE, code = 0;

	if (!row)
		return 0;
	sqlite3_bind_int64(row, 2, slice->id);
	while (!code && (rc = sqlite3_step(row)) == SQLITE_ROW)
		if (read_words(row, &words))
			code = take(census, own, filter, &words);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(row));
	sqlite3_reset(row);
	return code;
}

/* Of words that are worth n equal ones. */
static void wilson(double share, double n, double z, double *ret_low, double *ret_high)
{
	double middle, half;

	*ret_low = 0;
	*ret_high = 1;
	if (!(n > 0))
		return;
	middle = (share + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	*ret_low = fmin(share, fmax(0, middle - half));
	*ret_high = fmax(share, fmin(1, middle + half));
}

/* Bytes that words stand for, and how many equal words they are worth. */
struct weighed {
	double bytes, squares;
};

static struct weighed all_of(const struct comm_census_node *node, int from)
{
	struct weighed ret = {0};

	for (int i = from; i < COMM_CENSUS_CLASSES; i++) {
		ret.bytes += node->class[i].bytes;
		ret.squares += node->class[i].squares;
	}
	return ret;
}

/* A part of what all nodes read, with its interval. */
static double part_of(double bytes, struct weighed all, double z, double *ret_low, double *ret_high)
{
	double share = all.bytes > 0 ? fmin(1, bytes / all.bytes) : 0;

	wilson(share, all.squares > 0 ? all.bytes * all.bytes / all.squares : 0, z, ret_low,
	       ret_high);
	return share;
}

static double logit(double share)
{
	return log(share / (1 - share));
}

/* A bound that is 0 or 1 stays. */
static double widened(double share, double bound, double sd, double z)
{
	double by = hypot(logit(share) - logit(bound), z * sd);

	if (!(bound > 0 && bound < 1))
		return bound;
	return 1 / (1 + exp(-logit(share) - (bound < share ? -by : by)));
}

/* variance: of the share, where each node's logarithm of its weight has one of 1. */
static void widen(double share, double variance, double z, double *low, double *high)
{
	double sd;

	if (!(share > 0 && share < 1))
		return;
	sd = COMM_WEIGHT_SD * sqrt(variance) / (share * (1 - share));
	*low = widened(share, *low, sd, z);
	*high = widened(share, *high, sd, z);
}

/* Words that a look met, and those of them that it found changed. */
struct looked {
	double bytes, squares, changed;
};

static struct looked looked_at(const struct comm_census_node *node, unsigned int look)
{
	struct looked ret = {.changed = node->class[COMM_CENSUS_CHANGED + look].bytes};

	for (unsigned int i = look; i < COMM_CENSUS_LAGS; i++) {
		ret.bytes += node->class[COMM_CENSUS_CHANGED + i].bytes +
			     node->class[COMM_CENSUS_QUIET + i + 1].bytes;
		ret.squares += node->class[COMM_CENSUS_CHANGED + i].squares +
			       node->class[COMM_CENSUS_QUIET + i + 1].squares;
	}
	return ret;
}

/* The share that has changed by a look, and its interval: all of [0, 1] where no word was looked at for so long. */
static void rewritten_by(const struct comm_census_node *node, unsigned int look, double z,
			 double *ret, double *ret_low, double *ret_high)
{
	double unchanged = 1, greenwood = 0, effective_n = 0, variance;

	for (unsigned int i = 0; i <= look; i++) {
		struct looked at = looked_at(node, i);

		effective_n = at.squares > 0 ? at.bytes * at.bytes / at.squares : 0;
		if (!(effective_n > 0))
			break;
		unchanged *= 1 - fmin(1, at.changed / at.bytes);
		if (at.changed < at.bytes)
			greenwood += at.changed / (at.bytes - at.changed) / effective_n;
		/* All that was looked at has changed. */
		if (!(unchanged > 0))
			break;
	}
	*ret = 1 - unchanged;
	variance = unchanged * unchanged * greenwood;
	if (variance > 0 && effective_n > 0)
		effective_n = *ret * unchanged / variance;
	wilson(*ret, effective_n, z, ret_low, ret_high);
}

void comm_census_shares(const struct comm_census_node *node, const struct comm_census_node *whole,
			double z, struct comm_report_census *ret)
{
	struct weighed all = all_of(whole, COMM_CENSUS_WAITS);
	struct weighed besides = all_of(whole, COMM_CENSUS_WAITS + 1);

	ret->reads = 0;
	for (int i = 0; i < COMM_CENSUS_CLASSES; i++)
		ret->reads += node->class[i].words;
	ret->bytes = all_of(node, COMM_CENSUS_WAITS).bytes;
	ret->share = part_of(all_of(node, COMM_CENSUS_WAITS + 1).bytes, besides, z, &ret->share_low,
			     &ret->share_high);
	ret->waiting_reads = node->class[COMM_CENSUS_WAITS].words;
	ret->waiting = part_of(node->class[COMM_CENSUS_WAITS].bytes, all, z, &ret->waiting_low,
			       &ret->waiting_high);
	for (int i = 0; i < COMM_CENSUS_FRESH; i++)
		rewritten_by(node, look_of[i], z, &ret->fresh[i], &ret->fresh_low[i],
			     &ret->fresh_high[i]);
}

/* What changes within a lag does so within a longer one: the bounds of each hold for those behind, and in front of it. */
static void keep_order(struct comm_report_census *row)
{
	for (int i = 1; i < COMM_CENSUS_FRESH; i++)
		row->fresh_low[i] = fmax(row->fresh_low[i], row->fresh_low[i - 1]);
	for (int i = COMM_CENSUS_FRESH - 1; i > 0; i--)
		row->fresh_high[i - 1] = fmin(row->fresh_high[i - 1], row->fresh_high[i]);
}

/*
 * The variance of a share that all nodes have together, a mean of theirs by the part of all that each
 * has, is the sum of the squares of part * (own share - share) (the delta method).
 */
static void widen_all(const struct comm_census_nodes *census, struct comm_report_census *rows,
		      double z)
{
	double fresh[COMM_CENSUS_FRESH] = {0}, d;

	for (size_t i = 1; i < census->n; i++) {
		for (int k = 0; k < COMM_CENSUS_FRESH; k++) {
			d = rows[i].share * (rows[i].fresh[k] - rows[0].fresh[k]);
			fresh[k] += d * d;
		}
	}
	for (int k = 0; k < COMM_CENSUS_FRESH; k++)
		widen(rows[0].fresh[k], fresh[k], z, &rows[0].fresh_low[k], &rows[0].fresh_high[k]);
}

void comm_census_widen(const struct comm_census_nodes *census, struct comm_report_census *rows,
		       double z)
{
	double squares = 0;

	for (size_t i = 1; i < census->n; i++)
		squares += rows[i].share * rows[i].share;
	widen_all(census, rows, z);
	for (size_t i = 0; i < census->n; i++)
		keep_order(&rows[i]);
	for (size_t i = 1; i < census->n; i++) {
		struct comm_report_census *row = &rows[i];
		double own = row->share * (1 - row->share);
		double others = fmax(0, squares - row->share * row->share);

		widen(row->share, own * own + row->share * row->share * others, z, &row->share_low,
		      &row->share_high);
	}
}
