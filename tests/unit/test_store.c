// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "edge_table.h"
#include "made_names.h"
#include "schema.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL
#define START (1000 * SECOND)

static char dir[64];
static char path[128];
static struct made_names *names;

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	chmod(dir, 0777);
	snprintf(path, sizeof(path), "%s/comm.db", dir);
	names = made_names_create();
	for (int i = 0; i < 40; i++) {
		made_thread(names, 10, 10 + i, "worker");
		made_function(names, "function", "program", 0x1000 + 16 * i);
		made_site(names, 2 + i, "file.c", i);
		made_object(names, COMM_OBJECT_STATIC, "object", "program", 8);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(names);
	/* A test that failed may have left its file system. */
	umount2(dir, MNT_DETACH);
	return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static struct comm_store_config config(void)
{
	return (struct comm_store_config){
		.path = path, .row_cap = 1000, .detail_ns = 900 * SECOND, .rollup_ns = 60 * SECOND};
}

static struct comm_store *open_store(const struct comm_store_config *c)
{
	struct comm_store *store = NULL;
	char *err = NULL;
	int code = comm_store_open(c, &store, &err);

	if (code)
		print_error("%s\n", err);
	assert_int_equal(code, 0);
	return store;
}

static void refuse(int expected, const char *words)
{
	struct comm_store_config c = config();
	struct comm_store *store = NULL;
	char *err = NULL;

	assert_int_equal(comm_store_open(&c, &store, &err), expected);
	assert_non_null(err);
	if (!strstr(err, words) || !strstr(err, path))
		fail_msg("the sentence is: %s", err);
	free(err);
}

static int64_t begin(struct comm_store *store)
{
	struct comm_run_info info = {.source = "test",
				     .event = "none",
				     .estimator = "none",
				     .command = "program",
				     .host = "host",
				     .start_ns = START,
				     .start_unix_ns = 1,
				     .notes = ""};
	int64_t run = 0;

	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	return run;
}

static int write_at(struct comm_store *store, int second, const struct comm_edge *edges, size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .samples = 10,
				       .bursts = 5,
				       .target_ns = SECOND,
				       .handler_ns = 1000,
				       .unwritten = {7, 3},
				       .loss = {[COMM_LOSS_LATE] = 2}};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, edges, n, &naming);
}

/* n edges with different keys and whole bytes, so that sums are exact. */
static double fill(struct comm_edge *edges, size_t n, uint64_t seed)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = (i + 1) * 2654435761ULL + seed * 40503;

		edges[i] = (struct comm_edge){.src_thread = 1 + i % 8,
					      .dst_thread = 1 + i / 8 % 8,
					      .src_site = 2 + i / 64 % 20,
					      .dst_site = 2 + i / 1280 % 20,
					      .object = 1,
					      .bursts = 1,
					      .bytes = 1 + x % 100000,
					      .variance = 1 + x % 1000,
					      .first_bytes = x % 100,
					      .first_variance = x % 10};
		sum += edges[i].bytes;
	}
	return sum;
}

static double query(const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	double value;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static struct comm_report *report_of(const struct comm_query *q)
{
	struct comm_report *report = NULL;
	struct comm_reader *reader;
	char *err;
	int code;

	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	code = comm_reader_report(reader, q, &report, &err);
	if (code)
		print_error("%s\n", err);
	assert_int_equal(code, 0);
	comm_reader_close(reader);
	return report;
}

/* All bytes that the reader counts in a run. */
static double read_bytes(void)
{
	struct comm_query q = {.size = sizeof(q), .self = true};
	struct comm_report *report = report_of(&q);
	double bytes = report->read_bytes - report->unwritten_bytes;

	comm_report_free(report);
	return bytes;
}

static mode_t mode_of(const char *suffix)
{
	struct stat st;
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &st) < 0 ? 0 : st.st_mode & 07777;
}

static void test_files_have_their_mode(void **state)
{
	static const mode_t masks[] = {0, 077, 0777};
	static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-ballast"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct comm_store_config c = config();
		mode_t old = umask(masks[i]);
		struct comm_store *store = open_store(&c);
		struct comm_edge edges[10];

		begin(store);
		fill(edges, 10, 0);
		assert_int_equal(write_at(store, 0, edges, 10), 0);
		umask(old);
		for (size_t j = 0; j < 5; j++)
			assert_int_equal(mode_of(suffixes[j]), 0640);
		comm_store_close(store);
		/* A closed store is one file. */
		for (size_t j = 1; j < 5; j++)
			assert_int_equal(mode_of(suffixes[j]), 0);
		assert_int_equal(unlink(path), 0);
	}
}

static void put(const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

static void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_refuses_what_is_not_ours(void **state)
{
	char text[200];
	struct stat st;

	(void)state;
	put("hello\n", 6);
	refuse(-EMEDIUMTYPE, "not a commprof store");
	memset(text, 'x', sizeof(text));
	put(text, sizeof(text));
	refuse(-EMEDIUMTYPE, "not a commprof store");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, sizeof(text));
	unlink(path);
	sql("CREATE TABLE other (x)");
	refuse(-EMEDIUMTYPE, "not a commprof store");
	assert_int_equal((int)query("SELECT count(*) FROM sqlite_master"), 1);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	refuse(-EISDIR, "directory");
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuse(-EMEDIUMTYPE, "not a commprof store");
	unlink(path);
	snprintf(path, sizeof(path), "%s/none/comm.db", dir);
	refuse(-ENOENT, "directory does not exist");
	snprintf(path, sizeof(path), "/dev/null/comm.db");
	refuse(-ENOTDIR, "no directory");
}

static void make_finished(int slices)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[500];

	begin(store);
	for (int i = 0; i < slices; i++) {
		fill(edges, 500, i);
		assert_int_equal(write_at(store, i, edges, 500), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + slices * SECOND, "duration"), 0);
	comm_store_close(store);
}

static void test_refuses_newer_and_damaged(void **state)
{
	char garbage[4096];
	struct stat st;
	int fd;

	(void)state;
	make_finished(20);
	sql("PRAGMA user_version = 2");
	refuse(-EPROTO, "newer version");
	sql("PRAGMA user_version = 1");
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

	/* Ours by its mark and version, but without the tables. */
	sql("PRAGMA application_id = 0x636f6d6d; PRAGMA user_version = 1; CREATE TABLE x (y)");
	refuse(-EUCLEAN, "damaged");
}

static void test_migrates_an_older_one(void **state)
{
	(void)state;
	/* Version 0: marked as ours, its tables not made yet. */
	sql("PRAGMA application_id = 0x636f6d6d; CREATE TABLE keep (x); INSERT INTO keep VALUES "
	    "(7)");
	assert_int_equal((int)query("PRAGMA user_version"), 0);
	make_finished(3);
	assert_int_equal((int)query("PRAGMA user_version"), COMM_SCHEMA_VERSION);
	assert_int_equal((int)query("SELECT x FROM keep"), 7);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 0"), 3);
}

static void test_one_writer(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	char pid[32];
	int pipes[2], status;
	pid_t child;
	char byte;

	(void)state;
	snprintf(pid, sizeof(pid), "process %d ", getpid());
	refuse(-EBUSY, pid);
	comm_store_close(store);

	/* A killed writer leaves no lock behind. */
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		open_store(&c);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	snprintf(pid, sizeof(pid), "process %d ", child);
	refuse(-EBUSY, pid);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	comm_store_close(open_store(&c));
	close(pipes[0]);
	close(pipes[1]);
}

/* Runs fn as someone who may not write here. */
static void as_nobody(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		fn();
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void refused_for_permission(void)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	char *err = NULL;
	int code = comm_store_open(&c, &store, &err);

	if (code != -EACCES || !err || !strstr(err, "permission")) {
		fprintf(stderr, "%d: %s\n", code, err ? err : "");
		_exit(1);
	}
	free(err);
}

static void read_as_nobody(void)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	char *err = NULL;

	if (comm_reader_open(path, &reader, &err) || comm_reader_runs(reader, &runs, &err) ||
	    comm_runs_count(runs) != 1 || comm_runs_at(runs, 0)->samples != 50) {
		fprintf(stderr, "%s\n", err ? err : "wrong runs");
		_exit(1);
	}
	comm_runs_free(runs);
	comm_reader_close(reader);
}

static void test_permissions(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[10];
	struct comm_store *store;

	(void)state;
	make_finished(5);
	chmod(path, 0400);
	chmod(dir, 0500);
	as_nobody(refused_for_permission);
	if (geteuid())
		return;
	/* Readers need no more than to read, also in a directory like that. */
	chmod(dir, 0755);
	chmod(path, 0644);
	as_nobody(refused_for_permission);
	as_nobody(read_as_nobody);
	/* Also beside a writer that lives. */
	unlink(path);
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 5; i++) {
		fill(edges, 10, i);
		assert_int_equal(write_at(store, i, edges, 10), 0);
	}
	chmod(path, 0644);
	snprintf(path + strlen(path), 8, "-wal");
	chmod(path, 0644);
	strcpy(path + strlen(path) - 4, "-shm");
	chmod(path, 0644);
	path[strlen(path) - 4] = '\0';
	as_nobody(read_as_nobody);
	comm_store_close(store);
}

static void test_read_only_file_system(void **state)
{
	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=4m") < 0) {
		print_message("skipped: mounting a tmpfs needs root\n");
		skip();
	}
	make_finished(5);
	assert_int_equal(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, "size=4m"), 0);
	refuse(-EROFS, "read-only");
	assert_true(read_bytes() > 0);
	umount2(dir, MNT_DETACH);
}

static void test_stores_what_it_is_given(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_thread = 1,
				 .dst_thread = 2,
				 .src_site = 2,
				 .dst_site = 3,
				 .object = 4,
				 .bursts = 9,
				 .level = 3,
				 .bytes = 0.1,
				 .variance = 2.5,
				 .first_bytes = 0.05,
				 .first_variance = 1e300};

	(void)state;
	assert_int_equal(comm_store_end_run(store, 1, "early"), -EINVAL);
	assert_int_equal(write_at(store, 0, &edge, 1), -EINVAL);
	assert_int_equal(begin(store), 1);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 1 AND dst_thread = 2 AND"
			  " src_site = 2 AND dst_site = 3 AND object = 4 AND bursts = 9 AND"
			  " level = 3 AND variance = 2.5 AND first_bytes = 0.05 AND"
			  " first_variance = 1e300") == 0.1);
	assert_true(query("SELECT n FROM loss WHERE cause = 'late'") == 2);
	assert_true(query("SELECT unwritten_bytes * 10 + unwritten_first_bytes FROM slice") == 73);
	assert_true(query("SELECT end_ns IS NULL AND how IS NULL FROM run") == 1);

	/* A thread that was renamed and ended; an object that grew. */
	snprintf(names->thread[1].name, sizeof(names->thread[1].name), "renamed");
	names->thread[1].end_ns = 77;
	names->object[4].size_bytes = 16;
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT end_ns FROM thread WHERE id = 1 AND name = 'renamed'") == 77);
	assert_true(query("SELECT size_bytes FROM object WHERE id = 4") == 16);
	assert_int_equal(comm_store_end_run(store, START + 2 * SECOND, "target exited"), 0);
	assert_true(query("SELECT how = 'target exited' AND end_ns = 1002000000000 FROM run") == 1);

	/* Functions and sites are the same ones in the next run. */
	assert_int_equal(begin(store), 2);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM site") == 2 + 2);
	assert_true(query("SELECT count(*) FROM function") == 2 + 2);
	comm_store_close(store);
}

static void test_survives_nonsense(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[] = {
		{.src_thread = 1, .dst_thread = 2, .bytes = NAN, .variance = NAN},
		{.src_thread = 1, .dst_thread = 3, .bytes = INFINITY, .first_bytes = -INFINITY},
		{.src_thread = 1, .dst_thread = 4, .bytes = -5},
		{.src_thread = 4000000000U, .dst_thread = 1, .src_site = 4000000000U, .bytes = 3},
		{.src_thread = 1, .dst_thread = 2, .object = 4000000000U, .bytes = 4},
		/* The same key twice. */
		{.src_thread = 5, .dst_thread = 6, .bytes = 10, .bursts = UINT32_MAX},
		{.src_thread = 5, .dst_thread = 6, .bytes = 20, .bursts = 7},
	};

	(void)state;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 7), 0);
	assert_true(query("SELECT sum(bytes) FROM edge") == 37);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 0 AND dst_thread = 1") == 3);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 5") == 30);
	assert_true(query("SELECT bursts FROM edge WHERE src_thread = 5") == UINT32_MAX);
	assert_int_equal(write_at(store, 1, NULL, 0), 0);
	comm_store_close(store);
}

static void test_row_cap(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[2000];
	struct comm_store *store;
	double sum, smallest_kept;

	(void)state;
	c.row_cap = 300;
	store = open_store(&c);
	begin(store);
	sum = fill(edges, 2000, 1);
	assert_int_equal(write_at(store, 0, edges, 2000), 0);
	/* Nothing is lost, and the largest keep their key. */
	assert_true(query("SELECT sum(bytes) FROM edge") == sum);
	assert_true(query("SELECT count(*) FROM edge WHERE src_site <> 0") == 300);
	assert_true(query("SELECT count(*) FROM edge") <= 300 + 64);
	assert_true(query("SELECT n FROM loss WHERE cause = 'cells_folded'") == 1700);
	smallest_kept = query("SELECT min(bytes) FROM edge WHERE src_site <> 0");
	for (size_t i = 0; i < 2000; i++) {
		if (edges[i].bytes > smallest_kept)
			sum -= edges[i].bytes;
	}
	assert_true(query("SELECT sum(bytes) FROM edge WHERE src_site = 0") <= sum);
	/* What a thread reads of itself is not mixed with what others wrote. */
	sum = 0;
	for (size_t i = 0; i < 2000; i++)
		sum += edges[i].src_thread == edges[i].dst_thread ? edges[i].bytes : 0;
	assert_true(query("SELECT sum(bytes) FROM edge WHERE src_thread = dst_thread") == sum);
	comm_store_close(store);
}

static void test_more_pairs_than_rows(void **state)
{
	struct comm_edge_table cells = {0};
	uint64_t folded = 0;
	double sum = 0, self = 0, left = 0, left_self = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t j = 0; j < 200; j++) {
			struct comm_edge e = {.src_thread = 1 + i,
					      .dst_thread = 1 + j,
					      .src_site = 5,
					      .bytes = 1 + (i * 7919 + j * 104729) % 1000};

			sum += e.bytes;
			self += i == j ? e.bytes : 0;
			assert_int_equal(comm_edge_table_add(&cells, &e), 0);
		}
	}
	assert_int_equal(cells.n, 40000);
	assert_int_equal(comm_edge_table_fold(&cells, 100, &folded), 0);
	assert_true(cells.n <= 2 * 100 + 2 * 200);
	for (size_t i = 0; i < cells.n; i++) {
		left += cells.edge[i].bytes;
		if (cells.edge[i].src_thread == cells.edge[i].dst_thread)
			left_self += cells.edge[i].bytes;
	}
	assert_true(left == sum);
	assert_true(left_self == self);
	assert_true(folded >= 39900);
	comm_edge_table_deinit(&cells);
}

/* An hour and more of slices, most of it rolled up. */
static void test_roll_up_keeps_sums(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[400];
	struct comm_store *store;
	double sum = 0, part = 0, expected;
	struct comm_report *report;
	struct comm_query q = {.size = sizeof(q), .self = true};

	(void)state;
	c.row_cap = 100;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 4000; i++) {
		double s = fill(edges, 400, i);

		sum += s;
		part += i >= 60 && i < 180 ? s : 0;
		assert_int_equal(write_at(store, i, edges, 400), 0);
	}
	/* Before the end: hours, minutes and what is not summed yet. */
	assert_true(read_bytes() == sum);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") < 260);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 1"), 66);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 2"), 1);
	assert_int_equal(comm_store_end_run(store, START + 4000 * SECOND, "duration"), 0);
	comm_store_close(store);
	assert_true(read_bytes() == sum);
	/* Each level by itself has it all. */
	assert_true(query("SELECT sum(e.bytes) FROM edge e JOIN slice s ON s.id = e.slice"
			  " WHERE s.level = 1") == sum);
	assert_true(query("SELECT sum(e.bytes) FROM edge e JOIN slice s ON s.id = e.slice"
			  " WHERE s.level = 2") == sum);
	assert_true(query("SELECT max(n) FROM (SELECT count(*) n FROM edge GROUP BY slice)") <=
		    2 * 4 * 100);
	/* Variances, first reads, samples and losses as well. */
	report = report_of(&q);
	assert_int_equal(report->samples, 40000);
	assert_int_equal(report->run->samples, 40000);
	assert_true(report->unwritten_bytes == 28000);
	for (size_t i = 0; i < report->n_losses; i++) {
		if (!strcmp(comm_report_loss_at(report, i)->cause, "late"))
			assert_int_equal(comm_report_loss_at(report, i)->n, 8000);
	}
	comm_report_free(report);
	/* A range of whole minutes is exact though its detail is gone. */
	q.from_ns = 60 * SECOND;
	q.to_ns = 180 * SECOND;
	report = report_of(&q);
	expected = part;
	assert_true(report->read_bytes - report->unwritten_bytes == expected);
	assert_int_equal(report->from_ns, 60 * SECOND);
	assert_int_equal(report->to_ns, 180 * SECOND);
	comm_report_free(report);
	/* One that cuts a minute grows to it, and says so. */
	q.from_ns = 70 * SECOND;
	q.to_ns = 130 * SECOND;
	report = report_of(&q);
	assert_true(report->read_bytes - report->unwritten_bytes == expected);
	assert_int_equal(report->from_ns, 60 * SECOND);
	assert_int_equal(report->to_ns, 180 * SECOND);
	comm_report_free(report);
	/* The last minutes have their detail. */
	q.from_ns = 3900 * SECOND;
	q.to_ns = 3905 * SECOND;
	report = report_of(&q);
	assert_int_equal(report->from_ns, 3900 * SECOND);
	assert_int_equal(report->to_ns, 3905 * SECOND);
	comm_report_free(report);
	q.from_ns = -10 * (int64_t)SECOND;
	q.to_ns = -5 * (int64_t)SECOND;
	report = report_of(&q);
	assert_int_equal(report->to_ns - report->from_ns, 5 * SECOND);
	comm_report_free(report);
}

static void test_quota(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;
	struct stat st;

	(void)state;
	c.quota_bytes = 2 << 20;
	store = open_store(&c);
	/* Two runs, each of more than fits. */
	for (int r = 0; r < 2; r++) {
		begin(store);
		for (int i = 0; i < 150; i++) {
			fill(edges, 1000, i);
			assert_int_equal(write_at(store, i, edges, 1000), 0);
		}
		assert_int_equal(comm_store_end_run(store, START + 150 * SECOND, "duration"), 0);
	}
	comm_store_close(store);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= (off_t)c.quota_bytes);
	/* The end of the last run is there. */
	q.from_ns = -5 * (int64_t)SECOND;
	report = report_of(&q);
	assert_int_equal(report->run->id, 2);
	assert_int_equal(report->to_ns, 150 * SECOND);
	assert_true(report->total_bytes > 0);
	comm_report_free(report);
	assert_int_equal((int)query("SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check <> 'ok'"),
			 0);
}

/* What wide slices repeat goes first: nothing is lost but the detail. */
static void test_quota_takes_detail_first(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	struct comm_report *report;
	struct comm_query q = {.size = sizeof(q), .self = true};
	double sum = 0;

	(void)state;
	c.quota_bytes = 8 << 20;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++) {
		sum += fill(edges, 1000, i);
		assert_int_equal(write_at(store, i, edges, 1000), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	comm_store_close(store);
	report = report_of(&q);
	assert_int_equal(report->run->deleted_ns, 0);
	assert_true(report->run->slices < 300);
	assert_true(report->read_bytes - report->unwritten_bytes == sum);
	comm_report_free(report);
}

/* A slice alone larger than the quota: refused, and nothing else is hurt. */
static void test_slice_larger_than_quota(void **state)
{
	static struct comm_edge edges[60000];
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.quota_bytes = 1 << 20;
	c.row_cap = 60000;
	store = open_store(&c);
	begin(store);
	fill(edges, 100, 1);
	assert_int_equal(write_at(store, 0, edges, 100), 0);
	for (size_t i = 0; i < 60000; i++)
		edges[i] = (struct comm_edge){.src_thread = 1 + i % 40,
					      .dst_thread = 1 + i / 40 % 40,
					      .src_site = 2 + i / 1600 % 38,
					      .bytes = 1.5 + i,
					      .variance = 0.5 + i};
	assert_int_equal(write_at(store, 1, edges, 60000), -ENOSPC);
	/* Names that went back with it are stored when they are met again. */
	assert_int_equal(write_at(store, 2, edges + 16000, 1600), 0);
	assert_int_equal(comm_store_end_run(store, START + 3 * SECOND, "duration"), 0);
	comm_store_close(store);
	assert_true(read_bytes() > 0);
	assert_true(query("SELECT count(*) FROM edge JOIN slice ON id = slice"
			  " WHERE src_site > 1 AND slice.level = 0") == 1600);
	assert_true(query("SELECT count(*) FROM edge WHERE src_site NOT IN"
			  " (SELECT id FROM site)") == 0);
	assert_true(query("SELECT count(*) FROM edge WHERE src_thread NOT IN"
			  " (SELECT id FROM thread)") == 0);
}

/* Others fill the disk: what was stored stays, the run's end is written. */
static void test_disk_full(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	char name[160], block[4096] = {1};
	int stored = 0, refused = 0, fd;
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;

	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=8m") < 0) {
		print_message("skipped: mounting a tmpfs needs root\n");
		skip();
	}
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 20; i++) {
		fill(edges, 1000, i);
		assert_int_equal(write_at(store, i, edges, 1000), 0);
	}
	assert_int_not_equal(mode_of("-ballast"), 0);
	snprintf(name, sizeof(name), "%s/other", dir);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	for (int i = 20; i < 300; i++) {
		int code;

		fill(edges, 1000, i);
		code = write_at(store, i, edges, 1000);
		assert_true(code == 0 || code == -ENOSPC);
		stored += code == 0;
		refused += code != 0;
		/* The other one takes all that is given back. */
		while (write(fd, block, sizeof(block)) > 0)
			;
	}
	print_message("full disk: %d slices stored, %d refused\n", stored, refused);
	/* It goes on in the space that it has. */
	assert_true(stored > 250);
	assert_int_equal(comm_store_end_run(store, START + 300 * SECOND, "duration"), 0);
	comm_store_close(store);
	close(fd);
	report = report_of(&q);
	assert_int_equal(report->run->state, COMM_RUN_FINISHED);
	assert_true(report->total_bytes > 0);
	comm_report_free(report);
	assert_int_equal((int)query("SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check <> 'ok'"),
			 0);
	/* With room again the store works on. */
	unlink(name);
	store = open_store(&c);
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 1000), 0);
	comm_store_close(store);
	umount2(dir, MNT_DETACH);
}

static void test_kill(void **state)
{
	struct comm_store_config c = config();
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_edge edges[500];
	int pipes[2], status, n = 0;
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		struct comm_store *store = open_store(&c);

		begin(store);
		for (int i = 0;; i++) {
			fill(edges, 500, 1);
			if (write_at(store, i, edges, 500) || write(pipes[1], "x", 1) != 1)
				_exit(1);
		}
	}
	close(pipes[1]);
	while (n < 100 && read(pipes[0], &byte, 1) == 1)
		n++;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	/* What it said to have stored before it died counts as well. */
	while (read(pipes[0], &byte, 1) == 1)
		n++;
	close(pipes[0]);
	report = report_of(&q);
	assert_int_equal(report->run->state, COMM_RUN_UNFINISHED);
	assert_string_equal(report->run->how, "unfinished");
	assert_true(report->run->slices == (unsigned int)n ||
		    report->run->slices == (unsigned int)n + 1);
	assert_int_equal(report->run->end_ns - report->run->start_ns, report->run->slices * SECOND);
	assert_true(report->read_bytes - report->unwritten_bytes ==
		    fill(edges, 500, 1) * report->run->slices);
	comm_report_free(report);
	make_finished(2);
	assert_true(query("SELECT count(*) FROM run") == 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_files_have_their_mode),
		TEST(test_refuses_what_is_not_ours),
		TEST(test_refuses_newer_and_damaged),
		TEST(test_migrates_an_older_one),
		TEST(test_one_writer),
		TEST(test_permissions),
		TEST(test_read_only_file_system),
		TEST(test_stores_what_it_is_given),
		TEST(test_survives_nonsense),
		TEST(test_row_cap),
		TEST(test_more_pairs_than_rows),
		TEST(test_roll_up_keeps_sums),
		TEST(test_quota),
		TEST(test_quota_takes_detail_first),
		TEST(test_slice_larger_than_quota),
		TEST(test_disk_full),
		TEST(test_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
