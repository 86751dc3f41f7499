// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the survey gives windows by looks up, and how long it has debug registers set: its opening and its turns, with
 * made windows that note what is asked of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define comm_register_windows_create made_registers
#define comm_register_windows_destroy made_registers_destroy
#define comm_register_windows_offer made_registers_offer
#define comm_register_windows_stats made_registers_stats
#define comm_register_windows_turn made_registers_turn
#define comm_switch_windows_create made_switches
#define comm_switch_windows_destroy made_destroy
#define comm_switch_windows_offer made_offer
#define comm_switch_windows_stats made_stats
#define comm_switch_windows_stop made_stop
#define comm_switch_windows_turn made_turn
#include "../../daemon/companion/survey.c"

enum { MS = 1000000, TURN_MS = 50, PER_MILLE = 10 }; /* the budget, of time */

static char self;
static struct comm_switch_windows_stats made;
static bool has_registers;
static uint32_t n_asked_for = 3;
static int n_stops, n_turns, n_offered;
static struct comm_live_word offered;
static bool knows_strings;
static uint64_t set_ns, long_ns;
static uint64_t stopped_ns, now_ns, budget_ns;
static struct survey *survey;

int made_registers(const struct comm_register_windows_config *config,
		   struct comm_register_windows **ret, char **err)
{
	(void)config;
	(void)err;
	if (!has_registers)
		return -ENODEV;
	*ret = (struct comm_register_windows *)&self;
	return 0;
}

void made_registers_destroy(struct comm_register_windows *w)
{
	(void)w;
}

void made_registers_offer(struct comm_register_windows *w, const struct comm_live_word *word)
{
	assert_ptr_equal(w, &self);
	offered = *word;
	n_offered++;
}

void made_registers_stats(const struct comm_register_windows *w,
			  struct comm_register_windows_stats *ret)
{
	(void)w;
	*ret = (struct comm_register_windows_stats){.set_ns = set_ns,
						    .knows_strings = knows_strings,
						    .string_ns = knows_strings ? set_ns / 10 : 0,
						    .long_string_ns = long_ns / 10};
}

/* Registers are set whenever they may be, for long windows if these may. */
void made_registers_turn(struct comm_register_windows *w, uint64_t at_ns,
			 const struct comm_window_means *all,
			 const struct comm_window_means *of_long)
{
	(void)w;
	(void)at_ns;
	assert_true(all->left_ns <= all->most_ns && of_long->left_ns <= of_long->most_ns);
	if (all->left_ns <= 0)
		return;
	set_ns += TURN_MS * MS;
	if (of_long->left_ns > 0)
		long_ns += TURN_MS * MS;
}

int made_switches(const struct comm_switch_windows_config *config, struct comm_switch_windows **ret,
		  char **err)
{
	(void)config;
	(void)err;
	*ret = (struct comm_switch_windows *)&self;
	return 0;
}

void made_destroy(struct comm_switch_windows *w)
{
	assert_true(!w || w == (struct comm_switch_windows *)&self);
}

void made_offer(struct comm_switch_windows *w, const struct comm_live_word *word)
{
	assert_ptr_equal(w, &self);
	offered = *word;
	n_offered++;
}

void made_stats(const struct comm_switch_windows *w, struct comm_switch_windows_stats *ret)
{
	assert_ptr_equal(w, &self);
	*ret = made;
}

void made_stop(struct comm_switch_windows *w, uint64_t at_ns)
{
	assert_ptr_equal(w, &self);
	stopped_ns = stopped_ns ? stopped_ns : at_ns;
	n_stops++;
}

void made_turn(struct comm_switch_windows *w, uint64_t at_ns, double left_ns, double most_ns)
{
	assert_ptr_equal(w, &self);
	assert_true(at_ns == now_ns && left_ns <= most_ns);
	n_turns++;
}

static int open_survey(void **state)
{
	const struct comm_options options = {.overhead = 0.01, .debug_registers = n_asked_for};
	const struct comm_sampler sampler = {0};
	const struct comm_companion_config config = {.options = &options, .sampler = &sampler};
	void *ret = NULL;
	char *err = NULL;

	(void)state;
	made = (struct comm_switch_windows_stats){0};
	n_stops = n_turns = 0;
	stopped_ns = budget_ns = set_ns = long_ns = 0;
	knows_strings = false;
	now_ns = 1000 * (uint64_t)MS;
	if (survey_open(&config, &ret, &err) || err)
		return -1;
	survey = ret;
	return 0;
}

/* Registers that trap, and that nobody wants to be set. */
static void test_no_registers(void **state)
{
	(void)state;
	survey_close(survey);
	has_registers = true;
	n_asked_for = 0;
	open_survey(state);
	n_asked_for = 3;
	has_registers = false;
	assert_null(survey->registers);
	assert_non_null(survey->switches);
}

static int open_with_registers(void **state)
{
	int rc;

	has_registers = true;
	rc = open_survey(state);
	has_registers = false;
	return rc;
}

static int close_survey(void **state)
{
	(void)state;
	survey_close(survey);
	return 0;
}

/* So many seconds in which calls take a part of the budget, in percent, until they are given up. */
static void play(uint64_t seconds, uint64_t percent)
{
	for (uint64_t i = 0; i < seconds * 1000 / TURN_MS && !n_stops; i++) {
		now_ns += TURN_MS * MS;
		budget_ns += TURN_MS * MS / 1000 * PER_MILLE;
		made.call_ns += TURN_MS * MS / 1000 * PER_MILLE * percent / 100;
		survey_turn(survey, now_ns, budget_ns);
	}
}

/* However long that goes on. */
static void test_cheap_calls_go_on(void **state)
{
	(void)state;
	play(3600, 14);
	assert_int_equal(n_stops, 0);
	assert_int_equal(n_turns, 3600 * 1000 / TURN_MS);
}

static void test_dear_calls_end(void **state)
{
	(void)state;
	play(3600, 16);
	assert_true(n_stops > 0);
}

/* What is dear is given up soon, but not before it was so for longer than calls may save for. */
static void test_the_dearest_end_soon(void **state)
{
	uint64_t start_ns = now_ns;

	(void)state;
	play(60, 100);
	assert_int_equal(n_stops, 1);
	assert_true(stopped_ns - start_ns >= CALLS_KEPT_NS);
	assert_true(stopped_ns - start_ns < CALLS_KEPT_NS + 1000 * (uint64_t)MS);
}

/* A short time of many switches is paid from what was saved, and from what will be. */
static void test_a_burst_of_calls(void **state)
{
	(void)state;
	play(60, 5);
	play(6, 60);
	play(3600, 5);
	assert_int_equal(n_stops, 0);
}

/* Looks are of another share. */
static void test_looks_are_no_calls(void **state)
{
	(void)state;
	for (int i = 0; i < 600; i++) {
		made.look_ns += 1000 * (uint64_t)MS;
		play(1, 5);
	}
	assert_int_equal(n_stops, 0);
}

/* Of so many seconds, in permille. */
static uint64_t set_per_mille(uint64_t seconds)
{
	uint64_t before_ns = set_ns;

	play(seconds, 0);
	return (set_ns - before_ns) / MS / seconds;
}

/* As long as the budget is worth, from its change on. */
static void test_registers_follow_the_budget(void **state)
{
	(void)state;
	play(10, 0);
	assert_in_range(set_per_mille(100), 195, 205);
	survey_allow(survey, now_ns, 0.03);
	assert_in_range(set_per_mille(100), 595, 605);
	survey_allow(survey, now_ns, 0.001);
	assert_in_range(set_per_mille(100), 18, 30);
}

/* Where it is known what set registers cost, that is charged, and is what bounds it. */
static void test_registers_are_paid(void **state)
{
	uint64_t before_ns, all_ns, of_long_ns, paid_ns;

	(void)state;
	knows_strings = true;
	play(60, 0);
	before_ns = budget_ns;
	all_ns = set_ns / 10;
	of_long_ns = long_ns / 10;
	play(600, 0);
	paid_ns = budget_ns - before_ns;
	assert_in_range(100 * (set_ns / 10 - all_ns) / paid_ns, 29, 30);
	assert_in_range(100 * (long_ns / 10 - of_long_ns) / paid_ns, 14, 15);
	assert_int_equal(survey_cost_ns(survey), set_ns / 10);
}

static void *one_more(void *ctx)
{
	pthread_barrier_wait(ctx);
	return NULL;
}

static bool is_odd(void *ctx, uint32_t tgid, uint64_t addr)
{
	(void)ctx;
	(void)tgid;
	return addr % 16;
}

static void hear(void *ctx, const struct comm_event *event)
{
	if (event->kind != COMM_EV_FED)
		return;
	assert_int_equal(event->fed.how, COMM_FED_SOLE);
	assert_true(event->tid == 7 && event->fed.write.flags == COMM_ACCESS_WRITE);
	*(double *)ctx += event->fed.stands_for;
}

/* Such a word is told at once, and gets no window by looks. */
static bool offers_sole(uint64_t addr, uint64_t lag_ms)
{
	const struct comm_live_word word = {.tgid = (uint32_t)getpid(),
					    .tid = 7,
					    .addr = addr,
					    .lag_ns = lag_ms * MS,
					    .stands_for = 3};
	double told = 0;

	n_offered = 0;
	offer_live(survey, &word);
	tell_sole(survey, now_ns, hear, &told);
	assert_true(told == (n_offered ? 0 : 3));
	return !n_offered;
}

/* Nobody else can write private memory of a process that has no other thread. */
static void test_sole_threads(void **state)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	(void)state;
	assert_false(offers_sole(16, 5));
	survey->is_shared = is_odd;
	assert_true(offers_sole(16, 5));
	assert_false(offers_sole(24, 5));
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, one_more, &barrier), 0);
	assert_false(offers_sole(16, 5));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	/* It ends a little later than it is waited for. */
	while (!offers_sole(16, 5))
		sched_yield();
	/* Of the others nothing is told any more, and these alone would say that nothing crosses. */
	survey->is_stopped = true;
	assert_false(offers_sole(16, 5));
	survey->is_stopped = false;
	pthread_barrier_destroy(&barrier);
}

/* Debug registers tell code as well; of several processes they would trap in all. */
static void test_sole_threads_with_registers(void **state)
{
	static const struct comm_sample sample;
	const struct comm_event one = {.tgid = 10, .sample = &sample};
	const struct comm_event other = {.tgid = 11, .sample = &sample};
	static struct comm_burst burst;

	(void)state;
	survey->is_shared = is_odd;
	survey_burst(survey, &one, &burst);
	survey_burst(survey, &one, &burst);
	assert_false(offers_sole(16, 5));
	assert_true(offered.is_sole);
	survey_burst(survey, &other, &burst);
	assert_true(offers_sole(16, 5));
	assert_false(offers_sole(24, 5));
	assert_false(offered.is_sole);
}

/* No windows at all. */
static void test_sole_threads_without_windows(void **state)
{
	const struct comm_live_word word = {
		.tgid = (uint32_t)getpid(), .addr = 16, .lag_ns = 5 * MS, .stands_for = 3};
	double told = 0;

	(void)state;
	survey->is_shared = is_odd;
	survey->has_several = true;
	survey->switches = NULL;
	offer_live(survey, &word);
	tell_sole(survey, now_ns, hear, &told);
	assert_true(told == 0);
}

/* The look after 1 s is the last one whose words may have windows, however late it was. */
static void test_words_that_change_late(void **state)
{
	static const uint64_t lag_ms[] = {1, 1001, 1900, 2100, 3000, 10000};

	(void)state;
	for (size_t i = 0; i < sizeof(lag_ms) / sizeof(*lag_ms); i++) {
		n_offered = 0;
		offer_live(survey, &(struct comm_live_word){.lag_ns = lag_ms[i] * MS});
		assert_int_equal(n_offered, i < 3);
	}
}

static void test_no_budget(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		now_ns += TURN_MS * MS;
		made.call_ns += TURN_MS * MS;
		survey_turn(survey, now_ns, UINT64_MAX);
	}
	assert_int_equal(n_stops, 0);
	assert_int_equal(n_turns, 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_survey, close_survey)
	const struct CMUnitTest tests[] = {
		TEST(test_cheap_calls_go_on),
		TEST(test_dear_calls_end),
		TEST(test_the_dearest_end_soon),
		TEST(test_a_burst_of_calls),
		TEST(test_looks_are_no_calls),
		TEST(test_no_budget),
		TEST(test_sole_threads),
		TEST(test_sole_threads_without_windows),
		TEST(test_words_that_change_late),
		cmocka_unit_test_setup_teardown(test_no_registers, open_survey, close_survey),
		cmocka_unit_test_setup_teardown(test_registers_follow_the_budget,
						open_with_registers, close_survey),
		cmocka_unit_test_setup_teardown(test_registers_are_paid, open_with_registers,
						close_survey),
		cmocka_unit_test_setup_teardown(test_sole_threads_with_registers,
						open_with_registers, close_survey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
