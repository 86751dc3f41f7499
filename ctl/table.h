/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of edges and of objects, as wide as the terminal.  They return
 * whether something in them was marked as not resolved.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include "label.h"
#include "term.h"

bool ctl_table_edges(const struct ctl_term *term, const struct ctl_labels *labels);
bool ctl_table_objects(const struct ctl_term *term, const struct comm_query *query,
		       const struct ctl_labels *labels);

#endif
