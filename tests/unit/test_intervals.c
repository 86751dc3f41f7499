// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals, and the blocks of time that they rest on. */
#include <math.h>

#include "interval.h"
#include "made_run.h"

static void test_intervals(void **state)
{
	struct comm_blocks none = {0}, eight = {0};
	struct comm_intervals without, with;
	double low, high, spread, z = comm_interval_z(0.9);
	struct comm_estimate e = {.bytes = 1000};

	(void)state;
	assert_true(fabs(z - 1.6448536) < 1e-6);
	assert_true(fabs(comm_interval_z(0.95) - 1.9599640) < 1e-6);
	assert_true(comm_interval_z(0) == z && comm_interval_z(1) == z &&
		    comm_interval_z(NAN) == z);
	comm_intervals_init(&without, &model, &none, NULL, 0.9);
	comm_intervals_of(&without, &e, &low, &high, &spread);
	/* Only the error of the factor, which no share has. */
	assert_true(fabs(high / 1000 - exp(z * 0.3)) < 1e-9);
	assert_true(fabs(low * high - 1e6) < 1e-3);
	assert_true(spread == 1);
	/* Sampling of both ends. */
	e.variance = 1e5;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(high / 1000 - exp(z * sqrt(log1p(0.2) + 0.3 * 0.3))) < 1e-9);
	assert_true(fabs(spread - exp(z * sqrt(log1p(0.2)))) < 1e-9);
	/* What the blocks differ by counts where it is more. */
	for (int i = 0; i < 16; i++)
		assert_int_equal(comm_blocks_add(&eight, 1), i % 8);
	comm_intervals_init(&with, &model, &eight, NULL, 0.9);
	assert_true(fabs(with.t - 1.8945786) < 1e-6);
	for (int i = 0; i < 8; i++)
		e.sums.sum[i] = 125;
	comm_intervals_of(&with, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * sqrt(log1p(0.2)))) < 1e-9);
	e.sums.sum[0] = 1000;
	for (int i = 1; i < 8; i++)
		e.sums.sum[i] = 0;
	comm_intervals_of(&with, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * sqrt(log1p(pow(with.t / z, 2))))) < 1e-6);
	/* The interval is wider, the smaller the edge's part of all bytes read there is. */
	e = (struct comm_estimate){.bytes = 1000, .read_bytes = 4000};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(low / 1000 - exp(-z * hypot(0.3, 3 * 0.175))) < 1e-9);
	/* What the reader wrote itself is mistaken more rarely; more than the rest it cannot be. */
	e.own_bytes = 2000;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * 2 * 0.175)) < 1e-9);
	e.own_bytes = 1e9;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * 1.5 * 0.175)) < 1e-9);
	/* Of code that may take turns with other code, for that part. */
	e = (struct comm_estimate){.bytes = 1000, .read_bytes = 1400, .in_turns = 0.5};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * hypot(0.4 * 0.175, 0.4 * 0.5))) < 1e-9);
	e = (struct comm_estimate){.bytes = 1000};
	e.read_bytes = 1e6;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low < 1 && fabs(high / 1e6 - exp(z * 0.3)) < 1e-9);
	e = (struct comm_estimate){.bytes = 1000, .variance = 1e12};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low >= 0 && low < 1000 && high > 1000);
	/* Next to nothing of a hostile store, whose square is nothing. */
	e = (struct comm_estimate){
		.bytes = 5e-304, .variance = 1e8, .read_bytes = 1e7, .own_bytes = 6e6};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low == 0 && high > 1e7 && spread > 1e30);
	e = (struct comm_estimate){.variance = 5};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low == 0 && high == 0 && spread == 1);
	e = (struct comm_estimate){.bytes = 1000, .variance = NAN, .read_bytes = NAN};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low > 0 && isfinite(high));
}

/* A share is as unsure as the others' sum is, too; of what is all there is not. */
static void test_shares(void **state)
{
	struct comm_error_model sure = {.sampled_ends = 1};
	struct comm_blocks none = {0};
	struct comm_interval_sums all = {0};
	struct comm_intervals intervals;
	struct comm_estimate large = {.bytes = 600, .share = 0.6, .variance = 1e4},
			     small = {.bytes = 400, .share = 0.4, .variance = 4e4},
			     unsure = {.bytes = 1000, .share = 0.5, .variance = 2e6};
	struct comm_interval said;
	double z = comm_interval_z(0.9);

	(void)state;
	comm_intervals_init(&intervals, &sure, &none, &all, 0.9);
	comm_intervals_add(&intervals, &large, &all);
	comm_intervals_state(&intervals, &large, &said);
	assert_true(fabs(said.share_low - 0.6 * exp(-z * sqrt(log1p(1. / 36)))) < 1e-9);
	comm_intervals_add(&intervals, &small, &all);
	comm_intervals_state(&intervals, &large, &said);
	assert_true(fabs(said.share_low -
			 0.6 * exp(-z * sqrt(log1p(1. / 36) + 0.4 * 0.4 * log1p(0.25)))) < 1e-9);
	comm_intervals_state(&intervals, &small, &said);
	assert_true(fabs(said.share_low -
			 0.4 * exp(-z * sqrt(log1p(0.25) + 0.6 * 0.6 * log1p(1. / 36)))) < 1e-9);
	/* Not so its bytes. */
	assert_true(fabs(said.low - 400 * exp(-z * sqrt(log1p(0.25)))) < 1e-9);
	/* Others may not be there at all, but are no more than they are. */
	comm_intervals_add(&intervals, &unsure, &all);
	large.share = 0.3;
	comm_intervals_state(&intervals, &large, &said);
	assert_true(fabs(said.share_low -
			 0.3 * exp(-z * sqrt(log1p(1. / 36) + 0.7 * 0.7 * log1p(104. / 196)))) <
		    1e-9);
	assert_false(comm_intervals_resolve(&intervals, &unsure));
}

/* A share that ends at 1 is known sooner than its bytes are, but for what the others' sum may be. */
static void test_large_share(void **state)
{
	struct comm_error_model sure = {.sampled_ends = 1};
	struct comm_blocks eight = {0};
	struct comm_interval_sums all = {0};
	struct comm_intervals intervals;
	struct comm_estimate e = {.bytes = 800, .share = 0.8, .samples = 9, .slices = 9},
			     unsure = {.bytes = 200, .share = 0.2, .variance = 4e4};
	double end = pow(log(3 * 0.8) / comm_interval_z(0.9), 2), others = 0.2 * 0.2 * log(2);

	(void)state;
	for (int i = 0; i < 8; i++) {
		comm_blocks_add(&eight, 1);
		e.sums.sum[i] = 100;
	}
	e.variance = 800 * 800 * 0.5 * (expm1(end) + expm1(end - others));
	comm_intervals_init(&intervals, &sure, &eight, &all, 0.9);
	comm_intervals_add(&intervals, &e, &all);
	assert_true(comm_intervals_resolve(&intervals, &e));
	comm_intervals_add(&intervals, &unsure, &all);
	assert_false(comm_intervals_resolve(&intervals, &e));
	e.variance = 800 * 800 * 0.99 * expm1(end - others);
	all = (struct comm_interval_sums){0};
	comm_intervals_add(&intervals, &e, &all);
	comm_intervals_add(&intervals, &unsure, &all);
	assert_true(comm_intervals_resolve(&intervals, &e));
	e.share = 0.5;
	assert_false(comm_intervals_resolve(&intervals, &e));
}

/* Windows saw who wrote last: ten of them, and a share that is surely 2 %, are enough, however much more it may be. */
static void test_flows_of_windows(void **state)
{
	struct comm_error_model sure = {.sampled_ends = 1};
	struct comm_blocks eight = {0};
	struct comm_intervals intervals;
	struct comm_estimate e = {.bytes = 100, .share = 0.1, .samples = 10};
	/* By chance five times as much, or as little: 2 % at least. */
	double variance = 100 * 100 * expm1(pow(log(5) / comm_interval_z(0.9), 2));

	(void)state;
	for (int i = 0; i < 8; i++)
		comm_blocks_add(&eight, 1);
	for (int i = 0; i < 8; i++)
		e.sums.sum[i] = e.bytes / 8;
	e.variance = 0.99 * variance;
	comm_intervals_init(&intervals, &sure, &eight, NULL, 0.5);
	assert_false(comm_intervals_resolve(&intervals, &e));
	intervals.is_survey = true;
	assert_true(comm_intervals_resolve(&intervals, &e));
	e.variance = 1.01 * variance;
	assert_false(comm_intervals_resolve(&intervals, &e));
	e.variance = 0.99 * variance;
	e.samples = 9;
	assert_false(comm_intervals_resolve(&intervals, &e));
}

/* Of another confidence: what a query for it says. */
static void test_intervals_of_a_report(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function", .self = true});
	struct comm_report *sure =
		ask((struct comm_query){.by = "function", .self = true, .confidence = 0.99});
	struct comm_interval interval[16];

	(void)state;
	assert_in_range(report->n_edges, 2, 16);
	assert_int_equal(sure->n_edges, report->n_edges);
	comm_report_intervals(report, 0.99, interval);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(sure, i);

		assert_true(edge->low < comm_report_edge_at(report, i)->low);
		assert_true(interval[i].low == edge->low && interval[i].high == edge->high);
		assert_true(interval[i].share_low == edge->share_low &&
			    interval[i].share_high == edge->share_high);
		assert_true(interval[i].noise == edge->noise);
	}
	comm_report_free(report);
	comm_report_free(sure);
}

/* f() > f() of two threads, where g() writes it, too, may be g() > f(): not so of roles, nor within a thread. */
static void test_code_that_takes_turns(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function", .across = true});
	const struct comm_report_edge *edge = find(report, "g", "g");

	(void)state;
	/* 4,620 bytes that it reads are not these. */
	assert_true(edge->bytes == 120 && edge->share_low < 1e-20 * edge->share);
	edge = find(report, "f", "g");
	/* But for what each edge errs by for itself. */
	assert_true(edge->share_low * edge->noise > 0.7 * edge->share);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "function", .self = true});
	edge = find(report, "f", "f");
	assert_true(edge->share_low * edge->noise > 0.7 * edge->share);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "role"});
	edge = find(report, "beta", "beta");
	assert_true(edge->share_low > 1e-6 * edge->share);
	comm_report_free(report);
}

/* A variance between blocks is that of the sum, whatever the blocks' lengths. */
static void test_blocks(void **state)
{
	const double t90[] = {6.3137515, 2.9199856, 2.3533634, 2.1318468, 2.0150484, 1.9431803};
	struct comm_blocks blocks = {0};
	struct comm_block_sums sums = {{10, 30, 20, 20}};

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_true(comm_blocks_variance(&blocks, &sums, NULL) < 0);
		assert_false(comm_blocks_agree(&blocks, &sums, 100));
		comm_blocks_add(&blocks, 2);
	}
	assert_true(fabs(comm_blocks_variance(&blocks, &sums, NULL) - 200 / 0.75) < 1e-9);
	assert_true(comm_blocks_agree(&blocks, &sums, 50. / 30));
	assert_false(comm_blocks_agree(&blocks, &sums, 49. / 30));
	/* A longer block is expected to have more. */
	blocks.weight[1] = 6;
	blocks.weight[0] = 2;
	blocks.weight[2] = blocks.weight[3] = 4;
	assert_true(comm_blocks_variance(&blocks, &sums, NULL) < 1e-9);
	/* So has one where more was read in all. */
	assert_true(comm_blocks_variance(&blocks, &sums,
					 &(struct comm_block_sums){{100, 300, 200, 200}}) < 1e-9);
	blocks = (struct comm_blocks){0};
	comm_blocks_add(&blocks, 1);
	for (int i = 0; i < 6; i++) {
		comm_blocks_add(&blocks, 1);
		assert_true(fabs(comm_blocks_t(&blocks, 0.9) - t90[i]) < 1e-6);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals),	 cmocka_unit_test(test_shares),
		cmocka_unit_test(test_large_share),	 TEST(test_intervals_of_a_report),
		cmocka_unit_test(test_flows_of_windows), TEST(test_code_that_takes_turns),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
