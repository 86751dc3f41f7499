// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine where a run is about what some functions read: other reads are left out, and no write is. */
#include <stdio.h>

#include "made_engine.h"

#include "chosen_functions.h"

/* All code of the made-up process is of the function "made", but for that at CLEARS. */
static void choose(const char *function)
{
	comm_engine_destroy(engine);
	world.function = function;
	begin(&noting, true);
}

static void give_access(uint64_t time_ns, uint16_t flags)
{
	give(&(struct comm_event){
		.kind = COMM_EV_ACCESS,
		.time_ns = time_ns,
		.tgid = TGID,
		.tid = SECOND,
		.access = {.addr = HEAP, .ip = TEXT, .size_bytes = 8, .flags = flags}});
}

static void reads_of_bursts(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	/* mov rax,[rbx]; mov [rcx+8],rdx */
	memcpy(world.text, "\x48\x8b\x03\x48\x89\x51\x08", 7);
	choose("ma?e");
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.burst.n, 2);
	choose("__memset*");
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.n_bursts, 2);
	assert_int_equal(world.burst.n, 1);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_WRITE);
	/* The burst is as long as it was. */
	assert_int_equal(world.burst.n_insns, 2);
	assert_int_equal(world.access[0].insn, 1);
	memcpy(world.text + (CLEARS - TEXT), "\x48\x8b\x03", 3);
	sample.ip = CLEARS;
	give_sample(START + 2, SECOND, &sample);
	assert_int_equal(world.burst.n, 1);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ);
}

static void measured_accesses(void **state)
{
	(void)state;
	choose("nobody");
	give_access(START, COMM_ACCESS_READ);
	assert_int_equal(world.n_bursts, 0);
	give_access(START, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_bursts, 1);
	give_access(START, COMM_ACCESS_READ | COMM_ACCESS_WRITE);
	assert_int_equal(world.n_bursts, 2);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_WRITE);
	choose("made");
	give_access(START, COMM_ACCESS_READ | COMM_ACCESS_WRITE);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ | COMM_ACCESS_WRITE);
}

/* What waits for its burst, with it and without. */
static void accesses_with_bursts(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x89\x51\x08", 4); /* mov [rcx+8],rdx */
	choose("nobody");
	give_access(START + 1, COMM_ACCESS_READ | COMM_ACCESS_BURST);
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.n_bursts, 1);
	assert_int_equal(world.burst.n, 1);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_WRITE);
	give_access(START + 2, COMM_ACCESS_READ | COMM_ACCESS_BURST);
	assert_int_equal(first_slice()->accesses, 1);
	assert_int_equal(world.slice[0].samples, 2);
}

static void words_of_the_survey(void **state)
{
	struct comm_event event = {
		.kind = COMM_EV_CENSUS, .time_ns = START + 30, .tgid = TGID, .tid = FIRST};

	(void)state;
	event.census.read = (struct comm_precise){
		.addr = HEAP, .ip = TEXT, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	event.census.stands_for = 5;
	choose("nobody");
	give(&event);
	first_slice();
	assert_int_equal(world.n_census, 0);
	choose("made");
	give(&event);
	comm_engine_advance(engine, START + SLICE);
	assert_int_equal(world.n_census, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(reads_of_bursts),
		TEST(measured_accesses),
		TEST(accesses_with_bursts),
		TEST(words_of_the_survey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
