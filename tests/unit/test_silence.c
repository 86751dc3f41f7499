// SPDX-License-Identifier: GPL-2.0-or-later
/* A program goes on to another phase: who wrote in the one before has fallen silent. */
#include "made_bursts.h"

#include "census.h"

enum { FIRST = 1, SECOND, READER, WORDS = 512, PHASE = 1200, ROW = 8 };

/* Of a table that is written and read in turn a burst meets a row, one thread or the other each ms. */
static void turns(void *est, uint32_t from, uint32_t to, uint32_t writer, uint64_t *random)
{
	for (uint32_t i = from; i < to; i++) {
		bool is_read = i % 2;
		uint64_t at = comm_hash_next(random) % (WORDS / ROW) * ROW;
		struct comm_access row[ROW];

		for (uint32_t j = 0; j < ROW; j++)
			row[j] = access_at(base + (at + j) * 8,
					   is_read ? COMM_ACCESS_READ : COMM_ACCESS_WRITE,
					   (uint16_t)(j * 4));
		feed(&comm_est_hazard, est, i * 1000000ull + 1, is_read ? READER : writer, row,
		     ROW);
	}
}

/*
 * No switch is told, as within a small budget.  The second writer is met a few times only by then, and most words were
 * seen to be written by the first alone.  rewritten: a look at each word found it changed soon.
 */
static void of_second_phase(bool rewritten, struct result *ret)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 7;
	struct result first;

	for (int i = 0; i < 50 && rewritten; i++)
		comm_est_hazard.word(
			est, &(struct comm_word){.object = access_at(base, 0, 0).object,
						 .site = access_at(base, COMM_ACCESS_READ, 0).site,
						 .class = COMM_CENSUS_CHANGED,
						 .bytes = 8});
	turns(est, 0, PHASE, FIRST, &random);
	slice(&comm_est_hazard, est, &first);
	assert_true(first.bytes[FIRST][READER] > 0.95 * first.edge_bytes);
	turns(est, PHASE, PHASE + PHASE / 16, SECOND, &random);
	slice(&comm_est_hazard, est, ret);
	comm_est_hazard.destroy(est);
}

static void test_who_fell_silent(void **state)
{
	struct result r;

	(void)state;
	of_second_phase(true, &r);
	assert_true(r.bytes[SECOND][READER] > 3 * r.bytes[FIRST][READER]);
}

/* What was not seen to be rewritten may have been read for long: nothing is taken from who wrote it. */
static void test_what_stays(void **state)
{
	struct result r;

	(void)state;
	of_second_phase(false, &r);
	assert_true(r.bytes[FIRST][READER] > 0.3 * r.edge_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_fell_silent),
		cmocka_unit_test(test_what_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
