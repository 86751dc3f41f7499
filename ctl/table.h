/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of edges and of objects, as wide as the terminal.  They return
 * whether something in them was marked as not resolved; what the query leaves out is a
 * line at their end.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include "label.h"
#include "term.h"

bool ctl_table_edges(const struct ctl_term *term, const struct comm_query *query,
		     const struct ctl_labels *labels);
bool ctl_table_objects(const struct ctl_term *term, const struct comm_query *query,
		       const struct ctl_labels *labels);
/* Whether a table of the report says where loads found their data. */
bool ctl_table_has_origins(const struct comm_report *report);
/* Objects that ctl_table_objects() has to tell of. */
size_t ctl_table_objects_count(const struct comm_query *query, const struct comm_report *report);

struct ctl_table_object {
	size_t node;
	double share, share_resolved;
	bool resolved;
};

/* The objects of a report by object, largest first; object has room for all nodes.  Returns how many. */
size_t ctl_table_objects_collect(const struct comm_query *query, const struct comm_report *report,
				 struct ctl_table_object *object);

#endif
