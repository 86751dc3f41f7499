// SPDX-License-Identifier: GPL-2.0-or-later
#include "line_sharing.h"

#include <math.h>
#include <string.h>

#include "ids.h"

/* How often the others come to the line of cell i, and how often to its bytes. */
static void visits(const struct comm_line_sharing_cell *cell, size_t n, size_t i,
		   double *ret_others, double *ret_same)
{
	const struct comm_line_sharing_cell *own = &cell[i];
	double most = 0, most_same = 0;

	*ret_others = *ret_same = 0;
	for (size_t j = 0; j < n; j++) {
		const struct comm_line_sharing_cell *at = &cell[j];
		bool alone = at->thread == COMM_ID_OTHER;

		if (i != j && (own->write || at->write) && (at->thread != own->thread || alone)) {
			most = fmax(most, at->accesses);
			if (own->bytes & at->bytes)
				most_same = fmax(most_same, at->accesses);
		}
		/* The thread's last cell. */
		if (j + 1 == n || alone || at->thread != cell[j + 1].thread) {
			*ret_others += most;
			*ret_same += most_same;
			most = most_same = 0;
		}
	}
}

void comm_line_sharing_judge(struct comm_line_sharing_cell *cell, size_t n,
			     struct comm_line_sharing *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		double others, same;

		visits(cell, n, i, &others, &same);
		cell[i].contended = fmin(cell[i].accesses, others);
		ret->accesses += cell[i].accesses;
		ret->contended += cell[i].contended;
		ret->truly += fmin(cell[i].contended, same);
	}
}

uint64_t comm_line_sharing_bytes(uint32_t first, uint32_t size_bytes)
{
	return (size_bytes >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << size_bytes) - 1) << first;
}
