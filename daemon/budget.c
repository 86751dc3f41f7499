// SPDX-License-Identifier: GPL-2.0-or-later
#include "budget.h"

#include "clock.h"

const char *comm_budget_change(struct comm_pace *pace, struct comm_companions *companions,
			       double overhead, comm_event_fn *push, void *ctx)
{
	uint64_t now_ns = comm_clock_now_ns();
	struct comm_pace_totals totals;

	comm_pace_totals(pace, &totals);
	if (totals.allowed_ns == UINT64_MAX)
		return "this run holds its --rate, whatever it costs";
	/* As with any rate: a CPU that does not take it goes on with its own. */
	(void)comm_pace_allow(pace, overhead, now_ns, push, ctx);
	comm_companions_allow(companions, now_ns, overhead);
	return NULL;
}
