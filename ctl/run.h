/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the user names a run of a store: by its number, or by the label that he gave it. */
#ifndef CTL_RUN_H
#define CTL_RUN_H

#include <argp.h>

#include <comm/comm.h>

#define CTL_RUN_HELP "A run of \"commctl list\", by number or label; default the latest"

/* The value of --run; what is no number is a label. */
void ctl_run_parse(struct argp_state *state, const char *arg, struct comm_query *query);
/* The number of the latest run with that label, or of that number; 0: there is none. */
int64_t ctl_run_find(const struct comm_runs *runs, const char *name);

#endif
