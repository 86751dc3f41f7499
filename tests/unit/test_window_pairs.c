// SPDX-License-Identifier: GPL-2.0-or-later
/* Who wrote last before each read of a window, from its accesses in order. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../daemon/companion/window_pairs.c"

/* Threads, and the code that they run. */
enum { PARSER = 11, MATCHER = 12, JOURNAL = 13, TGID = 10 };
enum { FREE = 0x1000, MALLOC = 0x2000, FILL = 0x3000, CHECK = 0x4000, COUNT = 0x5000 };
enum {
	R = COMM_ACCESS_READ,
	W = COMM_ACCESS_WRITE,
	LOCKED = R | W | COMM_ACCESS_ATOMIC,
	KERNEL = COMM_ACCESS_KERNEL,
};

static struct comm_live_word word = {
	.tgid = TGID,
	.tid = MATCHER,
	.addr = 0x7000,
	.ip = CHECK,
	.size_bytes = 8,
	.time_ns = 5,
	.stands_for = 1000,
};

static struct comm_window_pairs pairs;
static uint64_t now_ns;

static struct comm_event heard[64];
static size_t n_heard;

static void on_event(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_int_equal(event->kind, COMM_EV_FED);
	assert_int_equal(event->fed.window, 77);
	assert_int_equal(event->fed.how, COMM_FED_REGISTERS);
	assert_int_equal(event->time_ns, 1000000);
	assert_int_equal(event->fed.read.addr, word.addr);
	assert_int_equal(event->fed.read.size_bytes, 8);
	assert_true(n_heard < 64);
	heard[n_heard++] = *event;
}

static void access_by(uint32_t tid, uint64_t ip, uint16_t flags)
{
	const struct comm_window_access access = {
		.time_ns = now_ns++, .ip = ip, .tgid = TGID, .tid = tid, .flags = flags};

	comm_window_pairs_access(&pairs, &access);
}

static void tell(void)
{
	n_heard = 0;
	comm_window_pairs_tell(&pairs, &word, 77, COMM_FED_REGISTERS, 1000000, on_event, NULL);
}

/* What is told of a pair of threads and of code: bytes. */
static double told(uint32_t writer, uint64_t write_ip, uint32_t reader, uint64_t read_ip)
{
	double sum = 0;

	for (size_t i = 0; i < n_heard; i++)
		if (heard[i].tid == writer && heard[i].fed.write.ip == write_ip &&
		    heard[i].fed.read_tid == reader && heard[i].fed.read.ip == read_ip &&
		    heard[i].fed.write.flags & W)
			sum += heard[i].fed.stands_for;
	return sum;
}

static bool about(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static int setup(void **state)
{
	int rc = comm_window_pairs_init(&pairs, 64);

	(void)state;
	now_ns = 100;
	comm_window_pairs_clear(&pairs, CHECK);
	return rc;
}

static int teardown(void **state)
{
	(void)state;
	comm_window_pairs_deinit(&pairs);
	return 0;
}

static void test_producer_and_consumers(void **state)
{
	(void)state;
	/* Whose write this reads is not known. */
	access_by(MATCHER, CHECK, R);
	for (int i = 0; i < 4; i++) {
		access_by(PARSER, FILL, W);
		access_by(MATCHER, CHECK, R);
		if (i % 2)
			access_by(JOURNAL, CHECK, R);
	}
	tell();
	assert_int_equal(n_heard, 2);
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK), 1000 * 4 / 6.));
	assert_true(about(told(PARSER, FILL, JOURNAL, CHECK), 1000 * 2 / 6.));
	assert_int_equal(heard[0].fed.read_ns, heard[0].fed.write_ns + 1);
	assert_int_equal(heard[0].fed.read.flags, R);
	assert_int_equal(heard[0].fed.read_tgid, TGID);
	assert_int_equal(heard[0].tgid, TGID);
}

/*
 * A block goes round: journal frees it, which writes its head; parser's malloc reads that, then parser
 * fills it and reads it itself, and so does matcher.  The next writer after each of their reads is
 * journal; the last before them is not.  What malloc reads is another datum, of which the drawn read says nothing.
 */
static void test_recycled_block(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		access_by(JOURNAL, FREE, W);
		access_by(PARSER, MALLOC, R);
		access_by(PARSER, FILL, W);
		access_by(PARSER, CHECK, R);
		access_by(MATCHER, CHECK, R);
	}
	tell();
	assert_int_equal(n_heard, 2);
	assert_true(about(told(PARSER, FILL, PARSER, CHECK), 500));
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK), 500));
}

/* The compiler has several copies of a loop's body, and each reads; what is further away is another loop. */
static void test_copies_of_a_loop(void **state)
{
	(void)state;
	access_by(PARSER, FILL, W);
	access_by(MATCHER, CHECK - LOOP_BYTES, R);
	access_by(MATCHER, CHECK + LOOP_BYTES, R);
	access_by(MATCHER, CHECK - LOOP_BYTES - 1, R);
	access_by(MATCHER, CHECK + LOOP_BYTES + 1, R);
	tell();
	assert_int_equal(n_heard, 2);
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK - LOOP_BYTES), 500));
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK + LOOP_BYTES), 500));
}

/*
 * Parser reads a head over and over as it fills a block, and the head becomes a queue's place, which is written and
 * read once a turn: that says nothing of what parser reads, nor do writes that are read as something else.
 */
static void test_another_datum(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		access_by(PARSER, FILL, W);
		access_by(JOURNAL, COUNT, R);
	}
	tell();
	assert_int_equal(n_heard, 1);
	assert_int_equal(heard[0].fed.write.flags, 0);
	assert_int_equal(heard[0].fed.read.ip, CHECK);
	assert_true(about(heard[0].fed.stands_for, 1000));
	access_by(MATCHER, CHECK, R);
	tell();
	assert_int_equal(n_heard, 1);
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK), 1000));
}

/* Likewise where it is not known whose write is read as something else; the kernel's reads may be the sampler's. */
static void test_another_datum_of_unknown(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		comm_window_pairs_clear(&pairs, CHECK);
		if (i != 1)
			access_by(JOURNAL, COUNT, i ? R | KERNEL : R);
		access_by(PARSER, FILL, W);
		access_by(PARSER, FILL, W);
		if (i == 1) {
			comm_window_pairs_gap(&pairs);
			access_by(JOURNAL, COUNT, R);
		}
		tell();
		assert_int_equal(n_heard, 1);
		assert_int_equal(heard[0].fed.write.flags, i == 2 ? W : 0);
	}
}

/* Who takes a lock reads what who gave it back wrote; who fails to reads what the holder did. */
static void test_lock_handed_on(void **state)
{
	(void)state;
	comm_window_pairs_clear(&pairs, 0x10);
	for (int i = 0; i < 2; i++) {
		access_by(PARSER, 0x10, LOCKED);
		access_by(MATCHER, 0x10, R | COMM_ACCESS_ATOMIC);
		access_by(PARSER, 0x20, W);
		access_by(MATCHER, 0x10, LOCKED);
		access_by(MATCHER, 0x20, W);
	}
	tell();
	/* The first one taken was given back by who knows whom. */
	assert_true(about(told(PARSER, 0x10, MATCHER, 0x10), 1000 * 2 / 5.));
	assert_true(about(told(PARSER, 0x20, MATCHER, 0x10), 1000 * 2 / 5.));
	assert_true(about(told(MATCHER, 0x20, PARSER, 0x10), 1000 * 1 / 5.));
	assert_int_equal(n_heard, 3);
	assert_true(heard[0].fed.read.flags & COMM_ACCESS_ATOMIC);
}

/* A counter of two threads in turn: each reads what the other wrote. */
static void test_counter(void **state)
{
	(void)state;
	comm_window_pairs_clear(&pairs, COUNT);
	for (int i = 0; i < 11; i++)
		access_by(i % 2 ? PARSER : MATCHER, COUNT, LOCKED);
	tell();
	assert_int_equal(n_heard, 2);
	assert_true(about(told(PARSER, COUNT, MATCHER, COUNT), 500));
	assert_true(about(told(MATCHER, COUNT, PARSER, COUNT), 500));
	assert_int_equal(heard[0].fed.write.flags, W | COMM_ACCESS_ATOMIC);
	assert_int_equal(heard[0].fed.read.flags, R | COMM_ACCESS_ATOMIC);
}

/* Eight writes of a byte make one word that is read once; and the other way round. */
static void test_byte_loops(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 8; i++)
			access_by(PARSER, FILL, W);
		access_by(MATCHER, CHECK, R);
	}
	tell();
	assert_int_equal(n_heard, 1);
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK), 1000));
	comm_window_pairs_clear(&pairs, CHECK);
	for (int turn = 0; turn < 2; turn++) {
		access_by(PARSER, FILL, W);
		for (int i = 0; i < 8; i++)
			access_by(JOURNAL, CHECK, R);
	}
	tell();
	assert_int_equal(n_heard, 1);
	assert_true(about(told(PARSER, FILL, JOURNAL, CHECK), 1000));
}

/* Nothing is made up about what was not seen. */
static void test_unknown_and_gaps(void **state)
{
	(void)state;
	access_by(PARSER, FILL, W);
	access_by(MATCHER, CHECK, R);
	access_by(JOURNAL, 0x600, 0);
	access_by(PARSER, CHECK, R);
	access_by(JOURNAL, FREE, W);
	comm_window_pairs_gap(&pairs);
	access_by(MATCHER, CHECK, R);
	tell();
	assert_int_equal(n_heard, 1);
	assert_true(about(told(PARSER, FILL, MATCHER, CHECK), 1000));
}

/* What the kernel writes for a thread counts; what it reads may be read for the profiler. */
static void test_kernel(void **state)
{
	(void)state;
	access_by(PARSER, FILL, W);
	access_by(MATCHER, 0, R | KERNEL);
	access_by(JOURNAL, 0, W | KERNEL);
	access_by(MATCHER, CHECK, R);
	tell();
	assert_int_equal(n_heard, 1);
	assert_true(about(told(JOURNAL, 0, MATCHER, CHECK), 1000));
	assert_int_equal(heard[0].fed.write.flags, W | KERNEL);
	assert_int_equal(heard[0].fed.read.flags, R);
}

static void test_nobody_wrote(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i)
			access_by(MATCHER, CHECK, R);
		tell();
		assert_int_equal(n_heard, 1);
		assert_int_equal(heard[0].fed.write.flags, 0);
		assert_int_equal(heard[0].tid, MATCHER);
		assert_int_equal(heard[0].fed.read_tid, MATCHER);
		assert_int_equal(heard[0].fed.read.ip, CHECK);
		assert_true(about(heard[0].fed.stands_for, 1000));
	}
}

/*
 * Where nobody was seen to read, who writes next need not be who wrote last: a block that one thread fills is freed by
 * another one.  Several writes, all of one thread, leave no doubt who, and all of one instruction, where.
 */
static void test_writes_alone(void **state)
{
	static const struct {
		uint32_t tid[3];
		uint64_t ip[3];
	} writes[] = {{{PARSER, PARSER, PARSER}, {FILL, FILL, FILL}},
		      {{PARSER}, {FILL}},
		      {{PARSER, JOURNAL, PARSER}, {FILL, FREE, FILL}},
		      {{JOURNAL, PARSER, PARSER}, {FREE, FILL, FILL}},
		      {{PARSER, PARSER, PARSER}, {FILL, FILL, FREE}}};

	(void)state;
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
		comm_window_pairs_clear(&pairs, CHECK);
		access_by(MATCHER, CHECK, R);
		for (int j = 0; j < 3 && writes[i].tid[j]; j++)
			access_by(writes[i].tid[j], writes[i].ip[j], W);
		comm_window_pairs_gap(&pairs);
		access_by(MATCHER, CHECK, R);
		tell();
		assert_int_equal(n_heard, 1);
		assert_int_equal(heard[0].fed.read_ns, 0);
		assert_true(about(told(PARSER, FILL, MATCHER, CHECK), i ? 0 : 1000));
		assert_true(about(told(PARSER, 0, MATCHER, CHECK), i == 4 ? 1000 : 0));
		assert_int_equal(heard[0].fed.write.flags, i && i != 4 ? 0 : W);
	}
}

/* Nobody but the reader can have written the word: that is known of a window that saw no write, and of one that saw a single one. */
static void test_sole_thread(void **state)
{
	(void)state;
	word.is_sole = true;
	for (int i = 0; i < 2; i++) {
		comm_window_pairs_clear(&pairs, CHECK);
		if (i)
			access_by(MATCHER, FILL, W);
		tell();
		assert_int_equal(n_heard, 1);
		assert_true(about(told(MATCHER, 0, MATCHER, CHECK), 1000));
	}
	access_by(MATCHER, CHECK, R);
	tell();
	assert_true(about(told(MATCHER, FILL, MATCHER, CHECK), 1000));
	word.is_sole = false;
}

/* The next window knows nothing of the last one. */
static void test_cleared(void **state)
{
	(void)state;
	access_by(PARSER, FILL, W);
	access_by(MATCHER, CHECK, R);
	comm_window_pairs_clear(&pairs, CHECK);
	access_by(MATCHER, CHECK, R);
	tell();
	assert_int_equal(n_heard, 1);
	assert_int_equal(heard[0].fed.write.flags, 0);
}

/* However many, they share the same bytes. */
static void test_too_many(void **state)
{
	double sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		access_by(1000 + i, FILL, W);
		access_by(2000 + i, CHECK, R);
	}
	tell();
	assert_int_equal(n_heard, 64);
	for (size_t i = 0; i < n_heard; i++)
		sum += heard[i].fed.stands_for;
	assert_true(about(sum, 1000));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_producer_and_consumers),
		TEST(test_recycled_block),
		TEST(test_copies_of_a_loop),
		TEST(test_another_datum),
		TEST(test_another_datum_of_unknown),
		TEST(test_lock_handed_on),
		TEST(test_counter),
		TEST(test_byte_loops),
		TEST(test_unknown_and_gaps),
		TEST(test_kernel),
		TEST(test_nobody_wrote),
		TEST(test_writes_alone),
		TEST(test_sole_thread),
		TEST(test_cleared),
		TEST(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
