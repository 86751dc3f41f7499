// SPDX-License-Identifier: GPL-2.0-or-later
#include "on_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

enum {
	ON_CPU_MIN = 16,   /* switches a thread gets room for at first */
	ON_CPU_LOOK = 256, /* threads looked at for one that needs room */
};

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
	struct on_cpu_switch start; /* its clock goes on from here where switches are unknown */
	uint64_t near;		    /* switch at the time last looked from */
	uint32_t cap, round;	    /* of the thread that has this place in the table of threads */
	bool on;
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
static void on_cpu_evict(struct comm_on_cpu *o, uint64_t now_ns)
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

int comm_on_cpu_switch(struct comm_on_cpu *times, uint64_t time_ns, uint32_t thread, bool on_cpu)
{
	struct on_cpu_thread *t = on_cpu_thread(times, thread);
	struct on_cpu_switch s = {.time_ns = time_ns};

	if (!t) {
		on_cpu_evict(times, time_ns);
		t = on_cpu_thread(times, thread);
	}
	if (!t)
		return -ENOMEM;
	if (t->n && t->on == on_cpu)
		return 0;
	if (t->n) {
		const struct on_cpu_switch *last = &t->ring[(t->n - 1) & (t->cap - 1)];

		if (time_ns < last->time_ns)
			s.time_ns = last->time_ns;
		s.before_ns = last->before_ns + (t->on ? (double)(s.time_ns - last->time_ns) : 0);
	}
	if (t->n < COMM_ON_CPU_SWITCHES && t->n == t->cap && on_cpu_grow(times, t)) {
		on_cpu_evict(times, time_ns);
		if (on_cpu_grow(times, t))
			return -ENOMEM;
	}
	if (!t->n) {
		s.before_ns = on_cpu_unknown(t, time_ns);
		t->start = s;
	}
	t->ring[t->n++ & (t->cap - 1)] = s;
	t->on = on_cpu;
	return 0;
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

double comm_on_cpu_at(const struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns)
{
	const struct on_cpu_thread *t;
	const struct on_cpu_switch *s;
	bool on, over;
	uint64_t lo;

	t = on_cpu_known(times, thread, &over);
	if (!t)
		return over ? 0 : (double)time_ns;
	if (!t->n)
		return on_cpu_unknown(t, time_ns);
	lo = t->n > t->cap ? t->n - t->cap : 0;
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

void comm_on_cpu_forget(struct comm_on_cpu *times, uint64_t time_ns)
{
	for (uint32_t i = 0; i < times->n_threads; i++) {
		struct on_cpu_thread *t = &times->thread[i];

		/* Were the thread's on-CPU clock to jump, rates learned before would be worthless. */
		t->start.before_ns = comm_on_cpu_at(times, comm_thread_id(i, t->round), time_ns);
		t->start.time_ns = time_ns;
		t->n = t->near = 0;
		t->on = false;
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
