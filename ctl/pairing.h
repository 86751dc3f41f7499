/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs the edges of two reports whose ends are the same thing: by the nodes' lasting
 * keys (comm.h), which have the build-id; what is left over on both sides, as where a
 * program was built anew, by kind, module, name and source line, if these name one node
 * on either side.
 */
#ifndef CTL_PAIRING_H
#define CTL_PAIRING_H

#include <comm/comm.h>

/* Edges between one pair of nodes; a report has several where nodes share a key. */
struct ctl_pair {
	size_t edge[2];	 /* index in either report of the largest; SIZE_MAX: it has none */
	double bytes[2]; /* sums of all such edges */
	double low[2];	 /* their intervals */
	double high[2];
	double share[2];
	double share_low[2];
	double share_high[2];
	uint64_t slices[2];
	bool resolved[2];
};

struct ctl_pairing {
	struct ctl_pair *pair;
	size_t n;
};

/*
 * Edges from or to "(other)" are left out: it stands for other things in each run.
 * interval: of the edges of either report; NULL: those that these have themselves.
 * common: 0, or for runs that were made alike the factor, of the intervals' confidence, by
 * which all volumes of a run may be wrong.  If nothing changed, what the estimator gets wrong
 * about such runs is the same in both, so that their intervals hold sampling and that
 * factor alone.
 * -ENOMEM
 */
int ctl_pairing_init(struct ctl_pairing *pairing, const struct comm_report *const report[2],
		     struct comm_interval *const interval[2], double common);
void ctl_pairing_deinit(struct ctl_pairing *pairing);

#endif
