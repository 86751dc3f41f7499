/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of accesses that --accesses asks for: rows in one of two forms, binary (comm/accesses.h) or, where its
 * name ends in ".csv", a table of text.  It holds addresses of the target: mode 0640.
 *
 * What it is not for: which accesses there are, and what they stand for (access_log.h).
 */
#ifndef COMM_ACCESS_FILE_H
#define COMM_ACCESS_FILE_H

#include <comm/accesses.h>

#include "ids.h"

struct comm_access_file;

struct comm_access_file_head {
	uint64_t start_ns, start_unix_ns;
	double cycles_per_ns;
};

/* As comm_out_file_create(). */
int comm_access_file_create(const char *path, const struct comm_access_file_head *head,
			    struct comm_access_file **ret);
/* function and object are those of the row's ids.  0, or -errno of the first error: nothing is written any more. */
int comm_access_file_row(struct comm_access_file *file, const struct comm_accesses_row *row,
			 const struct comm_function *function, const struct comm_object *object);
/* Whoever reads along sees all rows so far; finds out, too, what others did to the file (out_file.h). */
int comm_access_file_flush(struct comm_access_file *file);
/* As comm_out_file_start() and comm_out_file_end(). */
int comm_access_file_start(struct comm_access_file *file);
int comm_access_file_end(struct comm_access_file *file, uint64_t end_ns, uint64_t give_up_ns);
void comm_access_file_destroy(struct comm_access_file *file);

#endif
