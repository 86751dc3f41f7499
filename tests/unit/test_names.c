// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include "clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	STAGES = 15,
	BLOCK = 8, /* characters of a stage */
	NAMES = 1 << STAGES,
	TRIES = 1 << 19,
};

static uint32_t fnv(uint32_t h, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * 0x1b3u; /* low 32 bits of 64-bit FNV-1a's prime */
	return h;
}

static void nth_block(uint32_t n, char ret[BLOCK + 1])
{
	snprintf(ret, BLOCK + 1, "%08x", n * 0x9e3779b1u);
}

struct tried {
	uint32_t hash, n;
};

static int by_hash(const void *pa, const void *pb)
{
	const struct tried *a = pa, *b = pb;

	return (a->hash > b->hash) - (a->hash < b->hash);
}

/*
 * Two blocks for each stage that lead from one 32-bit FNV-1a state to one other, so that all
 * 2^STAGES names made of them have one hash.  Joux, Multicollisions in iterated hash
 * functions, CRYPTO 2004.
 */
static void find_collisions(char pair[STAGES][2][BLOCK + 1])
{
	struct tried *all = calloc(TRIES, sizeof(*all));
	uint32_t state = 0x84222325u; /* low 32 bits of FNV-1a's 64-bit start */

	assert_non_null(all);
	for (int s = 0; s < STAGES; s++) {
		uint32_t i;

		for (i = 0; i < TRIES; i++) {
			nth_block(i, pair[s][0]);
			all[i] = (struct tried){fnv(state, pair[s][0], BLOCK), i};
		}
		qsort(all, TRIES, sizeof(*all), by_hash);
		for (i = 1; i < TRIES && all[i].hash != all[i - 1].hash; i++)
			;
		assert_true(i < TRIES);
		nth_block(all[i - 1].n, pair[s][0]);
		nth_block(all[i].n, pair[s][1]);
		state = all[i].hash;
	}
	free(all);
}

static uint64_t time_of_adding(char pair[STAGES][2][BLOCK + 1], bool chosen)
{
	uint64_t start = comm_clock_thread_ns();
	char name[STAGES * BLOCK + 1];
	struct comm_names *names;

	assert_int_equal(comm_names_create(64 << 20, &names), 0);
	for (int n = 0; n < NAMES; n++) {
		for (int s = 0; s < STAGES; s++)
			memcpy(name + (size_t)s * BLOCK, pair[s][n >> s & 1], BLOCK);
		name[STAGES * BLOCK] = 0;
		if (!chosen)
			name[0] = 'x'; /* another start: the collisions are gone */
		comm_names_add(names, name, sizeof(name));
	}
	comm_names_destroy(names);
	return comm_clock_thread_ns() - start;
}

/* With FNV-1a the chosen names took 180 times as long as others. */
static void chosen_names_cost_no_more(void **state)
{
	char pair[STAGES][2][BLOCK + 1];
	uint64_t chosen_ns, other_ns;

	(void)state;
	find_collisions(pair);
	other_ns = time_of_adding(pair, false);
	chosen_ns = time_of_adding(pair, true);
	print_message("%d names: %.1f ms, chosen to collide: %.1f ms\n", NAMES,
		      (double)other_ns / 1e6, (double)chosen_ns / 1e6);
	assert_true(chosen_ns < 10 * other_ns);
}

static void equal_names_are_one(void **state)
{
	struct comm_names *names;

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_ptr_equal(comm_names_add(names, "one", 3), comm_names_add(names, "one more", 3));
	assert_string_equal(comm_names_add(names, "a\nb", 3), "a\\x0ab");
	comm_names_destroy(names);
}

static void a_full_table_says_other(void **state)
{
	struct comm_names *names;

	(void)state;
	assert_int_equal(comm_names_create(10, &names), 0);
	assert_string_equal(comm_names_add(names, "123456789", 9), "123456789");
	assert_string_equal(comm_names_add(names, "x", 1), "(other)");
	comm_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_names_cost_no_more),
		cmocka_unit_test(equal_names_are_one),
		cmocka_unit_test(a_full_table_says_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
