// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines of memory are brought with samples, by what bursts lacked and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/source/wanted_lines.c"

enum {
	TGID = 40,
	PROGRAM = 0x400000,
	LINE = 0x601000,
	ELSEWHERE = 0x70000000,
	CODE = 0x401000,
	PAGE_BYTES = 4096
};

static struct comm_burst burst;
static struct comm_sample sample;
static struct comm_wanted wanted, changes[COMM_WANTED_CHANGES];
static unsigned int n_changes;

static int setup(void **state)
{
	struct comm_wanted_lines *lines;

	assert_int_equal(comm_wanted_lines_create(&lines), 0);
	comm_wanted_lines_met(lines, TGID, PROGRAM);
	memset(&sample, 0, sizeof(sample));
	for (unsigned int r = 0; r < COMM_NGPR; r++)
		sample.reg[r] = ELSEWHERE;
	*state = lines;
	return 0;
}

static int teardown(void **state)
{
	comm_wanted_lines_destroy(*state);
	return 0;
}

/* What the burst in front of the reader says of a process. */
static bool told(struct comm_wanted_lines *lines, uint32_t tgid)
{
	const struct comm_event event = {.kind = COMM_EV_SAMPLE, .tgid = tgid, .sample = &sample};

	n_changes = comm_wanted_lines_burst(lines, &event, &burst, changes);
	if (n_changes)
		wanted = changes[n_changes - 1];
	return n_changes;
}

/* A burst that ends at addr, or 0, and has read the datum at read_addr. */
static bool met(struct comm_wanted_lines *lines, uint64_t lacked, uint64_t read_addr)
{
	memset(&burst, 0, sizeof(burst));
	burst.lacked = lacked;
	burst.n_accesses = 1;
	burst.access[0] = (struct comm_burst_access){
		.addr = read_addr, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	return told(lines, TGID);
}

static void test_a_line_lacked_twice(void **state)
{
	assert_false(met(*state, LINE + 8, 0));
	assert_false(met(*state, LINE + 64, 0));
	assert_true(met(*state, LINE + 63, 0));
	assert_int_equal(wanted.key, PROGRAM);
	assert_int_equal(wanted.raw.place[0], LINE);
	assert_int_equal(wanted.raw.place[1], 0);
	/* It is brought already. */
	assert_false(met(*state, LINE, 0));
}

static void fill(struct comm_wanted_lines *lines)
{
	for (unsigned int i = 0; i < 2 * COMM_RAW_WANTED_MAX; i++)
		met(lines, LINE + 64 * (i / 2), 0);
	assert_int_equal(wanted.raw.place[COMM_RAW_WANTED_MAX - 1],
			 LINE + 64 * (COMM_RAW_WANTED_MAX - 1));
}

static bool is_wanted(uint64_t addr)
{
	for (unsigned int i = 0; i < COMM_RAW_WANTED_MAX; i++)
		if (wanted.raw.place[i] == addr)
			return true;
	return false;
}

/* What bursts read of what is brought keeps it: the line that nobody reads gives way. */
static void test_what_is_read_stays(void **state)
{
	fill(*state);
	for (unsigned int i = 1; i < COMM_RAW_WANTED_MAX; i++)
		assert_false(met(*state, 0, LINE + 64 * i));
	assert_false(met(*state, 0x900000, 0));
	assert_false(met(*state, 0x900000, 0)); /* as often as the first, which stays */
	assert_true(met(*state, 0x900000, 0));
	assert_true(is_wanted(0x900000));
	assert_false(is_wanted(LINE));
	assert_true(is_wanted(LINE + 64));
}

/* A line that is not lacked any more, nor read, is brought no longer. */
static void test_forgets(void **state)
{
	bool changed = false;

	fill(*state);
	for (unsigned int i = 0; i < 4096; i++)
		changed |= met(*state, 0, LINE);
	assert_true(changed);
	assert_int_equal(wanted.raw.place[0], LINE);
	assert_int_equal(wanted.raw.place[1], 0);
}

static void test_programs_apart(void **state)
{
	comm_wanted_lines_met(*state, TGID + 1, PROGRAM);
	comm_wanted_lines_met(*state, TGID + 2, PROGRAM + 0x1000);
	memset(&burst, 0, sizeof(burst));
	burst.lacked = LINE;
	assert_false(told(*state, TGID));
	assert_false(told(*state, TGID + 2));
	/* Forked processes learn together. */
	assert_true(told(*state, TGID + 1));
	assert_int_equal(wanted.key, PROGRAM);
	assert_true(told(*state, TGID + 2));
	assert_int_equal(wanted.key, PROGRAM + 0x1000);
	/* A sample without memory does not say which program it is of. */
	comm_wanted_lines_met(*state, TGID, 0);
	burst.lacked = LINE + 64;
	assert_false(told(*state, TGID));
	assert_true(told(*state, TGID));
	assert_int_equal(wanted.key, PROGRAM);
	/* Of a process that no sample came from nothing is known. */
	for (int i = 0; i < 3; i++)
		assert_false(told(*state, 4));
}

/* Many programs: the one that was used least recently is forgotten. */
static void test_bounded(void **state)
{
	memset(&burst, 0, sizeof(burst));
	burst.lacked = LINE;
	for (uint32_t i = 1; i < 1000; i++) {
		comm_wanted_lines_met(*state, i, i);
		assert_false(told(*state, i));
	}
	assert_true(told(*state, 999));
	assert_false(told(*state, 1));
	for (uint64_t i = 0; i < 10000; i++)
		met(*state, 0x10000000 + i * 64, 0);
}

/* An object after the other, of which bursts lack the same member: it is brought by its register. */
static void test_a_member(void **state)
{
	const uint64_t place = COMM_RAW_PLACE(COMM_RBX, 0, 0x1f0);

	sample.ip = CODE + 1;
	sample.reg[COMM_RBX] = 0x10000010;
	sample.reg[COMM_RBP] = 0x10000000 - 0x1000; /* farther */
	assert_false(met(*state, 0x10000010 + 0x1f0, 0));
	/* Elsewhere in the code another object may be in the register. */
	sample.ip = CODE + PAGE_BYTES;
	sample.reg[COMM_RBX] = 0x20000010;
	assert_false(met(*state, 0x20000010 + 0x1f0, 0));
	sample.ip = CODE + PAGE_BYTES - 1;
	sample.reg[COMM_RBX] = 0x30000010;
	assert_true(met(*state, 0x30000010 + 0x1f0, 0));
	assert_int_equal(n_changes, 1);
	assert_int_equal(wanted.key, comm_raw_code_key(PROGRAM, CODE));
	assert_int_equal(wanted.raw.place[0], place);
	assert_int_equal(wanted.raw.place[1], 0);
	/* So far behind that it is no member. */
	for (int i = 0; i < 4; i++) {
		sample.reg[COMM_RBX] = 0x40000000 + 0x10000u * i;
		assert_false(met(*state, sample.reg[COMM_RBX] + MEMBER_BYTES, 0));
	}
}

/* As many as a page of code may have, whatever its bursts lack. */
static void test_members_are_bounded(void **state)
{
	for (uint64_t i = 0; i < 1000; i++) {
		sample.reg[COMM_RBX] = 0x10000000 + 0x10000 * i;
		met(*state, sample.reg[COMM_RBX] + 8 * (i / 2), 0);
	}
	assert_int_not_equal(wanted.raw.place[PAGE_MOST - 1], 0);
	assert_int_equal(wanted.raw.place[PAGE_MOST], 0);
}

static void put_word(uint64_t addr, uint64_t word)
{
	sample.chunk[0] = (struct comm_chunk){addr & ~63ULL, 64, 0};
	sample.n_chunks = 1;
	memset(sample.data, 0, 64);
	memcpy(sample.data + (addr & 63), &word, 8);
}

/* The same of what a pointer in the objects points to. */
static void test_behind_a_pointer(void **state)
{
	const uint64_t place = COMM_RAW_PLACE(COMM_RDI, 0x18, 0x40) | COMM_RAW_BY_POINTER;

	for (uint64_t i = 1; i <= 2; i++) {
		sample.reg[COMM_RDI] = 0x10000000 * i;
		put_word(0x10000000 * i + 0x18, 0x4000000000 * i);
		assert_int_equal(met(*state, 0x4000000000 * i + 0x40, 0), i == 2);
	}
	assert_int_equal(wanted.raw.place[0], place);
	assert_int_equal(wanted.raw.place[1], 0);
	/* Its reads keep it, the more of them the longer. */
	for (uint64_t i = 1; i < 4 * MEMORY_BURSTS; i++) {
		sample.reg[COMM_RDI] = 0x10000 * (i + 1);
		put_word(sample.reg[COMM_RDI] + 0x18, 0x5000000000 + 0x1000 * i);
		assert_false(met(*state, 0, 0x5000000000 + 0x1000 * i + 0x44));
	}
	/* Reads elsewhere do not. */
	for (uint64_t i = 1; i < 16 * MEMORY_BURSTS && wanted.raw.place[0]; i++)
		met(*state, 0, 0x6000000000);
	assert_int_equal(wanted.raw.place[0], 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_line_lacked_twice),
		T(test_what_is_read_stays),
		T(test_forgets),
		T(test_programs_apart),
		T(test_bounded),
		T(test_a_member),
		T(test_members_are_bounded),
		T(test_behind_a_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
