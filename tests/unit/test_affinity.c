// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "affinity.h"
#include "weight.h"

enum { THREADS = 4, READS = 50, SITE = 7, OBJECT = 3 };

static struct comm_affinities *relations_new(void)
{
	struct comm_affinities *r = NULL;

	assert_int_equal(comm_affinities_create(1 << 20, &r), 0);
	assert_non_null(r);
	return r;
}

/* Around the reads, all threads write alike; the reader reads the data of writer alone. */
static void learn(struct comm_affinities *r, uint32_t reader, uint32_t writer, uint32_t n)
{
	struct comm_affinity_writer w[THREADS];
	struct comm_affinity_reader who = {reader, OBJECT, SITE};

	for (uint32_t i = 0; i < THREADS; i++)
		w[i] = (struct comm_affinity_writer){i, i == writer, 1.0 / THREADS};
	for (uint32_t i = 0; i < n; i++)
		comm_affinity_learn(r, &who, w, THREADS, 1);
}

static void test_nothing_known(void **state)
{
	struct comm_affinity_reader who = {0, OBJECT, SITE};
	struct comm_affinities *r = relations_new();

	(void)state;
	assert_true(comm_affinity_factor(r, &who, 1) == 1);
	comm_affinities_destroy(r);
	comm_affinities_destroy(NULL);
}

static void test_ring(void **state)
{
	struct comm_affinities *r = relations_new();

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++)
		learn(r, i, (i + 1) % THREADS, READS);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct comm_affinity_reader who = {i, OBJECT, SITE};

		assert_true(comm_affinity_factor(r, &who, (i + 1) % THREADS) > 3);
		assert_true(comm_affinity_factor(r, &who, i) < 0.05);
		assert_true(comm_affinity_factor(r, &who, (i + 2) % THREADS) < 0.1);
	}
	comm_affinities_destroy(r);
}

/* A reader without observations gets the other readers' habit: reads of its own data. */
static void test_new_reader(void **state)
{
	struct comm_affinity_reader who = {3, OBJECT, SITE};
	struct comm_affinities *r = relations_new();

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		learn(r, i, i, READS);
	assert_true(comm_affinity_factor(r, &who, 3) > 2);
	assert_true(comm_affinity_factor(r, &who, 0) < 0.1);
	comm_affinities_destroy(r);
}

/* An earlier answer must not be cached after more was learned. */
static void test_changes(void **state)
{
	struct comm_affinity_reader who = {0, OBJECT, SITE};
	struct comm_affinities *r = relations_new();
	double before;

	(void)state;
	learn(r, 0, 1, READS);
	before = comm_affinity_factor(r, &who, 2);
	learn(r, 0, 2, READS);
	comm_affinities_halve(r);
	assert_true(comm_affinity_factor(r, &who, 2) > 5 * before);
	comm_affinities_destroy(r);
}

static void test_full_table(void **state)
{
	struct comm_affinities *r = NULL;

	(void)state;
	assert_int_equal(comm_affinities_create(0, &r), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct comm_affinity_writer w = {i * 7, 1, 1};
		struct comm_affinity_reader who = {i, i % 100, i % 13};

		comm_affinity_learn(r, &who, &w, 1, 1);
		assert_true(isfinite(comm_affinity_factor(r, &who, i * 7)));
	}
	comm_affinities_destroy(r);
}

/*
 * A loop of ten turns in a burst, each of 10 cycles with one load.  Whether all
 * ten addresses are known or the first one only, it is the same loop.
 */
static double loop_weight(uint32_t n_known)
{
	struct comm_access access[10] = {{0}};
	struct comm_access_burst burst = {.period = 1000, .n_insns = 100, .cycles = 100};
	struct comm_weight_burst b;
	struct comm_weights *weights = NULL;
	double weight = 0;
	uint32_t slot = 0;

	assert_int_equal(comm_weights_create(1, &weights), 0);
	burst.access = access;
	burst.n = n_known;
	for (uint32_t i = 0; i < n_known; i++)
		access[i] = (struct comm_access){.ip_key = 1,
						 .insn = (uint16_t)(10 * i + 5),
						 .cycle = (float)(10 * i + 5),
						 .known = (float)n_known / 10};
	for (uint32_t i = 0; i < 1000; i++)
		for (uint32_t j = 0; j < n_known; j++)
			slot = comm_weights_learn(weights, &burst, &access[j]);
	comm_weight_burst(&burst, &b);
	for (uint32_t j = 0; j < n_known; j++)
		weight += comm_weight_of(weights, &b, slot) / access[j].known;
	comm_weights_destroy(weights);
	return weight;
}

static void test_known_share(void **state)
{
	double all = loop_weight(10), first = loop_weight(1);

	(void)state;
	assert_true(fabs(all / 100 - 1) < 0.1);
	assert_true(fabs(first / all - 1) < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_ring),
		cmocka_unit_test(test_new_reader),    cmocka_unit_test(test_changes),
		cmocka_unit_test(test_full_table),    cmocka_unit_test(test_known_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
