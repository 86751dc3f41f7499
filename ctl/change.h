/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes: did a flow become more or less from one run to another, is it the same, or
 * can the two runs not tell?
 *
 * Where both runs saw the flow, the interval of the ratio is made from the two
 * intervals by MOVER on the logarithms (Zou, Donner, Statistics in Medicine 27 (2008),
 * section 2): half-widths add as squares.  Where one saw nothing of it, the other's
 * count is compared with none: both are Poisson, and given their sum the one is binomial
 * with the runs' shares of all bursts (Przyborowski, Wilenski, Biometrika 31 (1940)).
 */
#ifndef CTL_CHANGE_H
#define CTL_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

/* A flow in one run. */
struct ctl_flow {
	double value;	  /* a rate or a share; 0: nothing was seen */
	double low, high; /* its interval, of the confidence that the change is to have */
	bool resolved;	  /* see comm.h */
	uint64_t seen;	  /* independent sightings: slices of time in which it was seen */
};

enum ctl_verdict {
	CTL_CANNOT_TELL,
	CTL_SAME,
	CTL_LESS,
	CTL_MORE,
};

struct ctl_change {
	double ratio;	  /* of the second to the first; INFINITY: the first has nothing */
	double low, high; /* its interval; high may be INFINITY */
	enum ctl_verdict verdict;
};

/* "more", "less", "same", "cannot tell": also the identifiers in JSON. */
const char *ctl_verdict_name(enum ctl_verdict verdict);

/*
 * exposure: how much of the flow the second run would have seen for what the
 * first did, had nothing changed: the ratio of their bursts; INFINITY where the second
 * counted all.  alarm: the chance of a verdict of more or less when nothing
 * changed.  margin: the same is what lies within 1 / margin and margin, also where so
 * small a change is certain.  A verdict needs a flow that one of the runs resolves.
 */
void ctl_change_of(const struct ctl_flow *first, const struct ctl_flow *second, double exposure,
		   double alarm, double margin, struct ctl_change *ret);

#endif
