/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: what commctl report --counters prints instead of edges. */
#ifndef CTL_COUNTERS_H
#define CTL_COUNTERS_H

#include <comm/comm.h>

/*
 * In the form of that name: "text", "csv" or "json".  false: there are no counters in that form,
 * and nothing is printed.
 */
bool ctl_counters_print(const struct comm_report *report, const char *form);

#endif
