// SPDX-License-Identifier: GPL-2.0-or-later
/* What the ownership estimator makes of who owns data, of tables and of who ran before. */
#include "made_bursts.h"

enum {
	ROWS = 8192,
	ROW_BYTES = 4096,
	TABLE = 2, /* an object */
	SECOND_NS = 1000000000,
};

static const uint64_t table = (3ull << 48) + (1ull << 32);

static double all_of(const struct result *r, bool own)
{
	double sum = 0;

	for (uint32_t w = 0; w < T; w++)
		for (uint32_t reader = 0; reader < T; reader++)
			sum += (w == reader) == own ? r->bytes[w][reader] : 0;
	return sum;
}

/* Whose a row is: dealt to four threads without any order. */
static uint32_t owner_of(uint64_t row)
{
	uint64_t state = row;

	return comm_hash_next(&state) % 4;
}

/*
 * Each thread works on its rows in place, reads before it writes, and no row is met twice. That
 * a burst writes what it read is all that tells: all is its own.
 */
static void test_rows_in_place(void **state)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	void *est = est_new(ops);
	struct result r;

	(void)state;
	for (uint32_t row = 0; row < 800; row++) {
		struct comm_access a[8];

		for (uint16_t j = 0; j < 8; j++)
			a[j] = access_at(base + (uint64_t)row * ROW_BYTES + j / 2 * 8u,
					 j % 2 ? COMM_ACCESS_WRITE : COMM_ACCESS_READ, j);
		feed(ops, est, row * 1000000ull + 1, 1 + owner_of(row), a, 8);
	}
	slice(ops, est, &r);
	assert_true(all_of(&r, true) > 0.9 * r.edge_bytes);
	ops->destroy(est);
}

/* Four threads each write their own word of a line and read it much later. */
static void test_words_of_a_line(void **state)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	void *est = est_new(ops);
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 1600; i++)
		feed_exact(ops, est, i * 1000000ull + 1, 1 + i % 4,
			   access_at(base + i % 4 * 8,
				     i / 4 % 2 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE, 0));
	slice(ops, est, &r);
	assert_true(all_of(&r, false) < 0.005 * r.edge_bytes);
	ops->destroy(est);
}

/*
 * Threads 2 and 3 read all over a table that nobody is seen to write, and write
 * something else.  Thread 1 is never sampled.
 */
static void *read_table(const struct comm_est_ops *ops, bool began, struct result *ret,
			struct comm_unwritten *unwritten)
{
	void *est = est_new(ops);
	uint64_t random = 1, now_ns = 1;

	if (began)
		ops->began(est, now_ns, 1);
	now_ns += SECOND_NS;
	for (uint32_t i = 0; i < 600; i++) {
		struct comm_access a[4];

		for (uint16_t j = 0; j < 3; j++) {
			a[j] = access_at(table + comm_hash_next(&random) % 4096 * 8,
					 COMM_ACCESS_READ, j);
			a[j].object = TABLE;
		}
		a[3] = access_at(base + 4096 * (1 + i % 2), COMM_ACCESS_WRITE, 3);
		feed(ops, est, now_ns + i * 1000000ull, 2 + i % 2, a, 4);
	}
	*unwritten = slice(ops, est, ret);
	return est;
}

static void test_table_of_a_new_process(void **state)
{
	struct comm_unwritten u;
	struct result r;
	void *est = read_table(&comm_est_ownership, true, &r, &u);

	(void)state;
	/* The first second was thread 1's alone: it made the table. */
	assert_true(r.bytes[1][2] + r.bytes[1][3] > 0.7 * (r.edge_bytes + u.bytes));
	assert_true(r.bytes[2][3] + r.bytes[3][2] < 0.15 * (r.edge_bytes + u.bytes));
	assert_int_equal(u.bytes, 0);
	comm_est_ownership.destroy(est);
}

/* What was there before the run has a writer that was not seen, and no other. */
static void test_table_of_an_old_process(void **state)
{
	struct comm_unwritten u;
	struct result r;
	void *est = read_table(&comm_est_ownership, false, &r, &u);

	(void)state;
	assert_true(u.bytes > 0.8 * (r.edge_bytes + u.bytes));
	assert_true(all_of(&r, false) < 0.01 * u.bytes);
	comm_est_ownership.destroy(est);
}

/*
 * The first page of the table was touched by thread 2: what is read of it is thread 2's, a
 * finding.  Of the rest no writer was seen, whoever ran before.
 */
static void test_touched_table(void **state)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	void *est = est_new(ops);
	uint64_t random = 1;
	struct comm_unwritten u;
	double page = 0;
	struct result r;

	(void)state;
	ops->began(est, 1, 4);
	ops->touch(est,
		   &(struct comm_touch){
			   .time_ns = 1, .datum = table, .size_bytes = ROW_BYTES, .thread = 3});
	/* The page was mapped anew since: the latest touch before the read counts. */
	ops->touch(est, &(struct comm_touch){.time_ns = 2,
					     .datum = table,
					     .size_bytes = ROW_BYTES,
					     .thread = 2,
					     .site = COMM_SITE_FIRST_WRITE});
	for (uint32_t i = 0; i < 600; i++) {
		uint64_t at = table + comm_hash_next(&random) % 1024 * 8;
		struct comm_access a = access_at(at, COMM_ACCESS_READ, 0);

		a.object = TABLE;
		feed_exact(ops, est, SECOND_NS + i * 1000000ull, 1, a);
		page += at < table + ROW_BYTES ? 8000 : 0;
	}
	/* Long after the reads: it says nothing of them. */
	ops->touch(est, &(struct comm_touch){.time_ns = 3ull * SECOND_NS,
					     .datum = table,
					     .size_bytes = ROW_BYTES,
					     .thread = 3});
	u = slice(ops, est, &r);
	assert_true(r.bytes[2][1] > 0.8 * page && r.bytes[2][1] <= page);
	assert_true(r.first_write_bytes == r.bytes[2][1]);
	assert_true(r.bytes[3][1] < 0.01 * page);
	assert_true(r.guess_bytes < 0.01 * page);
	assert_true(u.bytes > 0.8 * (600 * 8000 - page));
	ops->destroy(est);
}

/*
 * Each of four threads reads its neighbour's rows, which lie anywhere.  Of most rows nobody
 * was seen to write: the habits of the instruction and of the pair tell whose they are.
 */
static void test_neighbours(void **state)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	void *est = est_new(ops);
	uint64_t random = 1;
	double right = 0;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 8000; i++) {
		uint64_t row = comm_hash_next(&random) % ROWS;
		uint32_t owner = owner_of(row), reader = (owner + 3) % 4;

		feed_exact(ops, est, i * 1000000ull + 1, 1 + (i % 2 ? reader : owner),
			   access_at(base + row * 512, i % 2 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE,
				     0));
	}
	slice(ops, est, &r);
	for (uint32_t reader = 0; reader < 4; reader++)
		right += r.bytes[1 + (reader + 1) % 4][1 + reader];
	assert_true(right > 0.7 * all_of(&r, false));
	ops->destroy(est);
}

/*
 * Four threads write and read words anywhere; of every other word nobody is seen to write.
 * run: so many words in a row have one owner.  Returns the part of all that crosses which is a guess.
 */
static double guesses_among(uint64_t run)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	void *est = est_new(ops);
	uint64_t random = 1;
	double part;
	struct result r;

	for (uint32_t i = 0; i < 16000; i++) {
		uint64_t word = comm_hash_next(&random) % (4 * ROWS);
		uint32_t thread = comm_hash_next(&random) % 4;

		if (i % 2)
			feed_exact(ops, est, i * 1000000ull + 1, 1 + thread,
				   access_at(base + word * 8, COMM_ACCESS_READ, 0));
		else
			feed_exact(ops, est, i * 1000000ull + 1, 1 + owner_of(word / 2 * 2 / run),
				   access_at(base + word / 2 * 16, COMM_ACCESS_WRITE, 0));
	}
	slice(ops, est, &r);
	part = r.guess_bytes / all_of(&r, false);
	ops->destroy(est);
	return part;
}

/*
 * What is known of some words tells whether their neighbours tell of other words: where each
 * word has an owner of its own, reads of words that nobody was seen to write are guesses.
 */
static void test_neighbours_of_other_owners(void **state)
{
	(void)state;
	assert_true(guesses_among(2) > 0.4);
	assert_true(guesses_among(2048) < 0.05);
}

/* Far more data than there is memory for: what is known stays bounded, what is lost is counted. */
static void test_bounded(void **state)
{
	const struct comm_est_ops *ops = &comm_est_ownership;
	const struct comm_est_config small = {
		.granularity_bytes = 8, .cycles_per_ns = 1, .memory_bytes = 4 << 20};
	void *est = NULL;
	struct result r;

	(void)state;
	assert_int_equal(ops->create(&small, &est), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		feed_exact(ops, est, i * 1000ull + 1, 1,
			   access_at(base + i * 4096ull, COMM_ACCESS_WRITE, 0));
		feed_exact(ops, est, i * 1000ull + 2, 2,
			   access_at(base + i * 4096ull, COMM_ACCESS_READ, 0));
		if (i % 10000 == 9999)
			slice(ops, est, &r);
	}
	/* The latest are still known. */
	assert_true(r.bytes[1][2] > 0.8 * r.edge_bytes);
	assert_true(ops->thinned(est) > 0);
	ops->destroy(est);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_in_place),
		cmocka_unit_test(test_words_of_a_line),
		cmocka_unit_test(test_table_of_a_new_process),
		cmocka_unit_test(test_table_of_an_old_process),
		cmocka_unit_test(test_touched_table),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_neighbours_of_other_owners),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
