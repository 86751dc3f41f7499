// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows on words from made records of the ring: what is told of them, and that what is told stands for
 * all that was offered.  tests/e2e/switch_window_live.c has the kernel's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The ring is made here, and so are the programs' links. */
#define ring_buffer__consume made_consume
#define bpf_link__destroy made_destroy
#include "../../daemon/companion/look_programs.c"
#include "../../daemon/companion/switch_window.c"

enum { US = 7, READER = 1, WRITER = 2, MS = 1000000, CPUS = 2, VALUE = 9, FED_MAX = 512 };

static struct comm_raw_look record[2 * SWITCHES];
static size_t n_records;
static struct comm_switch_windows *w;
static struct comm_raw_look_ctl *ctl;
static struct comm_raw_look_cpu cpu[CPUS];
static struct comm_event fed[FED_MAX];
static size_t n_fed;
static uint64_t lost, off_ms, now_ns;
static bool shared;
static char link_of[2];
static int n_detached[2];

int made_consume(struct ring_buffer *ring)
{
	(void)ring;
	for (size_t i = 0; i < n_records; i++)
		on_record(w->programs, &record[i], sizeof(record[i]));
	n_records = 0;
	return 0;
}

int made_destroy(struct bpf_link *link)
{
	for (int i = 0; i < 2; i++)
		n_detached[i] += link == (struct bpf_link *)&link_of[i];
	return 0;
}

static void see(void *ctx, const struct comm_event *e)
{
	(void)ctx;
	if (e->kind == COMM_EV_FED && n_fed < FED_MAX)
		fed[n_fed++] = *e;
	if (e->kind == COMM_EV_LOSS && e->cause == COMM_LOSS_WATCH)
		lost += e->count;
	if (e->kind == COMM_EV_LOSS && e->cause == COMM_LOSS_LOOKS)
		off_ms += e->count;
}

static bool is_any_shared(void *ctx, uint32_t tgid, uint64_t addr)
{
	(void)ctx;
	(void)tgid;
	(void)addr;
	return shared;
}

static int make(void **state)
{
	struct comm_look_programs *p;
	struct comm_target *target;

	(void)state;
	w = calloc(1, sizeof(*w));
	if (!w || comm_target_create(COMM_TARGET_ALL, false, &target))
		return -1;
	w->config = (struct comm_switch_windows_config){
		.target = target, .words = 4, .is_shared = is_any_shared};
	p = w->programs = calloc(1, sizeof(*p));
	*p = (struct comm_look_programs){.cpu = cpu, .n_cpus = CPUS, .fn = on_look, .ctx = w};
	p->bpf = calloc(1, sizeof(*p->bpf));
	p->bpf->bss = calloc(1, sizeof(*p->bpf->bss));
	p->bpf->links.left = (struct bpf_link *)&link_of[0];
	p->bpf->links.ticked = (struct bpf_link *)&link_of[1];
	n_detached[0] = n_detached[1] = 0;
	ctl = &p->bpf->bss->ctl;
	memset(cpu, 0, sizeof(cpu));
	set_up_strata(w);
	n_fed = lost = off_ms = 0;
	now_ns = 1000000000;
	shared = false;
	return comm_look_timeline_create(CPUS, SWITCHES, &w->timeline);
}

static int unmake(void **state)
{
	(void)state;
	comm_target_destroy((struct comm_target *)w->config.target);
	comm_look_timeline_destroy(w->timeline);
	free(w->programs->bpf->bss);
	free(w->programs->bpf);
	free(w->programs);
	free(w);
	return 0;
}

static void offer(uint64_t addr, uint64_t lag_ns, double stands_for)
{
	comm_switch_windows_offer(w, &(struct comm_live_word){.tgid = US,
							      .tid = READER,
							      .addr = addr,
							      .ip = 1,
							      .size_bytes = 4,
							      .has_value = true,
							      .value = VALUE,
							      .lag_ns = lag_ns,
							      .stands_for = stands_for});
}

static void turn(void)
{
	comm_switch_windows_turn(w, now_ns, INFINITY, INFINITY);
}

static void collect(void)
{
	comm_switch_windows_collect(w, now_ns, see, NULL);
}

static uint64_t value_there(void)
{
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++)
		if (w->window[i].generation == w->generation)
			return (uint64_t)VALUE << 8 * (w->window[i].word.addr % 8);
	return 0;
}

/* Of the window that was opened last; until_ns: it was looked at by then.  It has the value that was read. */
static void add_word(uint16_t kind, uint64_t since_ns, uint64_t time_ns)
{
	record[n_records++] = (struct comm_raw_look){.kind = kind,
						     .time_ns = time_ns,
						     .until_ns = time_ns + 1,
						     .since_ns = since_ns,
						     .generation = w->generation,
						     .value = value_there()};
}

static void add_switch(uint64_t time_ns, uint32_t tid, uint32_t next)
{
	record[n_records++] = (struct comm_raw_look){.kind = COMM_RAW_LOOK_SWITCH,
						     .time_ns = time_ns,
						     .until_ns = time_ns + 2,
						     .tgid = tid ? US : 0,
						     .tid = tid,
						     .other_tgid = next ? US : 0,
						     .other_tid = next};
}

/* The writer runs and changes the word, then the reader runs. */
static void add_turn(uint64_t from_ns)
{
	add_word(COMM_RAW_LOOK_BEGUN, 0, from_ns);
	add_switch(from_ns, READER, WRITER);
	add_word(COMM_RAW_LOOK_CHANGED, from_ns, from_ns + MS);
	add_switch(from_ns + MS, WRITER, READER);
	add_switch(from_ns + 2 * MS, READER, 0);
}

static double told(void)
{
	double ret = 0;

	for (size_t i = 0; i < n_fed; i++)
		ret += fed[i].fed.stands_for;
	return ret;
}

static void test_the_reader_is_fed(void **state)
{
	const struct comm_event *e = &fed[0];

	(void)state;
	offer(0x1004, MS, 8);
	turn();
	assert_int_equal(ctl->n_words, 1);
	assert_int_equal(ctl->process[0], US);
	assert_int_equal(ctl->word[0].addr, 0x1000);
	assert_true(ctl->word[0].mask == 0xffffffff00000000u);
	assert_int_equal(comm_switch_windows_turn_ms(w), TURN_MS);
	add_turn(now_ns + 10 * MS);
	now_ns += 45 * MS;
	collect();
	/* It lasts for 40 ms from the first look. */
	assert_int_equal(n_fed, 0);
	now_ns += 6 * MS;
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(e->tgid, US);
	assert_int_equal(e->tid, WRITER);
	assert_int_equal(e->time_ns, now_ns);
	assert_int_equal(e->fed.write.flags, COMM_ACCESS_WRITE);
	assert_int_equal(e->fed.write.addr, 0x1004);
	assert_int_equal(e->fed.write.size_bytes, 4);
	assert_int_equal(e->fed.write.ip, 0);
	assert_int_equal(e->fed.read.ip, 1);
	assert_int_equal(e->fed.read_tid, READER);
	assert_int_equal(e->fed.how, COMM_FED_SWITCHES);
	assert_true(e->fed.read_ns >= e->fed.write_ns && e->fed.stands_for == 8);
	assert_int_equal(ctl->n_words + ctl->n_processes + ctl->word[0].generation, 0);
	assert_int_equal(comm_switch_windows_turn_ms(w), INT_MAX);
}

/* Too few changes to be told by time, and none to the value that was read: there may be more. */
static void test_few_changes_are_waited_for(void **state)
{
	(void)state;
	offer(0x1000, MS, 8);
	turn();
	add_turn(now_ns);
	record[n_records - 3].value = VALUE + 1;
	now_ns += 50 * MS;
	collect();
	assert_int_equal(n_fed, 0);
	for (uint64_t i = 1; i < COMM_LOOK_CHANGES_LEAST; i++) {
		add_switch(now_ns, READER, WRITER);
		add_word(COMM_RAW_LOOK_CHANGED, now_ns, now_ns + MS);
		record[n_records - 1].value = VALUE + 1 + i;
		add_switch(now_ns + MS, WRITER, READER);
		now_ns += 10 * MS;
	}
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(fed[0].tid, WRITER);
	assert_int_equal(w->stats.unknown[COMM_LOOK_KNOWN], 1);
	/* Not for ever. */
	offer(0x1000, MS, 8);
	turn();
	add_turn(now_ns);
	record[n_records - 3].value = VALUE + 1;
	now_ns += 159 * MS;
	collect();
	assert_int_equal(n_fed, 1);
	now_ns += 2 * MS;
	collect();
	assert_int_equal(n_fed, 2);
	assert_int_equal(w->stats.unknown[COMM_LOOK_FEW], 1);
}

/* Nobody ran, or changed it. */
static void test_no_change(void **state)
{
	(void)state;
	offer(0x1000, MS, 8);
	turn();
	now_ns += LONGEST_NS - 1;
	collect();
	assert_int_equal(n_fed, 0);
	now_ns++;
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(fed[0].fed.write.flags, 0);
	assert_int_equal(fed[0].tid, READER);
	assert_true(fed[0].fed.stands_for == 8);
}

/* However many are offered, and however few places are free. */
static void test_what_is_told_stands_for_all(void **state)
{
	double offered = 0;

	(void)state;
	for (uint64_t i = 0; i < 300; i++) {
		for (uint64_t k = 0; k < i % 5; k++) {
			offer(0x1000 + 8 * k, k % 2 ? MS : 50 * MS, (double)(1 + k));
			offered += (double)(1 + k);
		}
		comm_switch_windows_turn(w, now_ns, i % 3 ? INFINITY : 0, INFINITY);
		now_ns += 100 * MS;
		collect();
		if (n_fed > FED_MAX / 2)
			break;
	}
	turn();
	now_ns += LONGEST_NS;
	collect();
	turn();
	now_ns += LONGEST_NS;
	collect();
	assert_true(n_fed > 10 && told() > 0.999 * offered && told() < 1.001 * offered);
}

static void test_strata_have_places_of_their_own(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		offer(0x1000 + 8 * i, 1000ULL * MS, 1);
		turn();
	}
	assert_int_equal(ctl->n_words, 2);
	assert_int_equal(comm_switch_windows_turn_ms(w), SLOW_TURN_MS);
	offer(0x2000, MS, 1);
	turn();
	assert_int_equal(ctl->n_words, 3);
	assert_int_equal(comm_switch_windows_turn_ms(w), TURN_MS);
}

static void test_gone_ends_a_window(void **state)
{
	(void)state;
	offer(0x1000, MS, 8);
	turn();
	add_turn(now_ns);
	add_word(COMM_RAW_LOOK_GONE, 0, now_ns + 3 * MS);
	now_ns += 4 * MS;
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(fed[0].tid, WRITER);
	/* What comes of it later is of nobody. */
	add_word(COMM_RAW_LOOK_CHANGED, now_ns, now_ns + 1);
	collect();
	assert_int_equal(n_fed, 1);
}

static void test_lost_records(void **state)
{
	(void)state;
	offer(0x1000, MS, 8);
	turn();
	add_turn(now_ns);
	cpu[1].drops = 3;
	collect();
	assert_int_equal(n_fed, 0);
	assert_int_equal(lost, 1);
	assert_int_equal(ctl->n_words, 0);
	offer(0x1000, MS, 8);
	turn();
	now_ns += LONGEST_NS;
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(lost, 1);
}

/* A window's looks take a tenth of the time in which it is open; short ones have told so. */
static void learn_that_looks_are_dear(void)
{
	offer(0x1000, MS, 1);
	comm_switch_windows_turn(w, now_ns, MS, MS);
	assert_int_equal(ctl->n_words, 1);
	cpu[0].ns += 10 * MS;
	now_ns += 100 * MS;
	/* Nobody ran. */
	comm_switch_windows_turn(w, now_ns, 0, 0);
	now_ns += LONGEST_NS;
	collect();
	assert_int_equal(n_fed, 1);
	n_fed = 0;
}

static void test_windows_wait_for_what_they_cost(void **state)
{
	const double later_ns = LONGEST_NS / 10;

	(void)state;
	learn_that_looks_are_dear();
	offer(0x2000, 1000 * MS, 2);
	comm_switch_windows_turn(w, now_ns, 0.9 * later_ns, 2 * later_ns);
	assert_int_equal(ctl->n_words, 0);
	/* It is its turn: short ones wait for it, and then are open beside it for nothing. */
	offer(0x1000, MS, 1);
	comm_switch_windows_turn(w, now_ns, 0.9 * later_ns, 2 * later_ns);
	assert_int_equal(ctl->n_words, 0);
	comm_switch_windows_turn(w, now_ns, 1.01 * later_ns, 2 * later_ns);
	assert_int_equal(ctl->n_words, 1);
	comm_switch_windows_turn(w, now_ns, MS, 2 * later_ns);
	assert_int_equal(ctl->n_words, 2);
}

/* Nothing is saved for what could never be paid. */
static void test_too_dear_words_are_told_as_unasked(void **state)
{
	(void)state;
	learn_that_looks_are_dear();
	offer(0x2000, 50 * MS, 2);
	offer(0x1000, MS, 1);
	comm_switch_windows_turn(w, now_ns, 20 * MS, 20 * MS);
	assert_int_equal(ctl->n_words, 1);
	now_ns += LONGEST_NS;
	collect();
	assert_true(n_fed == 1 && told() == 1);
	now_ns += DEAR_NS;
	comm_switch_windows_turn(w, now_ns, 20 * MS, 20 * MS);
	collect();
	assert_true(n_fed == 2 && told() == 3);
	assert_int_equal(fed[1].fed.write.flags, 0);
}

/* What can be paid is not passed over, however long nothing was offered. */
static void test_what_can_be_paid_is_looked_at(void **state)
{
	(void)state;
	comm_switch_windows_turn(w, now_ns, MS, MS);
	now_ns += DEAR_NS;
	offer(0x1000, MS, 1);
	comm_switch_windows_turn(w, now_ns, MS, MS);
	assert_int_equal(ctl->n_words, 1);
	assert_true(w->stats.unasked == 0);
}

/* For good: who asks again, or offers more, changes nothing. */
static void test_stopped(void **state)
{
	(void)state;
	offer(0x1000, MS, 1);
	turn();
	assert_int_equal(n_detached[0] + n_detached[1], 0);
	comm_switch_windows_stop(w, now_ns);
	assert_int_equal(ctl->n_words, 0);
	assert_true(n_detached[0] == 1 && n_detached[1] == 1);
	now_ns += 30 * MS;
	comm_switch_windows_stop(w, now_ns);
	assert_true(n_detached[0] == 1 && n_detached[1] == 1);
	assert_true(!w->programs->bpf->links.left && !w->programs->bpf->links.ticked);
	offer(0x2000, MS, 1);
	turn();
	collect();
	now_ns += 20 * MS;
	collect();
	assert_int_equal(ctl->n_words, 0);
	assert_int_equal(n_fed, 1);
	assert_int_equal(off_ms, 50);
	assert_int_equal(comm_switch_windows_turn_ms(w), INT_MAX);
}

static void test_others_memory(void **state)
{
	(void)state;
	shared = true;
	offer(0x1000, MS, 6);
	offer(0x1000, 50 * MS, 2);
	turn();
	assert_int_equal(ctl->n_words, 0);
	collect();
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(fed[0].fed.write.flags, 0);
	assert_true(told() == 8);
}

/* A window ends early, and is told, with as many changes or switches as are kept. */
static void test_bounds(void **state)
{
	(void)state;
	offer(0x1000, 10000ULL * MS, 8);
	turn();
	add_turn(now_ns);
	for (uint64_t i = 0; i < 2 * COMM_LOOK_CHANGES_MAX; i++)
		add_word(COMM_RAW_LOOK_CHANGED, now_ns + i, now_ns + i + 1);
	collect();
	assert_true(n_fed > 0 && told() == 8);
	n_fed = 0;
	offer(0x1000, 10000ULL * MS, 8);
	turn();
	add_turn(now_ns);
	for (uint64_t i = 0; i < SWITCHES; i++)
		add_switch(now_ns + 3 * MS + 10 * i, i % 2 ? READER : 0, i % 2 ? 0 : READER);
	collect();
	assert_int_equal(n_fed, 1);
	assert_int_equal(fed[0].tid, WRITER);
	assert_int_equal(lost, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
		TEST(test_the_reader_is_fed),
		TEST(test_few_changes_are_waited_for),
		TEST(test_no_change),
		TEST(test_what_is_told_stands_for_all),
		TEST(test_strata_have_places_of_their_own),
		TEST(test_gone_ends_a_window),
		TEST(test_lost_records),
		TEST(test_windows_wait_for_what_they_cost),
		TEST(test_too_dear_words_are_told_as_unasked),
		TEST(test_what_can_be_paid_is_looked_at),
		TEST(test_stopped),
		TEST(test_others_memory),
		TEST(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
