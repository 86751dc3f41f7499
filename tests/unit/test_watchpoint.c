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

static int fake_ioctl(int fd, unsigned long request, ...);
static int fake_close(int fd);
#define ioctl fake_ioctl
#define close fake_close
#include "../../daemon/companion/watchpoint.c"
#undef ioctl
#undef close
#include "../../daemon/companion/worth.c"
#include "../../daemon/loss_teller.c"

enum { CPUS = 2, FD = 1000 };

static bool updates; /* the datum is written after it was read, by the same code */
static int held;     /* by a debugger, of each CPU's registers */
static int taken[CPUS], most[CPUS];

int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	(void)pid;
	(void)group;
	(void)flags;
	assert_int_equal(attr->type, PERF_TYPE_BREAKPOINT);
	assert_in_range(cpu, 0, CPUS - 1);
	if (held + taken[cpu] >= 4)
		return -ENOSPC;
	most[cpu] = ++taken[cpu] > most[cpu] ? taken[cpu] : most[cpu];
	return FD + cpu;
}

static int fake_close(int fd)
{
	taken[fd - FD]--;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
}

int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err)
{
	(void)config;
	(void)err;
	*ret = (struct comm_cpu_rings){.ring = calloc(CPUS, sizeof(*ret->ring)), .n = CPUS};
	for (int i = 0; i < CPUS; i++)
		ret->ring[i].cpu = i;
	return 0;
}

void comm_cpu_rings_close(struct comm_cpu_rings *rings)
{
	free(rings->ring);
}

int comm_online_cpus(int *cpu, int max)
{
	assert_true(max > 0);
	*cpu = 1;
	return 1;
}

int comm_perf_paranoid(void)
{
	return 2;
}

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	assert_true(vasprintf(err, fmt, args) >= 0);
	va_end(args);
	return error;
}

/* Traps to come, of the CPU whose ring is read next, in no order. */
static struct trap {
	int cpu;
	struct record record;
} trap[8];
static size_t n_traps;
static const struct comm_perf_ring *ring_of_0;

void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx)
{
	struct {
		struct perf_event_header header;
		struct record record;
	} sample = {.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)}};

	for (size_t i = 0; i < n_traps; i++) {
		if (trap[i].cpu != (ring != ring_of_0))
			continue;
		sample.record = trap[i].record;
		fn(ctx, &sample.header);
	}
}

bool comm_target_has(const struct comm_target *target, uint32_t tgid)
{
	(void)target;
	(void)tgid;
	return true;
}

static int reset(void **state)
{
	(void)state;
	held = 0;
	memset(taken, 0, sizeof(taken));
	memset(most, 0, sizeof(most));
	updates = false;
	return 0;
}

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

enum { TGID = 7, PERIOD = 1000, TURNS = 4000 };

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
	double stands_for[4];
} heard;

static void hear(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_int_equal(event->kind, COMM_EV_WATCH);
	heard.last = *event;
	heard.n++;
	heard.stands_for[event->watch.first.addr >> 12 & 3] += event->watch.stands_for;
}

static struct comm_watchpoints *make(uint32_t slots)
{
	const struct comm_watchpoint_config config = {
		.per_s = 1000000, .slots = slots, .datum_bytes = 8};
	struct comm_watchpoints *w = NULL;
	char *why = NULL;

	assert_int_equal(comm_watchpoint_create(&config, &w, &why), 0);
	ring_of_0 = &w->rings.ring[0].ring;
	n_traps = 0;
	memset(&heard, 0, sizeof(heard));
	/* Lets the bucket of tokens fill. */
	comm_watchpoint_arm(w, 1);
	comm_watchpoint_arm(w, 1000000000);
	return w;
}

/* Ends all watches without an answer. */
static void pass(struct comm_watchpoints *w)
{
	comm_watchpoint_collect(w, comm_clock_now_ns() + 2ULL * LONG_NS, hear, NULL);
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
		comm_watchpoint_arm(w, 1000000000 + i * 10000000);
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

/* While no slot is free nothing is watched: the next watch stands for what was read meanwhile, too. */
static void test_reads_of_busy_turns(void **state)
{
	struct comm_watchpoints *w = make(1);

	(void)state;
	offer(w, 1, 0x1000, 1);
	comm_watchpoint_arm(w, 1000000001);
	assert_true(w->slot[0].armed && w->slot[0].stands_for == 8 * PERIOD);
	offer(w, 1, 0x1100, 2);
	comm_watchpoint_arm(w, 1000000002);
	assert_int_equal(w->slot[0].first.addr, 0x1000);
	pass(w);
	offer(w, 1, 0x1200, 4);
	comm_watchpoint_arm(w, 1000000003);
	assert_int_equal(w->slot[0].first.addr, 0x1200);
	assert_true(w->slot[0].stands_for == 8 * PERIOD / 2 + 8 * PERIOD / 4);
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

/* Watches a datum that thread 1 read, by code at 0x1000, and that is written as trap[] says. */
static void watch(struct comm_watchpoints *w, uint64_t now_ns)
{
	offer(w, 1, 0x2000, 1);
	memset(w->worth.read, 0, sizeof(w->worth.read));
	w->tokens = 1;
	comm_watchpoint_arm(w, now_ns);
	assert_true(w->slot[0].armed);
	for (size_t i = 0; i < n_traps; i++) {
		trap[i].record.addr = w->slot[0].addr;
		trap[i].record.time_ns += w->slot[0].armed_ns;
	}
	comm_watchpoint_collect(w, w->slot[0].armed_ns + FOLLOW_NS + 1000, hear, NULL);
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
 * A third of the data is written 10 ms after the watch began, a third after 500 ms, the rest
 * never: whatever a watch waits for, each counts as a third.
 */
static void test_patience(void **state)
{
	struct comm_watchpoints *w = make(1);
	double all = 0, told[3] = {0};

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		offer(w, 1, 0x2000, 1);
		memset(w->worth.read, 0, sizeof(w->worth.read));
		w->tokens = 1;
		comm_watchpoint_arm(w, 2000000000 + i);
		all += w->slot[0].stands_for;
		trap[0] = write_at(i % 3 ? 500000000 : 10000000, 2, 5000, 0);
		trap[0].record.addr = w->slot[0].addr;
		trap[0].record.time_ns += w->slot[0].armed_ns;
		/* After the first patience, and at the end of the long one. */
		n_traps = i % 3 == 0;
		comm_watchpoint_collect(w, w->slot[0].armed_ns + PATIENCE_NS + 1, hear, NULL);
		n_traps = i % 3 == 1;
		if (w->slot[0].armed)
			comm_watchpoint_collect(w, w->slot[0].armed_ns + LONG_NS, hear, NULL);
		assert_int_equal(heard.n, i + 1);
		told[i % 3] += heard.last.watch.stands_for;
	}
	for (int i = 0; i < 3; i++)
		assert_true(told[i] > 0.29 * all && told[i] < 0.38 * all);
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
	n_traps = 0;
	watch(w, 2000000001);
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
		cmocka_unit_test_setup(test_watches_stand_for_all, reset),
		cmocka_unit_test_setup(test_reads_of_busy_turns, reset),
		cmocka_unit_test_setup(test_loops_that_wait, reset),
		cmocka_unit_test_setup(test_polled_words, reset),
		cmocka_unit_test_setup(test_answer_of_other_code, reset),
		cmocka_unit_test_setup(test_answer_of_code_that_writes, reset),
		cmocka_unit_test_setup(test_patience, reset),
		cmocka_unit_test_setup(test_one_answer_and_none, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
