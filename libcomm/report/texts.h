/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that a report owns: the names and keys that its nodes and losses point to. */
#ifndef COMM_TEXTS_H
#define COMM_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

struct comm_texts {
	char **text;
	size_t n, capacity;
	bool failed; /* there was no memory for a text, which is "" instead */
};

void comm_texts_deinit(struct comm_texts *texts);
/* A copy of a column's text, "" when there is none. */
const char *comm_texts_keep(struct comm_texts *texts, sqlite3_stmt *stmt, int column);
/* Zeroed room for what belongs to such texts; NULL: there is no memory. */
void *comm_texts_alloc(struct comm_texts *texts, size_t bytes);
const char *comm_texts_format(struct comm_texts *texts, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
