/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made machine for the governor: its decisions come back as simulated costs, tick by tick.
 */
#ifndef COMM_MADE_MACHINE_H
#define COMM_MADE_MACHINE_H

#include "../daemon/governor.c"
#include "../daemon/hook.c"

enum {
	TICKS_PER_S = 5,
	WINDOW_S = 5,
	TICKS_MAX = 100 * TICKS_PER_S,
};

struct machine {
	double cpus;			  /* CPUs that are interrupted */
	double busy;			  /* CPUs that the target uses */
	double interrupt_ns;		  /* true cost of an interrupt */
	double handler_ns;		  /* time of our handler, per interrupt */
	double sample_ns;		  /* the daemon's, per interrupt */
	double daemon_ns_per_s;		  /* the daemon's, fixed */
	double life_ns_per_s;		  /* our code's in exits */
	double hook_ns_per_s[COMM_HOOKS]; /* our code's in hooks, while they are there */
	double switches_per_s, switch_ns;
	double others_per_s; /* switches of other processes */
	double insns_per_ns;
	double tick_ns; /* 0: ticks cannot be samples */
	double idle;	/* share of the CPUs' time that nobody but the daemon wants */
	double lump_ns; /* what costs much at once costs, */
	int lump_every; /* once in so many ticks; 0: nothing does */
	double reads;	/* CPU time by which each piece of reading takes too much, ns; 0: none */
	double cold,
		cold_ns; /* samples that meet what no sample met before, and what each costs more */
};

struct run {
	struct comm_governor governor;
	struct comm_governor_output out;
	uint64_t now_ns;
	double spent[TICKS_MAX], used[TICKS_MAX], period[TICKS_MAX], hz[TICKS_MAX];
	double daemon_used_ns;
	double reading_ns; /* that may still go into reading; below 0: owed */
	double met;
	int ticks, switches_on;
	uint64_t jitters;
	double tick_samples;
};

static void begin(struct run *r, const struct comm_governor_config *config)
{
	memset(r, 0, sizeof(*r));
	r->now_ns = 1000000000ULL;
	comm_governor_init(&r->governor, config, r->now_ns, &r->out);
}

static void play(struct run *r, const struct machine *m, int seconds)
{
	double dt = 1.0 / TICKS_PER_S;
	int i;

	for (i = 0; i < seconds * TICKS_PER_S && r->ticks < TICKS_MAX; i++) {
		struct comm_governor_output *out = &r->out;
		struct comm_governor_input in = {0};
		double n = m->cpus * dt * 1e9 / (double)out->period, reported, met;

		if (m->insns_per_ns > 0)
			n = m->busy * dt * 1e9 * m->insns_per_ns / (double)out->period;
		reported = out->switches ? m->switches_per_s * dt : 0;
		met = n;
		if (m->tick_ns > 0 && out->tick_every)
			met += m->busy * dt * 1e9 / (m->tick_ns * out->tick_every);
		r->tick_samples += met - n;
		r->now_ns += 1000000000ULL / TICKS_PER_S;
		in.now_ns = r->now_ns;
		in.interrupts = (uint64_t)(n + 0.5);
		in.hits = (uint64_t)met;
		in.tick_hits = (uint64_t)(met - n);
		in.handler_ns = (uint64_t)(met * m->handler_ns);
		in.switches = (uint64_t)reported;
		in.machine_switches_per_s = m->switches_per_s + m->others_per_s;
		in.switches_out = (uint64_t)reported;
		in.switch_ns = (uint64_t)(reported * m->switch_ns);
		in.life_ns = (uint64_t)(m->life_ns_per_s * dt);
		for (unsigned int k = 0; k < COMM_HOOKS; k++)
			if (!(out->hooks_off & 1U << k))
				in.hook_ns[k] = (uint64_t)(m->hook_ns_per_s[k] * dt);
		if (m->lump_every && r->ticks % m->lump_every == 0)
			in.lumps_ns = (uint64_t)m->lump_ns;
		in.target_ns = (uint64_t)(m->busy * dt * 1e9);
		in.daemon_ns =
			(uint64_t)(met * m->sample_ns + m->daemon_ns_per_s * dt + reported * 200);
		in.daemon_ns += (uint64_t)(clamp(m->cold - r->met, 0, met) * m->cold_ns);
		r->met += met;
		if (m->reads > 0 && out->reading_ns != UINT64_MAX) {
			r->reading_ns += (double)out->reading_ns;
			if (r->reading_ns > 0) {
				in.daemon_ns += (uint64_t)(r->reading_ns + m->reads);
				r->reading_ns = -m->reads;
			}
		}
		r->daemon_used_ns = (double)in.daemon_ns;
		in.daemon_idle_ns = (uint64_t)(m->idle * (double)in.daemon_ns);
		in.daemon_ns -= in.daemon_idle_ns;
		r->spent[r->ticks] =
			n * m->interrupt_ns + met * m->handler_ns + (double)in.daemon_ns +
			(double)in.life_ns + hooks_ns(&in) + (double)in.lumps_ns +
			reported * m->switch_ns +
			(out->switches ? (m->switches_per_s + m->others_per_s) * dt * 50 : 0);
		r->used[r->ticks] = (double)in.target_ns;
		r->period[r->ticks] = (double)out->period;
		r->hz[r->ticks] = n / dt;
		r->switches_on += out->switches;
		comm_governor_tick(&r->governor, &in, out);
		r->jitters += out->new_period;
		r->ticks++;
	}
}

static double sum(const double *v, int from, int to)
{
	double s = 0;

	while (from < to)
		s += v[from++];
	return s;
}

/* The greatest share spent in any window that begins at or after from. */
static double worst_window(const struct run *r, int from)
{
	int w = WINDOW_S * TICKS_PER_S, i;
	double worst = 0;

	for (i = from; i + w <= r->ticks; i++)
		worst = fmax(worst, sum(r->spent, i, i + w) / sum(r->used, i, i + w));
	return worst;
}

static struct comm_governor_config one_percent(double interrupt_ns)
{
	struct comm_governor_config config;

	comm_governor_defaults(true, &config);
	config.overhead = 0.01;
	config.interrupt_ns = interrupt_ns;
	return config;
}

#endif
