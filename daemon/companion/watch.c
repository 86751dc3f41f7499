// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The companion that watches data for the next writes by any thread (--watch), beside
 * samplers that do not watch by themselves: its share of the budget, and its
 * statistics.  The watchpoints themselves are watchpoint.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "companion.h"
#include "options.h"
#include "sampler.h"
#include "watchpoint.h"

/*
 * Share of the budget that watches may take.  With so much of it, kernels' errors by the estimator are
 * what they were with a tenth (docs/watched.md), and services' flows come to be stated.
 */
static const double SHARE = 0.3;
/* What was not spent of it is kept for so long, twice that at most: not for after an idle hour. */
static const uint64_t KEPT_NS = 1000 * 1000 * 1000;
/*
 * Debug registers that are set cost a target time that nothing tells, though they never trap: of three servers
 * 0 to 5 % while any is set (docs/overhead.md).  So they are set in no more of the time than that many times
 * the budget's share: at 5 % that costs as much as the budget.  Who asks for watches has them.
 */
static const double SET_PER_OVERHEAD = 20;

struct watch {
	struct comm_watchpoints *points;
	uint64_t budget_ns, spent_ns; /* as of the last turn */
	/* The budget as of KEPT_NS ago, or up to twice that, and as of a time since then. */
	uint64_t old_budget_ns, since_ns, since_budget_ns;
	double credit_ns;
	double set_share; /* of the time, in which registers may be set */
	double set_credit_ns;
	uint64_t turn_ns, set_ns; /* as of the last turn */
};

static int watch_open(const struct comm_companion_config *config, void **ret, char **err)
{
	const struct comm_options *options = config->options;
	const struct comm_watchpoint_config points = {
		.target = config->target,
		.per_s = options->watch_per_s,
		.slots = options->debug_registers,
		.datum_bytes = options->granularity_bytes,
		.trap_ns = config->interrupt_ns,
		.trigger = config->trigger,
		.is_shared = config->is_shared,
		.shared_ctx = config->shared_ctx,
	};
	struct watch *w;
	char *why = NULL;
	int rc;

	if (!points.per_s || config->sampler->watches ||
	    (!options->watch_given && !(options->overhead > 0)))
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->set_share = options->watch_given ? 1 : SET_PER_OVERHEAD * options->overhead;
	rc = comm_watchpoint_create(&points, &w->points, &why);
	if (!rc) {
		*ret = w;
		return 0;
	}
	free(w);
	if (options->watch_given) {
		*err = why;
		return rc;
	}
	if (asprintf(err, "nothing is watched: %s", why ? why : strerror(-rc)) < 0)
		*err = NULL;
	free(why);
	return 0;
}

static void watch_close(void *companion)
{
	struct watch *w = companion;

	comm_watchpoint_destroy(w->points);
	free(w);
}

static void watch_burst(void *companion, const struct comm_event *event,
			const struct comm_burst *burst)
{
	comm_watchpoint_offer(((struct watch *)companion)->points, event, burst);
}

static void watch_drain(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	comm_watchpoint_collect(((struct watch *)companion)->points, now_ns, push, ctx);
}

/* Both are sums since the start of the run. */
static bool may_begin(struct watch *w, uint64_t now_ns, uint64_t budget_ns, uint64_t spent_ns)
{
	if (now_ns - w->since_ns >= KEPT_NS) {
		w->old_budget_ns = w->since_budget_ns;
		w->since_budget_ns = budget_ns;
		w->since_ns = now_ns;
	}
	w->credit_ns +=
		SHARE * (double)(budget_ns - w->budget_ns) - (double)(spent_ns - w->spent_ns);
	w->credit_ns = fmin(w->credit_ns, SHARE * (double)(budget_ns - w->old_budget_ns));
	w->budget_ns = budget_ns;
	w->spent_ns = spent_ns;
	return w->credit_ns > 0;
}

/* set_ns: time with any register set, since the start of the run.  What was not used is kept as may_begin() does. */
static bool may_set(struct watch *w, uint64_t now_ns, uint64_t set_ns)
{
	if (w->turn_ns)
		w->set_credit_ns +=
			w->set_share * (double)(now_ns - w->turn_ns) - (double)(set_ns - w->set_ns);
	w->set_credit_ns = fmin(w->set_credit_ns, w->set_share * (double)KEPT_NS);
	w->turn_ns = now_ns;
	w->set_ns = set_ns;
	return w->set_credit_ns >= 0;
}

static void watch_turn(void *companion, uint64_t now_ns, uint64_t budget_ns)
{
	struct watch *w = companion;
	struct comm_watchpoint_stats stats;
	bool may = true;

	comm_watchpoint_stats(w->points, &stats);
	if (budget_ns != UINT64_MAX) {
		may = may_begin(w, now_ns, budget_ns, stats.trap_ns + stats.own_ns);
		may &= may_set(w, now_ns, stats.set_ns);
	}
	comm_watchpoint_arm(w->points, now_ns, may);
}

static int watch_turn_ms(const void *companion)
{
	return comm_watchpoint_turn_ms(((const struct watch *)companion)->points);
}

static uint64_t watch_cost_ns(const void *companion)
{
	struct comm_watchpoint_stats stats;

	comm_watchpoint_stats(((const struct watch *)companion)->points, &stats);
	return stats.trap_ns;
}

static void watch_say(const void *companion, FILE *out)
{
	struct comm_watchpoint_stats stats;

	comm_watchpoint_stats(((const struct watch *)companion)->points, &stats);
	fprintf(out,
		"  watches: %" PRIu64 " begun, %" PRIu64 " saw a write, %" PRIu64
		" saw none in time; "
		"%" PRIu64 " traps, %" PRIu64 " of them of other processes; %.1f s with any set, "
		"%.1f ms of the target's time, %.1f ms of "
		"commd's\n",
		stats.armed, stats.hits, stats.expired, stats.traps, stats.foreign,
		(double)stats.set_ns / 1e9, (double)stats.trap_ns / 1e6,
		(double)stats.own_ns / 1e6);
}

const struct comm_companion comm_companion_watch = {
	.title = "watchpoints (--watch)",
	.probe = comm_watchpoint_probe,
	.open = watch_open,
	.burst = watch_burst,
	.drain = watch_drain,
	.turn = watch_turn,
	.turn_ms = watch_turn_ms,
	.cost_ns = watch_cost_ns,
	.say = watch_say,
	.close = watch_close,
};
