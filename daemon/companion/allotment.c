// SPDX-License-Identifier: GPL-2.0-or-later
#include "allotment.h"

#include <math.h>

double comm_allotment_most(const struct comm_allotment *a)
{
	return a->share * (double)(a->all_ns - a->old_all_ns);
}

double comm_allotment_left(struct comm_allotment *a, uint64_t now_ns, uint64_t all_ns,
			   uint64_t spent_ns)
{
	if (now_ns - a->since_ns >= a->kept_ns) {
		a->old_all_ns = a->since_all_ns;
		a->since_all_ns = all_ns;
		a->since_ns = now_ns;
	}
	a->left_ns += a->share * (double)(all_ns - a->all_ns) - (double)(spent_ns - a->spent_ns);
	a->all_ns = all_ns;
	a->spent_ns = spent_ns;
	return a->left_ns = fmin(a->left_ns, comm_allotment_most(a));
}
