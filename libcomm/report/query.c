// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers a query: which run, which slices, which threads, and the scan of the rows. */
#include <comm/comm.h>

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate.h"
#include "aggregate_edges.h"
#include "cachelines.h"
#include "count.h"
#include "frame_counts.h"
#include "ids.h"
#include "interval.h"
#include "losses.h"
#include "node_counts.h"
#include "own_stack.h"
#include "periods.h"
#include "places.h"
#include "reader.h"
#include "report.h"
#include "row_filter.h"
#include "schema.h"
#include "slices.h"

enum {
	/* A larger query->size is garbage: the program has not set it. */
	QUERY_SIZE_MAX = 4096,
};

/* A report in the making. */
struct work {
	struct comm_reader *reader;
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report; /* &whole->shown */
	struct comm_slices slices;
	struct comm_aggregate aggregate;
	struct comm_filter filter;
	bool keeps; /* rows of plain slices, for the reader's next reports */
};

/* The number of runs if there is no such run. */
static size_t find_index(const struct comm_runs *runs, int64_t id, const char *label)
{
	for (size_t i = runs->n; i-- > 0;)
		if (id ? runs->run[i].id == id : !label || !strcmp(runs->run[i].label, label))
			return i;
	return runs->n;
}

/*
 * What an estimated edge errs by besides chance: threads read faster or slower than it takes them to, by what no sampling tells.  With it
 * 94 % of the edges of long runs of kernels are within their intervals, without 79 % (docs/method/accuracy.md).
 */
#define ESTIMATED_EDGE_SD 0.15
/*
 * The same between roles: of real programs, which read what misses the caches, and what comes from files.  With it 52 of the
 * 56 rows that are stated of 82 runs of 21 programs are true, with 0.15 51 of 61 (docs/method/accuracy.md).
 */
#define ESTIMATED_ROLE_EDGE_SD 0.2
/*
 * The same between pieces of code, which take more or less time for what they read: of 47 runs of 18 programs 8 rows are stated
 * with it, all true, with 0.25 8 of 11 (docs/method/accuracy.md).
 */
#define ESTIMATED_CODE_EDGE_SD 0.3

/*
 * In a window the last writer before a read is seen: nobody is taken for another one.  How much a read stands for goes by
 * the time that its code takes, as everywhere.
 */
static struct comm_error_model watched_model(const struct comm_error_model *estimator)
{
	return (struct comm_error_model){.sampled_ends = 1,
					 .factor_sd = estimator->factor_sd,
					 .edge_sd = ESTIMATED_CODE_EDGE_SD};
}

static int find_run(struct work *work, char **err)
{
	struct comm_run *run = &work->whole->run;
	int64_t id = work->query->run;
	struct comm_runs *runs;
	size_t at;
	int code;

	code = comm_reader_load_runs(work->reader, &runs);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	if (!runs->n) {
		comm_runs_free(runs);
		return comm_reader_fail(err, -ENODATA, "the store %s holds no run yet",
					work->reader->path);
	}
	at = find_index(runs, id, work->query->label);
	if (at == runs->n && !id) {
		comm_runs_free(runs);
		return comm_reader_fail(err, -ENODATA, "the store %s has no run labelled '%s'",
					work->reader->path, work->query->label);
	}
	if (at == runs->n) {
		code = comm_reader_fail(
			err, -ENODATA, "the store %s has no run %lld; it has %lld to %lld",
			work->reader->path, (long long)id, (long long)runs->run[0].id,
			(long long)runs->run[at - 1].id);
		comm_runs_free(runs);
		return code;
	}
	*run = runs->run[at];
	memset(&runs->run[at], 0, sizeof(*run));
	comm_runs_free(runs);
	code = comm_reader_error_model(work->reader, run->id, &work->whole->error_model);
	work->report->exact = !code && comm_error_model_is_exact(&work->whole->error_model);
	work->whole->estimator_model = work->whole->error_model;
	if (!work->report->exact)
		work->whole->error_model.edge_sd = ESTIMATED_EDGE_SD;
	work->report->fresh = work->query->fresh;
	work->whole->by_chance = work->query->fresh && !work->report->exact;
	if (work->whole->by_chance)
		work->whole->error_model = watched_model(&work->whole->error_model);
	work->report->factor = exp(work->whole->error_model.factor_sd);
	if (!code)
		code = comm_reader_sum_run(work->reader, run);
	return code ? comm_reader_fail_db(work->reader, err, code) : 0;
}

static int open_aggregate(struct work *work, char **err)
{
	int code =
		comm_aggregate_init(&work->aggregate, work->query, work->reader, work->whole, err);
	const struct comm_grouping_use *ends;

	if (code)
		return code;
	/* When something was written, which who wrote it says nothing of. */
	if (comm_aggregate_by_time(&work->aggregate))
		work->whole->error_model.doubt_sd = 0;
	ends = comm_aggregate_ends(&work->aggregate);
	if (!work->query->fresh && !ends->tells_threads && !work->report->exact)
		work->whole->error_model.edge_sd =
			ends->tells_roles ? ESTIMATED_ROLE_EDGE_SD : ESTIMATED_CODE_EDGE_SD;
	return 0;
}

/* A relative time of the query as CLOCK_MONOTONIC, within the run. */
static uint64_t absolute(const struct comm_run *run, int64_t relative_ns, bool is_end)
{
	uint64_t length_ns = run->end_ns - run->start_ns;
	uint64_t back_ns = relative_ns < 0 ? -(uint64_t)relative_ns : 0;

	if (relative_ns < 0)
		return back_ns < length_ns ? run->end_ns - back_ns : run->start_ns;
	if ((is_end && !relative_ns) || (uint64_t)relative_ns > length_ns)
		return run->end_ns;
	return run->start_ns + relative_ns;
}

/* The report's slices: those of the store that have no narrower ones within. */
static int list_slices(struct work *work)
{
	struct comm_report *report = work->report;
	uint64_t *frames = NULL;
	int code = 0;

	work->whole->slices = calloc(work->slices.n + 1, sizeof(*work->whole->slices));
	if (!work->whole->slices)
		return -ENOMEM;
	if (work->aggregate.own.by_frame)
		code = comm_frame_counts_load(work->reader->db, report->run->id, &work->slices,
					      &frames);
	for (size_t i = 0; i < work->slices.n && !code; i++) {
		const struct comm_slices_one *s = &work->slices.slice[i];

		if (s->leaf)
			work->whole->slices[report->n_slices++] = (struct comm_report_slice){
				.start_ns = comm_slices_since(s->start_ns, report->run->start_ns),
				.end_ns = comm_slices_since(s->end_ns, report->run->start_ns),
				.bytes = work->query->first_read ? s->crossing_first_bytes
								 : s->crossing_bytes,
				.samples = s->samples,
				.frames = frames ? frames[i] : 0,
			};
	}
	free(frames);
	return code;
}

static int load_slices(struct work *work, char **err)
{
	struct comm_report *report = work->report;
	const struct comm_run *run = report->run;
	uint64_t from_ns = absolute(run, work->query->from_ns, false);
	uint64_t to_ns = absolute(run, work->query->to_ns, true);
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	double settled_ns = 0, settled_target_ns = 0;
	int code;

	if (run->end_ns == run->start_ns)
		return comm_reader_fail(err, -ENODATA, "run %lld has stored nothing yet",
					(long long)run->id);
	if (from_ns >= to_ns)
		return comm_reader_fail(
			err, -ENODATA,
			"the range is empty: run %lld lasts %.1f s, and the range goes "
			"from %.1f s to %.1f s",
			(long long)run->id, (run->end_ns - run->start_ns) / 1e9,
			(from_ns - run->start_ns) / 1e9, (to_ns - run->start_ns) / 1e9);
	/* Enough slices to check the range against itself; all of them cost time. */
	if (comm_aggregate_by_time(&work->aggregate))
		code = comm_periods_slices(work->reader->db, run->id, from_ns, to_ns,
					   &work->slices);
	else
		code = comm_slices_load(work->reader->db, run->id, from_ns, to_ns,
					(to_ns - from_ns) / COMM_BLOCKS_MAX,
					comm_aggregate_takes_strands(&work->aggregate),
					&work->slices);
	if (!code)
		code = list_slices(work);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	for (size_t i = 0; i < work->slices.n; i++) {
		const struct comm_slices_one *s = &work->slices.slice[i];

		if (!s->taken)
			continue;
		first_ns = s->start_ns < first_ns ? s->start_ns : first_ns;
		last_ns = s->end_ns > last_ns ? s->end_ns : last_ns;
		report->samples += s->samples;
		report->bursts += s->bursts;
		report->accesses += s->accesses;
		report->windows += s->watches;
		report->handler_ns += s->handler_ns;
		report->daemon_ns += s->daemon_ns;
		report->daemon_idle_ns += s->daemon_idle_ns;
		report->target_ns += s->target_ns;
		report->enabled_ns += s->enabled_ns;
		if (comm_slices_since(s->start_ns, run->start_ns) >= COMM_SETTLING_NS) {
			settled_ns += s->handler_ns + s->daemon_ns;
			settled_target_ns += s->target_ns;
		}
	}
	if (!last_ns)
		return comm_reader_fail(
			err, -ENODATA, "run %lld has nothing stored from %.1f s to %.1f s%s",
			(long long)run->id, (from_ns - run->start_ns) / 1e9,
			(to_ns - run->start_ns) / 1e9,
			run->deleted_ns ? "; its oldest part was deleted for want of space" : "");
	if (work->query->fresh && report->exact && !comm_census_is_told(work->reader->db, run->id))
		return comm_reader_fail(
			err, -ENODATA,
			"run %lld was counted without ages: how fresh its data is is not "
			"known; under Valgrind it is",
			(long long)run->id);
	if (work->query->fresh && !work->query->census && !report->windows && !report->exact)
		return comm_reader_fail(
			err, -ENODATA,
			"no window was opened in run %lld from %.1f s to %.1f s: nothing "
			"changes there, or commd could not look",
			(long long)run->id, (from_ns - run->start_ns) / 1e9,
			(to_ns - run->start_ns) / 1e9);
	report->from_ns = comm_slices_since(first_ns, run->start_ns);
	report->to_ns = comm_slices_since(last_ns, run->start_ns);
	report->enabled_ns = report->enabled_ns ? report->enabled_ns : 1;
	report->overhead =
		comm_reader_share(report->handler_ns + report->daemon_ns, report->target_ns);
	report->overhead_settled =
		settled_target_ns ? comm_reader_share(settled_ns, settled_target_ns) : -1;
	if (run->overhead_limit > 0)
		report->overhead_allowed =
			fmax(run->overhead_limit,
			     comm_reader_share(run->floor * report->enabled_ns, report->target_ns));
	return 0;
}

/* The rows of a slice; columns that few reports need cost time, and are left empty for others. */
static int prepare_rows(const struct work *work, bool strands, sqlite3_stmt **ret)
{
	bool first = work->query->first_read, watched = work->query->fresh;
	sqlite3 *db = work->reader->db;
	char sql[1024];

	if (*ret)
		return 0;
	snprintf(sql, sizeof(sql),
		 "SELECT src_thread, dst_thread, src_context, dst_context, object, bursts, level,"
		 " %s, %s, %s, %s, %s, %s FROM edge WHERE run = ?1 AND slice = ?2%s",
		 watched ? "watched_bytes, watched_variance"
		 : first ? "first_bytes, first_variance"
			 : "bytes, variance",
		 (work->aggregate.by_code || work->keeps) && !first && !watched ? "drawn_variance"
										: "0",
		 comm_aggregate_by_time(&work->aggregate) && !first ? "age" : "NULL",
		 strands ? "strands" : "NULL",
		 watched ? "0, 0, 0, 0" : "thread_doubt, role_doubt, side_doubt, code_doubt",
		 comm_aggregate_by_time(&work->aggregate) && !first ? "dates" : "NULL",
		 watched ? " AND watched_bytes > 0" COMM_NO_OWN_STACK("edge", "dst_thread") : "");
	if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(*ret, 1, work->report->run->id);
	if (watched)
		sqlite3_bind_int(*ret, 3, COMM_OBJECT_STACK);
	return 0;
}

/* Of watches no two count for one read, so these are the observations that a sum is worth (Kish). */
static uint32_t watches_of(const struct comm_edge *row)
{
	double n = row->variance > 0 ? row->bytes * row->bytes / row->variance : 1;

	return n >= 1 && n < UINT32_MAX ? (uint32_t)(n + 0.5) : 1;
}

/* A doubt of the row's bytes; a store may be hostile. */
static float doubt(sqlite3_stmt *stmt, int column, const struct comm_edge *row)
{
	double part = sqlite3_column_double(stmt, column) / COMM_DOUBT_ALL;

	return part > 0 ? (float)(fmin(part, 1) * row->bytes) : 0;
}

static void read_row(sqlite3_stmt *stmt, bool by_time, bool watched, struct comm_edge *row)
{
	row->src_thread = comm_id_column(stmt, 0);
	row->dst_thread = comm_id_column(stmt, 1);
	/* In edges of a store src_site and dst_site hold contexts (dictionary.h). */
	row->src_site = comm_id_column(stmt, 2);
	row->dst_site = comm_id_column(stmt, 3);
	row->object = comm_id_column(stmt, 4);
	row->bursts = sqlite3_column_int64(stmt, 5);
	row->level = sqlite3_column_int(stmt, 6);
	row->bytes = sqlite3_column_double(stmt, 7);
	row->variance = sqlite3_column_double(stmt, 8);
	row->drawn_variance = sqlite3_column_double(stmt, 9);
	row->doubts = (struct comm_doubts){doubt(stmt, 12, row), doubt(stmt, 13, row),
					   doubt(stmt, 14, row), doubt(stmt, 15, row)};
	if (watched) {
		row->bursts = watches_of(row);
		row->level = 0;
	}
	if (by_time)
		comm_ages_unpack(sqlite3_column_blob(stmt, 10),
				 (size_t)sqlite3_column_bytes(stmt, 10), row->bytes, &row->ages);
}

static int take_row(struct work *work, const struct comm_edge *row)
{
	return comm_aggregate_row(&work->aggregate, row, comm_filter_takes(&work->filter, row));
}

static int scan_kept(struct work *work, const struct comm_kept_slice *kept)
{
	struct comm_edge row = {0};
	int code = 0;

	for (size_t i = 0; i < kept->n && !code; i++) {
		comm_kept_row_get(&kept->row[i], &row);
		code = take_row(work, &row);
	}
	return code;
}

static int scan_stored(struct work *work, const struct comm_slices_one *slice, sqlite3_stmt *rows)
{
	bool by_time = comm_aggregate_by_time(&work->aggregate);
	struct comm_kept_rows *kept_rows = &work->reader->kept;
	struct comm_kept_slice *kept = NULL;
	struct comm_edge row = {0};
	int rc, code = 0;

	if (work->keeps && !slice->parts)
		kept = comm_kept_rows_new(kept_rows, work->report->run->id, slice->id);
	sqlite3_bind_int64(rows, 2, slice->id);
	while (!code && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		read_row(rows, by_time, work->query->fresh, &row);
		if (kept && !comm_kept_rows_add(kept_rows, kept, &row))
			kept = NULL;
		if (slice->parts)
			comm_aggregate_strands(&work->aggregate, sqlite3_column_blob(rows, 11),
					       (size_t)sqlite3_column_bytes(rows, 11));
		if (by_time)
			comm_aggregate_dates(&work->aggregate, sqlite3_column_blob(rows, 16),
					     (size_t)sqlite3_column_bytes(rows, 16));
		code = take_row(work, &row);
	}
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(work->reader->db);
	if (code && kept)
		comm_kept_rows_drop(kept_rows, kept);
	sqlite3_reset(rows);
	return code;
}

static int scan_rows(struct work *work, const struct comm_slices_one *slice, sqlite3_stmt **rows)
{
	const struct comm_kept_slice *kept = NULL;
	int code;

	if (work->keeps && !slice->parts)
		kept = comm_kept_rows_find(&work->reader->kept, work->report->run->id, slice->id);
	if (kept)
		return scan_kept(work, kept);
	code = prepare_rows(work, slice->parts, rows);
	return code ? code : scan_stored(work, slice, *rows);
}

/* Edges first: some nodes are numbered as they are met, and reports without the rest have the same. */
static int scan_slice(struct work *work, const struct comm_slices_one *slice, sqlite3_stmt **rows)
{
	struct comm_aggregate *aggregate = &work->aggregate;
	int code = comm_aggregate_slice(aggregate, slice);

	if (!code)
		code = scan_rows(work, slice, rows);
	if (!code && !work->query->fresh)
		code = comm_unseen_nodes_slice(&aggregate->unseen, &aggregate->own,
					       &aggregate->ends, &work->filter, slice);
	if (!code)
		code = comm_census_nodes_slice(&aggregate->census, &aggregate->own, &work->filter,
					       slice);
	if (!code)
		code = comm_node_ends_slice(&aggregate->writes.writes, &aggregate->own,
					    &work->filter, slice);
	if (!code)
		code = comm_node_ends_slice(&aggregate->lengths.ends, &aggregate->own, NULL, slice);
	return code;
}

static int scan(struct work *work)
{
	sqlite3_stmt *rows[2] = {NULL, NULL}; /* of plain slices, and of those with strands */
	int code = 0;

	work->keeps = !comm_aggregate_by_time(&work->aggregate);
	comm_kept_rows_begin(&work->reader->kept, work->query->fresh	    ? COMM_KEPT_FRESH
						  : work->query->first_read ? COMM_KEPT_FIRST
									    : COMM_KEPT_ALL);
	for (size_t i = 0; i < work->slices.n && !code; i++) {
		const struct comm_slices_one *slice = &work->slices.slice[i];

		if (slice->taken)
			code = scan_slice(work, slice, &rows[slice->parts > 0]);
	}
	sqlite3_finalize(rows[0]);
	sqlite3_finalize(rows[1]);
	return code;
}

/* Of slices narrow enough for halves of the run, where edges make do with strands of wide ones. */
static int load_cachelines(struct work *work, char **err)
{
	const struct comm_run *run = work->report->run;
	uint64_t from_ns = run->start_ns + work->report->from_ns;
	uint64_t to_ns = run->start_ns + work->report->to_ns;
	struct comm_slices slices;
	int code = comm_slices_load(work->reader->db, run->id, from_ns, to_ns,
				    (to_ns - from_ns) / COMM_BLOCKS_MAX, false, &slices);

	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	code = comm_cachelines_load(work->reader, &slices, work->whole, err);
	comm_slices_deinit(&slices);
	return code;
}

static int load_counts(struct work *work, char **err)
{
	struct comm_report_whole *whole = work->whole;
	struct comm_report *report = work->report;
	int code = comm_node_counts_load(&work->aggregate.own, &work->slices, &whole->counts,
					 &report->n_counts, err);

	if (code == -ENODATA)
		return code;
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	for (size_t i = 0; i < report->n_counts; i++)
		for (size_t j = 0; j < report->n_nodes; j++)
			if (!strcmp(whole->counts[i].node.id, whole->nodes[j].id))
				whole->counts[i].bytes =
					whole->nodes[j].written_bytes + whole->nodes[j].read_bytes;
	return 0;
}

static int order_totals(const void *a, const void *b)
{
	return strcmp((*(struct comm_report_total *const *)a)->node.id,
		      (*(struct comm_report_total *const *)b)->node.id);
}

/* Gives each total of a node the CPU time that was counted of it. */
static int put_cpu_lengths(struct comm_report_whole *whole, const struct comm_report_count *count,
			   size_t n)
{
	struct comm_report *report = &whole->shown;
	struct comm_report_total **by_id = calloc(report->n_totals + 1, sizeof(*by_id));
	bool is_counted = false;

	if (!by_id)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		is_counted |= !strcmp(count[i].counter, COMM_COUNTER_CPU);
	for (size_t i = 0; i < report->n_totals; i++) {
		by_id[i] = &whole->totals[i];
		/* What samples say of one node does not compare with what was counted of another. */
		if (is_counted)
			by_id[i]->length = by_id[i]->all_length = -1;
	}
	qsort(by_id, report->n_totals, sizeof(*by_id), order_totals);
	for (size_t i = 0; i < n; i++) {
		struct comm_report_total wanted = {.node = count[i].node}, *key = &wanted, **at;

		if (strcmp(count[i].counter, COMM_COUNTER_CPU) != 0)
			continue;
		report->length_unit = COMM_COUNTER_CPU;
		at = bsearch(&key, by_id, report->n_totals, sizeof(*by_id), order_totals);
		/* Sums of a hostile store may be no number. */
		if (at && count[i].total >= 0)
			(*at)->length = (*at)->all_length = count[i].total;
	}
	free(by_id);
	return 0;
}

/*
 * Where code was not counted, CPU time is how long threads and regions were, if that was counted: all of it, whichever
 * reads are asked for, and better than that of samples.
 */
static int load_cpu_lengths(struct work *work)
{
	struct comm_grouping_use *own = &work->aggregate.own;
	struct comm_report *report = work->report;
	struct comm_report_count *count;
	size_t n;
	int code;

	if (!work->query->totals || work->query->fresh || own->of_reads || own->of_data ||
	    (report->length_unit && strcmp(report->length_unit, COMM_COUNTER_CPU) != 0) ||
	    own->ops->around || comm_node_counts_check(own, NULL))
		return 0;
	code = comm_node_counts_load(own, &work->slices, &count, &n, NULL);
	if (code)
		return code == -ENODATA ? 0 : code;
	code = put_cpu_lengths(work->whole, count, n);
	free(count);
	return code;
}

static int build(struct work *work, char **err)
{
	struct comm_report *report = work->report;
	int code;

	code = comm_reader_snapshot(work->reader);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	code = find_run(work, err);
	if (!code)
		code = open_aggregate(work, err);
	if (!code && work->query->places)
		code = comm_places_check(&work->aggregate.own, err);
	if (!code && work->query->counts)
		code = comm_node_counts_check(&work->aggregate.own, err);
	if (!code)
		code = load_slices(work, err);
	if (!code)
		code = comm_filter_open(&work->filter, work->query, work->reader, report->run->id,
					err);
	if (code)
		return code;
	code = scan(work);
	if (!code)
		code = comm_losses_load(work->reader->db, report->run->id, &work->slices,
					&work->whole->texts, &work->whole->losses,
					&report->n_losses);
	if (!code && work->query->places)
		code = comm_places_load(&work->aggregate.own, &work->slices, &work->whole->places,
					&report->n_places);
	if (!code)
		code = comm_aggregate_edges_make(&work->aggregate);
	if (!code)
		code = load_cpu_lengths(work);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	if (work->query->cachelines)
		code = load_cachelines(work, err);
	if (!code && work->query->counts)
		code = load_counts(work, err);
	if (!code && work->whole->texts.failed)
		code = comm_reader_fail_db(work->reader, err, -ENOMEM);
	return code;
}

/* Fields are appended; a new one in former padding would not change the struct's size. */
_Static_assert(offsetof(struct comm_query, piece_ns) + sizeof(uint64_t) ==
		       sizeof(struct comm_query),
	       "struct comm_query ends in its last field");

/* Copies the query of a program older or newer than this library, as openat2(2) copies its. */
static int copy_query(const struct comm_query *theirs, struct comm_query *ret, char **err)
{
	size_t size = theirs->size < sizeof(*ret) ? theirs->size : sizeof(*ret);

	if (theirs->size < sizeof(theirs->size) || theirs->size > QUERY_SIZE_MAX)
		return comm_reader_fail(err, -EINVAL,
					"the size of struct comm_query is not set: begin with "
					"COMM_QUERY_INIT");
	for (size_t i = size; i < theirs->size; i++) {
		if (((const char *)theirs)[i])
			return comm_reader_fail(err, -E2BIG,
						"the program asks for what this libcommprof does "
						"not know yet; a newer one is needed");
	}
	memcpy(ret, theirs, size);
	return 0;
}

int comm_reader_report(struct comm_reader *reader, const struct comm_query *theirs,
		       struct comm_report **ret, char **err)
{
	struct comm_query query = {0};
	struct work work = {.reader = reader, .query = &query};
	int code;

	if (err)
		*err = NULL;
	code = copy_query(theirs, &query, err);
	if (code)
		return code;
	work.whole = comm_report_create();
	if (!work.whole)
		return -ENOMEM;
	work.report = &work.whole->shown;
	work.report->confidence =
		query.confidence > 0 && query.confidence < 1 ? query.confidence : 0.9;
	code = build(&work, err);
	comm_aggregate_deinit(&work.aggregate);
	comm_reader_release(reader);
	comm_slices_deinit(&work.slices);
	comm_filter_close(&work.filter);
	if (code) {
		comm_report_free(work.report);
		return code;
	}
	*ret = work.report;
	return 0;
}
