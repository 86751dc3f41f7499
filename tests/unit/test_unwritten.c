// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads without a known writer, from the estimator's sums through the store to a report's nodes. */
#include <math.h>

#include "made_store.h"
#include "unwritten_sums.h"

enum { MINUTE = 60, SLICES = 400, THREADS = 5 };

static void check_end(const struct comm_unwritten_end *end, uint32_t thread, uint32_t site,
		      uint32_t object, double bytes, double first_bytes)
{
	assert_int_equal(end->thread, thread);
	assert_int_equal(end->site, site);
	assert_int_equal(end->object, object);
	assert_true(end->bytes == bytes && end->first_bytes == first_bytes);
}

static void test_packed(void **state)
{
	const struct comm_unwritten_end ends[] = {
		{0, 0, 7, 3, 1},
		{0, 200, 1, 1e15 + 1, 0},
		{2, 100, 1, 127, 128},
		{UINT32_MAX, UINT32_MAX, UINT32_MAX, 1e18, 1e18},
	};
	uint8_t packed[4 * COMM_UNWRITTEN_PACKED];
	size_t n = comm_unwritten_pack(ends, 4, packed);
	struct comm_unwritten_unpack unpack = {.at = packed, .end = packed + n};
	struct comm_unwritten_end end;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_true(comm_unwritten_next(&unpack, &end));
		check_end(&end, ends[i].thread, ends[i].site, ends[i].object, ends[i].bytes,
			  ends[i].first_bytes);
	}
	assert_false(comm_unwritten_next(&unpack, &end));
	/* The longest that there is. */
	n = comm_unwritten_pack(&ends[3], 1, packed);
	assert_true(n <= COMM_UNWRITTEN_PACKED);
	for (size_t i = 0; i < n; i++) {
		unpack = (struct comm_unwritten_unpack){.at = packed, .end = packed + i};
		assert_false(comm_unwritten_next(&unpack, &end));
	}
}

/* Of thirds of a byte none is lost: sums are as they were, to the byte. */
static void test_packed_sums(void **state)
{
	struct comm_unwritten_end ends[300], end;
	uint8_t packed[300 * COMM_UNWRITTEN_PACKED];
	struct comm_unwritten_unpack unpack = {.at = packed};
	double bytes = 0, first_bytes = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		ends[i] = (struct comm_unwritten_end){1, i, 1, 1. / 3, 41.25};
	unpack.end = packed + comm_unwritten_pack(ends, 300, packed);
	while (comm_unwritten_next(&unpack, &end)) {
		bytes += end.bytes;
		first_bytes += end.first_bytes;
	}
	assert_true(bytes == 100 && first_bytes == 300 * 41.25);
}

static void test_hostile(void **state)
{
	static const uint8_t long_number[] = {1,    1,	  1,	1,    0xff, 0xff, 0xff, 0xff,
					      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0};
	static const uint8_t large_id[] = {0xff, 0xff, 0xff, 0xff, 0x1f, 1, 1, 1, 1};
	static const uint8_t two_that_overflow[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1,
						    1,	  1,	1,    1,    1,	  1, 1};
	struct comm_unwritten_unpack unpack = {.at = long_number,
					       .end = long_number + sizeof(long_number)};
	struct comm_unwritten_end end;

	(void)state;
	assert_false(comm_unwritten_next(&unpack, &end));
	assert_false(comm_unwritten_next(&unpack, &end));
	unpack = (struct comm_unwritten_unpack){.at = large_id, .end = large_id + sizeof(large_id)};
	assert_false(comm_unwritten_next(&unpack, &end));
	unpack = (struct comm_unwritten_unpack){
		.at = two_that_overflow, .end = two_that_overflow + sizeof(two_that_overflow)};
	assert_true(comm_unwritten_next(&unpack, &end));
	assert_int_equal(end.thread, UINT32_MAX);
	assert_false(comm_unwritten_next(&unpack, &end));
}

static void test_bounded(void **state)
{
	struct comm_unwritten_sums sums;
	struct comm_unwritten all;
	double bytes = 0;

	(void)state;
	comm_unwritten_sums_init(&sums, 0);
	for (uint32_t i = 0; i < 5000; i++)
		comm_unwritten_sums_add(&sums, &(struct comm_unwritten_end){1, 1 + i, 1, 1 + i, 1});
	comm_unwritten_sums_take(&sums, &all);
	assert_true(all.n_ends <= 1024 && all.n_ends > 500);
	assert_true(all.bytes == 5000. * 5001 / 2 && all.first_bytes == 5000);
	assert_true(sums.folded >= 4000);
	for (size_t i = 0; i < all.n_ends; i++)
		bytes += all.end[i].bytes;
	assert_true(bytes == all.bytes);
	/* What was taken does not come again. */
	comm_unwritten_sums_take(&sums, &all);
	assert_true(all.n_ends == 0 && all.bytes == 0);
	comm_unwritten_sums_add(&sums, &(struct comm_unwritten_end){2, 3, 4, 5, 1});
	comm_unwritten_sums_take(&sums, &all);
	assert_int_equal(all.n_ends, 1);
	check_end(&all.end[0], 2, 3, 4, 5, 1);
	comm_unwritten_sums_deinit(&sums);
}

/* Thread i reads i bytes at two sites; of one byte nobody knows who read it. */
static int write_ends(struct comm_store *store, int second)
{
	struct comm_unwritten_end ends[2 * THREADS];
	const struct comm_unwritten_end written = {.thread = 1, .site = 2, .object = 1, .bytes = 7};
	struct comm_slice_info info = {
		.start_ns = START + second * SECOND,
		.end_ns = START + (second + 1) * SECOND,
		.unwritten = {.bytes = 1, .first_bytes = 1, .end = ends, .n_ends = 2 * THREADS},
		.written = {&written, 1}};
	struct comm_naming naming = made_naming(names);
	struct comm_edge edge;

	fill(&edge, 1, second);
	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		ends[i] = (struct comm_unwritten_end){1 + i / 2, 2 + i % 2, 1, (i / 2 + 1) * 500,
						      i / 2};
		info.unwritten.bytes += ends[i].bytes;
		info.unwritten.first_bytes += ends[i].first_bytes;
	}
	return comm_store_write_slice(store, &info, &edge, 1, &naming);
}

static double of(const struct comm_report *report, const char *name, uint32_t tid)
{
	for (size_t i = 0; i < report->n_nodes; i++)
		if (!strcmp(comm_report_node_at(report, i)->name, name) &&
		    comm_report_node_at(report, i)->tid == tid)
			return comm_report_node_at(report, i)->unwritten_bytes;
	return 0;
}

/* What is asked for of slices [from, from + n), which may be from slices of any width. */
static void check_range(uint64_t from, uint64_t n, bool first_read)
{
	struct comm_query q = {.size = sizeof(q),
			       .from_ns = (int64_t)(from * SECOND),
			       .to_ns = (int64_t)((from + n) * SECOND),
			       .first_read = first_read,
			       .totals = 1,
			       .unwritten = 1};
	struct comm_report *report = report_of(&q);

	for (uint32_t i = 0; i < THREADS; i++)
		assert_true(of(report, "worker", 10 + i) ==
			    n * (first_read ? 2. * i : 1000. * (i + 1)));
	assert_true(of(report, "(other)", 0) == n);
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		assert_true(total->wrote_bytes == (total->node.tid == 10 ? 7. * n : 0));
	}
	comm_report_free(report);
	q.thread = "12";
	q.function = "function";
	report = report_of(&q);
	assert_true(of(report, "worker", 12) == n * (first_read ? 4. : 3000.));
	assert_true(of(report, "worker", 11) == 0 && of(report, "(other)", 0) == 0);
	comm_report_free(report);
	q.thread = NULL;
	q.writer = "12";
	report = report_of(&q);
	assert_true(of(report, "worker", 12) == 0);
	comm_report_free(report);
}

static void check_ranges(void)
{
	for (int first_read = 0; first_read < 2; first_read++) {
		check_range(SLICES - 30, 10, first_read); /* seconds */
		check_range(2 * MINUTE, MINUTE, first_read);
		check_range(0, SLICES, first_read);
	}
}

static void make(void)
{
	struct comm_store_config c = config();
	struct comm_store *store;

	c.detail_ns = 2 * MINUTE * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < SLICES; i++)
		assert_int_equal(write_ends(store, i), 0);
	assert_int_equal(comm_store_end_run(store, START + SLICES * SECOND, "duration"), 0);
	comm_store_close(store);
}

static void test_rolled_up(void **state)
{
	(void)state;
	make();
	/* The narrow slices of the first minutes are gone, and what they had with them. */
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") < SLICES - MINUTE);
	assert_true(query("SELECT count(*) FROM unwritten") == query("SELECT count(*) FROM slice"));
	assert_true(query("SELECT count(*) FROM unwritten WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	assert_true(query("SELECT count(*) FROM written") == query("SELECT count(*) FROM slice"));
	assert_true(query("SELECT count(*) FROM written WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	check_ranges();
}

static void test_salvaged(void **state)
{
	struct comm_salvaged saved = {.size = sizeof(saved)};
	char copy[160], *err = NULL;

	(void)state;
	make();
	snprintf(copy, sizeof(copy), "%s/saved.db", dir);
	assert_int_equal(comm_salvage(path, copy, &saved, &err), 0);
	assert_int_equal(rename(copy, path), 0);
	check_ranges();
	/* What a slice does not have any more is of readers that are not known. */
	sql("DELETE FROM unwritten WHERE slice = (SELECT max(id) FROM slice WHERE level = 0)");
	{
		struct comm_query q = {
			.size = sizeof(q), .from_ns = -(int64_t)SECOND, .unwritten = 1};
		struct comm_report *report = report_of(&q);

		assert_true(of(report, "(other)", 0) == report->unwritten_bytes);
		assert_true(report->unwritten_bytes == 15001);
		comm_report_free(report);
	}
}

static void test_deleted(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	make();
	store = open_store(&c);
	while (query("SELECT count(*) FROM run"))
		assert_int_equal(comm_store_delete_run(store, 1), 0);
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM unwritten") == 0);
	assert_true(query("SELECT count(*) FROM written") == 0);
}

/* More than a row has room for: a node that lacks some would seem to write less. */
static void test_many_writes(void **state)
{
	enum { WRITERS = 40, SITES = 40, OBJECTS = 4, MANY = WRITERS * SITES * OBJECTS };
	struct comm_query q = {.size = sizeof(q), .by = "thread", .totals = 1};
	struct comm_unwritten_end ends[MANY];
	const struct comm_slice_info info = {
		.start_ns = START, .end_ns = START + SECOND, .written = {ends, MANY}};
	struct comm_naming naming = made_naming(names);
	struct comm_store_config c = config();
	struct comm_report *report;
	struct comm_store *store;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		ends[i] =
			(struct comm_unwritten_end){1 + i % WRITERS, 2 + i / WRITERS % SITES,
						    1 + i / WRITERS / SITES, 1e6 + i % WRITERS, 0};
	c.row_cap = 2 * MANY;
	store = open_store(&c);
	begin(store);
	assert_int_equal(comm_store_write_slice(store, &info, NULL, 0, &naming), 0);
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM written") > 2);
	report = report_of(&q);
	assert_int_equal(report->n_totals, WRITERS);
	for (size_t i = 0; i < WRITERS; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		assert_true(total->wrote_bytes == (1e6 + total->node.tid - 10) * SITES * OBJECTS);
	}
	comm_report_free(report);
}

/* Too many ends for a slice: the smallest are summed up, and that is counted. */
static void test_capped(void **state)
{
	struct comm_store_config c = config();
	struct comm_query q = {.size = sizeof(q), .unwritten = 1};
	struct comm_naming naming = made_naming(names);
	struct comm_unwritten_end ends[40];
	struct comm_slice_info info = {
		.start_ns = START,
		.end_ns = START + SECOND,
		.unwritten = {.bytes = 40. * 41 / 2, .end = ends, .n_ends = 40}};
	struct comm_report *report;
	struct comm_store *store;

	(void)state;
	c.row_cap = 10;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 40; i++)
		ends[i] = (struct comm_unwritten_end){1 + i, 2, 1, 1 + i, 0};
	assert_int_equal(comm_store_write_slice(store, &info, NULL, 0, &naming), 0);
	comm_store_close(store);
	assert_true(query("SELECT n FROM loss WHERE cause = 'cells_folded'") == 30);
	report = report_of(&q);
	assert_true(of(report, "worker", 49) == 40);
	assert_true(of(report, "(other)", 0) == 30. * 31 / 2);
	comm_report_free(report);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_sums),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_bounded),
		TEST(test_rolled_up),
		TEST(test_salvaged),
		TEST(test_deleted),
		TEST(test_capped),
		TEST(test_many_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
