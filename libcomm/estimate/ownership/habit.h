/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Habits: what reads of known writer say of others.  By static instruction: does it
 * read what its own thread wrote, more often than position says?  Does it read what
 * nobody writes while it runs, such as tables made at the start?  By pair of threads:
 * does this reader read from that writer more often than position says?
 *
 * The correction of a share is observed / expected, sums over the reads of which the
 * writer is known, with a prior worth a few bursts.
 */
#ifndef COMM_HABIT_H
#define COMM_HABIT_H

#include "nest.h"

struct comm_habits;

struct comm_habit_read {
	uint32_t thread;
	uint32_t insn; /* a slot of comm_weights */
	const struct comm_nest_view *view;
	/* Of each voter: its share by position alone; self: of the reader, a voter or not. */
	const double *share;
	double self;
};

int comm_habits_create(struct comm_habits **ret);
void comm_habits_destroy(struct comm_habits *habits);

/* A read with votes for its very datum, not of its own burst.  weight: its part of the burst. */
void comm_habits_learn(struct comm_habits *habits, const struct comm_habit_read *read,
		       double weight);
/* What a writer's share is multiplied by. */
double comm_habit_factor(const struct comm_habits *habits, uint32_t thread, uint32_t insn,
			 uint32_t writer);

/*
 * The chance that a read is of a table: written once, before it was read.  Of live
 * data with w writes per read, n reads without a write have the chance
 * (1 + w)^-n.  ret_level: the largest region around it that nobody was seen to write.
 */
double comm_habit_table(const struct comm_habits *habits, uint32_t insn,
			const struct comm_nest_view *view, uint32_t *ret_level);
void comm_habits_learn_table(struct comm_habits *habits, uint32_t insn, double chance,
			     double weight);

#endif
