// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows: who reads what who wrote, in programs of which that is known. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "t_watch.h"

enum { FAR_BYTES = 1 << 16, READERS = 2, MOST_BYTES = 4096, MOST_WINDOWS = 8192 };

struct shared {
	uint64_t datum __attribute__((aligned(4096)));
	volatile uint32_t ready __attribute__((aligned(4096)));
	volatile uint32_t writer_tid, reader_tid[READERS];
	volatile uint64_t after_store, after_load[READERS]; /* where the IP is then */
	volatile uint32_t turn;
	bool yields; /* others may run before each read */
};

static void pause_for(unsigned int turns)
{
	while (turns--)
		asm volatile("");
}

/* Stores at one place, loads at one place of each reader, at different paces. */
static void *produce(void *argument)
{
	struct shared *shared = argument;

	shared->writer_tid = syscall(SYS_gettid);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	asm volatile("leaq 1f(%%rip), %%rax\n"
		     "movq %%rax, %1\n"
		     "2: addq $1, %%rdx\n"
		     "movq %%rdx, (%0)\n"
		     "1: movl $3000, %%ecx\n"
		     "3: decl %%ecx\n"
		     "jnz 3b\n"
		     "jmp 2b\n"
		     :
		     : "r"(&shared->datum), "m"(shared->after_store)
		     : "rax", "rcx", "rdx", "memory");
	return NULL;
}

/*
 * Takes its time in an instruction from which samples go on to the load: so seldom a read
 * that one by a register of the window before comes late enough to meet the next watch.
 */
static void consume(struct shared *shared, unsigned int i, unsigned int bytes)
{
	static uint8_t capacity[READERS][MOST_BYTES];
	uint8_t *to = capacity[i];

	shared->reader_tid[i] = syscall(SYS_gettid);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	asm volatile("leaq 1f(%%rip), %%rax\n"
		     "movq %%rax, %2\n"
		     "2: movl %3, %%ecx\n"
		     "movq %0, %%rdi\n"
		     "rep stosb\n"
		     "movq (%1), %%rdx\n"
		     "1: jmp 2b\n"
		     :
		     : "r"(to), "r"(&shared->datum), "m"(shared->after_load[i]), "r"(bytes)
		     : "rax", "rcx", "rdx", "rdi", "memory");
}

static void *consume_slowly(void *argument)
{
	consume(argument, 1, MOST_BYTES);
	return NULL;
}

static void producer_and_consumers(void *argument)
{
	pthread_t thread;

	pthread_create(&thread, NULL, produce, argument);
	pthread_create(&thread, NULL, consume_slowly, argument);
	consume(argument, 0, MOST_BYTES / 2);
}

/* Reads for long, writes once, and does nothing for longer than a window. */
static void write_and_forget(void *argument)
{
	struct shared *shared = argument;

	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	asm volatile("1: movl $1000000, %%ecx\n"
		     "2: movq (%0), %%rdx\n"
		     "decl %%ecx\n"
		     "jnz 2b\n"
		     "movq %%rdx, (%0)\n"
		     "movl $3000000, %%ecx\n"
		     "3: decl %%ecx\n"
		     "jnz 3b\n"
		     "jmp 1b\n"
		     :
		     : "r"(&shared->datum)
		     : "rcx", "rdx", "memory");
}

static void never_written(void *argument)
{
	struct shared *shared = argument;

	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 1b\n"
		     :
		     : "r"(&shared->datum)
		     : "rax", "memory");
}

/*
 * A datum that goes to and fro: each of two threads reads it so often, then writes it and
 * lets the other go on.  Who writes next is mostly the reader itself, and never whose
 * value it reads.
 */
enum { OFTEN = 6, SELDOM = 2 };

static void migrate(struct shared *shared, uint32_t me, unsigned int reads)
{
	uint8_t capacity[512];

	shared->reader_tid[me] = syscall(SYS_gettid);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		while (shared->turn != me) {
			if (shared->yields)
				sched_yield();
			else
				pause_for(300);
		}
		for (unsigned int i = 0; i < reads; i++) {
			uint8_t *to = capacity;
			unsigned long bytes = sizeof(capacity);

			if (shared->yields)
				sched_yield();
			/* Samples of the first go on to the second. */
			asm volatile("rep stosb\n"
				     "movq (%2), %%rax\n"
				     : "+D"(to), "+c"(bytes)
				     : "r"(&shared->datum)
				     : "rax", "memory");
		}
		asm volatile("movq %%rsp, (%0)\n" : : "r"(&shared->datum) : "memory");
		shared->turn = !me;
	}
}

static void *migrate_seldom(void *argument)
{
	migrate(argument, 1, SELDOM);
	return NULL;
}

static void migratory(void *argument)
{
	pthread_t thread;

	pthread_create(&thread, NULL, migrate_seldom, argument);
	migrate(argument, 0, OFTEN);
}

/* On one CPU, where a stranger runs too: each turn is some switches. */
static void migratory_on_one_cpu(void *argument)
{
	struct shared *shared = argument;

	pin(0);
	shared->yields = true;
	migratory(shared);
}

static void be_a_stranger(void *unused)
{
	pin(0);
	for (;;)
		sched_yield();
}

/* Nothing but reads, as fast as it goes: every window fills up. */
static void producer_and_poller(void *argument)
{
	pthread_t thread;

	pthread_create(&thread, NULL, produce, argument);
	never_written(argument);
}

/* What a record may be wrong in. */
enum wrong {
	WRONG_DIRECTION, /* of the access */
	WRONG_TIME,
	WRONG_WRITER,  /* whose value it read */
	WRONG_THREAD,  /* that made the access, or where it did */
	WRONG_OPENING, /* not a write, or not the writer's */
	WRONGS
};

/* A window as its pairs tell it, and as its end does; they come in any order. */
struct opening {
	uint64_t opened_ns;
	uint32_t pairs, told;
	bool ended;
};

struct tally {
	struct shared *shared;
	uint32_t window_us;
	uint64_t windows, end[CP_WINDOW_END_STORM + 1];
	uint64_t reads, writes, told_reads, told_writes, missed;
	uint64_t reads_beside_writes; /* the reads, once a write was met, too */
	uint64_t wrong[WRONGS], unseen, most;
	uint64_t next;	      /* CP_REC_WATCH */
	uint64_t by[2][2];    /* pairs: reader, writer */
	uint64_t nexts[2][2]; /* "who writes next": reader, writer */
	uint64_t openings;
	struct opening opening[MOST_WINDOWS];
};

static uint64_t wrongs(const struct tally *tally)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < WRONGS; i++)
		all += tally->wrong[i];
	return all;
}

static int member(const struct shared *shared, uint32_t tid)
{
	return tid == shared->reader_tid[0] ? 0 : tid == shared->reader_tid[1] ? 1 : -1;
}

static struct opening *opening(struct tally *tally, uint64_t opened_ns)
{
	uint64_t i = 0;

	while (i < tally->openings && tally->opening[i].opened_ns != opened_ns)
		i++;
	if (i == MOST_WINDOWS)
		i--;
	else if (i == tally->openings)
		tally->opening[tally->openings++].opened_ns = opened_ns;
	return &tally->opening[i];
}

/* Windows whose pairs do not all say when it opened.  One is still open when all ends. */
static uint64_t torn(const struct tally *tally)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < tally->openings; i++)
		n += tally->opening[i].ended && tally->opening[i].pairs != tally->opening[i].told;
	return n;
}

static void take_pair(struct tally *tally, const struct cp_evidence *e)
{
	const struct shared *shared = tally->shared;
	bool write = e->second.flags & CP_ACCESS_WRITE;
	int reader = member(shared, e->head.tid), writer = member(shared, e->first_tid);

	tally->wrong[WRONG_DIRECTION] += write == !!(e->second.flags & CP_ACCESS_READ);
	tally->wrong[WRONG_TIME] += e->head.time_ns < e->armed_ns;
	opening(tally, e->armed_ns)->pairs++;
	if (write)
		tally->writes++;
	else
		tally->reads++;
	tally->reads_beside_writes = tally->writes ? tally->reads : 0;
	if (!e->first_tid)
		tally->unseen++;
	else {
		tally->wrong[WRONG_TIME] += e->first_ns > e->head.time_ns;
		tally->wrong[WRONG_WRITER] += !(e->first.flags & CP_ACCESS_WRITE);
	}
	if (!write && reader >= 0 && writer >= 0)
		tally->by[reader][writer]++;
}

static void take(const struct cp_record *record, void *argument)
{
	const struct cp_evidence *e = (const void *)record;
	const struct cp_window *window = (const void *)record;
	struct tally *tally = argument;
	const struct shared *shared = tally->shared;

	if (record->type == CP_REC_WATCH && e->first.addr == (uint64_t)&shared->datum) {
		int reader = member(shared, e->first_tid), writer = member(shared, record->tid);

		tally->next++;
		tally->wrong[WRONG_OPENING] += !(e->second.flags & CP_ACCESS_WRITE);
		if (reader >= 0 && writer >= 0)
			tally->nexts[reader][writer]++;
	}
	if (record->type == CP_REC_PAIR && e->second.addr == (uint64_t)&shared->datum)
		take_pair(tally, e);
	if (record->type != CP_REC_WINDOW || window->addr != (uint64_t)&shared->datum)
		return;
	tally->windows++;
	if (window->end <= CP_WINDOW_END_STORM)
		tally->end[window->end]++;
	tally->told_reads += window->reads;
	tally->told_writes += window->writes;
	tally->missed += window->missed;
	if (window->opened_ns) {
		struct opening *at = opening(tally, window->opened_ns);

		at->ended = true;
		at->told += window->reads + window->writes;
	}
	if (window->reads + window->writes > tally->most)
		tally->most = window->reads + window->writes;
	if (window->end == CP_WINDOW_END_TIME && window->opened_ns &&
	    window->closed_ns - window->opened_ns != tally->window_us * 1000ull)
		tally->wrong[WRONG_TIME]++;
}

/* The truth about a producer and two consumers, besides. */
static void take_known(const struct cp_record *record, void *argument)
{
	const struct cp_evidence *e = (const void *)record;
	struct tally *tally = argument;
	const struct shared *shared = tally->shared;

	take(record, argument);
	if (record->type == CP_REC_WATCH && e->second.addr == (uint64_t)&shared->datum)
		tally->wrong[WRONG_OPENING] +=
			e->second.flags & CP_ACCESS_WRITE && record->tid != shared->writer_tid;
	if (record->type != CP_REC_PAIR || e->second.addr != (uint64_t)&shared->datum)
		return;
	if (e->first_tid)
		tally->wrong[WRONG_WRITER] +=
			e->first_tid != shared->writer_tid || e->first.ip != shared->after_store;
	if (e->second.flags & CP_ACCESS_WRITE) {
		tally->wrong[WRONG_THREAD] +=
			record->tid != shared->writer_tid || e->second.ip != shared->after_store;
	} else {
		int i = member(shared, record->tid);

		tally->wrong[WRONG_THREAD] += i < 0 || e->second.ip != shared->after_load[i];
	}
}

static struct shared *shared_make(void)
{
	/* A thread's stack may come to lie just below, and data near one is its own. */
	uint8_t *capacity = mmap(NULL, FAR_BYTES + sizeof(struct shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return (struct shared *)(capacity + FAR_BYTES);
}

static struct cp_watch windows = {
	.flags = CP_WATCH_WINDOW,
	.slots = 1,
	.per_second = 1000,
	.timeout_us = 50000,
	.window_us = 2000,
};

static struct cp_stats watched(void (*body)(void *), uint32_t threads, struct tally *tally,
			       void (*on)(const struct cp_record *, void *),
			       struct watch_until *until)
{
	struct shared *shared = shared_make();
	struct cp_stats stats;
	pid_t pid;

	*tally = (struct tally){.shared = shared, .window_us = windows.window_us};
	pid = spawn(body, shared);
	while (shared->ready < threads)
		usleep(1000);
	stats = watch_until(session(pid), &windows, 1000000, on, tally, until);
	reap(pid);
	return stats;
}

/* Of two shares that are to be OFTEN to SELDOM: the sum of what each is off. */
static double off(uint64_t often, uint64_t seldom, uint64_t other)
{
	double all = often + seldom + other;

	return all ? __builtin_fabs(often / all - OFTEN / (double)(OFTEN + SELDOM)) +
			       __builtin_fabs(seldom / all - SELDOM / (double)(OFTEN + SELDOM)) +
			       other / all
		   : 2;
}

void test_windows(void)
{
	struct tally tally;
	struct watch_until until = {.hits = &tally.reads_beside_writes, .enough_hits = 200};
	struct cp_stats stats;

	windows.window_us = 300;
	stats = watched(producer_and_consumers, 3, &tally, take_known, &until);
	check(tally.reads >= 50 && tally.writes > 0 && !wrongs(&tally) && !torn(&tally) &&
		      tally.told_reads <= tally.reads && tally.told_writes <= tally.writes &&
		      tally.most <= CP_WINDOW_ACCESSES && tally.unseen <= tally.reads / 2,
	      "window: reads and their producer",
	      "%lu reads, %lu writes in %lu windows, wrong in direction %lu, time %lu, writer %lu, "
	      "thread %lu, opening %lu, %lu torn; %lu of a write not seen, %lu missed, ends: %lu "
	      "time, %lu "
	      "full, %lu unwritten, %lu stranger; %llu armed, %llu "
	      "foreign, %.1f s",
	      tally.reads, tally.writes, tally.windows, tally.wrong[WRONG_DIRECTION],
	      tally.wrong[WRONG_TIME], tally.wrong[WRONG_WRITER], tally.wrong[WRONG_THREAD],
	      tally.wrong[WRONG_OPENING], torn(&tally), tally.unseen, tally.missed,
	      tally.end[CP_WINDOW_END_TIME], tally.end[CP_WINDOW_END_FULL],
	      tally.end[CP_WINDOW_END_UNWRITTEN], tally.end[CP_WINDOW_END_STRANGER],
	      stats.watch_armed, stats.watch_foreign, until.ns / 1e9);

	until = (struct watch_until){.hits = &tally.end[CP_WINDOW_END_TIME], .enough_hits = 20};
	windows.window_us = 2000;
	watched(write_and_forget, 1, &tally, take, &until);
	check(tally.end[CP_WINDOW_END_TIME] >= 20 && !wrongs(&tally) &&
		      tally.reads + tally.writes <= tally.windows / 4,
	      "window: none is an answer", "%lu windows over in time, %lu of all, %lu reads",
	      tally.end[CP_WINDOW_END_TIME], tally.windows, tally.reads);

	until = (struct watch_until){.hits = &tally.end[CP_WINDOW_END_UNWRITTEN],
				     .enough_hits = 20};
	watched(never_written, 1, &tally, take, &until);
	check(tally.end[CP_WINDOW_END_UNWRITTEN] >= 20 && !tally.reads && !tally.writes,
	      "window: nobody wrote", "%lu of %lu, %lu reads", tally.end[CP_WINDOW_END_UNWRITTEN],
	      tally.windows, tally.reads);

	until = (struct watch_until){.hits = &tally.reads, .enough_hits = 600};
	windows.window_us = 200000;
	stats = watched(migratory, 2, &tally, take, &until);
	check(tally.reads >= 300 && !wrongs(&tally) && !torn(&tally) &&
		      tally.by[0][1] + tally.by[1][0] >= 4 * (tally.by[0][0] + tally.by[1][1]),
	      "window: a datum that goes to and fro",
	      "%lu reads by one thread and %lu by the other of the other's value, %lu of their "
	      "own, off by %.2f; who writes next says %lu, %lu and %lu: off by %.2f; %llu traps "
	      "and %lu windows, %lu torn, %lu full",
	      tally.by[0][1], tally.by[1][0], tally.by[0][0] + tally.by[1][1],
	      off(tally.by[0][1], tally.by[1][0], tally.by[0][0] + tally.by[1][1]),
	      tally.nexts[0][1], tally.nexts[1][0], tally.nexts[0][0] + tally.nexts[1][1],
	      off(tally.nexts[0][1], tally.nexts[1][0], tally.nexts[0][0] + tally.nexts[1][1]),
	      stats.watch_hits + stats.watch_foreign, tally.windows, torn(&tally),
	      tally.end[CP_WINDOW_END_FULL]);
}

/*
 * Over the cap a CPU's registers stay away from a task that comes on, and its writes are
 * not seen: no window outlives that.  On one CPU nothing else can hide a write.
 */
static void over_the_cap(void)
{
	enum { ENOUGH = 60 };
	struct tally tally = {.shared = shared_make(), .window_us = 1000000};
	struct cp_budget budget = {.cap_ppm = 50000, .entry_ns = 100000};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES,
		.type = 1,
		.period = 5000000,
		.max_accesses = 1,
	};
	struct cp_watch watch = windows;
	pid_t pid = spawn(migratory_on_one_cpu, tally.shared),
	      stranger = spawn(be_a_stranger, NULL);
	struct cp_reader *reader;
	struct cp_stats stats;

	while (tally.shared->ready < 2)
		usleep(1000);
	watch.window_us = tally.window_us;
	reader = session(pid);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	cp_reader_watch(reader, &watch);
	run_until(reader, 1000, take, &tally, &tally.reads, ENOUGH);
	cp_reader_stats(reader, &stats);
	check(tally.reads >= ENOUGH / 3 && !(tally.by[0][0] + tally.by[1][1]),
	      "window: over the cap no write is missed",
	      "%lu reads of the other's value, %lu of their own, %lu windows, %lu ended by the "
	      "cap, "
	      "%llu given up, %llu armed",
	      tally.by[0][1] + tally.by[1][0], tally.by[0][0] + tally.by[1][1], tally.windows,
	      tally.end[CP_WINDOW_END_BUDGET], stats.watch_missed, stats.watch_armed);
	cp_reader_destroy(reader);
	reap(stranger);
	reap(pid);
}

/* Every trap is charged, and the cap ends a window. */
void test_traps(void)
{
	enum { PERIOD_NS = 20000000, ENTRY_NS = 100000, TURN_MS = 500 };
	struct tally tally = {.shared = shared_make(), .window_us = windows.window_us};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM, .entry_ns = ENTRY_NS};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES,
		.type = 1,
		.period = PERIOD_NS,
		.max_accesses = 1,
	};
	struct cp_watch watch = windows;
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull, timers = 0;
	struct cp_reader *reader;
	struct cp_stats stats;
	pid_t pid = spawn(producer_and_poller, tally.shared);

	while (tally.shared->ready < 2)
		usleep(1000);
	reader = session(pid);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	cp_reader_watch(reader, &watch);
	do {
		uint64_t start_ns = now_ns();

		run(reader, TURN_MS, take, &tally);
		cp_reader_stats(reader, &stats);
		/* At most: an emulator's timers are late rather than early. */
		timers += get_nprocs() * ((now_ns() - start_ns) / PERIOD_NS + 1);
	} while (stats.watch_hits < 2 * timers && now_ns() < end_ns);
	check(stats.watch_hits >= 2 * timers && stats.interrupts >= stats.watch_hits &&
		      stats.charged_ns - stats.handler_ns >= stats.watch_hits * ENTRY_NS,
	      "window: every trap is charged",
	      "%llu handlers, %llu hits, %llu foreign, %llu armed, at most %lu timers, %llu us "
	      "charged, %llu us spent",
	      stats.interrupts, stats.watch_hits, stats.watch_foreign, stats.watch_armed, timers,
	      stats.charged_ns / 1000, stats.handler_ns / 1000);
	cp_reader_destroy(reader);

	/* Room for ten handlers in 100 ms, and a window has up to sixteen traps. */
	tally = (struct tally){.shared = tally.shared, .window_us = windows.window_us};
	budget.cap_ppm = 10000;
	reader = session(pid);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &source);
	cp_reader_watch(reader, &watch);
	end_ns = now_ns() + LIMIT_S * 1000000000ull;
	do {
		run(reader, TURN_MS, take, &tally);
	} while (tally.end[CP_WINDOW_END_BUDGET] < 10 && now_ns() < end_ns);
	cp_reader_stats(reader, &stats);
	check(tally.end[CP_WINDOW_END_BUDGET] >= 10, "window: the cap ends it",
	      "%lu of %lu windows, %llu refused", tally.end[CP_WINDOW_END_BUDGET], tally.windows,
	      stats.lost[CP_LOST_BUDGET]);
	cp_reader_destroy(reader);
	reap(pid);
	over_the_cap();
}
