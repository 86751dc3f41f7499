/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The title of a process: what it wrote over its command line to say what it does, as
 * "postgres: walwriter" and "nginx: worker process".  A command line as exec gave it is none, nor
 * is any part of one: arguments may be secrets.
 */
#ifndef COMM_TITLE_H
#define COMM_TITLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	COMM_TITLE_BYTES = 64,	     /* with its NUL */
	COMM_TITLE_TEXT_BYTES = 128, /* of a command line, in which a title is looked for */
};

/*
 * The title in the text of /proc/PID/cmdline, clean (text.h) and zeros behind it; "" if there is none.
 * A title begins with a name and a colon.  It ends before the first word that is a path, a URL,
 * an option or an assignment, as programs tell there how they were called.  What is said of all
 * processes of a program, as PostgreSQL's cluster, and what is known to be said of a moment is
 * left out.
 */
void comm_title_of(const char *text, size_t bytes, char ret[COMM_TITLE_BYTES]);

/*
 * Takes another reading of a process's title.  Words at its end that change are no part of it; a
 * title that has nothing in common with it takes its place.
 */
void comm_title_take(char title[COMM_TITLE_BYTES], const char *reading);

/*
 * Whether the title is that of a thread with this name: a thread that has a name of its own is
 * not called as its process is.
 */
bool comm_title_fits(const char *title, const char *name);

/*
 * What processes with such a title have in common: the title without the names of users and
 * databases, addresses, numbers and what follows these.
 */
void comm_title_role(const char *title, char ret[COMM_TITLE_BYTES]);

#endif
