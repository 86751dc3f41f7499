// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor.h"

#include <comm/comm.h>

#include <math.h>
#include <string.h>

#define NSEC_PER_SEC 1e9

/*
 * Part of the budget that is really spent: the cost is underestimated where a clock
 * reads late, and by the cache misses that an interrupt causes.  Threads that do
 * nothing but read a clock lose 1.05 to 1.4 times what is accounted for
 * (bench/bench.sh gaps).
 */
static const double SAFETY = 0.8;
static const double SMOOTH = 0.4;  /* weight of the last tick in the smoothed costs */
static const double DAMPING = 0.6; /* exponent of the correction */
static const double CREDIT_S = 0.5;
static const double DEBT_S = 3;
static const double REPAY_S = 2;
/*
 * Most of the budget that context switches may take, and the mere calls of the BPF
 * program for them.
 */
static const double SWITCH_SHARE = 0.3;
static const double CALLED_SHARE = 0.15;
static const double NEXT_TO_NOTHING_SHARE = 0.1; /* so cheap: on even in debt */
static const double CALLED_NS = 60;	    /* program attached, returns at once: measured 46 */
static const double REPORTED_NS = 250;	    /* of a reported switch, until measured */
static const double DAEMON_SWITCH_NS = 300; /* the daemon's, for a reported one */
/*
 * Part of the budget for forks and execs of threads that no sample met, and what one costs:
 * the daemon asks for names in /proc.
 */
static const double STRANGERS_SHARE = 0.1;
static const double STRANGER_NS = 25000;
/*
 * What was spent beyond what was allowed, so many seconds' allowance of it, makes sampling
 * pause until it is worked off down to so little.  A window's cost exceeds what was allowed
 * in it by no more than that at its end, whatever came before, but for lumps that came late in it (LUMPS_S): for 10 s the
 * first, and what a tick may cost before it is known, are less than a quarter.  More than a window's allowance is
 * not worked off: a window that begins after what cost so much is held without that.
 */
static const double PAUSE_AT_S = 1.2;
static const double GO_ON_AT_S = 0.4;
static const double WORKED_OFF_S = 10;
/* Part of the budget for reading files and mappings; with debts less, and in a pause least. */
static const double READING_SHARE = 0.6;
static const double READING_LEAST = 0.1;
/*
 * What comes in lumps, such as what debug registers took as a tick of the scheduler met it, counts as if it was spent
 * over the seconds that follow it, most of it within so many: a lump may be a second's allowance, and samples are not
 * to stop for it.  Who charges it keeps its mean below a part of the budget.
 */
static const double LUMPS_S = 10;
static const double JITTER = 0.06; /* of the period, up and down */
static const double WORTH_SETTING = 0.1;

enum {
	JITTER_NS = 1000 * 1000 * 1000,
	TICKS_SET_NS = 1000 * 1000 * 1000,
	JITTER_PERIODS = 64,
	SET_PERIODS = 8,
	FEW_INTERRUPTS = 4,
	RETRY_S = 10,
	RETRY_MOST_S = 320,
	SEEN_S = 1,
	DEEP_S = 5,
	TICK_EVERY_MOST = 64,
	TICK_STEPS = 3, /* as many times twice as many ticks are samples at once */
	PAUSED_S = 10,	/* a period without samples, though no error to any sampler */
};

void comm_governor_defaults(bool period_is_time, struct comm_governor_config *ret)
{
	*ret = (struct comm_governor_config){
		.interrupts_per_s = 1000,
		.interrupt_ns = 5000,
		/*
		 * The first samples meet code and data for the first time, and cost several times what
		 * later ones do: a run starts slow, and is at its rate within a second or two.
		 */
		.sample_ns = 100000,
		.floor_ns_per_s = 500000,
		.min_period = 50000,
		/*
		 * So few samples are cheap anywhere; with fewer, the cost of a sample
		 * would not be known, and a rate that fell once would never rise.
		 */
		.max_period = period_is_time ? 100000000ULL : 400000000ULL,
		.period_is_time = period_is_time,
		.seed = 0x9e3779b97f4a7c15ULL,
	};
}

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t n)
{
	return (uint64_t)((unsigned __int128)a * b % n);
}

static bool witness(uint64_t a, uint64_t odd, unsigned int twos, uint64_t n)
{
	uint64_t x = 1, base = a % n;

	for (; odd; odd >>= 1) {
		if (odd & 1)
			x = mul_mod(x, base, n);
		base = mul_mod(base, base, n);
	}
	if (x == 1 || x == n - 1)
		return false;
	while (--twos) {
		x = mul_mod(x, x, n);
		if (x == n - 1)
			return false;
	}
	return true;
}

/* Miller-Rabin; these bases decide for every n below 3.4e14 (Jaeschke 1993). */
static bool is_prime(uint64_t n)
{
	static const uint64_t bases[] = {2, 3, 5, 7, 11, 13, 17};
	unsigned int twos = 0, i;
	uint64_t odd;

	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (n % bases[i] == 0)
			return n == bases[i];
	if (n < 2)
		return false;
	for (odd = n - 1; !(odd & 1); odd >>= 1)
		twos++;
	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (witness(bases[i], odd, twos, n))
			return false;
	return true;
}

uint64_t comm_governor_prime(uint64_t n)
{
	while (!is_prime(n))
		n++;
	return n;
}

static double clamp(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

/* xorshift64*: in [0, 1). */
static double next_random(struct comm_governor *g)
{
	g->rng ^= g->rng >> 12;
	g->rng ^= g->rng << 25;
	g->rng ^= g->rng >> 27;
	return (double)((g->rng * 0x2545f4914f6cdd1dULL) >> 11) / 9007199254740992.0;
}

static void set_period(struct comm_governor *g, uint64_t now_ns)
{
	double period = g->nominal * (1 - JITTER + 2 * JITTER * next_random(g));

	g->period = comm_governor_prime((uint64_t)clamp(period, (double)g->config.min_period,
							(double)g->config.max_period));
	g->set_ns = now_ns;
}

/*
 * A CPU that only runs the target allows overhead seconds per second and pays
 * for each interrupt: no shorter period can ever be right for time.  Without
 * this bound a target that sleeps would seem cheap, and be hit when it wakes.
 */
static double shortest(const struct comm_governor *g)
{
	const struct comm_governor_config *c = &g->config;
	double bound = (double)c->min_period;

	if (c->overhead > 0 && c->period_is_time)
		bound = fmax(bound, c->interrupt_ns / c->overhead);
	return fmin(bound, (double)c->max_period);
}

/* Keeps what it has as long as that is right within a factor of two. */
static void allow_strangers(struct comm_governor *g, double allowed)
{
	double per_s = clamp(STRANGERS_SHARE * allowed / STRANGER_NS, 1, UINT32_MAX);

	if (per_s > 2 * (double)g->strangers_per_s || 2 * per_s < (double)g->strangers_per_s)
		g->strangers_per_s = (uint32_t)per_s;
}

void comm_governor_init(struct comm_governor *g, const struct comm_governor_config *config,
			uint64_t now_ns, struct comm_governor_output *ret)
{
	memset(g, 0, sizeof(*g));
	g->config = *config;
	g->start_ns = g->last_ns = now_ns;
	g->rng = config->seed ? config->seed : 1;
	/* With a budget, switches stay off until their cost is known. */
	g->switches = !(config->overhead > 0);
	if (config->period)
		g->nominal = (double)config->period;
	else if (config->overhead > 0)
		/* Half of the budget; instructions: as if one took 0.3 ns. */
		g->nominal = 2 * (config->interrupt_ns + config->sample_ns) / config->overhead *
			     (config->period_is_time ? 1 : 3);
	else
		g->nominal = NSEC_PER_SEC / fmax(config->interrupts_per_s, 0.1) *
			     (config->period_is_time ? 1 : 3);
	g->nominal = clamp(g->nominal, shortest(g), (double)config->max_period);
	set_period(g, now_ns);
	if (config->overhead > 0 && config->tick_ns)
		for (g->tick_every = 1; g->tick_every < TICK_EVERY_MOST; g->tick_every *= 2)
			if (2 * config->sample_ns <
			    config->overhead * (double)(config->tick_ns * g->tick_every))
				break;
	g->strangers_per_s = UINT32_MAX;
	if (config->overhead > 0)
		allow_strangers(g, fmax(config->overhead * NSEC_PER_SEC, config->floor_ns_per_s));
	*ret = (struct comm_governor_output){
		.period = g->period,
		.new_period = true,
		.switches = g->switches,
		.lines = true,
		.tick_every = g->tick_every,
		.strangers_per_s = g->strangers_per_s,
		.reading_ns = UINT64_MAX,
	};
}

static void smooth(double *value, double now, double weight)
{
	*value += weight * (now - *value);
}

static void leave_switches(struct comm_governor *g, uint64_t now_ns)
{
	g->switches = false;
	g->off_ns = now_ns;
	g->retry_ns = g->retry_ns ? 2 * g->retry_ns : RETRY_S * 1000000000ULL;
	if (g->retry_ns > RETRY_MOST_S * 1000000000ULL)
		g->retry_ns = RETRY_MOST_S * 1000000000ULL;
}

/*
 * Scheduling events are all or nothing: with some of them left out it is unknown
 * which thread runs.  How many the target makes is known only while they are on, so
 * they go on first if the whole machine's would fit, and later for trials.
 */
static void govern_switches(struct comm_governor *g, const struct comm_governor_input *in,
			    double allowed, double each_ns)
{
	double called = in->machine_switches_per_s * CALLED_NS;
	double most = in->machine_switches_per_s * each_ns;

	if (g->switches) {
		if (called > CALLED_SHARE * allowed ||
		    g->switch_rate * each_ns > SWITCH_SHARE * allowed)
			leave_switches(g, in->now_ns);
		else if (in->now_ns - g->off_ns > RETRY_MOST_S * 1000000000ULL)
			g->retry_ns = 0;
		return;
	}
	if (called > CALLED_SHARE * allowed ||
	    (g->credit_ns < 0 && most > NEXT_TO_NOTHING_SHARE * allowed))
		return;
	if (most > SWITCH_SHARE * allowed &&
	    (!g->retry_ns || in->now_ns - g->off_ns < g->retry_ns)) {
		if (!g->retry_ns)
			leave_switches(g, in->now_ns);
		return;
	}
	g->switches = true;
	/* Do not judge this trial by the rate of the last one. */
	g->switch_rate = 0;
}

/* Looks a tick ahead: the next costs as much as the last ones did. */
static bool must_pause(struct comm_governor *g, double over_ns, double allowed_per_s)
{
	const double tick_s = COMM_GOVERNOR_TICK_NS / NSEC_PER_SEC;
	double next_ns =
		tick_s * (g->interrupt_cost + g->switch_cost + g->daemon_cost + g->lump_cost);

	if (g->last_ns - g->start_ns < COMM_SETTLING_NS)
		return false;
	g->over_ns = clamp(g->over_ns + over_ns, 0, WORKED_OFF_S * allowed_per_s);
	if (!g->paused)
		return g->over_ns + next_ns > PAUSE_AT_S * allowed_per_s;
	/* What a sample costs now is found out by none but samples. */
	return g->over_ns > 0 && g->over_ns + next_ns > GO_ON_AT_S * allowed_per_s;
}

uint64_t comm_governor_paused(const struct comm_governor *g)
{
	uint64_t s = g->config.period_is_time ? 1000000000ULL : 4000000000ULL;

	return comm_governor_prime(PAUSED_S * s);
}

static void pause_sampling(struct comm_governor *g, uint64_t now_ns)
{
	if (g->switches)
		leave_switches(g, now_ns);
	g->period = comm_governor_paused(g);
	g->set_ns = now_ns;
}

static void go_on(struct comm_governor *g, uint64_t now_ns)
{
	set_period(g, now_ns);
	g->ticks_set_ns = now_ns;
}

static double reading_per_s(const struct comm_governor *g, double allowed)
{
	double debts = fmin(g->credit_ns / (DEBT_S * allowed), 0); /* 0 to -1 */

	if (g->paused)
		return READING_LEAST * allowed;
	return (READING_SHARE + debts * (READING_SHARE - READING_LEAST)) * allowed;
}

static void hold_rate(struct comm_governor *g, const struct comm_governor_input *in)
{
	double busy_s = (double)in->target_ns / NSEC_PER_SEC, hz;

	if (g->config.period_is_time || in->interrupts < FEW_INTERRUPTS || busy_s <= 0)
		return;
	hz = (double)in->interrupts / busy_s;
	g->nominal *= pow(clamp(hz / g->config.interrupts_per_s, 0.25, 4), DAMPING);
}

/*
 * Which share of the ticks are samples changes by powers of two: the smoothed costs
 * must have settled after one change before the next.  Twice as many tick samples fit
 * if the unspent budget and the cost of our own interrupts pay for them, and more at once where some were hit, so
 * that what they cost is known.  spent goes with the samples.
 */
static bool choose_ticks(struct comm_governor *g, const struct comm_governor_input *in,
			 double spent, double goal)
{
	double for_ticks = g->tick_share * (spent - g->entry_cost);
	unsigned int every = g->tick_every, steps = in->tick_hits ? TICK_STEPS : 1;

	if (!every || in->now_ns - g->ticks_set_ns < TICKS_SET_NS)
		return false;
	if (spent > goal && every < TICK_EVERY_MOST && g->nominal >= (double)g->config.max_period)
		g->tick_every = 2 * every;
	else
		for (; steps && g->tick_every > 1 && 2 * for_ticks < goal; steps--) {
			g->tick_every /= 2;
			for_ticks *= 2;
		}
	if (g->tick_every == every)
		return false;
	g->ticks_set_ns = in->now_ns;
	return true;
}

/* With the period, and at once, so that the lag of the smoothed costs does not make it overshoot. */
static void scale_costs(struct comm_governor *g, double factor)
{
	g->interrupt_cost /= factor;
	g->entry_cost /= factor;
}

static void hold_budget(struct comm_governor *g, const struct comm_governor_input *in,
			double allowed)
{
	/* Of the daemon's part some goes with the samples, which is not known apart. */
	double spent = g->interrupt_cost + g->daemon_cost;
	double goal = SAFETY * allowed + g->credit_ns / REPAY_S, factor;

	goal = fmax(goal - g->switch_cost - g->life_cost - g->lump_cost, 0.1 * allowed);
	/* As much too much as the daemon uses of idle CPUs. */
	if (g->config.daemon_ns_per_s > 0)
		spent = fmax(spent, goal * g->daemon_idle / (SAFETY * g->config.daemon_ns_per_s));
	factor = pow(clamp(spent / goal, 0.25, 4), DAMPING);
	if (choose_ticks(g, in, spent, goal))
		return;
	/* Without a sample or an interrupt in this tick, what more of them would cost is unknown. */
	if (factor < 1 && !in->interrupts && !in->hits)
		return;
	factor = clamp(g->nominal * factor, shortest(g), (double)g->config.max_period) / g->nominal;
	g->nominal *= factor;
	scale_costs(g, factor);
}

/* Of the tick just over; what a pause does not tell stays as it was before. */
static void smooth_costs(struct comm_governor *g, const struct comm_governor_input *in, double dt,
			 double interrupt_ns, double entry_ns, double switch_ns, double life_ns)
{
	double weight = fmax(SMOOTH, 1.0 / (double)g->ticks);

	smooth(&g->life_cost, life_ns / dt, weight);
	smooth(&g->target_rate, (double)in->target_ns / dt, weight);
	if (g->paused)
		return;
	smooth(&g->interrupt_cost, interrupt_ns / dt, weight);
	smooth(&g->entry_cost, entry_ns / dt, weight);
	if (in->hits)
		smooth(&g->tick_share, (double)in->tick_hits / (double)in->hits, weight);
	smooth(&g->switch_cost, switch_ns / dt, weight);
	smooth(&g->daemon_cost, (double)in->daemon_ns / dt, weight);
	smooth(&g->daemon_idle, (double)in->daemon_idle_ns / dt, weight);
	if (g->switches)
		smooth(&g->switch_rate, (double)in->switches / dt, weight);
}

/* Returns what counts as spent in the tick just over. */
static double take_lumps(struct comm_governor *g, uint64_t more_ns, double dt)
{
	double ret;

	g->lumps_ns += (double)more_ns;
	g->lump_cost = g->lumps_ns / LUMPS_S;
	ret = g->lumps_ns * fmin(1, dt / LUMPS_S);
	g->lumps_ns -= ret;
	return ret;
}

/*
 * Setting a period restarts the event's count, and what it had counted is never sampled: so
 * seldom, compared with the period.
 */
static bool may_set_period(struct comm_governor *g, uint64_t now_ns)
{
	uint64_t since_set = now_ns - g->set_ns;
	double change = fabs(g->nominal / (double)g->period - 1);

	if (g->config.period_is_time && since_set < SET_PERIODS * g->period &&
	    g->nominal > 0.5 * (double)g->period)
		change = 0;
	return change > WORTH_SETTING ||
	       (since_set >= JITTER_NS &&
		(!g->config.period_is_time || since_set >= JITTER_PERIODS * g->period));
}

static double allowed_per_s(const struct comm_governor *g)
{
	return fmax(g->config.overhead * g->target_rate, g->config.floor_ns_per_s);
}

static double hooks_ns(const struct comm_governor_input *in)
{
	double ns = 0;

	for (unsigned int i = 0; i < COMM_HOOKS; i++)
		ns += (double)in->hook_ns[i];
	return ns;
}

static void put_rate(const struct comm_governor *g, struct comm_governor_output *ret)
{
	ret->period = g->period;
	ret->switches = g->switches;
	ret->paused = g->paused;
	ret->tick_every = g->paused ? 0 : g->tick_every;
	ret->strangers_per_s = g->strangers_per_s;
	ret->hooks_off = 0;
	for (unsigned int i = 0; i < COMM_HOOKS; i++)
		ret->hooks_off |= g->hook[i].off_ns ? 1U << i : 0;
}

/* Until a tick has passed: the rate is as it is, and nothing is read. */
static void put(const struct comm_governor *g, struct comm_governor_output *ret)
{
	memset(ret, 0, sizeof(*ret));
	put_rate(g, ret);
	ret->lines = !g->paused;
	ret->reading_ns = g->config.overhead > 0 ? 0 : UINT64_MAX;
}

void comm_governor_tick(struct comm_governor *g, const struct comm_governor_input *in,
			struct comm_governor_output *ret)
{
	double dt = (double)(in->now_ns - g->last_ns) / NSEC_PER_SEC, allowed, each;
	double interrupt_ns, entry_ns, switch_ns, life_ns, lumps_ns, allowed_ns, spent_ns;
	bool was_paused = g->paused;

	put(g, ret);
	if (in->now_ns <= g->last_ns || dt < 0.001)
		return;
	g->last_ns = in->now_ns;
	g->ticks++;

	entry_ns = (double)(in->interrupts - in->drained) * g->config.interrupt_ns;
	interrupt_ns = entry_ns + (double)in->handler_ns;
	each = REPORTED_NS;
	if (in->switches_out && in->switch_ns)
		each = (double)in->switch_ns / (double)in->switches_out;
	switch_ns = (double)in->switches_out * each;
	if (g->switches) /* any process's switch calls our BPF program */
		switch_ns +=
			CALLED_NS * fmax(in->machine_switches_per_s * dt, (double)in->switches);
	life_ns = (double)in->life_ns + hooks_ns(in);
	ret->handler_ns = (uint64_t)(interrupt_ns + switch_ns + life_ns) + in->lumps_ns;
	smooth_costs(g, in, dt, interrupt_ns, entry_ns, switch_ns, life_ns);
	lumps_ns = take_lumps(g, in->lumps_ns, dt);

	if (g->config.overhead > 0) {
		allowed = allowed_per_s(g);
		allowed_ns = fmax(g->config.overhead * (double)in->target_ns,
				  g->config.floor_ns_per_s * dt);
		spent_ns = interrupt_ns + switch_ns + life_ns + (double)in->daemon_ns + lumps_ns;
		g->credit_ns += SAFETY * allowed_ns - spent_ns;
		g->credit_ns = clamp(g->credit_ns, -DEBT_S * allowed, CREDIT_S * allowed);
		g->paused = must_pause(g, spent_ns - allowed_ns, allowed);
		if (!g->paused) {
			hold_budget(g, in, allowed);
			govern_switches(g, in, allowed, CALLED_NS + each + DAEMON_SWITCH_NS);
		}
		allow_strangers(g, allowed);
		for (unsigned int i = 0; i < COMM_HOOKS; i++)
			comm_hook_tick(&g->hook[i], i, in->now_ns, dt, (double)in->hook_ns[i],
				       allowed);
		/* Where even the slowest rate is too dear, samples go without lines. */
		ret->lines = !g->paused &&
			     (g->nominal < (double)g->config.max_period || g->credit_ns >= 0 ||
			      (g->tick_every && g->tick_every < TICK_EVERY_MOST));
		ret->reading_ns = (uint64_t)(reading_per_s(g, allowed) * dt);
	} else {
		hold_rate(g, in);
	}
	g->nominal = clamp(g->nominal, shortest(g), (double)g->config.max_period);

	if (g->paused != was_paused) {
		if (g->paused)
			pause_sampling(g, in->now_ns);
		else
			go_on(g, in->now_ns);
		ret->new_period = true;
	} else if (!g->paused && may_set_period(g, in->now_ns)) {
		set_period(g, in->now_ns);
		ret->new_period = true;
	}
	put_rate(g, ret);
}

/* As many times fewer samples by ticks as the budget is less. */
static void scale_ticks(struct comm_governor *g, double factor)
{
	for (; factor >= 2 && g->tick_every < TICK_EVERY_MOST; factor /= 2)
		g->tick_every *= 2;
	for (; factor <= 0.5 && g->tick_every > 1; factor *= 2)
		g->tick_every /= 2;
	g->ticks_set_ns = g->last_ns;
}

void comm_governor_allow(struct comm_governor *g, double overhead, double floor_ns_per_s,
			 struct comm_governor_output *ret)
{
	double before = allowed_per_s(g), nominal = g->nominal, less, factor;

	g->config.overhead = overhead;
	g->config.floor_ns_per_s = floor_ns_per_s;
	less = before / allowed_per_s(g);
	if (g->tick_every)
		scale_ticks(g, less);
	g->nominal = clamp(nominal * less, shortest(g), (double)g->config.max_period);
	factor = g->nominal / nominal;
	scale_costs(g, factor);
	/* The most of it is for samples; and a pause would not come of what they cost before. */
	g->daemon_cost /= factor;
	g->daemon_idle /= factor;
	/* What was spent within the old budget does not make sampling pause under a smaller one. */
	if (less > 1) {
		g->credit_ns /= less;
		g->over_ns /= less;
		g->lumps_ns /= less;
		g->lump_cost /= less;
	} else {
		g->retry_ns = 0;
		for (unsigned int i = 0; i < COMM_HOOKS; i++)
			comm_hook_retry(&g->hook[i]);
	}
	allow_strangers(g, allowed_per_s(g));
	if (!g->paused)
		set_period(g, g->last_ns);
	put(g, ret);
	ret->new_period = !g->paused;
}

void comm_governor_skip(struct comm_governor *g, uint64_t ns)
{
	g->start_ns += ns;
	g->last_ns += ns;
	g->set_ns += ns;
	g->off_ns += ns;
	g->ticks_set_ns += ns;
	for (unsigned int i = 0; i < COMM_HOOKS; i++)
		comm_hook_skip(&g->hook[i], ns);
}

void comm_governor_held(struct comm_governor *g, uint64_t period)
{
	if (period == g->period || !period || g->paused)
		return;
	g->period = period;
	g->nominal = (double)period;
}

uint8_t comm_governor_park(uint64_t now_ns, uint64_t seen_ns, uint64_t start_ns)
{
	uint64_t since = seen_ns > start_ns ? seen_ns : start_ns;
	uint64_t s = now_ns > since ? (now_ns - since) / 1000000000ULL : 0;

	if (s >= DEEP_S)
		return COMM_PARK_DEEP_SHIFT;
	return s >= SEEN_S || seen_ns <= start_ns ? COMM_PARK_SHIFT : 0;
}
