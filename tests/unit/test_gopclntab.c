// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of Go programs by tables of each layout, made here, and by damaged ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gopclntab.h"

enum {
	GO_1_2 = 0xfffffffb,
	GO_1_16 = 0xfffffffa,
	GO_1_18 = 0xfffffff0,
	GO_1_20 = 0xfffffff1,

	TEXT = 0x401000,
	NAMES = 128, /* where they stand in the table */
	LIST = 192,
	BYTES = 512,
	FUNCTIONS = 2,
};

static const uint64_t starts[FUNCTIONS + 1] = {TEXT, TEXT + 0x40, TEXT + 0x100};
static const char *const names[FUNCTIONS] = {"main.fill", "main.(*T).sum"};
static uint8_t *table; /* of BYTES, on the heap: reads behind it are found by sanitizers */
static struct comm_gopclntab_function found[8];
static unsigned int n_found, most;

static int add(void *ctx, const struct comm_gopclntab_function *function)
{
	(void)ctx;
	assert_in_range(n_found, 0, 7);
	found[n_found++] = *function;
	return n_found == most;
}

static int walk(size_t n_bytes)
{
	n_found = 0;
	return comm_gopclntab_walk(table, n_bytes, add, NULL);
}

static void put(uint64_t at, uint64_t number, unsigned int bytes)
{
	memcpy(table + at, &number, bytes);
}

static void make(uint32_t magic)
{
	bool is_narrow = magic == GO_1_18 || magic == GO_1_20;
	unsigned int bytes = is_narrow ? 4 : 8;
	uint64_t list = magic == GO_1_2 ? 16 : LIST, from = magic == GO_1_2 ? 0 : list;
	uint64_t base = is_narrow ? TEXT : 0, text = NAMES;

	memset(table, 0, BYTES);
	put(0, magic, 4);
	put(6, 0x0801, 2);
	put(8, FUNCTIONS, 8);
	if (is_narrow) {
		put(24, TEXT, 8);
		put(32, NAMES, 8);
		put(64, LIST, 8);
	} else if (magic == GO_1_16) {
		put(24, NAMES, 8);
		put(56, LIST, 8);
	}
	for (unsigned int i = 0; i <= FUNCTIONS; i++) {
		uint64_t record = 300 + 40 * (uint64_t)i;

		put(list + 2 * i * bytes, starts[i] - base, bytes);
		if (i == FUNCTIONS)
			break;
		put(list + (2 * i + 1) * bytes, record - from, bytes);
		put(record, starts[i] - base, bytes);
		put(record + bytes, magic == GO_1_2 ? text : text - NAMES, 4);
		strcpy((char *)table + text, names[i]);
		text += strlen(names[i]) + 1;
	}
}

static int setup(void **state)
{
	(void)state;
	table = malloc(BYTES);
	most = 0;
	return !table;
}

static int teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static void all_layouts(void **state)
{
	static const uint32_t magics[] = {GO_1_2, GO_1_16, GO_1_18, GO_1_20};

	(void)state;
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		make(magics[i]);
		assert_int_equal(walk(BYTES), 0);
		assert_int_equal(n_found, FUNCTIONS);
		for (unsigned int j = 0; j < FUNCTIONS; j++) {
			assert_int_equal(found[j].start, starts[j]);
			assert_int_equal(found[j].end, starts[j + 1]);
			assert_string_equal(found[j].name, names[j]);
		}
	}
	most = 1;
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 1);
}

static void no_table(void **state)
{
	static const uint64_t words[] = {8, 32, 64};

	(void)state;
	make(GO_1_18 - 1); /* a later one, whose layout nobody knows */
	assert_int_equal(walk(BYTES), -ENOEXEC);
	for (uint64_t at = 4; at < 8; at++) {
		make(GO_1_18);
		put(at, 4, 1);
		assert_int_equal(walk(BYTES), -ENOEXEC);
	}
	for (size_t n = 0; n < 72; n++) {
		uint8_t *cut = table;

		make(GO_1_18);
		table = malloc(n ? n : 1);
		memcpy(table, cut, n);
		assert_int_equal(walk(n), -ENOEXEC);
		free(table);
		table = cut;
	}
	/* Where the code begins, relocations would say. */
	make(GO_1_20);
	put(24, 0, 8);
	assert_int_equal(walk(BYTES), -ENOEXEC);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		make(GO_1_18);
		put(words[i], UINT64_MAX - 3, 8);
		assert_int_equal(walk(BYTES), -ENOEXEC);
	}
}

/* What stands in front of the damage is told. */
static void damaged(void **state)
{
	(void)state;
	make(GO_1_18);
	put(LIST + 12, BYTES, 4); /* the second one's record */
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 1);
	make(GO_1_18);
	put(LIST + 16, 0x40, 4); /* it ends where it begins */
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 1);
	make(GO_1_18);
	put(300 + 4, BYTES - NAMES, 4); /* the first one's name */
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 0);
	/* A name without an end. */
	make(GO_1_18);
	put(300 + 4, BYTES - 4 - NAMES, 4);
	memset(table + BYTES - 4, 'x', 4);
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 0);
	make(GO_1_16);
	put(LIST + 8, UINT64_MAX, 8);
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, 0);
	/* More functions than there are. */
	make(GO_1_18);
	put(8, BYTES, 8);
	assert_int_equal(walk(BYTES), 0);
	assert_int_equal(n_found, FUNCTIONS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_layouts),
		TEST(no_table),
		TEST(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
