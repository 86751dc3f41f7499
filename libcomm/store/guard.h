/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: keeps a store that somebody else made from harming the program that opens
 * it.  A store is a file: it may come by mail, and its directory may be another user's.
 * Writer and readers share the guard; what the tables must look like is schema.h's.
 */
#ifndef COMM_GUARD_H
#define COMM_GUARD_H

#include <stdint.h>

#include <sqlite3.h>

struct comm_guard {
	uint64_t left; /* instructions of SQLite's machine that the task may still take */
};

/*
 * The VFS to open a store with: SQLite's own, except that a journal cannot name another
 * file, which SQLite would read and delete, nor be a link to one, which SQLite would write to.
 * NULL: it could not be registered.
 */
const char *comm_guard_vfs(void);
/*
 * Settings and limits of a connection that was just opened.  No view, no trigger and no
 * function of the schema runs on it, and a task ends with SQLITE_INTERRUPT when it has
 * taken what comm_guard_begin() allowed.  The guard must outlive the connection.
 */
void comm_guard_init(struct comm_guard *guard, sqlite3 *db);
/* A task begins on the store at path that writes at most so many rows. */
void comm_guard_begin(struct comm_guard *guard, const char *path, uint64_t rows);
/* Size of a store's file and of its log. */
uint64_t comm_guard_bytes(const char *path);

#endif
