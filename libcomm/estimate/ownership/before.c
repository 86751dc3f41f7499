// SPDX-License-Identifier: GPL-2.0-or-later
#include "before.h"

#include "ids.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	BEFORE_MARKS = 96,
	BEFORE_FIRST_NS = 1000000, /* between marks at first; then it grows by a fifth each */
};

struct before_thread {
	uint64_t space; /* of its process; 0: not sampled yet */
	uint64_t began_ns;
	double cpu_ns;
	bool alone; /* began a program, and no other thread of it was sampled yet */
};

/* What all threads had used at an instant. */
struct before_mark {
	uint64_t time_ns;
	double cpu_ns[COMM_BEFORE_THREADS];
};

struct comm_before {
	struct before_thread thread[COMM_BEFORE_THREADS];
	uint32_t n_threads, n_marks;
	uint64_t start_ns;
	double share[COMM_BEFORE_THREADS];
	struct before_mark mark[BEFORE_MARKS];
};

int comm_before_create(struct comm_before **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_before_destroy(struct comm_before *before)
{
	free(before);
}

static struct before_thread *before_thread(struct comm_before *before, uint32_t thread)
{
	if (thread >= COMM_BEFORE_THREADS)
		return NULL;
	if (thread >= before->n_threads)
		before->n_threads = thread + 1;
	return &before->thread[thread];
}

void comm_before_began(struct comm_before *before, uint64_t time_ns, uint32_t thread)
{
	struct before_thread *t = before_thread(before, thread);

	if (!t)
		return;
	*t = (struct before_thread){.began_ns = time_ns, .alone = true};
	if (!before->start_ns)
		before->start_ns = time_ns;
}

/* Marks get rarer as the run gets longer. */
static void before_note(struct comm_before *before, uint64_t time_ns)
{
	struct before_mark *m = &before->mark[before->n_marks];
	double gap = BEFORE_FIRST_NS;

	if (before->n_marks == BEFORE_MARKS)
		return;
	if (before->n_marks) {
		uint64_t last_ns = before->mark[before->n_marks - 1].time_ns;

		gap += (double)(last_ns - before->start_ns) / 5;
		if ((double)(time_ns - last_ns) < gap)
			return;
	}
	m->time_ns = time_ns;
	for (uint32_t i = 0; i < before->n_threads; i++)
		m->cpu_ns[i] = before->thread[i].cpu_ns;
	before->n_marks++;
}

void comm_before_ran(struct comm_before *before, uint64_t time_ns, uint32_t thread, double cpu_ns,
		     uint64_t datum)
{
	struct before_thread *t = before_thread(before, thread);

	if (!before->start_ns)
		before->start_ns = time_ns;
	if (!t)
		return;
	if (!t->space)
		t->space = datum >> COMM_DATUM_SPACE_SHIFT;
	if (t->alone) {
		t->cpu_ns = (double)(time_ns - t->began_ns);
	} else {
		t->cpu_ns += cpu_ns;
		for (uint32_t i = 0; i < before->n_threads; i++) {
			struct before_thread *first = &before->thread[i];

			/* Of one not sampled yet the process is not known: a thread that began no program itself tells. */
			if (!first->alone ||
			    (first->space ? first->space != t->space : t->began_ns > 0))
				continue;
			first->space = t->space;
			first->alone = false;
			first->cpu_ns = (double)(time_ns - first->began_ns);
		}
	}
	before_note(before, time_ns);
}

const double *comm_before_shares(struct comm_before *before, uint64_t datum, uint64_t time_ns,
				 uint32_t *ret_n)
{
	uint64_t space = datum >> COMM_DATUM_SPACE_SHIFT;
	const struct before_mark *m = before->mark;
	bool began = false;
	double sum = 0;

	for (uint32_t i = 0; i < before->n_threads; i++)
		began |= before->thread[i].space == space && before->thread[i].began_ns;
	if (!began || !before->n_marks)
		return NULL;
	while (m + 1 < before->mark + before->n_marks && m[1].time_ns <= time_ns)
		m++;
	for (uint32_t i = 0; i < before->n_threads; i++) {
		before->share[i] = before->thread[i].space == space ? m->cpu_ns[i] : 0;
		sum += before->share[i];
	}
	if (sum <= 0)
		return NULL;
	for (uint32_t i = 0; i < before->n_threads; i++)
		before->share[i] /= sum;
	*ret_n = before->n_threads;
	return before->share;
}
