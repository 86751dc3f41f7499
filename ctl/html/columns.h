/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of numbers: what a page has of the edges of one report, a view. */
#ifndef CTL_COLUMNS_H
#define CTL_COLUMNS_H

#include "nodes.h"

/*
 * Writes the n_shown edges and, once for the page, the nodes that they name, as a JSON
 * object.  -ENOMEM
 */
int ctl_columns_print(FILE *out, struct ctl_nodes *nodes, const char *by,
		      const struct comm_report *report);

#endif
