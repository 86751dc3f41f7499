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

void comm_texts_destroy(struct comm_texts *names);
/* A copy of a column's text, "" when there is none. */
const char *comm_texts_keep(struct comm_texts *names, sqlite3_stmt *stmt, int column);

/* Fills in all nodes of a report by the ids they have. */
int comm_nodes_name(struct comm_report *report, sqlite3 *db);

#endif
