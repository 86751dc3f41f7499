// SPDX-License-Identifier: GPL-2.0-or-later
#include "periods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "change_points.h"
#include "edge_table.h"
#include "frame_counts.h"
#include "id_map.h"
#include "schema.h"

enum {
	PERIODS_WIDE = 8, /* of a range, the slices that are taken at most in so many */
	PERIODS_EDGES = 1 << 20,
	PAIRS_MAX = 1 << 13, /* of threads; the rest count as one */
};

int comm_periods_slices(sqlite3 *db, int64_t run, uint64_t from_ns, uint64_t to_ns,
			struct comm_slices *ret)
{
	for (uint64_t parts = COMM_CHANGE_ELEMENTS;; parts /= 2) {
		int code = comm_slices_load(db, run, from_ns, to_ns, (to_ns - from_ns) / parts,
					    false, ret);
		uint64_t edges = 0;

		if (code)
			return code;
		for (size_t i = 0; i < ret->n; i++)
			edges += ret->slice[i].taken ? ret->slice[i].edges : 0;
		if (edges <= PERIODS_EDGES || parts <= PERIODS_WIDE)
			return 0;
		comm_slices_deinit(ret);
	}
}

/* A run's time in columns of one or more slices, and in each the matrix of its threads. */
struct columns {
	struct comm_edge_table cells; /* bytes by pair (src_site) and column (dst_site) */
	struct comm_edge_table pairs; /* its index is the pair's */
	uint64_t start_ns[COMM_CHANGE_ELEMENTS];
	size_t n;
};

static void columns_deinit(struct columns *columns)
{
	comm_edge_table_deinit(&columns->cells);
	comm_edge_table_deinit(&columns->pairs);
}

static int add(struct columns *columns, uint32_t src, uint32_t dst, double bytes)
{
	struct comm_edge *pair, *cell, key = {.src_thread = src, .dst_thread = dst};
	int code;

	if (!(bytes > 0) || !isfinite(bytes))
		return 0;
	if (columns->pairs.n >= PAIRS_MAX)
		key = (struct comm_edge){0};
	code = comm_edge_table_at(&columns->pairs, &key, &pair);
	if (code)
		return code;
	key = (struct comm_edge){.src_site = (uint32_t)(pair - columns->pairs.edge),
				 .dst_site = (uint32_t)(columns->n - 1)};
	code = comm_edge_table_at(&columns->cells, &key, &cell);
	if (!code)
		cell->bytes += bytes;
	return code;
}

static const char matrix_sql[] =
	"SELECT src_thread, dst_thread, sum(bytes) FROM edge"
	" WHERE run = ?1 AND slice = ?2 AND src_thread <> dst_thread GROUP BY 1, 2";

static int fill(struct columns *columns, sqlite3 *db, int64_t run, const struct comm_slices *slices)
{
	size_t taken = 0, each, i_taken = 0;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	for (size_t i = 0; i < slices->n; i++)
		taken += slices->slice[i].taken;
	each = (taken + COMM_CHANGE_ELEMENTS - 1) / COMM_CHANGE_ELEMENTS;
	if (sqlite3_prepare_v2(db, matrix_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	for (size_t i = 0; i < slices->n && !code; i++) {
		const struct comm_slices_one *slice = &slices->slice[i];

		if (!slice->taken)
			continue;
		if (i_taken++ % each == 0)
			columns->start_ns[columns->n++] = slice->start_ns;
		sqlite3_bind_int64(stmt, 2, slice->id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			code = add(columns, comm_id_column(stmt, 0), comm_id_column(stmt, 1),
				   sqlite3_column_double(stmt, 2));
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

/*
 * Roots of each pair's share of its column: their distance is Hellinger's, in which sampling adds
 * about as much noise to small shares as to large ones.  How much is read in all does not count,
 * which changes with whatever else the machine does; nothing at all is a matrix of its own.
 */
static double *roots(const struct columns *columns)
{
	size_t pairs = columns->pairs.n;
	double *root = calloc(columns->n * pairs + 1, sizeof(*root));
	double all[COMM_CHANGE_ELEMENTS] = {0};

	for (size_t i = 0; i < columns->cells.n; i++)
		all[columns->cells.edge[i].dst_site] += columns->cells.edge[i].bytes;
	for (size_t i = 0; root && i < columns->cells.n; i++) {
		const struct comm_edge *cell = &columns->cells.edge[i];

		root[cell->dst_site * pairs + cell->src_site] =
			sqrt(cell->bytes / all[cell->dst_site]);
	}
	return root;
}

static int find(const struct columns *columns, struct comm_periods *ret)
{
	size_t first[COMM_PERIODS_USUAL], n = columns->n, pairs = columns->pairs.n, n_cuts;
	double *root = roots(columns), *distance = calloc(n * n + 1, sizeof(*distance));

	if (!root || !distance) {
		free(root);
		free(distance);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < i; j++) {
			double sum = 0;

			for (size_t k = 0; k < pairs; k++) {
				double by = root[i * pairs + k] - root[j * pairs + k];

				sum += by * by;
			}
			distance[i * n + j] = distance[j * n + i] = sqrt(sum);
		}
	}
	n_cuts = comm_change_points(distance, n, COMM_PERIODS_FALSE_ALARM, COMM_PERIODS_USUAL - 1,
				    first);
	for (size_t i = 0; i < n_cuts; i++)
		ret->start_ns[ret->n++] = columns->start_ns[first[i]];
	free(root);
	free(distance);
	return 0;
}

int comm_periods_find(struct comm_reader *reader, const struct comm_run *run,
		      struct comm_periods *ret)
{
	struct columns columns = {0};
	struct comm_slices slices;
	int code;

	*ret = (struct comm_periods){.n = 1, .start_ns = {run->start_ns}, .end_ns = run->end_ns};
	code = comm_periods_slices(reader->db, run->id, run->start_ns, run->end_ns, &slices);
	if (code)
		return code;
	code = fill(&columns, reader->db, run->id, &slices);
	if (!code)
		code = find(&columns, ret);
	columns_deinit(&columns);
	comm_slices_deinit(&slices);
	return code;
}

bool comm_periods_equal(const struct comm_run *run, uint64_t piece_ns, struct comm_periods *ret)
{
	uint64_t left_ns = run->end_ns - run->start_ns;

	if (!piece_ns)
		piece_ns = left_ns / COMM_PERIODS_USUAL + 1;
	*ret = (struct comm_periods){.n = 1, .start_ns = {run->start_ns}, .end_ns = run->end_ns};
	if (left_ns / piece_ns >= COMM_PERIODS_MAX && left_ns > COMM_PERIODS_MAX * piece_ns)
		return false;
	/* Not by adding pieces, which may be longer than any time is. */
	for (; left_ns > piece_ns; left_ns -= piece_ns)
		ret->start_ns[ret->n++] = run->end_ns - (left_ns - piece_ns);
	return true;
}

/* The least of 1, 2, 5, 10, 20 ... that gives no more pieces than there may be. */
static uint64_t round_frames(uint64_t frames)
{
	static const uint64_t steps[] = {1, 2, 5};
	uint64_t tens = 1;

	for (size_t i = 0;; i++) {
		uint64_t each = steps[i % 3] * tens;

		if ((frames + each - 1) / each <= COMM_PERIODS_USUAL)
			return each;
		if (i % 3 == 2)
			tens *= 10;
	}
}

static void cut_frames(const struct comm_slices *slices, const uint64_t *began,
		       struct comm_periods *ret)
{
	double before = 0;

	for (size_t i = 0; i < slices->n; i++) {
		const struct comm_slices_one *slice = &slices->slice[i];
		double after = before + (double)began[i], next;

		if (!slice->taken)
			continue;
		/* The next piece's first frame begins when so many have begun before it. */
		while (ret->n < COMM_PERIODS_USUAL &&
		       (next = (double)ret->n * (double)ret->each_frames) < after && next >= before)
			ret->start_ns[ret->n++] =
				slice->start_ns +
				(uint64_t)((next - before) / (double)began[i] *
					   (double)(slice->end_ns - slice->start_ns));
		before = after;
	}
}

int comm_periods_frames(struct comm_reader *reader, const struct comm_run *run,
			struct comm_periods *ret)
{
	struct comm_slices slices;
	uint64_t *began;
	int code;

	*ret = (struct comm_periods){.n = 1, .start_ns = {run->start_ns}, .end_ns = run->end_ns};
	code = comm_periods_slices(reader->db, run->id, run->start_ns, run->end_ns, &slices);
	if (code)
		return code;
	code = comm_frame_counts_load(reader->db, run->id, &slices, &began);
	if (!code) {
		for (size_t i = 0; i < slices.n; i++)
			ret->frames += slices.slice[i].taken ? began[i] : 0;
		if (ret->frames) {
			ret->each_frames = round_frames(ret->frames);
			cut_frames(&slices, began, ret);
		}
		free(began);
	}
	comm_slices_deinit(&slices);
	return code;
}

size_t comm_periods_at(const struct comm_periods *periods, uint64_t time_ns)
{
	size_t i = 0;

	while (i + 1 < periods->n && periods->start_ns[i + 1] <= time_ns)
		i++;
	return i;
}

uint64_t comm_periods_end_ns(const struct comm_periods *periods, size_t i)
{
	return i + 1 < periods->n ? periods->start_ns[i + 1] : periods->end_ns;
}
