// SPDX-License-Identifier: GPL-2.0-or-later
/* Watchpoints: who touches the sampled datum next? */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t_watch.h"

struct shared {
	uint64_t datum __attribute__((aligned(4096)));
	uint64_t private_datum __attribute__((aligned(4096)));
	volatile uint32_t writer_tid, reader_tid;
	volatile uint64_t after_store; /* where the IP is when the store has hit */
};

/* Both at a place of their own, far from any stack. */
static void *writer(void *argument)
{
	struct shared *shared = argument;

	shared->writer_tid = syscall(SYS_gettid);
	asm volatile("leaq 1f(%%rip), %%rax\n"
		     "movq %%rax, %1\n"
		     "2: addq $1, %%rdx\n"
		     "movq %%rdx, (%0)\n"
		     "1: movl $200, %%ecx\n"
		     "3: decl %%ecx\n"
		     "jnz 3b\n"
		     "jmp 2b\n"
		     :
		     : "r"(&shared->datum), "m"(shared->after_store)
		     : "rax", "rcx", "rdx", "memory");
	return NULL;
}

static void reader_loop(struct shared *shared)
{
	while (!shared->writer_tid)
		;
	shared->reader_tid = syscall(SYS_gettid);
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 2f\n"
		     "2: movl 4(%1), %%eax\n"
		     "jmp 1b\n"
		     :
		     : "r"(&shared->datum), "r"(&shared->private_datum)
		     : "rax", "memory");
}

static void pair(void *argument)
{
	pthread_t thread;

	pthread_create(&thread, NULL, writer, argument);
	reader_loop(argument);
}

/* Reads what nobody writes, and writes what nobody else touches. */
static void loner(void *argument)
{
	struct shared *shared = argument;

	shared->reader_tid = getpid();
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 1b\n"
		     :
		     : "r"(&shared->private_datum)
		     : "rax", "memory");
}

/* A single store per turn: the next access is always its own. */
static void storer(void *argument)
{
	struct shared *shared = argument;

	shared->reader_tid = getpid();
	asm volatile("leaq 2f(%%rip), %%rax\n"
		     "movq %%rax, %1\n"
		     "1: movl %%eax, (%0)\n"
		     "2: movl $2, %%ecx\n"
		     "3: decl %%ecx\n"
		     "jnz 3b\n"
		     "jmp 1b\n"
		     :
		     : "r"(&shared->datum), "m"(shared->after_store)
		     : "rax", "rcx", "memory");
}

enum { STRIDE_BYTES = 32 << 20 };

/* Stores once to each place, over and over: the next access is a whole turn away. */
static void strider(void *argument)
{
	struct shared *shared = argument;
	uint8_t *data = mmap(NULL, STRIDE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	shared->reader_tid = getpid();
	asm volatile("1: movq %0, %%rax\n"
		     "2: movq %%rax, (%%rax)\n"
		     "addq $8, %%rax\n"
		     "cmpq %1, %%rax\n"
		     "jb 2b\n"
		     "jmp 1b\n"
		     :
		     : "r"(data), "r"(data + STRIDE_BYTES)
		     : "rax", "memory");
}

struct tally {
	struct shared *shared;
	uint64_t n, wrong, before, other;
	uint64_t ns; /* how long it was watched */
};

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_evidence *e = (const void *)record;
	struct shared *shared = tally->shared;

	if (record->type != CP_REC_WATCH)
		return;
	tally->n++;
	if (e->first.addr != (uint64_t)&shared->datum) {
		tally->other++;
		return;
	}
	if (record->tid != shared->writer_tid || e->first_tid != shared->reader_tid ||
	    e->second.addr != (uint64_t)&shared->datum || e->second.ip != shared->after_store ||
	    e->second.flags != (CP_ACCESS_WRITE | CP_ACCESS_IP_AFTER) ||
	    e->first.flags != CP_ACCESS_READ || e->second.size_bytes != 8)
		tally->wrong++;
	if (record->time_ns < e->armed_ns || e->armed_ns < e->first_ns)
		tally->before++;
}

static void take_store(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_evidence *e = (const void *)record;

	if (record->type != CP_REC_WATCH)
		return;
	tally->n++;
	if (record->tid != e->first_tid || e->second.ip != tally->shared->after_store ||
	    e->first.flags != CP_ACCESS_WRITE || e->first.size_bytes != 4 ||
	    e->second.size_bytes != 4 || !(e->second.flags & CP_ACCESS_EITHER))
		tally->wrong++;
	if (record->time_ns < e->armed_ns)
		tally->before++;
}

static struct shared *shared_make(void)
{
	return mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

struct cp_stats watch_until(struct cp_reader *reader, const struct cp_watch *watch,
			    uint64_t period_ns, void (*on)(const struct cp_record *, void *),
			    void *argument, struct watch_until *until)
{
	enum { TURN_MS = 500 };
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_watch wanted = *watch;
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES | CP_SOURCE_JITTER,
		.type = 1,
		.period = period_ns,
		.max_accesses = 1,
	};
	struct cp_stats stats = {};
	uint64_t start_ns;
	int err;

	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	err = cp_reader_watch(reader, &wanted);
	if (err)
		check(false, "watch", "%s", strerror(-err));
	start_ns = now_ns();
	do {
		/* While it runs the slots are there to be counted. */
		run(reader, TURN_MS, on, argument);
		cp_reader_stats(reader, &stats);
		until->ns = now_ns() - start_ns;
	} while (((until->hits && *until->hits < until->enough_hits) ||
		  stats.watch_armed < until->enough_armed) &&
		 until->ns < LIMIT_S * 1000000000ull);
	cp_reader_destroy(reader);
	return stats;
}

/* Until there are so many hits, and as many of its watches were armed. */
static struct cp_stats watched(void (*body)(void *), struct shared *shared, struct cp_watch watch,
			       void (*on)(const struct cp_record *, void *), struct tally *tally,
			       uint64_t enough_hits, uint64_t enough_armed)
{
	struct watch_until until = {&tally->n, enough_hits, enough_armed, 0};
	struct cp_stats stats;
	pid_t pid;

	tally->shared = shared;
	shared->reader_tid = shared->writer_tid = 0;
	pid = spawn(body, shared);
	/* What it does before its loop is not what is known of it. */
	while (!shared->reader_tid)
		usleep(1000);
	stats = watch_until(session(pid), &watch, 1000000, on, tally, &until);
	tally->ns = until.ns;
	reap(pid);
	return stats;
}

/* Reads its own stack, and nothing else. */
static void stack_reader(void *argument)
{
	struct shared *shared = argument;

	shared->reader_tid = getpid();
	asm volatile("1: movq (%%rsp), %%rax\n"
		     "jmp 2f\n"
		     "2: movq 64(%%rsp), %%rax\n"
		     "jmp 1b\n"
		     :
		     :
		     : "rax", "memory");
}

static void count_accesses(const struct cp_record *record, void *argument)
{
	*(uint64_t *)argument += record->type == CP_REC_ACCESS;
}

/* Nobody else's data are there. */
static void none_on_the_stack(struct shared *shared)
{
	struct cp_watch watch = {
		.flags = CP_WATCH_LOAD_THEN_WRITE,
		.slots = 2,
		.per_second = 1000,
		.timeout_us = 20000,
	};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES,
		.type = 1,
		.period = 1000000,
		.max_accesses = 1,
	};
	pid_t pid = spawn(stack_reader, shared);
	struct cp_reader *reader = session(pid);
	struct cp_stats stats = {};
	uint64_t accesses = 0;
	int err = cp_reader_source(reader, &source) ?: cp_reader_watch(reader, &watch);

	while (!shared->reader_tid)
		usleep(1000);
	run_until(reader, 300, count_accesses, &accesses, &accesses, 100);
	cp_reader_stats(reader, &stats);
	check(!err && accesses >= 100 && !stats.watch_armed, "watch: none on the stack",
	      "%s, %llu armed, %lu accesses", strerror(-err), stats.watch_armed, accesses);
	cp_reader_destroy(reader);
	reap(pid);
}

void test_watch(void)
{
	struct shared *shared = shared_make();
	struct tally tally = {};
	struct cp_stats stats;
	struct cp_watch watch = {
		.flags = CP_WATCH_LOAD_THEN_WRITE,
		.slots = 2,
		.per_second = 1000,
		.timeout_us = 20000,
	};

	none_on_the_stack(shared);
	stats = watched(pair, shared, watch, take, &tally, 150, 0);
	check(tally.n - tally.other >= 100 && !tally.wrong && !tally.before &&
		      stats.watch_hits == tally.n && !stats.watch_missed,
	      "watch: the known next writer",
	      "%lu hits, %lu wrong, %lu too early, armed %llu, expired %llu, foreign %llu, busy "
	      "%llu, arming all CPUs %llu ns on average, %llu at best",
	      tally.n, tally.wrong, tally.before, stats.watch_armed, stats.watch_expired,
	      stats.watch_foreign, stats.lost[CP_LOST_WATCH_BUSY],
	      stats.arm_ns / (stats.watch_armed ?: 1), stats.arm_min_ns);
	check(!tally.other, "watch: no hit on what nobody writes", "%lu", tally.other);

	tally = (struct tally){};
	stats = watched(loner, shared, watch, take, &tally, 0, 60);
	check(!tally.n && stats.watch_armed >= 20 && stats.watch_expired > 0,
	      "watch: no hit for private data", "%lu hits of %llu armed, %llu expired", tally.n,
	      stats.watch_armed, stats.watch_expired);

	tally = (struct tally){};
	watch.flags = CP_WATCH_STORE_THEN_ACCESS;
	watch.slots = 1;
	stats = watched(storer, shared, watch, take_store, &tally, 50, 0);
	check(tally.n >= 50 && !tally.wrong && !tally.before, "watch: store then access",
	      "%lu hits, %lu wrong, %lu too early, armed %llu", tally.n, tally.wrong, tally.before,
	      stats.watch_armed);

	tally = (struct tally){};
	watch.timeout_us = 3000;
	stats = watched(strider, shared, watch, take_store, &tally, 0, 60);
	/* It comes round again after the timeout, unless the VM was stopped. */
	check(tally.n * 5 <= stats.watch_armed && stats.watch_armed >= 20,
	      "watch: a store is not its own next access", "%lu hits of %llu armed", tally.n,
	      stats.watch_armed);

	tally = (struct tally){};
	watch.timeout_us = 20000;
	watch.flags = CP_WATCH_LOAD_THEN_WRITE;
	watch.per_second = 20;
	stats = watched(pair, shared, watch, take, &tally, 0, 40);
	/* It may lag behind by 50 ms, which is one more. */
	check(stats.watch_armed >= 40 && stats.watch_armed <= 20 * (tally.ns / 1e9) + 3 &&
		      stats.lost[CP_LOST_WATCH_RATE] > 0,
	      "watch: bounded per second", "%llu armed in %.1f s at 20/s, %llu refused",
	      stats.watch_armed, tally.ns / 1e9, stats.lost[CP_LOST_WATCH_RATE]);
}

static void idle(void *unused)
{
	for (;;)
		pause();
}

/* A debugger's watchpoints come first: we take what is left, and it keeps its own. */
void test_debugger(void)
{
	struct shared *shared = shared_make();
	struct tally tally = {};
	struct cp_stats stats;
	struct cp_watch watch = {
		.flags = CP_WATCH_LOAD_THEN_WRITE,
		.slots = 4,
		.per_second = 1000,
		.timeout_us = 20000,
	};
	pid_t pid = spawn(idle, NULL);
	long dr7 = 0;
	int status, held = 0;

	ptrace(PTRACE_ATTACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	for (int i = 0; i < 2; i++) {
		ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[i]),
		       (uint64_t)&shared->private_datum + 64 * i);
		dr7 |= 1l << 2 * i | 0xdl << (16 + 4 * i);
		held += !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), dr7);
	}
	stats = watched(pair, shared, watch, take, &tally, 30, 0);
	check(held == 2 && stats.watch_slots == 2 && tally.n > 10 && !tally.wrong,
	      "watch: beside a debugger",
	      "%d slots held by it, %u by us, %lu hits, %lu wrong, busy %llu", held,
	      stats.watch_slots, tally.n, tally.wrong, stats.lost[CP_LOST_WATCH_BUSY]);
	check(ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[7]), 0) != -1 &&
		      (ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[7]), 0) & 5) ==
			      5,
	      "watch: the debugger keeps its slots", "dr7 %lx",
	      ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[7]), 0));
	reap(pid);
}
