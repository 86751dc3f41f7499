// SPDX-License-Identifier: GPL-2.0-or-later
#include "compete.h"

#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	SLABS = 14,
	SLABS_OF_A_BIN = 11, /* so many slabs are one bin of ages each, longer ones several */
	/*
	 * A power of two.  The reads of a burst, all of one pass, ask for 3 * 64 writers and
	 * the reader at most (window.h, candidate.h); of so many threads the span is kept.
	 */
	THREADS = 4096,
};

_Static_assert(THREADS > 8 * COMM_WINDOW_READS * COMM_CANDIDATES, "a free one is found soon");

/* What is certain: the logarithm of a chance that is 0. */
#define DATED_MOST 50.0

static const double compete_slab_ns = 1000; /* the shortest; each is 4 times longer */

/* On-CPU times of a thread; those of threads that are asked for no more give way. */
struct thread_time {
	uint32_t id;
	struct comm_compete_time time;
	uint32_t pass, span; /* those it was filled for */
	uint32_t filled;     /* bit i: on_ns[i] is there */
	bool on;
	uint64_t since_ns;   /* for so long it has been on the CPU, or off it */
	double on_ns[SLABS]; /* within the slab's reach */
};

struct comm_compete {
	struct comm_on_cpu *on_cpu;
	uint32_t pass, span;
	uint64_t start_ns, end_ns, now_ns;
	struct comm_frame_at frame;
	struct thread_time thread[THREADS];
};

int comm_compete_create(struct comm_on_cpu *on_cpu, struct comm_compete **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->on_cpu = on_cpu;
	/* Nothing was filled for these. */
	(*ret)->pass = (*ret)->span = 1;
	return 0;
}

void comm_compete_destroy(struct comm_compete *compete)
{
	free(compete);
}

void comm_compete_span(struct comm_compete *compete, uint64_t start_ns, uint64_t end_ns)
{
	compete->span++;
	compete->start_ns = start_ns;
	compete->end_ns = end_ns;
}

void comm_compete_at(struct comm_compete *compete, uint64_t now_ns, const struct comm_frame_at *at)
{
	compete->pass++;
	compete->now_ns = now_ns;
	compete->frame = at ? *at : (struct comm_frame_at){0};
}

/* On-CPU time of a thread within each slab's reach before now; cached. */
static struct thread_time *compete_thread(struct comm_compete *r, uint32_t thread)
{
	struct thread_time *c;
	uint32_t at = thread;

	do
		c = &r->thread[at++ & (THREADS - 1)];
	while (c->id != thread && c->pass == r->pass);
	if (c->id != thread || c->span != r->span) {
		c->id = thread;
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

static double compete_on_ns(struct comm_compete *r, struct thread_time *c, uint32_t slab)
{
	double back_ns = compete_slab_ns * (double)(1ull << 2 * slab);
	double from_ns = c->time.start_ns;

	if (back_ns <= (double)c->since_ns)
		return c->on ? back_ns : 0;
	if (c->filled & 1u << slab)
		return c->on_ns[slab];
	if (slab < SLABS - 1 && back_ns < (double)(r->now_ns - r->start_ns))
		from_ns = comm_on_cpu_at(r->on_cpu, c->id, r->now_ns - (uint64_t)back_ns);
	c->filled |= 1u << slab;
	return c->on_ns[slab] = c->time.now_ns - from_ns;
}

const struct comm_compete_time *comm_compete_time(struct comm_compete *compete, uint32_t thread)
{
	return &compete_thread(compete, thread)->time;
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

/* A candidate's cumulated hazard of the last back_ns before the read. */
static double compete_back(struct comm_compete *r, const struct comm_candidate *c, uint64_t back_ns)
{
	const struct thread_time *cpu = compete_thread(r, c->thread);
	double from_ns = cpu->time.start_ns;

	if (back_ns < r->now_ns - r->start_ns)
		from_ns = comm_on_cpu_at(r->on_cpu, c->thread, r->now_ns - back_ns);
	return compete_cumulated(c, compete_writes(c, cpu->time.now_ns - from_ns));
}

/*
 * Notes how old the part of a candidate's share is that a slab gave, in which its cumulated
 * hazard grew from before by now.  The first slab looked at holds all shorter ones: there writes
 * are as likely at any time.
 */
static void compete_age(struct comm_compete *r, struct comm_candidate *c, uint32_t slab, bool first,
			double share, double before, double now)
{
	uint32_t bin = SLABS_OF_A_BIN + 2 * (slab - SLABS_OF_A_BIN), end = bin + 2;

	if (slab < SLABS_OF_A_BIN) {
		for (; first && slab; slab--, share /= 4)
			c->ages.bytes[slab] += (float)(share * 3 / 4);
		c->ages.bytes[slab] += (float)share;
		return;
	}
	if (slab == SLABS - 1)
		end = COMM_AGES;
	for (bin = first ? 0 : bin; bin < end && now > 0; bin++) {
		double next = before + now;

		if (bin + 1 < end)
			next = fmin(next, compete_back(r, c, comm_age_first_ns(bin + 1)));
		if (next <= before)
			continue;
		c->ages.bytes[bin] += (float)(share * (next - before) / now);
		share -= share * (next - before) / now;
		now -= next - before;
		before = next;
	}
}

/*
 * Minus the logarithm of the chance that a candidate did not write in the last back_ns before the
 * read.  Other than for its share, an activity that was not seen for some time goes on or has ended, and
 * writes at its full rate in the first case: for dating writes a part of that rate would be all the time
 * there is.
 */
static double compete_dated(struct comm_compete *r, const struct comm_candidate *c,
			    uint64_t back_ns)
{
	const struct thread_time *cpu = compete_thread(r, c->thread);
	double from_ns = cpu->time.start_ns, on_ns, since_ns, active;

	if (c->rate <= 0)
		return 0;
	if (back_ns < r->now_ns - r->start_ns)
		from_ns = comm_on_cpu_at(r->on_cpu, c->thread, r->now_ns - back_ns);
	on_ns = fmax(cpu->time.now_ns - from_ns, 0);
	since_ns = fmin(on_ns, c->since_ns);
	active = -log1p(c->active * expm1(-c->rate * since_ns));
	return fmin(active, DATED_MOST) + c->rate * (on_ns - since_ns);
}

/* Whether the last writes that were seen, closest to the datum and around it, were between two times before the read. */
static bool compete_seen(struct comm_compete *r, const struct comm_candidate *c, uint64_t from_ns,
			 uint64_t to_ns)
{
	double from = comm_compete_time(r, c->thread)->start_ns;

	if (from_ns < r->now_ns - r->start_ns)
		from = comm_on_cpu_at(r->on_cpu, c->thread, r->now_ns - from_ns);
	if (c->seen_ns < from || c->seen_around_ns < from)
		return false;
	return !to_ns || fmax(c->seen_ns, c->seen_around_ns) <
				 comm_on_cpu_at(r->on_cpu, c->thread, r->now_ns - to_ns);
}

/*
 * Dates the candidates' shares in the reader's frames: the same competition once more, in three slabs
 * that end where the frames begin.  An area may have parts of two buffers, one of which is written
 * now and the other was written before, so only that frame is told of which both say so, the writes seen closest
 * to the datum and those around it; what the others have is of a frame that is not known.
 */
static void compete_frames(struct comm_compete *r, struct comm_candidate *candidate, uint32_t n)
{
	const uint64_t ends_ns[COMM_AGES_BACK] = {(uint64_t)r->frame.began_ns,
						  (uint64_t)r->frame.before_ns, UINT64_MAX};
	double part[COMM_CANDIDATES][COMM_AGES_BACK], before[COMM_CANDIDATES] = {0}, alive = 1;

	for (int slab = 0; slab < COMM_AGES_BACK; slab++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++) {
			double after = compete_dated(r, &candidate[i], ends_ns[slab]);

			part[i][slab] = fmax(after - before[i], 0);
			before[i] = after;
			sum += part[i][slab];
		}
		for (uint32_t i = 0; i < n && sum > 0; i++)
			part[i][slab] *= alive * -expm1(-sum) / sum;
		alive *= exp(-sum);
	}
	for (uint32_t i = 0; i < n; i++) {
		double all = part[i][0] + part[i][1] + part[i][2];

		for (int slab = 0; slab < COMM_AGES_BACK && all > 0; slab++)
			if (compete_seen(r, &candidate[i], ends_ns[slab],
					 slab ? ends_ns[slab - 1] : 0))
				candidate[i].ages.back[slab] =
					(float)(comm_ages_sum(&candidate[i].ages) * part[i][slab] /
						all);
	}
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
				c, compete_on_ns(r, compete_thread(r, c->thread), SLABS - 1));
	}
	return sum > 0 ? sum : 0; /* times may run backwards */
}

/*
 * The part of a datum that is a candidate's by what it writes around it, whenever that was; nothing
 * for one that runs after the read only.
 */
static double compete_label(struct comm_compete *r, const struct comm_candidate *c)
{
	const struct comm_compete_time *time = comm_compete_time(r, c->thread);

	if (time->now_ns <= time->start_ns && time->now_ns < time->end_ns)
		return 0;
	return c->label * c->factor;
}

static double compete_run(struct comm_compete *r, const struct comm_compete_read *read,
			  struct comm_candidate *candidate, uint32_t n, double *ret_first)
{
	struct thread_time *reader_cpu = compete_thread(r, read->reader);
	double alive = 1, odds, rates = read->rate, labels = 0, written = read->written;
	uint32_t slab = 0, first_slab;
	/* The same with rates taken as certain: does a write or a read of the reader come first? */
	double first = 0, left = 1, writes_before = 0, reads_before = 0, regular;

	/* Slabs too short for anything to happen are taken together. */
	for (uint32_t i = 0; i < n; i++)
		rates += candidate[i].rate;
	while (slab < SLABS - 1 && rates * compete_slab_ns * (double)(1ull << 2 * slab) < 0.1)
		slab++;
	first_slab = slab;
	for (; slab < SLABS && alive > 0.003; slab++) {
		double now[COMM_CANDIDATES], sum = 0, writes = 0, reads = 0, events;

		for (uint32_t i = 0; i < n; i++) {
			struct comm_candidate *c = &candidate[i];
			double after, expected;

			now[i] = 0;
			if (c->rate <= 0)
				continue;
			expected = compete_writes(
				c, compete_on_ns(r, compete_thread(r, c->thread), slab));
			writes += expected;
			after = compete_cumulated(c, expected);
			now[i] = after > c->before ? after - c->before : 0;
			c->before = after;
			sum += now[i];
		}
		if (sum > 0) {
			double dead = alive * -expm1(-sum);

			for (uint32_t i = 0; i < n; i++) {
				struct comm_candidate *c = &candidate[i];

				c->share += dead * now[i] / sum;
				if (now[i] > 0)
					compete_age(r, c, slab, slab == first_slab,
						    dead * now[i] / sum, c->before - now[i],
						    now[i]);
			}
			alive -= dead;
		}
		if (read->rate > 0)
			reads = read->rate * compete_on_ns(r, reader_cpu, slab);
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
	regular = comm_parameter(COMM_P_regular);
	*ret_first = pow(1 + pow(odds, regular), -1 / regular);
	if (written < 0 || alive >= 1)
		return alive;
	/*
	 * Whether the datum is written at all: as data like it were.  By which thread: by
	 * the one that writes the data around it, whenever that wrote.
	 */
	for (uint32_t i = 0; i < n; i++)
		labels += compete_label(r, &candidate[i]);
	if (comm_without(COMM_TERM_label))
		labels = 0;
	/* A thread that reads no other thread's data does not start with data never seen written. */
	if (labels < 1)
		written *= labels / (written * labels + 1 - written);
	written *= -expm1(-compete_ever(r, candidate, n));
	for (uint32_t i = 0; i < n; i++) {
		struct comm_candidate *c = &candidate[i];

		double share = c->share / (1 - alive);

		if (labels > 0)
			share = compete_label(r, c) / labels;
		/* When it wrote, if it did, the hazards tell. */
		comm_ages_scale(&c->ages, c->share > 0 ? share * written / c->share : 0);
		c->share = share * written;
	}
	return 1 - written;
}

double comm_compete_run(struct comm_compete *compete, const struct comm_compete_read *read,
			struct comm_candidate *candidate, uint32_t n, double *ret_first)
{
	double unwritten = compete_run(compete, read, candidate, n, ret_first);

	for (uint32_t i = 0; i < n; i++)
		if (candidate[i].share > 0)
			comm_ages_scale(&candidate[i].ages, 1 / candidate[i].share);
	if (compete->frame.began_ns > 0)
		compete_frames(compete, candidate, n);
	return unwritten;
}
