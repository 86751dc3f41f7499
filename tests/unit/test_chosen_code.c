// SPDX-License-Identifier: GPL-2.0-or-later
/* In which code samples are taken that a run of some functions is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/source/chosen_code.c"

enum {
	PROGRAM = 0x400000,
	CODE = 0x401000, /* of the function that is chosen, */
	OTHER = 0x402000,
	WRITER = 0x403000,
	PIECE = 1 << COMM_RAW_PIECE_SHIFT,
	DATA = 0x700000,
	ELSEWHERE = 0x900000,
	STACK = 0x800000,
};

static struct comm_burst burst;
static struct comm_sample sample;
static uint64_t key[COMM_CHOSEN_NEW];

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct comm_chosen_code));
	memset(&burst, 0, sizeof(burst));
	memset(&sample, 0, sizeof(sample));
	sample.reg[COMM_RSP] = STACK;
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void access_at(uint64_t ip, uint64_t addr, uint16_t flags, bool left_out)
{
	burst.access[burst.n_accesses++] = (struct comm_burst_access){
		.ip = ip, .addr = addr, .size_bytes = 8, .flags = flags, .left_out = left_out};
}

/* A burst that begins at ip. */
static unsigned int taken(struct comm_chosen_code *code, uint64_t ip, uint64_t program)
{
	unsigned int n;

	sample.ip = ip;
	n = comm_chosen_code_burst(code, program, &sample, &burst, key);
	burst.n_accesses = 0;
	return n;
}

static void test_reads(void **state)
{
	access_at(OTHER, ELSEWHERE, COMM_ACCESS_READ, true);
	assert_int_equal(taken(*state, OTHER, PROGRAM), 0);
	/* Where the burst comes from is met, too, for it comes to what is chosen. */
	access_at(OTHER, ELSEWHERE, COMM_ACCESS_READ, true);
	access_at(CODE, DATA, COMM_ACCESS_READ, false);
	access_at(CODE + PIECE - 1, DATA, COMM_ACCESS_READ, false);
	access_at(CODE + PIECE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, OTHER, PROGRAM), 3);
	assert_true(key[0] == comm_raw_piece_key(PROGRAM, OTHER));
	assert_true(key[1] == comm_raw_piece_key(PROGRAM, CODE));
	assert_true(key[2] == comm_raw_piece_key(PROGRAM, CODE + PIECE));
	/* Each is told once, of each program. */
	access_at(CODE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, CODE, PROGRAM), 0);
	access_at(CODE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, CODE, PROGRAM + 1), 1);
	/* A program that is not known has no key. */
	access_at(CODE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, CODE, 0), 0);
}

static void test_writes(void **state)
{
	access_at(WRITER, DATA, COMM_ACCESS_WRITE, false);
	assert_int_equal(taken(*state, WRITER, PROGRAM), 0);
	access_at(CODE, DATA + 64, COMM_ACCESS_READ, false);
	taken(*state, CODE, PROGRAM);
	access_at(WRITER, ELSEWHERE, COMM_ACCESS_WRITE, false);
	assert_int_equal(taken(*state, WRITER, PROGRAM), 0);
	access_at(WRITER, DATA, COMM_ACCESS_WRITE, false);
	assert_int_equal(taken(*state, WRITER, PROGRAM), 1);
	assert_true(key[0] == comm_raw_piece_key(PROGRAM, WRITER));
	/* Another program has other data there. */
	access_at(WRITER, DATA, COMM_ACCESS_WRITE, false);
	assert_int_equal(taken(*state, WRITER, PROGRAM + 1), 0);
}

/* All code writes the stack that it reads. */
static void test_stack(void **state)
{
	access_at(CODE, STACK + 8, COMM_ACCESS_READ, false);
	taken(*state, CODE, PROGRAM);
	access_at(WRITER, STACK + 8, COMM_ACCESS_WRITE, false);
	assert_int_equal(taken(*state, WRITER, PROGRAM), 0);
}

static void test_many(void **state)
{
	for (unsigned int i = 0; i < 2 * COMM_CHOSEN_NEW; i++)
		access_at(CODE + i * PIECE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, CODE, PROGRAM), COMM_CHOSEN_NEW);
	for (unsigned int i = 0; i < 2 * COMM_CHOSEN_NEW; i++)
		access_at(CODE + i * PIECE, DATA, COMM_ACCESS_READ, false);
	assert_int_equal(taken(*state, CODE, PROGRAM), COMM_CHOSEN_NEW);
	assert_true(key[0] == comm_raw_piece_key(PROGRAM, CODE + COMM_CHOSEN_NEW * PIECE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
