// SPDX-License-Identifier: GPL-2.0-or-later
/* What words without a window are taken for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/companion/late_words.c"
#include "../../daemon/companion/unpaid_words.c"
#include "../../daemon/companion/window_pairs.c"
#include "../../daemon/companion/word_pool.c"

#define S UINT64_C(1000000000)

enum { MS = 1000 * 1000, CODE = 0x401000, READER = 7, TOLD = 64 };

static struct comm_unpaid_words unpaid;
static struct comm_window_pairs pairs;
static uint64_t seed, now_ns;
static uint32_t numbers;
static struct {
	struct comm_event event[TOLD];
	size_t n;
} heard;

static int setup(void **state)
{
	(void)state;
	memset(&unpaid, 0, sizeof(unpaid));
	seed = 1;
	numbers = 100;
	now_ns = 1000 * S;
	heard.n = 0;
	return comm_window_pairs_init(&pairs, 64);
}

static int teardown(void **state)
{
	(void)state;
	comm_window_pairs_deinit(&pairs);
	return 0;
}

static struct comm_live_word word_of(uint64_t lag_ms, double stands_for)
{
	return (struct comm_live_word){.tgid = 1,
				       .tid = READER,
				       .addr = 0x7000,
				       .size_bytes = 8,
				       .ip = CODE,
				       .code_ip = CODE,
				       .lag_ns = lag_ms * MS,
				       .stands_for = stands_for};
}

static void add(uint64_t lag_ms, double stands_for)
{
	struct comm_live_word word = word_of(lag_ms, stands_for);

	comm_unpaid_words_add(&unpaid, &seed, &word);
}

static void touch(uint32_t tid, uint64_t ip, uint16_t flags)
{
	comm_window_pairs_access(
		&pairs,
		&(struct comm_window_access){
			.time_ns = now_ns, .tgid = 1, .tid = tid, .ip = ip, .flags = flags});
}

/* A window on a word with that lag: so many turns of a thread that writes and READER, who reads. */
static void see(uint64_t lag_ms, double stands_for, uint32_t writer, unsigned int turns)
{
	struct comm_live_word word = word_of(lag_ms, stands_for);

	comm_window_pairs_clear(&pairs, CODE);
	for (unsigned int i = 0; i < turns; i++) {
		touch(writer, 0x500000 + i, COMM_ACCESS_WRITE);
		touch(READER, CODE, COMM_ACCESS_READ);
	}
	comm_unpaid_words_seen(&unpaid, &word, &pairs, now_ns);
}

static void on_event(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_int_equal(event->kind, COMM_EV_FED);
	assert_true(heard.n < TOLD);
	heard.event[heard.n++] = *event;
}

/* What is told as written by that thread, 0: by nobody who is known. */
static double told_of(uint32_t tid)
{
	double ret = 0;

	for (size_t i = 0; i < heard.n; i++)
		if ((heard.event[i].fed.write.flags ? heard.event[i].tid : 0) == tid)
			ret += heard.event[i].fed.stands_for;
	return ret;
}

static void tell(void)
{
	now_ns += S;
	heard.n = 0;
	comm_unpaid_words_tell(&unpaid, &numbers, now_ns, on_event, NULL);
}

static void test_one_is_like_a_window_of_its_lag(void **state)
{
	(void)state;
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	see(1000, 50, 3, 1);
	see(1000, 50, 3, 1);
	add(100, 30);
	add(90, 10);
	tell();
	assert_int_equal(heard.n, 2);
	assert_true(told_of(2) == 40);
	assert_int_equal(heard.event[0].fed.window, 101);
	assert_int_equal(heard.event[0].fed.read_tid, READER);
}

static void test_words_that_change_soon_are_apart(void **state)
{
	(void)state;
	see(30, 5, 2, 1);
	see(1, 5, 2, 1);
	see(100, 5, 3, 1);
	see(100, 5, 3, 1);
	add(1, 8);
	tell();
	assert_true(told_of(2) == 8 && told_of(3) == 0);
}

static void test_a_window_is_told_once(void **state)
{
	(void)state;
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	add(100, 30);
	tell();
	assert_true(told_of(2) == 30);
	add(100, 30);
	tell();
	assert_true(told_of(2) == 0 && told_of(0) == 30);
}

static void test_one_window_is_not_enough(void **state)
{
	(void)state;
	see(100, 5, 2, 1);
	add(100, 30);
	tell();
	assert_true(told_of(0) == 30);
}

static void test_a_process_that_is_gone(void **state)
{
	(void)state;
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	comm_unpaid_words_gone(&unpaid, 2);
	add(100, 30);
	tell();
	assert_true(told_of(2) == 30);
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	comm_unpaid_words_gone(&unpaid, 1);
	add(100, 30);
	tell();
	assert_true(told_of(0) == 30);
}

static void test_an_old_window_is_not_told(void **state)
{
	(void)state;
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	now_ns += 59 * S;
	add(100, 30);
	tell();
	assert_true(told_of(2) == 30);
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	now_ns += 60 * S;
	add(100, 30);
	tell();
	assert_true(told_of(0) == 30);
}

/* Nor do windows in which nobody is known to have written make a writer. */
static void test_unknown_stays_unknown(void **state)
{
	(void)state;
	see(100, 5, 2, 0);
	see(100, 5, 2, 0);
	add(100, 30);
	tell();
	assert_true(told_of(0) == 30);
}

static void test_by_what_windows_stand_for(void **state)
{
	(void)state;
	see(100, 1000, 6, 1); /* gives way to the fourth one after it */
	see(100, 1, 2, 1);
	see(100, 3, 3, 1);
	see(100, 4, 4, 0);
	see(100, 2, 3, 1);
	add(100, 40);
	tell();
	assert_int_equal(heard.n, 4);
	assert_true(told_of(2) == 4 && told_of(3) == 20 && told_of(0) == 16 && told_of(6) == 0);
	for (size_t i = 0; i < heard.n; i++)
		assert_int_equal(heard.event[i].fed.window, 101);
}

/* Of a window with more pairs than are kept the first ones stand for all. */
static void test_many_pairs(void **state)
{
	(void)state;
	see(100, 5, 2, COMM_UNPAID_PAIRS + 8);
	see(100, 5, 2, COMM_UNPAID_PAIRS + 8);
	add(100, 30);
	tell();
	assert_int_equal(heard.n, 2 * COMM_UNPAID_PAIRS);
	assert_true(fabs(told_of(2) - 30) < 1e-9);
}

static void test_a_sole_thread_needs_no_window(void **state)
{
	struct comm_live_word word = word_of(100, 30);

	(void)state;
	see(100, 5, 2, 1);
	see(100, 5, 2, 1);
	word.is_sole = true;
	comm_unpaid_words_add(&unpaid, &seed, &word);
	tell();
	assert_true(told_of(READER) == 30);
	teardown(state);
	setup(state);
	for (unsigned int i = 0; i < COMM_UNPAID_DONORS; i++)
		comm_unpaid_words_seen(&unpaid, &word, &pairs, now_ns);
	add(100, 30);
	tell();
	assert_true(told_of(0) == 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_one_is_like_a_window_of_its_lag),
		TEST(test_words_that_change_soon_are_apart),
		TEST(test_a_window_is_told_once),
		TEST(test_one_window_is_not_enough),
		TEST(test_a_process_that_is_gone),
		TEST(test_an_old_window_is_not_told),
		TEST(test_unknown_stays_unknown),
		TEST(test_by_what_windows_stand_for),
		TEST(test_many_pairs),
		TEST(test_a_sole_thread_needs_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
