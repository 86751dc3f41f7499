/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Out files: a file that a run writes from its beginning to its end, by itself.  It is made in the place of
 * a regular one, if there is any: the owner of that, or who has it open, would read what the target
 * has in memory, and it may have other names.  The first error ends it for good.
 *
 * From comm_out_file_start() on a thread writes it, and nobody else waits for its disk: what is written waits in
 * COMM_OUT_FILE_BYTES.  An error is then told later, by the next call.
 *
 * What it is not for: what stands in the file (record_format.h, comm/accesses.h).  One thread calls all of it.
 */
#ifndef COMM_OUT_FILE_H
#define COMM_OUT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { COMM_OUT_FILE_BYTES = 32 << 20 };

struct comm_out_file;

/* -ENOTBLK: there is one that is no regular file; -ELOOP: a symbolic link. */
int comm_out_file_create(const char *path, mode_t mode, struct comm_out_file **ret);
/* The thread begins; it has the rights that its maker has by now, and no signal is handled in it.  0 or -errno. */
int comm_out_file_start(struct comm_out_file *file);
/* Buffered; 0, or -errno of the first error there was: -ENOBUFS: more would wait than has a place. */
int comm_out_file_write(struct comm_out_file *file, const void *data, size_t bytes);
/* Finds out, too, whether another program has deleted the file (-ENOENT), or cut it short (-ESTALE). */
int comm_out_file_flush(struct comm_out_file *file);
/*
 * Flushes, and waits until all is written.  -ETIMEDOUT: at give_up_ns (CLOCK_MONOTONIC) the thread still waits for the
 * disk, and may do so for ever.
 */
int comm_out_file_end(struct comm_out_file *file, uint64_t give_up_ns);
/* What such an error (as a positive number) was, to say behind a colon. */
const char *comm_out_file_why(int error);
/* Ends it, within a second.  A thread that still waits for its disk stays, with what it has. */
void comm_out_file_destroy(struct comm_out_file *file);

#endif
