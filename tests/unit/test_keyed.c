// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of keyed rows: found by the whole key and by nothing else, in order, summed and folded. */
#include "keyed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A key of 14 bytes, of which the last do not fill a word; padding follows. */
struct row {
	uint64_t datum;
	uint32_t thread;
	uint16_t part;
	double value;
	uint64_t weight;
};

struct table {
	COMM_KEYED(keyed, struct row, row, n);
};

static void sum(void *to, const void *row)
{
	((struct row *)to)->value += ((const struct row *)row)->value;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct row, part), sum};

static void add(struct table *table, struct row row)
{
	assert_int_equal(comm_keyed_add(&table->keyed, &kind, &row, NULL), 0);
}

/* The value under a key that is there. */
static double value_of(struct table *table, uint64_t datum, uint32_t thread, uint16_t part)
{
	const struct row key = {.datum = datum, .thread = thread, .part = part};
	size_t n = table->n, at;

	assert_int_equal(comm_keyed_at(&table->keyed, &kind, &key, &at), 0);
	assert_int_equal(table->n, n);
	return table->row[at].value;
}

static void test_growth_loses_nothing(void **state)
{
	struct table table = {0};

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 10000; i++)
			add(&table, (struct row){.datum = i / 100, .thread = i % 100, .value = i});
	assert_int_equal(table.n, 10000);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_true(table.row[i].datum == i / 100 && table.row[i].thread == i % 100);
		assert_true(table.row[i].value == 2.0 * i);
	}
	comm_keyed_clear(&table.keyed);
	assert_int_equal(table.n, 0);
	/* Where rows were, a new one begins at zero. */
	add(&table, (struct row){.datum = 5, .value = 1});
	assert_true(table.n == 1 && table.row[0].value == 1);
	comm_keyed_deinit(&table.keyed);
	assert_true(!table.row && !table.n && !table.keyed.slot);
}

static void test_each_byte_of_a_key_counts_and_no_other(void **state)
{
	struct table table = {0};
	struct row row;
	size_t at;

	(void)state;
	assert_int_equal(kind.key_bytes, 14);
	memset(&row, 0, sizeof(row));
	assert_int_equal(comm_keyed_at(&table.keyed, &kind, &row, &at), 0);
	for (size_t byte = 0; byte < sizeof(row); byte++) {
		memset(&row, 0, sizeof(row));
		((uint8_t *)&row)[byte] = 1;
		assert_int_equal(comm_keyed_at(&table.keyed, &kind, &row, &at), 0);
		assert_int_equal(at, byte < 14 ? byte + 1 : 0);
	}
	assert_int_equal(table.n, 15);
	comm_keyed_deinit(&table.keyed);
}

static void test_bound_refuses_new_keys_alone(void **state)
{
	const struct comm_keyed_kind few = {COMM_KEYED_BYTES(struct row, part), .most = 100};
	struct table table = {0};
	struct row row;
	size_t at;

	(void)state;
	memset(&row, 0, sizeof(row));
	assert_null(comm_keyed_find(&table.keyed, &few, &row));
	for (row.datum = 0; row.datum < 100; row.datum++)
		assert_int_equal(comm_keyed_at(&table.keyed, &few, &row, &at), 0);
	assert_int_equal(comm_keyed_at(&table.keyed, &few, &row, &at), -ENOSPC);
	assert_null(comm_keyed_find(&table.keyed, &few, &row));
	row.datum = 42;
	assert_int_equal(comm_keyed_at(&table.keyed, &few, &row, &at), 0);
	assert_int_equal(at, 42);
	assert_ptr_equal(comm_keyed_find(&table.keyed, &few, &row), &table.row[42]);
	assert_int_equal(table.n, 100);
	comm_keyed_deinit(&table.keyed);
}

/* The longest run of slots without a free one, which is what a search may have to pass. */
static size_t longest_run(const struct table *table)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < 2 * table->keyed.capacity; i++) {
		run = table->keyed.slot[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Ids count up from 0, and lines lie in a row or far apart: by chance runs are of about 40 slots. */
static void test_keys_in_sequence_spread(void **state)
{
	static const unsigned int shift[] = {0, 6, 12, 21, 32, 40, 47};

	(void)state;
	for (size_t i = 0; i < sizeof(shift) / sizeof(*shift); i++) {
		struct table data = {0}, both = {0};

		for (uint64_t j = 0; j < 10000; j++) {
			add(&data, (struct row){.datum = j << shift[i]});
			add(&both, (struct row){.datum = j % 100 << shift[i], .thread = j / 100});
		}
		assert_in_range(longest_run(&data), 1, 100);
		assert_in_range(longest_run(&both), 1, 100);
		comm_keyed_deinit(&data.keyed);
		comm_keyed_deinit(&both.keyed);
	}
}

static size_t run_of_chosen(bool is_hostile)
{
	const struct comm_keyed_kind chosen = {COMM_KEYED_BYTES(struct row, datum),
					       .hostile = is_hostile};
	struct table table = {0};
	uint64_t factor = comm_hash_word(UINT64_C(0xc2b2ae3d27d4eb4f)), inverse = 1;
	size_t at, run;

	/* By Newton: what comm_hash_mix() multiplies a word by, inverted. */
	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	for (uint64_t i = 0; i < 2000; i++) {
		struct row row = {.datum = inverse * i};

		assert_int_equal(comm_keyed_at(&table.keyed, &chosen, &row, &at), 0);
		assert_int_equal(at, i);
	}
	run = longest_run(&table);
	comm_keyed_deinit(&table.keyed);
	return run;
}

/* Keys that all belong into one slot, unless a secret is mixed in; in order of arrival, as ever. */
static void test_hostile_keys_spread(void **state)
{
	(void)state;
	assert_int_equal(run_of_chosen(false), 2000);
	assert_in_range(run_of_chosen(true), 1, 100);
}

static int order_weight(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	return (a->weight < b->weight) - (a->weight > b->weight);
}

static bool is_odd(const void *row)
{
	return ((const struct row *)row)->datum % 2;
}

static void strip(void *row)
{
	((struct row *)row)->datum = 1;
}

static void test_folding_keeps_the_first_and_all_sums(void **state)
{
	(void)state;
	for (int lossy = 0; lossy < 2; lossy++) {
		struct table table = {0};
		double all = 0;

		for (uint32_t i = 2; i < 1002; i++) {
			add(&table, (struct row){.datum = i, .thread = i % 3, .value = i});
			table.row[table.n - 1].weight = i;
			all += i;
		}
		assert_int_equal(comm_keyed_fold(&table.keyed, &kind, 100, order_weight,
						 lossy ? is_odd : NULL, strip),
				 lossy ? 400 : 900);
		/* One for each thread stands for the others. */
		assert_int_equal(table.n, lossy ? 500 + 100 + 3 : 100 + 3);
		for (size_t i = 0; i < table.n; i++)
			all -= table.row[i].value;
		assert_true(all == 0);
		assert_true(value_of(&table, 1001, 1001 % 3, 0) == 1001);
		assert_true(value_of(&table, 902, 902 % 3, 0) == 902);
		assert_true(value_of(&table, 1, 0, 0) > 3);
		/* What is few enough stays as it is. */
		assert_int_equal(
			comm_keyed_fold(&table.keyed, &kind, table.n, order_weight, NULL, strip),
			0);
		comm_keyed_deinit(&table.keyed);
	}
}

static void test_sorted_rows_are_found(void **state)
{
	struct table table = {0};

	(void)state;
	comm_keyed_sort(&table.keyed, &kind, order_weight);
	for (uint32_t i = 0; i < 300; i++) {
		add(&table, (struct row){.datum = i, .value = i});
		table.row[i].weight = i * 7 % 300;
	}
	comm_keyed_sort(&table.keyed, &kind, order_weight);
	for (uint32_t i = 1; i < 300; i++)
		assert_true(table.row[i - 1].weight > table.row[i].weight);
	for (uint32_t i = 0; i < 300; i++)
		assert_true(value_of(&table, i, 0, 0) == i);
	comm_keyed_deinit(&table.keyed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_loses_nothing),
		cmocka_unit_test(test_each_byte_of_a_key_counts_and_no_other),
		cmocka_unit_test(test_bound_refuses_new_keys_alone),
		cmocka_unit_test(test_keys_in_sequence_spread),
		cmocka_unit_test(test_hostile_keys_spread),
		cmocka_unit_test(test_folding_keeps_the_first_and_all_sums),
		cmocka_unit_test(test_sorted_rows_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
