// SPDX-License-Identifier: GPL-2.0-or-later
#include "breakdown.h"

#include <math.h>

#include "census_nodes.h"
#include "id_map.h"
#include "ids.h"
#include "interval.h"
#include "schema.h"

/*
 * Memory of this size without names of its own, such as a heap, holds data of all threads:
 * what was seen in some places of it need not hold for the others.
 */
#define LARGE_BYTES (16 << 20)
/* One object with more of a part than that carries it ... */
static const double large_share = 0.67;
/* ... and so does a smaller one without which the share would be another. */
static const double carried_share = 0.5;
/* But where a program reads little else at any time, the rest says nothing about its share. */
static const double all_share = 0.1;
/* At any time: the shares of blocks differ by no larger factor. */
static const double alike = 1.5;
/* A share as narrow as that is told also where its ends differ by a large factor. */
static const double narrow = 0.1;

void comm_breakdown_deinit(struct comm_breakdown *breakdown)
{
	comm_keyed_deinit(&breakdown->objects.keyed);
	comm_keyed_deinit(&breakdown->readers.keyed);
}

int comm_breakdown_add_reader(struct comm_breakdown *breakdown, enum comm_part part,
			      uint32_t context, double bytes)
{
	const uint32_t key[] = {context, part, 0, 0};
	struct comm_id_sum *cell;
	int code = comm_id_sums_at(&breakdown->readers, key, &cell);

	if (!code)
		cell->bytes += bytes;
	return code;
}

int comm_breakdown_add(struct comm_breakdown *breakdown, enum comm_part part, uint32_t object,
		       double bytes, const struct comm_block_sums *at)
{
	const uint32_t key[] = {object, part, 0, 0};
	struct comm_id_sum *cell;
	int code;

	comm_block_sums_add(&breakdown->part[part], at, bytes);
	if (object == COMM_ID_OTHER)
		return 0;
	code = comm_id_sums_at(&breakdown->objects, key, &cell);
	if (!code)
		cell->bytes += bytes;
	return code;
}

/* The largest heap of a process stands for its blocks, which are told apart when they are read alone. */
static const char heap_sql[] = "SELECT block.id, heap.id FROM object block JOIN"
			       " (SELECT id, tgid, max(size_bytes) FROM object WHERE run = ?1 AND "
			       "kind = 3 GROUP BY tgid) heap"
			       " ON heap.tgid = block.tgid WHERE block.run = ?1 AND block.kind = 8";

_Static_assert(COMM_OBJECT_HEAP == 3 && COMM_OBJECT_BLOCK == 8, "the kinds above");

/* Adds what was read of blocks to what was read of their heap. */
static int join_heaps(struct comm_breakdown *breakdown, sqlite3 *db, int64_t run)
{
	struct comm_id_sums objects = {0};
	struct comm_id_map heaps = {0};
	struct comm_id_sum *cell;
	int code = comm_id_map_load(&heaps, db, heap_sql, run);

	for (size_t i = 0; i < breakdown->objects.n && !code; i++) {
		const struct comm_id_sum *sum = &breakdown->objects.sum[i];
		uint32_t key[4] = {0, sum->id[1]};

		code = comm_id_map_at(&heaps, sum->id[0], &key[0]);
		if (key[0] == COMM_ID_OTHER)
			key[0] = sum->id[0];
		if (!code)
			code = comm_id_sums_at(&objects, key, &cell);
		if (!code)
			cell->bytes += sum->bytes;
	}
	comm_id_map_deinit(&heaps);
	comm_keyed_deinit(code ? &objects.keyed : &breakdown->objects.keyed);
	if (!code)
		breakdown->objects = objects;
	return code;
}

struct carrier {
	uint32_t object; /* of a part: the one with most bytes; 0: none */
	double bytes;	 /* of the part */
	double all;	 /* of the object, in all parts */
};

static void find_carriers(const struct comm_breakdown *breakdown,
			  struct carrier carrier[COMM_PARTS])
{
	for (size_t i = 0; i < breakdown->objects.n; i++) {
		const struct comm_id_sum *sum = &breakdown->objects.sum[i];

		if (sum->bytes > carrier[sum->id[1]].bytes)
			carrier[sum->id[1]] =
				(struct carrier){.object = sum->id[0], .bytes = sum->bytes};
	}
	for (size_t i = 0; i < breakdown->objects.n; i++) {
		const struct comm_id_sum *sum = &breakdown->objects.sum[i];

		for (size_t j = 0; j < COMM_PARTS; j++)
			carrier[j].all += sum->id[0] == carrier[j].object ? sum->bytes : 0;
	}
}

/* Is the share much the same in all blocks of time? */
static bool is_steady(const struct comm_block_sums *part, const struct comm_block_sums *all,
		      double share)
{
	size_t n = 0;

	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++) {
		if (!(all->sum[i] > 0))
			continue;
		n++;
		if (part->sum[i] * alike < share * all->sum[i] ||
		    part->sum[i] > alike * share * all->sum[i])
			return false;
	}
	return n >= COMM_RESOLVED_SLICES;
}

/* Sets part->object where the part's share rests on the object alone. */
static int judge(const struct carrier *carrier, sqlite3_stmt *stmt, struct comm_texts *texts,
		 double read_bytes, bool steady, struct comm_report_part *part)
{
	double rest = read_bytes - carrier->all, without;
	bool carried, large;
	int rc;

	if (!carrier->object || carrier->bytes < carried_share * part->bytes)
		return 0;
	without = rest > 0 ? (part->bytes - carrier->bytes) / rest : part->share;
	carried = !(steady && rest < all_share * read_bytes) &&
		  (without * COMM_RESOLVED_RATIO < part->share ||
		   without > COMM_RESOLVED_RATIO * part->share);
	sqlite3_bind_int64(stmt, 2, carrier->object);
	rc = sqlite3_step(stmt);
	large = rc == SQLITE_ROW && sqlite3_column_int64(stmt, 1) >= LARGE_BYTES &&
		sqlite3_column_int64(stmt, 2) >= COMM_OBJECT_HEAP &&
		carrier->bytes > large_share * part->bytes;
	if (rc == SQLITE_ROW && (carried || large))
		part->object = comm_texts_keep(texts, stmt, 0);
	sqlite3_reset(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0
						     : comm_schema_errno(sqlite3_db_handle(stmt));
}

/*
 * By how much log(others' : own) of what was seen errs, as a standard deviation: volumes of others' and
 * of own reads err apart, and alike in each part of the run.  docs/method/accuracy.md has
 * what other values state.
 */
#define ACCOUNT_ODDS_SD 1.0

static const char function_sql[] = "SELECT context.id, site.function FROM context"
				   " JOIN site ON site.id = context.site WHERE ?1 = ?1";

/*
 * The same of what windows saw.  Who wrote is no matter then, but what each function reads weighs too much or too little
 * as a whole, apart from others (census_nodes.h): of many functions less is left of that, and of one nothing.
 */
static int windows_odds_sd(const struct comm_breakdown *breakdown, sqlite3 *db, int64_t run,
			   const struct comm_report_whole *whole, double *ret)
{
	double others = whole->parts[COMM_PART_OTHERS].share;
	double all =
		others + whole->parts[COMM_PART_SELF].share + whole->parts[COMM_PART_WITHIN].share;
	double bytes = all * whole->shown.read_bytes, variance = 0, share = others / all;
	struct comm_id_sums functions = {0};
	struct comm_id_map function_of = {0};
	struct comm_id_sum *cell;
	int code = comm_id_map_load(&function_of, db, function_sql, run);

	for (size_t i = 0; i < breakdown->readers.n && !code; i++) {
		const struct comm_id_sum *sum = &breakdown->readers.sum[i];
		uint32_t key[4] = {0};

		if (sum->id[1] != COMM_PART_OTHERS && sum->id[1] != COMM_PART_SELF &&
		    sum->id[1] != COMM_PART_WITHIN)
			continue;
		code = comm_id_map_at(&function_of, sum->id[0], &key[0]);
		if (!code)
			code = comm_id_sums_at(&functions, key, &cell);
		if (!code)
			cell->bytes += sum->bytes *
				       ((sum->id[1] == COMM_PART_OTHERS ? 1 : 0) - share) / bytes;
	}
	for (size_t i = 0; i < functions.n; i++)
		variance += functions.sum[i].bytes * functions.sum[i].bytes;
	*ret = share > 0 && share < 1 ? fmin(ACCOUNT_ODDS_SD, COMM_WEIGHT_SD * sqrt(variance) /
								      (share * (1 - share)))
				      : ACCOUNT_ODDS_SD;
	comm_id_map_deinit(&function_of);
	comm_keyed_deinit(&functions.keyed);
	return code;
}

/*
 * How far below and above its share a part of what was seen may lie: that, and at least what the
 * estimator doubts of it and the confusion of interval.h, for others' and own reads as if they were two edges.
 */
static void confused(const struct comm_report_whole *whole, double share, double doubt,
		     double odds_sd, double *ret_below, double *ret_above)
{
	double others = whole->parts[COMM_PART_OTHERS].share;
	double own = whole->parts[COMM_PART_SELF].share + whole->parts[COMM_PART_WITHIN].share;
	double z = comm_interval_z(whole->shown.confidence), factor = exp(z * odds_sd);
	double confusion = whole->error_model.confusion_sd * hypot(others, COMM_OWN_CONFUSED * own);
	double least = z * hypot(confusion, doubt);
	double rest = fmax(0, others + own - share);

	*ret_below = *ret_above = least;
	if (!(share > 0))
		return;
	*ret_below = fmax(least, share - (share + rest) * share / (share + rest * factor));
	*ret_above = fmax(least, (share + rest) * share / (share + rest / factor) - share);
}

/*
 * What so many windows may miss by chance: at 90 %, 3 in so many ("rule of three").  Where all of them say the same
 * they do not differ, which is no reason to be sure of more.
 */
static double alike_windows(uint64_t windows, double confidence)
{
	return windows ? fmin(1, -log((1 - confidence) / 2) / (double)windows) : 1;
}

/* The interval of a share: a ratio of two sums over the blocks, and what is confused. */
static void bound(const struct comm_breakdown *breakdown, const struct comm_blocks *blocks,
		  const struct comm_block_sums *all, const struct comm_report_whole *whole,
		  enum comm_part which, double odds_sd, struct comm_report_part *part)
{
	const struct comm_report *report = &whole->shown;
	double variance = comm_blocks_variance(blocks, &breakdown->part[which], all), half;
	double below = 0, above = 0, windows = 0;

	part->share_low = part->share_high = part->share;
	part->resolved = report->exact;
	if (report->exact)
		return;
	part->share_low = 0;
	part->share_high = 1;
	if (variance < 0 || !(report->read_bytes > 0))
		return;
	half = comm_blocks_t(blocks, report->confidence) * sqrt(variance) / report->read_bytes;
	if (which == COMM_PART_OTHERS || which == COMM_PART_SELF || which == COMM_PART_WITHIN)
		confused(whole, part->share, breakdown->doubt_bytes / report->read_bytes, odds_sd,
			 &below, &above);
	if (whole->by_chance)
		windows = alike_windows(report->windows, report->confidence);
	below = fmax(below, windows);
	above = fmax(above, windows);
	part->share_low = fmax(0, part->share - hypot(half, below));
	part->share_high = fmin(1, part->share + hypot(half, above));
	part->resolved =
		(whole->by_chance ? report->windows : report->bursts) >= COMM_RESOLVED_SAMPLES &&
		(part->share_high <= COMM_RESOLVED_RATIO * part->share_low ||
		 part->share_high - part->share_low <= narrow);
}

int comm_breakdown_finish(struct comm_breakdown *breakdown, const struct comm_blocks *blocks,
			  struct comm_reader *reader, struct comm_report_whole *whole)
{
	static const char *const names[COMM_PARTS] = {
		[COMM_PART_OTHERS] = "others", [COMM_PART_SELF] = "self",
		[COMM_PART_WITHIN] = "within", [COMM_PART_UNSEEN] = "unseen",
		[COMM_PART_FOLDED] = "folded", [COMM_PART_UNASKED] = "unasked",
		[COMM_PART_POLLED] = "polled",
	};
	struct carrier carrier[COMM_PARTS] = {0};
	struct comm_block_sums all = {0};
	double odds_sd = ACCOUNT_ODDS_SD;
	sqlite3_stmt *stmt;
	int code = 0;

	if (sqlite3_prepare_v2(reader->db,
			       "SELECT name, size_bytes, kind FROM object WHERE run = ?1"
			       " AND id = ?2",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	sqlite3_bind_int64(stmt, 1, whole->run.id);
	code = join_heaps(breakdown, reader->db, whole->run.id);
	if (!code)
		find_carriers(breakdown, carrier);
	for (size_t i = 0; i < COMM_PARTS; i++)
		for (size_t j = 0; j < COMM_BLOCKS_MAX; j++)
			all.sum[j] += breakdown->part[i].sum[j];
	for (size_t i = 0; i < COMM_PARTS; i++) {
		struct comm_report_part *part = &whole->parts[i];

		part->name = names[i];
		for (size_t j = 0; j < COMM_BLOCKS_MAX; j++)
			part->bytes += breakdown->part[i].sum[j];
		part->share = comm_reader_share(part->bytes, whole->shown.read_bytes);
	}
	if (whole->by_chance && !code)
		code = windows_odds_sd(breakdown, reader->db, whole->run.id, whole, &odds_sd);
	for (size_t i = 0; i < COMM_PARTS && !code; i++) {
		struct comm_report_part *part = &whole->parts[i];

		bound(breakdown, blocks, &all, whole, i, odds_sd, part);
		if (!whole->shown.exact && !whole->by_chance)
			code = judge(&carrier[i], stmt, &whole->texts, whole->shown.read_bytes,
				     is_steady(&breakdown->part[i], &all, part->share), part);
		part->resolved &= !part->object;
	}
	sqlite3_finalize(stmt);
	return code;
}
