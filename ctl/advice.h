/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An advice: where to put the threads of a run, found from its report, the machine's topology and where
 * they ran.  Its figures are here; what commctl advise prints of them is in advise.c.
 */
#ifndef CTL_ADVICE_H
#define CTL_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <comm/comm.h>

#include "cut.h"
#include "label.h"
#include "options.h"
#include "placing.h"
#include "topology.h"

struct ctl_advice {
	struct ctl_options common;
	const char *topology_path, *placement; /* files; NULL: this machine, where samples were */
	bool only_cpus;			       /* those of cpus */
	struct ctl_cpus cpus;
	int level;	 /* -1: the first of which there are several */
	uint64_t n_used; /* parts to use; 0: as many as cost nothing */
	struct comm_report *report;
	struct ctl_topology topology;
	struct ctl_parts parts;
	struct ctl_placing placing;
	struct ctl_cut_plan plan;
	struct ctl_cut_advice advice;
	struct ctl_labels labels; /* of the report's nodes, once they are printed as text */
};

/* From the report and what the user wants, the rest; an exit code, having said what failed. */
int ctl_advice_make(struct ctl_advice *advise);
/* Also frees the report, but not the labels. */
void ctl_advice_deinit(struct ctl_advice *advise);

/* "NUMA node", "NUMA nodes" */
const char *ctl_advice_level_title(enum ctl_level level, size_t n);
/* The share of what the stated flows hand over that goes from part to part as threads run now */
double ctl_advice_crosses_now(const struct ctl_advice *advise);
/* The share of what was seen between threads that the advice rests on */
double ctl_advice_covered(const struct ctl_advice *advise);
/* The share of what was read whose writer was not seen */
double ctl_advice_unseen(const struct ctl_advice *advise);
/* No edge's ends were seen to run: what is now is what chance would make it. */
bool ctl_advice_is_now_unknown(const struct ctl_advice *advise);
/*
 * Whether a placement is told: not one that is no better, where threads should stay or where it takes
 * nothing away.
 */
bool ctl_advice_is_planned(const struct ctl_advice *advise);
/* Of the threads that are to run in that part */
double ctl_advice_load(const struct ctl_advice *advise, size_t part);

#endif
