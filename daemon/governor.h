/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The governor: keeps what profiling costs below a share of the CPU time that the
 * target uses.  Pure: no clock, no file, no thread; the same inputs give the same
 * outputs.
 *
 * Each tick it gets the cost of profiling and the CPU time of the target as inputs.
 * It scales the period by spent/allowed (damped), which finds the right rate whatever
 * part of the cost goes with the samples and whatever part is fixed.  A bucket
 * carries debt forward in full and savings only for half a second, so the budget
 * holds over any window of some seconds, and a target that wakes up does not get a
 * burst of interrupts.
 *
 * This follows costs that change slowly.  Besides, what was spent beyond the budget is added up;
 * when that is much, sampling pauses.
 *
 * What the daemon uses of idle CPUs delays nobody (priority.h), and has a bound of its own.
 *
 * Where the scheduler's ticks can be samples they come first, before interrupts of
 * our own are paid for; if even they are too dear, one in several is a sample.
 */
#ifndef COMM_GOVERNOR_H
#define COMM_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hook.h"

enum {
	COMM_GOVERNOR_TICK_NS = 200 * 1000 * 1000, /* interval of comm_governor_tick(), about */
	COMM_PARK_SHIFT = 3,	  /* a CPU without target: its period is 8 times longer */
	COMM_PARK_DEEP_SHIFT = 6, /* after some seconds: 64 times */
};

struct comm_governor_config {
	double overhead;	 /* share, 0.01 is 1 %; 0: hold interrupts_per_s */
	double interrupts_per_s; /* per busy CPU, with overhead 0 */
	double interrupt_ns;	 /* calibrated, calibrate.h */
	double sample_ns;	 /* a first guess at the daemon's work per sample, the first ones */
	double floor_ns_per_s;	 /* cost allowed even if the target is idle */
	double daemon_ns_per_s;	 /* most that the daemon may use of idle CPUs; 0: no bound */
	uint64_t period;	 /* at the start; 0: derived from the budget */
	uint64_t min_period, max_period;
	bool period_is_time; /* ns; else instructions */
	uint64_t tick_ns;    /* between a busy CPU's ticks; 0: ticks cannot be samples */
	uint64_t seed;	     /* of the jitter's random numbers */
};

/* Fills in all but overhead, for a period in ns or in instructions. */
void comm_governor_defaults(bool period_is_time, struct comm_governor_config *ret);

/* What happened since the last tick; the scheduler's ticks are called tick_hits and the like. */
struct comm_governor_input {
	uint64_t now_ns;
	uint64_t interrupts; /* on all CPUs, without the scheduler's ticks */
	uint64_t drained;    /* of these, records that came with another's interrupt */
	uint64_t hits;	     /* interrupts and ticks that met a target */
	uint64_t tick_hits;
	uint64_t handler_ns; /* our code in interrupts and ticks */
	uint64_t switches;   /* of targets' threads, reported or not */
	uint64_t switches_out;
	double machine_switches_per_s; /* of all processes: each would call our BPF program */
	uint64_t switch_ns;	       /* our code for reported switches; 0: not measured */
	uint64_t life_ns;	       /* our code in forks, execs, exits and mappings */
	uint64_t hook_ns[COMM_HOOKS];  /* and in hooks, calls included */
	uint64_t lumps_ns;	 /* of what bounds itself by a part of the budget: much at once */
	uint64_t daemon_ns;	 /* CPU time of the daemon, that others wanted */
	uint64_t daemon_idle_ns; /* and that nobody else wanted */
	uint64_t target_ns;	 /* CPU time of the target */
};

struct comm_governor_output {
	uint64_t period; /* jittered, a prime */
	bool new_period; /* period differs: set it */
	bool switches;	 /* report switches; false: do not even trace them */
	bool lines;
	bool paused;		 /* the period is one that takes no samples */
	unsigned int tick_every; /* one in so many ticks is a sample; 0: none */
	/* Forks and execs of threads that no sample met to report per second; UINT32_MAX: all. */
	uint32_t strangers_per_s;
	uint32_t hooks_off;  /* bits by enum comm_hook */
	uint64_t handler_ns; /* cost of the tick just over, without the daemon's CPU time */
	/* CPU time that may go into reading the target's files until the next tick; UINT64_MAX: all */
	uint64_t reading_ns;
};

struct comm_governor {
	struct comm_governor_config config;
	uint64_t start_ns, last_ns, set_ns, period, rng, ticks, off_ns, retry_ns;
	double nominal;
	/* Smoothed, per second. */
	double interrupt_cost, entry_cost, switch_cost, life_cost, daemon_cost, lump_cost;
	double daemon_idle;
	double target_rate, switch_rate;
	double tick_share; /* share of tick_hits in hits */
	double credit_ns;
	double over_ns;	 /* spent beyond what was allowed */
	double lumps_ns; /* that count as spent later */
	unsigned int tick_every;
	uint32_t strangers_per_s;
	struct comm_hook_state hook[COMM_HOOKS];
	uint64_t ticks_set_ns;
	bool switches, paused;
};

void comm_governor_init(struct comm_governor *governor, const struct comm_governor_config *config,
			uint64_t now_ns, struct comm_governor_output *ret);
void comm_governor_tick(struct comm_governor *governor, const struct comm_governor_input *input,
			struct comm_governor_output *ret);

/*
 * Another budget from the last tick on, of a governor that has one: the period follows at once, as far as the old
 * one was right.
 */
void comm_governor_allow(struct comm_governor *governor, double overhead, double floor_ns_per_s,
			 struct comm_governor_output *ret);

/* A period that takes no samples. */
uint64_t comm_governor_paused(const struct comm_governor *governor);

/* The ns from the last tick on count for nothing: sampling was disabled. */
void comm_governor_skip(struct comm_governor *governor, uint64_t ns);

/* The sampler did not take the period it was given: this one is in effect. */
void comm_governor_held(struct comm_governor *governor, uint64_t period);

/*
 * How much longer the period of a CPU should be on which a target was last seen
 * at seen_ns (0: never), as a shift.
 */
uint8_t comm_governor_park(uint64_t now_ns, uint64_t seen_ns, uint64_t start_ns);

/* The first prime from n on. */
uint64_t comm_governor_prime(uint64_t n);

#endif
