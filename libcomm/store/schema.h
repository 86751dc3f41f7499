/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema: what makes a SQLite file a store, its versions and the way from
 * an older one to the newest.  Writer and readers share it.
 */
#ifndef COMM_SCHEMA_H
#define COMM_SCHEMA_H

#include <stdbool.h>

#include <sqlite3.h>

enum {
	COMM_SCHEMA_APPLICATION_ID = 0x636f6d6d, /* "comm" */
	COMM_SCHEMA_VERSION = 17,
	COMM_DOUBT_ALL = 1000, /* an edge's doubt, where all of its bytes are in doubt */
	COMM_SCHEMA_PAGE_BYTES = 4096,
};

/*
 * Looks at the file's header alone, so that SQLite never touches a file that
 * is not ours.  0: a store, or empty when *ret_new.  -EMEDIUMTYPE, -EISDIR, ...
 * Closing a descriptor drops this process's POSIX locks on the file, SQLite's among
 * them: the caller keeps it until SQLite has closed its own.
 */
int comm_schema_probe(int fd, bool *ret_new);
/* The schema version of an open store.  -EPROTO: newer than this program knows. */
int comm_schema_version(sqlite3 *db, int *ret);
/*
 * Does the store have what the schema of that version has, and nothing else?  A view or a
 * trigger in it would run in the programs that open it, and so would what an index or a
 * default computes.  -EUCLEAN: something is missing; -EMEDIUMTYPE: something is foreign.
 */
int comm_schema_check(sqlite3 *db, int version);
/* Brings a store, or an empty file, to a version, through all versions between. */
int comm_schema_migrate(sqlite3 *db, int to);

/* The errno for SQLite's last error on db. */
int comm_schema_errno(sqlite3 *db);
/* A sentence for the user, malloc'ed; NULL when there is no memory. */
char *comm_schema_sentence(const char *path, int err, sqlite3 *db);

#endif
