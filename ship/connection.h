/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection to PostgreSQL on which nothing is waited for without end: a server that is stopped, or behind a network that is gone,
 * counts as one that does not answer.  What is asked of it is for database.c.
 */
#ifndef SHIP_CONNECTION_H
#define SHIP_CONNECTION_H

#include <stdint.h>

#include <libpq-fe.h>

struct ship_connection {
	PGconn *pg;
	char *name; /* "postgresql at HOST, database NAME"; without user and password */
	uint64_t timeout_ms;
};

/* What is wrong with an address, or with a password that stands in it; NULL: nothing. */
const char *ship_connection_wrong(const char *address);

/*
 * All functions: 0, -EAGAIN where the same may succeed later, else -errno, with a sentence in *err.  After a failure the
 * connection is of no use any more, and is to be closed.
 */
int ship_connection_open(const char *address, uint64_t timeout_ms, struct ship_connection *ret,
			 char **err);
/* For one that is zeroed, too. */
void ship_connection_close(struct ship_connection *connection);
/* Statements without values. */
int ship_connection_do(struct ship_connection *connection, const char *sql, char **err);
/*
 * One statement with values, whose answer is one row: its first column in *ret, malloc'ed; NULL: it is NULL, or there is no
 * row.
 */
int ship_connection_ask(struct ship_connection *connection, const char *sql,
			const char *const *values, int n, char **ret, char **err);
/* COPY ... FROM STDIN of n bytes. */
int ship_connection_copy(struct ship_connection *connection, const char *sql, const char *bytes,
			 size_t n, char **err);

#endif
