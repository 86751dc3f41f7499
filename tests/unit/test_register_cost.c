// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What windows by debug registers cost where string instructions are watched: these take a tenth of the time on made
 * CPUs, and half of that is lost for the registers' sake.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_registers.h"

enum { TOLD = 64 };

static uint64_t strings_made_ns, watched_since_ns;
static bool is_watched, can_tell;

static struct {
	struct comm_event event[TOLD];
	size_t n;
} heard;

static void on_event(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_int_equal(event->kind, COMM_EV_FED);
	assert_true(heard.n < TOLD);
	heard.event[heard.n++] = *event;
}

static uint64_t strings_made(void *ctx, bool watch)
{
	(void)ctx;
	if (!can_tell)
		return UINT64_MAX;
	if (is_watched)
		strings_made_ns += (now_ns - watched_since_ns) / 10;
	is_watched = watch;
	watched_since_ns = now_ns;
	return strings_made_ns;
}

static void make(uint32_t slots)
{
	const struct comm_register_windows_config config = {
		.slots = slots, .read_code = code_made, .strings_ns = strings_made};
	char *why = NULL;

	assert_int_equal(comm_register_windows_create(&config, &w, &why), 0);
	heard.n = 0;
	now_ns = 1000 * MS;
	all = of_long = unbound;
}

static int setup(void **state)
{
	(void)state;
	string_loss_made = 0.5;
	strings_made_ns = 0;
	is_watched = false;
	can_tell = true;
	return 0;
}

static struct comm_register_windows_stats stats_now(void)
{
	struct comm_register_windows_stats ret;

	comm_register_windows_stats(w, &ret);
	return ret;
}

/* Strings are watched while registers are set, and what they lost then is counted, apart while a long window is open. */
static void test_strings(void **state)
{
	(void)state;
	make(2);
	pass(100);
	assert_true(stats_now().knows_strings && !is_watched);
	begin_one(40);
	assert_true(is_watched);
	pass(40);
	assert_false(is_watched);
	pass(1000);
	assert_int_equal(stats_now().string_ns, 2 * MS);
	assert_int_equal(stats_now().long_string_ns, 0);
	begin_one(400);
	pass(100);
	begin_one(20);
	pass(300);
	assert_false(is_watched);
	assert_int_equal(stats_now().string_ns, 22 * MS);
	assert_int_equal(stats_now().long_string_ns, 20 * MS);
}

/*
 * A window of 1.2 s would take 60 ms, and one of their lag 15 ms: words wait for it as long as words wait, and then their writer
 * is not known.  One of 200 ms takes 10 ms.
 */
static void test_dear_windows(void **state)
{
	(void)state;
	make(2);
	begin_one(80);
	pass(80);
	heard.n = 0;
	of_long = (struct comm_window_means){12 * MS, 12 * MS};
	offer(WORD, 300 * MS, 700);
	pass(0);
	assert_int_equal(comm_register_windows_turn_ms(w), INT_MAX);
	offer(WORD, 50 * MS, 1);
	pass(0);
	assert_int_not_equal(comm_register_windows_turn_ms(w), INT_MAX);
	pass(200);
	assert_int_equal(heard.n, 1);
	heard.n = 0;
	offer(WORD, 300 * MS, 200);
	pass(60 * 1000);
	pass(0);
	assert_int_equal(heard.n, 1);
	assert_false(heard.event[0].fed.write.flags);
	assert_true(heard.event[0].fed.stands_for == 900);
	assert_int_equal(stats_now().unpaid, 1);
	offer(WORD, 300 * MS, 1);
	of_long = (struct comm_window_means){16 * MS, 16 * MS};
	pass(0);
	assert_int_not_equal(comm_register_windows_turn_ms(w), INT_MAX);
}

/* With means for 240 ms a window of 400 ms is shorter, and one beside it as long for nothing. */
static void test_long_windows_are_as_long_as_is_paid(void **state)
{
	(void)state;
	make(3);
	begin_one(80);
	pass(80);
	of_long = (struct comm_window_means){1, 12 * MS};
	offer(WORD, 100 * MS, 1);
	offer(WORD + 64, 150 * MS, 1);
	heard.n = 0;
	pass(0);
	assert_int_equal(stats_now().begun, 3);
	of_long.left_ns = 0;
	pass(239);
	assert_int_equal(heard.n, 0);
	pass(1);
	assert_int_equal(heard.n, 2);
	assert_int_equal(stats_now().unpaid, 0);
}

/* Words of a process of one thread have a known writer without a window. */
static void test_unpaid_words_of_one_thread(void **state)
{
	double own = 0, nobodys = 0;

	(void)state;
	make(2);
	begin_one(80);
	pass(80);
	heard.n = 0;
	of_long = (struct comm_window_means){1, 1};
	for (uint64_t i = 0; i < 20; i++) {
		offer_sole(WORD + 16 * i, 300 * MS, 3);
		offer(WORD + 16 * i + 8, 300 * MS, 1);
		pass(60 * 1000);
	}
	pass(1000);
	for (size_t i = 0; i < heard.n; i++) {
		const struct comm_event *event = &heard.event[i];

		if (event->fed.write.flags)
			assert_true(event->tid == OFFERED_TO && !event->fed.write.ip);
		*(event->fed.write.flags ? &own : &nobodys) += event->fed.stands_for;
	}
	assert_true(own + nobodys == 80 && own > 50 && own < 70);
}

/* Short windows find out what they cost; without means for long ones these wait, and those that are open end. */
static void test_long_windows_wait(void **state)
{
	(void)state;
	make(3);
	of_long = (struct comm_window_means){12 * MS, 12 * MS};
	offer(WORD, 50 * MS, 1);
	offer(WORD + 64, 5 * MS, 1);
	offer(WORD + 128, 5 * MS, 1);
	pass(0);
	for (unsigned int i = 0; i < 3; i++)
		assert_true(!is_set(&w->window[i]) || !is_late(&w->window[i].word));
	of_long.left_ns = 0;
	pass(20);
	offer(WORD + 64, 10 * MS, 1);
	pass(0);
	pass(40);
	assert_int_equal(heard.n, 2);
	assert_int_equal(comm_register_windows_turn_ms(w), INT_MAX);
	of_long.left_ns = 1;
	pass(0);
	assert_int_not_equal(comm_register_windows_turn_ms(w), INT_MAX);
	of_long.most_ns = 9 * MS;
	pass(1);
	pass(1);
	assert_int_equal(comm_register_windows_turn_ms(w), INT_MAX);
	assert_int_equal(heard.n, 3);
}

/* What a long window has lost counts as such, too, if its process ended meanwhile. */
static void test_gone(void **state)
{
	(void)state;
	make(2);
	begin_one(400);
	now_ns += 100 * MS;
	comm_register_windows_gone(w, (uint32_t)getpid());
	comm_register_windows_turn(w, now_ns, &all, &of_long);
	assert_int_equal(stats_now().long_string_ns, 5 * MS);
	assert_int_equal(stats_now().set_ns, 100 * MS);
	assert_false(is_watched);
}

/* Neither a sampler that cannot tell, nor a loss that could not be measured, is one that costs nothing. */
static void test_unknown(void **state)
{
	(void)state;
	can_tell = false;
	make(2);
	assert_false(stats_now().knows_strings);
	comm_register_windows_destroy(w);
	can_tell = true;
	string_loss_made = -1;
	make(2);
	assert_false(stats_now().knows_strings);
	begin_one(40);
	assert_false(is_watched);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_strings),
		TEST(test_dear_windows),
		TEST(test_long_windows_are_as_long_as_is_paid),
		TEST(test_unpaid_words_of_one_thread),
		TEST(test_long_windows_wait),
		TEST(test_gone),
		TEST(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
