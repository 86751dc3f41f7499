/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of a report: what a store knows of a thread, a function, a line
 * or an object, and the texts, which the report owns.
 */
#ifndef COMM_NODES_H
#define COMM_NODES_H

#include <sqlite3.h>

#include <comm/comm.h>

struct comm_texts {
	char **text;
	size_t n, capacity;
	bool failed; /* there was no memory for one */
};

void comm_texts_deinit(struct comm_texts *texts);
/* A copy of a column's text, "" when there is none. */
const char *comm_texts_keep(struct comm_texts *texts, sqlite3_stmt *stmt, int column);

/* Fills in n nodes by the ids they have; texts then owns what they point to. */
int comm_nodes_name(sqlite3 *db, int64_t run, struct comm_node *nodes, size_t n,
		    struct comm_texts *texts);

#endif
