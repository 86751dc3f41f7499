// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows by debug registers, on made ones: which words get them, for how long, and what is told of
 * programs whose flows are known.
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

enum { OTHER = 999, STRANGER = 1000001 };
enum { R = COMM_ACCESS_READ, W = COMM_ACCESS_WRITE };
/* Threads, which run on the CPU of their number's last bit. */
enum { PARSER = 10, MATCHER = OFFERED_TO, JOURNAL = 12, READER = 13 };

static bool is_private;

static struct {
	struct comm_event event[256];
	size_t n;
	uint64_t lost, cpus;
} heard;

static void on_event(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	if (event->kind == COMM_EV_LOSS) {
		assert_true(event->cause == COMM_LOSS_WATCH || event->cause == COMM_LOSS_CPUS);
		*(event->cause == COMM_LOSS_CPUS ? &heard.cpus : &heard.lost) += event->count;
		return;
	}
	assert_int_equal(event->kind, COMM_EV_FED);
	assert_true(heard.n < 256);
	heard.event[heard.n++] = *event;
}

static bool may_be_shared(void *ctx, uint32_t tgid, uint64_t addr)
{
	(void)ctx;
	(void)tgid;
	(void)addr;
	return !is_private;
}

static void make(uint32_t slots)
{
	const struct comm_register_windows_config config = {
		.slots = slots, .is_shared = may_be_shared, .read_code = code_made};
	char *why = NULL;

	assert_int_equal(comm_register_windows_create(&config, &w, &why), 0);
	memset(&heard, 0, sizeof(heard));
	now_ns = 1000 * MS;
	is_private = true;
	drawn_ip = READS;
	all = of_long = unbound;
}

static void reads(uint32_t tid)
{
	touch_as((uint32_t)getpid(), tid, tid % 2, READS + tid % 16 * CODE_APART, WORD, R);
}

static void writes(uint32_t tid)
{
	touch_as((uint32_t)getpid(), tid, tid % 2, WRITES + tid % 16 * CODE_APART, WORD, W);
}

/* By code that is none of the drawn read's. */
static void reads_otherwise(uint32_t tid)
{
	touch_as((uint32_t)getpid(), tid, tid % 2, READS + 1024, WORD, R);
}

static void count(uint32_t tid)
{
	touch_as((uint32_t)getpid(), tid, tid % 2, COUNTS, WORD, R | W);
}

static double told(uint32_t writer, uint32_t reader)
{
	double sum = 0;

	for (size_t i = 0; i < heard.n; i++)
		if (heard.event[i].tid == writer && heard.event[i].fed.read_tid == reader &&
		    heard.event[i].fed.write.flags & W)
			sum += heard.event[i].fed.stands_for;
	return sum;
}

static bool about(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static void test_pairs_of_a_window(void **state)
{
	struct comm_register_windows_stats stats;

	(void)state;
	make(1);
	begin_one(20);
	assert_int_equal(comm_register_windows_turn_ms(w), 5);
	for (int i = 0; i < 3; i++) {
		writes(PARSER);
		reads(MATCHER);
	}
	writes(MATCHER);
	reads(MATCHER);
	pass(19);
	assert_int_equal(heard.n, 0);
	pass(1);
	assert_int_equal(heard.n, 2);
	assert_true(about(told(PARSER, MATCHER), 750));
	assert_true(about(told(MATCHER, MATCHER), 250));
	assert_int_equal(heard.event[0].fed.read.ip, READS + MATCHER * CODE_APART - 3);
	assert_int_equal(heard.event[0].fed.write.ip, WRITES + PARSER * CODE_APART - 3);
	assert_int_equal(heard.event[0].fed.how, COMM_FED_REGISTERS);
	assert_int_equal(comm_register_windows_turn_ms(w), INT_MAX);
	comm_register_windows_stats(w, &stats);
	assert_int_equal(stats.begun, 1);
	assert_int_equal(stats.with_write, 1);
	assert_int_equal(stats.with_read, 1);
	assert_int_equal(stats.traps, 8);
	assert_int_equal(stats.set_ns, 20 * MS);
	assert_int_equal(stats.unknown, 0);
	assert_int_equal(heard.lost, 0);
}

/* journal frees what parser gets next: it is who wrote before no read but malloc's. */
static void test_recycled_block(void **state)
{
	(void)state;
	make(1);
	begin_one(20);
	for (int i = 0; i < 3; i++) {
		writes(JOURNAL);
		writes(PARSER);
		reads(PARSER);
		reads(MATCHER);
	}
	pass(20);
	assert_true(told(JOURNAL, PARSER) == 0);
	assert_true(about(told(PARSER, PARSER), 500));
	assert_true(about(told(PARSER, MATCHER), 500));
}

static void test_counter(void **state)
{
	(void)state;
	make(1);
	drawn_ip = COUNTS;
	begin_one(20);
	for (int i = 0; i < 9; i++)
		count(i % 2 ? PARSER : MATCHER);
	pass(20);
	assert_true(about(told(PARSER, MATCHER), 500));
	assert_true(about(told(MATCHER, PARSER), 500));
	assert_true(heard.event[0].fed.read.flags & COMM_ACCESS_ATOMIC);
}

/*
 * A loop writes each of 8 bytes, and one read follows.  The writer's CPU is silent first: what its
 * reader's CPU sees behind that has another last writer than it seems.
 */
static void test_limit_favours_nobody(void **state)
{
	(void)state;
	make(1);
	begin_one(20);
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < 8; i++)
			writes(turn == 7 ? JOURNAL : PARSER);
		reads(MATCHER);
		reads(turn % 2 ? READER : MATCHER);
	}
	assert_int_equal(n_traps_made, COMM_BREAKPOINT_TRAPS + 16);
	pass(1);
	/* Two turns of writes are all that CPU 0 may have; the second one's reads come behind. */
	assert_true(about(told(PARSER, MATCHER), 1000));
	assert_int_equal(heard.n, 1);
	assert_true(told(PARSER, READER) == 0);
}

/* So many reads between two writes that no window's traps reach one: it waits for the write, then for reads. */
static void test_word_that_is_read_often(void **state)
{
	(void)state;
	make(1);
	begin_one(40);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	pass(10);
	assert_int_equal(heard.n, 0);
	assert_false(kept[0].reads);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	writes(JOURNAL);
	writes(PARSER);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	pass(10);
	assert_true(kept[0].enabled && kept[0].reads);
	for (int i = 0; i < 100; i++) {
		reads(MATCHER);
		reads(READER);
	}
	pass(10);
	/* Both run on CPU 1. */
	assert_true(about(told(PARSER, MATCHER), 500));
	assert_true(about(told(PARSER, READER), 500));
	assert_true(told(JOURNAL, MATCHER) == 0);
	assert_true(n_traps_made <= 2 * COMM_BREAKPOINT_TRAPS + 2);
}

/*
 * Other code reads so often that the drawn read comes among no window's first traps: it has as many again, twice.  What
 * was written while no register trapped is nobody's.
 */
static void test_word_that_others_read(void **state)
{
	struct comm_register_windows_stats stats;
	const unsigned int each = 2 * COMM_BREAKPOINT_TRAPS;

	for (unsigned int i = 0; i < 6; i++) {
		/* Traps that another process had a part of are no try. */
		unsigned int strangers = i / 3, turns = 2 + strangers + i % 3, most = 3 + strangers;

		make(1);
		begin_one(400);
		if (strangers)
			touch_as(OTHER, OTHER, 0, WRITES, WORD, W);
		for (unsigned int turn = 0; turn < turns; turn++) {
			for (int j = 0; j < COMM_BREAKPOINT_TRAPS; j++) {
				writes(PARSER);
				reads_otherwise(MATCHER);
			}
			writes(JOURNAL);
			pass(1);
		}
		reads(MATCHER);
		writes(READER);
		reads(MATCHER);
		pass(400);
		comm_register_windows_stats(w, &stats);
		assert_int_equal(stats.with_read, turns < most);
		assert_true(about(told(READER, MATCHER), turns < most ? 1000 : 0));
		assert_true(told(JOURNAL, MATCHER) == 0);
		assert_int_equal(heard.n, 1);
		assert_int_equal(n_traps_made, turns < most ? turns * each + 3 : most * each);
		teardown(state);
	}
}

/* While writes alone trap, an instruction that reads as well is no read more than others. */
static void test_counter_that_is_read_often(void **state)
{
	(void)state;
	make(1);
	begin_one(40);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	pass(10);
	for (int i = 0; i < 4; i++)
		count(PARSER);
	pass(10);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	pass(10);
	assert_true(about(told(PARSER, MATCHER), 1000));
	assert_int_equal(heard.n, 1);
}

/* On CPU 1, and then 0: on the one the registers are set later, and silenced, too. */
static void write_meanwhile(void)
{
	writes(JOURNAL);
}

static void read_meanwhile(void)
{
	writes(JOURNAL);
	reads(MATCHER);
	writes(READER);
	reads(JOURNAL);
}

/* While only some CPUs trap nobody knows who wrote last: only that somebody wrote. */
static void test_cpus_one_after_the_other(void **state)
{
	(void)state;
	make(1);
	while_aimed = while_silenced = read_meanwhile;
	begin_one(20);
	reads(MATCHER);
	pass(20);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.event[0].fed.read_ns, 0);
	assert_int_equal(heard.event[0].fed.write.flags, 0);
	begin_one(20);
	writes(PARSER);
	reads(MATCHER);
	pass(20);
	assert_int_equal(heard.n, 2);
	assert_int_equal(heard.event[1].tid, PARSER);
	assert_true(heard.event[1].fed.read_ns > heard.event[1].fed.write_ns);
}

static void use_up(void)
{
	for (int i = 0; i < 100; i++)
		reads(PARSER);
}

/* A CPU that has had its traps before the last one is set: there is no window in which nobody wrote. */
static void test_cpu_that_is_silent_at_once(void **state)
{
	(void)state;
	make(1);
	while_aimed = use_up;
	begin_one(40);
	pass(40);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
}

/* What is written while registers are set for reads again is told from reads by its code. */
static void test_write_while_set(void **state)
{
	(void)state;
	make(1);
	begin_one(40);
	for (int i = 0; i < 100; i++)
		reads(MATCHER);
	pass(10);
	writes(PARSER);
	while_aimed = write_meanwhile;
	pass(10);
	while_aimed = NULL;
	reads(MATCHER);
	pass(20);
	assert_true(about(told(JOURNAL, MATCHER), 1000));
}

/* Writes that are too many for a window are nobody's to be read. */
static void test_words_that_are_written_often(void **state)
{
	(void)state;
	make(1);
	for (int two = 0; two < 2; two++) {
		begin_one(40);
		for (int i = 0; i < 100; i++)
			writes(i < 8 && two ? JOURNAL : PARSER);
		reads(READER);
		pass(10);
		assert_true(about(told(PARSER, MATCHER), 1000));
		assert_int_equal(heard.n, 1 + two);
		assert_int_equal(heard.event[two].fed.read_ns, 0);
		assert_int_equal(heard.event[two].fed.write.flags, two ? 0 : COMM_ACCESS_WRITE);
	}
}

static void test_nobody_writes(void **state)
{
	(void)state;
	make(1);
	begin_one(40);
	reads(MATCHER);
	pass(40);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.event[0].fed.write.flags, 0);
	assert_true(about(heard.event[0].fed.stands_for, 1000));
}

/* What code does that cannot be read is not known, and neither is who wrote last behind it. */
static void test_unknown_code(void **state)
{
	struct comm_register_windows_stats stats;

	(void)state;
	make(1);
	begin_one(20);
	writes(PARSER);
	reads(MATCHER);
	touch_as((uint32_t)getpid(), JOURNAL, 0, NO_CODE, WORD, R);
	reads(READER);
	pass(20);
	assert_true(about(told(PARSER, MATCHER), 1000));
	assert_int_equal(heard.n, 1);
	comm_register_windows_stats(w, &stats);
	assert_int_equal(stats.unknown, 1);
}

/* The kernel's reads may be the sampler's; its writes are their thread's, and it has no place. */
static void test_kernel(void **state)
{
	(void)state;
	make(1);
	begin_one(20);
	writes(PARSER);
	touch_as((uint32_t)getpid(), READER, 1, IN_KERNEL, WORD, R);
	reads(MATCHER);
	touch_as((uint32_t)getpid(), JOURNAL, 0, IN_KERNEL, WORD, W);
	reads(MATCHER);
	pass(20);
	assert_int_equal(heard.n, 2);
	assert_true(about(told(PARSER, MATCHER), 500));
	assert_true(about(told(JOURNAL, MATCHER), 500));
	assert_int_equal(heard.event[1].fed.write.ip, 0);
	assert_int_equal(heard.event[1].fed.write.flags, W | COMM_ACCESS_KERNEL);
}

static void test_private_data_of_others(void **state)
{
	struct comm_register_windows_stats stats;

	(void)state;
	make(1);
	begin_one(40);
	writes(PARSER);
	/* So many that the CPU is silent: what comes behind is seen after a look. */
	for (int i = 0; i < COMM_BREAKPOINT_TRAPS; i++)
		touch_as(OTHER, OTHER, 0, WRITES, WORD, W);
	reads(MATCHER);
	pass(10);
	assert_int_equal(heard.n, 0);
	writes(PARSER);
	reads(MATCHER);
	pass(30);
	assert_int_equal(heard.n, 1);
	assert_true(about(told(PARSER, MATCHER), 1000));
	comm_register_windows_stats(w, &stats);
	assert_int_equal(stats.foreign, COMM_BREAKPOINT_TRAPS - 1);
}

/* What was seen before they came is an answer. */
static void test_answer_before_others(void **state)
{
	(void)state;
	make(1);
	begin_one(400);
	writes(PARSER);
	reads(MATCHER);
	for (int i = 0; i < COMM_BREAKPOINT_TRAPS; i++)
		touch_as(OTHER, OTHER, 0, WRITES, WORD, W);
	pass(1);
	assert_int_equal(heard.n, 1);
	assert_true(about(told(PARSER, MATCHER), 1000));
}

/* So many of them, and the window is given up. */
static void test_private_data_of_many_others(void **state)
{
	(void)state;
	make(1);
	begin_one(4000);
	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < COMM_BREAKPOINT_TRAPS; i++)
			touch_as(OTHER, OTHER, 0, WRITES, WORD, W);
		pass(1);
	}
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
	assert_true(n_traps_made <= FOREIGN_MAX + COMM_BREAKPOINT_TRAPS);
}

/* Members write shared memory like threads; what strangers write there is nobody's. */
static void test_shared_memory(void **state)
{
	(void)state;
	make(1);
	is_private = false;
	begin_one(20);
	touch_as(OTHER, OTHER, 0, WRITES, WORD, W);
	reads(MATCHER);
	touch_as(STRANGER, STRANGER, 0, READS, WORD, R);
	reads(MATCHER);
	touch_as(STRANGER, STRANGER, 0, WRITES, WORD, W);
	reads(READER);
	pass(20);
	assert_int_equal(heard.n, 1);
	assert_true(about(told(OTHER, MATCHER), 1000));
	assert_int_equal(heard.event[0].tgid, OTHER);
}

/* A word's neighbours are not the word, though a register cannot be aimed at the word alone. */
static void test_part_of_a_word(void **state)
{
	const struct comm_live_word word = {.tgid = (uint32_t)getpid(),
					    .tid = MATCHER,
					    .addr = WORD + 2,
					    .ip = READS,
					    .code_ip = READS,
					    .size_bytes = 4,
					    .lag_ns = 5 * MS,
					    .stands_for = 1000};

	(void)state;
	make(1);
	comm_register_windows_offer(w, &word);
	pass(0);
	assert_int_equal(kept[0].addr, WORD);
	assert_int_equal(kept[0].bytes, 8);
	writes(PARSER);
	touch_as((uint32_t)getpid(), JOURNAL, 0, WRITES, WORD - 7, W);
	touch_as((uint32_t)getpid(), JOURNAL, 0, WRITES, WORD + 6, W);
	reads(MATCHER);
	pass(20);
	assert_true(about(told(PARSER, MATCHER), 1000));
	assert_int_equal(heard.event[0].fed.read.addr, WORD + 2);
	assert_int_equal(heard.event[0].fed.read.size_bytes, 4);
}

/* Records that were lost may have been writes. */
static void test_lost_records(void **state)
{
	(void)state;
	make(1);
	begin_one(20);
	writes(PARSER);
	reads(MATCHER);
	records_lost = 3;
	pass(20);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
	/* The next window is as good as any. */
	begin_one(20);
	writes(PARSER);
	reads(MATCHER);
	pass(20);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.lost, 1);
}

/* A CPU that is back and has none is told. */
static void test_cpus_without(void **state)
{
	(void)state;
	make(1);
	n_unopened = 3;
	pass(20);
	pass(20);
	n_unopened = 0;
	assert_int_equal(heard.cpus, 3);
}

/* Registers that cannot be set are no window in which nobody writes. */
static void test_registers_that_cannot_be_set(void **state)
{
	(void)state;
	make(1);
	refuses = true;
	begin_one(20);
	refuses = false;
	pass(0);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
}

/* The target ends, or runs another program. */
static void test_gone(void **state)
{
	struct comm_live_word word = {.tgid = 0x7ffffffe, /* no process has it */
				      .tid = MATCHER,
				      .addr = WORD,
				      .size_bytes = 8,
				      .lag_ns = 5 * MS,
				      .stands_for = 1000};

	(void)state;
	make(1);
	begin_one(20);
	writes(PARSER);
	reads(MATCHER);
	comm_register_windows_gone(w, OTHER);
	assert_true(kept[0].enabled);
	comm_register_windows_gone(w, (uint32_t)getpid());
	assert_false(kept[0].enabled);
	pass(0);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
	/* It ended, and nobody has told of that. */
	comm_register_windows_offer(w, &word);
	pass(0);
	pass(40);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 2);
}

/* A window lasts as long as its word needs, within bounds; not more begin than may. */
static void test_lengths(void **state)
{
	static const struct {
		uint64_t lag_ms, length_ms;
	} of[] = {{1, 40}, {5, 40}, {11, 44}, {100, 400}, {300, 1200}, {10000, 1500}};

	(void)state;
	make(1);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		size_t n = heard.n;

		offer(WORD, of[i].lag_ms * MS, 1);
		all.left_ns = 0;
		comm_register_windows_turn(w, now_ns, &all, &of_long);
		assert_int_equal(comm_register_windows_turn_ms(w), INT_MAX);
		all = unbound;
		pass(0);
		pass(of[i].length_ms - 1);
		assert_int_equal(heard.n, n);
		pass(1);
		assert_int_equal(heard.n, n + 1);
	}
}

/* A short one in which nobody writes waits for a write a little longer; one with a write is over. */
static void test_short_windows_without_a_write(void **state)
{
	(void)state;
	make(1);
	begin_one(10);
	writes(PARSER);
	writes(JOURNAL);
	pass(10);
	assert_int_equal(heard.n, 1);
	begin_one(10);
	reads(MATCHER);
	pass(10);
	assert_true(kept[0].enabled && !kept[0].reads);
	pass(10);
	writes(PARSER);
	pass(1);
	assert_true(kept[0].reads);
	reads(MATCHER);
	pass(18);
	assert_int_equal(heard.n, 1);
	pass(1);
	assert_int_equal(heard.n, 2);
	assert_true(about(told(PARSER, MATCHER), 1000));
}

/* Long windows never take all slots; of each stratum the windows share what was offered. */
static void test_strata(void **state)
{
	enum { SOON, LATER, STRATA };
	double sum[STRATA] = {0}, offered[STRATA] = {0};

	(void)state;
	for (uint32_t slots = 1; slots <= 4; slots++) {
		make(slots);
		memset(sum, 0, sizeof(sum));
		memset(offered, 0, sizeof(offered));
		for (uint64_t i = 0; i < 3000; i++) {
			unsigned int later = 0;

			offer(0x10000 + i * 8, 5 * MS, 1);
			offer(0x90000 + i * 8, 200 * MS, 3);
			offered[SOON] += 1;
			offered[LATER] += 3;
			pass(5);
			for (unsigned int j = 0; j < slots; j++)
				later += is_set(&w->window[j]) && is_late(&w->window[j].word);
			assert_true(later <= (slots > 1 ? slots - 1 : 1));
			for (size_t j = 0; j < heard.n; j++)
				sum[heard.event[j].fed.read.addr >= 0x90000] +=
					heard.event[j].fed.stands_for;
			heard.n = 0;
		}
		/* But for what is still open, or waits for a slot. */
		for (int i = 0; i < STRATA; i++)
			assert_true(sum[i] > 0.8 * offered[i] && sum[i] <= offered[i]);
		comm_register_windows_destroy(w);
		w = NULL;
	}
}

/* Words that wait for a window when the run ends are told of, and so is what open windows have seen. */
static void test_end_of_a_run(void **state)
{
	double nobodys = 0;

	(void)state;
	make(2);
	begin_one(400);
	writes(PARSER);
	reads(MATCHER);
	all.left_ns = 0;
	for (uint64_t i = 0; i < 10; i++) {
		offer(WORD + 64 + 8 * i, 5 * MS, 10);
		offer(WORD + 640 + 8 * i, 300 * MS, 20);
	}
	pass(10);
	assert_int_equal(heard.n, 0);
	comm_register_windows_end(w);
	pass(0);
	for (size_t i = 0; i < heard.n; i++)
		nobodys += heard.event[i].fed.write.flags ? 0 : heard.event[i].fed.stands_for;
	assert_true(about(told(PARSER, MATCHER), 1000));
	assert_true(about(nobodys, 300));
	assert_false(kept[0].enabled || kept[1].enabled);
}

/* Nor where no others are there. */
static void test_slots_of_long_windows(void **state)
{
	unsigned int n = 0;

	(void)state;
	make(4);
	for (uint64_t i = 0; i < 100; i++) {
		offer(0x90000 + i * 8, 1000 * MS, 1);
		pass(0);
	}
	for (unsigned int i = 0; i < 4; i++)
		n += is_set(&w->window[i]);
	assert_int_equal(n, 3);
}

/* A word that is drawn again while its window is open gets no second one. */
static void test_word_drawn_twice(void **state)
{
	(void)state;
	make(4);
	begin_one(20);
	offer(WORD, 5 * MS, 500);
	pass(0);
	assert_int_equal(aims, 1);
	writes(PARSER);
	reads(MATCHER);
	pass(20);
	assert_int_equal(heard.n, 1);
	assert_true(about(told(PARSER, MATCHER), 1500));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_pairs_of_a_window),
		TEST(test_recycled_block),
		TEST(test_counter),
		TEST(test_limit_favours_nobody),
		TEST(test_word_that_is_read_often),
		TEST(test_word_that_others_read),
		TEST(test_counter_that_is_read_often),
		TEST(test_cpus_one_after_the_other),
		TEST(test_cpu_that_is_silent_at_once),
		TEST(test_write_while_set),
		TEST(test_words_that_are_written_often),
		TEST(test_nobody_writes),
		TEST(test_unknown_code),
		TEST(test_kernel),
		TEST(test_private_data_of_others),
		TEST(test_answer_before_others),
		TEST(test_private_data_of_many_others),
		TEST(test_shared_memory),
		TEST(test_part_of_a_word),
		TEST(test_lost_records),
		TEST(test_cpus_without),
		TEST(test_registers_that_cannot_be_set),
		TEST(test_gone),
		TEST(test_lengths),
		TEST(test_short_windows_without_a_write),
		TEST(test_strata),
		TEST(test_end_of_a_run),
		TEST(test_slots_of_long_windows),
		TEST(test_word_drawn_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
