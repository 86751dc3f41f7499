/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The remover: a process that removes what stands beside the store (its log, ballast, journal) and
 * nothing else.  SQLite does that when a run ends, by name, and neither Landlock nor a filter of
 * system calls can tell one name in a directory from another: so the run itself removes nothing.
 *
 * It ends with who started it, and has neither capability nor right but that one.  Where root keeps
 * its user id with a store in another user's directory, it is that user.
 */
#ifndef COMMD_REMOVER_H
#define COMMD_REMOVER_H

#include <stdbool.h>
#include <stddef.h>

/* While the process is small, since it is forked, as the user who will own the store.  0 or -errno. */
int comm_remover_start(const char *store_path);
/* From now on SQLite's unlink() is the remover's. */
void comm_remover_take_over(void);
/* Whether it was killed or stopped, so that something that was to go is still there. */
bool comm_remover_is_gone(void);
/* The names of what stands beside the store now, in words; "": nothing. */
void comm_remover_left(const char *store_path, char *ret, size_t bytes);
/* It ends; nothing is removed any more.  Where this process may stay for long, as its store does not answer. */
void comm_remover_leave(void);

#endif
