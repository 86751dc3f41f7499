// SPDX-License-Identifier: GPL-2.0-or-later
#include "rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "packed_ends.h"
#include "schema.h"

static const struct {
	size_t offset;
	const char *sql;
} statements[] = {
	{offsetof(struct comm_rows, put_slice),
	 "INSERT INTO slice (run, level, start_ns, end_ns, samples, bursts, accesses, handler_ns,"
	 " daemon_ns, target_ns, unwritten_bytes, unwritten_first_bytes, edges, bytes,"
	 " crossing_bytes, crossing_first_bytes, setup_ns, parts, strands, polled_bytes,"
	 " watches, unanswered_bytes, daemon_idle_ns) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,"
	 " ?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23)"},
	{offsetof(struct comm_rows, put_edge),
	 "INSERT INTO edge (run, slice, src_thread, dst_thread, src_context, dst_context, object,"
	 " bytes, variance, first_bytes, first_variance, bursts, level, age, drawn_variance,"
	 " strands, watched_bytes, watched_variance, thread_doubt, role_doubt, side_doubt,"
	 " code_doubt, dates)"
	 " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,"
	 " ?21,?22,?23)"},
	{offsetof(struct comm_rows, put_loss),
	 "INSERT INTO loss (run, slice, cause, n) VALUES (?1,?2,?3,?4)"},
	{offsetof(struct comm_rows, put_placement),
	 "INSERT INTO placement (run, slice, thread, cpu, samples) VALUES (?1,?2,?3,?4,?5)"},
	{offsetof(struct comm_rows, put_origin),
	 "INSERT INTO origin (run, slice, thread, context, object, source, samples, loads,"
	 " timed_loads, timed_cycles) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"},
	{offsetof(struct comm_rows, put_unwritten),
	 "INSERT INTO unwritten (run, slice, ends) VALUES (?1,?2,?3)"},
	{offsetof(struct comm_rows, put_written),
	 "INSERT INTO written (run, slice, part, ends) VALUES (?1,?2,?3,?4)"},
	{offsetof(struct comm_rows, put_length),
	 "INSERT INTO length (run, slice, part, ends, counter) VALUES (?1,?2,?3,?4,?5)"},
	{offsetof(struct comm_rows, put_count),
	 "INSERT INTO count (run, slice, thread, region, counter, value, enabled_ns, running_ns)"
	 " VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"},
	{offsetof(struct comm_rows, put_cacheline),
	 "INSERT INTO cacheline (run, slice, datum, bursts, turns) VALUES (?1,?2,?3,?4,?5)"},
	{offsetof(struct comm_rows, put_cacheline_use),
	 "INSERT INTO cacheline_use (run, slice, datum, thread, context, size_bytes, writes,"
	 " object, offset, bursts, accesses) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"},
	{offsetof(struct comm_rows, put_census),
	 "INSERT INTO census (run, slice, thread, context, object, class, words, bytes, squares)"
	 " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"},
	{offsetof(struct comm_rows, drop_census),
	 "DELETE FROM census WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_slice), "DELETE FROM slice WHERE id = ?2 AND run = ?1"},
	{offsetof(struct comm_rows, drop_edges), "DELETE FROM edge WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_losses), "DELETE FROM loss WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_placements),
	 "DELETE FROM placement WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_origins),
	 "DELETE FROM origin WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_unwritten),
	 "DELETE FROM unwritten WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_written),
	 "DELETE FROM written WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_lengths),
	 "DELETE FROM length WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_counts),
	 "DELETE FROM count WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_cachelines),
	 "DELETE FROM cacheline WHERE run = ?1 AND slice = ?2"},
	{offsetof(struct comm_rows, drop_cacheline_uses),
	 "DELETE FROM cacheline_use WHERE run = ?1 AND slice = ?2"},
};

enum { N_STATEMENTS = sizeof(statements) / sizeof(*statements) };

static sqlite3_stmt **statement(struct comm_rows *rows, size_t i)
{
	return (sqlite3_stmt **)((char *)rows + statements[i].offset);
}

int comm_rows_init(struct comm_rows *rows, sqlite3 *db)
{
	memset(rows, 0, sizeof(*rows));
	rows->db = db;
	for (size_t i = 0; i < N_STATEMENTS; i++) {
		if (sqlite3_prepare_v3(db, statements[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
				       statement(rows, i), NULL) != SQLITE_OK) {
			int err = comm_schema_errno(db);

			comm_rows_deinit(rows);
			return err;
		}
	}
	return 0;
}

void comm_rows_deinit(struct comm_rows *rows)
{
	for (size_t i = 0; i < N_STATEMENTS; i++) {
		sqlite3_finalize(*statement(rows, i));
		*statement(rows, i) = NULL;
	}
}

static int run(struct comm_rows *rows, sqlite3_stmt *stmt)
{
	int err = 0;

	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(rows->db);
	sqlite3_reset(stmt);
	return err;
}

/* Only where there is anything in them. */
static int pack(const struct comm_strands *strands, uint8_t ret_packed[COMM_STRANDS_PACKED])
{
	comm_strands_pack(strands, ret_packed);
	return comm_strands_is_empty(strands) ? 0 : COMM_STRANDS_PACKED;
}

/* Those of a slice's time, and behind them those of its bytes without a writer, if there are any. */
static int pack_slice(const struct comm_slice_info *info,
		      uint8_t ret_packed[2 * COMM_STRANDS_PACKED])
{
	int n = pack(&info->enabled, ret_packed);

	if (comm_strands_is_empty(&info->unwritten_strands))
		return n;
	comm_strands_pack(&info->unwritten_strands, ret_packed + COMM_STRANDS_PACKED);
	return 2 * COMM_STRANDS_PACKED;
}

/* Whole thousandths take two bytes each, of which an edge has many. */
static void put_doubts(sqlite3_stmt *s, int column, const struct comm_edge *e)
{
	const struct comm_doubts *d = &e->doubts;
	const float doubts[] = {d->thread, d->role, d->side, d->code};

	for (int i = 0; i < 4; i++)
		sqlite3_bind_int(
			s, column + i,
			e->bytes > 0 && doubts[i] > 0
				? (int)(COMM_DOUBT_ALL * fmin(1, doubts[i] / e->bytes) + 0.5)
				: 0);
}

/* Of the edge; those of edges before it are left behind.  Both are in one order. */
static size_t pack_dates(const struct comm_edge *edge, const struct comm_dated **date,
			 const struct comm_dated *end, uint8_t *ret_packed)
{
	const struct comm_dated *first;

	while (*date < end && comm_dated_compare(*date, edge) < 0)
		++*date;
	first = *date;
	while (*date < end && !comm_dated_compare(*date, edge))
		++*date;
	return comm_dates_pack(first, (size_t)(*date - first), ret_packed);
}

static int put_edges(struct comm_rows *rows, int64_t run_id, int64_t slice,
		     const struct comm_slice_info *info, const struct comm_edge *edges, size_t n)
{
	const struct comm_dated *date = info->date;
	uint8_t *dates = info->n_dates ? malloc(COMM_DATED_MAX * COMM_DATED_PACKED) : NULL;
	sqlite3_stmt *s = rows->put_edge;
	int err = info->n_dates && !dates ? -ENOMEM : 0;

	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	for (size_t i = 0; i < n && !err; i++) {
		const struct comm_edge *e = &edges[i];
		uint8_t age[COMM_AGES_PACKED], strands[COMM_STRANDS_PACKED];
		size_t n_age = comm_ages_pack(&e->ages, e->bytes, age);

		sqlite3_bind_int64(s, 3, e->src_thread);
		sqlite3_bind_int64(s, 4, e->dst_thread);
		sqlite3_bind_int64(s, 5, e->src_site);
		sqlite3_bind_int64(s, 6, e->dst_site);
		sqlite3_bind_int64(s, 7, e->object);
		sqlite3_bind_double(s, 8, e->bytes);
		sqlite3_bind_double(s, 9, e->variance);
		sqlite3_bind_double(s, 10, e->first_bytes);
		sqlite3_bind_double(s, 11, e->first_variance);
		sqlite3_bind_int64(s, 12, e->bursts);
		sqlite3_bind_int(s, 13, e->level);
		sqlite3_bind_blob(s, 14, age, (int)n_age, SQLITE_STATIC);
		sqlite3_bind_double(s, 15, e->drawn_variance);
		sqlite3_bind_blob(s, 16, strands, pack(&e->strands, strands), SQLITE_STATIC);
		sqlite3_bind_double(s, 17, e->watched_bytes);
		sqlite3_bind_double(s, 18, e->watched_variance);
		put_doubts(s, 19, e);
		sqlite3_bind_blob(
			s, 23, dates ? (const void *)dates : "",
			dates ? (int)pack_dates(e, &date, info->date + info->n_dates, dates) : 0,
			SQLITE_STATIC);
		err = run(rows, s);
	}
	sqlite3_bind_null(s, 23);
	free(dates);
	return err;
}

static int put_losses(struct comm_rows *rows, int64_t run_id, int64_t slice, const uint64_t *loss)
{
	sqlite3_stmt *s = rows->put_loss;
	int err = 0;

	for (int i = 0; i < COMM_LOSS_MAX && !err; i++) {
		if (!loss[i])
			continue;
		sqlite3_bind_int64(s, 1, run_id);
		sqlite3_bind_int64(s, 2, slice);
		sqlite3_bind_text(s, 3, comm_loss_name(i), -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 4, loss[i]);
		err = run(rows, s);
	}
	return err;
}

static int put_placements(struct comm_rows *rows, int64_t run_id, int64_t slice,
			  const struct comm_placement *placement, size_t n)
{
	sqlite3_stmt *s = rows->put_placement;
	int err = 0;

	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	for (size_t i = 0; i < n && !err; i++) {
		sqlite3_bind_int64(s, 3, placement[i].thread);
		sqlite3_bind_int64(s, 4, placement[i].cpu);
		sqlite3_bind_int64(s, 5, placement[i].samples);
		err = run(rows, s);
	}
	return err;
}

static int put_origin(struct comm_rows *rows, const struct comm_origin *origin)
{
	sqlite3_stmt *s = rows->put_origin;
	int err = 0;

	sqlite3_bind_int64(s, 3, origin->thread);
	sqlite3_bind_int64(s, 4, origin->site);
	sqlite3_bind_int64(s, 5, origin->object);
	for (int i = 0; i < COMM_FROM_MAX && !err; i++) {
		const struct comm_origin_sums *sums = &origin->from[i];

		if (!sums->samples)
			continue;
		sqlite3_bind_text(s, 6, comm_data_from_name(i), -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 7, sums->samples);
		sqlite3_bind_double(s, 8, sums->loads);
		sqlite3_bind_double(s, 9, sums->timed_loads);
		sqlite3_bind_double(s, 10, sums->timed_cycles);
		err = run(rows, s);
	}
	return err;
}

static int put_origins(struct comm_rows *rows, int64_t run_id, int64_t slice,
		       const struct comm_origin *origin, size_t n)
{
	int err = 0;

	sqlite3_bind_int64(rows->put_origin, 1, run_id);
	sqlite3_bind_int64(rows->put_origin, 2, slice);
	for (size_t i = 0; i < n && !err; i++)
		err = put_origin(rows, &origin[i]);
	return err;
}

static int put_unwritten(struct comm_rows *rows, int64_t run_id, int64_t slice,
			 const struct comm_unwritten *unwritten)
{
	sqlite3_stmt *s = rows->put_unwritten;
	uint8_t *ends;
	size_t bytes;
	int err;

	if (!unwritten->n_ends)
		return 0;
	err = comm_packed_ends(unwritten->end, unwritten->n_ends, &ends, &bytes);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	sqlite3_bind_blob64(s, 3, ends, bytes, SQLITE_STATIC);
	err = run(rows, s);
	sqlite3_bind_null(s, 3);
	free(ends);
	return err;
}

/* All ends: an object that lacks some would seem to be written less. */
static int put_ends(struct comm_rows *rows, sqlite3_stmt *s, int64_t run_id, int64_t slice,
		    const struct comm_unwritten_end *end, size_t n)
{
	uint8_t *ends = malloc(COMM_PACKED_ENDS_BYTES);
	int err = ends ? 0 : -ENOMEM;

	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	for (size_t at = 0; at < n && !err; at += COMM_PACKED_ENDS) {
		size_t left = n - at;
		size_t bytes = comm_unwritten_pack(
			end + at, left < COMM_PACKED_ENDS ? left : COMM_PACKED_ENDS, ends);

		sqlite3_bind_int64(s, 3, (int64_t)(at / COMM_PACKED_ENDS));
		sqlite3_bind_blob64(s, 4, ends, bytes, SQLITE_STATIC);
		err = run(rows, s);
	}
	sqlite3_bind_null(s, 4);
	free(ends);
	return err;
}

static int put_lengths(struct comm_rows *rows, int64_t run_id, int64_t slice,
		       const struct comm_lengths *lengths)
{
	sqlite3_bind_int64(rows->put_length, 5, lengths->counter);
	return put_ends(rows, rows->put_length, run_id, slice, lengths->end, lengths->n_ends);
}

static int put_counts(struct comm_rows *rows, int64_t run_id, int64_t slice,
		      const struct comm_count *count, size_t n)
{
	sqlite3_stmt *s = rows->put_count;
	int err = 0;

	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	for (size_t i = 0; i < n && !err; i++) {
		sqlite3_bind_int64(s, 3, count[i].thread);
		sqlite3_bind_int64(s, 4, count[i].region);
		sqlite3_bind_int64(s, 5, count[i].counter);
		sqlite3_bind_double(s, 6, count[i].value);
		sqlite3_bind_int64(s, 7, count[i].enabled_ns);
		sqlite3_bind_int64(s, 8, count[i].running_ns);
		err = run(rows, s);
	}
	return err;
}

static int put_cachelines(struct comm_rows *rows, int64_t run_id, int64_t slice,
			  const struct comm_cachelines *table)
{
	sqlite3_stmt *line = rows->put_cacheline, *use = rows->put_cacheline_use;
	int err = 0;

	sqlite3_bind_int64(line, 1, run_id);
	sqlite3_bind_int64(line, 2, slice);
	for (size_t i = 0; table && i < table->n_lines && !err; i++) {
		sqlite3_bind_int64(line, 3, (int64_t)table->line[i].datum);
		sqlite3_bind_int64(line, 4, table->line[i].bursts);
		sqlite3_bind_int64(line, 5, table->line[i].turns);
		err = run(rows, line);
	}
	sqlite3_bind_int64(use, 1, run_id);
	sqlite3_bind_int64(use, 2, slice);
	for (size_t i = 0; table && i < table->n_uses && !err; i++) {
		const struct comm_cacheline_use *u = &table->use[i];

		sqlite3_bind_int64(use, 3, (int64_t)u->datum);
		sqlite3_bind_int64(use, 4, u->thread);
		sqlite3_bind_int64(use, 5, u->site);
		sqlite3_bind_int64(use, 6, u->size_bytes);
		sqlite3_bind_int64(use, 7, u->write);
		sqlite3_bind_int64(use, 8, u->object);
		sqlite3_bind_int64(use, 9, u->offset);
		sqlite3_bind_int64(use, 10, u->bursts);
		sqlite3_bind_double(use, 11, u->accesses);
		err = run(rows, use);
	}
	return err;
}

static int put_census(struct comm_rows *rows, int64_t run_id, int64_t slice,
		      const struct comm_census_words *words, size_t n)
{
	sqlite3_stmt *s = rows->put_census;
	int err = 0;

	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int64(s, 2, slice);
	for (size_t i = 0; i < n && !err; i++) {
		sqlite3_bind_int64(s, 3, words[i].thread);
		sqlite3_bind_int64(s, 4, words[i].site);
		sqlite3_bind_int64(s, 5, words[i].object);
		sqlite3_bind_int64(s, 6, words[i].class);
		sqlite3_bind_int64(s, 7, (int64_t)words[i].words);
		sqlite3_bind_double(s, 8, words[i].bytes);
		sqlite3_bind_double(s, 9, words[i].squares);
		err = run(rows, s);
	}
	return err;
}

int comm_rows_put(struct comm_rows *rows, int64_t run_id, int level,
		  const struct comm_slice_info *info, const struct comm_edge *edges, size_t n,
		  int64_t *ret_slice)
{
	double bytes = 0, crossing = 0, crossing_first = 0;
	uint8_t strands[2 * COMM_STRANDS_PACKED];
	sqlite3_stmt *s = rows->put_slice;
	int64_t slice;
	int err;

	for (size_t i = 0; i < n; i++) {
		bytes += edges[i].bytes;
		if (edges[i].src_thread != edges[i].dst_thread) {
			crossing += edges[i].bytes;
			crossing_first += edges[i].first_bytes;
		}
	}
	sqlite3_bind_int64(s, 1, run_id);
	sqlite3_bind_int(s, 2, level);
	sqlite3_bind_int64(s, 3, info->start_ns);
	sqlite3_bind_int64(s, 4, info->end_ns);
	sqlite3_bind_int64(s, 5, info->samples);
	sqlite3_bind_int64(s, 6, info->bursts);
	sqlite3_bind_int64(s, 7, info->accesses);
	sqlite3_bind_int64(s, 8, info->handler_ns);
	sqlite3_bind_int64(s, 9, info->daemon_ns);
	sqlite3_bind_int64(s, 10, info->target_ns);
	sqlite3_bind_double(s, 11, info->unwritten.bytes);
	sqlite3_bind_double(s, 12, info->unwritten.first_bytes);
	sqlite3_bind_int64(s, 13, n);
	sqlite3_bind_double(s, 14, bytes);
	sqlite3_bind_double(s, 15, crossing);
	sqlite3_bind_double(s, 16, crossing_first);
	sqlite3_bind_int64(s, 17, info->setup_ns);
	sqlite3_bind_int64(s, 18, (int64_t)info->parts);
	sqlite3_bind_blob(s, 19, strands, pack_slice(info, strands), SQLITE_STATIC);
	sqlite3_bind_double(s, 20, info->unwritten.polled_bytes);
	sqlite3_bind_int64(s, 21, (int64_t)info->watched.watches);
	sqlite3_bind_double(s, 22, info->watched.unanswered_bytes);
	sqlite3_bind_int64(s, 23, info->daemon_idle_ns);
	err = run(rows, s);
	if (err)
		return err;
	slice = sqlite3_last_insert_rowid(rows->db);
	err = put_edges(rows, run_id, slice, info, edges, n);
	if (!err)
		err = put_losses(rows, run_id, slice, info->loss);
	if (!err)
		err = put_placements(rows, run_id, slice, info->placement, info->n_placements);
	if (!err)
		err = put_origins(rows, run_id, slice, info->origin, info->n_origins);
	if (!err)
		err = put_unwritten(rows, run_id, slice, &info->unwritten);
	if (!err && info->written.n_ends)
		err = put_ends(rows, rows->put_written, run_id, slice, info->written.end,
			       info->written.n_ends);
	if (!err && info->lengths.n_ends)
		err = put_lengths(rows, run_id, slice, &info->lengths);
	if (!err)
		err = put_counts(rows, run_id, slice, info->count, info->n_counts);
	if (!err)
		err = put_cachelines(rows, run_id, slice, info->cachelines);
	if (!err)
		err = put_census(rows, run_id, slice, info->census, info->n_census);
	if (!err && ret_slice)
		*ret_slice = slice;
	return err;
}

int64_t comm_rows_drop(struct comm_rows *rows, int64_t run_id, int64_t slice)
{
	enum { N_ALL = 12 };
	sqlite3_stmt *const all[N_ALL] = {
		rows->drop_census,	   rows->drop_written,	  rows->drop_lengths,
		rows->drop_cacheline_uses, rows->drop_cachelines, rows->drop_counts,
		rows->drop_unwritten,	   rows->drop_origins,	  rows->drop_placements,
		rows->drop_losses,	   rows->drop_slice,	  rows->drop_edges};
	int err;

	for (size_t i = 0; i < N_ALL; i++) {
		sqlite3_bind_int64(all[i], 1, run_id);
		sqlite3_bind_int64(all[i], 2, slice);
		err = run(rows, all[i]);
		if (err)
			return err;
	}
	return sqlite3_changes64(rows->db);
}
