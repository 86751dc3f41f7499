/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pace: joins a sampler, its target and the governor.  Reads the clocks, lets the
 * governor decide, sets the sampler's rate, and tells of both in the event stream:
 * RATE when a sample's weight changes, COST for what was spent.
 */
#ifndef COMM_PACE_H
#define COMM_PACE_H

#include "governor.h"
#include "inspect.h"
#include "sampler.h"

struct comm_pace;

struct comm_pace_config {
	const struct comm_sampler *sampler;
	void *handle; /* of the opened sampler */
	struct comm_target *target;
	struct comm_inspect
		*inspect; /* the live inspect, for its cost and its limits; NULL: none */
	double overhead;  /* share; 0: hold rate_hz */
	double floor;	  /* least budget, as a share of the time of all online CPUs; see pace.c */
	double daemon_cpu; /* most of the time of all online CPUs that the daemon may use while they are idle */
	double rate_hz;	     /* interrupts per second and busy CPU */
	double interrupt_ns; /* calibrated */
};

/* The least budget, in ns a second, of an overhead and of the floor of comm_pace_config. */
double comm_pace_floor_ns_per_s(double floor, double overhead);

/* Before the sampler starts: sets the first rate. */
int comm_pace_create(const struct comm_pace_config *config, struct comm_pace **ret);
void comm_pace_destroy(struct comm_pace *pace);

/*
 * Disabled, the sampler takes as good as no samples: a few may come, which are the caller's to
 * drop.  That time counts for nothing, neither what the target and we use in it, nor for the
 * governor: COMM_LOSS_DISABLED tells of it.  A new pace is enabled.  Call after a drain.
 */
int comm_pace_enable(struct comm_pace *pace, bool enable, uint64_t now_ns, comm_event_fn *push,
		     void *ctx);

/*
 * Another budget from now on, of a pace that has one, disabled or not; what was allowed up to now stays allowed.  Call
 * after a drain.  -EINVAL: the pace holds a rate.
 */
int comm_pace_allow(struct comm_pace *pace, double overhead, uint64_t now_ns, comm_event_fn *push,
		    void *ctx);

/* Call after each drain of the sampler; acts only when a tick is over. */
int comm_pace_tick(struct comm_pace *pace, uint64_t now_ns, comm_event_fn *push, void *ctx);
/*
 * So much of this process's CPU time since the last tick went into starting or stopping the sampler: told as setting
 * up, apart from the cost.
 */
void comm_pace_set_apart(struct comm_pace *pace, uint64_t cpu_ns);
/* Adds a cost to the target that the sampler does not count (companions) to the next tick: it may come in lumps. */
void comm_pace_charge(struct comm_pace *pace, uint64_t target_ns);
/* Adds CPU time of this process's children to its own of the next tick. */
void comm_pace_add_children(struct comm_pace *pace, uint64_t cpu_ns);
/*
 * How long to sleep until the next drain and tick, ms: 25..500; drained: how many events
 * the last drain gave.
 */
int comm_pace_sleep_ms(struct comm_pace *pace, int drained);

/*
 * How long to sleep instead where the next event ends the sleep, ms, if nothing comes and nothing has to be
 * done; 0: not at all, as events came of late or sampling is off.
 */
int comm_pace_wait_ms(const struct comm_pace *pace);

struct comm_pace_totals {
	uint64_t handler_ns, daemon_ns, daemon_idle_ns, target_ns, samples, interrupts;
	uint64_t allowed_ns; /* what the budget was; UINT64_MAX: there is none */
};

/* Totals since the start; the overhead of cost.h is (handler_ns + daemon_ns) / target_ns. */
void comm_pace_totals(const struct comm_pace *pace, struct comm_pace_totals *ret);

#endif
