// SPDX-License-Identifier: GPL-2.0-or-later
/* Stores that somebody made to harm who opens them: neither the writer nor readers fall for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "made_store.h"
#include "reader.h"

enum {
	PAGE = 4096,
	HANGS_S = 60,
	MORE_KB = 256 << 10,
};

/* In CPU time: the machine may be busy. */
static void end_if_it_hangs(void)
{
	setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = HANGS_S}, NULL);
}

static void refuse_reading(int expected, const char *words)
{
	struct comm_reader *reader;
	char *err = NULL;

	assert_int_equal(comm_reader_open(path, &reader, &err), expected);
	assert_non_null(err);
	if (!strstr(err, words) || !strstr(err, path))
		fail_msg("the sentence is: %s", err);
	free(err);
}

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "

static void test_foreign_schema(void **state)
{
	static const struct {
		const char *sql, *words;
	} hostile[] = {
		{"ALTER TABLE run RENAME TO hidden; CREATE VIEW run AS " ENDLESS
		 "SELECT i AS id, '' AS source, '' AS event, '' AS estimator, '' AS command,"
		 " '' AS host, '' AS notes, '' AS how, 0 AS start_ns, 0 AS end_ns,"
		 " 0 AS start_unix_ns, 0 AS overhead_limit, 0 AS granularity_bytes,"
		 " 0 AS deleted_ns, '' AS uuid FROM n",
		 "(table hidden)"},
		{"ALTER TABLE edge RENAME TO rows; CREATE VIEW edge AS " ENDLESS
		 "SELECT 1 AS run, i AS slice FROM n",
		 "(view edge)"},
		{"CREATE TRIGGER more AFTER INSERT ON slice BEGIN"
		 " INSERT INTO edge SELECT 1, i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"
		 " FROM (" ENDLESS "SELECT i FROM n); END",
		 "(trigger more)"},
		{"CREATE INDEX slow ON slice (hex(zeroblob(400000000 + id))) WHERE id < 0",
		 "(index slow)"},
		{"CREATE TABLE other (x)", "(table other)"},
		{"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
		 " replace(sql, 'n INTEGER NOT NULL',"
		 " 'n INTEGER NOT NULL DEFAULT (hex(zeroblob(400000000)))') WHERE name = 'loss'",
		 "(table loss)"},
		{"CREATE VIEW \"a\n\033[2J\" AS SELECT 1", "(view a\\x0a\\x1b[2J)"},
	};

	(void)state;
	end_if_it_hangs();
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		make_finished(3);
		sql(hostile[i].sql);
		refuse_reading(-EMEDIUMTYPE, hostile[i].words);
		refuse(-EMEDIUMTYPE, hostile[i].words);
		unlink(path);
	}
	/* What is missing is damage. */
	make_finished(3);
	sql("DROP TABLE placement");
	refuse_reading(-EUCLEAN, "damaged");
	refuse(-EUCLEAN, "damaged");
}

/* The schema of a store that is open already is changed. */
static void test_foreign_schema_later(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_reader *reader;
	struct comm_runs *runs;
	struct comm_edge edges[10];

	(void)state;
	end_if_it_hangs();
	begin(store);
	fill(edges, 10, 0);
	assert_int_equal(write_at(store, 0, edges, 10), 0);
	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	sql("CREATE TRIGGER more AFTER INSERT ON slice BEGIN"
	    " INSERT INTO edge SELECT 1, i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"
	    " FROM (" ENDLESS "SELECT i FROM n); END");
	assert_int_equal(write_at(store, 1, edges, 10), 0);
	assert_true(query("SELECT count(*) FROM edge") == 20);
	sql("ALTER TABLE run RENAME TO hidden; CREATE VIEW run AS " ENDLESS
	    "SELECT i AS id, * FROM n, hidden");
	assert_int_equal(comm_reader_runs(reader, &runs, NULL), -EUCLEAN);
	comm_reader_close(reader);
	comm_store_close(store);
}

static void put16(unsigned char *at, unsigned int value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void put32(unsigned char *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

/* Makes an interior page whose children are all one page; the cells are those of a leaf. */
static void fill_interior(unsigned char page[PAGE], const unsigned char leaf[PAGE], uint32_t child)
{
	bool is_index = leaf[0] == 10;
	const unsigned char *first = leaf + (leaf[8] << 8 | leaf[9]);
	/* Of an index, the first row of the leaf; of a table, the row's number. */
	size_t n_row = is_index ? first[0] + 1U : 1, n_cell = 4 + n_row;
	size_t cells = (PAGE - 12) / (n_cell + 2);

	assert_true(first[0] < 0x80);
	memset(page, 0, PAGE);
	page[0] = is_index ? 2 : 5;
	put16(page + 3, cells);
	put16(page + 5, PAGE - cells * n_cell);
	put32(page + 8, child);
	for (size_t i = 0; i < cells; i++) {
		unsigned char *cell = page + PAGE - (i + 1) * n_cell;

		put16(page + 12 + 2 * i, cell - page);
		put32(cell, child);
		memcpy(cell + 4, is_index ? first : (const unsigned char *)"\1", n_row);
	}
}

/* Puts eight pages above the leaf of a table or index, each the parent of the next many times. */
static void multiply(const char *name)
{
	unsigned char page[PAGE], leaf[PAGE], header[100];
	char text[128];
	uint32_t root, n;
	int fd;

	snprintf(text, sizeof(text), "SELECT rootpage FROM sqlite_master WHERE name = '%s'", name);
	root = (uint32_t)query(text);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));
	n = (uint32_t)header[28] << 24 | header[29] << 16 | header[30] << 8 | header[31];
	assert_int_equal(pread(fd, leaf, PAGE, (root - 1) * PAGE), PAGE);
	assert_true(leaf[0] == 13 || leaf[0] == 10);
	assert_int_equal(pwrite(fd, leaf, PAGE, n++ * PAGE), PAGE);
	for (int i = 0; i < 8; i++) {
		fill_interior(page, leaf, n);
		if (i == 7)
			assert_int_equal(pwrite(fd, page, PAGE, (root - 1) * PAGE), PAGE);
		else
			assert_int_equal(pwrite(fd, page, PAGE, n++ * PAGE), PAGE);
	}
	put32(header + 28, n);
	assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
	close(fd);
}

/* One run of one slice with a few edges: each table has a single page. */
static void make_small(void)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[10];

	begin(store);
	fill(edges, 10, 0);
	assert_int_equal(write_at(store, 0, edges, 10), 0);
	assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	comm_store_close(store);
}

static int read_all(void)
{
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_report *report = NULL;
	struct comm_reader *reader;
	struct comm_runs *runs;
	int code;

	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	code = comm_reader_runs(reader, &runs, NULL);
	if (!code) {
		comm_runs_free(runs);
		code = comm_reader_report(reader, &q, &report, NULL);
	}
	if (!code)
		comm_report_free(report);
	comm_reader_close(reader);
	return code;
}

static void test_endless_tables(void **state)
{
	static const struct {
		const char *name;
		bool read; /* all of its rows, by a report */
	} tables[] = {{"run", true},	{"slice_time", true}, {"edge", true},	   {"slice", false},
		      {"thread", true}, {"function", false},  {"placement", false}};

	(void)state;
	end_if_it_hangs();
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct comm_store_config c = config();
		struct comm_store *store;
		char *err = NULL;
		int code;

		make_small();
		assert_int_equal(read_all(), 0);
		multiply(tables[i].name);
		code = read_all();
		if (tables[i].read && code != -EUCLEAN)
			fail_msg("%s: %d", tables[i].name, code);
		if (comm_store_open(&c, &store, &err) == 0) {
			struct comm_edge edges[10];

			begin(store);
			fill(edges, 10, 0);
			write_at(store, 0, edges, 10);
			comm_store_end_run(store, START + SECOND, "duration");
			comm_store_close(store);
		} else {
			free(err);
		}
		unlink(path);
	}
}

static void make_file(const char *name, const void *bytes, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/*
 * A journal of several databases names a file that lists them all.  Whoever plays such a
 * journal back deletes that file, whatever it is (https://www.sqlite.org/fileformat.html,
 * section 3).
 */
static void test_journal_names_another_file(void **state)
{
	static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	unsigned char journal[512 + PAGE + 8] = {0}, tail[200];
	struct comm_store_config c = config();
	char victim[160], name[160];
	struct comm_store *store;
	uint32_t sum = 0;
	struct stat st;
	char *err;
	size_t n;

	(void)state;
	make_finished(1);
	assert_int_equal(stat(path, &st), 0);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	make_file(victim, "precious\n", 9);
	/* One page, page 1 as it is, behind a header of one sector. */
	memcpy(journal, magic, sizeof(magic));
	put32(journal + 8, 1);
	put32(journal + 16, st.st_size / PAGE);
	put32(journal + 20, 512);
	put32(journal + 24, PAGE);
	put32(journal + 512, 1);
	{
		int fd = open(path, O_RDONLY);

		assert_int_equal(pread(fd, journal + 516, PAGE, 0), PAGE);
		close(fd);
	}
	for (int i = PAGE - 200; i > 0; i -= 200)
		sum += journal[516 + i];
	put32(journal + 516 + PAGE, sum);
	n = strlen(victim);
	put32(tail, 0x40000000 / PAGE + 1);
	memcpy(tail + 4, victim, n);
	put32(tail + 4 + n, n);
	sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += victim[i];
	put32(tail + 8 + n, sum);
	memcpy(tail + 12 + n, magic, sizeof(magic));
	snprintf(name, sizeof(name), "%s-journal", path);
	{
		FILE *file = fopen(name, "w");

		assert_int_equal(fwrite(journal, sizeof(journal), 1, file), 1);
		assert_int_equal(fwrite(tail, 20 + n, 1, file), 1);
		fclose(file);
	}
	if (comm_store_open(&c, &store, &err) == 0)
		comm_store_close(store);
	else
		free(err);
	assert_int_equal(stat(victim, &st), 0);
}

/* An honest store must never meet the bound: a report takes a small part of what is allowed. */
static void test_honest_work(void **state)
{
	struct comm_reader *reader;
	uint64_t allowed, most = 0;

	(void)state;
	make_finished(200);
	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	comm_guard_begin(&reader->guard, path, 0);
	allowed = reader->guard.left;
	for (size_t by = 0; comm_groupings()[by]; by++) {
		struct comm_query q = {
			.size = sizeof(q), .by = comm_groupings()[by]->name, .self = true};
		struct comm_report *report;

		if (comm_reader_report(reader, &q, &report, NULL))
			continue;
		comm_report_free(report);
		if (allowed - reader->guard.left > most)
			most = allowed - reader->guard.left;
	}
	print_message("a report takes at most %.1f instructions for each byte\n",
		      (double)most / (double)comm_guard_bytes(path));
	assert_true(most > 0);
	assert_true(most < comm_guard_bytes(path));
	comm_reader_close(reader);
}

/* Times that no run has: whatever is told lies within the run, and takes no endless time. */
static void test_impossible_times(void **state)
{
	static const char *const hostile[] = {
		"UPDATE run SET start_ns = -1000, end_ns = -1",
		"UPDATE run SET start_ns = -1000, end_ns = 9223372036854775807",
		"UPDATE run SET start_ns = start_ns + 500000000",
		"UPDATE slice SET start_ns = -9223372036854775807",
		"UPDATE slice SET start_ns = end_ns + 1000000000",
		"UPDATE slice SET end_ns = 9223372036854775807",
	};

	(void)state;
	end_if_it_hangs();
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		struct comm_reader *reader;

		make_finished(3);
		sql(hostile[i]);
		assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
		for (size_t by = 0; comm_groupings()[by]; by++) {
			struct comm_query q = {
				.size = sizeof(q), .by = comm_groupings()[by]->name, .self = true};
			struct comm_report *report;
			uint64_t length_ns;

			if (comm_reader_report(reader, &q, &report, NULL))
				continue;
			length_ns = report->run->end_ns - report->run->start_ns;
			for (size_t n = 0; n < report->n_nodes; n++) {
				const struct comm_node *node = comm_report_node_at(report, n);

				if (node->from_ns > node->to_ns || node->to_ns > length_ns)
					fail_msg("%s, by %s: %llu to %llu of %llu ns", hostile[i],
						 q.by, (unsigned long long)node->from_ns,
						 (unsigned long long)node->to_ns,
						 (unsigned long long)length_ns);
			}
			comm_report_free(report);
		}
		comm_reader_close(reader);
		unlink(path);
	}
}

/* Tables that are indexed by an id do not grow with what no writer gives out. */
static void test_impossible_ids(void **state)
{
	struct comm_reader *reader;
	struct rusage before, after;

	(void)state;
	make_finished(3);
	/* One reading end, as unwritten.h packs it: thread, site and object 2^27, 1000 bytes. */
	sql("INSERT OR REPLACE INTO unwritten"
	    " SELECT id, run, x'808080408080804080808040E80700' FROM slice");
	sql("INSERT INTO written"
	    " SELECT run, id, 1, x'808080408080804080808040E80700' FROM slice");
	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	getrusage(RUSAGE_SELF, &before);
	for (size_t by = 0; comm_groupings()[by]; by++) {
		struct comm_query q = {.size = sizeof(q),
				       .by = comm_groupings()[by]->name,
				       .self = true,
				       .totals = true,
				       .unwritten = true};
		struct comm_report *report;

		if (comm_reader_report(reader, &q, &report, NULL) == 0)
			comm_report_free(report);
	}
	getrusage(RUSAGE_SELF, &after);
	if (after.ru_maxrss - before.ru_maxrss > MORE_KB)
		fail_msg("reports took %ld KB", after.ru_maxrss - before.ru_maxrss);
	comm_reader_close(reader);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_foreign_schema), TEST(test_foreign_schema_later),
		TEST(test_endless_tables), TEST(test_journal_names_another_file),
		TEST(test_honest_work),	   TEST(test_impossible_times),
		TEST(test_impossible_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
