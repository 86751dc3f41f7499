/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug registers of some CPUs, as breakpoints.h has them, and threads that access words which they may
 * watch: for the one test that takes register_window.c into itself, after its headers.
 */
#ifndef MADE_REGISTERS_H
#define MADE_REGISTERS_H

#include <math.h>

#include "clock.h"

static uint64_t now_made_ns;
/* Traps of others, while registers are set (true) or silenced, after the first CPU. */
static void (*while_aimed)(void), (*while_silenced)(void);

static uint64_t made_clock_ns(void)
{
	return ++now_made_ns;
}
#define comm_clock_now_ns made_clock_ns
#include "../daemon/companion/late_words.c"
#include "../daemon/companion/register_window.c"
#include "../daemon/companion/unpaid_words.c"
#include "../daemon/companion/window_cost.c"
#include "../daemon/companion/window_pairs.c"
#include "../daemon/companion/word_pool.c"
#include "../daemon/loss_teller.c"

enum { CPUS = 2, SLOTS_MADE = 4, QUEUED = 4096 };

/* Code of threads: what stands before the ip; and one place in the kernel. */
enum { CODE_APART = 16, READS = 0x10000, WRITES = 0x20000, COUNTS = 0x30000, NO_CODE = 0x40000 };
static const uint64_t IN_KERNEL = 0xffffffff81000000;

struct comm_breakpoints {
	unsigned int n;
};

static struct comm_breakpoints made;

/* As the kernel keeps them. */
static struct {
	bool enabled, reads;
	uint64_t addr;
	uint32_t bytes;
	unsigned int left[CPUS];
} kept[SLOTS_MADE];

static struct comm_breakpoint_trap queue[QUEUED];
static unsigned int n_queued;
static uint64_t n_traps_made, records_lost, n_unopened;
static unsigned int aims;
static bool refuses; /* the next aim */

int comm_breakpoints_probe(char **why)
{
	*why = NULL;
	return 0;
}

int comm_breakpoints_create(uint32_t slots, double trap_ns, struct comm_breakpoints **ret,
			    char **err)
{
	(void)trap_ns;
	(void)err;
	made.n = slots;
	memset(kept, 0, sizeof(kept));
	n_queued = 0;
	n_traps_made = records_lost = 0;
	aims = 0;
	refuses = false;
	while_aimed = while_silenced = NULL;
	*ret = &made;
	return 0;
}

void comm_breakpoints_destroy(struct comm_breakpoints *points)
{
	(void)points;
}

unsigned int comm_breakpoints_slots(const struct comm_breakpoints *points)
{
	return points->n;
}

unsigned int comm_breakpoints_cpus(const struct comm_breakpoints *points)
{
	(void)points;
	return CPUS;
}

bool comm_breakpoints_aim(struct comm_breakpoints *points, unsigned int slot, uint64_t addr,
			  uint32_t bytes, bool reads)
{
	assert_true(slot < points->n);
	assert_int_equal(addr % bytes, 0);
	aims++;
	kept[slot].enabled = !refuses;
	kept[slot].reads = reads;
	kept[slot].addr = addr;
	kept[slot].bytes = bytes;
	for (int i = 0; i < CPUS; i++) {
		kept[slot].left[i] = COMM_BREAKPOINT_TRAPS;
		if (!i && while_aimed)
			while_aimed();
	}
	return !refuses;
}

void comm_breakpoints_silence(struct comm_breakpoints *points, unsigned int slot)
{
	assert_true(slot < points->n);
	kept[slot].left[0] = 0;
	if (while_silenced)
		while_silenced();
	kept[slot].enabled = false;
}

uint64_t comm_breakpoints_drain(struct comm_breakpoints *points, comm_breakpoint_trap_fn *fn,
				void *ctx)
{
	uint64_t lost = records_lost;

	(void)points;
	/* One CPU after the other. */
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		for (unsigned int i = 0; i < n_queued; i++)
			if (queue[i].nth_cpu == cpu)
				fn(ctx, &queue[i]);
	n_queued = 0;
	records_lost = 0;
	return lost;
}

uint64_t comm_breakpoints_unopened(const struct comm_breakpoints *points)
{
	(void)points;
	return n_unopened;
}

uint64_t comm_breakpoints_traps(const struct comm_breakpoints *points)
{
	(void)points;
	return n_traps_made;
}

uint64_t comm_breakpoints_cost_ns(const struct comm_breakpoints *points)
{
	(void)points;
	return n_traps_made * 1000;
}

static double string_loss_made;

double comm_breakpoints_string_loss(const struct comm_breakpoints *points)
{
	(void)points;
	return string_loss_made;
}

bool comm_target_has(const struct comm_target *target, uint32_t tgid)
{
	(void)target;
	return tgid < 1000000;
}

static inline ssize_t code_made(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	static const struct {
		uint64_t ip;
		uint8_t len, bytes[4];
	} insn[] = {
		{READS, 3, {0x48, 0x8b, 0x02}},	       /* mov (%rdx),%rax */
		{WRITES, 3, {0x48, 0x89, 0x02}},       /* mov %rax,(%rdx) */
		{COUNTS, 4, {0xf0, 0x48, 0xff, 0x02}}, /* lock incq (%rdx) */
	};

	(void)ctx;
	(void)tgid;
	if (addr < READS - 1024 || addr >= NO_CODE - COMM_TRAPPED_BEFORE)
		return -EFAULT;
	if (bytes > NO_CODE - COMM_TRAPPED_BEFORE - addr)
		bytes = NO_CODE - COMM_TRAPPED_BEFORE - addr;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t at = addr + i;

		((uint8_t *)buf)[i] = 0x90;
		for (size_t j = 0; j < sizeof(insn) / sizeof(insn[0]); j++)
			/* Each thread has code of its own: in one loop with the others'. */
			for (uint64_t ip = insn[j].ip; ip < insn[j].ip + 0x8000; ip += CODE_APART)
				if (at >= ip - insn[j].len && at < ip)
					((uint8_t *)buf)[i] = insn[j].bytes[at - ip + insn[j].len];
	}
	return (ssize_t)bytes;
}

/* A thread on a CPU accesses 8 bytes. */
static inline void touch_as(uint32_t tgid, uint32_t tid, unsigned int cpu, uint64_t ip,
			    uint64_t addr, uint16_t flags)
{
	struct comm_breakpoint_trap trap = {
		.time_ns = ++now_made_ns,
		.tgid = tgid,
		.tid = tid,
		.cpu = (uint16_t)cpu,
		.mode_bits = 64,
		.nth_cpu = cpu,
		.at = {.ip = ip, .reg[COMM_RDX] = addr},
	};

	if (is_kernel(ip))
		trap.at.reg[flags & COMM_ACCESS_WRITE ? COMM_RDI : COMM_RSI] = addr + 8;
	for (unsigned int i = 0; i < made.n; i++) {
		if (!kept[i].enabled || !kept[i].left[cpu] || kept[i].addr >= addr + 8 ||
		    addr >= kept[i].addr + kept[i].bytes ||
		    (!kept[i].reads && !(flags & COMM_ACCESS_WRITE)))
			continue;
		kept[i].left[cpu]--;
		n_traps_made++;
		trap.at.addr = kept[i].addr;
		assert_true(n_queued < QUEUED);
		queue[n_queued++] = trap;
	}
}

/* The windows that are tested, and what they may take. */
static struct comm_register_windows *w;
static uint64_t now_ns;
static const struct comm_window_means unbound = {INFINITY, INFINITY};
static struct comm_window_means all, of_long;

enum { WORD = 0x7000, OFFERED_TO = 11 }; /* that is read, and the thread that reads it */

/* The instruction of the read that draws words. */
static uint64_t drawn_ip;

/* The test's: what it is told. */
static void on_event(void *ctx, const struct comm_event *event);

static int teardown(void **state)
{
	(void)state;
	comm_register_windows_destroy(w);
	w = NULL;
	return 0;
}

static void offer_as(bool is_sole, uint64_t addr, uint64_t lag_ns, double stands_for)
{
	const struct comm_live_word word = {.tgid = (uint32_t)getpid(),
					    .tid = OFFERED_TO,
					    .addr = addr,
					    .ip = READS,
					    .code_ip = drawn_ip,
					    .size_bytes = 8,
					    .lag_ns = lag_ns,
					    .stands_for = stands_for,
					    .is_sole = is_sole};

	comm_register_windows_offer(w, &word);
}

static void offer(uint64_t addr, uint64_t lag_ns, double stands_for)
{
	offer_as(false, addr, lag_ns, stands_for);
}

static inline void offer_sole(uint64_t addr, uint64_t lag_ns, double stands_for)
{
	offer_as(true, addr, lag_ns, stands_for);
}

static void pass(uint64_t ms)
{
	now_ns += ms * MS;
	comm_register_windows_collect(w, now_ns, on_event, NULL);
	comm_register_windows_turn(w, now_ns, &all, &of_long);
}

/* Begins a window on WORD that lasts so long. */
static void begin_one(uint64_t length_ms)
{
	offer(WORD, length_ms * MS / LAGS, 1000);
	pass(0);
}

#endif
