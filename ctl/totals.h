/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals: what commctl report --totals and --call-tree print instead of edges. */
#ifndef CTL_TOTALS_H
#define CTL_TOTALS_H

#include <comm/comm.h>

/* In the order of ctl_totals_orders[], whose names the option --sort has. */
enum ctl_totals_order {
	CTL_TOTALS_BY_BOTH,
	CTL_TOTALS_BY_WRITTEN,
	CTL_TOTALS_BY_READ,
	CTL_TOTALS_BY_RATIO,
	CTL_TOTALS_ORDERS,
};

extern const char *const ctl_totals_orders[CTL_TOTALS_ORDERS];

/*
 * In the form of that name: "text", "csv" or "json"; a tree where nodes are within each other,
 * which has its own order.  -EINVAL: there are no totals in that form, and nothing is printed.
 */
int ctl_totals_print(const struct comm_query *query, const struct comm_report *report,
		     const char *form, enum ctl_totals_order order);

#endif
