/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ballast: a file beside a store that takes disk space while a run goes on, and gives it back when the disk
 * is full, so that there is room to end the run.  Only its user may open it, so the lock on it that tells
 * who writes to the store is one that no reader can take (reader_lock.h).
 */
#ifndef COMM_BALLAST_H
#define COMM_BALLAST_H

#include <stdbool.h>
#include <sys/types.h>

enum { COMM_BALLAST_BYTES = 2 << 20 };

struct comm_ballast {
	int fd;		/* -1: none */
	bool is_loaded; /* it takes the space that it is for */
};

/* Makes it, or loads the one that is there; without space there is none in it. */
void comm_ballast_load(struct comm_ballast *ballast, const char *store);
/* Gives its space back.  The file stays: in the midst of a run none can be made. */
void comm_ballast_drop(struct comm_ballast *ballast);
void comm_ballast_remove(struct comm_ballast *ballast, const char *store);
/* Whether a process writes to the store that could not lock the store itself; *ret_holder is that process. */
bool comm_ballast_is_held(const char *store, pid_t *ret_holder);

/* Allocates so many bytes for a file now, so that it has them when the disk is full.  fd may be -1. */
bool comm_ballast_reserve(int fd);
/* As SQLite does, which may have its own way to (daemon/remover.h). */
void comm_ballast_remove_file(const char *name);

#endif
