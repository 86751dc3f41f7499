// SPDX-License-Identifier: GPL-2.0-or-later
#include "pace.h"
#include "clock.h"
#include "idle_time.h"
#include "priority.h"

#include "trigger.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NSEC_PER_SEC 1e9

enum {
	SLEEP_MS = 100,
	SLEEP_QUIET_MS = 250, /* few events come: fewer than QUIET_EVENTS in a drain */
	SLEEP_IDLE_MS = 500,  /* none come */
	QUIET_EVENTS = 64,
	SLEEP_BUSY_MS = 25,
	WAIT_MS = 1000, /* when none have come for so long; then as long again, */
	WAIT_MOST_MS = 30 * 1000,
	BUSY_PERIOD_NS = 250 * 1000,
	ASK_NS = 1000 * 1000 * 1000,
	ASK_IDLE_NS = 2000 * 1000 * 1000,
	PARKED_MOST_NS = 400 * 1000 * 1000,
	NS_PER_MS = 1000 * 1000,
	DISABLED_MS = 10,
	DISABLED_EVENTS = 1000, /* at once, after whatever halt of the daemon */
};

/* From the start on, setting up is reported apart; what comes later is cost like any other. */
static const uint64_t setup_most_ns = 5000000000u;
/* The share of the CPUs' time that is idle from which on this process yields; it goes on to half of that. */
static const double yield_at = 0.25;
/* From then on reading the target's files is limited: it must be when its cost counts. */
static const uint64_t limit_reading_ns = 4500000000u;

struct comm_pace {
	struct comm_pace_config config;
	struct comm_sampler_info info;
	struct comm_governor governor;
	struct comm_sampler_rate rate;
	struct comm_sampler_stats stats; /* of the sampler at the last tick */
	uint64_t start_ns, tick_ns, daemon_ns, target_ns;
	double floor_ns_per_s; /* of the governor */
	double floor;	       /* of COST events: asking how many CPUs there are reads a file */
	struct comm_idle_time idle;
	uint64_t charged_ns, children_ns; /* since the last tick */
	uint64_t setup_ns, setup_own_ns;  /* as the inspect view said at the last tick */
	uint64_t setup_before_ns; /* spent before the start, or set apart, in no COST event yet */
	uint64_t reading_ns;	  /* as the governor said */
	uint64_t asked_ns, machine_switches;
	double machine_switches_per_s;
	uint64_t *seen_ns;
	uint8_t *park;
	bool told_rate, is_paused, is_disabled, yields;
	uint64_t disabled_ns, told_disabled_ns; /* since when, and until when that is told */
	uint64_t seen_from_ns;			/* where targets are is known since then */
	int sleep_ms;
	uint64_t now_ns, came_ns; /* of the last drain, and of the last that gave anything */
	struct comm_pace_totals totals;
};

/* Returns whether any CPU's period has to change. */
static bool park(struct comm_pace *p, uint64_t now_ns)
{
	/* Only switch events tell at once that a target has come to a CPU. */
	uint8_t deepest = p->rate.switches ? COMM_PARK_DEEP_SHIFT : COMM_PARK_SHIFT;
	bool changed = false;
	unsigned int i;

	if (!p->park)
		return false;
	p->config.sampler->seen(p->config.handle, p->seen_ns);
	for (i = 0; i < p->info.n_cpus; i++) {
		uint8_t shift = comm_governor_park(now_ns, p->seen_ns[i], p->seen_from_ns);

		if (shift > deepest)
			shift = deepest;
		/* A target that runs now and then must be met by the first samples. */
		while (shift && p->rate.period << shift > PARKED_MOST_NS)
			shift--;
		changed |= shift != p->park[i];
		p->park[i] = shift;
	}
	return changed;
}

static void apply(struct comm_pace *p, const struct comm_governor_output *out)
{
	p->rate.period = out->period;
	p->rate.lines = out->lines;
	p->rate.switches = out->switches;
	p->rate.tick_every = out->tick_every;
	p->rate.strangers_per_s = out->strangers_per_s;
	p->rate.hooks_off = out->hooks_off;
	p->reading_ns = out->reading_ns;
	p->is_paused = out->paused;
}

/*
 * Context switches of the whole machine, by any process: each calls our BPF program,
 * if that is attached.  Read once a second, because /proc/stat is long.
 */
static double machine_switches_per_s(struct comm_pace *p, uint64_t now_ns)
{
	char *line = NULL;
	size_t capacity = 0;
	uint64_t n = 0;
	FILE *file;

	if (p->asked_ns && p->asked_ns != p->start_ns &&
	    now_ns - p->asked_ns < (p->sleep_ms < SLEEP_IDLE_MS ? ASK_NS : ASK_IDLE_NS))
		return p->machine_switches_per_s;
	file = fopen("/proc/stat", "re");
	if (!file)
		return 0;
	while (getline(&line, &capacity, file) > 0)
		if (sscanf(line, "ctxt %" SCNu64, &n) == 1)
			break;
	free(line);
	fclose(file);
	if (p->asked_ns && now_ns > p->asked_ns)
		p->machine_switches_per_s =
			(double)(n - p->machine_switches) * 1e9 / (double)(now_ns - p->asked_ns);
	p->machine_switches = n;
	p->asked_ns = now_ns;
	return p->machine_switches_per_s;
}

/*
 * The least budget.  Never more than the budget of a target that keeps one CPU busy: on a
 * large machine a share of all CPUs is many times the overhead that was asked for.
 */
double comm_pace_floor_ns_per_s(double floor, double overhead)
{
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);

	return NSEC_PER_SEC * fmin(floor * cpus, overhead);
}

/* Of the budget; the governor wants some at least. */
static void set_floor(struct comm_pace *p)
{
	double ns_per_s = comm_pace_floor_ns_per_s(p->config.floor, p->config.overhead);
	struct comm_governor_config governor;

	comm_governor_defaults(false, &governor);
	p->floor = ns_per_s / NSEC_PER_SEC;
	p->floor_ns_per_s = fmax(governor.floor_ns_per_s, ns_per_s);
}

int comm_pace_create(const struct comm_pace_config *config, struct comm_pace **ret)
{
	struct comm_governor_config governor;
	struct comm_governor_output out;
	struct comm_pace *p;
	int rc;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->idle.fd = -1;
	p->config = *config;
	config->sampler->info(config->handle, &p->info);
	if (config->sampler->seen && p->info.per_cpu) {
		p->seen_ns = calloc(p->info.n_cpus, sizeof(*p->seen_ns));
		p->park = calloc(p->info.n_cpus, sizeof(*p->park));
		rc = -ENOMEM;
		if (!p->seen_ns || !p->park)
			goto fail;
		p->rate.park = p->park;
	}
	comm_governor_defaults(p->info.trigger == COMM_TRIGGER_TIME, &governor);
	governor.overhead = config->overhead;
	set_floor(p);
	governor.floor_ns_per_s = p->floor_ns_per_s;
	governor.daemon_ns_per_s =
		NSEC_PER_SEC * config->daemon_cpu * (double)sysconf(_SC_NPROCESSORS_ONLN);
	comm_idle_time_open(&p->idle);
	p->sleep_ms = SLEEP_MS;
	governor.tick_ns = p->info.ticks ? comm_trigger_tick_ns() : 0;
	if (config->rate_hz > 0)
		governor.interrupts_per_s = config->rate_hz;
	governor.interrupt_ns = config->interrupt_ns;
	p->start_ns = p->seen_from_ns = p->tick_ns = comm_clock_now_ns();
	p->now_ns = p->came_ns = p->start_ns;
	governor.seed ^= p->start_ns;
	comm_governor_init(&p->governor, &governor, p->start_ns, &out);
	apply(p, &out);
	park(p, p->start_ns);
	rc = config->sampler->set_rate(config->handle, &p->rate);
	if (rc)
		goto fail;
	config->sampler->stats(config->handle, &p->stats);
	p->target_ns = comm_target_cpu_ns(config->target);
	machine_switches_per_s(p, p->start_ns);
	p->daemon_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	p->setup_before_ns = p->daemon_ns;
	if (config->inspect) {
		p->setup_ns = comm_inspect_live_setup_ns(config->inspect);
		p->setup_own_ns = comm_inspect_live_own_ns(config->inspect);
		p->setup_before_ns += p->setup_ns - p->setup_own_ns;
	}
	*ret = p;
	return 0;
fail:
	comm_pace_destroy(p);
	return rc;
}

void comm_pace_destroy(struct comm_pace *p)
{
	if (!p)
		return;
	comm_idle_time_close(&p->idle);
	free(p->seen_ns);
	free(p->park);
	free(p);
}

static void tell_rate(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct comm_event event = {.kind = COMM_EV_RATE, .time_ns = now_ns};

	event.trigger = p->info.trigger;
	event.period = p->rate.period;
	push(ctx, &event);
	p->told_rate = true;
}

/*
 * Takes one-time work out of the daemon's CPU time of a tick, which has this process's part
 * of it: reading symbols at first sight would otherwise starve the first samples.  After the
 * start adds the children's part instead: new files must not cost more than the budget has.
 */
static uint64_t take_setup(struct comm_pace *p, uint64_t now_ns, uint64_t *daemon_ns)
{
	uint64_t told_ns = p->setup_before_ns, setup_ns, own_ns, all_ns, once_ns;

	p->setup_before_ns = 0;
	if (!p->config.inspect)
		return told_ns;
	setup_ns = comm_inspect_live_setup_ns(p->config.inspect);
	own_ns = comm_inspect_live_own_ns(p->config.inspect);
	all_ns = setup_ns - p->setup_ns;
	once_ns = own_ns - p->setup_own_ns;
	p->setup_ns = setup_ns;
	p->setup_own_ns = own_ns;
	if (now_ns - p->start_ns < setup_most_ns) {
		*daemon_ns -= once_ns < *daemon_ns ? once_ns : *daemon_ns;
		return told_ns + all_ns;
	}
	p->children_ns += all_ns - once_ns;
	return told_ns;
}

/* Also takes what files have cost since: children that go on reading are paid for meanwhile. */
static void allow_reading(struct comm_pace *p, uint64_t now_ns)
{
	bool is_limited = now_ns - p->start_ns >= limit_reading_ns;

	if (p->config.inspect)
		comm_inspect_live_allow(p->config.inspect, is_limited ? p->reading_ns : UINT64_MAX);
}

static void tell_pause(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	const struct comm_event event = {
		.time_ns = now_ns,
		.kind = COMM_EV_LOSS,
		.cause = COMM_LOSS_PAUSED,
		.count = (now_ns - p->tick_ns) / 1000000,
	};

	if (p->is_paused)
		push(ctx, &event);
}

/* The budget of a tick, as governor.c has it. */
static uint64_t allowed_ns(const struct comm_pace *p, uint64_t target_ns, uint64_t elapsed_ns)
{
	return (uint64_t)fmax(p->config.overhead * (double)target_ns,
			      p->floor_ns_per_s * (double)elapsed_ns / NSEC_PER_SEC);
}

/* The part of this process's time since the last tick that delayed nobody. */
static double yield(struct comm_pace *p, uint64_t used_ns)
{
	double idle = comm_idle_time_share(&p->idle, used_ns);

	if (idle >= yield_at || idle < yield_at / 2)
		p->yields = comm_priority_yield(idle >= yield_at);
	return p->yields ? idle : 0;
}

static void tick(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx,
		 struct comm_governor_output *out)
{
	struct comm_event event = {.kind = COMM_EV_COST, .time_ns = now_ns};
	struct comm_governor_input in = {.now_ns = now_ns};
	struct comm_sampler_stats stats;
	uint64_t daemon_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t target_ns = comm_target_cpu_ns(p->config.target);

	allow_reading(p, now_ns);
	tell_pause(p, now_ns, push, ctx);
	p->config.sampler->stats(p->config.handle, &stats);
	in.interrupts = stats.interrupts - p->stats.interrupts;
	in.drained = stats.drained - p->stats.drained;
	in.hits = stats.hits - p->stats.hits;
	in.tick_hits = stats.tick_hits - p->stats.tick_hits;
	in.handler_ns = stats.handler_ns - p->stats.handler_ns;
	in.lumps_ns = p->charged_ns;
	p->charged_ns = 0;
	in.switches = stats.switches - p->stats.switches;
	in.switches_out = stats.switches_out - p->stats.switches_out;
	in.switch_ns = stats.switch_ns - p->stats.switch_ns;
	in.life_ns = stats.life_ns - p->stats.life_ns;
	for (unsigned int i = 0; i < COMM_HOOKS; i++)
		in.hook_ns[i] = stats.hook_ns[i] - p->stats.hook_ns[i];
	in.daemon_ns = daemon_ns - p->daemon_ns;
	event.cost.setup_ns = take_setup(p, now_ns, &in.daemon_ns);
	in.daemon_idle_ns = (uint64_t)(yield(p, daemon_ns - p->daemon_ns) * (double)in.daemon_ns);
	in.daemon_ns -= in.daemon_idle_ns;
	/* They do not yield. */
	in.daemon_ns += p->children_ns;
	p->children_ns = 0;
	in.target_ns = target_ns - p->target_ns;
	in.machine_switches_per_s = machine_switches_per_s(p, now_ns);
	comm_governor_held(&p->governor, stats.period);
	comm_governor_tick(&p->governor, &in, out);

	event.cost.handler_ns = out->handler_ns;
	event.cost.daemon_ns = in.daemon_ns;
	event.cost.daemon_idle_ns = in.daemon_idle_ns;
	event.cost.target_ns = in.target_ns;
	event.cost.samples = stats.samples - p->stats.samples;
	event.cost.limit = p->config.overhead;
	event.cost.floor = p->floor;
	push(ctx, &event);
	p->totals.allowed_ns += allowed_ns(p, in.target_ns, now_ns - p->tick_ns);
	p->totals.handler_ns += event.cost.handler_ns;
	p->totals.daemon_ns += event.cost.daemon_ns;
	p->totals.daemon_idle_ns += event.cost.daemon_idle_ns;
	p->totals.target_ns += event.cost.target_ns;
	p->totals.samples += event.cost.samples;
	p->totals.interrupts += in.interrupts;
	p->stats = stats;
	p->daemon_ns = daemon_ns;
	p->target_ns = target_ns;
	p->tick_ns = now_ns;
}

/* In steps, so that each slice of time gets its own part: none is shorter than DISABLED_MS. */
static void tell_disabled(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	uint64_t left_ms = (now_ns - p->told_disabled_ns) / NS_PER_MS;
	uint64_t step_ms = fmax(DISABLED_MS, left_ms / DISABLED_EVENTS);
	struct comm_event event = {.kind = COMM_EV_LOSS, .cause = COMM_LOSS_DISABLED};

	for (; left_ms; left_ms -= event.count) {
		event.count = left_ms < step_ms ? left_ms : step_ms;
		p->told_disabled_ns += event.count * NS_PER_MS;
		event.time_ns = p->told_disabled_ns;
		push(ctx, &event);
	}
}

/* What is left when a run must go on: the life cycle. */
static int disable(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct comm_governor_output out;
	struct comm_sampler_rate off;

	tick(p, now_ns, push, ctx, &out);
	apply(p, &out);
	p->disabled_ns = p->told_disabled_ns = now_ns;
	off = p->rate;
	off.period = comm_governor_paused(&p->governor);
	off.switches = false;
	off.lines = false;
	off.tick_every = 0;
	off.park = NULL;
	return p->config.sampler->set_rate(p->config.handle, &off);
}

static int enable(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	uint64_t setup_ns = p->config.inspect ? comm_inspect_live_setup_ns(p->config.inspect) : 0;

	tell_disabled(p, now_ns, push, ctx);
	comm_governor_skip(&p->governor, now_ns - p->disabled_ns);
	p->start_ns += now_ns - p->disabled_ns;
	p->seen_from_ns = p->tick_ns = now_ns;
	p->charged_ns = p->children_ns = 0;
	p->told_rate = false;
	p->config.sampler->stats(p->config.handle, &p->stats);
	p->target_ns = comm_target_cpu_ns(p->config.target);
	p->daemon_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (p->config.inspect) {
		p->setup_before_ns += setup_ns - p->setup_ns;
		p->setup_ns = setup_ns;
		p->setup_own_ns = comm_inspect_live_own_ns(p->config.inspect);
	}
	park(p, now_ns);
	return p->config.sampler->set_rate(p->config.handle, &p->rate);
}

int comm_pace_enable(struct comm_pace *p, bool wanted, uint64_t now_ns, comm_event_fn *push,
		     void *ctx)
{
	if (wanted == !p->is_disabled)
		return 0;
	p->is_disabled = !wanted;
	return wanted ? enable(p, now_ns, push, ctx) : disable(p, now_ns, push, ctx);
}

int comm_pace_allow(struct comm_pace *p, double overhead, uint64_t now_ns, comm_event_fn *push,
		    void *ctx)
{
	struct comm_governor_output out;
	int err;

	if (!(p->config.overhead > 0))
		return -EINVAL;
	/* Whoever writes commands may write the same one for ever. */
	if (overhead == p->config.overhead)
		return 0;
	/* In less than that the governor sees nothing. */
	if (!p->is_disabled && now_ns - p->tick_ns > NS_PER_MS)
		tick(p, now_ns, push, ctx, &out);
	p->config.overhead = overhead;
	set_floor(p);
	comm_governor_allow(&p->governor, overhead, p->floor_ns_per_s, &out);
	apply(p, &out);
	if (p->is_disabled)
		return 0;
	err = p->config.sampler->set_rate(p->config.handle, &p->rate);
	if (out.new_period)
		tell_rate(p, now_ns, push, ctx);
	return err;
}

int comm_pace_tick(struct comm_pace *p, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct comm_governor_output out;
	bool set;

	p->now_ns = now_ns;
	if (p->is_disabled) {
		tell_disabled(p, now_ns, push, ctx);
		return 0;
	}
	if (!p->told_rate)
		tell_rate(p, now_ns, push, ctx);
	set = park(p, now_ns);
	if (now_ns - p->tick_ns >= COMM_GOVERNOR_TICK_NS) {
		struct comm_sampler_rate before = p->rate;

		tick(p, now_ns, push, ctx, &out);
		apply(p, &out);
		set |= out.new_period || before.switches != p->rate.switches ||
		       before.lines != p->rate.lines || before.tick_every != p->rate.tick_every ||
		       before.strangers_per_s != p->rate.strangers_per_s ||
		       before.hooks_off != p->rate.hooks_off;
		/* The period of a pause is no sample's weight. */
		if (out.new_period && !out.paused)
			tell_rate(p, now_ns, push, ctx);
	}
	return set ? p->config.sampler->set_rate(p->config.handle, &p->rate) : 0;
}

void comm_pace_set_apart(struct comm_pace *p, uint64_t cpu_ns)
{
	p->setup_before_ns += cpu_ns;
	p->daemon_ns += cpu_ns;
}

void comm_pace_charge(struct comm_pace *p, uint64_t target_ns)
{
	p->charged_ns += target_ns;
}

void comm_pace_add_children(struct comm_pace *p, uint64_t cpu_ns)
{
	p->children_ns += cpu_ns;
}

/*
 * Waking up is most of what the daemon costs beside an idle target.  Longer than this is
 * of no use, and the rings must hold what a target does that begins to work meanwhile.
 */
int comm_pace_sleep_ms(struct comm_pace *p, int drained)
{
	int most_ms = drained ? SLEEP_QUIET_MS : SLEEP_IDLE_MS;

	if (drained)
		p->came_ns = p->now_ns;
	if (p->info.trigger == COMM_TRIGGER_TIME && p->rate.period < BUSY_PERIOD_NS)
		return p->sleep_ms = SLEEP_BUSY_MS;
	if (drained >= QUIET_EVENTS)
		return p->sleep_ms = SLEEP_MS;
	p->sleep_ms = 2 * p->sleep_ms < most_ms ? 2 * p->sleep_ms : most_ms;
	return p->sleep_ms;
}

/* In a pause nothing comes, whatever the target does, and only a tick ends it. */
int comm_pace_wait_ms(const struct comm_pace *p)
{
	uint64_t quiet_ms = (p->now_ns - p->came_ns) / NS_PER_MS;

	if (quiet_ms < WAIT_MS || p->is_paused || p->is_disabled)
		return 0;
	return quiet_ms < WAIT_MOST_MS ? (int)quiet_ms : WAIT_MOST_MS;
}

void comm_pace_totals(const struct comm_pace *p, struct comm_pace_totals *ret)
{
	*ret = p->totals;
	if (!(p->config.overhead > 0))
		ret->allowed_ns = UINT64_MAX;
}
