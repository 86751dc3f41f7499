// SPDX-License-Identifier: GPL-2.0-or-later
/* What the hazard estimator guesses of data far from all sampled writes. */
#include "made_bursts.h"
#include "place.h"

enum {
	MAIN = 1,
	TURNS = 300,
	OWN_BYTES = 1 << 20,   /* between what one thread writes and what the next one does */
	TABLE_BYTES = 8 << 20, /* from base to the table */
};

/* By looking at all places. */
static void nearest_of(const struct comm_place *place, uint32_t n, const struct comm_place *at,
		       uint64_t *ret_bytes, uint32_t *ret_around, uint32_t *ret_own)
{
	*ret_bytes = UINT64_MAX;
	*ret_around = *ret_own = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_place *p = &place[i];
		uint64_t end = p->datum + p->size_bytes, bytes = 0;

		if (p->object != at->object)
			continue;
		if (at->datum < p->datum)
			bytes = p->datum - at->datum;
		else if (at->datum >= end)
			bytes = at->datum - end + 1;
		*ret_bytes = bytes < *ret_bytes ? bytes : *ret_bytes;
		if (bytes >= 4096 || (p->thread == at->thread && p->time_ns == at->time_ns))
			continue;
		++*ret_around;
		*ret_own += p->thread == at->thread;
	}
}

static void test_places(void **state)
{
	static struct comm_place place[500];
	struct comm_places *places;
	uint64_t random = 1;

	(void)state;
	assert_int_equal(comm_places_create(1 << 20, &places), 0);
	for (uint32_t i = 0; i < 500; i++) {
		struct comm_place at = {.object = 1 + comm_hash_next(&random) % 3,
					.datum = base + comm_hash_next(&random) % 4096 * 64,
					.time_ns = i,
					.size_bytes = 8,
					.thread = comm_hash_next(&random) % 4};
		uint64_t bytes = UINT64_MAX, true_bytes;
		uint32_t n, own, true_n, true_own;

		nearest_of(place, i, &at, &true_bytes, &true_n, &true_own);
		comm_places_nearest(places, at.object, at.datum, &bytes);
		assert_int_equal(bytes, true_bytes);
		n = comm_places_around(places, &at, 4096, &own);
		assert_int_equal(n, true_n);
		assert_int_equal(own, true_own);
		place[i] = at;
		comm_places_add(places, &at);
		/* Not its own burst. */
		assert_int_equal(comm_places_around(places, &at, 4096, &own), true_n);
	}
	comm_places_destroy(places);
}

/* Of more places than there is room for the latest ones are there. */
static void test_places_full(void **state)
{
	struct comm_places *places;
	uint64_t bytes;

	(void)state;
	assert_int_equal(comm_places_create(64 * sizeof(struct comm_place), &places), 0);
	for (uint32_t i = 0; i < 1000; i++)
		comm_places_add(places, &(struct comm_place){.object = 1,
							     .datum = base + i * 64,
							     .time_ns = i,
							     .size_bytes = 8});
	assert_non_null(comm_places_nearest(places, 1, base + 999 * 64, &bytes));
	assert_int_equal(bytes, 0);
	assert_non_null(comm_places_nearest(places, 1, base, &bytes));
	assert_true(bytes > 900 * 64);
	comm_places_destroy(places);
}

static void burst(void *est, uint64_t time_ns, uint32_t thread, struct comm_access access)
{
	const struct comm_access_burst b = {.time_ns = time_ns,
					    .thread = thread,
					    .initial = MAIN,
					    .exact = true,
					    .trigger = COMM_TRIGGER_ACCESSES,
					    .period = 1000,
					    .n_insns = 1,
					    .n = 1,
					    .access = &access};

	assert_int_equal(comm_est_hazard.burst(est, &b), 0);
}

/*
 * Threads first to 5 each write data of their own; those from to to read a table far away.
 * Returns the part of what readers read there that the writer named is said to have written.
 */
static double table(void *est, uint32_t first, uint32_t from, uint32_t to, uint32_t writer)
{
	struct comm_unwritten u;
	struct result r;
	double named = 0, all = 0;

	for (uint32_t i = 0; i < TURNS; i++)
		for (uint32_t t = first; t <= 5; t++) {
			uint64_t now_ns = (i * T + t) * 100000ull + 1;

			burst(est, now_ns, t,
			      access_at(base + t * OWN_BYTES + i % 64 * 8, COMM_ACCESS_WRITE, 0));
			if (t >= from && t <= to)
				burst(est, now_ns + 1000, t,
				      access_at(base + TABLE_BYTES + (i * 7 + t) % 64 * 64,
						COMM_ACCESS_READ, 0));
		}
	u = slice(&comm_est_hazard, est, &r);
	all = u.bytes;
	for (uint32_t t = first; t <= 5; t++)
		for (uint32_t w = 0; w < T; w++) {
			all += r.bytes[w][t];
			named += w == writer || (!writer && w == t) ? r.bytes[w][t] : 0;
		}
	assert_true(r.guess_bytes > 0.999 * r.edge_bytes); /* never stated */
	comm_est_hazard.destroy(est);
	return named / all;
}

/* What several threads read and none writes the initial one wrote, before the run. */
static void test_shared_table(void **state)
{
	(void)state;
	assert_true(table(est_new(&comm_est_hazard), MAIN, 2, 5, MAIN) > 0.5);
}

/* But not one that does not run. */
static void test_idle_main(void **state)
{
	(void)state;
	assert_true(table(est_new(&comm_est_hazard), 2, 2, 5, MAIN) == 0);
}

/* What one thread alone reads is its own; its neighbour's writes are nearer than its own. */
static void test_own_table(void **state)
{
	(void)state;
	assert_true(table(est_new(&comm_est_hazard), MAIN, 2, 2, 0) > 0.8);
}

/* Where first writers of all memory are told, what is left was written by nobody seen. */
static void test_told(void **state)
{
	void *est = est_new(&comm_est_hazard);

	(void)state;
	comm_est_hazard.began(est, 1, MAIN);
	comm_est_hazard.touch(
		est, &(struct comm_touch){.time_ns = 1, .datum = 1, .size_bytes = 8, .thread = 7});
	assert_true(table(est, MAIN, 2, 5, MAIN) < 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),	     cmocka_unit_test(test_places_full),
		cmocka_unit_test(test_shared_table), cmocka_unit_test(test_idle_main),
		cmocka_unit_test(test_own_table),    cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
