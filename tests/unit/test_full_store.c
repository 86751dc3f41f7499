// SPDX-License-Identifier: GPL-2.0-or-later
/* A store whose quota or disk is full: what goes first, and what stays. */
#include <errno.h>

#include "made_store.h"

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
	/* The end of the last run is still stored. */
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

/* Slices that wide ones repeat are deleted first: only detail is lost. */
static void detail_goes_first(uint64_t rollup_ns)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	struct comm_report *report;
	struct comm_query q = {.size = sizeof(q), .self = true};
	double sum = 0;

	c.quota_bytes = 8 << 20;
	c.rollup_ns = rollup_ns;
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

static void test_quota_takes_detail_first(void **state)
{
	(void)state;
	detail_goes_first(config().rollup_ns);
}

/* Of slices as long as the first that they would be summed in, which are parts of the next. */
static void test_quota_takes_long_slices_first(void **state)
{
	(void)state;
	detail_goes_first(SECOND);
}

/* A sum that was not written would leave its parts, which then are in the place of older data for good. */
static void test_quota_has_room_for_sums(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[300];
	struct comm_store *store;

	(void)state;
	c.quota_bytes = 2 << 20;
	c.rollup_ns = 10 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 1000; i++) {
		fill(edges, 300, i);
		assert_int_equal(write_at(store, i, edges, 300), 0);
	}
	assert_true(query("SELECT deleted_ns FROM run") > 0 ||
		    query("SELECT count(*) FROM slice WHERE level = 0") < 1000);
	assert_true(query("SELECT count(*) FROM slice p WHERE level = 0"
			  " AND start_ns < (SELECT max(end_ns) FROM slice WHERE level = 1)"
			  " AND NOT EXISTS (SELECT 1 FROM slice w WHERE w.level > 0"
			  "  AND w.start_ns <= p.start_ns AND w.end_ns > p.start_ns)") == 0);
	comm_store_close(store);
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
	/* Names that were rolled back with it are stored when they occur again. */
	assert_int_equal(write_at(store, 2, edges + 16000, 1600), 0);
	assert_int_equal(comm_store_end_run(store, START + 3 * SECOND, "duration"), 0);
	comm_store_close(store);
	assert_true(read_bytes() > 0);
	assert_true(query("SELECT count(*) FROM edge JOIN slice ON id = slice"
			  " WHERE src_context > 1 AND slice.level = 0") == 1600);
	assert_true(query("SELECT count(*) FROM edge WHERE src_context NOT IN"
			  " (SELECT id FROM context)") == 0);
	assert_true(query("SELECT count(*) FROM edge WHERE src_thread NOT IN"
			  " (SELECT id FROM thread)") == 0);
}

/* Another file fills the disk: stored slices stay, the run's end is written. */
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
		/* The other file takes all space that the store gives back. */
		while (write(fd, block, sizeof(block)) > 0)
			;
	}
	print_message("full disk: %d slices stored, %d refused\n", stored, refused);
	/* The store goes on in the space that it has. */
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_quota),
		TEST(test_quota_takes_detail_first),
		TEST(test_quota_takes_long_slices_first),
		TEST(test_quota_has_room_for_sums),
		TEST(test_slice_larger_than_quota),
		TEST(test_disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
