// SPDX-License-Identifier: GPL-2.0-or-later
#include "look_timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Who runs on a CPU, while intervals are computed. */
struct running {
	uint64_t from_ns; /* the thread has run since, or the CPU's last switch was then */
	uint32_t tid;	  /* 0: none of the process's, as far as is known */
};

struct comm_look_timeline {
	struct comm_look_switch *log;
	size_t n, capacity;
	uint64_t position; /* of the first */
	struct running *running;
	uint32_t n_cpus;
	struct comm_look_interval *interval;
	size_t n_intervals, interval_capacity;
};

int comm_look_timeline_create(uint32_t n_cpus, size_t capacity, struct comm_look_timeline **ret)
{
	struct comm_look_timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->capacity = capacity;
	t->n_cpus = n_cpus;
	t->log = calloc(capacity, sizeof(*t->log));
	t->running = calloc(n_cpus, sizeof(*t->running));
	if (!t->log || !t->running) {
		comm_look_timeline_destroy(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void comm_look_timeline_destroy(struct comm_look_timeline *t)
{
	if (!t)
		return;
	free(t->interval);
	free(t->running);
	free(t->log);
	free(t);
}

bool comm_look_timeline_add(struct comm_look_timeline *t, const struct comm_look_switch *s)
{
	if (t->n == t->capacity || s->cpu >= t->n_cpus)
		return false;
	t->log[t->n++] = *s;
	return true;
}

uint64_t comm_look_timeline_position(const struct comm_look_timeline *t)
{
	return t->position + t->n;
}

void comm_look_timeline_forget(struct comm_look_timeline *t, uint64_t position)
{
	size_t n = position > t->position ? position - t->position : 0;

	n = n < t->n ? n : t->n;
	/* Each switch is moved once at most, on average. */
	if (n < t->n && n < t->capacity / 2)
		return;
	memmove(t->log, t->log + n, (t->n - n) * sizeof(*t->log));
	t->n -= n;
	t->position += n;
}

static bool begins_before(const struct comm_look_interval *a, const struct comm_look_interval *b)
{
	return a->from_ns != b->from_ns ? a->from_ns < b->from_ns : a->tid < b->tid;
}

/*
 * In order of their beginnings.  They come in the order of their ends, about: one moves past those that began and
 * ended while it lasted, on other CPUs.
 */
static int add_interval(struct comm_look_timeline *t, uint32_t tid, uint64_t from_ns,
			uint64_t to_ns)
{
	const struct comm_look_interval interval = {from_ns, to_ns, tid};
	size_t at = t->n_intervals;

	if (from_ns >= to_ns)
		return 0;
	if (t->n_intervals == t->interval_capacity) {
		size_t capacity = t->interval_capacity ? 2 * t->interval_capacity : 256;
		void *p = realloc(t->interval, capacity * sizeof(*t->interval));

		if (!p)
			return -ENOMEM;
		t->interval = p;
		t->interval_capacity = capacity;
	}
	while (at && begins_before(&interval, &t->interval[at - 1]))
		at--;
	memmove(&t->interval[at + 1], &t->interval[at],
		(t->n_intervals - at) * sizeof(*t->interval));
	t->interval[at] = interval;
	t->n_intervals++;
	return 0;
}

/* One switch, as far as it is the process's, between from_ns and to_ns. */
static int take(struct comm_look_timeline *t, const struct comm_look_switch *s, uint32_t tgid,
		uint64_t from_ns, uint64_t to_ns)
{
	struct running *running = &t->running[s->cpu];
	uint64_t since_ns = s->goes_on ? s->time_ns : s->came_ns;
	int rc = 0;

	/* Whoever it was came no earlier than what was last told of the CPU. */
	if (s->tgid == tgid)
		rc = add_interval(t, s->tid, running->from_ns,
				  s->time_ns < to_ns ? s->time_ns : to_ns);
	if (s->goes_on)
		running->tid = s->tgid == tgid ? s->tid : running->tid;
	else
		running->tid = s->next_tgid == tgid ? s->next_tid : 0;
	running->from_ns = since_ns > from_ns ? since_ns : from_ns;
	return rc;
}

int comm_look_timeline_threads(struct comm_look_timeline *t, uint32_t tgid, uint64_t position,
			       uint64_t from_ns, uint64_t to_ns,
			       const struct comm_look_interval **ret)
{
	size_t first = position > t->position ? position - t->position : 0;
	int rc = 0;

	t->n_intervals = 0;
	for (uint32_t i = 0; i < t->n_cpus; i++)
		t->running[i] = (struct running){.from_ns = from_ns};
	for (size_t i = first; i < t->n && !rc; i++)
		rc = take(t, &t->log[i], tgid, from_ns, to_ns);
	for (uint32_t i = 0; i < t->n_cpus && !rc; i++)
		if (t->running[i].tid)
			rc = add_interval(t, t->running[i].tid, t->running[i].from_ns, to_ns);
	if (rc)
		return rc;
	*ret = t->interval;
	return (int)t->n_intervals;
}
