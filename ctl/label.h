/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Labels: what a node is called on a terminal.  UTF-8 (utf8.h), and the shortest that
 * tells the node from all others: a tid only where two threads share a name, a module
 * only where it is not the usual one, the call of an inlined function only where it is inlined twice.
 */
#ifndef CTL_LABEL_H
#define CTL_LABEL_H

#include <comm/comm.h>

enum { CTL_LABEL = 160 };

struct ctl_labels {
	const struct comm_report *report;
	char (*text)[CTL_LABEL]; /* label of each node */
	const char *module;	 /* the usual module, "" when there is none */
};

/* -ENOMEM */
int ctl_labels_init(struct ctl_labels *labels, const struct comm_report *report);
void ctl_labels_deinit(struct ctl_labels *labels);

/* How much of a run's command is the name of its target, without the number that is another after each start. */
size_t ctl_target_length(const char *command);

#endif
