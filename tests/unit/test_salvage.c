// SPDX-License-Identifier: GPL-2.0-or-later
/* What can be read of a damaged store gets into a new one, and what it lacks is counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "made_store.h"
#include "schema.h"

enum { SLICES = 12, PAGE = COMM_SCHEMA_PAGE_BYTES };

static char saved_path[160];

static int salvage(struct comm_salvaged *ret)
{
	char *err = NULL;
	int code;

	snprintf(saved_path, sizeof(saved_path), "%s/saved.db", dir);
	unlink(saved_path);
	*ret = (struct comm_salvaged){.size = sizeof(*ret)};
	code = comm_salvage(path, saved_path, ret, &err);
	assert_true(code == 0 || (err && strstr(err, path)));
	free(err);
	/* A copy that failed leaves nothing behind. */
	assert_int_equal(access(saved_path, F_OK) == 0, code == 0);
	return code;
}

/* Asks the new store, or the damaged one. */
static double ask(const char *which, const char *text)
{
	char keep[sizeof(path)];
	double value;

	strcpy(keep, path);
	snprintf(path, sizeof(path), "%.120s", which);
	value = query(text);
	strcpy(path, keep);
	return value;
}

/* What is there is right: slices that do not say that they lack something are as they were. */
static void check_saved(const char *original)
{
	char text[512];

	for (int i = 1; i <= SLICES; i++) {
		const char *lacks = "SELECT count(*) FROM slice s WHERE level = 0 AND id = %d AND"
				    " NOT EXISTS (SELECT 1 FROM loss WHERE slice = s.id AND"
				    " cause = 'slices_unstored')";
		const char *sum = "SELECT total(bytes) + count(*) FROM edge WHERE slice = %d";

		snprintf(text, sizeof(text), lacks, i);
		if (!ask(saved_path, text))
			continue;
		snprintf(text, sizeof(text), sum, i);
		if (ask(saved_path, text) != ask(original, text))
			fail_msg("slice %d of %s", i, original);
	}
}

/* Both programs take the new store. */
static void use_saved(void)
{
	struct comm_store_config c = config();
	struct comm_reader *reader;
	struct comm_runs *runs;
	char keep[sizeof(path)];

	strcpy(keep, path);
	snprintf(path, sizeof(path), "%.120s", saved_path);
	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	assert_int_equal(comm_reader_runs(reader, &runs, NULL), 0);
	comm_runs_free(runs);
	comm_reader_close(reader);
	comm_store_close(open_store(&c));
	strcpy(path, keep);
}

static void copy_file(const char *from, const char *to)
{
	char block[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, block, sizeof(block))) > 0)
		assert_int_equal(write(out, block, n), n);
	close(in);
	close(out);
}

static void test_whole(void **state)
{
	struct comm_salvaged saved;
	char original[128], *err;

	(void)state;
	make_finished(SLICES);
	strcpy(original, path);
	assert_int_equal(salvage(&saved), 0);
	assert_int_equal(saved.runs, 1);
	assert_int_equal(saved.gaps, 0);
	assert_int_equal(saved.partial, 0);
	assert_true(saved.slices == query("SELECT count(*) FROM slice"));
	assert_true(saved.edges == query("SELECT count(*) FROM edge"));
	check_saved(original);
	use_saved();
	/* An existing file stays as it is. */
	assert_int_equal(comm_salvage(path, saved_path, &saved, &err), -EEXIST);
	assert_non_null(strstr(err, "exists"));
	free(err);
	assert_int_equal(comm_salvage(path, path, &saved, NULL), -EEXIST);
	/* An older store comes out up to date. */
	copy_file("tests/unit/data/schema1.store", path);
	assert_int_equal(salvage(&saved), 0);
	assert_int_equal(saved.runs, 3);
	assert_int_equal(saved.gaps, 0);
	assert_int_equal(saved.partial, 0);
	/* Without those of whose writer only the object was known. */
	assert_true(saved.edges == query("SELECT count(*) FROM edge WHERE level < 6"));
	use_saved();
}

static void test_cut(void **state)
{
	struct comm_salvaged saved;
	char original[160];
	uint64_t last = 0;
	struct stat st;

	(void)state;
	make_finished(SLICES);
	snprintf(original, sizeof(original), "%s/original.db", dir);
	copy_file(path, original);
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = 0; size <= st.st_size; size += 3 * PAGE + 100) {
		copy_file(original, path);
		assert_int_equal(truncate(path, size), 0);
		if (salvage(&saved))
			continue;
		check_saved(original);
		use_saved();
		assert_true(saved.edges >= last || saved.edges > 500);
		last = saved.edges;
	}
	/* Nearly whole: nearly all is there. */
	assert_true(last > 0.9 * ask(original, "SELECT count(*) FROM edge"));
}

static void test_each_page(void **state)
{
	struct comm_salvaged saved;
	unsigned char garbage[PAGE];
	char original[160];
	double edges;
	struct stat st;
	int worse = 0;

	(void)state;
	memset(garbage, 0xa5, sizeof(garbage));
	make_finished(SLICES);
	edges = query("SELECT count(*) FROM edge");
	snprintf(original, sizeof(original), "%s/original.db", dir);
	copy_file(path, original);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = PAGE; at < st.st_size; at += PAGE) {
		int fd;

		copy_file(original, path);
		fd = open(path, O_WRONLY);
		assert_int_equal(pwrite(fd, garbage, PAGE, at), PAGE);
		close(fd);
		if (salvage(&saved)) {
			worse++;
			continue;
		}
		check_saved(original);
		use_saved();
		/* A leaf holds some hundred edges; the root of a table all. */
		worse += saved.edges < edges - 200;
	}
	/* The roots of run, slice and edge, and the leaves of the list of tables behind page 1. */
	assert_int_equal(worse, 3 + ask(original, "SELECT count(*) - 1 FROM dbstat"
						  " WHERE name = 'sqlite_schema'"));
}

/* A row of a table, made of what its columns are, that names a slice and a run. */
static void add_row(sqlite3 *db, const char *table, int run, int slice)
{
	char *sql = sqlite3_mprintf(
		"SELECT 'INSERT OR REPLACE INTO ' || %Q || ' VALUES (' || group_concat(CASE"
		" WHEN name = 'run' THEN '%d' WHEN name = 'slice' THEN '%d'"
		" WHEN type = 'BLOB' THEN 'x''''' ELSE '1' END) || ')'"
		" FROM pragma_table_info(%Q)",
		table, run, slice, table);
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(
		sqlite3_exec(db, (const char *)sqlite3_column_text(stmt, 0), NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

/* Rows of slices that are missing, or of another run than theirs, go from each table that names slices; others stay. */
static void test_strays(void **state)
{
	enum { MISSING = 900, OTHER_RUN = 2, OF_SLICES = 11 };
	static const char tables[] = "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name)"
				     " c WHERE m.type = 'table' AND c.name = 'slice'";
	struct comm_salvaged saved;
	sqlite3_stmt *of_slices;
	sqlite3 *db;
	int n = 0;

	(void)state;
	make_finished(SLICES);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "INSERT INTO run SELECT * FROM (SELECT 2, source, event, estimator,"
			     " command, host, notes, start_ns, start_unix_ns, overhead_limit,"
			     " granularity_bytes, end_ns, how, deleted_ns, 'another', sampled_ends,"
			     " factor_sd, confusion_sd, label, floor, numa, doubt_sd, stall_ns,"
			     " store_ns, overhead_least, stall_own_ns FROM run)",
			     NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, tables, -1, &of_slices, NULL), SQLITE_OK);
	while (sqlite3_step(of_slices) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(of_slices, 0);

		add_row(db, table, 1, 1);
		add_row(db, table, 1, MISSING);
		add_row(db, table, OTHER_RUN, 2);
		n++;
	}
	assert_true(n >= OF_SLICES);
	sqlite3_reset(of_slices);
	assert_int_equal(salvage(&saved), 0);
	while (sqlite3_step(of_slices) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(of_slices, 0);
		char text[256];

		snprintf(text, sizeof(text), "SELECT count(*) FROM %s WHERE slice = %d OR run = %d",
			 table, MISSING, OTHER_RUN);
		if (ask(saved_path, text))
			fail_msg("%s has rows of no slice", table);
		snprintf(text, sizeof(text), "SELECT count(*) FROM %s WHERE slice = 1 AND run = 1",
			 table);
		assert_true(query(text) > 0);
		/* That there is an edge too many is a loss. */
		assert_true(ask(saved_path, text) >= query(text));
	}
	sqlite3_finalize(of_slices);
	sqlite3_close(db);
	use_saved();
}

static void test_hostile(void **state)
{
	struct comm_salvaged saved;

	(void)state;
	make_finished(2);
	sql("CREATE TRIGGER more AFTER INSERT ON run BEGIN DELETE FROM run; END");
	assert_int_equal(salvage(&saved), -EMEDIUMTYPE);
	unlink(path);
	make_finished(2);
	sql("ALTER TABLE edge RENAME TO rows; CREATE VIEW edge AS SELECT * FROM rows");
	assert_int_equal(salvage(&saved), -EMEDIUMTYPE);
}

static void test_being_written(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_salvaged saved;

	(void)state;
	begin(store);
	assert_int_equal(salvage(&saved), -EBUSY);
	comm_store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_whole),  TEST(test_cut),     TEST(test_each_page),
		TEST(test_strays), TEST(test_hostile), TEST(test_being_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
