/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is at the other end of a connection over loopback: any user of the machine may make one, and a store is not for everybody.  At
 * a socket in the file system the kernel asks for the right to write it, and this is not asked.
 */
#ifndef CTL_PEER_H
#define CTL_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* The user whose socket is at the other end of that one; -ENOENT: there is none any more. */
int ctl_peer_uid(int fd, uid_t *ret);
/* Whether pages are for that user: it is root, this process's, or the one behind sudo. */
bool ctl_peer_is_trusted(uid_t uid);

#endif
