/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Out files: a file that a run writes from its beginning to its end, by itself.  It is made in the place of
 * a regular one, if there is any: the owner of that, or who has it open, would read what the target
 * has in memory, and it may have other names.  The first error ends it for good.
 *
 * What it is not for: what stands in the file (record_format.h, comm/accesses.h).
 */
#ifndef COMM_OUT_FILE_H
#define COMM_OUT_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct comm_out_file;

/* -ENOTBLK: there is one that is no regular file; -ELOOP: a symbolic link. */
int comm_out_file_create(const char *path, mode_t mode, struct comm_out_file **ret);
/* Buffered; 0, or -errno of the first error there was. */
int comm_out_file_write(struct comm_out_file *file, const void *data, size_t bytes);
int comm_out_file_flush(struct comm_out_file *file);
/* Finds out whether another program has deleted the file (-ENOENT), or cut it short (-ESTALE). */
int comm_out_file_look(struct comm_out_file *file);
void comm_out_file_destroy(struct comm_out_file *file);

#endif
