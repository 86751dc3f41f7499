// SPDX-License-Identifier: GPL-2.0-or-later
#include "rollup.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "schema.h"

enum {
	ROLLUP_FACTOR_HOUR = 60,
	ROLLUP_FACTOR_DAY = 1440,
	ROLLUP_ATTEMPTS = 4,
	/* Slices deleted per query. */
	ROLLUP_BATCH = 256,
};

int comm_rollup_init(struct comm_rollup *rollup, sqlite3 *db,
		     const struct comm_store_config *config)
{
	uint64_t width_ns = config->rollup_ns;

	memset(rollup, 0, sizeof(*rollup));
	if (width_ns > UINT64_MAX / ROLLUP_FACTOR_DAY)
		return -EINVAL;
	rollup->db = db;
	rollup->row_cap = config->row_cap;
	rollup->detail_ns = config->detail_ns;
	rollup->width_ns[0] = width_ns;
	rollup->width_ns[1] = width_ns * ROLLUP_FACTOR_HOUR;
	rollup->width_ns[2] = width_ns * ROLLUP_FACTOR_DAY;
	return comm_rows_init(&rollup->rows, db);
}

void comm_rollup_deinit(struct comm_rollup *rollup)
{
	for (int i = 0; i < COMM_ROLLUP_LEVELS; i++) {
		comm_edge_table_deinit(&rollup->open[i].cells);
		comm_placements_deinit(&rollup->open[i].placements);
		comm_origins_deinit(&rollup->open[i].origins);
		comm_unwritten_ends_deinit(&rollup->open[i].unwritten);
		comm_unwritten_ends_deinit(&rollup->open[i].written);
		comm_unwritten_ends_deinit(&rollup->open[i].lengths);
		comm_counts_deinit(&rollup->open[i].counts);
		comm_cachelines_deinit(&rollup->open[i].cachelines);
		comm_census_deinit(&rollup->open[i].census);
	}
	comm_rows_deinit(&rollup->rows);
}

static void forget(struct comm_rollup_open *open)
{
	comm_edge_table_clear(&open->cells);
	comm_placements_clear(&open->placements);
	comm_origins_clear(&open->origins);
	comm_unwritten_ends_clear(&open->unwritten);
	comm_unwritten_ends_clear(&open->written);
	comm_unwritten_ends_clear(&open->lengths);
	comm_counts_clear(&open->counts);
	comm_cachelines_clear(&open->cachelines);
	comm_census_clear(&open->census);
	memset(&open->info, 0, sizeof(open->info));
	open->parts = 0;
}

void comm_rollup_begin(struct comm_rollup *rollup, int64_t run, uint64_t start_ns)
{
	for (int i = 0; i < COMM_ROLLUP_LEVELS; i++)
		forget(&rollup->open[i]);
	rollup->run = run;
	rollup->run_start_ns = start_ns;
}

static int begin(sqlite3 *db)
{
	if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return comm_schema_errno(db);
}

/* Commits, or rolls back when err is set already or committing fails. */
static int end(sqlite3 *db, int err)
{
	if (!err && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		err = comm_schema_errno(db);
	if (err && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

struct victim {
	int64_t run, slice;
	uint64_t start_ns, end_ns;
};

/* Collects rows of (run, id, start_ns, end_ns); resets the statement. */
static int collect(sqlite3 *db, sqlite3_stmt *stmt, struct victim *victims, size_t max,
		   size_t *ret_n)
{
	int rc = SQLITE_DONE, err = 0;
	size_t n = 0;

	while (n < max && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		victims[n].run = sqlite3_column_int64(stmt, 0);
		victims[n].slice = sqlite3_column_int64(stmt, 1);
		victims[n].start_ns = sqlite3_column_int64(stmt, 2);
		victims[n].end_ns = sqlite3_column_int64(stmt, 3);
		n++;
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		err = comm_schema_errno(db);
	sqlite3_finalize(stmt);
	*ret_n = n;
	return err;
}

/*
 * Deletes all slices of a level inside [start_ns, end_ns): the parts of a wider slice
 * must go together, or readers would count only those that are left.
 */
static int64_t drop_inside(struct comm_rollup *rollup, int64_t run, int level, uint64_t start_ns,
			   uint64_t end_ns)
{
	struct victim victims[ROLLUP_BATCH];
	int64_t dropped = 0, edges;
	sqlite3_stmt *stmt;
	size_t n;
	int err;

	do {
		if (sqlite3_prepare_v2(rollup->db,
				       "SELECT run, id, start_ns, end_ns FROM slice"
				       " WHERE level = ?2 AND run = ?1"
				       " AND start_ns >= ?3 AND start_ns < ?4",
				       -1, &stmt, NULL) != SQLITE_OK)
			return comm_schema_errno(rollup->db);
		sqlite3_bind_int64(stmt, 1, run);
		sqlite3_bind_int(stmt, 2, level);
		sqlite3_bind_int64(stmt, 3, start_ns);
		sqlite3_bind_int64(stmt, 4, end_ns);
		err = collect(rollup->db, stmt, victims, ROLLUP_BATCH, &n);
		for (size_t i = 0; i < n && !err; i++) {
			edges = comm_rows_drop(&rollup->rows, run, victims[i].slice);
			if (edges < 0)
				err = edges;
			else
				dropped += 1 + edges;
		}
	} while (!err && n == ROLLUP_BATCH);
	return err ? err : dropped;
}

/* Deletes the run's slices of level 0 that are older than detail_ns and summed in level 1. */
static int expire(struct comm_rollup *rollup, uint64_t now_ns)
{
	struct victim victims[ROLLUP_BATCH];
	sqlite3_stmt *stmt;
	int64_t dropped = 0;
	size_t n;
	int err;

	if (now_ns - rollup->run_start_ns <= rollup->detail_ns)
		return 0;
	/*
	 * Starts at the oldest slice of level 0: wide slices whose parts are gone lie
	 * before it and are not looked at again.
	 */
	if (sqlite3_prepare_v2(rollup->db,
			       "SELECT run, id, start_ns, end_ns FROM slice"
			       " WHERE level = 1 AND run = ?1 AND end_ns <= ?2 AND start_ns >="
			       " (SELECT min(start_ns) FROM slice WHERE level = 0 AND run = ?1)",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(rollup->db);
	sqlite3_bind_int64(stmt, 1, rollup->run);
	sqlite3_bind_int64(stmt, 2, now_ns - rollup->detail_ns);
	err = collect(rollup->db, stmt, victims, ROLLUP_BATCH, &n);
	for (size_t i = 0; i < n && !err && dropped >= 0; i++)
		dropped =
			drop_inside(rollup, rollup->run, 0, victims[i].start_ns, victims[i].end_ns);
	return err ? err : dropped < 0 ? (int)dropped : 0;
}

/* Keeps so many rows of each kind that has more than that. */
static int fold(struct comm_rollup_open *open, size_t keep, size_t more_than)
{
	uint64_t *folded = &open->info.loss[COMM_LOSS_CELLS];
	int err = 0;

	if (open->placements.n > more_than)
		comm_placements_fold(&open->placements, keep, folded);
	if (open->origins.n > more_than)
		comm_origins_fold(&open->origins, keep, folded);
	if (open->unwritten.n > more_than)
		comm_unwritten_ends_fold(&open->unwritten, keep, folded);
	if (open->written.n > more_than)
		comm_unwritten_ends_fold(&open->written, keep, folded);
	if (open->lengths.n > more_than)
		comm_unwritten_ends_fold(&open->lengths, keep, folded);
	if (open->counts.n > more_than)
		comm_counts_fold(&open->counts, keep, folded);
	if (open->census.n > more_than)
		comm_census_fold(&open->census, keep, folded);
	if (open->cachelines.n_uses > more_than)
		err = comm_cachelines_fold(&open->cachelines, keep, folded);
	if (!err && open->cells.n > more_than)
		err = comm_edge_table_fold(&open->cells, keep, folded);
	return err;
}

static int sum(struct comm_rollup *rollup, int level, const struct comm_slice_info *info,
	       const struct comm_edge *edges, size_t n);

static int write_wide(struct comm_rollup *rollup, int level)
{
	struct comm_rollup_open *open = &rollup->open[level];
	int err = begin(rollup->db);

	if (err)
		return err;
	err = comm_rows_put(&rollup->rows, rollup->run, level + 1, &open->info, open->cells.edge,
			    open->cells.n, NULL);
	if (!err && level == 0)
		err = expire(rollup, open->info.end_ns);
	return end(rollup->db, err);
}

/* Writes the slice being summed at a level to the store, and adds it to the next level. */
static int close_level(struct comm_rollup *rollup, int level)
{
	struct comm_rollup_open *open = &rollup->open[level];
	size_t keep = (size_t)rollup->row_cap * COMM_ROLLUP_KEEP;
	int err;

	if (!open->parts)
		return 0;
	err = fold(open, keep, keep);
	comm_placements_sort(&open->placements);
	open->info.placement = open->placements.placement;
	open->info.n_placements = open->placements.n;
	comm_origins_sort(&open->origins);
	open->info.origin = open->origins.origin;
	open->info.n_origins = open->origins.n;
	comm_unwritten_ends_sort(&open->unwritten);
	open->info.unwritten.end = open->unwritten.end;
	open->info.unwritten.n_ends = open->unwritten.n;
	comm_unwritten_ends_sort(&open->written);
	open->info.written.end = open->written.end;
	open->info.written.n_ends = open->written.n;
	comm_unwritten_ends_sort(&open->lengths);
	open->info.lengths.end = open->lengths.end;
	open->info.lengths.n_ends = open->lengths.n;
	comm_counts_sort(&open->counts);
	open->info.count = open->counts.count;
	open->info.n_counts = open->counts.n;
	comm_cachelines_sort(&open->cachelines);
	open->info.cachelines = &open->cachelines;
	comm_census_sort(&open->census);
	open->info.census = open->census.cell;
	open->info.n_census = open->census.n;
	/* The sum of one part would be a copy of it: do not write it. */
	if (!err && open->parts > 1) {
		comm_edge_table_sort(&open->cells);
		for (int i = 0; i < ROLLUP_ATTEMPTS; i++) {
			err = write_wide(rollup, level);
			if (err != -ENOSPC || !rollup->make_room ||
			    !rollup->make_room(rollup->ctx, i, ((int64_t)open->cells.n + 1) << i))
				break;
		}
	}
	/* The next level gets the sum even if this level could not be written. */
	if (level + 1 < COMM_ROLLUP_LEVELS) {
		int up = sum(rollup, level + 1, &open->info, open->cells.edge, open->cells.n);

		if (!err)
			err = up;
	}
	forget(open);
	return err;
}

/* Of a slice's time, that in which sampling was enabled. */
static float enabled_ns(const struct comm_slice_info *info)
{
	double length_ns = (double)(info->end_ns - info->start_ns);

	return (float)fmax(0, length_ns - 1e6 * (double)info->loss[COMM_LOSS_DISABLED]);
}

/* Adds a slice to the strands of the one that sums it: one part, or as many as it has itself. */
static void deal(struct comm_slice_info *to, const struct comm_slice_info *from)
{
	const struct comm_slice_info one = {
		.parts = enabled_ns(from) > 0,
		.enabled = {{enabled_ns(from)}},
		.unwritten_strands = {{(float)from->unwritten.bytes}},
	};
	size_t first = to->parts % COMM_STRANDS;

	if (!from->parts)
		from = &one;
	comm_strands_add(&to->enabled, &from->enabled, first);
	comm_strands_add(&to->unwritten_strands, &from->unwritten_strands, first);
	to->parts += from->parts;
}

/* The same for an edge, whose strands follow those of the parts that are in the sum already. */
static struct comm_edge dealt(const struct comm_slice_info *to, const struct comm_slice_info *from,
			      const struct comm_edge *edge)
{
	const struct comm_strands one = {{(float)edge->bytes}};
	size_t first = to->parts % COMM_STRANDS;
	struct comm_edge ret = *edge;

	ret.strands = (struct comm_strands){0};
	comm_strands_add(&ret.strands, from->parts ? &edge->strands : &one, first);
	return ret;
}

/* A slice of level 1 is a part, and has none itself. */
static int add_edges(struct comm_rollup_open *open, int level, const struct comm_slice_info *info,
		     const struct comm_edge *edges, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct comm_edge edge;

		if (level)
			edge = dealt(&open->info, info, &edges[i]);
		err = comm_edge_table_add(&open->cells, level ? &edge : &edges[i]);
	}
	if (level)
		deal(&open->info, info);
	return err;
}

static int sum(struct comm_rollup *rollup, int level, const struct comm_slice_info *info,
	       const struct comm_edge *edges, size_t n)
{
	struct comm_rollup_open *open = &rollup->open[level];
	uint64_t width_ns = rollup->width_ns[level];
	uint64_t index = (info->start_ns - rollup->run_start_ns) / width_ns;
	size_t keep = (size_t)rollup->row_cap * COMM_ROLLUP_KEEP;
	int err = 0;

	if (open->parts && open->index != index)
		err = close_level(rollup, level);
	if (!open->parts) {
		open->index = index;
		open->info.start_ns = info->start_ns;
	}
	open->parts++;
	open->info.end_ns = info->end_ns;
	open->info.samples += info->samples;
	open->info.bursts += info->bursts;
	open->info.accesses += info->accesses;
	open->info.handler_ns += info->handler_ns;
	open->info.daemon_ns += info->daemon_ns;
	open->info.daemon_idle_ns += info->daemon_idle_ns;
	open->info.setup_ns += info->setup_ns;
	open->info.target_ns += info->target_ns;
	open->info.unwritten.bytes += info->unwritten.bytes;
	open->info.unwritten.first_bytes += info->unwritten.first_bytes;
	open->info.unwritten.polled_bytes += info->unwritten.polled_bytes;
	open->info.watched.watches += info->watched.watches;
	open->info.watched.unanswered_bytes += info->watched.unanswered_bytes;
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		open->info.loss[i] += info->loss[i];
	if (!err)
		err = add_edges(open, level, info, edges, n);
	for (size_t i = 0; i < info->n_placements && !err; i++)
		err = comm_placements_add(&open->placements, info->placement[i].thread,
					  info->placement[i].cpu, info->placement[i].samples);
	for (size_t i = 0; i < info->n_origins && !err; i++)
		err = comm_origins_add(&open->origins, &info->origin[i]);
	for (size_t i = 0; i < info->unwritten.n_ends && !err; i++)
		err = comm_unwritten_ends_add(&open->unwritten, &info->unwritten.end[i]);
	for (size_t i = 0; i < info->written.n_ends && !err; i++)
		err = comm_unwritten_ends_add(&open->written, &info->written.end[i]);
	/* A run counts lengths by one counter. */
	if (info->lengths.n_ends)
		open->info.lengths.counter = info->lengths.counter;
	for (size_t i = 0; i < info->lengths.n_ends && !err; i++)
		err = comm_unwritten_ends_add(&open->lengths, &info->lengths.end[i]);
	for (size_t i = 0; i < info->n_counts && !err; i++)
		err = comm_counts_add(&open->counts, &info->count[i]);
	for (size_t i = 0; info->cachelines && i < info->cachelines->n_lines && !err; i++)
		err = comm_cachelines_add(&open->cachelines, &info->cachelines->line[i], NULL);
	for (size_t i = 0; info->cachelines && i < info->cachelines->n_uses && !err; i++)
		err = comm_cachelines_add_use(&open->cachelines, &info->cachelines->use[i], NULL);
	for (size_t i = 0; i < info->n_census && !err; i++)
		err = comm_census_add(&open->census, &info->census[i]);
	if (!err)
		err = fold(open, keep, keep * COMM_ROLLUP_SLACK);
	if (!err && info->end_ns - rollup->run_start_ns >= (index + 1) * width_ns)
		err = close_level(rollup, level);
	return err;
}

int comm_rollup_add(struct comm_rollup *rollup, const struct comm_slice_info *info,
		    const struct comm_edge *edges, size_t n)
{
	/* Roll-up is off, or the slice lies before the run. */
	if (!rollup->width_ns[0] || info->start_ns < rollup->run_start_ns)
		return 0;
	return sum(rollup, 0, info, edges, n);
}

int comm_rollup_finish(struct comm_rollup *rollup)
{
	int err, ret = 0;

	for (int i = 0; i < COMM_ROLLUP_LEVELS; i++) {
		err = close_level(rollup, i);
		if (err && !ret)
			ret = err;
	}
	return ret;
}

/* Deletes all slices up to a level inside [start_ns, end_ns). */
static int64_t drop_up_to(struct comm_rollup *rollup, int64_t run, int most, uint64_t start_ns,
			  uint64_t end_ns)
{
	int64_t dropped = 0;

	for (int level = 0; level <= most; level++) {
		int64_t n = drop_inside(rollup, run, level, start_ns, end_ns);

		if (n < 0)
			return n;
		dropped += n;
	}
	return dropped;
}

/*
 * Deletes the parts of the oldest slice of level + 1 that still has parts in the store.  These may be of
 * any lower level: the sum of a single part is not written.
 */
static int64_t drop_repeated(struct comm_rollup *rollup, int level)
{
	struct victim victim;
	sqlite3_stmt *stmt;
	size_t n;
	int err;

	if (sqlite3_prepare_v2(rollup->db,
			       "SELECT w.run, w.id, w.start_ns, w.end_ns FROM slice w"
			       " WHERE w.level = ?1 + 1 AND EXISTS (SELECT 1 FROM slice p"
			       "  WHERE p.level <= ?1 AND p.run = w.run"
			       "  AND p.start_ns >= w.start_ns AND p.start_ns < w.end_ns)"
			       " ORDER BY w.run, w.start_ns LIMIT 1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(rollup->db);
	sqlite3_bind_int(stmt, 1, level);
	err = collect(rollup->db, stmt, &victim, 1, &n);
	if (err || !n)
		return err;
	return drop_up_to(rollup, victim.run, level, victim.start_ns, victim.end_ns);
}

static int exec_run(sqlite3 *db, const char *sql, int64_t run, uint64_t value)
{
	sqlite3_stmt *stmt;
	int err = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int64(stmt, 2, value);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(db);
	sqlite3_finalize(stmt);
	return err;
}

/*
 * Deletes a run's oldest slices, and the run with its last slice; returns edges and slices
 * deleted, and 1 for the run.
 */
static int64_t drop_part(struct comm_rollup *rollup, int64_t run, bool *ret_gone)
{
	static const char *const rest[] = {
		"DELETE FROM thread WHERE run = ?1",
		"DELETE FROM object WHERE run = ?1",
		"DELETE FROM run WHERE id = ?1",
	};
	struct victim victims[ROLLUP_BATCH];
	int64_t dropped = 0, edges;
	sqlite3_stmt *stmt;
	size_t n;
	int err;

	if (sqlite3_prepare_v2(rollup->db,
			       "SELECT run, id, start_ns, end_ns FROM slice WHERE run = ?1"
			       " ORDER BY start_ns",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(rollup->db);
	sqlite3_bind_int64(stmt, 1, run);
	err = collect(rollup->db, stmt, victims, ROLLUP_BATCH, &n);
	*ret_gone = n < ROLLUP_BATCH;
	for (size_t i = 0; i < n && !err; i++) {
		edges = comm_rows_drop(&rollup->rows, run, victims[i].slice);
		if (edges < 0)
			err = edges;
		else
			dropped += 1 + edges;
	}
	if (!err && *ret_gone) {
		for (size_t i = 0; i < sizeof(rest) / sizeof(*rest) && !err; i++)
			err = exec_run(rollup->db, rest[i], run, 0);
		dropped++;
	} else if (!err) {
		err = exec_run(rollup->db,
			       "UPDATE run SET deleted_ns = deleted_ns + ?2 WHERE id = ?1", run,
			       victims[n - 1].end_ns - victims[0].start_ns);
	}
	return err ? err : dropped;
}

/* Deletes slices of the oldest run but the current one. */
static int64_t drop_old_run(struct comm_rollup *rollup)
{
	sqlite3_stmt *stmt;
	int64_t run = -1;
	bool gone;

	if (sqlite3_prepare_v2(rollup->db, "SELECT min(id), 0, 0, 0 FROM run WHERE id <> ?1", -1,
			       &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(rollup->db);
	sqlite3_bind_int64(stmt, 1, rollup->run);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		run = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return run < 0 ? 0 : drop_part(rollup, run, &gone);
}

/* Deletes the current run's oldest slice, the widest there, with all its parts. */
static int64_t drop_oldest(struct comm_rollup *rollup)
{
	struct victim victim;
	sqlite3_stmt *stmt;
	int64_t dropped;
	size_t n;
	int err;

	if (sqlite3_prepare_v2(rollup->db,
			       "SELECT run, id, start_ns, end_ns FROM slice WHERE run = ?1"
			       " ORDER BY start_ns, level DESC LIMIT 1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(rollup->db);
	sqlite3_bind_int64(stmt, 1, rollup->run);
	err = collect(rollup->db, stmt, &victim, 1, &n);
	if (err || !n)
		return err;
	dropped =
		drop_up_to(rollup, rollup->run, COMM_ROLLUP_LEVELS, victim.start_ns, victim.end_ns);
	if (dropped < 0)
		return dropped;
	/* Deleted slices whose sum is still in memory will be stored with it: no time is lost. */
	if (rollup->open[0].parts && victim.start_ns >= rollup->open[0].info.start_ns)
		return dropped;
	err = exec_run(rollup->db, "UPDATE run SET deleted_ns = deleted_ns + ?2 WHERE id = ?1",
		       rollup->run, victim.end_ns - victim.start_ns);
	return err ? err : dropped;
}

static int64_t drop_something(struct comm_rollup *rollup)
{
	int64_t dropped;

	for (int level = 0; level < COMM_ROLLUP_LEVELS; level++) {
		dropped = drop_repeated(rollup, level);
		if (dropped)
			return dropped;
	}
	dropped = drop_old_run(rollup);
	return dropped ? dropped : drop_oldest(rollup);
}

int64_t comm_rollup_make_room(struct comm_rollup *rollup, int64_t want)
{
	int64_t total = 0, dropped;
	int err;

	do {
		err = begin(rollup->db);
		dropped = err ? err : drop_something(rollup);
		err = end(rollup->db, dropped < 0 ? (int)dropped : 0);
		if (err)
			return total ? total : err;
		total += dropped;
	} while (dropped && total < want);
	return total;
}

static int has_run(sqlite3 *db, int64_t run)
{
	sqlite3_stmt *stmt;
	int rc, err;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM run WHERE id = ?1", -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	rc = sqlite3_step(stmt);
	err = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENODATA : comm_schema_errno(db);
	sqlite3_finalize(stmt);
	return err;
}

int comm_rollup_drop_run(struct comm_rollup *rollup, int64_t run)
{
	int err = has_run(rollup->db, run);
	int64_t dropped;
	bool gone = false;

	while (!err && !gone) {
		err = begin(rollup->db);
		dropped = err ? err : drop_part(rollup, run, &gone);
		err = end(rollup->db, dropped < 0 ? (int)dropped : 0);
	}
	return err;
}
