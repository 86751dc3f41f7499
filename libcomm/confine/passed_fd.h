/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message between two processes by a socket that keeps messages apart (SOCK_SEQPACKET), and a descriptor that
 * goes with it (SCM_RIGHTS, unix(7)).
 */
#ifndef COMM_PASSED_FD_H
#define COMM_PASSED_FD_H

#include <stddef.h>
#include <sys/types.h>

/* fd -1: none goes with it; else it stays open here.  flags: of sendmsg(2).  0 or -errno. */
int comm_passed_fd_send(int socket, const void *data, size_t bytes, int fd, int flags);
/*
 * The bytes of a message, or -errno; -EBADMSG: something else came with it than a descriptor, or several.  *ret_fd is
 * the receiver's, closed at exec, or -1: none came.  flags: of recvmsg(2).
 */
ssize_t comm_passed_fd_receive(int socket, void *data, size_t bytes, int flags, int *ret_fd);

#endif
