// SPDX-License-Identifier: GPL-2.0-or-later
/* What a drawn read says of the value that was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/companion/burst_read.c"

enum { DATUM = 0x5000, CODE = 0x401000 };

static struct comm_sample sample;
static struct comm_burst burst;
static struct comm_burst_read picked;

/* The sample brought 64 bytes from DATUM on, which hold their own numbers. */
static int begin(void **state)
{
	(void)state;
	memset(&sample, 0, sizeof(sample));
	memset(&burst, 0, sizeof(burst));
	sample.reg[COMM_RSP] = 0x7fff0000;
	sample.n_chunks = 1;
	sample.data_bytes = 64;
	sample.chunk[0] = (struct comm_chunk){.addr = DATUM, .len_bytes = 64};
	for (unsigned int i = 0; i < 64; i++)
		sample.data[i] = (uint8_t)i;
	return 0;
}

static void add(uint64_t addr, uint64_t size_bytes, uint16_t flags)
{
	burst.access[burst.n_accesses++] = (struct comm_burst_access){
		.addr = addr, .ip = CODE, .size_bytes = size_bytes, .flags = flags};
}

static bool pick(void)
{
	const struct comm_event event = {.kind = COMM_EV_SAMPLE, .sample = &sample};
	uint64_t random = 1;

	return comm_burst_read_pick(&picked, &random, COMM_TRIGGER_TIME, &event, &burst);
}

static void test_the_value_is_the_sample_s(void **state)
{
	(void)state;
	add(DATUM + 4, 4, COMM_ACCESS_READ);
	assert_true(pick());
	assert_true(picked.has_value);
	assert_int_equal(picked.value, 0x07060504);
}

static void test_what_nobody_asked_for(void **state)
{
	(void)state;
	add(DATUM + 4, 4, COMM_ACCESS_READ);
	burst.access[0].left_out = true;
	assert_false(pick());
	add(DATUM + 8, 4, COMM_ACCESS_READ);
	assert_true(pick());
	assert_int_equal(picked.addr, DATUM + 8);
}

static void test_what_the_sample_lacks(void **state)
{
	(void)state;
	add(DATUM + 60, 8, COMM_ACCESS_READ);
	assert_true(pick());
	assert_false(picked.has_value);
	begin(NULL);
	add(DATUM - 8, 8, COMM_ACCESS_READ);
	assert_true(pick());
	assert_false(picked.has_value);
}

/* The burst's own write is not what the sample found. */
static void test_what_the_burst_wrote(void **state)
{
	(void)state;
	add(DATUM + 2, 4, COMM_ACCESS_WRITE);
	add(DATUM, 8, COMM_ACCESS_READ);
	assert_true(pick());
	assert_false(picked.has_value);
	begin(NULL);
	add(DATUM, 8, COMM_ACCESS_READ);
	add(DATUM, 8, COMM_ACCESS_WRITE);
	assert_true(pick());
	assert_true(picked.has_value);
}

/* Of a vector a part is drawn, and it is that part's. */
static void test_a_part_of_a_vector(void **state)
{
	(void)state;
	add(DATUM, 32, COMM_ACCESS_READ);
	assert_true(pick());
	assert_true(picked.has_value);
	assert_int_equal(picked.value & 0xff, picked.addr - DATUM);
	assert_int_equal(picked.value >> 56, picked.addr - DATUM + 7);
}

/* Chunks are the kernel's word, and a recording's. */
static void test_a_chunk_past_the_data(void **state)
{
	(void)state;
	sample.chunk[0].offset = COMM_SAMPLE_DATA_BYTES - 8;
	add(DATUM + 16, 8, COMM_ACCESS_READ);
	assert_true(pick());
	assert_false(picked.has_value);
}

/*
 * Code that fills lines may wait for memory: it runs slower than its instructions, and reads less.  Where its lines are
 * is not known: were they near it would read more than is said, by the factor by which it would read less were they far.
 */
static void test_lines_that_are_filled(void **state)
{
	double hot;

	(void)state;
	burst.cycles = 320;
	add(DATUM, 8, COMM_ACCESS_READ);
	assert_true(pick());
	hot = picked.stands_for;
	burst.n_filled = 30;
	assert_true(pick());
	assert_true(picked.stands_for < hot * 320 / (320 + 2 * 30) / 2);
	assert_true(picked.stands_for > 2 * hot * 320 / (320 + 58 * 30));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(test_the_value_is_the_sample_s), TEST(test_what_nobody_asked_for),
		TEST(test_what_the_sample_lacks),     TEST(test_what_the_burst_wrote),
		TEST(test_a_part_of_a_vector),	      TEST(test_a_chunk_past_the_data),
		TEST(test_lines_that_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
