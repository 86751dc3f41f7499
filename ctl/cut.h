/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts: what threads exchange across the borders of a machine's parts (its NUMA nodes, caches
 * or CPUs), for a placement of the threads on the parts; a placement that costs less; and how
 * sure it is that it does.  Knows no report and no topology: vertices, edges, capacities.
 *
 * The cost of a placement is the sum of the cut edges.  A better one is looked for from several
 * beginnings, METIS' recursive bisection (Karypis, Kumar, SIAM J. Sci. Comput. 20 (1998)) among
 * them, each followed by moves and swaps as long as these help (Kernighan, Lin, Bell Syst. Tech.
 * J. 49 (1970)): METIS alone misses the balance of graphs as small as most programs' are.
 *
 * How sure: edges are drawn from their intervals, as log-normal and independent of one another.
 * A placement that was chosen for the estimate fits its errors, too, so that it looks better than
 * it is: by how much is what a placement chosen for a draw loses when it is applied to the
 * estimate (Efron, J. Am. Stat. Assoc. 78 (1983), "optimism"); that is taken off.
 */
#ifndef CTL_CUT_H
#define CTL_CUT_H

#include <stdbool.h>
#include <stddef.h>

struct ctl_cut_vertex {
	double load;
	bool pool; /* many threads, which need not be in one part */
};

struct ctl_cut_edge {
	size_t from, to;  /* vertices; a pool may have one to itself */
	double bytes;	  /* per second */
	double low, high; /* interval, without what errs alike in all edges */
	double now; /* chance that writer and reader are in different parts, as they run now */
};

/* The caller's, and not changed. */
struct ctl_cut_graph {
	const struct ctl_cut_vertex *vertex;
	const struct ctl_cut_edge *edge; /* stated ones first */
	const double *capacity;		 /* of each part, in units of load: a CPU is 1 */
	const double *home;		 /* load of vertex v in part p now: [v * n_parts + p] */
	size_t n_vertices, n_edges, n_stated, n_parts;
	double z;	  /* of the intervals, in standard deviations: 1.645 for 90 % */
	double factor_sd; /* of the logarithm of what errs alike in all edges */
};

/* A vertex that is left to run in all parts that are used: a pool that fits into none. */
#define CTL_CUT_FREE ((size_t)-1)

struct ctl_cut_plan {
	size_t *part; /* of each vertex */
	bool *used;   /* which parts are used */
	size_t n_used;
};

/* n_used: how many parts to use, 0: as many as cost nothing.  -ENOMEM */
int ctl_cut_plan_init(struct ctl_cut_plan *plan, const struct ctl_cut_graph *graph, size_t n_used);
void ctl_cut_plan_deinit(struct ctl_cut_plan *plan);
/* The chance that an edge's writer and reader are in different parts, as planned. */
double ctl_cut_crosses(const struct ctl_cut_graph *graph, const struct ctl_cut_plan *plan,
		       const struct ctl_cut_edge *edge);

enum ctl_cut_verdict {
	CTL_CUT_CANNOT_TELL, /* the interval of the gain has no gain in it, too */
	CTL_CUT_STAY,	     /* less than CTL_CUT_WORTH_PCT crosses, or less of that is to gain */
	CTL_CUT_MOVE,
};

enum { CTL_CUT_WORTH_PCT = 5 };

struct ctl_cut_range {
	double value, low, high; /* 90 % */
};

struct ctl_cut_advice {
	struct ctl_cut_range now, planned;     /* bytes per second that cross, of stated edges */
	struct ctl_cut_range gain;	       /* 1 - planned / now */
	double better;			       /* probability that planned is less than now */
	double unstated_now, unstated_planned; /* the same of the other edges: estimates */
	enum ctl_cut_verdict verdict;
};

/* The same for the same graph: its random numbers are.  -ENOMEM */
int ctl_cut_judge(const struct ctl_cut_graph *graph, const struct ctl_cut_plan *plan,
		  struct ctl_cut_advice *ret);
/* "cannot tell", "stay", "move": also the identifiers in JSON. */
const char *ctl_cut_verdict_name(enum ctl_cut_verdict verdict);

#endif
