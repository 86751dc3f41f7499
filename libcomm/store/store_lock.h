/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock of a store: one writer.  A file beside it, PATH-lock, holds the
 * writer's pid and an open-file-description lock that the kernel drops when
 * the writer dies, however it does.
 */
#ifndef COMM_STORE_LOCK_H
#define COMM_STORE_LOCK_H

#include <sys/types.h>

/* -EBUSY: *ret_holder has the pid (0: unknown).  *ret_fd is for _drop(). */
int comm_store_lock_take(const char *path, int *ret_fd, pid_t *ret_holder);
void comm_store_lock_drop(const char *path, int fd);
/* The writer's pid; 0: there is no writer, or its pid is unknown. */
pid_t comm_store_lock_holder(const char *path);

#endif
