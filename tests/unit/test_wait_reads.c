// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/wait_reads.c"

enum { TGID = 7, LOOP = 0x401000, WORD = 0x5000 };

static struct comm_waited_reads known;

/* n reads by turns of one word, at an instruction. */
static struct comm_burst loop_of(uint32_t n, uint64_t ip, uint64_t addr)
{
	struct comm_burst burst = {.n_accesses = n};

	for (uint32_t i = 0; i < n; i++)
		burst.access[i] = (struct comm_burst_access){
			.addr = addr, .ip = ip, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	return burst;
}

static int setup(void **state)
{
	(void)state;
	known = (struct comm_waited_reads){0};
	return 0;
}

static void test_a_loop_that_reads_one_word(void **state)
{
	struct comm_burst burst = loop_of(COMM_WINDOW_SPIN_TURNS, LOOP, WORD);

	(void)state;
	assert_true(comm_wait_reads_is(&known, TGID, &burst));
	/* What is pushed for a call is no write of the loop's. */
	burst.access[1].flags = COMM_ACCESS_WRITE | COMM_ACCESS_IMPLICIT;
	burst.n_accesses++;
	burst.access[COMM_WINDOW_SPIN_TURNS] = burst.access[0];
	assert_true(comm_wait_reads_is(&known, TGID, &burst));
}

/* A loop that yields is seen for one turn, which ends as the kernel takes over. */
static void test_a_loop_that_yields(void **state)
{
	struct comm_burst turn = loop_of(1, LOOP, WORD), part = turn;

	(void)state;
	assert_false(comm_wait_reads_is(&known, TGID, &turn));
	turn.yields = true;
	assert_true(comm_wait_reads_is(&known, TGID, &turn));
	assert_true(comm_wait_reads_is(&known, TGID, &part));
	/* Who has work to do before is no loop that waits. */
	turn = loop_of(50, LOOP + 64, WORD);
	turn.yields = true;
	for (uint32_t i = 0; i < 50; i++)
		turn.access[i].addr += 8 * i;
	assert_false(comm_wait_reads_is(&known, TGID, &turn));
}

static void test_a_loop_that_writes(void **state)
{
	struct comm_burst burst = loop_of(50, LOOP, WORD);

	(void)state;
	burst.access[49].flags = COMM_ACCESS_WRITE;
	assert_false(comm_wait_reads_is(&known, TGID, &burst));
	/* Nor one of which it is not known. */
	burst = loop_of(50, LOOP, WORD);
	burst.n_unknown = 1;
	assert_false(comm_wait_reads_is(&known, TGID, &burst));
}

static void test_a_loop_over_an_array(void **state)
{
	struct comm_burst burst = loop_of(50, LOOP, WORD);

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		burst.access[i].addr += 8 * i;
	assert_false(comm_wait_reads_is(&known, TGID, &burst));
}

/* A turn by itself says nothing, unless that loop was met. */
static void test_a_turn_of_a_known_loop(void **state)
{
	struct comm_burst turn = loop_of(1, LOOP, WORD), nothing = {0};
	struct comm_burst loop = loop_of(20, LOOP, WORD);

	(void)state;
	assert_false(comm_wait_reads_is(&known, TGID, &turn));
	assert_true(comm_wait_reads_is(&known, TGID, &loop));
	assert_true(comm_wait_reads_is(&known, TGID, &turn));
	assert_false(comm_wait_reads_is(&known, TGID + 1, &turn));
	turn.access[0].addr = WORD + 8;
	assert_false(comm_wait_reads_is(&known, TGID, &turn));
	assert_false(comm_wait_reads_is(&known, TGID, &nothing));
	/* What comes behind the loop is more than waiting. */
	turn = loop_of(2, LOOP, WORD);
	turn.access[1].ip = LOOP + 16;
	assert_false(comm_wait_reads_is(&known, TGID, &turn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_loop_that_reads_one_word, setup),
		cmocka_unit_test_setup(test_a_loop_that_yields, setup),
		cmocka_unit_test_setup(test_a_loop_that_writes, setup),
		cmocka_unit_test_setup(test_a_loop_over_an_array, setup),
		cmocka_unit_test_setup(test_a_turn_of_a_known_loop, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
