// SPDX-License-Identifier: GPL-2.0-or-later
/* All SQL that reads a store for its users, save the choice of slices. */
#include <comm/comm.h>

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge.h"
#include "edge_table.h"
#include "event.h"
#include "ids.h"
#include "interval.h"
#include "reader.h"
#include "report.h"
#include "schema.h"
#include "slices.h"

enum {
	QUERY_FIRST = 64,
	/* Bounds the tables indexed by ids, above any that are given out. */
	QUERY_ID_MAX = 1 << 24,
	/* A thread's name and its tid. */
	COMM_LABEL = 64,
	/* No struct comm_query will be larger: its size was never set. */
	QUERY_SIZE_MAX = 4096,
};

/* A report in the making. */
struct work {
	struct comm_reader *reader;
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report;	     /* &whole->shown */
	struct comm_error_model error_model; /* of the run's estimator */
	struct comm_slices cover;
	/*
	 * Groups: src_thread and dst_thread hold the ids of the two nodes,
	 * src_site is enum part, object the reading thread.
	 */
	struct comm_edge_table groups;
	struct comm_edge_table pairs;  /* BY_OBJECT: threads and the object between */
	struct comm_edge_table coarse; /* coarse_bytes, keyed as groups but for the thread */
	struct comm_edge_table reads;  /* all that a node reads, by dst_thread and src_site */
	struct burst_max {
		size_t slice;
		uint32_t bursts;
	} * max; /* one per group */
	size_t n_max;
	uint32_t *function_of; /* by site, UINT32_MAX: not asked for yet */
	uint32_t *shown_as;    /* by object: the first one that is called like it */
	size_t n_shown;
	size_t n_functions_of;
	uint8_t *wanted; /* by thread; NULL: all */
	size_t n_wanted;
	sqlite3_stmt *get_function;
};

/* Which two kinds of nodes a group joins. */
enum part {
	PART_PLAIN,
	PART_IN,  /* thread -> object */
	PART_OUT, /* object -> thread */
};

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
	at = id ? 0 : runs->n - 1;
	while (id && at < runs->n && runs->run[at].id != id)
		at++;
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
	code = comm_reader_error_model(work->reader, run->id, &work->error_model);
	work->report->exact = !code && comm_error_model_is_exact(&work->error_model);
	work->report->factor = exp(work->error_model.factor_sd);
	if (!code)
		code = comm_reader_sum_run(work->reader, run);
	return code ? comm_reader_fail_db(work->reader, err, code) : 0;
}

/* A time of the query as an absolute one, within the run. */
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

static int load_slices(struct work *work, char **err)
{
	struct comm_report *report = work->report;
	const struct comm_run *run = report->run;
	uint64_t from_ns = absolute(run, work->query->from_ns, false);
	uint64_t to_ns = absolute(run, work->query->to_ns, true);
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
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
	code = comm_slices_load(work->reader->db, run->id, from_ns, to_ns, &work->cover);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	work->whole->slices = calloc(work->cover.n + 1, sizeof(*work->whole->slices));
	if (!work->whole->slices)
		return comm_reader_fail_db(work->reader, err, -ENOMEM);
	for (size_t i = 0; i < work->cover.n; i++) {
		const struct comm_slices_one *s = &work->cover.slice[i];
		bool first = work->query->first_read;

		if (s->leaf)
			work->whole->slices[report->n_slices++] = (struct comm_report_slice){
				.start_ns = s->start_ns - run->start_ns,
				.end_ns = s->end_ns - run->start_ns,
				.bytes = first ? s->crossing_first_bytes : s->crossing_bytes,
				.samples = s->samples,
			};
		if (!s->taken)
			continue;
		first_ns = s->start_ns < first_ns ? s->start_ns : first_ns;
		last_ns = s->end_ns > last_ns ? s->end_ns : last_ns;
		report->samples += s->samples;
		report->bursts += s->bursts;
		report->accesses += s->accesses;
		report->handler_ns += s->handler_ns;
		report->daemon_ns += s->daemon_ns;
		report->target_ns += s->target_ns;
		report->unwritten_bytes += first ? s->unwritten_first_bytes : s->unwritten_bytes;
	}
	if (!last_ns)
		return comm_reader_fail(
			err, -ENODATA, "run %lld has nothing stored from %.1f s to %.1f s%s",
			(long long)run->id, (from_ns - run->start_ns) / 1e9,
			(to_ns - run->start_ns) / 1e9,
			run->deleted_ns ? "; its oldest part was deleted for want of space" : "");
	report->from_ns = first_ns - run->start_ns;
	report->to_ns = last_ns - run->start_ns;
	report->overhead =
		comm_reader_share(report->handler_ns + report->daemon_ns, report->target_ns);
	return 0;
}

/* Marks the threads that the query names. */
static int find_threads(struct work *work, char **err)
{
	const char *want = work->query->thread;
	long long run = work->report->run->id;
	char number[16], label[COMM_LABEL];
	sqlite3_stmt *stmt;
	bool found = false;
	int rc, code = 0;

	if (!want)
		return 0;
	work->n_wanted = COMM_THREADS_MAX;
	work->wanted = calloc(work->n_wanted, 1);
	if (!work->wanted)
		return comm_reader_fail_db(work->reader, err, -ENOMEM);
	if (sqlite3_prepare_v2(work->reader->db, "SELECT id, tid, name FROM thread WHERE run = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_reader_fail_db(work->reader, err, comm_schema_errno(work->reader->db));
	sqlite3_bind_int64(stmt, 1, run);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 2);
		uint64_t id = sqlite3_column_int64(stmt, 0);

		snprintf(number, sizeof(number), "%u", (uint32_t)sqlite3_column_int64(stmt, 1));
		/* Also as reports tell threads of one name apart. */
		snprintf(label, sizeof(label), "%s/%s", text ? text : "", number);
		if (id < work->n_wanted && (!strcmp(number, want) || !strcmp(label, want) ||
					    (text && !fnmatch(want, text, 0)))) {
			work->wanted[id] = 1;
			found = true;
		}
	}
	if (rc != SQLITE_DONE)
		code = comm_reader_fail_db(work->reader, err, comm_schema_errno(work->reader->db));
	sqlite3_finalize(stmt);
	if (!code && !found)
		code = comm_reader_fail(
			err, -ENODATA,
			"run %lld has no thread '%s'; \"commctl report\" shows what it has", run,
			want);
	return code;
}

static bool is_wanted(const struct work *work, const struct comm_edge *row)
{
	return !work->wanted ||
	       (row->src_thread < work->n_wanted && work->wanted[row->src_thread]) ||
	       (row->dst_thread < work->n_wanted && work->wanted[row->dst_thread]);
}

/* The function or line, as the query groups, of a context. */
static int function_of(struct work *work, uint32_t site, uint32_t *ret)
{
	sqlite3_stmt *stmt = work->get_function;
	int rc;

	if (site >= work->n_functions_of) {
		size_t n = work->n_functions_of ? work->n_functions_of : QUERY_FIRST;
		uint32_t *grown;

		while (n <= site)
			n *= 2;
		grown = reallocarray(work->function_of, n, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + work->n_functions_of, 0xff,
		       (n - work->n_functions_of) * sizeof(*grown));
		work->function_of = grown;
		work->n_functions_of = n;
	}
	if (work->function_of[site] == UINT32_MAX) {
		sqlite3_bind_int64(stmt, 1, site);
		rc = sqlite3_step(stmt);
		work->function_of[site] =
			rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(stmt, 0) : COMM_ID_OTHER;
		sqlite3_reset(stmt);
		if (rc != SQLITE_ROW && rc != SQLITE_DONE)
			return comm_schema_errno(work->reader->db);
	}
	*ret = work->function_of[site];
	return 0;
}

/*
 * Adds a row to a group.  One burst may stand behind many rows of a slice, so
 * within one slice and reading thread only the largest number counts: the sum
 * over slices and readers is a lower bound of the distinct bursts.
 */
static int add(struct work *work, size_t slice, enum part part, uint32_t from, uint32_t to,
	       const struct comm_edge *row)
{
	struct comm_edge *group, *group_coarse,
		key = {.src_thread = from,
		       .dst_thread = to,
		       .src_site = part,
		       .object = row->dst_thread};
	struct burst_max *max;
	size_t at;
	int code;

	code = comm_edge_table_at(&work->groups, &key, &group);
	if (code)
		return code;
	at = group - work->groups.edge;
	if (at >= work->n_max) {
		size_t n = work->groups.capacity;

		max = reallocarray(work->max, n, sizeof(*max));
		if (!max)
			return -ENOMEM;
		memset(max + work->n_max, 0, (n - work->n_max) * sizeof(*max));
		work->max = max;
		work->n_max = n;
	}
	max = &work->max[at];
	if (max->slice != slice) {
		max->slice = slice;
		max->bursts = 0;
	}
	if (row->bursts > max->bursts) {
		/* Past 4 billion nobody counts: it only must not wrap to few. */
		if (group->bursts <= UINT32_MAX - (row->bursts - max->bursts))
			group->bursts += row->bursts - max->bursts;
		max->bursts = row->bursts;
	}
	group->bytes += row->bytes;
	if (row->level >= COMM_LEVEL_OBJECT) {
		key.object = 0;
		code = comm_edge_table_at(&work->coarse, &key, &group_coarse);
		if (code)
			return code;
		group_coarse->bytes += row->bytes;
	}
	if (row->variance > 0 && isfinite(row->variance))
		group->variance += row->variance;
	if (row->level > group->level)
		group->level = row->level;
	return 0;
}

/*
 * Estimation keeps allocations apart; a reader cannot tell two that have one
 * name, so they are one node.
 */
static int load_shown(struct work *work)
{
	static const char sql[] =
		"SELECT id, MIN(id) OVER (PARTITION BY kind, name, module, build_id, thread_tid)"
		" FROM object WHERE run = ?1 ORDER BY id DESC";
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(work->reader->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(work->reader->db);
	sqlite3_bind_int64(stmt, 1, work->report->run->id);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(stmt, 0);

		if (!work->shown_as) {
			work->n_shown = (size_t)id + 1;
			work->shown_as = calloc(work->n_shown, sizeof(*work->shown_as));
			if (!work->shown_as) {
				code = -ENOMEM;
				break;
			}
		}
		work->shown_as[id] = (uint32_t)sqlite3_column_int64(stmt, 1);
	}
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(work->reader->db);
	sqlite3_finalize(stmt);
	return code;
}

static int add_pair(struct work *work, const struct comm_edge *row)
{
	struct comm_edge *pair, key = {.src_thread = row->src_thread,
				       .dst_thread = row->dst_thread,
				       .object = row->object};
	int code = comm_edge_table_at(&work->pairs, &key, &pair);

	if (!code)
		pair->bytes += row->bytes;
	return code;
}

/* Whoever wrote it and whether it is shown or not. */
static int add_read(struct work *work, enum part part, uint32_t to, const struct comm_edge *row)
{
	struct comm_edge *reads, key = {.dst_thread = to, .src_site = part};
	int code = comm_edge_table_at(&work->reads, &key, &reads);

	if (!code)
		reads->bytes += row->bytes;
	return code;
}

static void add_total(struct comm_report *report, const struct comm_edge *row)
{
	report->total_bytes += row->bytes;
	if (row->level >= COMM_LEVEL_OBJECT)
		report->coarse_bytes += row->bytes;
}

static int group(struct work *work, size_t slice, const struct comm_edge *row)
{
	struct comm_report *report = work->report;
	uint32_t from = row->src_thread, to = row->dst_thread;
	bool by_object = work->query->by == COMM_BY_OBJECT;
	int code = 0;

	if (!(row->bytes > 0) || !isfinite(row->bytes))
		return 0;
	report->read_bytes += row->bytes;
	if (work->query->by == COMM_BY_LINE || work->query->by == COMM_BY_FUNCTION) {
		code = function_of(work, row->src_site, &from);
		if (!code)
			code = function_of(work, row->dst_site, &to);
	}
	if (!code && by_object)
		code = add_read(work, PART_IN, row->object, row);
	if (!code)
		code = add_read(work, by_object ? PART_OUT : PART_PLAIN, to, row);
	if (code || !is_wanted(work, row))
		return code;
	if (work->query->across && row->src_thread == row->dst_thread) {
		report->within_bytes += row->bytes;
		return 0;
	}
	if (by_object) {
		if (from == to && !work->query->self) {
			report->self_bytes += row->bytes;
			return 0;
		}
		add_total(report, row);
		code = add(work, slice, PART_IN, from, row->object, row);
		if (!code)
			code = add(work, slice, PART_OUT, row->object, to, row);
		return code ? code : add_pair(work, row);
	}
	if (from == COMM_ID_OTHER && to == COMM_ID_OTHER) {
		report->folded_bytes += row->bytes;
		return 0;
	}
	if (from == to && !work->query->self) {
		report->self_bytes += row->bytes;
		return 0;
	}
	add_total(report, row);
	return add(work, slice, PART_PLAIN, from, to, row);
}

static const char edges_sql[] =
	"SELECT src_thread, dst_thread, src_context, dst_context, object,"
	" bursts, level, bytes, variance FROM edge WHERE run = ?1 AND slice = ?2";
static const char first_edges_sql[] =
	"SELECT src_thread, dst_thread, src_context, dst_context, object,"
	" bursts, level, first_bytes, first_variance FROM edge WHERE run = ?1 AND slice = ?2";
static const char function_sql[] = "SELECT s.function FROM context c JOIN site s ON s.id = c.site"
				   " WHERE c.id = ?1";
static const char line_sql[] = "SELECT site FROM context WHERE id = ?1";

static uint32_t id_column(sqlite3_stmt *stmt, int column)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	return value > 0 && value < QUERY_ID_MAX ? value : COMM_ID_OTHER;
}

static int scan(struct work *work)
{
	sqlite3 *db = work->reader->db;
	struct comm_edge row = {0};
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db, work->query->first_read ? first_edges_sql : edges_sql, -1, &stmt,
			       NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	if (sqlite3_prepare_v2(db, work->query->by == COMM_BY_LINE ? line_sql : function_sql, -1,
			       &work->get_function, NULL) != SQLITE_OK)
		code = comm_schema_errno(db);
	if (!code && work->query->by == COMM_BY_OBJECT)
		code = load_shown(work);
	sqlite3_bind_int64(stmt, 1, work->report->run->id);
	for (size_t i = 0; i < work->cover.n && !code; i++) {
		if (!work->cover.slice[i].taken)
			continue;
		sqlite3_bind_int64(stmt, 2, work->cover.slice[i].id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			row.src_thread = id_column(stmt, 0);
			row.dst_thread = id_column(stmt, 1);
			row.src_site = id_column(stmt, 2);
			row.dst_site = id_column(stmt, 3);
			row.object = id_column(stmt, 4);
			if (row.object < work->n_shown)
				row.object = work->shown_as[row.object];
			row.bursts = sqlite3_column_int64(stmt, 5);
			row.level = sqlite3_column_int(stmt, 6);
			row.bytes = sqlite3_column_double(stmt, 7);
			row.variance = sqlite3_column_double(stmt, 8);
			code = group(work, i + 1, &row);
		}
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	work->report->read_bytes += work->report->unwritten_bytes;
	return code;
}

static int order_losses(const void *pa, const void *pb)
{
	const struct comm_report_loss *a = pa, *b = pb;

	return (a->n < b->n) - (a->n > b->n);
}

static const char *loss_help(const char *cause)
{
	for (int i = 0; i < COMM_LOSS_MAX; i++) {
		if (!strcmp(comm_loss_name(i), cause))
			return comm_loss_help(i);
	}
	return "";
}

static int load_losses(struct work *work)
{
	struct comm_report *report = work->report;
	struct comm_report_loss *grown;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(work->reader->db,
			       "SELECT cause, n FROM loss WHERE run = ?1 AND slice = ?2", -1, &stmt,
			       NULL) != SQLITE_OK)
		return comm_schema_errno(work->reader->db);
	sqlite3_bind_int64(stmt, 1, report->run->id);
	for (size_t i = 0; i < work->cover.n && !code; i++) {
		if (!work->cover.slice[i].taken)
			continue;
		sqlite3_bind_int64(stmt, 2, work->cover.slice[i].id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			const char *cause = (const char *)sqlite3_column_text(stmt, 0);
			size_t at = 0;

			while (at < report->n_losses &&
			       strcmp(work->whole->losses[at].cause, cause ? cause : "") != 0)
				at++;
			if (at == report->n_losses) {
				grown = reallocarray(work->whole->losses, at + 1, sizeof(*grown));
				if (!grown) {
					code = -ENOMEM;
					break;
				}
				work->whole->losses = grown;
				report->n_losses++;
				grown[at].cause = comm_texts_keep(&work->whole->texts, stmt, 0);
				grown[at].help = loss_help(grown[at].cause);
				grown[at].n = 0;
			}
			work->whole->losses[at].n += sqlite3_column_int64(stmt, 1);
		}
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(work->reader->db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	if (report->n_losses)
		qsort(work->whole->losses, report->n_losses, sizeof(*work->whole->losses),
		      order_losses);
	return code;
}

static int order_edges(const void *pa, const void *pb, void *ctx)
{
	const struct comm_report_edge *a = pa, *b = pb;
	double min_share = *(const double *)ctx;

	if ((a->share >= min_share) != (b->share >= min_share))
		return a->share >= min_share ? -1 : 1;
	if (a->resolved != b->resolved)
		return a->resolved ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Nodes are found through a table of cells: (kind, id) -> index + 1. */
static int node_of(struct work *work, struct comm_edge_table *index, enum comm_node_kind kind,
		   uint32_t id, size_t *ret)
{
	static const char letters[] = {
		[COMM_NODE_THREAD] = 't',
		[COMM_NODE_FUNCTION] = 'f',
		[COMM_NODE_OBJECT] = 'o',
		[COMM_NODE_LINE] = 'l',
	};
	struct comm_edge *cell, key = {.src_thread = kind, .dst_thread = id};
	struct comm_report *report = work->report;
	struct comm_node *node;
	int code;

	code = comm_edge_table_at(index, &key, &cell);
	if (code)
		return code;
	*ret = cell - index->edge;
	if (*ret < report->n_nodes)
		return 0;
	if (!(*ret & (*ret - 1))) {
		struct comm_node *grown =
			reallocarray(work->whole->nodes, *ret ? 2 * *ret : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		work->whole->nodes = grown;
	}
	node = &work->whole->nodes[report->n_nodes++];
	memset(node, 0, sizeof(*node));
	snprintf(node->id, sizeof(node->id), "%c%u", letters[kind], id);
	node->kind = kind;
	node->other = id == COMM_ID_OTHER;
	node->name = "(other)";
	node->module = node->build_id = node->source = node->inlined = node->object_kind = "";
	return 0;
}

static int make_edges(struct work *work, struct comm_edge_table *index)
{
	static const enum comm_node_kind plain[] = {
		[COMM_BY_THREAD] = COMM_NODE_THREAD,
		[COMM_BY_FUNCTION] = COMM_NODE_FUNCTION,
		[COMM_BY_LINE] = COMM_NODE_LINE,
	};
	double z = comm_interval_z(work->query->confidence), min_share;
	struct comm_report *report = work->report;
	struct comm_edge_table edges = {0};
	int code = 0;

	/* Reading threads were kept apart for the sake of the bursts. */
	for (size_t i = 0; i < work->groups.n && !code; i++) {
		work->groups.edge[i].object = 0;
		code = comm_edge_table_add(&edges, &work->groups.edge[i]);
	}
	if (!code && !comm_edge_table_sort(&edges)) {
		work->whole->edges = calloc(edges.n + 1, sizeof(*work->whole->edges));
		if (!work->whole->edges)
			code = -ENOMEM;
	}
	for (size_t i = 0; i < edges.n && !code; i++) {
		const struct comm_edge *e = &edges.edge[i];
		struct comm_report_edge *out = &work->whole->edges[i];
		enum comm_node_kind from, to;
		struct comm_estimate estimate = {
			.bytes = e->bytes, .variance = e->variance, .samples = e->bursts};
		struct comm_edge *coarse, *reads;

		if (e->src_site == PART_PLAIN)
			from = to = plain[work->query->by];
		else
			from = e->src_site == PART_IN ? COMM_NODE_THREAD : COMM_NODE_OBJECT;
		if (e->src_site != PART_PLAIN)
			to = e->src_site == PART_IN ? COMM_NODE_OBJECT : COMM_NODE_THREAD;
		code = node_of(work, index, from, e->src_thread, &out->from);
		if (!code)
			code = node_of(work, index, to, e->dst_thread, &out->to);
		if (!code)
			code = comm_edge_table_at(&work->reads,
						  &(struct comm_edge){.dst_thread = e->dst_thread,
								      .src_site = e->src_site},
						  &reads);
		if (code)
			break;
		estimate.read_bytes = reads->bytes;
		out->bytes = e->bytes;
		if (report->exact)
			out->low = out->high = e->bytes;
		else
			comm_interval(&work->error_model, &estimate, z, &out->low, &out->high);
		out->share = comm_reader_share(e->bytes, report->total_bytes);
		out->samples = e->bursts;
		out->level = e->level;
		code = comm_edge_table_at(&work->coarse,
					  &(struct comm_edge){.src_thread = e->src_thread,
							      .dst_thread = e->dst_thread,
							      .src_site = e->src_site},
					  &coarse);
		if (code)
			break;
		out->coarse_bytes = coarse->bytes;
		out->resolved = report->exact ||
				(comm_interval_resolved(&work->error_model, &estimate) &&
				 100 * out->coarse_bytes <= COMM_RESOLVED_COARSE_PCT * e->bytes);
		work->whole->nodes[out->from].written_bytes += e->bytes;
		work->whole->nodes[out->to].read_bytes += e->bytes;
		report->n_edges++;
	}
	comm_edge_table_deinit(&edges);
	if (code)
		return code;
	min_share = work->query->min_share;
	qsort_r(work->whole->edges, report->n_edges, sizeof(*work->whole->edges), order_edges,
		&min_share);
	while (report->n_shown < report->n_edges &&
	       work->whole->edges[report->n_shown].share >= min_share &&
	       (!work->query->top || report->n_shown < work->query->top))
		report->n_shown++;
	return 0;
}

/* All nodes are there already: pairs were added with their edges. */
static int find_main_pairs(struct work *work, struct comm_edge_table *index)
{
	struct comm_node *nodes = work->whole->nodes;
	size_t object, writer, reader;
	int code = 0;

	for (size_t i = 0; i < work->pairs.n && !code; i++) {
		const struct comm_edge *pair = &work->pairs.edge[i];

		code = node_of(work, index, COMM_NODE_OBJECT, pair->object, &object);
		if (!code)
			code = node_of(work, index, COMM_NODE_THREAD, pair->src_thread, &writer);
		if (!code)
			code = node_of(work, index, COMM_NODE_THREAD, pair->dst_thread, &reader);
		if (code || pair->bytes <= nodes[object].main_bytes)
			continue;
		nodes[object].main_writer = writer;
		nodes[object].main_reader = reader;
		nodes[object].main_bytes = pair->bytes;
	}
	return code;
}

static int build(struct work *work, char **err)
{
	struct comm_edge_table index = {0};
	int code;

	code = comm_reader_snapshot(work->reader);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	code = find_run(work, err);
	if (!code && work->query->by == COMM_BY_REGION)
		code = comm_reader_fail(err, -ENODATA,
					"run %lld has no code regions: the program marked none",
					(long long)work->report->run->id);
	if (!code)
		code = load_slices(work, err);
	if (!code)
		code = find_threads(work, err);
	if (code)
		return code;
	code = scan(work);
	if (!code)
		code = load_losses(work);
	if (!code)
		code = make_edges(work, &index);
	if (!code)
		code = find_main_pairs(work, &index);
	if (!code)
		code = comm_nodes_name(work->reader->db, work->report->run->id, work->whole->nodes,
				       work->report->n_nodes, &work->whole->texts);
	if (!code && work->whole->texts.failed)
		code = -ENOMEM;
	comm_edge_table_deinit(&index);
	return code ? comm_reader_fail_db(work->reader, err, code) : 0;
}

/* Fields are appended, and none may hide in what was padding before. */
_Static_assert(offsetof(struct comm_query, confidence) + sizeof(double) ==
		       sizeof(struct comm_query),
	       "struct comm_query ends in its last field");

/* The query of a program that may be older or newer than we are, as openat2(2) does it. */
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
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, theirs, size);
	return 0;
}

int comm_reader_report(struct comm_reader *reader, const struct comm_query *theirs,
		       struct comm_report **ret, char **err)
{
	struct comm_query query;
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
	sqlite3_finalize(work.get_function);
	comm_reader_release(reader);
	comm_slices_deinit(&work.cover);
	comm_edge_table_deinit(&work.groups);
	comm_edge_table_deinit(&work.pairs);
	comm_edge_table_deinit(&work.coarse);
	comm_edge_table_deinit(&work.reads);
	free(work.max);
	free(work.function_of);
	free(work.shown_as);
	free(work.wanted);
	if (code) {
		comm_report_free(work.report);
		return code;
	}
	*ret = work.report;
	return 0;
}
