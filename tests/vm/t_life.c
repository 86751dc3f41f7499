// SPDX-License-Identifier: GPL-2.0-or-later
/* Ends of sessions, and foul play on the control page. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "cptest.h"

static void spin(void *unused)
{
	static uint64_t datum;

	asm volatile("1: movq (%0), %%rax\njmp 1b\n" : : "r"(&datum) : "rax", "memory");
}

static struct cp_source both = {
	.kind = CP_SOURCE_SOFT,
	.flags = CP_SOURCE_ACCESSES | CP_SOURCE_BURST | CP_SOURCE_JITTER,
	.type = 1,
	.period = 500000,
	.max_accesses = 4,
	.stack_bytes = 256,
	.chunk_bytes = 64,
	.depth = 2,
};

/* A PMU's events, of which each waits for the hotplug lock when it is made and freed. */
static struct cp_source counter = {
	.kind = CP_SOURCE_SOFT,
	.flags = CP_SOURCE_ACCESSES,
	.period = 1000000,
	.max_accesses = 1,
};

static struct cp_watch watch = {
	.flags = CP_WATCH_LOAD_THEN_WRITE | CP_WATCH_STORE_THEN_ACCESS,
	.slots = 2,
	.per_second = 1000,
	.timeout_us = 5000,
};

static struct cp_reader *busy_session(void)
{
	struct cp_reader *reader = session(0);

	if (cp_reader_source(reader, &both) || cp_reader_watch(reader, &watch) ||
	    cp_reader_start(reader)) {
		check(false, "busy session", "%s", strerror(errno));
		exit(1);
	}
	return reader;
}

static uint64_t samples(struct cp_reader *reader)
{
	struct cp_stats stats;

	cp_reader_stats(reader, &stats);
	return stats.samples;
}

static void spin_on_first(void *unused)
{
	pin(0);
	spin(NULL);
}

/*
 * A consumer on another CPU that waits for nothing sees each record as soon as the head
 * says that it is there.  Bytes that were not yet written then are 0 in the ring's first
 * turn, and any record's in later ones.
 */
static void whole(void)
{
	enum { BYTES = 1 << 16, ENOUGH = 2000, RING = 0 * CP_CONTEXTS + CP_CONTEXT_IRQ };
	pid_t pid = spawn(spin_on_first, NULL);
	uint64_t n = 0, wrong = 0, last_ns = 0, end_ns = now_ns() + LIMIT_S * 1000000000ull;
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_reader *reader;
	int err = cp_reader_create(CP_DEVICE, BYTES, 0, &reader);

	pin(1);
	if (err) {
		check(false, "tail: a record is whole when it is seen", "%s", strerror(-err));
		reap(pid);
		return;
	}
	err = cp_reader_target(reader, CP_TARGET_TGID, 0, pid)
		      ?: cp_reader_budget(reader, &budget)
		      ?: cp_reader_source(reader, &both)
		      ?: cp_reader_start(reader);
	while (!err && n < ENOUGH && now_ns() < end_ns) {
		const struct cp_record *record = cp_reader_next(reader, RING);

		if (!record)
			continue;
		n++;
		wrong += record->tgid != (uint32_t)pid || record->time_ns < last_ns ||
			 (record->type == CP_REC_ACCESS
				  ? record->size_bytes != sizeof(struct cp_access)
				  : record->type != CP_REC_SAMPLE ||
					    record->size_bytes <= sizeof(struct cp_sample));
		last_ns = record->time_ns;
	}
	check(!err && n >= ENOUGH && !wrong && !cp_reader_malformed(reader),
	      "tail: a record is whole when it is seen",
	      "%s, %lu records, %lu wrong, %lu times none where one was told of", strerror(-err), n,
	      wrong, cp_reader_malformed(reader));
	cp_reader_destroy(reader);
	reap(pid);
}

/* Records of two lengths, by how many registers point to memory. */
static void point(void *argument)
{
	memset(argument, 1, 7 * 4096);
	pin(0);
	asm volatile("movq %0, %%r12\n"
		     "1: movq %%r12, %%rax\nmovq $20000, %%rcx\n"
		     "2: decq %%rcx\njnz 2b\n"
		     "leaq 0x1000(%%r12), %%rax\nleaq 0x2000(%%r12), %%rbx\n"
		     "leaq 0x3000(%%r12), %%rdx\nleaq 0x4000(%%r12), %%rsi\n"
		     "leaq 0x5000(%%r12), %%rdi\nleaq 0x6000(%%r12), %%r8\n"
		     "movq $20000, %%rcx\n"
		     "3: decq %%rcx\njnz 3b\n"
		     "xorl %%ebx, %%ebx\nxorl %%edx, %%edx\nxorl %%esi, %%esi\n"
		     "xorl %%edi, %%edi\nxorl %%r8d, %%r8d\n"
		     "jmp 1b\n"
		     :
		     : "r"(argument)
		     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r12", "memory");
}

/*
 * A consumer that takes one record whenever the ring is full never finds more in it than it
 * holds, and each record as it was written: what ends the ring counts as taken, too.
 */
static void overtaken(void)
{
	enum { BYTES = CP_MIN_RING_BYTES, STEPS = 400, RING = 0 * CP_CONTEXTS + CP_CONTEXT_IRQ };
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 500000,
		.stack_bytes = 64,
		.chunk_bytes = CP_MAX_CHUNK_BYTES,
		.depth = 1,
	};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull, steps = 0, over = 0, wrong = 0;
	char *pages =
		mmap(NULL, 7 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile struct cp_ring_control *control;
	const uint8_t *data;
	struct cp_reader *reader;
	pid_t pid;
	int err = cp_reader_create(CP_DEVICE, BYTES, 0, &reader);

	pid = spawn(point, pages);
	pin(1);
	if (!err)
		err = cp_reader_target(reader, CP_TARGET_TGID, 0, pid)
			      ?: cp_reader_budget(reader, &budget)
			      ?: cp_reader_source(reader, &source)
			      ?: cp_reader_start(reader);
	control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, cp_reader_fd(reader),
		       CP_OFF_CONTROL(RING));
	data = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, cp_reader_fd(reader), CP_OFF_DATA(RING));
	while (!err && steps < STEPS && !wrong && now_ns() < end_ns) {
		const struct cp_record *record = (const void *)(data + control->tail % BYTES);
		uint64_t lost = control->lost[CP_LOST_RING_FULL];

		while (control->lost[CP_LOST_RING_FULL] == lost && now_ns() < end_ns)
			;
		over += control->head - control->tail > BYTES;
		wrong += record->size_bytes < 8 || record->size_bytes > BYTES ||
			 (record->type != CP_REC_PAD &&
			  (record->type != CP_REC_SAMPLE || record->tgid != (uint32_t)pid ||
			   record->period < source.period));
		__atomic_store_n(&control->tail, control->tail + record->size_bytes,
				 __ATOMIC_RELEASE);
		steps++;
	}
	check(!err && steps == STEPS && !over && !wrong, "tail: no record over an unread one",
	      "%s, %lu steps, %lu times more than the ring holds, %lu wrong records",
	      strerror(-err), steps, over, wrong);
	reap(pid);
	cp_reader_destroy(reader);
	munmap(pages, 7 * 4096);
}

static volatile bool woken;

static void *sleep_on(void *reader)
{
	struct pollfd fd = {.fd = cp_reader_fd(reader), .events = POLLIN};

	woken = poll(&fd, 1, -1) == 1;
	return NULL;
}

/* A session that has written more than the watermark, and then no more, has woken who waits. */
static void wakes(void)
{
	enum { WATERMARK = 4096 };
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull;
	pid_t pid = spawn(spin_on_first, NULL);
	struct cp_reader *reader;
	struct cp_stats stats = {};
	pthread_t sleeper;
	int err = cp_reader_create(CP_DEVICE, RING_BYTES, WATERMARK, &reader);

	if (!err)
		err = cp_reader_target(reader, CP_TARGET_TGID, 0, pid)
			      ?: cp_reader_source(reader, &both);
	pthread_create(&sleeper, NULL, sleep_on, reader);
	usleep(300000);
	err = err ?: cp_reader_start(reader);
	while (!err && stats.records * sizeof(struct cp_record) < 2 * WATERMARK &&
	       now_ns() < end_ns)
		cp_reader_stats(reader, &stats);
	cp_reader_stop(reader);
	while (!woken && now_ns() < end_ns)
		usleep(10000);
	check(!err && woken && !stats.lost[CP_LOST_RING_FULL], "tail: wakes at the watermark",
	      "%s, %llu records, %llu lost", strerror(-err), stats.records,
	      stats.lost[CP_LOST_RING_FULL]);
	pthread_cancel(sleeper);
	pthread_join(sleeper, NULL);
	reap(pid);
	cp_reader_destroy(reader);
}

void test_tail(void)
{
	struct cp_reader *reader = busy_session();
	uint32_t n = cp_reader_rings(reader);
	struct cp_ring_control *control[64] = {};
	uint64_t soon = now_ns() + 1500000000ull, end = now_ns() + LIMIT_S * 1000000000ull, before;
	struct cp_stats stats = {};
	pid_t pid = spawn(spin, NULL);

	for (uint32_t i = 0; i < n && i < 64; i++) {
		control[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				  cp_reader_fd(reader), CP_OFF_CONTROL(i));
		if (control[i] == MAP_FAILED)
			control[i] = NULL;
	}
	while (now_ns() < soon || (!stats.lost[CP_LOST_BAD_TAIL] && now_ns() < end)) {
		cp_reader_stats(reader, &stats);
		for (uint32_t i = 0; i < n && i < 64; i++) {
			uint64_t *word = (uint64_t *)control[i];

			if (!word)
				continue;
			for (int k = 0; k < 512; k++)
				word[k] = random() * 0x123456789ull << random() % 64;
		}
	}
	cp_reader_stats(reader, &stats);
	before = stats.records;
	/* Whatever was there: a sane tail makes it go on. */
	cp_reader_stop(reader);
	for (uint32_t i = 0; i < n && i < 64; i++)
		if (control[i])
			memset(control[i], 0, 4096);
	cp_reader_start(reader);
	for (uint32_t i = 0; i < n && i < 64; i++) {
		uint64_t seen;

		if (!control[i])
			continue;
		/* The module's own head comes back with its next record, if there is one. */
		usleep(20000);
		seen = control[i]->head;
		control[i]->tail = seen;
	}
	usleep(200000);
	cp_reader_stats(reader, &stats);
	check(stats.lost[CP_LOST_BAD_TAIL] > 0, "tail: scribbling loses records, no more",
	      "%llu bad tails, %llu records, %llu before", stats.lost[CP_LOST_BAD_TAIL],
	      stats.records, (unsigned long long)before);
	reap(pid);
	cp_reader_destroy(reader);
	whole();
	overtaken();
	wakes();
}

/* Keeps a running session until it is killed; says when it is there. */
void test_hold(void)
{
	struct cp_reader *reader = busy_session();

	printf("held %d\n", cp_reader_fd(reader));
	fflush(stdout);
	spin(NULL);
}

/* The same with the descriptor closed: only the mapping is left. */
void test_map(void)
{
	struct cp_reader *reader = busy_session();

	close(cp_reader_fd(reader));
	printf("mapped\n");
	fflush(stdout);
	spin(NULL);
}

/* Whether there are more samples than these, at the latest in LIMIT_S. */
static bool goes_on(struct cp_reader *reader, uint64_t *count)
{
	uint64_t before = *count, end = now_ns() + LIMIT_S * 1000000000ull;

	do {
		usleep(50000);
		*count = samples(reader);
		for (uint32_t i = 0; i < cp_reader_rings(reader); i++)
			while (cp_reader_next(reader, i))
				;
	} while (*count == before && now_ns() < end);
	return *count != before;
}

/*
 * Samples through whatever the shell does to the CPUs meanwhile, and when it has said
 * that it is over, with all CPUs that it has left.
 */
void test_load(void)
{
	enum { STEPS_AFTER = 10 };
	struct cp_reader *reader = session(0);
	uint64_t count = 0, steps = 0, end_ns;
	pid_t pid[2] = {spawn(spin, NULL), spawn(spin, NULL)};
	struct cp_stats stats;
	int after = 0;
	bool going;

	counter.type = pmu_type("standin");
	if (cp_reader_source(reader, &both) || cp_reader_source(reader, &counter) ||
	    cp_reader_watch(reader, &watch) || cp_reader_start(reader))
		check(false, "session of two sources", "%s", strerror(errno));
	going = goes_on(reader, &count);
	printf("sampling\n");
	fflush(stdout);
	while (going && after < STEPS_AFTER) {
		after += told();
		going = goes_on(reader, &count);
		steps++;
	}
	/* The events of a CPU that has come are made a little later. */
	end_ns = now_ns() + LIMIT_S * 1000000000ull;
	do {
		cp_reader_stats(reader, &stats);
	} while (stats.cpus_online != (uint32_t)get_nprocs() && now_ns() < end_ns);
	check(going && stats.cpus_online == (uint32_t)get_nprocs(), "hotplug: sampling goes on",
	      "%lu samples in %lu steps, %u CPUs of %d, missed %llu", count, steps,
	      stats.cpus_online, get_nprocs(), stats.watch_missed);
	for (int i = 0; i < 2; i++)
		reap(pid[i]);
	cp_reader_destroy(reader);
}

void test_spin(void)
{
	spin(NULL);
}
