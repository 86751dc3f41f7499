/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of the host of the children that read files (parse_host.h), and of a child
 * once it has opened its file (parse_child.h), or reads memory: the first list has all of the others.
 */
#ifndef COMM_CHILD_CALLS_H
#define COMM_CHILD_CALLS_H

#include "seccomp_list.h"

/*
 * Of the host, and of its children until they have opened their files: no program is
 * started, no memory made executable, no process traced, no socket or namespace made.
 */
extern const struct comm_seccomp_list comm_child_calls_host;
/* Of a child that reads a file of a target: nothing is opened, no process made or signalled. */
extern const struct comm_seccomp_list comm_child_calls_parser;
/* Of the child that reads memory of targets (peek_child.h): files are opened to be read alone. */
extern const struct comm_seccomp_list comm_child_calls_peek;

#endif
