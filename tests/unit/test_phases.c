// SPDX-License-Identifier: GPL-2.0-or-later
/* Phases: where a run is cut, and what was written in one and read in another. */
#include <math.h>

#include "change_points.h"
#include "hash.h"
#include "made_store.h"

enum { PAIRS = 6, SLICES = 40 };

/* One slice of a sampled program: how many of the samples met each pair of threads. */
static void sample(const double share[PAIRS], int n, uint64_t *random, double ret[PAIRS])
{
	memset(ret, 0, PAIRS * sizeof(*ret));
	for (int i = 0; i < n; i++) {
		double at = comm_hash_uniform(random);
		int pair = 0;

		while (pair < PAIRS - 1 && at >= share[pair])
			at -= share[pair++];
		ret[pair]++;
	}
}

static size_t cut(double counts[SLICES][PAIRS], size_t ret_first[SLICES])
{
	static double distance[SLICES * SLICES];

	for (int i = 0; i < SLICES; i++) {
		for (int j = 0; j < SLICES; j++) {
			double sum = 0;

			for (int k = 0; k < PAIRS; k++)
				sum += pow(sqrt(counts[i][k]) - sqrt(counts[j][k]), 2);
			distance[i * SLICES + j] = sqrt(sum);
		}
	}
	return comm_change_points(distance, SLICES, 0.01, SLICES, ret_first);
}

static const double steady[PAIRS] = {0.4, 0.3, 0.1, 0.1, 0.05, 0.05};
static const double other[PAIRS] = {0.1, 0.3, 0.4, 0.1, 0.05, 0.05};

/* One in a hundred at most is cut that should not be: 6 of 200 is chance at the most. */
static void test_false_alarms(void **state)
{
	double counts[SLICES][PAIRS];
	size_t first[SLICES];
	uint64_t random = 5;
	int alarms = 0;

	(void)state;
	for (int run = 0; run < 200; run++) {
		for (int i = 0; i < SLICES; i++)
			sample(steady, 20, &random, counts[i]);
		alarms += cut(counts, first) > 0;
	}
	if (alarms > 6)
		fail_msg("%d of 200 steady runs were cut", alarms);
}

/* A change is found, and a change back, at the slice where it is or beside that one. */
static void test_power(void **state)
{
	double counts[SLICES][PAIRS];
	size_t first[SLICES];
	uint64_t random = 5;
	int found = 0;

	(void)state;
	for (int run = 0; run < 20; run++) {
		size_t n;

		for (int i = 0; i < SLICES; i++)
			sample(i >= 12 && i < 25 ? other : steady, 60, &random, counts[i]);
		n = cut(counts, first);
		found += n == 2 && llabs((long long)first[0] - 12) <= 1 &&
			 llabs((long long)first[1] - 25) <= 1;
	}
	if (found < 18)
		fail_msg("of 20 runs with two changes %d were cut right", found);
}

static void test_few(void **state)
{
	double distance[5 * 5];
	size_t first[5];

	(void)state;
	for (int i = 0; i < 25; i++)
		distance[i] = (i / 5 < 2) != (i % 5 < 2);
	assert_int_equal(comm_change_points(distance, 5, 0.01, 5, first), 0);
	assert_int_equal(comm_change_points(distance, 1, 0.01, 5, first), 0);
	assert_int_equal(comm_change_points(distance, 0, 0.01, 5, first), 0);
}

static const struct comm_node *phase_of(const struct comm_report *report, size_t node)
{
	const struct comm_node *n = comm_report_node_at(report, node);

	return n->n_parts ? n->parts[n->n_parts - 1] : n;
}

static struct comm_report *report_by(const char *by)
{
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_report *report = NULL;
	struct comm_reader *reader;
	char *err = NULL;

	query.by = by;
	query.across = true;
	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	if (comm_reader_report(reader, &query, &report, &err))
		fail_msg("%s", err);
	comm_reader_close(reader);
	return report;
}

/* Three phases of 14, 10 and 8 s; what is read in the last one was written in the first. */
static void make_phases(void)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	uint64_t random = 3;

	begin(store);
	for (int s = 0; s < 32; s++) {
		int phase = s < 14 ? 0 : s < 24 ? 1 : 2;
		struct comm_edge edges[3] = {{0}};

		for (int i = 0; i < 3; i++) {
			double bytes = 1000 + (double)(comm_hash_next(&random) % 200);

			edges[i] = (struct comm_edge){.src_thread = 1 + i,
						      .dst_thread = 1 + (i + 1 + phase) % 4,
						      .src_site = 2 + i,
						      .dst_site = 5,
						      .object = 1,
						      .bursts = 10,
						      .bytes = bytes,
						      .variance = bytes};
		}
		/* In the first phase nothing is known, in the second all was written at once. */
		for (int i = 0; i < 3 && phase == 1; i++)
			edges[i].ages.bytes[4] = (float)edges[i].bytes;
		/* 16.8 to 33.6 s ago; of a quarter it is not known. */
		for (int i = 0; i < 3 && phase == 2; i++)
			edges[i].ages.bytes[15] = (float)(edges[i].bytes * 3 / 4);
		assert_int_equal(write_at(store, s, edges, 3), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + 32 * SECOND, "test"), 0);
	comm_store_close(store);
}

static double bytes_between(const struct comm_report *report, const char *from, const char *to)
{
	double sum = 0;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (strstr(phase_of(report, e->from)->name, from) &&
		    strstr(phase_of(report, e->to)->name, to))
			sum += e->bytes;
	}
	return sum;
}

static void test_matrix(void **state)
{
	static const char *const by[] = {"phase", "thread,phase", "function,phase"};
	static const uint64_t ends[] = {14, 24, 32};

	(void)state;
	make_phases();
	for (size_t i = 0; i < 3; i++) {
		struct comm_report *report = report_by(by[i]);
		double third = bytes_between(report, "", "phase 3");
		double old = bytes_between(report, "phase 1", "phase 3");

		for (size_t j = 0; j < report->n_nodes; j++) {
			const struct comm_node *node = phase_of(report, j);
			char number[2] = "1";

			for (int k = 0; k < 3; k++, number[0]++) {
				if (strncmp(node->name, "phase ", 6) || node->name[6] != *number)
					continue;
				assert_int_equal(node->from_ns, k ? ends[k - 1] * SECOND : 0);
				assert_int_equal(node->to_ns, ends[k] * SECOND);
			}
		}
		assert_true(third > 0 && old > 0.9 * 0.75 * third);
		assert_true(bytes_between(report, "phase 3", "phase 3") == 0);
		assert_true(fabs(bytes_between(report, "phase 2", "phase 2") /
					 bytes_between(report, "", "phase 2") -
				 1) < 0.01);
		assert_true(bytes_between(report, "not known", "phase 1") ==
			    bytes_between(report, "", "phase 1"));
		assert_true(bytes_between(report, "", "phase 1") > 0);
		/* Nothing goes back in time. */
		for (size_t j = 0; j < report->n_edges; j++) {
			const struct comm_report_edge *e = comm_report_edge_at(report, j);

			assert_true(phase_of(report, e->from)->from_ns <=
				    phase_of(report, e->to)->from_ns);
			assert_true(e->low <= e->bytes && e->bytes <= e->high);
		}
		assert_true(fabs(bytes_between(report, "not known", "phase 3") /
					 bytes_between(report, "", "phase 3") -
				 0.25) < 0.01);
		comm_report_free(report);
	}
}

/* 40 slices with 10 frames each, in the last 10 with none; written in the same frame and not known. */
static void make_frames(void)
{
	struct comm_count count = {.thread = 1, .value = 10};
	const char *const counter[] = {"frames"};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_naming naming = made_naming(names);

	begin(store);
	for (int s = 0; s < 50; s++) {
		struct comm_edge edge = {.src_thread = 1,
					 .dst_thread = 2,
					 .src_site = 2,
					 .dst_site = 5,
					 .object = 1,
					 .bursts = 10,
					 .bytes = 1000,
					 .variance = 1000};
		const struct comm_slice_info info = {.start_ns = START + s * SECOND,
						     .end_ns = START + (s + 1) * SECOND,
						     .samples = 10,
						     .bursts = 10,
						     .target_ns = SECOND,
						     .count = &count,
						     .n_counts = s < 40,
						     .counter = counter,
						     .n_counters = 1};

		edge.ages.bytes[4] = 1000;
		edge.ages.back[0] = 500;
		edge.ages.back[1] = 200;
		edge.ages.back[2] = 100;
		assert_int_equal(comm_store_write_slice(store, &info, &edge, 1, &naming), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + 50 * SECOND, "test"), 0);
	comm_store_close(store);
}

static void test_frames(void **state)
{
	struct comm_report *report;

	(void)state;
	make_frames();
	report = report_by("frame");
	assert_int_equal(report->n_edges, 4);
	assert_true(fabs(bytes_between(report, "this frame", "this frame") / 50000 - 0.5) < 0.01);
	assert_true(fabs(bytes_between(report, "the frame before", "this frame") / 50000 - 0.2) <
		    0.01);
	assert_true(fabs(bytes_between(report, "earlier frames", "this frame") / 50000 - 0.1) <
		    0.01);
	assert_true(fabs(bytes_between(report, "not known", "this frame") / 50000 - 0.2) < 0.01);
	comm_report_free(report);
	report = report_by("thread,frame");
	assert_int_equal(report->n_edges, 4);
	comm_report_free(report);
	/* 400 frames in 8 pieces of 50, each of which is read in five slices; the last one goes on. */
	report = report_by("frames");
	assert_int_equal(report->n_nodes, 8);
	assert_true(fabs(bytes_between(report, "", "frames 51 to 100") - 5000) < 50);
	assert_true(fabs(bytes_between(report, "frames 51 to 100", "frames 51 to 100") - 5000) <
		    50);
	assert_true(fabs(bytes_between(report, "", "frames 351 to 400") - 15000) < 150);
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		assert_true(node->from_ns % (5 * SECOND) == 0);
		assert_string_equal(node->key, node->name);
	}
	comm_report_free(report);
}

/* No byte is lost or made by telling times apart. */
static void test_sum(void **state)
{
	struct comm_report *threads, *times;

	(void)state;
	make_phases();
	threads = report_by("thread");
	times = report_by("time");
	assert_true(threads->total_bytes > 0);
	assert_true(fabs(times->total_bytes / threads->total_bytes - 1) < 1e-9);
	comm_report_free(times);
	times = report_by("thread,time");
	assert_true(fabs(times->total_bytes / threads->total_bytes - 1) < 1e-9);
	comm_report_free(times);
	comm_report_free(threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_few),
		cmocka_unit_test_setup_teardown(test_matrix, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sum, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
