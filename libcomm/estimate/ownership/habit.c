// SPDX-License-Identifier: GPL-2.0-or-later
#include "habit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	HABIT_INSNS = 1 << 16, /* slots of comm_weights */
	HABIT_THREADS = 256,   /* of which pairs are told apart */
};

struct habit_insn {
	float own_seen, own_expected, other_seen, other_expected;
	float tables, reads;
};

struct habit_pair {
	float seen, expected;
};

struct comm_habits {
	struct habit_insn insn[HABIT_INSNS];
	struct habit_pair pair[HABIT_THREADS][HABIT_THREADS]; /* reader, writer */
};

int comm_habits_create(struct comm_habits **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_habits_destroy(struct comm_habits *habits)
{
	free(habits);
}

void comm_habits_learn(struct comm_habits *habits, const struct comm_habit_read *read,
		       double weight)
{
	struct habit_insn *s = &habits->insn[read->insn & (HABIT_INSNS - 1)];
	const struct comm_nest_view *view = read->view;
	double own = 0, votes = view->votes[0];

	if (votes <= 0)
		return;
	for (uint32_t i = 0; i < view->n; i++)
		if (view->voter[i].thread == read->thread)
			own = view->voter[i].votes[0] / votes;
	s->own_seen += (float)(weight * own);
	s->own_expected += (float)(weight * read->self);
	s->other_seen += (float)(weight * (1 - own));
	s->other_expected += (float)(weight * (1 - read->self));
	/* Of what others wrote: who of them. */
	for (uint32_t i = 0; i < view->n && read->self < 1; i++) {
		const struct comm_nest_voter *v = &view->voter[i];
		struct habit_pair *p;

		if (v->thread == read->thread || v->thread >= HABIT_THREADS ||
		    read->thread >= HABIT_THREADS)
			continue;
		p = &habits->pair[read->thread][v->thread];
		p->seen += (float)(weight * v->votes[0] / votes);
		p->expected += (float)(weight * (1 - own) * read->share[i] / (1 - read->self));
	}
}

double comm_habit_factor(const struct comm_habits *habits, uint32_t thread, uint32_t insn,
			 uint32_t writer)
{
	const struct habit_insn *s = &habits->insn[insn & (HABIT_INSNS - 1)];
	const struct habit_pair *p;
	double factor;

	if (writer == thread)
		return (s->own_seen + OWNERSHIP_OWN_WORTH * OWNERSHIP_OWN_ODDS) /
		       (s->own_expected + OWNERSHIP_OWN_WORTH);
	factor = (s->other_seen + OWNERSHIP_OWN_WORTH) / (s->other_expected + OWNERSHIP_OWN_WORTH);
	if (thread >= HABIT_THREADS || writer >= HABIT_THREADS)
		return factor;
	p = &habits->pair[thread][writer];
	return factor * (p->seen + OWNERSHIP_PAIR_WORTH) / (p->expected + OWNERSHIP_PAIR_WORTH);
}

double comm_habit_table(const struct comm_habits *habits, uint32_t insn,
			const struct comm_nest_view *view, uint32_t *ret_level)
{
	const struct habit_insn *s = &habits->insn[insn & (HABIT_INSNS - 1)];
	double table = (s->tables + OWNERSHIP_TABLE * OWNERSHIP_TABLE_WORTH) /
		       (s->reads + OWNERSHIP_TABLE_WORTH);
	double reads = 0, live;

	*ret_level = 0;
	if (view->writes[COMM_NEST_LINE] > 0)
		return 0;
	for (uint32_t level = 0; level < COMM_NEST_LEVELS && view->writes[level] <= 0; level++) {
		/* The read itself is no evidence. */
		reads = view->reads[level] > 1 ? view->reads[level] - 1 : 0;
		*ret_level = level;
	}
	live = pow(1 + OWNERSHIP_WRITES_PER_READ, -reads);
	return table / (table + (1 - table) * live);
}

void comm_habits_learn_table(struct comm_habits *habits, uint32_t insn, double chance,
			     double weight)
{
	struct habit_insn *s = &habits->insn[insn & (HABIT_INSNS - 1)];

	s->tables += (float)(weight * chance);
	s->reads += (float)weight;
}
