// SPDX-License-Identifier: GPL-2.0-or-later
/* Ends of sessions, and foul play on the control page. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

void test_tail(void)
{
	struct cp_reader *reader = busy_session();
	uint32_t n = cp_reader_rings(reader);
	struct cp_ring_control *control[64] = {};
	uint64_t end = now_ns() + 1500000000ull, before;
	struct cp_stats stats;
	pid_t pid = spawn(spin, NULL);

	for (uint32_t i = 0; i < n && i < 64; i++) {
		control[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				  cp_reader_fd(reader), CP_OFF_CONTROL(i));
		if (control[i] == MAP_FAILED)
			control[i] = NULL;
	}
	while (now_ns() < end) {
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

/* Samples through whatever the shell does to the CPUs meanwhile. */
void test_load(void)
{
	struct cp_reader *reader = busy_session();
	uint64_t last = 0, steps = 0, stalls = 0;
	pid_t pid[2] = {spawn(spin, NULL), spawn(spin, NULL)};
	struct cp_stats stats;

	for (int i = 0; i < 10; i++) {
		uint64_t now;

		usleep(250000);
		now = samples(reader);
		steps++;
		stalls += now == last;
		last = now;
		for (uint32_t r = 0; r < cp_reader_rings(reader); r++)
			while (cp_reader_next(reader, r))
				;
	}
	cp_reader_stats(reader, &stats);
	/* While the shell takes CPUs away, how many there are is anyone's guess. */
	check(last > 100 && !stalls &&
		      stats.cpus_online >= (getenv("CP_ALL_CPUS") ? (uint32_t)get_nprocs() : 1u),
	      "hotplug: sampling goes on",
	      "%lu samples, %lu of %lu steps stood still, %u CPUs, "
	      "missed %llu",
	      last, stalls, steps, stats.cpus_online, stats.watch_missed);
	for (int i = 0; i < 2; i++)
		reap(pid[i]);
	cp_reader_destroy(reader);
}

void test_spin(void)
{
	spin(NULL);
}
