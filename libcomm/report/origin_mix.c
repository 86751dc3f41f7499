// SPDX-License-Identifier: GPL-2.0-or-later
#include "origin_mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "id_map.h"
#include "reader.h"
#include "schema.h"

/* More than a run can have, and its square is a number. */
static const double loads_max = 1e18;

#define NO_END SIZE_MAX

static const char any_sql[] = "SELECT 1 FROM origin WHERE run = ?1 LIMIT 1";
static const char ends_sql[] = "SELECT thread, context, object, source, samples, loads,"
			       " timed_loads, timed_cycles FROM origin"
			       " WHERE run = ?1 AND slice = ?2";

int comm_origin_mixes_init(struct comm_origin_mixes *origin_mixes, sqlite3 *db, int64_t run)
{
	sqlite3_stmt *any;
	int rc;

	if (sqlite3_prepare_v2(db, any_sql, -1, &any, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(any, 1, run);
	rc = sqlite3_step(any);
	sqlite3_finalize(any);
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW ||
	    sqlite3_prepare_v2(db, ends_sql, -1, &origin_mixes->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(origin_mixes->ask, 1, run);
	return 0;
}

void comm_origin_mixes_deinit(struct comm_origin_mixes *origin_mixes)
{
	sqlite3_finalize(origin_mixes->ask);
	comm_origins_deinit(&origin_mixes->ends);
	comm_keyed_deinit(&origin_mixes->shares);
	comm_keyed_deinit(&origin_mixes->origin_mixes);
	memset(origin_mixes, 0, sizeof(*origin_mixes));
}

/* A store may be hostile. */
static double positive(sqlite3_stmt *row, int column)
{
	double value = sqlite3_column_double(row, column);

	return value > 0 ? fmin(value, loads_max) : 0;
}

static int load_end(struct comm_origin_mixes *origin_mixes)
{
	sqlite3_stmt *row = origin_mixes->ask;
	const char *name = (const char *)sqlite3_column_text(row, 3);
	int64_t samples = sqlite3_column_int64(row, 4);
	struct comm_origin origin = {.thread = comm_id_column(row, 0),
				     .site = comm_id_column(row, 1),
				     .object = comm_id_column(row, 2)};

	origin.from[comm_data_from_find(name ? name : "")] = (struct comm_origin_sums){
		.samples = samples > 0 ? samples : 0,
		.loads = samples > 0 ? positive(row, 5) : 0,
		.timed_loads = positive(row, 6),
		.timed_cycles = positive(row, 7),
	};
	return comm_origins_add(&origin_mixes->ends, &origin);
}

int comm_origin_mixes_begin(struct comm_origin_mixes *origin_mixes, int64_t slice)
{
	int rc, code = 0;

	if (!origin_mixes->ask)
		return 0;
	comm_origins_clear(&origin_mixes->ends);
	comm_keyed_clear(&origin_mixes->shares);
	sqlite3_bind_int64(origin_mixes->ask, 2, slice);
	while (!code && (rc = sqlite3_step(origin_mixes->ask)) == SQLITE_ROW)
		code = load_end(origin_mixes);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(origin_mixes->ask));
	sqlite3_reset(origin_mixes->ask);
	origin_mixes->n_ends = origin_mixes->ends.n;
	return code;
}

int comm_origin_mixes_read(struct comm_origin_mixes *origin_mixes, const struct comm_edge *row,
			   double bytes, size_t *ret_end)
{
	size_t end;
	int code;

	*ret_end = NO_END;
	if (!origin_mixes->n_ends)
		return 0;
	code = comm_origins_at(&origin_mixes->ends, row->dst_thread, row->dst_site, row->object,
			       &end);
	/* Of most rows nothing is known: these shall cost no share. */
	if (code || end >= origin_mixes->n_ends)
		return code;
	origin_mixes->ends.origin[end].bytes += bytes;
	*ret_end = end;
	return 0;
}

/* The edge's mix, or a new one. */
static int mix_at(struct comm_origin_mixes *origin_mixes, const uint32_t key[3], size_t *ret)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_origin_mix, column)};

	return comm_keyed_at(&origin_mixes->origin_mixes, &kind, key, ret);
}

int comm_origin_mixes_add(struct comm_origin_mixes *origin_mixes, size_t end,
			  const uint32_t edge[3], double bytes)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_origin_mix_share, end)};
	size_t origin_mix, share;
	int code;

	if (end == NO_END)
		return 0;
	code = mix_at(origin_mixes, edge, &origin_mix);
	if (!code)
		code = comm_keyed_at(&origin_mixes->shares, &kind, (uint32_t[]){origin_mix, end},
				     &share);
	if (!code)
		origin_mixes->share[share].bytes += bytes;
	return code;
}

/* Only once all of the slice's bytes are known: each load counts once in an edge's squares. */
void comm_origin_mixes_close(struct comm_origin_mixes *origin_mixes, size_t block)
{
	for (size_t i = 0; i < origin_mixes->n_shares; i++) {
		const struct comm_origin_mix_share *share = &origin_mixes->share[i];
		const struct comm_origin *end = &origin_mixes->ends.origin[share->end];
		struct comm_origin_mix *origin_mix = &origin_mixes->origin_mix[share->origin_mix];
		double part = comm_reader_share(share->bytes, end->bytes);

		for (int j = 0; j < COMM_FROM_MAX; j++) {
			const struct comm_origin_sums *from = &end->from[j];
			double loads = part * from->loads;

			origin_mix->loads[j].sum[block] += loads;
			if (j != COMM_FROM_UNKNOWN && from->samples)
				origin_mix->squares += loads * loads / from->samples;
			origin_mix->timed_loads += part * from->timed_loads;
			origin_mix->timed_cycles += part * from->timed_cycles;
		}
	}
	comm_keyed_clear(&origin_mixes->shares);
	origin_mixes->n_ends = 0;
}

/* Of the origins in mask. */
static struct comm_block_sums sums_of(const struct comm_origin_mix *origin_mix, unsigned int mask,
				      double *ret_total)
{
	struct comm_block_sums sums = {0};

	*ret_total = 0;
	for (int i = 0; i < COMM_FROM_MAX; i++) {
		for (size_t j = 0; mask & 1U << i && j < COMM_BLOCKS_MAX; j++) {
			sums.sum[j] += origin_mix->loads[i].sum[j];
			*ret_total += origin_mix->loads[i].sum[j];
		}
	}
	return sums;
}

#define ONE(from) (1U << COMM_FROM_##from)
#define KNOWN ((1U << COMM_FROM_MAX) - 1 - ONE(UNKNOWN))

const struct comm_origin_mix *comm_origin_mixes_of(struct comm_origin_mixes *origin_mixes,
						   const struct comm_edge *edge)
{
	const uint32_t key[] = {edge->src_thread, edge->dst_thread, edge->src_site};
	double known;
	size_t origin_mix;

	if (!origin_mixes->ask || mix_at(origin_mixes, key, &origin_mix))
		return NULL;
	sums_of(&origin_mixes->origin_mix[origin_mix], KNOWN, &known);
	return known > 0 && origin_mixes->origin_mix[origin_mix].squares > 0
		       ? &origin_mixes->origin_mix[origin_mix]
		       : NULL;
}

double comm_origin_mix_loads(const struct comm_origin_mix *origin_mix)
{
	double known;

	sums_of(origin_mix, KNOWN, &known);
	return known * known / origin_mix->squares;
}

double comm_origin_mix_latency(const struct comm_origin_mix *origin_mix)
{
	return comm_reader_share(origin_mix->timed_cycles, origin_mix->timed_loads);
}

static struct comm_report_origin share_of(const struct comm_origin_mix *origin_mix,
					  const struct comm_intervals *intervals, unsigned int mask)
{
	double z = intervals->z, part, known, loads = comm_origin_mix_loads(origin_mix), chance,
	       between;
	struct comm_block_sums all = sums_of(origin_mix, KNOWN, &known),
			       sums = sums_of(origin_mix, mask, &part);
	struct comm_report_origin ret = {.share = fmin(1, part / known)};
	double middle, half;

	chance = ret.share * (1 - ret.share) / loads;
	/* A variance out of few blocks is itself uncertain: as for the intervals of edges. */
	between = comm_blocks_variance(intervals->blocks, &sums, &all) / (known * known) *
		  (intervals->t * intervals->t) / (z * z);
	if (chance > 0 && between > chance)
		loads *= chance / between;
	middle = (ret.share + z * z / (2 * loads)) / (1 + z * z / loads);
	half = z / (1 + z * z / loads) *
	       sqrt(ret.share * (1 - ret.share) / loads + z * z / (4 * loads * loads));
	ret.share_low = fmin(ret.share, fmax(0, middle - half));
	ret.share_high = fmax(ret.share, fmin(1, middle + half));
	return ret;
}

void comm_origin_mix_shares(const struct comm_origin_mix *origin_mix,
			    const struct comm_intervals *intervals,
			    struct comm_report_origin ret[COMM_ORIGIN_MIX_SHARES])
{
	static const struct {
		const char *name;
		unsigned int mask;
	} sums[] = {
		{"hitm", ONE(MODIFIED) | ONE(REMOTE_MODIFIED)},
		{"remote", ONE(REMOTE) | ONE(REMOTE_MEMORY)},
		{"local", ONE(OWN) | ONE(L3) | ONE(PEER) | ONE(MEMORY)},
	};
	int n = 0;

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		ret[n] = share_of(origin_mix, intervals, sums[i].mask);
		ret[n++].name = sums[i].name;
	}
	for (int i = 0; i < COMM_FROM_MAX; i++) {
		if (!(KNOWN & 1U << i))
			continue;
		ret[n] = share_of(origin_mix, intervals, 1U << i);
		ret[n++].name = comm_data_from_name((enum comm_data_from)i);
	}
}
