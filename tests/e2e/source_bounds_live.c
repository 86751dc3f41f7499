// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live checks of the bounds of the sources: what does not fit into a ring is counted as lost, what is told is bounded
 * beside targets that do too much, and a budget is kept. What sources tell is source_live.c's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "live_session.h"

static const struct comm_source *bpf, *perf;

/* The name is read when it has been told of, so a thread that renames itself in a loop is told of once a drain. */
static void test_renaming(void)
{
	pid_t pid = start_child(renaming);
	uint64_t from = comm_clock_now_ns(), drains = 0;
	struct seen seen = {0};
	struct session s;

	if (started(&s, bpf, pid, 0, 200)) {
		while (seen.n[COMM_EV_RENAME] < 5 && comm_clock_now_ns() - from < 60000000000ULL) {
			usleep(50000);
			s.sampler->drain(s.handle, see, &seen);
			drains++;
		}
		s.sampler->stop(s.handle);
		printf("# %lu renamings in %lu drains\n", (unsigned long)seen.n[COMM_EV_RENAME],
		       (unsigned long)drains);
		/* A drain begins the next four before it reads the last. */
		check(seen.n[COMM_EV_RENAME] > 1 && seen.n[COMM_EV_RENAME] <= 4 * (drains + 1) &&
			      !seen.loss[COMM_LOSS_LIFE],
		      "of a thread that renames itself in a loop four records a drain come at "
		      "most");
	}
	end(&s);
	end_child(pid);
}

/* Drains until so many samples have come, for a minute at most. */
static void sample_more(struct session *s, struct seen *seen, uint64_t samples)
{
	uint64_t from_ns = comm_clock_now_ns(), least = seen->n[COMM_EV_SAMPLE] + samples;

	while (seen->n[COMM_EV_SAMPLE] < least && comm_clock_now_ns() - from_ns < 60000000000ULL) {
		usleep(50000);
		s->sampler->drain(s->handle, see, seen);
	}
}

/* The time of our code in a hook, calls included: it stands still where no program is called. */
static uint64_t hook_ns(struct session *s, enum comm_hook hook)
{
	struct comm_sampler_stats stats;

	s->sampler->stats(s->handle, &stats);
	return stats.hook_ns[hook];
}

/* Some calls still come after a program is detached.  True: what happens again and again calls none any more. */
static bool stands_still(struct session *s, enum comm_hook hook, void (*happens)(struct session *s))
{
	uint64_t from_ns = comm_clock_now_ns(), before_ns;

	do {
		before_ns = hook_ns(s, hook);
		happens(s);
		if (hook_ns(s, hook) == before_ns)
			return true;
	} while (comm_clock_now_ns() - from_ns < 60000000000ULL);
	return false;
}

static void samples_come(struct session *s)
{
	struct seen seen = {0};

	s->sampler->drain(s->handle, see, &seen);
	sample_more(s, &seen, 10);
}

/* Without room in the budget no renaming calls a program, and names come with samples. */
static void test_names_off(void)
{
	struct comm_sampler_rate rate = {.period = 5000000, .hooks_off = 1U << COMM_HOOK_NAMES};
	uint64_t off_ns = 0, names = 0, on_ns = 0;
	pid_t pid = start_child(renaming);
	struct seen seen = {0};
	bool is_still = false;
	struct session s;

	if (started(&s, bpf, pid, 0, 200)) {
		sample_more(&s, &seen, 5);
		s.sampler->set_rate(s.handle, &rate);
		s.sampler->drain(s.handle, see, &seen);
		is_still = stands_still(&s, COMM_HOOK_NAMES, samples_come);
		off_ns = hook_ns(&s, COMM_HOOK_NAMES);
		names = seen.n[COMM_EV_RENAME];
		sample_more(&s, &seen, 5);
		names = seen.n[COMM_EV_RENAME] - names;
		rate.hooks_off = 0;
		s.sampler->set_rate(s.handle, &rate);
		sample_more(&s, &seen, 5);
		on_ns = hook_ns(&s, COMM_HOOK_NAMES);
		s.sampler->stop(s.handle);
	}
	check(off_ns && is_still, "names off: no renaming calls a program");
	check(names > 1, "names off: samples tell new names");
	check(seen.loss[COMM_LOSS_NAMES] == 1, "names off: it is counted once");
	check(on_ns > off_ns, "names on again: renaming is noticed");
	end(&s);
	end_child(pid);
}

/* With no drain, each event that does not fit into the rings is counted. */
static void test_losses(void)
{
	pid_t pid = start_child(spinner);
	struct seen seen = {0};
	struct session s;
	struct comm_sampler_stats stats;

	if (started(&s, bpf, pid, 0, 15000)) {
		uint64_t from = comm_clock_now_ns();

		do {
			usleep(200000);
			s.sampler->stats(s.handle, &stats);
		} while (stats.hits < 7000 && comm_clock_now_ns() - from < 20000000000ULL);
		s.sampler->stop(s.handle);
		s.sampler->drain(s.handle, see, &seen);
		s.sampler->stats(s.handle, &stats);
		printf("# %lu samples in the ring, %lu lost\n",
		       (unsigned long)seen.n[COMM_EV_SAMPLE],
		       (unsigned long)seen.loss[COMM_LOSS_RING]);
		check(seen.n[COMM_EV_SAMPLE] == stats.samples, "what was written can be read");
		if (!seen.loss[COMM_LOSS_RING] && seen.n[COMM_EV_SAMPLE] < 5500)
			skip("a full ring is counted", "too few samples to fill it");
		else
			check(seen.loss[COMM_LOSS_RING] > 0, "a full ring is counted");
	}
	end(&s);
	end_child(pid);
}

/* Waits until an event was lost, for a minute at most: a busy machine takes its time. */
static bool wait_for_loss(struct session *s, enum comm_loss cause)
{
	uint64_t from = comm_clock_now_ns();
	struct comm_sampler_stats stats;

	do {
		usleep(100000);
		s->sampler->stats(s->handle, &stats);
	} while (!stats.loss[cause] && comm_clock_now_ns() - from < 60000000000ULL);
	return stats.loss[cause];
}

/* Lost switches and life-cycle events are counted, as is each turning-off of switches. */
static void test_event_losses(void)
{
	pid_t pid = start_child(restless);
	struct comm_sampler_rate rate = {.period = 1000000, .switches = true};
	struct seen seen = {0};
	struct session s;

	if (started(&s, bpf, pid, 0, 10)) {
		check(wait_for_loss(&s, COMM_LOSS_LIFE),
		      "a full ring of the life cycle is counted");
		check(wait_for_loss(&s, COMM_LOSS_SCHED), "a full ring of switches is counted");
		s.sampler->drain(s.handle, see, &seen);
		check(seen.loss[COMM_LOSS_LIFE] && seen.loss[COMM_LOSS_SCHED] &&
			      !seen.loss[COMM_LOSS_BUDGET],
		      "and both are told");
		for (int i = 0; i < 4; i++) {
			rate.switches = i % 2;
			s.sampler->set_rate(s.handle, &rate);
			s.sampler->drain(s.handle, see, &seen);
		}
		check(seen.loss[COMM_LOSS_BUDGET] == 2, "times without switches are counted");
		s.sampler->stop(s.handle);
	}
	end(&s);
	end_child(pid);
}

/* Of perf's rings each kind of records counts what it lost: of switches and forks none is a sample. */
static void test_perf_losses(void)
{
	pid_t pid = start_child(restless);
	struct seen seen = {0};
	struct session s;

	if (started(&s, perf, pid, 0, 10)) {
		bool lost = false;

		/* A ring tells of what it lost when there is room again. */
		for (int i = 0; i < 120 && !lost; i++) {
			usleep(500000);
			if (i % 8 == 7)
				s.sampler->drain(s.handle, see, &seen);
			lost = seen.loss[COMM_LOSS_SCHED] || seen.loss[COMM_LOSS_SHARED_RING];
		}
		s.sampler->stop(s.handle);
		s.sampler->drain(s.handle, see, &seen);
		printf("# perf: lost %lu switches, %lu samples, %lu of the life cycle, %lu of "
		       "unknown kinds\n",
		       (unsigned long)seen.loss[COMM_LOSS_SCHED],
		       (unsigned long)seen.loss[COMM_LOSS_RING],
		       (unsigned long)seen.loss[COMM_LOSS_LIFE],
		       (unsigned long)seen.loss[COMM_LOSS_SHARED_RING]);
		check(lost, "perf: what a full ring had no room for is counted");
		check(seen.loss[COMM_LOSS_RING] <= seen.loss[COMM_LOSS_SCHED] / 10,
		      "perf: and switches are no samples");
	}
	end(&s);
	end_child(pid);
}

enum { MET = 1, ENDED = 2, PIDS_MAX = 4 << 20 };

static uint8_t fate[PIDS_MAX]; /* by tgid */

static void meet(void *ctx, const struct comm_event *e)
{
	see(ctx, e);
	if (e->kind == COMM_EV_SAMPLE)
		fate[e->tgid] |= MET;
	else if (e->kind == COMM_EV_EXIT)
		fate[e->tgid] |= ENDED;
}

static int met_without_end(void)
{
	int n = 0;

	for (size_t i = 0; i < PIDS_MAX; i++)
		n += fate[i] == MET;
	return n;
}

/* CPU time of a process and the children that it waited for. */
static double family_cpu_ns(pid_t pid)
{
	unsigned long v[4] = {0};
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
		   &v[0], &v[1], &v[2], &v[3]) != 4)
		v[0] = 0;
	fclose(f);
	return (double)(v[0] + v[1] + v[2] + v[3]) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

/*
 * In a storm of forks few are told of, the rest is counted; but of what was sampled the end
 * is told, and the CPU time of all that ended is the target's.
 */
static void test_strangers(void)
{
	enum { PER_S = 2 };
	struct comm_sampler_rate rate = {.period = 1000000, .strangers_per_s = PER_S};
	double used_ns = 0, counted_ns = 0, seconds = 0;
	pid_t pid = start_child(parent_of_many);
	struct seen seen = {0};
	struct session s;
	uint64_t from_ns;

	if (started(&s, bpf, pid, 0, 1000)) {
		s.sampler->set_rate(s.handle, &rate);
		counted_ns = -(double)comm_target_cpu_ns(s.target);
		used_ns = -family_cpu_ns(pid);
		from_ns = comm_clock_now_ns();
		while (seconds < 4 || (seen.n[COMM_EV_SAMPLE] < 100 && seconds < 60)) {
			usleep(50000);
			s.sampler->drain(s.handle, meet, &seen);
			seconds = (double)(comm_clock_now_ns() - from_ns) / 1e9;
		}
		counted_ns += (double)comm_target_cpu_ns(s.target);
		used_ns += family_cpu_ns(pid);
		end_child(pid);
		usleep(500000); /* until the last child has ended */
		s.sampler->stop(s.handle);
		s.sampler->drain(s.handle, meet, &seen);
	}
	printf("# %lu forks told and %lu left out in %.1f s, %lu samples, %.2f of the CPU time\n",
	       (unsigned long)seen.n[COMM_EV_FORK], (unsigned long)seen.loss[COMM_LOSS_STRANGERS],
	       seconds, (unsigned long)seen.n[COMM_EV_SAMPLE], counted_ns / used_ns);
	check(seen.loss[COMM_LOSS_STRANGERS] > 0, "forks left out are counted");
	/* Those before set_rate() are not bounded. */
	check((double)seen.n[COMM_EV_FORK] < (PER_S + 1) * (seconds + 2) + 50,
	      "and few are told of");
	printf("# %d sampled without an end\n", met_without_end());
	check(met_without_end() <= 1, "the end of what was sampled is told");
	check(fabs(counted_ns / used_ns - 1) < 0.2,
	      "the CPU time of ended children is the target's");
	end(&s);
}

/* Without room in the budget first writes of pages are not told, which is counted. */
static void test_touches_off(void)
{
	pid_t pid = start_child(spinner);
	struct comm_sampler_rate rate = {.period = 100000000, .lines = true};
	struct seen seen = {0};
	struct session s;

	if (started(&s, bpf, pid, 0, 10)) {
		s.sampler->drain(s.handle, see, &seen);
		check(!seen.loss[COMM_LOSS_TOUCH], "first writes of pages are told");
		for (int i = 0; i < 4; i++) {
			rate.lines = i % 2;
			s.sampler->set_rate(s.handle, &rate);
		}
		s.sampler->drain(s.handle, see, &seen);
		check(seen.loss[COMM_LOSS_TOUCH] == 1,
		      "that they are not any more is counted once");
		s.sampler->stop(s.handle);
	}
	end(&s);
	end_child(pid);
}

/* The least budget is a share of all CPUs, but no more than one busy CPU would allow. */
static void test_floor(void)
{
	static const double floors[] = {0.002, 0.5};
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	pid_t pid = start_child(sleeper);

	for (int i = 0; i < 2; i++) {
		double share = fmin(floors[i] * cpus, 0.01), ratio;
		struct comm_pace_totals totals = {0};
		struct seen seen = {0};
		uint64_t from_ns, to_ns;
		struct session s;

		if (!started(&s, bpf, pid, 0.01, 0))
			continue;
		comm_pace_destroy(s.pace);
		comm_pace_create(&(struct comm_pace_config){.sampler = s.sampler,
							    .handle = s.handle,
							    .target = s.target,
							    .overhead = 0.01,
							    .floor = floors[i],
							    .interrupt_ns = 15000},
				 &s.pace);
		from_ns = comm_clock_now_ns();
		watch(&s, &seen, 1.5, 0);
		/* Up to now but for less than a tick, however long the last drain took. */
		to_ns = comm_clock_now_ns();
		comm_pace_tick(s.pace, to_ns, see, &seen);
		comm_pace_totals(s.pace, &totals);
		ratio = (double)totals.allowed_ns / (share * (double)(to_ns - from_ns));
		printf("# allowed %.2f of the floor\n", ratio);
		check(ratio > 0.5 && ratio < 1.01, "an idle target has a least budget");
		end(&s);
	}
	end_child(pid);
}

/* What a hypervisor took of all CPUs: timers fire in it, but no thread is told of it as CPU time. */
static double stolen_s(void)
{
	FILE *f = fopen("/proc/stat", "r");
	double jiffies = 0;

	if (!f)
		return 0;
	if (fscanf(f, "cpu %*f %*f %*f %*f %*f %*f %*f %lf", &jiffies) != 1)
		jiffies = 0;
	fclose(f);
	return jiffies / (double)sysconf(_SC_CLK_TCK);
}

static void test_budget(void)
{
	pid_t pid = start_child(spinner);
	struct seen seen = {0};
	struct comm_sampler_stats stats;
	struct comm_sampler_info info;
	struct session s;
	double spent, cpu_ns, seconds;

	if (started(&s, bpf, pid, 0.01, 0)) {
		uint64_t before = comm_target_cpu_ns(s.target);
		uint64_t from_ns = comm_clock_now_ns();
		double stolen = stolen_s();

		watch(&s, &seen, 6, 0);
		stolen = stolen_s() - stolen;
		seconds = (double)(comm_clock_now_ns() - from_ns) / 1e9;
		cpu_ns = (double)(comm_target_cpu_ns(s.target) - before);
		spent = (seen.handler_ns + seen.daemon_ns) / seen.target_ns;
		printf("# spent %.2f %% of 1 %%\n", 100 * spent);
		/* A daemon that only looks costs some 1 ms in a second: much for a starved target. */
		check(seen.handler_ns + seen.daemon_ns <
			      0.0105 * seen.target_ns + 0.002 * 1e9 * seconds,
		      "the budget is kept");
		s.sampler->info(s.handle, &info);
		s.sampler->stats(s.handle, &stats);
		printf("# %lu samples in %lu interrupts and %lu ticks stand for %.2f of %.2f s, "
		       "%.2f stolen\n",
		       (unsigned long)seen.n[COMM_EV_SAMPLE], (unsigned long)stats.interrupts,
		       (unsigned long)stats.tick_hits, seen.period_ns / 1e9, cpu_ns / 1e9, stolen);
		/* Of a busy CPU ticks meet those more often that are not done before the next. */
		check(seen.period_ns > 0.75 * cpu_ns &&
			      seen.period_ns < 1.33 * cpu_ns + 1e9 * stolen,
		      "periods add up to the target's CPU time under a budget, too");
		if (info.ticks)
			check(stats.tick_hits > 0, "ticks are samples");
		else
			skip("ticks are samples", "they cannot be met on this kernel");
	}
	end(&s);
	end_child(pid);
}

int main(void)
{
	char *why = NULL;

	bpf = comm_source_find("bpf");
	perf = comm_source_find("perf");
	test_perf_losses();
	if (bpf->probe(&why)) {
		skip("everything with BPF", why ? why : "not permitted");
		free(why);
		return n_failed ? 1 : 0;
	}
	test_renaming();
	test_names_off();
	test_losses();
	test_event_losses();
	test_touches_off();
	test_strangers();
	test_floor();
	test_budget();
	return n_failed ? 1 : 0;
}
