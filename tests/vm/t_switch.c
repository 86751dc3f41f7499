// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the module's probe adds to each switch of tasks: two processes on one CPU that
 * wait for each other, while nobody watches, while a session watches and has nothing
 * armed, and while all its watchpoints are armed for a third process, which is stopped.
 * By a clock that counts instructions (run.sh cost) a number of instructions; by any
 * other one a time that the host has a part in.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cptest.h"

enum { ROUNDS = 100, TURNS = 50, PERIOD_NS = 100000000 };

/* A module that has had a watcher keeps its probe: the first only once after loading. */
enum way { UNPROBED, UNARMED, ARMED, WAYS };

struct pipes {
	int there[2], back[2];
};

static void answer(void *argument)
{
	struct pipes *pipes = argument;
	char byte;

	pin(0);
	while (read(pipes->there[0], &byte, 1) == 1 && write(pipes->back[1], &byte, 1) == 1)
		;
}

static void read_on(void *unused)
{
	static uint64_t datum;

	asm volatile("1: movq (%0), %%rax\njmp 1b\n" : : "r"(&datum) : "rax", "memory");
}

/*
 * Nanoseconds of one switch and the system calls that cause it.  Whatever else ran, in all
 * rounds but the shortest: just booted, a kernel has much to do.
 */
static double switch_ns(void)
{
	uint64_t least_ns = UINT64_MAX, ns;
	struct pipes pipes;
	char byte = 0;
	pid_t pid;

	if (pipe(pipes.there) || pipe(pipes.back))
		return 0;
	pid = spawn(answer, &pipes);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start_ns = now_ns();

		for (int k = 0; k < TURNS; k++)
			if (write(pipes.there[1], &byte, 1) != 1 ||
			    read(pipes.back[0], &byte, 1) != 1)
				exit(1);
		ns = now_ns() - start_ns;
		if (ns < least_ns)
			least_ns = ns;
	}
	reap(pid);
	for (int i = 0; i < 2; i++) {
		close(pipes.there[i]);
		close(pipes.back[i]);
	}
	return least_ns / (2. * TURNS); /* to the other, and back */
}

void test_switch(void)
{
	struct cp_watch watch = {
		.flags = CP_WATCH_LOAD_THEN_WRITE,
		.slots = CP_MAX_SLOTS,
		.per_second = 1000,
		.timeout_us = UINT32_MAX,
	};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES,
		.type = 1,
		.period = PERIOD_NS,
		.max_accesses = 1,
	};
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull;
	pid_t pid = spawn(read_on, NULL);
	struct cp_stats stats = {};
	struct cp_reader *reader;
	double ns[WAYS];

	pin(0);
	kill(pid, SIGSTOP);
	ns[UNPROBED] = switch_ns();
	reader = session(pid);
	if (cp_reader_source(reader, &source) || cp_reader_watch(reader, &watch) ||
	    cp_reader_start(reader))
		check(false, "cost: a switch of tasks", "no session");
	ns[UNARMED] = switch_ns();
	kill(pid, SIGCONT);
	while (stats.watch_armed < CP_MAX_SLOTS && now_ns() < end_ns) {
		usleep(10000);
		cp_reader_stats(reader, &stats);
	}
	kill(pid, SIGSTOP);
	ns[ARMED] = switch_ns();
	cp_reader_stats(reader, &stats);
	check(stats.watch_armed == CP_MAX_SLOTS && !stats.watch_hits && ns[UNPROBED] > 0 &&
		      ns[UNARMED] > 0 && ns[ARMED] > 0,
	      "cost: a switch of tasks",
	      "%.0f ns with its system calls, %+.0f with a watcher, %+.0f with %llu watchpoints "
	      "armed for another process",
	      ns[UNPROBED], ns[UNARMED] - ns[UNPROBED], ns[ARMED] - ns[UNPROBED],
	      stats.watch_armed);
	cp_reader_destroy(reader);
	reap(pid);
}
