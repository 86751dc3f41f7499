// SPDX-License-Identifier: GPL-2.0-or-later
/* When an edge's bytes were written, where that was counted: dates, in a store and in reports by time. */
#include "made_store.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "dated.h"

/* Pieces that a run is cut into, each a second here, and that of the slice. */
enum { PIECES = 16, READ = 12 };

static void test_packed(void **state)
{
	const struct comm_dated date[] = {{.at_ns = 5, .bytes = 100},
					  {.at_ns = 6},
					  {.at_ns = 7, .bytes = -3},
					  {.at_ns = UINT64_MAX, .bytes = 4915200000007.0}};
	uint8_t packed[sizeof(date)];
	size_t n = comm_dates_pack(date, 4, packed);
	struct comm_dates_unpack unpack = {packed, packed + n, 4915200000106.0};
	uint64_t at_ns;
	double bytes;

	(void)state;
	assert_int_equal(n, 2 * COMM_DATED_PACKED);
	assert_true(comm_dates_next(&unpack, &at_ns, &bytes) && at_ns == 5 && bytes == 100);
	/* No more than there is. */
	assert_true(comm_dates_next(&unpack, &at_ns, &bytes) && at_ns == UINT64_MAX);
	assert_true(bytes == 4915200000006.0 && unpack.left == 0);
	assert_false(comm_dates_next(&unpack, &at_ns, &bytes));
	unpack = (struct comm_dates_unpack){packed, packed + n - 1, 1000};
	assert_true(comm_dates_next(&unpack, &at_ns, &bytes));
	assert_false(comm_dates_next(&unpack, &at_ns, &bytes));
}

/* More bytes than a packed number has room for. */
static void test_packed_most(void **state)
{
	const struct comm_dated date = {.at_ns = 5, .bytes = 1e300};
	uint8_t packed[COMM_DATED_PACKED];
	struct comm_dates_unpack unpack = {packed, packed, 1e300};
	uint64_t at_ns;
	double bytes;

	(void)state;
	feclearexcept(FE_ALL_EXCEPT);
	unpack.end += comm_dates_pack(&date, 1, packed);
	assert_int_equal(fetestexcept(FE_INVALID), 0);
	assert_true(comm_dates_next(&unpack, &at_ns, &bytes) && bytes == 0x1p63);
}

/* Of too many the latest stay. */
static void test_many(void **state)
{
	static struct comm_dated date[COMM_DATED_MAX + 10];
	static uint8_t packed[COMM_DATED_MAX * COMM_DATED_PACKED];
	struct comm_dates_unpack unpack = {packed, packed, 1e9};
	uint64_t at_ns, first_ns = 0;
	double bytes;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < COMM_DATED_MAX + 10; i++)
		date[i] = (struct comm_dated){.at_ns = i, .bytes = 1};
	unpack.end += comm_dates_pack(date, COMM_DATED_MAX + 10, packed);
	for (; comm_dates_next(&unpack, &at_ns, &bytes); n++)
		first_ns = n ? first_ns : at_ns;
	assert_int_equal(n, COMM_DATED_MAX);
	assert_int_equal(first_ns, 10);
}

static int add(struct comm_dates *dates, int second, uint32_t src_site, double bytes)
{
	return comm_dates_add(dates,
			      &(struct comm_dated){.at_ns = START + second * SECOND + SECOND / 2,
						   .src_thread = 1,
						   .dst_thread = 2,
						   .src_site = src_site,
						   .dst_site = 3,
						   .object = 1,
						   .bytes = bytes});
}

static const struct comm_node *node(const struct comm_report *report, size_t i)
{
	return comm_report_node_at(report, i);
}

/* The bytes that were written in a piece, or -1 for none, and read in that of the slice. */
static double written_in(const struct comm_report *report, int64_t from_s)
{
	double bytes = 0;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		const struct comm_node *from = node(report, edge->from);

		assert_int_equal(node(report, edge->to)->from_ns / SECOND, READ);
		if (from_s < 0 ? !from->to_ns
			       : from->to_ns && from->from_ns / SECOND == (uint64_t)from_s)
			bytes += edge->bytes;
	}
	/* Shares of them are to the byte, and not to its last bit. */
	return round(bytes);
}

/*
 * A run of as many seconds as it has pieces: in one of them two edges are read that differ by their writers' code, and
 * of one of these a part is without a date.
 */
static void test_report(void **state)
{
	struct comm_edge edge[2] = {{.src_thread = 1,
				     .dst_thread = 2,
				     .src_site = 2,
				     .dst_site = 3,
				     .object = 1,
				     .bytes = 1000},
				    {.src_thread = 1,
				     .dst_thread = 2,
				     .src_site = 4,
				     .dst_site = 3,
				     .object = 1,
				     .bytes = 500}};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_naming naming = made_naming(names);
	struct comm_dates dates = {0};
	struct comm_slice_info info = {.start_ns = START + READ * SECOND,
				       .end_ns = START + (READ + 1) * SECOND};
	struct comm_query query = {.size = sizeof(query), .by = "time"};
	struct comm_report *report;

	(void)state;
	begin(store);
	/* What was there before it is read is written in pieces 3 and 9, and what has a later time than its read in its own. */
	assert_int_equal(add(&dates, 9, 2, 300), 0);
	assert_int_equal(add(&dates, 3, 2, 500), 0);
	assert_int_equal(add(&dates, 3, 2, 100), 0);
	assert_int_equal(add(&dates, READ + 2, 4, 500), 0);
	/* Of an edge that there is not. */
	assert_int_equal(add(&dates, 3, 5, 5000), 0);
	comm_dates_sort(&dates);
	info.date = dates.date;
	info.n_dates = dates.n;
	assert_int_equal(comm_store_write_slice(store, &info, edge, 2, &naming), 0);
	assert_int_equal(comm_store_end_run(store, START + PIECES * SECOND, "duration"), 0);
	comm_store_close(store);
	comm_dates_deinit(&dates);
	report = report_of(&query);
	assert_true(report->total_bytes == 1500);
	assert_true(written_in(report, 3) == 600 && written_in(report, 9) == 300);
	assert_true(written_in(report, READ) == 500 && written_in(report, -1) == 100);
	comm_report_free(report);
	/* The same of longer pieces. */
	query.piece_ns = 4 * SECOND;
	report = report_of(&query);
	assert_true(written_in(report, 0) == 600 && written_in(report, 8) == 300);
	assert_true(written_in(report, READ) == 500 && written_in(report, -1) == 100);
	comm_report_free(report);
	query.piece_ns = 0;
	/* Without a date, and an age, a time is not known; first reads have none. */
	query.first_read = true;
	sql("UPDATE edge SET first_bytes = 7");
	report = report_of(&query);
	assert_true(written_in(report, -1) == 14);
	comm_report_free(report);
}

/* As many pieces as there may be, a single one, and one too many. */
static void test_pieces(void **state)
{
	struct comm_query query = {
		.size = sizeof(query), .by = "time", .self = true, .piece_ns = SECOND};
	struct comm_reader *reader;
	struct comm_report *report;
	uint64_t to_ns = 0;
	char *err;

	(void)state;
	make_finished(64);
	report = report_of(&query);
	assert_true(report->n_edges > 0);
	comm_report_free(report);
	/* One that is longer than the run. */
	query.piece_ns = UINT64_MAX;
	report = report_of(&query);
	for (size_t i = 0; i < report->n_nodes; i++)
		to_ns += node(report, i)->to_ns;
	assert_int_equal(to_ns, 64 * SECOND);
	comm_report_free(report);
	query.piece_ns = SECOND - 1;
	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	assert_int_equal(comm_reader_report(reader, &query, &report, &err), -EINVAL);
	assert_non_null(strstr(err, "more than 64 pieces"));
	free(err);
	comm_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_most),
		cmocka_unit_test(test_many),
		cmocka_unit_test_setup_teardown(test_report, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
