/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a store, beside SQLite's own descriptor of it: opened without following a link,
 * locked for one writer, and watched for what others do to it meanwhile.  The lock is on the
 * file itself, whatever name leads to it, and the kernel drops it when the writer dies.
 */
#ifndef COMM_STORE_FILE_H
#define COMM_STORE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct comm_store_file {
	int fd;		     /* closed after SQLite's, or SQLite's locks go with it */
	char name[PATH_MAX]; /* without links in its directory, for SQLITE_OPEN_NOFOLLOW */
	uint64_t size_bytes; /* a store never shrinks, */
	uint64_t log_bytes;  /* and SQLite's log only when all of it is in the store */
	int index_fd;	     /* of the log; -1: not opened yet */
	bool is_owned;	     /* it has the writer's lock; else a reader locks that byte, too */
};

/*
 * Makes the file where there is none.  -EBUSY: *ret_holder is writing to it (0: unknown);
 * -ELOOP: it is a symbolic link; -EMLINK: it has several names; -EMEDIUMTYPE, -EISDIR: it is no
 * regular file; -EREMOTE: it is planted.
 */
int comm_store_file_open(const char *path, struct comm_store_file *ret, pid_t *ret_holder);
/* For one that was not opened, with both descriptors -1, too. */
void comm_store_file_close(struct comm_store_file *file);
/*
 * -ENOENT: it was deleted; -ESTALE: moved, its name is gone or another file's; -EACCES: who asks
 * may not look whether it has its name; -ENODATA: cut, or its log.
 */
int comm_store_file_check(struct comm_store_file *file);

/*
 * A descriptor of the log's index, -1: there is none.  It is kept, since with any descriptor of a file
 * that a process closes it loses its locks on it, SQLite's own among them.
 */
int comm_store_file_index(struct comm_store_file *file);
/*
 * Takes the writer's lock on a file, which any who may open it to read can keep from being taken.
 * -EBUSY: *ret_holder is writing to it (0: unknown); -EAGAIN: only readers have locked it.
 */
int comm_store_file_own(int fd, pid_t *ret_holder);

/*
 * Whether another user made the file in a directory where anyone may, such as /tmp, for this one
 * to write to: as fs.protected_regular of the kernel has it.  also: who may have made it.
 */
bool comm_store_file_is_planted(const char *name, const struct stat *st, uid_t also);
/*
 * From now on what SQLite maps, the -shm file, is this process's alone: no child has it, which might write there, or wait
 * at its end for a disk that does not answer.  For programs whose children open no store.
 */
void comm_store_file_map_alone(void);
/* The writer's pid; 0: there is none.  Any descriptor of the file serves. */
pid_t comm_store_file_writer(int fd);

#endif
