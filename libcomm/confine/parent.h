/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that ends with its parent, by whatever that ended and also if the child is stopped.  Its socket tells it, if it
 * runs; else there are two ways, as each may fail.  The kernel kills it (PR_SET_PDEATHSIG) where its parent might, which
 * mostly has no right to by then, or is behind a fence.  And a process group of its own has no member any more whose
 * parent is of another group of its session: if one is stopped, it goes on ("orphaned", setpgid(2)), and then ends by itself.
 */
#ifndef COMM_PARENT_H
#define COMM_PARENT_H

#include <sys/types.h>

/* In the child, once it is the user that it stays.  0, or -ESRCH: its parent has ended already. */
int comm_parent_bind(pid_t parent);

#endif
