/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The role of a thread: what the threads of a pool have in common, told by
 * their names.
 */
#ifndef COMM_ROLE_H
#define COMM_ROLE_H

#include "ids.h"

enum { COMM_ROLE_BYTES = COMM_THREAD_NAME_BYTES };

/*
 * A thread's name without the digits and separators (- _ . : / # and space) at
 * its end: "io_thd_3" is "io_thd", "worker-12" is "worker", "kworker/1:2" is
 * "kworker".  A name of only digits and separators is its own role.  What Python calls a thread that
 * was given no name has its number in front: "Thread-3 (parse)" is "Thread (parse)".
 */
void comm_role_of(const char *name, char ret[COMM_ROLE_BYTES]);

#endif
