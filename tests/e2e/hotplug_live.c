// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU goes and comes back while the sources bpf and perf sample: its threads are sampled again.  It takes the
 * second CPU from whoever has it, so it is for virtual machines (tests/vm) alone.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "live_session.h"

#define ONLINE "/sys/devices/system/cpu/cpu1/online"

enum { CPU = 1, LIMIT_S = 120, MANY = 20, GONE_US = 3000000 };

static uint64_t n_there, since_ns;

/* A line as tests/vm reads it. */
static void tell(bool is_right, const char *source, const char *what)
{
	printf("%s hotplug: %s %s # %llu samples\n", is_right ? "ok" : "not ok", source, what,
	       (unsigned long long)n_there);
	n_failed += !is_right;
}

static bool put(const char *text)
{
	FILE *f = fopen(ONLINE, "w");
	bool done = f && fputs(text, f) >= 0;

	if (f && fclose(f))
		done = false;
	return done;
}

static void see_there(void *ctx, const struct comm_event *e)
{
	see(ctx, e);
	n_there += e->kind == COMM_EV_SAMPLE && e->cpu == CPU && e->time_ns > since_ns;
}

/* A thread that is bound to a CPU is let loose when that goes. */
static void bind_to_cpu(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(CPU, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

/* Whether there are samples of the CPU, from now on. */
static bool is_sampled(struct session *s, pid_t pid, struct seen *seen)
{
	uint64_t begin_ns = comm_clock_now_ns();

	bind_to_cpu(pid);
	n_there = 0;
	since_ns = begin_ns;
	while (n_there < MANY && comm_clock_now_ns() - begin_ns < LIMIT_S * 1000000000ULL) {
		usleep(50000);
		s->sampler->drain(s->handle, see_there, seen);
	}
	return n_there >= MANY;
}

static void check_source(const char *name)
{
	const struct comm_source *source = comm_source_find(name);
	/* Without ticks, which go on whatever happens to the events. */
	const struct comm_sampler_rate rate = {.period = 10000000};
	pid_t pid = start_child(spinner);
	struct seen seen = {0};
	struct session s;

	if (!started(&s, source, pid, 0, 100)) {
		tell(false, name, "can be had");
		end_child(pid);
		return;
	}
	s.sampler->set_rate(s.handle, &rate);
	tell(is_sampled(&s, pid, &seen), name, "samples the second CPU");
	if (put("0"))
		usleep(GONE_US);
	s.sampler->drain(s.handle, see_there, &seen);
	tell(put("1") && is_sampled(&s, pid, &seen), name,
	     "samples it again when it has been away");
	tell(put("0") && put("1") && is_sampled(&s, pid, &seen), name,
	     "samples it again when nobody saw it go");
	tell(!seen.loss[COMM_LOSS_CPUS], name, "lost no event by that");
	end(&s);
	end_child(pid);
}

int main(void)
{
	setlinebuf(stdout);
	if (access(ONLINE, W_OK)) {
		puts("skip hotplug: sources # no CPU can go");
		return 0;
	}
	check_source("perf");
	check_source("bpf");
	return n_failed ? 1 : 0;
}
