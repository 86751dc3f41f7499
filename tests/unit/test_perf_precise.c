// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Precise samples through perf's descriptors without a PMU: perf_event_open is a fake that
 * notes what it was asked for, and the test writes the records of one CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_hotplug.h"

#include "../../daemon/perf_ring.c"

enum { MAX_OPENED = 8, COUNTS = 3 };

static struct perf_event_attr opened[MAX_OPENED];
static int n_opened, refusals;
static bool is_ibs, has_clock, filters;
static unsigned int n_rings, n_reads;
static uint64_t counts[COUNTS];

static int fake_ioctl(int fd, unsigned long request, void *argument)
{
	(void)fd;
	if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)argument = (uint64_t)n_opened;
	return 0;
}

static ssize_t fake_read(void *to, size_t bytes)
{
	assert_int_equal(bytes, sizeof(counts));
	memcpy(to, counts, sizeof(counts));
	n_reads++;
	return sizeof(counts);
}

#define ioctl(fd, request, argument) fake_ioctl(fd, request, (void *)(uintptr_t)(argument))
#define read(fd, to, bytes) ((void)(fd), fake_read(to, bytes))
#define close(fd) ((void)(fd))
#include "../../daemon/source/cpu_events.c"
#include "../../daemon/source/perf_precise.c"
#undef ioctl
#undef read
#undef close

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	*err = strdup(fmt);
	return error;
}

int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	(void)pid;
	(void)cpu;
	(void)group;
	(void)flags;
	if (refusals) {
		refusals--;
		return -ENOENT;
	}
	assert_true(n_opened < MAX_OPENED);
	opened[n_opened++] = *attr;
	return 100 + n_opened;
}

int comm_online_cpus(int *cpu, int max)
{
	(void)cpu;
	(void)max;
	fail();
	return 0;
}

bool comm_trigger_worth_setting(uint64_t now, uint64_t then, bool parked)
{
	(void)parked;
	return now != then;
}

int comm_pmu_events(const char *sysfs, enum comm_pmu_want want,
		    struct comm_pmu_event ret[COMM_PMU_EVENTS], char **err)
{
	(void)sysfs;
	(void)want;
	(void)err;
	ret[0] = (struct comm_pmu_event){
		.name = "ibs_op//", .type = 11, .ibs = true, .user_filter = filters};
	if (is_ibs)
		return 1;
	ret[0] = (struct comm_pmu_event){
		.name = "cpu/loads/", .type = 4, .config = 0x81d0, .ways = COMM_ACCESS_READ};
	ret[1] = (struct comm_pmu_event){
		.name = "cpu/stores/", .type = 4, .config = 0x82d0, .ways = COMM_ACCESS_WRITE};
	return 2;
}

enum { RINGS = 2, RING_BYTES = 5 * 4096 };

/* One for each CPU. */
static unsigned char ring_memory[RINGS][RING_BYTES] __attribute__((aligned(4096)));
static unsigned int ring_put; /* the one that the test writes into */
static bool asked_perf_clock;

int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err)
{
	(void)err;
	asked_perf_clock = config->perf_clock;
	memset(ring_memory, 0, sizeof(ring_memory));
	*ret = (struct comm_cpu_rings){
		.ring = calloc(n_rings, sizeof(*ret->ring)), .n = n_rings, .n_cpus = n_rings};
	for (unsigned int i = 0; i < n_rings; i++) {
		struct perf_event_mmap_page *page = (void *)ring_memory[i];

		page->cap_user_time_zero = has_clock;
		page->time_mult = 1;
		page->time_shift = 0;
		ret->ring[i].cpu = (int)i;
		ret->ring[i].ring.page = page;
		ret->ring[i].ring.bytes = 4 * 4096;
	}
	return 0;
}

const struct comm_cpu_ring *comm_cpu_rings_of(const struct comm_cpu_rings *rings, unsigned int cpu)
{
	return cpu < rings->n ? &rings->ring[cpu] : NULL;
}

void comm_cpu_rings_close(struct comm_cpu_rings *rings)
{
	free(rings->ring);
	rings->ring = NULL;
	rings->n = 0;
}

/* The clock that the test's records have is 1000 ns behind. */
void comm_perf_clock_read(struct comm_perf_clock *clock, const struct perf_event_mmap_page *page)
{
	if (page->cap_user_time_zero)
		*clock = (struct comm_perf_clock){{0, 1000}, {0, 2000}};
}

uint64_t comm_perf_clock_mono(const struct comm_perf_clock *clock, uint64_t perf_ns)
{
	(void)clock;
	return perf_ns + 1000;
}

static struct {
	struct comm_event event[8];
	struct comm_sample sample;
	int n;
} got;

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_true(got.n < 8);
	if (event->kind == COMM_EV_SAMPLE)
		got.sample = *event->sample;
	got.event[got.n++] = *event;
}

static void drain(struct comm_perf_precise *p)
{
	got.n = 0;
	comm_perf_precise_drain(p, take, NULL);
}

static int begin(void **state)
{
	(void)state;
	n_opened = refusals = 0;
	is_ibs = filters = false;
	has_clock = true;
	n_rings = 1;
	ring_put = 0;
	memset(counts, 0, sizeof(counts));
	return 0;
}

static struct comm_perf_precise *fresh(enum comm_pmu_want want)
{
	struct comm_perf_precise *p = NULL;
	char *err = NULL;

	if (comm_perf_precise_open(want, 0, &p, &err))
		fail_msg("%s", err);
	return p;
}

static void put(uint16_t type, uint16_t misc, const void *body, size_t bytes)
{
	unsigned char *memory = ring_memory[ring_put];
	struct perf_event_mmap_page *page = (void *)memory;
	struct perf_event_header h = {
		.type = type, .misc = misc, .size = (uint16_t)(sizeof(h) + bytes)};

	memcpy(memory + 4096 + page->data_head, &h, sizeof(h));
	memcpy(memory + 4096 + page->data_head + sizeof(h), body, bytes);
	page->data_head += h.size;
}

enum { USER_EXACT = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP };

enum {
	AT_FLAGS = 9, /* among the registers of a record */
	X86_FLAGS_EXACT = 1 << 3,
};

struct whole {
	struct record r;
	struct record_registers regs;
};

static const struct whole one = {
	.r = {.id = 1,
	      .ip = 0x401000,
	      .pid = 77,
	      .tid = 78,
	      .time_ns = 5000,
	      .addr = 0x5000,
	      .weight = 70000,
	      .data_src = 5},
	.regs = {.abi = PERF_SAMPLE_REGS_ABI_64,
		 .reg = {[0] = 10, [7] = 17, [AT_FLAGS] = X86_FLAGS_EXACT, [17] = 27}},
};

/*
 * What perf and PEBS want for many records per interrupt: LARGE_PEBS_FLAGS, TIME from
 * format 3 on, PEBS_GP_REGS (arch/x86/events/perf_event.h) and intel_pmu_hw_config()
 * (arch/x86/events/intel/core.c) of Linux 6.1 and 6.12.
 */
static void test_large_pebs(void **state)
{
	const uint64_t allowed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
				 PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID |
				 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_IDENTIFIER |
				 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
				 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER |
				 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CODE_PAGE_SIZE |
				 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_TIME;
	struct comm_perf_precise *p = fresh(COMM_PMU_ACCESSES);

	(void)state;
	assert_int_equal(n_opened, 2);
	for (int i = 0; i < 2; i++) {
		const struct perf_event_attr *a = &opened[i];

		assert_false(a->sample_type & ~allowed);
		assert_true(a->sample_type & PERF_SAMPLE_REGS_INTR);
		assert_false(a->freq || a->use_clockid || (a->wakeup_events && !a->watermark));
		assert_false(a->sample_regs_intr & ~0xff03ffull);
		assert_true(a->precise_ip == 2 && a->exclude_kernel && a->exclude_guest);
		assert_false(a->task || a->mmap || a->comm || a->inherit);
	}
	assert_true(opened[0].config == 0x81d0 && opened[1].config == 0x82d0);
	assert_true(asked_perf_clock);
	assert_string_equal(comm_perf_precise_name(p), "cpu/loads/,cpu/stores/");
	comm_perf_precise_close(p);

	/* Where perf's clock cannot be read, CLOCK_MONOTONIC it is, at an interrupt each. */
	has_clock = false;
	p = fresh(COMM_PMU_ACCESSES);
	assert_true(!asked_perf_clock && opened[2].use_clockid &&
		    opened[2].clockid == CLOCK_MONOTONIC);
	put(PERF_RECORD_SAMPLE, USER_EXACT,
	    &(struct whole){.r = {.id = 3, .addr = 8, .time_ns = 9}}, sizeof(struct whole));
	drain(p);
	assert_true(got.n == 1 && got.event[0].time_ns == 9);
	comm_perf_precise_close(p);
}

static void test_sample(void **state)
{
	struct comm_perf_precise *p = fresh(COMM_PMU_ACCESSES);
	struct whole record = one;

	(void)state;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_int_equal(got.n, 2);
	assert_true(got.event[0].kind == COMM_EV_ACCESS && got.event[0].time_ns == 6000 &&
		    got.event[0].tgid == 77 && got.event[0].tid == 78);
	assert_true(got.event[0].access.addr == 0x5000 && got.event[0].access.ip == 0x401000 &&
		    got.event[0].access.flags == (COMM_ACCESS_READ | COMM_ACCESS_BURST) &&
		    got.event[0].access.latency_cycles == UINT16_MAX &&
		    got.event[0].access.data_src == 5 && got.event[0].access.period == PERIOD);
	assert_true(got.event[1].kind == COMM_EV_SAMPLE && got.event[1].time_ns == 6000 &&
		    got.event[1].tid == 78 && got.sample.ip == 0x401000);
	assert_true(got.sample.reg[COMM_RAX] == 10 && got.sample.reg[COMM_RSP] == 17 &&
		    got.sample.reg[COMM_R15] == 27 && !got.sample.flags);
	assert_true(got.sample.known ==
		    (0xffff | (uint32_t)COMM_SAMPLE_AFTER | (uint32_t)COMM_SAMPLE_NO_FLAGS));
	/* A format with flags; the other event is of stores. */
	record.r.id = 2;
	record.regs.reg[AT_FLAGS] = X86_FLAGS_EXACT | 0x246;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_true(got.event[0].access.flags == (COMM_ACCESS_WRITE | COMM_ACCESS_BURST));
	assert_true(got.sample.known == (0xffff | (uint32_t)COMM_SAMPLE_AFTER) &&
		    got.sample.flags == 0x246);
	comm_perf_precise_close(p);
	/* Bursts of transfers would bring all other reads in. */
	p = fresh(COMM_PMU_TRANSFERS);
	record.r.id = 3;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_true(got.n == 1 && got.event[0].access.flags == COMM_ACCESS_READ);
	comm_perf_precise_close(p);
}

static void test_losses(void **state)
{
	struct comm_perf_precise *p = fresh(COMM_PMU_ACCESSES);
	struct comm_sampler_stats stats = {0};
	struct whole record = one;
	uint64_t lost[2] = {1, 6};

	(void)state;
	put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &record, sizeof(record));
	put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP, &record,
	    sizeof(record));
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record.r) - 8);
	record.r.addr = 1ull << 63;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	record.r.addr = 0;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	record.r.id = 99;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	put(PERF_RECORD_LOST, 0, lost, sizeof(lost));
	put(PERF_RECORD_LOST_SAMPLES, 0, lost, 8);
	put(PERF_RECORD_THROTTLE, 0, lost, 8);
	drain(p);
	assert_int_equal(got.n, 0);
	comm_perf_precise_stats(p, &stats);
	assert_true(stats.loss[COMM_LOSS_IMPRECISE] == 1 && stats.loss[COMM_LOSS_NO_ADDRESS] == 1 &&
		    stats.loss[COMM_LOSS_MALFORMED] == 1 && stats.loss[COMM_LOSS_RING] == 7 &&
		    stats.loss[COMM_LOSS_THROTTLE] == 1);
	/* 32-bit code: where it went is known, what it does next is not. */
	record = one;
	record.regs.abi = PERF_SAMPLE_REGS_ABI_32;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_true(got.n == 1 && got.event[0].access.flags == COMM_ACCESS_READ);
	comm_perf_precise_stats(p, &stats);
	assert_int_equal(stats.loss[COMM_LOSS_MODE32], 1);
	/* The interrupts that come with PEBS' records are those of draining. */
	assert_int_equal(stats.interrupts - stats.drained, 2 + 4);
	comm_perf_precise_close(p);
}

/* An event that had a counter for a quarter of the time stands for four times as much. */
static void test_share(void **state)
{
	struct comm_perf_precise *p = fresh(COMM_PMU_ACCESSES);

	(void)state;
	counts[1] = 4000;
	counts[2] = 1000;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &one, sizeof(one));
	drain(p);
	assert_int_equal(got.event[0].access.period, 4 * PERIOD);
	counts[1] += 1000;
	counts[2] += 1000;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &one, sizeof(one));
	drain(p);
	assert_int_equal(got.event[0].access.period, PERIOD);
	comm_perf_precise_close(p);
}

static void test_rate(void **state)
{
	struct comm_perf_precise *p;
	struct comm_sampler_stats stats = {0};
	struct record record = one.r;

	(void)state;
	is_ibs = true;
	p = fresh(COMM_PMU_ACCESSES);
	assert_true(opened[0].precise_ip == 0 && opened[0].sample_period % 16 == 0 &&
		    !opened[0].exclude_kernel && !opened[0].exclude_hv &&
		    !opened[0].exclude_guest && !(opened[0].sample_type & PERF_SAMPLE_REGS_INTR));
	/* Neither load nor store, then a store before and after another period. */
	record.data_src = PERF_MEM_OP_NA;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	record.data_src = PERF_MEM_OP_STORE;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	assert_int_equal(
		comm_perf_precise_set_rate(p, &(struct comm_sampler_rate){.period = 200003}), 0);
	assert_int_equal(comm_perf_precise_period(p), 200016);
	record.time_ns = UINT64_MAX / 2;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_true(got.n == 2 && got.event[0].access.flags == COMM_ACCESS_WRITE);
	assert_int_equal(got.event[0].access.period, PERIOD - PERIOD % 16);
	assert_int_equal(got.event[1].access.period, 200016);
	/* Every record was an interrupt, and one count was read. */
	comm_perf_precise_stats(p, &stats);
	assert_true(stats.interrupts == 1 + 2 && !stats.drained);
	comm_perf_precise_close(p);
}

/* Where the kernel can leave samples of its own code out, it does. */
static void test_filter(void **state)
{
	(void)state;
	is_ibs = filters = true;
	comm_perf_precise_close(fresh(COMM_PMU_ACCESSES));
	assert_true(opened[0].exclude_kernel && !opened[0].exclude_hv && !opened[0].exclude_guest);
}

/* Each register of a record is where the burst looks for it. */
static void test_registers(void **state)
{
	/* As perf has them: ax bx cx dx si di bp sp, ip, flags, r8 to r15. */
	static const uint8_t at[COMM_NGPR] = {
		[COMM_RAX] = 0,	 [COMM_RBX] = 1,  [COMM_RCX] = 2,  [COMM_RDX] = 3,
		[COMM_RSI] = 4,	 [COMM_RDI] = 5,  [COMM_RBP] = 6,  [COMM_RSP] = 7,
		[COMM_R8] = 10,	 [COMM_R9] = 11,  [COMM_R10] = 12, [COMM_R11] = 13,
		[COMM_R12] = 14, [COMM_R13] = 15, [COMM_R14] = 16, [COMM_R15] = 17,
	};
	struct comm_perf_precise *p = fresh(COMM_PMU_ACCESSES);
	struct whole record = one;

	(void)state;
	for (unsigned int i = 0; i < REGS; i++)
		record.regs.reg[i] = 1000 + i;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_int_equal(got.n, 2);
	for (unsigned int i = 0; i < COMM_NGPR; i++)
		assert_int_equal(got.sample.reg[i], 1000 + at[i]);
	comm_perf_precise_close(p);
}

/* A record's event is one of its CPU's, and its period is that of this CPU. */
static void test_cpus(void **state)
{
	const uint8_t park[RINGS] = {0, 3};
	struct comm_perf_precise *p;
	struct whole record = one;

	(void)state;
	n_rings = RINGS;
	p = fresh(COMM_PMU_ACCESSES);
	/* Loads on CPUs 0 and 1 have the numbers 1 and 2, stores 3 and 4. */
	assert_int_equal(n_opened, 4);
	assert_int_equal(comm_perf_precise_set_rate(
				 p, &(struct comm_sampler_rate){.period = 50000, .park = park}),
			 0);
	record.r.time_ns = UINT64_MAX / 2;
	for (ring_put = 0; ring_put < RINGS; ring_put++) {
		record.r.id = 3 + ring_put;
		put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	}
	drain(p);
	assert_int_equal(got.n, 4);
	assert_true(got.event[0].access.flags == (COMM_ACCESS_WRITE | COMM_ACCESS_BURST) &&
		    got.event[0].cpu == 0 && got.event[0].access.period == 50000);
	assert_true(got.event[2].access.flags == (COMM_ACCESS_WRITE | COMM_ACCESS_BURST) &&
		    got.event[2].cpu == 1 && got.event[2].access.period == 8 * 50000);
	comm_perf_precise_close(p);
}

/* To read a count interrupts its CPU: one that has nothing to tell is left alone, mostly. */
static void test_looks(void **state)
{
	enum { DRAINS = 801, EVENTS = 2 };
	struct comm_perf_precise *p;
	unsigned int idle;

	(void)state;
	n_rings = RINGS;
	p = fresh(COMM_PMU_ACCESSES);
	n_reads = 0;
	for (int i = 0; i < DRAINS; i++)
		drain(p);
	/* After 1, 2, 4 and then each 8 drains. */
	assert_in_range(n_reads, RINGS * EVENTS * 50, RINGS * EVENTS * 110);
	/* One that has is asked at each drain, also for what it has not written yet. */
	idle = n_reads;
	for (int i = 0; i < 80; i++) {
		put(PERF_RECORD_SAMPLE, USER_EXACT, &one, sizeof(one.r) + 8);
		drain(p);
	}
	assert_in_range(n_reads - idle, EVENTS * (80 + 8), EVENTS * (80 + 12));
	comm_perf_precise_close(p);
	/* IBS has no buffer that a read would empty. */
	is_ibs = true;
	p = fresh(COMM_PMU_ACCESSES);
	n_reads = 0;
	for (int i = 0; i < DRAINS; i++)
		drain(p);
	assert_int_equal(n_reads, 0);
	comm_perf_precise_close(p);
}

/* One kind of a hybrid machine's cores is off: no event of theirs can be had anywhere. */
/* A CPU that is back has events of other numbers; what it tells is of them, and stands for their period. */
static void test_back(void **state)
{
	const struct comm_sampler_rate rate = {.period = 4 * PERIOD};
	struct comm_perf_precise *p;
	struct whole record = one;

	(void)state;
	n_rings = 2;
	ring_put = 1;
	p = fresh(COMM_PMU_ACCESSES);
	reset_hotplug(200);
	assert_int_equal(comm_perf_precise_list(p, &hotplug), 0);
	assert_int_equal(hotplug.n_listed, comm_perf_precise_events(p));
	assert_memory_equal(&hotplug.listed[1], &opened[2], sizeof(opened[2]));
	comm_perf_precise_set_rate(p, &rate);
	comm_perf_precise_gone(p, 1);
	assert_int_equal(comm_perf_precise_fds(p), 2 + 2);
	record.r.id = 2;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_int_equal(got.n, 0);
	n_opened = 7;
	assert_true(comm_perf_precise_back(p, 0, 1, 207));
	assert_false(comm_perf_precise_back(p, 0, 2, 208));
	assert_int_equal(comm_perf_precise_fds(p), 2 + 3);
	record.r.id = 7;
	put(PERF_RECORD_SAMPLE, USER_EXACT, &record, sizeof(record));
	drain(p);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.event[0].access.period, 4 * PERIOD);
	comm_perf_precise_close(p);
}

static void test_refused(void **state)
{
	struct comm_perf_precise *p;
	char *err = NULL;

	(void)state;
	refusals = 1;
	assert_int_equal(comm_perf_precise_open(COMM_PMU_ACCESSES, 0, &p, &err), -ENOENT);
	assert_non_null(err);
	free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_large_pebs, begin),
		cmocka_unit_test_setup(test_sample, begin),
		cmocka_unit_test_setup(test_losses, begin),
		cmocka_unit_test_setup(test_share, begin),
		cmocka_unit_test_setup(test_rate, begin),
		cmocka_unit_test_setup(test_filter, begin),
		cmocka_unit_test_setup(test_registers, begin),
		cmocka_unit_test_setup(test_cpus, begin),
		cmocka_unit_test_setup(test_looks, begin),
		cmocka_unit_test_setup(test_back, begin),
		cmocka_unit_test_setup(test_refused, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
