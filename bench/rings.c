// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the rings of the BPF source cost and lose: on each CPU two processes that pass a
 * byte to and fro, or one that computes, are sampled at HZ while their context switches
 * are traced.  Prints one line: the BPF programs' time per switch and per sample, and
 * how many of both were lost.  Two builds are compared by running them in turns.
 *	rings HZ SECONDS
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "source.h"

enum { DRAIN_US = 25000, SPIN_ROUNDS = 3000 };

static void see(void *ctx, const struct comm_event *event)
{
	((uint64_t *)ctx)[event->kind]++;
}

static void pass(int from, int to)
{
	volatile long spin;
	char byte = 0;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		for (spin = 0; spin < SPIN_ROUNDS; spin++)
			;
	_exit(0);
}

/* Two processes on one CPU; they end with their parent. */
static void load(int cpu)
{
	int there[2], back[2];
	cpu_set_t set;
	char byte = 0;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || pipe(there) || pipe(back) ||
	    write(there[1], &byte, 1) != 1)
		exit(1);
	for (int i = 0; i < 2; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pass(i ? back[0] : there[0], i ? there[1] : back[1]);
	}
}

int main(int argc, char **argv)
{
	struct comm_sampler_config config = comm_sampler_defaults;
	const struct comm_sampler *sampler = comm_source_find("bpf")->sampler;
	uint64_t n[64] = {0}, end_ns;
	struct comm_sampler_stats stats;
	struct comm_sampler_rate rate = {.switches = true, .lines = true};
	void *handle;
	char *err = NULL;
	pid_t pid;

	if (argc != 3 || !(rate.period = (uint64_t)(1e9 / strtod(argv[1], NULL)))) {
		fputs("usage: rings HZ SECONDS\n", stderr);
		return 2;
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
			load(cpu);
		pause();
	}
	usleep(200000);
	comm_target_create(COMM_TARGET_PIDS, true, &config.target);
	if (comm_target_add_pid(config.target, (uint32_t)pid, &err) ||
	    sampler->open(&config, &handle, &err) || sampler->set_rate(handle, &rate) ||
	    sampler->start(handle, &err)) {
		fprintf(stderr, "rings: %s\n", err ? err : "cannot start");
		return 1;
	}
	end_ns = comm_clock_now_ns() + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	while (comm_clock_now_ns() < end_ns) {
		usleep(DRAIN_US);
		sampler->drain(handle, see, n);
	}
	sampler->stop(handle);
	sampler->drain(handle, see, n);
	sampler->stats(handle, &stats);
	printf("%lu switches %.0f ns each, %lu lost; %lu samples %.0f ns each, %lu lost\n",
	       stats.switches_out, (double)stats.switch_ns / (double)stats.switches_out,
	       stats.loss[COMM_LOSS_SCHED], stats.hits,
	       (double)stats.handler_ns / (double)stats.hits, stats.loss[COMM_LOSS_RING]);
	kill(pid, SIGKILL);
	return 0;
}
