// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "made_store.h"
#include "role.h"
#include "schema.h"
#include "strand.h"
#include "unwritten.h"

static void set_version(int version)
{
	char text[64];

	snprintf(text, sizeof(text), "PRAGMA user_version = %d", version);
	sql(text);
}

static void test_refuses_newer_and_damaged(void **state)
{
	char garbage[4096];
	struct stat st;
	int fd;

	(void)state;
	make_finished(20);
	set_version(COMM_SCHEMA_VERSION + 1);
	refuse(-EPROTO, "newer version");
	set_version(COMM_SCHEMA_VERSION);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	refuse(-EUCLEAN, "damaged");
	unlink(path);

	make_finished(20);
	memset(garbage, 0xa5, sizeof(garbage));
	fd = open(path, O_WRONLY);
	for (off_t at = 4096; at < st.st_size; at += sizeof(garbage))
		assert_int_equal(pwrite(fd, garbage, sizeof(garbage), at), sizeof(garbage));
	close(fd);
	refuse(-EUCLEAN, "damaged");
	unlink(path);

	/* A store by its application id and version, but without the tables. */
	for (int version = 1; version <= COMM_SCHEMA_VERSION; version++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "PRAGMA application_id = 0x636f6d6d; PRAGMA user_version = %d", version);
		sql(text);
		refuse(-EUCLEAN, "damaged");
		unlink(path);
	}
}

static void test_migrates_an_older_one(void **state)
{
	(void)state;
	/* Version 0: marked as ours, its tables not made yet. */
	sql("PRAGMA application_id = 0x636f6d6d");
	assert_int_equal((int)query("PRAGMA user_version"), 0);
	make_finished(3);
	assert_int_equal((int)query("PRAGMA user_version"), COMM_SCHEMA_VERSION);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 0"), 3);
}

/*
 * A store written by commd with schema version 1: two runs of estimators and an
 * exact one.  Made with
 *
 *	commd --source replay:load.rec --estimator hazard --store schema1.store
 *	commd --source replay:load.rec --estimator nearest --store schema1.store
 *	commd --source exact --store schema1.store -- ./two
 *
 * of six seconds of "bench/load 4" and of two threads that hand over 64 words.
 */
#define SCHEMA_1 "tests/unit/data/schema1.store"

static void copy_schema_1(void)
{
	char block[65536];
	int from = open(SCHEMA_1, O_RDONLY), to;
	ssize_t n;

	if (from < 0)
		fail_msg("%s: %s", SCHEMA_1, strerror(errno));
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(to >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, n), n);
	assert_int_equal(n, 0);
	close(from);
	close(to);
}

static void bring_up_to_date(void)
{
	struct comm_store_config c = config();

	comm_store_close(open_store(&c));
}

/*
 * What that program's "commctl report --json --self --top 0 --min-share 0 --run
 * RUN --by-BY" said: number of edges and of resolved ones, .range.total_bytes,
 * and the sums of all low and high.  It did not check a run against itself: intervals are wider now,
 * and fewer edges resolved.  Run 2 by object has what was said since reads of a thread's own data count
 * half in the confusion, which is narrower; run 1, a part of which was guesses, what is said without them.
 */
static const struct {
	int64_t run;
	const char *by;
	size_t edges, resolved;
	double total_bytes, low, high;
} said[] = {
	{1, "thread", 11, 2, 123918097600, 60898612783.44992, 1167457329177},
	{1, "function", 1, 1, 123918097600, 61141551670, 205435822200},
	{1, "object", 8, 4, 123918097600, 119307079698, 568978221010},
	{1, "line", 5, 0, 123918097600, 42350104734.3745, 634373893131.1},
	{2, "thread", 8, 4, 182096174300, 106051689788.64607, 715569205740},
	{2, "function", 1, 1, 182096174300, 110487065700, 300116728600},
	{2, "object", 8, 8, 182096174300, 192596757100, 693047756300},
	{2, "line", 6, 2, 182096174300, 108524579430.18744, 1995848692091.1},
	{3, "thread", 1, 1, 256, 256, 256},
	{3, "function", 1, 1, 256, 256, 256},
	{3, "object", 2, 2, 256, 512, 512},
	{3, "line", 1, 1, 256, 256, 256},
};

static bool about(double a, double b)
{
	/* The JSON has ten digits. */
	return fabs(a - b) <= 1e-8 * fabs(b);
}

static void check_reports(void)
{
	assert_int_equal((int)query("PRAGMA user_version"), COMM_SCHEMA_VERSION);
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		struct comm_query q = {
			.size = sizeof(q), .run = said[i].run, .by = said[i].by, .self = true};
		struct comm_report *report = report_of(&q);
		double low = 0, high = 0;
		size_t resolved = 0;

		for (size_t j = 0; j < report->n_edges; j++) {
			low += comm_report_edge_at(report, j)->low;
			high += comm_report_edge_at(report, j)->high;
			resolved += comm_report_edge_at(report, j)->resolved;
		}
		if (report->n_edges != said[i].edges || resolved > said[i].resolved ||
		    !about(report->total_bytes, said[i].total_bytes) ||
		    (low > said[i].low && !about(low, said[i].low)) ||
		    (high < said[i].high && !about(high, said[i].high)) ||
		    report->exact != (said[i].run == 3) ||
		    (report->exact && resolved != said[i].resolved))
			fail_msg("run %d by %s: %zu edges, %zu resolved, %.10g bytes, %.10g to "
				 "%.10g",
				 (int)said[i].run, said[i].by, report->n_edges, resolved,
				 report->total_bytes, low, high);
		comm_report_free(report);
	}
}

static void test_reports_stay_what_they_were(void **state)
{
	(void)state;
	copy_schema_1();
	bring_up_to_date();
	check_reports();
}

/* The runs of a store of an earlier version, as that one left it. */
static void copy_version(int version)
{
	sqlite3 *db;

	copy_schema_1();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(comm_schema_migrate(db, version), 0);
	assert_int_equal(comm_schema_check(db, version), 0);
	sqlite3_close(db);
}

static void check_salvaged(int version)
{
	struct comm_salvaged saved = {.size = sizeof(saved)};
	char to[sizeof(path) + 8], *err = NULL;

	snprintf(to, sizeof(to), "%s.saved", path);
	if (comm_salvage(path, to, &saved, &err))
		fail_msg("salvage of version %d: %s", version, err);
	assert_int_equal(saved.runs, 3);
	assert_int_equal(saved.gaps, 0);
	/* What is asked is asked of path. */
	assert_int_equal(rename(to, path), 0);
	assert_int_equal(saved.edges, (int)query("SELECT count(*) FROM edge"));
	assert_int_equal(saved.slices, (int)query("SELECT count(*) FROM slice"));
	check_reports();
}

/* A store of each earlier version is refused by readers, saved by salvage, written on by commd, and then reports the same. */
static void test_each_version(void **state)
{
	struct comm_store_config c = config();
	struct comm_reader *reader;
	struct comm_store *store;
	struct comm_edge edge;
	char *err;

	(void)state;
	fill(&edge, 1, 1);
	for (int version = 1; version < COMM_SCHEMA_VERSION; version++) {
		copy_version(version);
		assert_int_equal(comm_reader_open(path, &reader, &err), -EPROTO);
		free(err);
		assert_int_equal((int)query("PRAGMA user_version"), version);
		check_salvaged(version);
		copy_version(version);
		store = open_store(&c);
		assert_int_equal(begin(store), 4);
		assert_int_equal(write_at(store, 0, &edge, 1), 0);
		assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
		comm_store_close(store);
		check_reports();
	}
}

static void test_old_rows_get_what_is_new(void **state)
{
	double guessed, first_guessed, bytes, unwritten, first_unwritten, edges;
	struct comm_reader *reader;
	struct comm_runs *runs;
	char *err;

	(void)state;
	copy_schema_1();
	guessed = query("SELECT sum(bytes) FROM edge WHERE level >= 6");
	first_guessed = query("SELECT sum(first_bytes) FROM edge WHERE level >= 6");
	bytes = query("SELECT sum(bytes) FROM slice");
	edges = query("SELECT count(*) FROM edge WHERE level < 6");
	unwritten = query("SELECT sum(unwritten_bytes) FROM slice");
	first_unwritten = query("SELECT sum(unwritten_first_bytes) FROM slice");
	assert_true(guessed > 0 && unwritten > 0);
	bring_up_to_date();
	/* Each site is a context of the same number. */
	assert_true(query("SELECT count(*) FROM context") == query("SELECT count(*) FROM site"));
	assert_true(query("SELECT count(*) FROM context WHERE id <> site OR region") == 0);
	assert_true(query("SELECT count(*) FROM edge WHERE src_context NOT IN"
			  " (SELECT id FROM context)") == 0);
	/* The model that reports applied to all runs but exact ones. */
	assert_true(query("SELECT count(*) FROM run WHERE sampled_ends = 2 AND factor_sd = 0.3"
			  " AND confusion_sd = 0.175 AND id < 3") == 2);
	assert_true(query("SELECT sampled_ends + factor_sd + confusion_sd FROM run"
			  " WHERE id = 3") == 0);
	/* Of an edge whose deepest level is the object, all counts as read without a known writer. */
	assert_true(query("SELECT count(*) FROM edge WHERE level >= 6") == 0);
	assert_true(query("SELECT count(*) FROM edge") == edges);
	assert_true(query("SELECT sum(edges) FROM slice") == edges);
	assert_true(about(query("SELECT sum(bytes) FROM slice"), bytes - guessed));
	assert_true(about(query("SELECT sum(bytes) FROM edge"), bytes - guessed));
	assert_true(about(query("SELECT sum(unwritten_bytes) FROM slice"), unwritten + guessed));
	assert_true(about(query("SELECT sum(unwritten_first_bytes) FROM slice"),
			  first_unwritten + first_guessed));
	/* Nobody kept where the loads of older runs found their data. */
	assert_true(query("SELECT count(*) FROM origin") == 0);
	assert_true(query("SELECT count(*) FROM run WHERE label = '' AND floor = 0"
			  " AND overhead_least = 0 AND stall_own_ns = 0") == 3);
	assert_true(query("SELECT count(*) FROM edge WHERE age <> x''") == 0);
	assert_true(query("SELECT count(*) FROM thread WHERE run = 3 AND (name, role) IN"
			  " (VALUES ('put-1', 'put'), ('get-1', 'get'), ('two', 'two'),"
			  " ('(other)', '(other)'))") == 4);
	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	assert_int_equal(comm_reader_runs(reader, &runs, &err), 0);
	assert_int_equal(comm_runs_count(runs), 3);
	for (size_t i = 0; i < 3; i++) {
		const char *uuid = comm_runs_at(runs, i)->uuid;

		assert_int_equal(strlen(uuid), 36);
		assert_int_equal(uuid[14], '4');
		assert_non_null(strchr("89ab", uuid[19]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(uuid, comm_runs_at(runs, j)->uuid);
	}
	comm_runs_free(runs);
	comm_reader_close(reader);
}

/* New runs beside old ones: the same code is the same context. */
static void test_writes_on(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[500];
	struct comm_store *store;

	(void)state;
	copy_schema_1();
	store = open_store(&c);
	fill(edges, 500, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(begin(store), 4 + i);
		assert_int_equal(write_at(store, 0, edges, 500), 0);
		assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	}
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM (SELECT src_thread, dst_thread, src_context,"
			  " dst_context, object, bytes FROM edge WHERE run = 4 INTERSECT SELECT"
			  " src_thread, dst_thread, src_context, dst_context, object, bytes"
			  " FROM edge WHERE run = 5)") == 500);
	assert_true(query("SELECT count(DISTINCT uuid) FROM run") == 5);
	assert_true(query("SELECT count(*) FROM thread WHERE run = 4 AND role = name") ==
		    query("SELECT count(*) FROM thread WHERE run = 4"));
}

static void test_reader_leaves_an_older_one(void **state)
{
	struct comm_reader *reader;
	char *err = NULL;

	(void)state;
	copy_schema_1();
	assert_int_equal(comm_reader_open(path, &reader, &err), -EPROTO);
	assert_non_null(strstr(err, "commd --store brings it up to date"));
	free(err);
	assert_int_equal((int)query("PRAGMA user_version"), 1);
}

static void put(sqlite3 *db, const char *text, const void *blob, size_t n)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_bind_blob(stmt, 1, blob, (int)n, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
}

/* Packs strands of two sums each, the second ones too if there are any. */
static size_t strands_of(double first, double other, double second, double second_other,
			 uint8_t ret[2 * COMM_STRANDS_PACKED])
{
	const struct comm_strands one = {{(float)first, (float)other}},
				  two = {{(float)second, (float)second_other}};

	comm_strands_pack(&one, ret);
	comm_strands_pack(&two, ret + COMM_STRANDS_PACKED);
	return comm_strands_is_empty(&two) ? COMM_STRANDS_PACKED : 2 * COMM_STRANDS_PACKED;
}

#define OLD_SLICE                                                                             \
	"INSERT INTO slice (id, run, level, start_ns, end_ns, edges, bytes, crossing_bytes,"  \
	" unwritten_bytes, unwritten_first_bytes, parts, strands, samples, bursts, accesses," \
	" handler_ns, daemon_ns, setup_ns, target_ns, crossing_first_bytes) "
#define OLD_REST " 0, 0, 0, 0, 0, 0, 0, 0"
#define OLD_EDGE                                                                             \
	"INSERT INTO edge (run, slice, src_thread, dst_thread, src_context, dst_context,"    \
	" object, bytes, guess_bytes, first_bytes, guess_first_bytes, level, watched_bytes," \
	" variance, first_variance, bursts, strands) "

/*
 * Of schema 13: a slice with an edge without guesses, one of which a part is, and two that are nothing
 * else, of which watchpoints saw one; a wide slice that sums some of it, and one without guesses.
 */
static void make_guesses(void)
{
	const struct comm_unwritten_end end = {2, 5, 1, 20, 10};
	uint8_t packed[COMM_UNWRITTEN_PACKED], strands[2 * COMM_STRANDS_PACKED];
	sqlite3 *db;
	size_t n;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(comm_schema_migrate(db, 13), 0);
	put(db, OLD_SLICE "VALUES (1, 1, 0, 0, 1, 4, 1650, 800, 30, 15, 0, x''," OLD_REST ")", NULL,
	    0);
	put(db, "INSERT INTO unwritten VALUES (1, 1, ?1)", packed,
	    comm_unwritten_pack(&end, 1, packed));
	put(db, OLD_EDGE "VALUES (1, 1, 1, 2, 4, 5, 1, 100, 0, 40, 0, 2, 0, 7, 3, 1, x'')", NULL,
	    0);
	put(db, OLD_EDGE "VALUES (1, 1, 3, 2, 4, 5, 1, 1000, 300, 200, 60, 6, 0, 9, 5, 2, x'')",
	    NULL, 0);
	put(db, OLD_EDGE "VALUES (1, 1, 3, 4, 4, 6, 2, 500, 500, 50, 50, 6, 0, 0, 0, 3, x'')", NULL,
	    0);
	put(db, OLD_EDGE "VALUES (1, 1, 4, 4, 7, 6, 2, 50, 50, 5, 5, 6, 8, 0, 0, 4, x'')", NULL, 0);
	n = strands_of(1, 3, 30, 0, strands);
	put(db, OLD_SLICE "VALUES (2, 1, 2, 0, 9, 2, 1500, 700, 30, 0, 2, ?1," OLD_REST ")",
	    strands, n);
	n = strands_of(350, 350, 0, 300, strands);
	put(db, OLD_EDGE "VALUES (1, 2, 3, 2, 4, 5, 1, 1000, 300, 200, 60, 6, 0, 9, 5, 2, ?1)",
	    strands, n);
	n = strands_of(0, 0, 100, 400, strands);
	put(db, OLD_EDGE "VALUES (1, 2, 3, 4, 4, 6, 2, 500, 500, 50, 50, 6, 0, 0, 0, 3, ?1)",
	    strands, n);
	put(db, OLD_SLICE "VALUES (3, 1, 0, 1, 2, 1, 9, 9, 3, 1, 0, x''," OLD_REST ")", NULL, 0);
	put(db, OLD_EDGE "VALUES (1, 3, 1, 2, 4, 5, 1, 9, 0, 4, 0, 2, 0, 7, 3, 1, x'')", NULL, 0);
	sqlite3_close(db);
}

/* The ends of a slice, up to n. */
static size_t ends_of(int slice, struct comm_unwritten_end *ret, size_t n)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	size_t i = 0;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT ends FROM unwritten WHERE slice = ?1", -1,
					    &stmt, NULL),
			 SQLITE_OK);
	sqlite3_bind_int(stmt, 1, slice);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		const uint8_t *packed = sqlite3_column_blob(stmt, 0);
		struct comm_unwritten_unpack unpack = {
			.at = packed, .end = packed + sqlite3_column_bytes(stmt, 0)};

		while (i < n && comm_unwritten_next(&unpack, &ret[i]))
			i++;
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return i;
}

static void assert_end(const struct comm_unwritten_end *end, uint32_t thread, uint32_t site,
		       uint32_t object, double bytes, double first_bytes)
{
	assert_true(end->thread == thread && end->site == site && end->object == object);
	assert_true(end->bytes == bytes && end->first_bytes == first_bytes);
}

static void assert_strands(const char *text, const uint8_t *expected, size_t n)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_bytes(stmt, 0), n);
	assert_memory_equal(sqlite3_column_blob(stmt, 0), expected, n);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* What edges lose their reading ends have, without a known writer. */
static void test_guesses_have_no_writer(void **state)
{
	uint8_t strands[2 * COMM_STRANDS_PACKED];
	struct comm_unwritten_end end[4];
	size_t n;

	(void)state;
	make_guesses();
	bring_up_to_date();
	assert_true(query("SELECT count(*) FROM edge") == 5);
	assert_true(query("SELECT count(*) FROM edge WHERE slice = 1 AND (src_thread, bytes,"
			  " first_bytes, level, watched_bytes, variance, bursts) IN (VALUES"
			  " (1, 100.0, 40.0, 2, 0.0, 7.0, 1), (3, 700.0, 140.0, 5, 0.0, 9.0, 2),"
			  " (4, 0.0, 0.0, 5, 8.0, 0.0, 4))") == 3);
	assert_true(query("SELECT count(*) FROM slice WHERE (id, edges, bytes, unwritten_bytes,"
			  " unwritten_first_bytes, crossing_bytes) IN (VALUES"
			  " (1, 3, 800.0, 880.0, 130.0, 800.0), (2, 1, 700.0, 830.0, 110.0, 700.0),"
			  " (3, 1, 9.0, 3.0, 1.0, 9.0))") == 3);
	assert_int_equal(ends_of(1, end, 4), 2);
	assert_end(&end[0], 2, 5, 1, 320, 70);
	assert_end(&end[1], 4, 6, 2, 550, 55);
	assert_int_equal(ends_of(2, end, 4), 2);
	assert_end(&end[0], 2, 5, 1, 300, 60);
	assert_end(&end[1], 4, 6, 2, 500, 50);
	assert_int_equal(ends_of(3, end, 4), 0);
	strands_of(350, 350, 0, 0, strands);
	assert_strands("SELECT strands FROM edge WHERE slice = 2", strands, COMM_STRANDS_PACKED);
	n = strands_of(1, 3, 30 + 100, 300 + 400, strands);
	assert_strands("SELECT strands FROM slice WHERE id = 2", strands, n);
	assert_true(query("SELECT count(*) FROM slice WHERE strands = x''") == 2);
}

/*
 * Slices of more reading ends than have room in a row are brought up to date within what a task of
 * the store may take (guard.h).
 */
static void test_many_guesses(void **state)
{
	enum { SLICES = 10, EDGES = 20000 };
	struct comm_unwritten_end *end = calloc(EDGES, sizeof(*end));
	double bytes = 0;
	sqlite3 *db;
	size_t n;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(comm_schema_migrate(db, 13), 0);
	put(db,
	    "WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"
	    " " OLD_EDGE "SELECT 1, 1 + i / 20000, i % 7, i % 50, 1, i, i % 3,"
	    " 9, i % 10, 1, 0, 6, 0, 1, 1, 1, x'' FROM n",
	    NULL, 0);
	put(db,
	    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10)"
	    " " OLD_SLICE "SELECT i, 1, 0, i, i + 1, 20000, 180000, 0, 0, 0, 0, x''," OLD_REST
	    " FROM n",
	    NULL, 0);
	sqlite3_close(db);
	bring_up_to_date();
	/* Each of 0 to 9 bytes of 9 is a guess as often; what is all of it goes. */
	assert_true(query("SELECT sum(bytes) FROM edge") == SLICES * EDGES / 10 * 45);
	assert_true(query("SELECT sum(bytes) FROM slice") == SLICES * EDGES / 10 * 45);
	assert_true(query("SELECT count(*) FROM edge") == SLICES * EDGES / 10 * 9);
	assert_true(query("SELECT sum(edges) FROM slice") == SLICES * EDGES / 10 * 9);
	assert_true(query("SELECT sum(unwritten_bytes) FROM slice") == SLICES * EDGES / 10 * 45);
	assert_true(query("SELECT max(length(ends)) FROM unwritten") <= 65536);
	n = ends_of(1, end, EDGES);
	assert_true(n > 1000);
	for (size_t i = 0; i < n; i++)
		bytes += end[i].bytes;
	assert_true(bytes == EDGES / 10 * 45);
	free(end);
}

struct interrupt {
	int left;  /* until the migration is cut off, in steps of SQLite's machine */
	bool kill; /* by SIGKILL; else by an error */
};

static int interrupt(void *ctx)
{
	struct interrupt *in = ctx;

	if (--in->left)
		return 0;
	if (in->kill)
		kill(getpid(), SIGKILL);
	return 1;
}

static int migrate_until(struct interrupt *in)
{
	sqlite3 *db;
	int err;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	/* Few pages in memory, so that the file itself is written before the end. */
	assert_int_equal(sqlite3_exec(db, "PRAGMA cache_size = 1", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_progress_handler(db, 1, interrupt, in);
	err = comm_schema_migrate(db, COMM_SCHEMA_VERSION);
	sqlite3_close(db);
	return err;
}

/* Cuts the migration off after so many steps, by an error and by SIGKILL; returns how far it was. */
static int cut_at(int left)
{
	pid_t child;
	int status, version;

	copy_schema_1();
	assert_true(migrate_until(&(struct interrupt){.left = left}) != 0);
	version = (int)query("PRAGMA user_version");
	assert_in_range(version, 1, COMM_SCHEMA_VERSION - 1);
	copy_schema_1();
	child = fork();
	if (!child)
		_exit(migrate_until(&(struct interrupt){.left = left, .kill = true}) != 0);
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* The next process that opens the store rolls the unfinished migration back. */
	sql(version == 1 ? "SELECT src_site FROM edge" : "SELECT src_context FROM edge");
	assert_int_equal((int)query("PRAGMA user_version"), version);
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'uuid'") == (version > 1));
	assert_true(query("SELECT count(*) FROM pragma_table_info('edge')"
			  " WHERE name = 'guess_bytes'") == (version > 2 && version < 14));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'origin'") ==
		    (version > 3));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'region'") ==
		    (version > 4));
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'label'") == (version > 5));
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'floor'") == (version > 6));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'count'") ==
		    (version > 7));
	assert_true(query("SELECT count(*) FROM pragma_table_info('edge')"
			  " WHERE name = 'age'") == (version > 7));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'cacheline'") ==
		    (version > 7));
	assert_true(query("SELECT count(*) FROM pragma_table_info('edge')"
			  " WHERE name = 'code_doubt'") == (version > 8));
	assert_true(query("SELECT count(*) FROM pragma_table_info('context')"
			  " WHERE name = 'own'") == (version > 9));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'written'") ==
		    (version > 9));
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'stall_ns'") == (version > 10));
	assert_true(query("SELECT count(*) FROM pragma_table_info('slice')"
			  " WHERE name = 'daemon_idle_ns'") == (version > 11));
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'overhead_least'") == (version > 12));
	assert_true(query("SELECT count(*) FROM sqlite_schema WHERE name = 'length'") ==
		    (version > 14));
	assert_true(query("SELECT count(*) FROM pragma_table_info('edge')"
			  " WHERE name = 'dates'") == (version > 15));
	assert_true(query("SELECT count(*) FROM pragma_table_info('run')"
			  " WHERE name = 'stall_own_ns'") == (version > 16));
	return version;
}

/* Wherever the migration is cut off, the store is whole and of a version on the way. */
static void test_interrupted(void **state)
{
	int n = 0, first = 1, last = COMM_SCHEMA_VERSION - 1;
	struct interrupt all = {.left = INT_MAX};
	int steps;

	(void)state;
	copy_schema_1();
	assert_int_equal(migrate_until(&all), 0);
	steps = INT_MAX - all.left;
	/* Some versions take few steps: the first are cut from the start, the last from the end. */
	for (int step = 1; step < steps; step += step / 8 + 1, n++) {
		int version = cut_at(step);

		/* Each version is reached for good. */
		assert_true(version >= first && (n || version == 1));
		first = version;
		version = cut_at(steps - step);
		assert_true(version <= last && (n || version == last));
		last = version;
	}
	assert_true(n > 5 && first > 1 && last < COMM_SCHEMA_VERSION - 1);
	bring_up_to_date();
	test_reports_stay_what_they_were(state);
}

static void test_roles(void **state)
{
	static const char *const roles[][2] = {
		{"io_thd_3", "io_thd"},
		{"worker-12", "worker"},
		{"GC Thread#0", "GC Thread"},
		{"pool-1-thread-3", "pool-1-thread"},
		{"kworker/0:1", "kworker"},
		{"postgres: walwriter", "postgres: walwriter"},
		{"работник-7", "работник"},
		{"pool\\x09", "pool\\x09"},
		{"redis-server", "redis-server"},
		{"background-io-", "background-io"},
		{"42", "42"},
		{"7-8", "7-8"},
		{"", ""},
		{"x", "x"},
		{"(other)", "(other)"},
		{"Thread-3 (parse)", "Thread (parse)"},
		{"Thread-12 (parse", "Thread (parse"},
		{"Thread-12 (Thread-3 (f))", "Thread (Thread-3 (f))"},
		{"Thread-7", "Thread"},
		{"Thread-(f)", "Thread-(f)"},
		{"Thread-3x (f)", "Thread-3x (f)"},
		{"Thread-1 (678901234567890123456789012345678901234567890123456)",
		 "Thread (678901234567890123456789012345678901234567890123456)"},
	};
	char role[COMM_ROLE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		comm_role_of(roles[i][0], role);
		assert_string_equal(role, roles[i][1]);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_refuses_newer_and_damaged),
		TEST(test_migrates_an_older_one),
		TEST(test_reports_stay_what_they_were),
		TEST(test_each_version),
		TEST(test_old_rows_get_what_is_new),
		TEST(test_guesses_have_no_writer),
		TEST(test_many_guesses),
		TEST(test_writes_on),
		TEST(test_reader_leaves_an_older_one),
		TEST(test_interrupted),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
