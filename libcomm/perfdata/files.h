/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the processes of a perf.data had mapped, or a program that counted by itself, as far as they are on this
 * machine: their symbols, lines and code.  A file is taken for the recorded one when its build-id
 * is the same; one without a recorded build-id only on the machine that recorded, when its
 * inode is the same.  Looked for under its own path and in perf's cache, where what "perf
 * archive" packed on the other machine is unpacked (~/.debug).
 *
 * Files are read by other processes (parser.h), which are waited for: nothing is lost
 * meanwhile.  Code bytes alone are read here.  One thread uses it.
 */
#ifndef COMM_PERFDATA_FILES_H
#define COMM_PERFDATA_FILES_H

#include "inspect.h"
#include "maps.h"
#include "names.h"

struct comm_perfdata_files;

enum { COMM_PERFDATA_BUILD_ID = 20 }; /* bytes of the longest */

/* names and maps outlive the files. */
int comm_perfdata_files_create(struct comm_names *names, struct comm_maps *maps,
			       struct comm_perfdata_files **ret);
void comm_perfdata_files_destroy(struct comm_perfdata_files *files);
/* Forks the process that reads files: before this one is large.  Else no file is here. */
int comm_perfdata_files_start(struct comm_perfdata_files *files);

/* Recorded here, so that a path and an inode tell what a file is; and code is x86-64's. */
void comm_perfdata_files_machine(struct comm_perfdata_files *files, bool is_this, bool is_x86);
/* The file of that path has that build-id.  -ENOMEM, -ENOSPC. */
int comm_perfdata_files_build_id(struct comm_perfdata_files *files, const char *path,
				 size_t path_bytes, const void *id, size_t id_bytes);
/* The same by the file's id (comm_mapping.file). */
int comm_perfdata_files_build_id_of(struct comm_perfdata_files *files, uint32_t file,
				    const void *id, size_t id_bytes);

/* As in inspect.h, of mappings of files. */
int comm_perfdata_files_code(struct comm_perfdata_files *files, const struct comm_mapping *m,
			     uint64_t ip, struct comm_code *ret);
int comm_perfdata_files_data(struct comm_perfdata_files *files, const struct comm_mapping *m,
			     uint64_t addr, struct comm_static *ret);
ssize_t comm_perfdata_files_text(struct comm_perfdata_files *files, const struct comm_mapping *m,
				 uint64_t addr, void *buf, size_t len_bytes);

/* How many files with sampled code are not here; *ret_path: the first. */
uint64_t comm_perfdata_files_absent(const struct comm_perfdata_files *files, const char **ret_path);
/* How many were not read though they are here, see COMM_LOSS_FILES. */
uint64_t comm_perfdata_files_unread(const struct comm_perfdata_files *files);

#endif
