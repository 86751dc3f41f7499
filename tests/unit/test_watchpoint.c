// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many debug registers watchpoints take, on CPUs of which a debugger may hold some; what
 * the reads stand for that are watched; and whose write is said to have come before a read.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_breakpoints.h"

/* Returns how many registers of each CPU are taken for so many wanted, or -errno. */
static int create(uint32_t wanted, char **why)
{
	const struct comm_watchpoint_config config = {.per_s = 20, .slots = wanted};
	struct comm_watchpoints *w = NULL;
	int n, rc = comm_watchpoint_create(&config, &w, why);

	if (rc)
		return rc;
	n = taken[0];
	assert_int_equal(taken[1], n);
	comm_watchpoint_destroy(w);
	assert_int_equal(taken[0] + taken[1], 0);
	return n;
}

static void test_as_many_as_asked_for(void **state)
{
	char *why = NULL;

	(void)state;
	for (int n = 1; n <= 4; n++) {
		reset(NULL);
		assert_int_equal(create(n, &why), n);
		assert_int_equal(most[0], n);
	}
}

static void test_leaves_a_debuggers(void **state)
{
	char *why = NULL;

	(void)state;
	held = 3;
	assert_int_equal(create(3, &why), 1);
	held = 4;
	assert_int_equal(create(1, &why), -ENOSPC);
	assert_non_null(strstr(why, "debug registers are in use"));
	free(why);
}

static void test_doctor_tells(void **state)
{
	char *why = NULL;

	(void)state;
	assert_int_equal(comm_watchpoint_probe(&why), 0);
	assert_non_null(strstr(why, "three debug registers"));
	assert_non_null(strstr(why, "4 of 4 are free"));
	free(why);
	assert_int_equal(taken[1], 0);
	held = 2;
	assert_int_equal(comm_watchpoint_probe(&why), 0);
	assert_non_null(strstr(why, "2 of 4 are free: a debugger"));
	free(why);
	held = 4;
	assert_int_equal(comm_watchpoint_probe(&why), -ENOSPC);
	free(why);
}

/* What never traps would look like data that nobody writes. */
static void test_deaf_registers_are_none(void **state)
{
	char *why = NULL;

	(void)state;
	deaf = true;
	assert_int_equal(create(3, &why), -ENOTSUP);
	assert_non_null(strstr(why, "do not trap"));
	free(why);
	assert_int_equal(taken[0] + taken[1], 0);
	assert_int_equal(comm_watchpoint_probe(&why), -ENOTSUP);
	assert_non_null(strstr(why, "do not trap"));
	free(why);
}

enum { TGID = 7, PERIOD = 1000, TURNS = 40000 };

/* A burst of one read of 8 bytes, at an address, that takes so many cycles. */
static void offer(struct comm_watchpoints *w, uint32_t tid, uint64_t addr, float cycles)
{
	static struct comm_sample sample = {.period = PERIOD};
	static struct comm_burst burst;
	const struct comm_event event = {.tgid = TGID, .tid = tid, .sample = &sample};

	sample.reg[COMM_RSP] = 1ULL << 40;
	burst.cycles = cycles;
	burst.access[0] = (struct comm_burst_access){
		.addr = addr, .ip = 0x1000, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	/* x++ in three instructions, and a write elsewhere. */
	burst.access[1] = (struct comm_burst_access){
		.addr = addr + 8, .ip = 0x1004, .size_bytes = 8, .flags = COMM_ACCESS_WRITE};
	burst.access[2] = (struct comm_burst_access){
		.addr = addr, .ip = 0x1008, .size_bytes = 8, .flags = COMM_ACCESS_WRITE};
	burst.n_accesses = updates ? 3 : 1;
	comm_watchpoint_offer(w, &event, &burst);
}

/* The last watch that was told of, and sums by page of what they stand for. */
static struct {
	struct comm_event last;
	size_t n;
	uint64_t lost;
	double stands_for[4];
} heard;

static void hear(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	if (event->kind == COMM_EV_LOSS && event->cause == COMM_LOSS_WATCH) {
		heard.lost += event->count;
		return;
	}
	assert_int_equal(event->kind, COMM_EV_WATCH);
	heard.last = *event;
	heard.n++;
	heard.stands_for[event->watch.first.addr >> 12 & 3] += event->watch.stands_for;
}

static bool is_shared(void *ctx, uint32_t tgid, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	assert_int_equal(tgid, TGID);
	return !is_private;
}

static struct comm_watchpoints *make(uint32_t slots)
{
	const struct comm_watchpoint_config config = {
		.per_s = 1000000, .slots = slots, .datum_bytes = 8, .is_shared = is_shared};
	struct comm_watchpoints *w = NULL;
	char *why = NULL;

	assert_int_equal(comm_watchpoint_create(&config, &w, &why), 0);
	ring_of_0 = &w->rings.ring[0].ring;
	n_traps = 0;
	memset(&heard, 0, sizeof(heard));
	/* Lets the bucket of tokens fill. */
	comm_watchpoint_arm(w, 1, true);
	comm_watchpoint_arm(w, 1000000000, true);
	return w;
}

/* Ends all watches without an answer. */
static void pass(struct comm_watchpoints *w)
{
	uint64_t now_ns = comm_clock_now_ns();

	/* Who waits for long waits for a read first. */
	comm_watchpoint_collect(w, now_ns + 2ULL * LATER_NS, hear, NULL);
	comm_watchpoint_collect(w, now_ns + 4ULL * LATER_NS, hear, NULL);
}

/*
 * Turns of one to three reads, of unlike size, of two pages, of which one is never written: what
 * the watched ones stand for is, on average, what all of them are.
 */
static void test_watches_stand_for_all(void **state)
{
	struct comm_watchpoints *w = make(2);
	double read[2] = {0};

	(void)state;
	for (uint64_t i = 1; i <= TURNS; i++) {
		for (uint64_t j = 0; j <= i % 3; j++) {
			unsigned int page = (i + j) % 5 == 0;
			float cycles = page ? 2 : 5 + (float)((i + j) % 7);

			/* Page 1 is its reader's own. */
			if (page)
				comm_worth_written(&w->worth, TGID, 1, 0x1000);
			offer(w, 1, page * 0x1000 + (i * 8 & 0xff8), cycles);
			read[page] += 8.0 * PERIOD / cycles;
		}
		comm_watchpoint_arm(w, 1000000000 + i * 10000000, i * 2654435761U % 16 > 3);
		/* Now and then the watches last for a turn more, in which nothing can be begun. */
		if (i % 4)
			pass(w);
	}
	pass(w);
	assert_true(heard.n > TURNS / 2);
	for (int i = 0; i < 2; i++) {
		assert_true(heard.stands_for[i] > 0.9 * read[i]);
		assert_true(heard.stands_for[i] < 1.1 * read[i]);
	}
	comm_watchpoint_destroy(w);
}

/*
 * Turns of one read each, every other one four times as large: a watch stands for about as much as
 * any other, and there are the more of them.
 */
static void test_watches_stand_for_as_much(void **state)
{
	struct comm_watchpoints *w = make(1);
	double sum = 0, squares = 0;

	(void)state;
	for (uint64_t i = 1; i <= TURNS; i++) {
		offer(w, 1, i % 2 * 0x1000 + (i * 8 & 0xff8), i % 2 ? 1 : 4);
		memset(w->worth.read, 0, sizeof(w->worth.read));
		/* Else pages without a write are watched more rarely. */
		memset(w->worth.place, 0, sizeof(w->worth.place));
		comm_watchpoint_arm(w, 1000000000 + i * 10000000, i * 2654435761U % 16 > 3);
		if (w->slot[0].armed) {
			sum += w->slot[0].stands_for;
			squares += w->slot[0].stands_for * w->slot[0].stands_for;
		}
		pass(w);
	}
	assert_in_range(heard.n, TURNS / 3, TURNS * 9 / 10);
	/* 1.36 were there one of each turn. */
	assert_true(squares * (double)heard.n < 1.05 * sum * sum);
	assert_true(sum > 0.95 * TURNS / 2 * 8 * PERIOD * 1.25);
	assert_true(sum < 1.05 * TURNS / 2 * 8 * PERIOD * 1.25);
	comm_watchpoint_destroy(w);
}

/* After many turns in which none may begin one watch does not stand for all of them. */
static void test_start_without_room(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		offer(w, 1, 0x100000 + i * 8, 1);
		comm_watchpoint_arm(w, 2000000000 + i, false);
	}
	do {
		offer(w, 1, 0x2000, 1);
		memset(w->worth.read, 0, sizeof(w->worth.read));
		comm_watchpoint_arm(w, 3000000000, true);
	} while (!w->slot[0].armed);
	assert_true(w->slot[0].stands_for <= UNWATCHED_MOST * 8 * PERIOD);
	comm_watchpoint_destroy(w);
}

/* A watch has so many traps of each CPU and no more, however few the ones before it had; all are counted. */
static void test_traps_are_bounded(void **state)
{
	struct comm_watchpoints *w = make(1);
	struct comm_watchpoint_stats stats;
	uint64_t all = 0;

	(void)state;
	for (unsigned int i = 1; i <= 200; i++) {
		unsigned int times = i % 7 ? i % 3 : 1000;

		offer(w, 1, 0x100000 + (uint64_t)i * 8, 1);
		comm_watchpoint_arm(w, 1000000000 + (uint64_t)i * 10000000, true);
		if (!w->slot[0].armed)
			continue;
		write_datum(times);
		all += CPUS * (times < WRITES ? times : WRITES);
		assert_int_equal(kept[0].traps + kept[1].traps, all);
		pass(w);
	}
	comm_watchpoint_stats(w, &stats);
	assert_in_range(stats.armed, 100, 200);
	assert_int_equal(stats.traps, all);
	comm_watchpoint_destroy(w);
}

/* Debug registers slow down a target also while nothing traps: how long they are set is told. */
static void test_time_with_registers_set(void **state)
{
	struct comm_watchpoints *w = make(1);
	uint64_t now_ns = comm_clock_now_ns();
	struct comm_watchpoint_stats stats;

	(void)state;
	comm_watchpoint_collect(w, now_ns, hear, NULL);
	offer(w, 1, 0x100000, 1);
	comm_watchpoint_arm(w, now_ns, true);
	assert_true(w->slot[0].armed);
	comm_watchpoint_collect(w, now_ns + 5000000, hear, NULL);
	comm_watchpoint_collect(w, now_ns + 4ULL * LATE_NS, hear, NULL);
	comm_watchpoint_collect(w, now_ns + 8ULL * LATE_NS, hear, NULL);
	comm_watchpoint_collect(w, now_ns + 12ULL * LATE_NS, hear, NULL);
	assert_false(w->slot[0].armed);
	comm_watchpoint_stats(w, &stats);
	assert_in_range(stats.set_ns, 4ULL * LATE_NS, 8ULL * LATE_NS);
	comm_watchpoint_destroy(w);
}

/* While reads come, turns do, watches or not; they end when none has come for some. */
static void test_turns(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	assert_int_equal(comm_watchpoint_turn_ms(w), 10);
	for (int i = 0; i < IDLE_TURNS; i++)
		comm_watchpoint_arm(w, 2000000000, true);
	assert_int_equal(comm_watchpoint_turn_ms(w), INT_MAX);
	offer(w, 1, 0x1000, 1);
	comm_watchpoint_arm(w, 2000000001, false);
	assert_false(w->slot[0].armed);
	assert_int_equal(comm_watchpoint_turn_ms(w), 10);
	comm_watchpoint_destroy(w);
}

/* With long turns a watch is looked at sooner than the next one may begin. */
static void test_soon(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	w->turn_ms = 100;
	assert_int_equal(comm_watchpoint_turn_ms(w), 100);
	offer(w, 1, 0x100000, 1);
	comm_watchpoint_arm(w, 2000000000, true);
	assert_true(w->slot[0].armed);
	assert_int_equal(comm_watchpoint_turn_ms(w), SOON_MS);
	comm_watchpoint_destroy(w);
}

/* What one instruction copies counts with all its bytes, any of which may be watched. */
static void test_any_part_of_a_long_read(void **state)
{
	enum { BYTES = 4096 };
	static struct comm_sample sample = {.period = PERIOD, .reg[COMM_RSP] = 1ULL << 40};
	static struct comm_burst burst = {
		.cycles = 1,
		.n_accesses = 1,
		.access[0] = {.addr = 0x10004, .size_bytes = BYTES, .flags = COMM_ACCESS_READ}};
	const struct comm_event event = {.tgid = TGID, .tid = 1, .sample = &sample};
	struct comm_watchpoints *w = make(1);
	unsigned int upper = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		w->offered = 0;
		comm_watchpoint_offer(w, &event, &burst);
		assert_true(w->offered == BYTES * PERIOD);
		assert_int_equal(w->drawn[0].read.size_bytes, 8);
		assert_in_range(w->drawn[0].read.addr, 0x10004, 0x10004 + BYTES - 8);
		upper += w->drawn[0].read.addr >= 0x10004 + BYTES / 2;
	}
	assert_in_range(upper, 400, 600);
	burst.access[0].size_bytes = 4;
	memset(w->worth.read, 0, sizeof(w->worth.read));
	w->offered = 0;
	comm_watchpoint_offer(w, &event, &burst);
	assert_int_equal(w->drawn[0].read.size_bytes, 4);
	assert_int_equal(w->drawn[0].read.addr, 0x10004);
	/* x++ of one half of a vector is none of the other. */
	burst.access[0].size_bytes = 16;
	burst.access[1] = (struct comm_burst_access){
		.addr = 0x1000c, .ip = 0x2000, .size_bytes = 8, .flags = COMM_ACCESS_WRITE};
	burst.n_accesses = 2;
	for (int i = 0; i < 100; i++) {
		w->offered = 0;
		memset(w->worth.read, 0, sizeof(w->worth.read));
		comm_watchpoint_offer(w, &event, &burst);
		assert_int_equal(w->drawn[0].read.writes_ip,
				 w->drawn[0].read.addr == 0x1000c ? 0x2000 : 0);
	}
	comm_watchpoint_destroy(w);
}

/* A loop that waits is not watched; one that writes, or goes through memory, is. */
static void test_loops_that_wait(void **state)
{
	static struct comm_sample sample = {.period = PERIOD, .reg[COMM_RSP] = 1ULL << 40};
	static struct comm_burst burst = {.cycles = 100};
	const struct comm_event event = {.tgid = TGID, .tid = 1, .sample = &sample};
	struct comm_watchpoints *w = make(1);

	(void)state;
	for (uint32_t i = 0; i < 24; i++)
		burst.access[i] = (struct comm_burst_access){.addr = 0x1000 + i % 3 * 8,
							     .ip = 0x400 + i % 3,
							     .size_bytes = 8,
							     .flags = COMM_ACCESS_READ};
	burst.n_accesses = 24;
	comm_watchpoint_offer(w, &event, &burst);
	assert_true(w->offered == 0);
	burst.n_accesses = 23;
	comm_watchpoint_offer(w, &event, &burst);
	assert_true(w->offered > 0);
	w->offered = 0;
	burst.n_accesses = 24;
	burst.access[23].flags = COMM_ACCESS_WRITE;
	comm_watchpoint_offer(w, &event, &burst);
	assert_true(w->offered > 0);
	w->offered = 0;
	for (uint32_t i = 0; i < 24; i++)
		burst.access[i] = (struct comm_burst_access){.addr = 0x1000 + i * 8,
							     .ip = 0x400,
							     .size_bytes = 8,
							     .flags = COMM_ACCESS_READ};
	comm_watchpoint_offer(w, &event, &burst);
	assert_true(w->offered > 0);
	comm_watchpoint_destroy(w);
}

/* The same of one whose bursts are short; not if the datum is counted up there. */
static void test_polled_words(void **state)
{
	struct comm_watchpoints *w = make(1);
	double offered = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		offer(w, 1, i % 8 ? 0x10000 + i * 8 : 0x1000, 1);
		if (i == 800)
			offered = w->offered;
	}
	/* Of the last 200 reads 25 were of the one word. */
	assert_true(fabs((w->offered - offered) / (8 * PERIOD) - (199 - 24)) < 0.01);
	updates = true;
	offered = w->offered;
	offer(w, 1, 0x1000, 1);
	assert_true(w->offered > offered);
	comm_watchpoint_destroy(w);
}

/* Lets the traps come that were set, at a time after the watch began. */
static void at(struct comm_watchpoints *w, uint64_t after_ns)
{
	for (size_t i = 0; i < n_traps; i++) {
		trap[i].record.addr = w->slot[0].addr;
		trap[i].record.time_ns += w->slot[0].armed_ns;
	}
	comm_watchpoint_collect(w, w->slot[0].armed_ns + after_ns, hear, NULL);
	n_traps = 0;
}

enum { MS = 1000 * 1000 };

static void begin_a_watch(struct comm_watchpoints *w, uint64_t now_ns)
{
	do {
		offer(w, 1, 0x2000, 1);
		memset(w->worth.read, 0, sizeof(w->worth.read));
		memset(w->worth.place, 0, sizeof(w->worth.place));
		w->tokens = 1;
		comm_watchpoint_arm(w, now_ns, true);
	} while (!w->slot[0].armed);
}

/* Watches a datum that thread 1 read, by code at 0x1000, and that is written as trap[] says. */
static void watch(struct comm_watchpoints *w, uint64_t now_ns)
{
	size_t n = n_traps;

	n_traps = 0;
	begin_a_watch(w, now_ns);
	n_traps = n;
	at(w, FOLLOW_NS + 1000);
}

static struct trap write_at(uint64_t after_ns, uint32_t tid, uint64_t ip, int cpu)
{
	return (struct trap){cpu, {.ip = ip, .pid = TGID, .tid = tid, .time_ns = after_ns}};
}

/*
 * Thread 2 sets a word at 5000 for 10 ns of every 100, thread 3 clears it at 6000.  Who reads it at
 * any time finds what 3 wrote, nine times of ten, although 2 writes next.
 */
static void test_answer_of_other_code(void **state)
{
	struct comm_watchpoints *w = make(1);
	unsigned int by[4] = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		/* CPU 1's ring is read after that of CPU 0. */
		trap[0] = write_at(110, 2, 5000, 0);
		trap[1] = write_at(10, 2, 5000, 0);
		trap[2] = write_at(20, 3, 6000, 1);
		n_traps = 3;
		watch(w, 2000000000 + i);
		assert_int_equal(heard.n, i + 1);
		assert_int_equal(heard.last.watch.first_tid, 1);
		assert_true(heard.last.watch.second.flags & COMM_ACCESS_WRITE);
		assert_int_equal(heard.last.watch.second.ip, heard.last.tid == 2 ? 4999 : 5999);
		by[heard.last.tid]++;
	}
	assert_in_range(by[3], 850, 950);
	assert_int_equal(by[2] + by[3], 1000);
	comm_watchpoint_destroy(w);
}

/* A buffer that read() fills: written by that thread, in the kernel, wherever that lies. */
static void test_answer_in_the_kernel(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	for (unsigned int i = 0; i < WRITES; i++)
		trap[i] = write_at(10 + i, 2, 0xffffffff81234567, 0);
	n_traps = WRITES;
	watch(w, 2000000000);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.last.tid, 2);
	assert_int_equal(heard.last.watch.second.flags, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	assert_int_equal(heard.last.watch.second.ip, 0);
	comm_watchpoint_destroy(w);
}

/* x++ by threads in turn: each reads what the one before it wrote. */
static void test_answer_of_code_that_writes(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	updates = true;
	for (unsigned int i = 0; i < 100; i++) {
		trap[0] = write_at(10, 2, 5000, 0);
		trap[1] = write_at(15, 1, 0x100b, 1);
		trap[2] = write_at(1000, 2, 5000, 0);
		n_traps = 3;
		watch(w, 2000000000 + i);
		assert_int_equal(heard.last.tid, 2);
		assert_int_equal(heard.last.watch.first_tid, 1);
	}
	trap[0] = write_at(10, 3, 0x100b, 0);
	trap[1] = write_at(15, 4, 0x100b, 1);
	n_traps = 2;
	watch(w, 3000000000);
	assert_int_equal(heard.last.tid, 3);
	assert_int_equal(heard.last.watch.first_tid, 4);
	comm_watchpoint_destroy(w);
}

/*
 * A quarter of the data is written 5 ms after the watch began, a quarter after 50 ms, a quarter
 * after 500 ms, the rest never: whatever a watch waits for, each counts as a quarter.
 */
static void test_patience(void **state)
{
	static const uint64_t WRITTEN_MS[] = {5, 50, 500};
	struct comm_watchpoints *w = make(1);
	double all = 0, told[4] = {0};

	(void)state;
	for (unsigned int i = 0; i < 8000; i++) {
		begin_a_watch(w, 2000000000 + i);
		all += w->slot[0].stands_for;
		for (uint64_t ms = 10; w->slot[0].armed && ms <= 1000; ms += 10) {
			/* It is read all the time. */
			trap[0] = write_at((ms - 1) * MS, 1, 0x1003, 0);
			n_traps = w->slot[0].phase == READ_AGAIN;
			if (i % 4 < 3 && ms > WRITTEN_MS[i % 4] && w->slot[0].phase != READ_AGAIN) {
				trap[0] = write_at(WRITTEN_MS[i % 4] * MS, 2, 5000, 0);
				n_traps = w->slot[0].n_hits == 0;
			}
			at(w, ms * MS);
		}
		assert_int_equal(heard.n, i + 1);
		told[i % 4] += heard.last.watch.stands_for;
	}
	for (int i = 0; i < 4; i++)
		assert_true(told[i] > 0.21 * all && told[i] < 0.29 * all);
	comm_watchpoint_destroy(w);
}

/*
 * Memory that another thread has got meanwhile: its next write says nothing of who wrote what was read.
 * The code that read is not seen to read there again, others are.
 */
static void test_data_of_another_life(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	for (unsigned int i = 0; heard.n == 0 || heard.last.watch.stands_for == 0; i++) {
		assert_true(i < 1000);
		begin_a_watch(w, 2000000000 + i);
		assert_int_equal(trapped, HW_BREAKPOINT_W);
		at(w, 101 * MS);
		if (!w->slot[0].armed)
			continue;
		assert_int_equal(w->slot[0].phase, READ_AGAIN);
		assert_int_equal(trapped, HW_BREAKPOINT_RW);
		/* A trap of before, whose record was late. */
		w->slot[0].phase_ns = w->slot[0].armed_ns + 101 * MS;
		trap[0] = write_at(100 * MS, 1, 0x1003, 0);
		n_traps = 1;
		at(w, 110 * MS);
		trap[0] = write_at(120 * MS, 2, 0x1010, 0);
		trap[1] = write_at(121 * MS, 2, 5000, 0);
		n_traps = 2;
		at(w, 130 * MS);
		assert_int_equal(w->slot[0].phase, READ_AGAIN);
		at(w, 250 * MS);
		assert_false(w->slot[0].armed);
	}
	assert_int_equal(heard.last.watch.second.flags, 0);
	comm_watchpoint_destroy(w);
}

/* Processes that do the same have data of their own at the same addresses; shared data are one. */
static void test_private_data(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	for (int i = 0; i < 2; i++) {
		is_private = i;
		trap[0] = write_at(10, 2, 5000, 1);
		trap[1] = write_at(20, 8, 5000, 0);
		trap[1].record.pid = TGID + 1;
		n_traps = 2;
		watch(w, 2000000000 + i);
		/* Nearly all the time it is as the last one of them left it. */
		assert_int_equal(heard.n, i + 1);
		assert_int_equal(heard.last.tgid, i ? TGID : TGID + 1);
	}
	comm_watchpoint_destroy(w);
}

/* So many of another process's writes, and the watch is given up. */
static void test_private_data_of_many(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	is_private = true;
	begin_a_watch(w, 2000000000);
	for (unsigned int i = 0; i <= FOREIGN_MAX; i++) {
		assert_true(w->slot[0].armed);
		trap[0] = write_at(10 + i, 8, 5000, 0);
		trap[0].record.pid = TGID + 1;
		n_traps = 1;
		at(w, 5 * MS);
	}
	assert_false(w->slot[0].armed);
	assert_int_equal(heard.n, 0);
	assert_int_equal(heard.lost, 1);
	comm_watchpoint_destroy(w);
}

/* Rings are read after the time that is passed on: the write that came in between is not the last one. */
static void test_write_since_then(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	trap[0] = write_at(11 * MS, 2, 5000, 0);
	n_traps = 1;
	begin_a_watch(w, 2000000000);
	n_traps = 1;
	at(w, 10 * MS);
	assert_true(w->slot[0].armed);
	assert_int_equal(heard.n, 0);
	trap[0] = write_at(11 * MS + 10, 3, 6000, 0);
	n_traps = 1;
	at(w, 11 * MS + FOLLOW_NS);
	assert_int_equal(heard.n, 1);
	/* It stays as 3 left it until the end of the watch. */
	assert_int_equal(heard.last.tid, 3);
	comm_watchpoint_destroy(w);
}

static uint64_t set_ns;

static void note_time(void)
{
	set_ns = comm_clock_now_ns();
}

/* A read that traps on the last CPU while the others wait for writes already is none. */
static void test_read_while_set(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	do {
		begin_a_watch(w, 2000000000);
		at(w, 101 * MS);
		if (w->slot[0].armed && w->slot[0].phase == READ_AGAIN)
			break;
		pass(w);
	} while (true);
	w->slot[0].phase_ns = w->slot[0].armed_ns + 101 * MS;
	while_set = note_time;
	trap[0] = write_at(102 * MS, 1, 0x1003, 0);
	n_traps = 1;
	at(w, 110 * MS);
	assert_int_equal(w->slot[0].phase, LATE_WRITE);
	/* The clock of the read is between those of both CPUs. */
	assert_true(set_ns != 0);
	trap[0] = write_at(set_ns - w->slot[0].armed_ns, 1, 0x1003, 1);
	n_traps = 1;
	at(w, 120 * MS);
	assert_int_equal(w->slot[0].n_hits, 0);
	comm_watchpoint_destroy(w);
}

static void test_one_answer_and_none(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	trap[0] = write_at(10, 2, 5000, 0);
	n_traps = 1;
	watch(w, 2000000000);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.last.tid, 2);
	begin_a_watch(w, 2000000001);
	at(w, 5 * MS);
	assert_int_equal(heard.n, 1);
	pass(w);
	assert_int_equal(heard.n, 2);
	assert_int_equal(heard.last.watch.second.flags, 0);
	assert_int_equal(heard.last.tid, 1);
	comm_watchpoint_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_as_many_as_asked_for, reset),
		cmocka_unit_test_setup(test_leaves_a_debuggers, reset),
		cmocka_unit_test_setup(test_doctor_tells, reset),
		cmocka_unit_test_setup(test_deaf_registers_are_none, reset),
		cmocka_unit_test_setup(test_watches_stand_for_all, reset),
		cmocka_unit_test_setup(test_watches_stand_for_as_much, reset),
		cmocka_unit_test_setup(test_start_without_room, reset),
		cmocka_unit_test_setup(test_traps_are_bounded, reset),
		cmocka_unit_test_setup(test_time_with_registers_set, reset),
		cmocka_unit_test_setup(test_turns, reset),
		cmocka_unit_test_setup(test_soon, reset),
		cmocka_unit_test_setup(test_any_part_of_a_long_read, reset),
		cmocka_unit_test_setup(test_loops_that_wait, reset),
		cmocka_unit_test_setup(test_polled_words, reset),
		cmocka_unit_test_setup(test_answer_of_other_code, reset),
		cmocka_unit_test_setup(test_answer_in_the_kernel, reset),
		cmocka_unit_test_setup(test_answer_of_code_that_writes, reset),
		cmocka_unit_test_setup(test_patience, reset),
		cmocka_unit_test_setup(test_data_of_another_life, reset),
		cmocka_unit_test_setup(test_private_data, reset),
		cmocka_unit_test_setup(test_private_data_of_many, reset),
		cmocka_unit_test_setup(test_write_since_then, reset),
		cmocka_unit_test_setup(test_read_while_set, reset),
		cmocka_unit_test_setup(test_one_answer_and_none, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
