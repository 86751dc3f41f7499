// SPDX-License-Identifier: GPL-2.0-or-later
#include "run_budget.h"

#include <math.h>

#include "schema.h"

void comm_budgets_add(struct comm_budgets *budgets, double limit, double floor)
{
	if (!(limit > 0))
		return;
	budgets->least = budgets->most > 0 ? fmin(budgets->least, limit) : limit;
	budgets->most = fmax(budgets->most, limit);
	budgets->floor = fmax(budgets->floor, floor);
}

void comm_run_budget_begin(struct comm_run_budget *budget, double limit, double floor)
{
	*budget = (struct comm_run_budget){.all = {limit, limit, floor}};
}

void comm_run_budget_add(struct comm_run_budget *budget, const struct comm_budgets *slice)
{
	struct comm_budgets *all = &budget->all;

	if (!(slice->most > 0) || !(all->most > 0))
		return;
	if (slice->most <= all->most && slice->least >= all->least && slice->floor <= all->floor)
		return;
	all->most = fmax(all->most, slice->most);
	all->least = fmin(all->least, slice->least);
	all->floor = fmax(all->floor, slice->floor);
	budget->is_new = true;
}

int comm_run_budget_put(const struct comm_run_budget *budget, sqlite3 *db, int64_t run)
{
	const struct comm_budgets *all = &budget->all;
	sqlite3_stmt *stmt;
	int err = 0;

	if (!budget->is_new)
		return 0;
	if (sqlite3_prepare_v2(db,
			       "UPDATE run SET overhead_limit = ?2, overhead_least = ?3,"
			       " floor = ?4 WHERE id = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_double(stmt, 2, all->most);
	sqlite3_bind_double(stmt, 3, all->least < all->most ? all->least : 0);
	sqlite3_bind_double(stmt, 4, all->floor);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(db);
	sqlite3_finalize(stmt);
	return err;
}
