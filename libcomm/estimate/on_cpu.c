// SPDX-License-Identifier: GPL-2.0-or-later
#include "on_cpu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

enum {
	ON_CPU_MIN = 16,   /* switches a thread gets room for at first */
	ON_CPU_LOOK = 256, /* threads looked at for one that needs room */
	ON_CPU_AROUND = 2, /* mean gaps between bursts that its thread runs before and after one */
	ON_CPU_GAPS = 8,   /* that a mean is of */
};

static const double on_cpu_stop = 0.02; /* chance per burst that a thread runs no more for long */

struct on_cpu_switch {
	uint64_t time_ns;
	double before_ns; /* on-CPU time up to here */
};

/*
 * A thread that was on no CPU for so long has ended, most likely.  What is estimated is younger;
 * that it was off since is all that it takes to rule it out.
 */
static const uint64_t on_cpu_ended_ns = 10 * 1000000000ull;

/* A ring: switch i lies at i & (cap - 1); [n - cap, n) are kept. */
struct on_cpu_thread {
	struct on_cpu_switch *ring;
	uint64_t n;
	struct on_cpu_switch start; /* of what is known, or a time before */
	uint64_t lost_ns;	    /* since when nobody tells its switches, unless is_told */
	uint64_t met_ns, around_ns; /* by its last burst, and for so long around it it ran */
	double gap_periods;	    /* between its bursts, in the mean */
	uint32_t n_gaps;	    /* that are known, ON_CPU_GAPS at most */
	uint64_t near;		    /* switch at the time last looked from */
	uint32_t cap, round;	    /* of the thread that has this place in the table of threads */
	bool on, is_told;
};

struct comm_on_cpu {
	struct on_cpu_thread *thread; /* by place */
	uint32_t n_threads;
	uint32_t hand; /* the thread to be looked at next for room */
	uint64_t left_bytes;
};

int comm_on_cpu_create(uint64_t memory_bytes, struct comm_on_cpu **ret)
{
	struct comm_on_cpu *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->left_bytes = memory_bytes;
	*ret = o;
	return 0;
}

void comm_on_cpu_destroy(struct comm_on_cpu *times)
{
	if (!times)
		return;
	for (uint32_t i = 0; i < times->n_threads; i++)
		free(times->thread[i].ring);
	free(times->thread);
	free(times);
}

/* Of threads that have ended the last switch stays. */
static void on_cpu_make_room(struct comm_on_cpu *o, uint64_t now_ns)
{
	for (uint32_t i = 0; o->thread && i < ON_CPU_LOOK && i < o->n_threads; i++) {
		struct on_cpu_thread *t = &o->thread[o->hand++ % o->n_threads];
		struct on_cpu_switch last, *ring;

		if (!t->n || t->on || t->cap < 2)
			continue;
		last = t->ring[(t->n - 1) & (t->cap - 1)];
		if (now_ns < last.time_ns + on_cpu_ended_ns)
			continue;
		ring = realloc(t->ring, sizeof(*ring));
		if (!ring)
			continue;
		ring[0] = last;
		o->left_bytes += (t->cap - 1) * sizeof(*ring);
		t->ring = ring;
		t->cap = 1;
		t->n = 1;
		t->near = 0;
	}
}

/* The thread that had this place before has ended: what is told of it does not come any more. */
static void on_cpu_restart(struct comm_on_cpu *o, struct on_cpu_thread *t, uint32_t round)
{
	o->left_bytes += t->cap * sizeof(*t->ring);
	free(t->ring);
	*t = (struct on_cpu_thread){.round = round};
}

static struct on_cpu_thread *on_cpu_thread(struct comm_on_cpu *o, uint32_t thread_id)
{
	uint32_t id = comm_thread_place(thread_id), round = comm_thread_round(thread_id);

	if (id >= o->n_threads) {
		struct on_cpu_thread *thread;
		uint32_t n = o->n_threads ? o->n_threads : 64;
		uint64_t bytes;

		while (n <= id && n < 1u << 24)
			n *= 2;
		bytes = (uint64_t)(n - o->n_threads) * sizeof(*thread);
		if (n <= id || bytes > o->left_bytes)
			return NULL;
		thread = realloc(o->thread, n * sizeof(*thread));
		if (!thread)
			return NULL;
		memset(thread + o->n_threads, 0, bytes);
		o->left_bytes -= bytes;
		o->thread = thread;
		o->n_threads = n;
	}
	if (o->thread[id].round < round)
		on_cpu_restart(o, &o->thread[id], round);
	return o->thread[id].round == round ? &o->thread[id] : NULL;
}

/* A full ring doubles while there is room, and loses its oldest otherwise. */
static int on_cpu_grow(struct comm_on_cpu *o, struct on_cpu_thread *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : ON_CPU_MIN;
	uint64_t bytes = (uint64_t)(cap - t->cap) * sizeof(*t->ring);
	struct on_cpu_switch *ring;

	if (cap > COMM_ON_CPU_SWITCHES || bytes > o->left_bytes)
		return t->cap ? 0 : -ENOMEM;
	ring = malloc(cap * sizeof(*ring));
	if (!ring)
		return t->cap ? 0 : -ENOMEM;
	for (uint64_t i = t->n - (t->n < t->cap ? t->n : t->cap); i < t->n; i++)
		ring[i & (cap - 1)] = t->ring[i & (t->cap - 1)];
	o->left_bytes -= bytes;
	free(t->ring);
	t->ring = ring;
	t->cap = cap;
	return 0;
}

/* A thread of which no switch is known runs all the time. */
static double on_cpu_unknown(const struct on_cpu_thread *t, uint64_t time_ns)
{
	return t->start.before_ns + (double)(int64_t)(time_ns - t->start.time_ns);
}

static struct on_cpu_switch *on_cpu_last(struct on_cpu_thread *t)
{
	return &t->ring[(t->n - 1) & (t->cap - 1)];
}

/* Its clock runs on from the last switch, if that put it on a CPU; of a first one, if it took it off. */
static int on_cpu_add(struct comm_on_cpu *o, struct on_cpu_thread *t, uint64_t time_ns, bool on)
{
	struct on_cpu_switch s = {.time_ns = time_ns};

	if (t->n < COMM_ON_CPU_SWITCHES && t->n == t->cap && on_cpu_grow(o, t)) {
		on_cpu_make_room(o, time_ns);
		if (on_cpu_grow(o, t))
			return -ENOMEM;
	}
	if (t->n) {
		const struct on_cpu_switch *last = on_cpu_last(t);

		if (time_ns < last->time_ns)
			s.time_ns = last->time_ns;
		s.before_ns = last->before_ns + (t->on ? (double)(s.time_ns - last->time_ns) : 0);
	} else if (!on) {
		s.before_ns = on_cpu_unknown(t, time_ns);
	}
	t->ring[t->n++ & (t->cap - 1)] = s;
	t->on = on;
	return 0;
}

/* What its bursts said of the time after them ends where its switches are told. */
static void on_cpu_cut(struct on_cpu_thread *t, uint64_t time_ns)
{
	struct on_cpu_switch *last = on_cpu_last(t);

	if (time_ns >= last->time_ns)
		return;
	/* The burst itself was not later. */
	last->before_ns -= (double)(last->time_ns - time_ns);
	last->time_ns = time_ns;
}

static struct on_cpu_thread *on_cpu_place(struct comm_on_cpu *o, uint32_t thread, uint64_t time_ns)
{
	struct on_cpu_thread *t = on_cpu_thread(o, thread);

	if (t)
		return t;
	on_cpu_make_room(o, time_ns);
	return on_cpu_thread(o, thread);
}

int comm_on_cpu_switch(struct comm_on_cpu *times, uint64_t time_ns, uint32_t thread, bool on_cpu)
{
	struct on_cpu_thread *t = on_cpu_place(times, thread, time_ns);
	int err = 0;

	if (!t)
		return -ENOMEM;
	if (t->n && !t->is_told && !t->on) {
		on_cpu_cut(t, time_ns);
		/* Who leaves a CPU was on it since its switches are told again, or longer. */
		if (!on_cpu)
			err = on_cpu_add(times, t, t->lost_ns, true);
	}
	if (!err && (!t->n || t->on != on_cpu))
		err = on_cpu_add(times, t, time_ns, on_cpu);
	t->is_told |= !err;
	return err;
}

/* Of a thread that waits now and then the gaps are longer; what falls out of them is silence, which tells of no gap. */
static void on_cpu_learn_gap(struct on_cpu_thread *t, uint64_t time_ns, uint64_t period_ns)
{
	double most = 2 * ON_CPU_AROUND * t->gap_periods, gap;

	if (t->met_ns && time_ns > t->met_ns && period_ns) {
		gap = (double)(time_ns - t->met_ns) / (double)period_ns;
		t->gap_periods += ((gap < most ? gap : most) - t->gap_periods) / ON_CPU_GAPS;
		t->n_gaps += t->n_gaps < ON_CPU_GAPS;
	}
	if (t->gap_periods < 1)
		t->gap_periods = 1;
	t->met_ns = time_ns;
	t->around_ns = (uint64_t)(ON_CPU_AROUND * t->gap_periods * (double)period_ns);
}

static int on_cpu_met(struct comm_on_cpu *o, struct on_cpu_thread *t, uint64_t time_ns,
		      uint64_t period_ns)
{
	uint64_t from_ns, to_ns;
	struct on_cpu_switch *last;
	int err;

	on_cpu_learn_gap(t, time_ns, period_ns);
	from_ns = time_ns > t->around_ns ? time_ns - t->around_ns : 0;
	to_ns = time_ns + t->around_ns;
	if (from_ns < t->lost_ns)
		from_ns = t->lost_ns;
	if (!t->n || on_cpu_last(t)->time_ns < from_ns) {
		err = on_cpu_add(o, t, from_ns, true);
		return err ? err : on_cpu_add(o, t, to_ns, false);
	}
	last = on_cpu_last(t);
	if (to_ns > last->time_ns) {
		last->before_ns += (double)(to_ns - last->time_ns);
		last->time_ns = to_ns;
	}
	return 0;
}

int comm_on_cpu_met(struct comm_on_cpu *times, uint64_t time_ns, uint32_t thread,
		    uint64_t period_ns)
{
	struct on_cpu_thread *t = on_cpu_place(times, thread, time_ns);

	if (!t)
		return -ENOMEM;
	return t->is_told ? 0 : on_cpu_met(times, t, time_ns, period_ns);
}

/* The last switch at or before a time, of [lo, t->n); near is looked at first. */
static uint64_t on_cpu_find(const struct on_cpu_thread *t, uint64_t lo, uint64_t time_ns)
{
	uint64_t hi = t->n, near = t->near > lo ? t->near : lo, step = 1;

	/* Gallop from near: what is asked lies around it. */
	if (near < hi && t->ring[near & (t->cap - 1)].time_ns <= time_ns) {
		lo = near;
		while (lo + step < hi && t->ring[(lo + step) & (t->cap - 1)].time_ns <= time_ns) {
			lo += step;
			step *= 2;
		}
		if (lo + step < hi)
			hi = lo + step;
	} else {
		if (near < hi)
			hi = near;
		while (hi - lo > step && t->ring[(hi - step) & (t->cap - 1)].time_ns > time_ns) {
			hi -= step;
			step *= 2;
		}
		if (hi - lo > step)
			lo = hi - step;
	}
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (t->ring[mid & (t->cap - 1)].time_ns <= time_ns)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* What is known of a thread; NULL: nothing, or, where it has ended for long, that it is over. */
static struct on_cpu_thread *on_cpu_known(const struct comm_on_cpu *o, uint32_t thread,
					  bool *ret_over)
{
	uint32_t place = comm_thread_place(thread), round = comm_thread_round(thread);

	*ret_over = place < o->n_threads && o->thread[place].round > round;
	return place < o->n_threads && o->thread[place].round == round ? &o->thread[place] : NULL;
}

static double on_cpu_at(const struct on_cpu_thread *t, uint64_t time_ns)
{
	uint64_t lo = t->n > t->cap ? t->n - t->cap : 0;
	const struct on_cpu_switch *s;
	bool on;

	if (!t->n)
		return on_cpu_unknown(t, time_ns);
	s = &t->ring[lo & (t->cap - 1)];
	if (time_ns < s->time_ns) {
		double share = 1;

		if (s->time_ns > t->start.time_ns)
			share = (s->before_ns - t->start.before_ns) /
				(double)(s->time_ns - t->start.time_ns);
		return s->before_ns - share * (double)(s->time_ns - time_ns);
	}
	lo = on_cpu_find(t, lo, time_ns);
	s = &t->ring[lo & (t->cap - 1)];
	/* States alternate, so the last one tells each. */
	on = ((t->n - 1 - lo) & 1) ? !t->on : t->on;
	return s->before_ns + (on ? (double)(time_ns - s->time_ns) : 0);
}

double comm_on_cpu_at(const struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns)
{
	bool over;
	const struct on_cpu_thread *t = on_cpu_known(times, thread, &over);

	if (!t)
		return over ? 0 : (double)time_ns;
	return on_cpu_at(t, time_ns);
}

/*
 * Of gaps with a mean known from n of them one is longer than u means with a chance of (1 + u / n)^-n
 * (Lomax: an exponential whose rate has a gamma distribution).
 */
double comm_on_cpu_silent(const struct comm_on_cpu *times, uint32_t thread, uint64_t off_ns)
{
	bool over;
	const struct on_cpu_thread *t = on_cpu_known(times, thread, &over);
	double n, means, longer;

	if (!t || t->is_told || !t->around_ns)
		return t && !t->is_told ? 0 : 1;
	n = t->n_gaps + 1;
	means = ON_CPU_AROUND * (1 + (double)off_ns / (double)t->around_ns);
	longer = pow(1 + means / n, -n);
	return on_cpu_stop / (on_cpu_stop + (1 - on_cpu_stop) * longer);
}

void comm_on_cpu_forget(struct comm_on_cpu *times, uint64_t time_ns)
{
	for (uint32_t i = 0; i < times->n_threads; i++) {
		struct on_cpu_thread *t = &times->thread[i];

		/* Were the thread's on-CPU clock to jump, rates learned before would be worthless. */
		if (t->on && on_cpu_add(times, t, time_ns, false))
			continue;
		t->is_told = false;
		t->lost_ns = time_ns;
	}
}

double comm_on_cpu_now(struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns, bool *ret_on,
		       uint64_t *ret_since_ns)
{
	struct on_cpu_thread *t;
	const struct on_cpu_switch *s;
	uint64_t lo;
	bool over;

	t = on_cpu_known(times, thread, &over);
	*ret_on = !over;
	*ret_since_ns = over ? time_ns : 0;
	if (!t)
		return over ? 0 : (double)time_ns;
	if (!t->n)
		return on_cpu_unknown(t, time_ns);
	lo = t->n > t->cap ? t->n - t->cap : 0;
	if (time_ns < t->ring[lo & (t->cap - 1)].time_ns)
		return comm_on_cpu_at(times, thread, time_ns);
	t->near = on_cpu_find(t, lo, time_ns);
	s = &t->ring[t->near & (t->cap - 1)];
	*ret_on = ((t->n - 1 - t->near) & 1) ? !t->on : t->on;
	*ret_since_ns = time_ns - s->time_ns;
	return s->before_ns + (*ret_on ? (double)*ret_since_ns : 0);
}
