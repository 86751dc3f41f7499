/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: up to where a target has each run, in files of a directory.  For targets that keep none of their own.
 *
 * UUID.shipped is the mark of a run, and is locked while one is open, so that two who send the same run do not
 * send one batch at once.  At most one is open.
 */
#ifndef SHIP_MARKS_H
#define SHIP_MARKS_H

#include <stdint.h>

#include "uuid.h"

struct ship_marks {
	char *path;
	int fd;	   /* of the directory */
	char *end; /* of a mark's name, behind the UUID */
	/* The run whose mark is open, and locked. */
	char uuid[COMM_UUID_CHARS + 1];
	int mark_fd;
};

/*
 * Marks of a directory.  target: a name of who has the runs, where a directory has the marks of several targets; else NULL.
 * All functions: as those of sink.h.
 */
int ship_marks_open(const char *path, const char *target, struct ship_marks *ret, char **err);
/* For one that did not open, too. */
void ship_marks_close(struct ship_marks *marks);
/* 0: there is none. */
int ship_marks_read(struct ship_marks *marks, const char *uuid, uint64_t *ret_ns, char **err);
/* On the disk when it returns. */
int ship_marks_write(struct ship_marks *marks, const char *uuid, uint64_t ns, char **err);

/* What went wrong with a file of the directory; -EAGAIN where another disk, or more room, mends it. */
int ship_marks_fail(const struct ship_marks *marks, int code, const char *what, char **err);

#endif
