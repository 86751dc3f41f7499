// SPDX-License-Identifier: GPL-2.0-or-later
/* What a slice has beside its edges: summed in wide slices, and bounded by the row cap. */
#include <math.h>

#include "made_store.h"

static int write_placements(struct comm_store *store, int second, const struct comm_placement *p,
			    size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .placement = p,
				       .n_placements = n};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

static void test_placements_are_summed(void **state)
{
	/* One placement twice, one of a thread without a name. */
	const struct comm_placement some[] = {{1, 0, 5}, {2, 3, 7}, {1, 0, 1}, {4000000000U, 2, 9}};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_placements(store, i, some, 4), 0);
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 1 AND cpu = 0") ==
		    6);
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 0 AND cpu = 2") ==
		    9);
	/*
	 * Wide slices have the sums, and the placements they repeat are deleted with
	 * their slice.
	 */
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1060000000000 AND level = 1 AND thread = 2 AND cpu = 3") ==
		    60 * 7);
	assert_true(query("SELECT count(*) FROM placement WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	assert_true(query("SELECT count(*) FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1060000000000") == 3);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	/* The samples of the whole run, however much of its detail is left. */
	assert_true(query("SELECT sum(p.samples) FROM placement p JOIN slice s ON s.id = p.slice"
			  " WHERE level = 2") == 400 * 22);
	comm_store_close(store);
}

/* The row cap: the rarest lose their thread, not their CPU. */
static void test_placements_are_capped(void **state)
{
	struct comm_placement many[38 * 16];
	struct comm_store_config c = config();
	struct comm_store *store;
	double sum = 0, on_cpu_3 = 0;

	(void)state;
	c.row_cap = 100;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38 * 16; i++) {
		many[i] = (struct comm_placement){1 + i / 16, i % 16, 1 + i * 7919 % 1000};
		sum += many[i].samples;
		on_cpu_3 += i % 16 == 3 ? many[i].samples : 0;
	}
	for (int i = 0; i < 60; i++)
		assert_int_equal(write_placements(store, i, many, 38 * 16), 0);
	assert_true(query("SELECT count(*) FROM placement WHERE slice = 1 AND thread <> 0") == 100);
	assert_true(query("SELECT count(*) FROM placement WHERE slice = 1") <= 100 + 16);
	assert_true(query("SELECT sum(samples) FROM placement WHERE slice = 1") == sum);
	assert_true(query("SELECT sum(samples) FROM placement WHERE slice = 1 AND cpu = 3") ==
		    on_cpu_3);
	assert_true(query("SELECT min(samples) FROM placement WHERE slice = 1 AND thread <> 0") >=
		    800);
	assert_true(query("SELECT n FROM loss WHERE slice = 1 AND cause = 'cells_folded'") ==
		    38 * 16 - 100);
	/* A minute has the sum of the placements that its slices kept. */
	assert_true(
		query("SELECT sum(placement.samples) FROM placement JOIN slice ON id = slice WHERE"
		      " level = 1") == 60 * sum);
	comm_store_close(store);
}

static const char *const counters[] = {COMM_COUNTER_CPU, "page-faults", COMM_COUNTER_SAMPLED};

static int write_counts(struct comm_store *store, int second, const struct comm_count *c, size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .count = c,
				       .n_counts = n,
				       .counter = counters,
				       .n_counters = 3};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

#define COUNTS " FROM count JOIN counter k ON k.id = counter JOIN slice s ON s.id = slice WHERE "

static void test_counts_are_summed(void **state)
{
	const uint32_t region = made_region(names, 0, "parse");
	const struct comm_count some[] = {
		{.thread = 1, .counter = 0, .value = 5e8},
		{.thread = 1, .counter = 1, .value = 3, .enabled_ns = 100, .running_ns = 25},
		{.thread = 1, .region = region, .counter = 2, .value = 4e8},
		{.thread = 4000000000U, .counter = 1, .value = 9},
		/* Of no counter, and of no number: dropped. */
		{.thread = 1, .counter = 3, .value = 1e9},
		{.thread = 2, .counter = 1, .value = NAN},
	};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_counts(store, i, some, 6), 0);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1399000000000 AND level = 0"
			  " AND thread = 1 AND k.name = 'cpu-time-ns'") == 5e8);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1399000000000 AND level = 0"
			  " AND thread = 0 AND k.name = 'page-faults'") == 9);
	assert_true(query("SELECT count(*)" COUNTS "s.start_ns = 1399000000000 AND level = 0") ==
		    4);
	/* Wide slices have the sums, and the counts they repeat are deleted with their slice. */
	assert_true(query("SELECT running_ns" COUNTS "s.start_ns = 1060000000000 AND level = 1"
			  " AND thread = 1 AND k.name = 'page-faults'") == 60 * 25);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1060000000000 AND region ="
			  " (SELECT id FROM region WHERE name = 'parse')") == 60 * 4e8);
	assert_true(query("SELECT count(*) FROM count WHERE slice NOT IN (SELECT id FROM slice)") ==
		    0);
	assert_true(query("SELECT count(*)" COUNTS "s.start_ns = 1060000000000") == 4);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	assert_true(query("SELECT sum(value)" COUNTS "level = 2 AND k.name = 'page-faults'") ==
		    400 * 12);
	comm_store_close(store);
}

/* The row cap: the smallest shares of each counter lose their thread, and no sum changes. */
static void test_counts_are_capped(void **state)
{
	struct comm_store_config c = config();
	struct comm_count many[38 * 2] = {0};
	struct comm_store *store;

	(void)state;
	c.row_cap = 40;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38; i++) {
		/* In one counter thread 38 has most, in the other thread 1. */
		many[2 * i] = (struct comm_count){.thread = 1 + i, .value = 1e6 * (i + 1)};
		many[2 * i + 1] =
			(struct comm_count){.thread = 1 + i, .counter = 1, .value = 38 - i};
	}
	assert_int_equal(write_counts(store, 0, many, 76), 0);
	assert_true(query("SELECT count(*) FROM count WHERE thread <> 0") == 40);
	assert_true(query("SELECT count(*) FROM count") == 42);
	assert_true(query("SELECT min(thread)" COUNTS "thread > 0 AND k.name = 'cpu-time-ns'") ==
		    19);
	assert_true(query("SELECT max(thread)" COUNTS "k.name = 'page-faults'") == 20);
	assert_true(query("SELECT sum(value)" COUNTS "k.name = 'page-faults'") == 38 * 39 / 2);
	assert_true(query("SELECT n FROM loss WHERE cause = 'cells_folded'") == 76 - 40);
	comm_store_close(store);
}

static int write_origins(struct comm_store *store, int second, const struct comm_origin *o,
			 size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .origin = o,
				       .n_origins = n};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

static void test_origins_are_summed(void **state)
{
	/* One end twice, one of a thread and an object without names. */
	const struct comm_origin some[] = {
		{1,
		 2,
		 1,
		 {[COMM_FROM_OWN] = {5, 500, 500, 2000}, [COMM_FROM_MODIFIED] = {1, 100, 0, 0}},
		 0},
		{2, 3, 1, {[COMM_FROM_MEMORY] = {7, 700, 0, 0}}, 0},
		{1, 2, 1, {[COMM_FROM_OWN] = {1, 50, 50, 300}}, 0},
		{4000000000U, 2, 3999999999U, {[COMM_FROM_UNKNOWN] = {9, 900, 0, 0}}, 0},
	};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_origins(store, i, some, 4), 0);
#define ORIGIN(what, start, level)                                                               \
	"SELECT " what " FROM origin JOIN slice ON id = slice"                                   \
	" WHERE start_ns = " start " AND level = " level " AND thread = 1 AND object = 1 AND"    \
	" source = 'own' AND context = (SELECT c.id FROM context c JOIN site s ON s.id = c.site" \
	" WHERE s.line = 0 AND s.source <> '')"
	assert_true(query(ORIGIN("origin.samples", "1399000000000", "0")) == 6);
	assert_true(query(ORIGIN("loads", "1399000000000", "0")) == 550);
	assert_true(query(ORIGIN("timed_loads", "1399000000000", "0")) == 550);
	assert_true(query(ORIGIN("timed_cycles", "1399000000000", "0")) == 2300);
	assert_true(query("SELECT origin.samples FROM origin JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 0 AND object = 0"
			  " AND source = 'unknown'") == 9);
	assert_true(query("SELECT count(*) FROM origin JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000") == 4);
	/* Wide slices have the sums, and what they repeat is deleted with its slice. */
	assert_true(query(ORIGIN("timed_cycles", "1060000000000", "1")) == 60 * 2300);
	assert_true(query("SELECT count(*) FROM origin WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	assert_true(query("SELECT sum(o.samples) FROM origin o JOIN slice s ON s.id = o.slice"
			  " WHERE level = 2") == 400 * 23);
	comm_store_close(store);
}

/* The row cap: ends with fewest loads lose their names, whole; shares of the others stay. */
static void test_origins_are_capped(void **state)
{
	struct comm_origin many[38 * 16];
	struct comm_store_config c = config();
	struct comm_store *store;
	double sum = 0;

	(void)state;
	c.row_cap = 100;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38 * 16; i++) {
		double loads = 1 + i * 7919 % 1000;

		many[i] =
			(struct comm_origin){.thread = 1 + i / 16, .site = 2 + i % 16, .object = 1};
		many[i].from[COMM_FROM_OWN] = (struct comm_origin_sums){3, 3 * loads, 0, 0};
		many[i].from[COMM_FROM_MODIFIED] = (struct comm_origin_sums){1, loads, 0, 0};
		sum += 4 * loads;
	}
	for (int i = 0; i < 60; i++)
		assert_int_equal(write_origins(store, i, many, 38 * 16), 0);
	assert_true(query("SELECT count(*) FROM origin WHERE slice = 1 AND thread <> 0") == 200);
	assert_true(query("SELECT count(*) FROM origin WHERE slice = 1") == 202);
	assert_true(query("SELECT sum(loads) FROM origin WHERE slice = 1") == sum);
	assert_true(
		query("SELECT count(*) FROM origin a JOIN origin b USING (slice, thread, context)"
		      " WHERE a.source = 'own' AND b.source = 'modified'"
		      " AND a.loads = 3 * b.loads") == 61 * 101);
	assert_true(query("SELECT n FROM loss WHERE slice = 1 AND cause = 'cells_folded'") ==
		    38 * 16 - 100);
	assert_true(query("SELECT sum(loads) FROM origin JOIN slice ON id = slice WHERE"
			  " level = 1") == 60 * sum);
	comm_store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_placements_are_summed), TEST(test_placements_are_capped),
		TEST(test_counts_are_summed),	  TEST(test_counts_are_capped),
		TEST(test_origins_are_summed),	  TEST(test_origins_are_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
