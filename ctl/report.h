/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms in which a report goes to stdout. */
#ifndef CTL_REPORT_H
#define CTL_REPORT_H

#include <comm/comm.h>

void ctl_report_text(const struct comm_query *query, const struct comm_report *report);
void ctl_report_json(const struct comm_query *query, const struct comm_report *report);
void ctl_report_csv(const struct comm_query *query, const struct comm_report *report);
void ctl_report_dot(const struct comm_query *query, const struct comm_report *report);

#endif
