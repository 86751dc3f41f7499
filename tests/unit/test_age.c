// SPDX-License-Identifier: GPL-2.0-or-later
/* Ages of what was read: their bins, and how a store has them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "age.h"
#include "edge_sums.h"
#include "edge_table.h"

static void test_bins(void **state)
{
	(void)state;
	assert_int_equal(comm_age_bin(0), 0);
	assert_int_equal(comm_age_bin(UINT64_MAX), COMM_AGES - 1);
	for (uint32_t bin = 1; bin < COMM_AGES; bin++) {
		uint64_t first_ns = comm_age_first_ns(bin);

		assert_int_equal(comm_age_bin(first_ns), bin);
		assert_int_equal(comm_age_bin(first_ns - 1), bin - 1);
		if (bin > 1)
			assert_int_equal(first_ns / comm_age_first_ns(bin - 1), bin < 12 ? 4 : 2);
	}
	assert_int_equal(comm_age_first_ns(1), 1000);
}

static void test_packed(void **state)
{
	struct comm_ages ages = {0}, back;
	uint8_t packed[COMM_AGES_PACKED];
	size_t n;

	(void)state;
	assert_int_equal(comm_ages_pack(&ages, 100, packed), 0);
	ages.bytes[3] = 50;
	ages.bytes[7] = 25;
	n = comm_ages_pack(&ages, 100, packed);
	assert_int_equal(n, 4);
	comm_ages_unpack(packed, n, 200, &back);
	assert_true(fabs(back.bytes[3] - 100) < 0.8 && fabs(back.bytes[7] - 50) < 0.8);
	assert_true(fabs(comm_ages_sum(&back) - 150) < 0.4);
	/* Many small ones are not all rounded away, and not to more than there is. */
	for (int i = 0; i < COMM_AGES; i++)
		ages.bytes[i] = 0.1f;
	n = comm_ages_pack(&ages, 100, packed);
	comm_ages_unpack(packed, n, 100, &back);
	assert_true(fabs(comm_ages_sum(&back) - 2.4) < 0.2);
	n = comm_ages_pack(&ages, 1, packed);
	comm_ages_unpack(packed, n, 1, &back);
	assert_true(fabs(comm_ages_sum(&back) - 1) < 0.001);
	/* In frames as well, which are a whole of their own. */
	ages.back[0] = 0.25f;
	ages.back[2] = 0.75f;
	n = comm_ages_pack(&ages, 1, packed);
	assert_true(n <= sizeof(packed));
	comm_ages_unpack(packed, n, 8, &back);
	assert_true(fabs(comm_ages_sum(&back) - 8) < 0.001);
	assert_true(fabs(back.back[0] - 2) < 0.04 && !(back.back[1] > 0) &&
		    fabs(back.back[2] - 6) < 0.04);
}

/* What was counted by frames comes back to the byte; where it does not say all, or says too much, it is no count. */
static void test_counted(void **state)
{
	const double bytes = 4915200000007.0;
	struct comm_ages ages = {.back = {128, 0, bytes - 128}}, back;
	uint8_t packed[COMM_AGES_PACKED];
	size_t n = comm_ages_pack(&ages, bytes, packed);

	(void)state;
	assert_true(n <= sizeof(packed));
	comm_ages_unpack(packed, n, bytes, &back);
	assert_true(back.back[0] == 128 && back.back[1] == 0 && back.back[2] == bytes - 128);
	comm_ages_unpack(packed, n, bytes + 5, &back);
	assert_true(back.back[0] == 128 && back.back[2] == bytes - 128);
	comm_ages_unpack(packed, n, bytes - 1, &back);
	assert_true(back.back[0] == 0 && back.back[2] == 0);
	comm_ages_unpack(packed, n - 1, bytes, &back);
	assert_true(back.back[0] == 0 && back.back[2] == 0);
	ages.back[0] = 1;
	n = comm_ages_pack(&ages, bytes, packed);
	comm_ages_unpack(packed, n, bytes, &back);
	assert_true(back.back[0] + back.back[2] <= bytes);
	ages = (struct comm_ages){.back = {0, bytes, 0}};
	n = comm_ages_pack(&ages, bytes, packed);
	assert_int_equal(n, 2);
	comm_ages_unpack(packed, n, bytes, &back);
	assert_true(back.back[1] == bytes);
}

static void test_one(void **state)
{
	const struct comm_frame_at none = {0}, at = {1000, 5000};

	(void)state;
	assert_true(comm_ages_sum(&(struct comm_ages){0}) == 0);
	for (int i = 0; i < COMM_AGES_BACK; i++) {
		const struct comm_ages ages = comm_ages_of((uint64_t[]){500, 2000, 7000}[i], &at);

		assert_true(comm_ages_sum(&ages) == 1);
		for (int j = 0; j < COMM_AGES_BACK; j++)
			assert_true(ages.back[j] == (i == j));
	}
	assert_true(comm_ages_of(500, &none).back[0] == 0 &&
		    comm_ages_of(500, &none).bytes[0] == 1);
}

static void test_hostile(void **state)
{
	static const uint8_t no_bin[] = {COMM_AGES + COMM_AGES_BACK, 1},
			     too_much[] = {0, 200, 1, 200}, odd[] = {5},
			     frames[] = {0, 200, COMM_AGES, 200, COMM_AGES + 1, 200, 1, 10};
	uint8_t many[1000];
	struct comm_ages ages;

	(void)state;
	comm_ages_unpack(no_bin, sizeof(no_bin), 100, &ages);
	assert_true(comm_ages_sum(&ages) == 0);
	comm_ages_unpack(too_much, sizeof(too_much), 100, &ages);
	assert_true(comm_ages_sum(&ages) <= 100);
	comm_ages_unpack(odd, sizeof(odd), 100, &ages);
	assert_true(comm_ages_sum(&ages) == 0);
	comm_ages_unpack(frames, sizeof(frames), 255, &ages);
	assert_true(comm_ages_sum(&ages) == 200 && ages.back[0] == 200 && !(ages.back[1] > 0));
	memset(many, 1, sizeof(many));
	comm_ages_unpack(many, sizeof(many), 255, &ages);
	assert_true(comm_ages_sum(&ages) <= COMM_AGES_PACKED / 2);
}

static const struct comm_edge_key key = {.src_thread = 1, .dst_thread = 2};
static struct comm_edge found;

static void find(void *ctx, const struct comm_edge *edge)
{
	(void)ctx;
	found = *edge;
}

/* Sums of edges are sums of their ages, too. */
static void test_sums(void **state)
{
	const struct comm_ages half = {.bytes = {[4] = 0.5f}, .back = {[1] = 0.25f}};
	const struct comm_edge_known known = {.ages = &half};
	struct comm_edge_table table = {0};
	struct comm_edge_sums *sums;
	uint64_t folded = 0;

	(void)state;
	assert_int_equal(comm_edge_sums_create(1 << 20, &sums), 0);
	comm_edge_sums_add_known(sums, &key, 100, 0, 1, &known);
	comm_edge_sums_add(sums, &key, 1, 0, 1);
	comm_edge_sums_emit(sums, find, NULL);
	assert_true(found.bytes == 101 && found.ages.bytes[4] == 50);
	assert_true(comm_ages_sum(&found.ages) == 50 && found.ages.back[1] == 25);
	comm_edge_sums_destroy(sums);
	for (uint32_t i = 0; i < 100; i++) {
		found.src_site = i;
		assert_int_equal(comm_edge_table_add(&table, &found), 0);
		assert_int_equal(comm_edge_table_add(&table, &found), 0);
	}
	assert_int_equal(comm_edge_table_fold(&table, 10, &folded), 0);
	assert_true(folded > 0);
	memset(&found, 0, sizeof(found));
	for (size_t i = 0; i < table.n; i++)
		comm_ages_add(&found.ages, &table.edge[i].ages, 1);
	assert_true(found.ages.bytes[4] == 10000 && found.ages.back[1] == 5000);
	comm_edge_table_deinit(&table);
}

/* An edge of 1e-111 bytes has shares of ages like any other, and those that it has not are 0. */
static void test_scale(void **state)
{
	struct comm_ages ages = {.bytes = {1}, .back = {0.5f}};

	(void)state;
	comm_ages_scale(&ages, 0.25);
	assert_true(ages.bytes[0] == 0.25f && ages.back[0] == 0.125f);
	ages = (struct comm_ages){.back = {1e-30f}};
	comm_ages_scale(&ages, 1e111);
	assert_true(ages.back[1] == 0 && ages.bytes[0] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),  cmocka_unit_test(test_bins),
		cmocka_unit_test(test_packed), cmocka_unit_test(test_counted),
		cmocka_unit_test(test_one),    cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
