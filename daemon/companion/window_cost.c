// SPDX-License-Identifier: GPL-2.0-or-later
#include "window_cost.h"

#include <math.h>

/* Open for so long tells what it costs; twice so long at most is remembered. */
static const uint64_t LEARNT_NS = 40000000, LEARNING_NS = 2000000000u;

void comm_window_cost_learn(struct comm_window_cost *cost, bool was_open, uint64_t now_ns,
			    uint64_t spent_ns)
{
	if (was_open) {
		cost->open_ns += (double)(now_ns - cost->turn_ns);
		cost->spent_ns += (double)(spent_ns - cost->seen_ns);
	}
	if (cost->open_ns > 2 * (double)LEARNING_NS) {
		cost->open_ns /= 2;
		cost->spent_ns /= 2;
	}
	cost->turn_ns = now_ns;
	cost->seen_ns = spent_ns;
}

void comm_window_cost_open(struct comm_window_cost *cost, uint64_t now_ns, uint64_t length_ns)
{
	if (cost->open_until_ns < now_ns + length_ns)
		cost->open_until_ns = now_ns + length_ns;
}

bool comm_window_cost_known(const struct comm_window_cost *cost)
{
	return cost->open_ns >= (double)LEARNT_NS;
}

double comm_window_cost_of(const struct comm_window_cost *cost, uint64_t open_ns)
{
	if (!comm_window_cost_known(cost))
		return 0;
	return cost->spent_ns / cost->open_ns * (double)open_ns;
}

double comm_window_cost_more(const struct comm_window_cost *cost, uint64_t now_ns,
			     uint64_t length_ns)
{
	uint64_t from_ns = now_ns > cost->open_until_ns ? now_ns : cost->open_until_ns;
	uint64_t to_ns = now_ns + length_ns;

	return to_ns > from_ns ? comm_window_cost_of(cost, to_ns - from_ns) : 0;
}

double comm_window_cost_length(const struct comm_window_cost *cost, uint64_t now_ns, double most_ns)
{
	double open_ns = cost->open_until_ns > now_ns ? (double)(cost->open_until_ns - now_ns) : 0;

	if (!comm_window_cost_known(cost) || !(cost->spent_ns > 0))
		return INFINITY;
	return fmax(open_ns, most_ns * cost->open_ns / cost->spent_ns);
}
