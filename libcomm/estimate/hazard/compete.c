// SPDX-License-Identifier: GPL-2.0-or-later
#include "compete.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLABS = 14 };

static const double compete_slab_ns = 1000; /* the shortest; each is 4 times longer */

/* On-CPU times of a thread. */
struct thread_time {
	struct comm_compete_time time;
	uint32_t pass, span; /* those it was filled for */
	uint32_t filled;     /* bit i: on_ns[i] is there */
	bool on;
	uint64_t since_ns;   /* for so long it has been on the CPU, or off it */
	double on_ns[SLABS]; /* within the slab's reach */
};

struct comm_compete {
	struct comm_on_cpu *on_cpu;
	struct thread_time *thread;
	uint32_t n;
	uint32_t pass, span;
	uint64_t start_ns, end_ns, now_ns;
};

int comm_compete_create(struct comm_on_cpu *on_cpu, struct comm_compete **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->on_cpu = on_cpu;
	return 0;
}

void comm_compete_destroy(struct comm_compete *compete)
{
	if (!compete)
		return;
	free(compete->thread);
	free(compete);
}

void comm_compete_span(struct comm_compete *compete, uint64_t start_ns, uint64_t end_ns)
{
	compete->span++;
	compete->start_ns = start_ns;
	compete->end_ns = end_ns;
}

void comm_compete_at(struct comm_compete *compete, uint64_t now_ns)
{
	compete->pass++;
	compete->now_ns = now_ns;
}

/* On-CPU time of a thread within each slab's reach before now; cached. */
static struct thread_time *compete_thread(struct comm_compete *r, uint32_t thread)
{
	struct thread_time *c;

	if (thread >= r->n) {
		uint32_t n = r->n ? r->n : 64;

		while (n <= thread)
			n *= 2;
		c = realloc(r->thread, n * sizeof(*c));
		if (!c)
			return NULL;
		memset(c + r->n, 0, (n - r->n) * sizeof(*c));
		r->thread = c;
		r->n = n;
	}
	c = &r->thread[thread];
	if (c->span != r->span) {
		c->span = r->span;
		c->time.start_ns = comm_on_cpu_at(r->on_cpu, thread, r->start_ns);
		c->time.end_ns = comm_on_cpu_at(r->on_cpu, thread, r->end_ns);
	}
	if (c->pass != r->pass) {
		c->pass = r->pass;
		c->filled = 0;
		c->time.now_ns =
			comm_on_cpu_now(r->on_cpu, thread, r->now_ns, &c->on, &c->since_ns);
	}
	return c;
}

static double compete_on_ns(struct comm_compete *r, struct thread_time *c, uint32_t thread,
			    uint32_t slab)
{
	double back_ns = compete_slab_ns * (double)(1ull << 2 * slab);
	double from_ns = c->time.start_ns;

	if (back_ns <= (double)c->since_ns)
		return c->on ? back_ns : 0;
	if (c->filled & 1u << slab)
		return c->on_ns[slab];
	if (slab < SLABS - 1 && back_ns < (double)(r->now_ns - r->start_ns))
		from_ns = comm_on_cpu_at(r->on_cpu, thread, r->now_ns - (uint64_t)back_ns);
	c->filled |= 1u << slab;
	return c->on_ns[slab] = c->time.now_ns - from_ns;
}

const struct comm_compete_time *comm_compete_time(struct comm_compete *compete, uint32_t thread)
{
	const struct thread_time *t = compete_thread(compete, thread);

	return t ? &t->time : NULL;
}

/* Expected writes over on_ns of CPU time before the read. */
static double compete_writes(const struct comm_candidate *c, double on_ns)
{
	double since = on_ns < c->since_ns ? on_ns : c->since_ns;

	return c->rate * (c->active * since + (on_ns - since));
}

/* A Poisson process that may not be there at all. */
static double compete_cumulated(const struct comm_candidate *c, double writes)
{
	if (c->chance > 0.999 || writes < 0.01 * c->chance)
		return writes;
	if (writes > 10 * c->chance)
		return c->most;
	return -log1pf((float)c->chance * expm1f((float)(-writes / c->chance)));
}

/* Sharpens a chance, or odds: the eighth power. */
static double compete_regular(double chance)
{
	double square = chance * chance;

	return square * square * square * square;
}

/* Writes of the datum expected since the beginning, were it written at all. */
static double compete_ever(struct comm_compete *r, const struct comm_candidate *candidate,
			   uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct comm_candidate *c = &candidate[i];

		if (c->rate > 0)
			sum += compete_writes(
				c, compete_on_ns(r, &r->thread[c->thread], c->thread, SLABS - 1));
	}
	return sum > 0 ? sum : 0; /* times may run backwards */
}

double comm_compete_run(struct comm_compete *r, const struct comm_compete_read *read,
			struct comm_candidate *candidate, uint32_t n, double *ret_first)
{
	struct thread_time *reader_cpu = compete_thread(r, read->reader);
	double alive = 1, tail = 0, unwritten, odds, rates = read->rate, labels = 0;
	double written = read->written, shared = read->shared;
	uint32_t slab = 0;
	/* The same with rates taken as certain: does a write or a read of the reader come first? */
	double first = 0, left = 1, writes_before = 0, reads_before = 0;

	/* Slabs too short for anything to happen are taken together. */
	for (uint32_t i = 0; i < n; i++)
		rates += candidate[i].rate;
	while (slab < SLABS - 1 && rates * compete_slab_ns * (double)(1ull << 2 * slab) < 0.1)
		slab++;
	for (; slab < SLABS && alive > 0.003; slab++) {
		double now[COMM_CANDIDATES], sum = 0, writes = 0, reads = 0, events;

		for (uint32_t i = 0; i < n; i++) {
			struct comm_candidate *c = &candidate[i];
			struct thread_time *cpu = &r->thread[c->thread];
			double after, expected;

			now[i] = 0;
			if (c->rate <= 0)
				continue;
			expected = compete_writes(c, compete_on_ns(r, cpu, c->thread, slab));
			writes += expected;
			after = compete_cumulated(c, expected);
			now[i] = after > c->before ? after - c->before : 0;
			c->before = after;
			sum += now[i];
		}
		if (sum > 0) {
			double dead = alive * -expm1(-sum);

			for (uint32_t i = 0; i < n; i++)
				candidate[i].share += dead * now[i] / sum;
			alive -= dead;
		}
		if (reader_cpu && read->rate > 0)
			reads = read->rate * compete_on_ns(r, reader_cpu, read->reader, slab);
		events = fmax(0, writes - writes_before) + fmax(0, reads - reads_before);
		if (events > 0) {
			first += left * -expm1(-events) * fmax(0, writes - writes_before) / events;
			left *= exp(-events);
		}
		writes_before = writes;
		reads_before = reads;
	}
	if (left < 1)
		first /= 1 - left;
	/* Synchronised programs alternate more regularly than chance has it. */
	odds = first > 1e-9 ? 1 / first - 1 : 1e9;
	*ret_first = 1 / sqrt(sqrt(sqrt(1 + compete_regular(odds))));
	/* Sweeps over memory are regular too: what was probably written was written. */
	unwritten = compete_regular(alive);
	for (uint32_t i = 0; i < n; i++)
		tail += candidate[i].tail;
	if (tail <= 0)
		return alive;
	for (uint32_t i = 0; i < n; i++)
		candidate[i].share += (alive - unwritten) * candidate[i].tail / tail;
	if (written < 0)
		return unwritten;
	/*
	 * Whether the datum is written at all: as data like it were.  By which thread:
	 * where each datum has one writer, by the thread that writes the data around
	 * it, whenever that wrote; else the candidates compete.
	 */
	for (uint32_t i = 0; i < n; i++)
		labels += candidate[i].label * candidate[i].factor;
	/* A thread that reads no other thread's data does not start with data never seen written. */
	if (labels < 1)
		written *= labels / (written * labels + 1 - written);
	written *= 1 - compete_regular(exp(-compete_ever(r, candidate, n)));
	if (labels <= 0)
		shared = 1;
	for (uint32_t i = 0; i < n && unwritten < 1; i++) {
		struct comm_candidate *c = &candidate[i];

		c->share *= shared / (1 - unwritten);
		if (labels > 0)
			c->share += (1 - shared) * c->label * c->factor / labels;
		c->share *= written;
	}
	return unwritten < 1 ? 1 - written : 1;
}
