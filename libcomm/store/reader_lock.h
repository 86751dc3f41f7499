/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that hold up the one writer of a store though whoever has them may only read it.  The kernel
 * gives a lock for reading to any descriptor, so a member of the store's group may lock the bytes that
 * SQLite's writer locks for itself (sqlite.org/walformat.html: "WAL Locks") and stop it for ever.  Nobody
 * who writes has a lock for reading there for longer than a look, so to the writer these are none.
 * Locks by which readers say what they read are theirs, and stand.
 *
 * For guard.c, whose VFS opens the file.  Not for a connection of several writers.
 */
#ifndef COMM_READER_LOCK_H
#define COMM_READER_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include <sqlite3.h>

/* Bytes that a VFS's files must have behind those of below, SQLite's own. */
int comm_reader_lock_bytes(void);
/* After below has opened a store to be written to, of that name. */
void comm_reader_lock_watch(const sqlite3_vfs *below, const char *name, sqlite3_file *file);
/*
 * The process that a part of a store's log index is locked by for reading, or -1 where it is not
 * known; 0: none.  Any descriptor of the index serves.
 */
pid_t comm_reader_lock_holder(int index_fd);

#endif
