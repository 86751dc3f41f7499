/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters: which rows of a run's edges a query wants, by threads, functions and objects. */
#ifndef COMM_ROW_FILTER_H
#define COMM_ROW_FILTER_H

#include "edge.h"
#include "reader.h"

struct comm_id_set {
	uint8_t *has; /* by id; NULL: all */
	size_t n;
};

struct comm_filter {
	struct comm_id_set threads, writers, contexts, objects;
};

/* -ENODATA, with *err: nothing in the run is called so.  To be closed on failure, too. */
int comm_filter_open(struct comm_filter *filter, const struct comm_query *query,
		     struct comm_reader *reader, int64_t run, char **err);
void comm_filter_close(struct comm_filter *filter);
bool comm_filter_takes(const struct comm_filter *filter, const struct comm_edge *row);
/* The same of a read whose writer is not known: then none is taken by a filter by writer. */
bool comm_filter_takes_read(const struct comm_filter *filter, uint32_t thread, uint32_t context,
			    uint32_t object);

#endif
