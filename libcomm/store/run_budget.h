/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The budgets that a run has had, as its slices tell them (struct comm_budgets): the largest and the least are in the
 * run's row, which is changed with the first slice of another.  Not what they allowed.
 */
#ifndef COMM_RUN_BUDGET_H
#define COMM_RUN_BUDGET_H

#include "store.h"

#include <sqlite3.h>

struct comm_run_budget {
	struct comm_budgets all; /* since the run began */
	bool is_new;		 /* not in the row yet */
};

/* The run's row has what it began with; limit 0: it has no budget. */
void comm_run_budget_begin(struct comm_run_budget *budget, double limit, double floor);
/* A slice is to be stored. */
void comm_run_budget_add(struct comm_run_budget *budget, const struct comm_budgets *slice);
/* Within the transaction that stores the slice.  0 or -errno; is_new stays until that succeeded. */
int comm_run_budget_put(const struct comm_run_budget *budget, sqlite3 *db, int64_t run);

#endif
