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
static void two_phases(bool rewritten, struct result *ret_first, struct result *ret_second)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 7;

	for (int i = 0; i < 50 && rewritten; i++)
		comm_est_hazard.word(
			est, &(struct comm_word){.object = access_at(base, 0, 0).object,
						 .site = access_at(base, COMM_ACCESS_READ, 0).site,
						 .class = COMM_CENSUS_CHANGED,
						 .bytes = 8});
	turns(est, 0, PHASE, FIRST, &random);
	slice(&comm_est_hazard, est, ret_first);
	assert_true(ret_first->bytes[FIRST][READER] > 0.95 * ret_first->edge_bytes);
	turns(est, PHASE, PHASE + PHASE / 16, SECOND, &random);
	slice(&comm_est_hazard, est, ret_second);
	comm_est_hazard.destroy(est);
}

/* The look that finds a word changed which is written again so much later. */
static uint32_t look_after(uint64_t ns)
{
	uint32_t look = 0;

	while (look < COMM_CENSUS_LAGS - 1 && comm_census_lag_ns[look] < ns)
		look++;
	return look;
}

static double doubt(const struct result *r, uint32_t writer)
{
	return r->doubts[writer][READER].thread / r->bytes[writer][READER];
}

/* How much it still has is not known; while it wrote it was. */
static void test_who_fell_silent(void **state)
{
	struct result first, second;

	(void)state;
	two_phases(true, &first, &second);
	print_message("doubt of the first writer %.2f, then %.2f (%.2f of the bytes); of the "
		      "second %.2f\n",
		      doubt(&first, FIRST), doubt(&second, FIRST),
		      second.bytes[FIRST][READER] / second.edge_bytes, doubt(&second, SECOND));
	assert_true(doubt(&first, FIRST) < 0.2);
	assert_true(doubt(&second, FIRST) > 0.8);
	assert_true(second.doubts[FIRST][READER].role > 0.8 * second.bytes[FIRST][READER]);
	assert_true(second.doubts[FIRST][READER].code > 0.8 * second.bytes[FIRST][READER]);
	assert_true(doubt(&second, SECOND) < doubt(&second, FIRST) / 2);
}

/* What was not seen to be rewritten may have been read for long: who wrote it is not in more doubt. */
static void test_what_stays(void **state)
{
	struct result first, second;

	(void)state;
	two_phases(false, &first, &second);
	print_message("nothing rewritten: doubt of the first writer %.2f\n", doubt(&second, FIRST));
	assert_true(second.bytes[FIRST][READER] > 0.3 * second.edge_bytes);
	assert_true(doubt(&second, FIRST) < 0.3);
}

/*
 * Threads that take turns: the first one is silent while what it wrote is read, until it writes again.  The census sees
 * words change after what is left of the turn.
 */
static void test_turns(void **state)
{
	enum { TURN = 600 };
	void *est = est_new(&comm_est_hazard);
	uint64_t random = 7;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 10 * TURN; i++) {
		bool is_read = i / TURN % 2;
		uint64_t at = comm_hash_next(&random) % (WORDS / ROW) * ROW;
		struct comm_access row[ROW];

		for (uint32_t j = 0; j < ROW; j++)
			row[j] = access_at(base + (at + j) * 8,
					   is_read ? COMM_ACCESS_READ : COMM_ACCESS_WRITE,
					   (uint16_t)(j * 4));
		feed(&comm_est_hazard, est, i * 1000000ull + 1, is_read ? READER : FIRST, row, ROW);
		if (is_read && i % 10 == 0)
			comm_est_hazard.word(
				est, &(struct comm_word){
					     .object = row->object,
					     .site = row->site,
					     .class = COMM_CENSUS_CHANGED +
						      look_after((TURN - i % TURN) * 1000000ull),
					     .bytes = 8});
	}
	slice(&comm_est_hazard, est, &r);
	comm_est_hazard.destroy(est);
	print_message("turns: doubt of the writer %.2f\n", doubt(&r, FIRST));
	assert_true(r.bytes[FIRST][READER] > 0.9 * r.edge_bytes);
	assert_true(doubt(&r, FIRST) < 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_fell_silent),
		cmocka_unit_test(test_what_stays),
		cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
