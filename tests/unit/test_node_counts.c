// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts in reports: by thread and role, and apportioned by region. */
#include <errno.h>
#include <math.h>

#include "made_store.h"

static const char *const counters[] = {COMM_COUNTER_CPU, "instructions", COMM_COUNTER_SAMPLED,
				       "page-faults",	 "migrations",	 "cs:u"};

static void write_counts(struct comm_store *store, int second, const struct comm_count *c, size_t n,
			 const struct comm_edge *edges, size_t n_edges)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .count = c,
				       .n_counts = n,
				       .counter = counters,
				       .n_counters = 6};
	struct comm_naming naming = made_naming(names);

	assert_int_equal(comm_store_write_slice(store, &info, edges, n_edges, &naming), 0);
}

static const struct comm_report_count *count_of(const struct comm_report *report, const char *node,
						const char *counter)
{
	for (size_t i = 0; i < report->n_counts; i++) {
		const struct comm_report_count *count = comm_report_count_at(report, i);

		if ((!strcmp(count->node.id, node) || !strcmp(count->node.name, node)) &&
		    !strcmp(count->counter, counter))
			return count;
	}
	fail_msg("no %s of %s", counter, node);
	return NULL;
}

static const struct comm_edge edge = {.src_thread = 1,
				      .dst_thread = 2,
				      .src_site = 2,
				      .dst_site = 3,
				      .object = 1,
				      .bytes = 1000,
				      .bursts = 5};

static struct comm_store *write_two_slices(void)
{
	const uint32_t region = made_region(names, 0, "parse");
	const struct comm_count first[] = {
		{.thread = 1, .counter = 0, .value = 1e8},
		{.thread = 2, .counter = 0, .value = 4e8},
		{.thread = 1,
		 .counter = 1,
		 .value = 50,
		 .enabled_ns = 100000000,
		 .running_ns = 25000000},
		{.thread = 2, .region = region, .counter = 2, .value = 3},
		{.thread = 2, .counter = 2, .value = 1},
	};
	const struct comm_count second[] = {{.thread = 1, .counter = 0, .value = 3e8}};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);

	names->site[3].region = region;
	begin(store);
	write_counts(store, 0, first, 5, &edge, 1);
	write_counts(store, 1, second, 1, NULL, 0);
	return store;
}

static void test_threads_and_roles(void **state)
{
	struct comm_query q = {.size = sizeof(q), .counts = 1};
	const struct comm_report_count *count;
	struct comm_report *report;
	struct comm_store *store;

	(void)state;
	/* A pool without its process's first thread. */
	for (uint32_t i = 1; i < names->n_threads; i++)
		names->thread[i].tgid = 9;
	store = write_two_slices();
	report = report_of(&q);
	assert_int_equal(report->n_counts, 3);
	/* Equal CPU time: by id. */
	count = count_of(report, "t1", COMM_COUNTER_CPU);
	assert_ptr_equal(count, comm_report_count_at(report, 0));
	assert_true(count->total == 4e8 && count->mean == 2e8 && count->slices == 2);
	assert_true(fabs(count->deviation - sqrt(2) * 1e8) < 1);
	assert_true(count->counted == 1 && count->bytes == 1000 && count->node.tid == 10);
	/* Of 400 ms the event was counted in 25. */
	count = count_of(report, "t1", "instructions");
	assert_true(count->total == 50 && count->counted == 25e6 / 4e8);
	assert_null(comm_report_count_at(report, 3));
	comm_report_free(report);
	q.by = "role";
	report = report_of(&q);
	count = count_of(report, "worker", COMM_COUNTER_CPU);
	assert_true(count->total == 8e8 && count->slices == 2);
	comm_report_free(report);
	comm_store_close(store);
}

static void test_cpu_time_of_regions(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "region", .counts = 1};
	const struct comm_count third[] = {{.thread = 2, .counter = 0, .value = 8e8}};
	struct comm_store *store = write_two_slices();
	struct comm_report *report;

	(void)state;
	/* In the third slice thread 2 was not sampled: it is taken to be where it was in the others. */
	write_counts(store, 2, third, 1, NULL, 0);
	report = report_of(&q);
	/* Three quarters of what thread 2 has; of thread 1 no sample tells. */
	assert_int_equal(report->n_counts, 4);
	assert_true(count_of(report, "parse", COMM_COUNTER_CPU)->total == 9e8);
	assert_true(count_of(report, "(no region)", COMM_COUNTER_CPU)->total == 3e8);
	assert_true(count_of(report, "r0", COMM_COUNTER_CPU)->total == 4e8);
	comm_report_free(report);
	/* And so long they were. */
	q = (struct comm_query){.size = sizeof(q), .by = "region", .totals = 1};
	report = report_of(&q);
	assert_string_equal(report->length_unit, COMM_COUNTER_CPU);
	assert_int_equal(report->n_totals, 2);
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		assert_true(total->length == (strcmp(total->node.name, "parse") ? 3e8 : 9e8));
		assert_true(total->all_length == total->length);
	}
	comm_report_free(report);
	comm_store_close(store);
}

/* Of thread 2 samples tell alone: that does not compare with what was counted of thread 1. */
static void test_counted_beside_sampled(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "thread", .totals = 1};
	const struct comm_count counts[] = {{.thread = 1, .counter = 0, .value = 1e8}};
	const struct comm_unwritten_end lengths[] = {{.thread = 1, .site = 2, .bytes = 3e7},
						     {.thread = 2, .site = 3, .bytes = 5e7}};
	struct comm_slice_info info = {.start_ns = START,
				       .end_ns = START + SECOND,
				       .lengths = {lengths, 2, 0},
				       .counter = counters,
				       .n_counters = 6};
	struct comm_naming naming = made_naming(names);
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_report *report;

	(void)state;
	begin(store);
	assert_int_equal(comm_store_write_slice(store, &info, &edge, 1, &naming), 0);
	report = report_of(&q);
	for (size_t i = 0; i < report->n_totals; i++)
		assert_true(comm_report_total_at(report, i)->length > 0);
	comm_report_free(report);
	info.start_ns += SECOND;
	info.end_ns += SECOND;
	info.count = counts;
	info.n_counts = 1;
	assert_int_equal(comm_store_write_slice(store, &info, &edge, 1, &naming), 0);
	report = report_of(&q);
	assert_int_equal(report->n_totals, 2);
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		if (total->node.tid == 10)
			assert_true(total->length == 1e8 && total->all_length == 1e8);
		else
			assert_true(total->length < 0 && total->all_length < 0);
	}
	comm_report_free(report);
	comm_store_close(store);
}

/* Events are where CPU time is, but those that come when a thread does not run. */
static void test_events_of_regions(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "region", .counts = 1};
	const struct comm_count third[] = {
		{.thread = 2, .counter = 0, .value = 8e8},
		{.thread = 2, .counter = 1, .value = 40},
		{.thread = 2,
		 .counter = 3,
		 .value = 400,
		 .enabled_ns = 800000000,
		 .running_ns = 400000000},
		{.thread = 2, .counter = 4, .value = 7},
		{.thread = 2, .counter = 5, .value = 7},
		{.thread = 2, .counter = 2, .value = 1},
	};
	const struct comm_count fourth[] = {{.thread = 2, .counter = 0, .value = 1e8},
					    {.thread = 2, .counter = 3, .value = 100}};
	struct comm_store *store = write_two_slices();
	const struct comm_report_count *count;
	struct comm_report *report;

	(void)state;
	/* All of it outside of regions; then a slice without a sample, of which 3 of 5 so far were in "parse". */
	write_counts(store, 2, third, 6, NULL, 0);
	write_counts(store, 3, fourth, 2, NULL, 0);
	report = report_of(&q);
	count = count_of(report, "(no region)", "page-faults");
	assert_true(count->total == 400 + 40);
	/* Of 100 ms in the first slice, 800 and 40 it was counted in 400. */
	assert_true(fabs(count->counted - 400.0 / 940) < 1e-9);
	assert_true(count_of(report, "parse", "page-faults")->total == 60);
	assert_true(count_of(report, "(no region)", "instructions")->total == 40);
	/* Of thread 1 no sample tells. */
	assert_true(count_of(report, "r0", "instructions")->total == 50);
	for (size_t i = 0; i < report->n_counts; i++)
		assert_false(comm_counter_is_off_cpu(comm_report_count_at(report, i)->counter));
	comm_report_free(report);
	comm_store_close(store);
}

/* A thread that samples met in a slice in which its CPU time was not read. */
static void test_samples_without_cpu_time(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "region", .counts = 1};
	const uint32_t region = made_region(names, 0, "parse");
	const struct comm_count first[] = {
		{.thread = 2, .region = region, .counter = 2, .value = 1}};
	const struct comm_count second[] = {{.thread = 2, .counter = 0, .value = 8e8}};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_report *report;

	(void)state;
	names->site[3].region = region;
	begin(store);
	write_counts(store, 0, first, 1, &edge, 1);
	write_counts(store, 1, second, 1, NULL, 0);
	report = report_of(&q);
	assert_int_equal(report->n_counts, 1);
	assert_true(count_of(report, "parse", COMM_COUNTER_CPU)->total == 8e8);
	comm_report_free(report);
	comm_store_close(store);
}

/* As an exact run: nobody knows where its instructions were. */
static void test_run_without_samples(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "region", .counts = 1};
	const struct comm_count counts[] = {{.thread = 1, .counter = 0, .value = 1e8},
					    {.thread = 1, .counter = 1, .value = 50}};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_report *report;

	(void)state;
	names->site[3].region = made_region(names, 0, "parse");
	begin(store);
	write_counts(store, 0, counts, 2, &edge, 1);
	report = report_of(&q);
	assert_int_equal(report->n_counts, 1);
	assert_string_equal(comm_report_count_at(report, 0)->counter, COMM_COUNTER_CPU);
	comm_report_free(report);
	comm_store_close(store);
}

static void test_names_of_counters(void **state)
{
	static const char *const off[] = {"wait-time-ns",
					  "blocked-time-ns",
					  "voluntary-switches",
					  "involuntary-switches",
					  "migrations",
					  "cpu-migrations",
					  "context-switches",
					  "CS:u",
					  "perf::CPU-MIGRATIONS",
					  "PERF_COUNT_SW_CONTEXT_SWITCHES",
					  "perf::PERF_COUNT_SW_CPU_MIGRATIONS:k"};
	static const char *const on[] = {
		"cpu-time-ns", "page-faults", "instructions", "csx", "", "c"};

	(void)state;
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (!comm_counter_is_off_cpu(off[i]))
			fail_msg("%s is of when a thread runs", off[i]);
	for (size_t i = 0; i < sizeof(on) / sizeof(*on); i++)
		if (comm_counter_is_off_cpu(on[i]))
			fail_msg("%s is of when no thread runs", on[i]);
}

static void refuse_query(const struct comm_query *q, int code, const char *words)
{
	struct comm_reader *reader;
	struct comm_report *report;
	char *err = NULL;

	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	assert_int_equal(comm_reader_report(reader, q, &report, &err), code);
	if (!err || !strstr(err, words))
		fail_msg("the sentence is: %s", err ? err : "none");
	free(err);
	comm_reader_close(reader);
}

static void test_refused(void **state)
{
	struct comm_query q = {.size = sizeof(q), .counts = 1};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);

	(void)state;
	begin(store);
	write_counts(store, 0, NULL, 0, NULL, 0);
	refuse_query(&q, -ENODATA, "has no counts");
	q.by = "function";
	refuse_query(&q, -EINVAL, "several functions");
	comm_store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_threads_and_roles),
		TEST(test_cpu_time_of_regions),
		TEST(test_counted_beside_sampled),
		TEST(test_events_of_regions),
		TEST(test_samples_without_cpu_time),
		TEST(test_run_without_samples),
		cmocka_unit_test(test_names_of_counters),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
