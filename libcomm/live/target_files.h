/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of targets as they come: programs, libraries and perf maps, which children read (parser.h) while the
 * engine goes on.  It takes what they hand back, lets a first sample wait a little for its symbols, and keeps within
 * what is allowed; what that has cost is told apart, as setup and as what recurs.
 *
 * Not for memory and mappings of targets (process_reader.h), nor for what stands in a file (module.h, perf_maps.h).
 * Owns the parser, the modules and the perf maps.  One thread uses it.
 */
#ifndef COMM_TARGET_FILES_H
#define COMM_TARGET_FILES_H

#include "inspect.h"
#include "module.h"
#include "names.h"
#include "parser.h"

struct comm_target_files;

/* names must outlive them. */
int comm_target_files_create(struct comm_names *names, struct comm_target_files **ret);
void comm_target_files_destroy(struct comm_target_files *files);
/* For who has more read by its processes (peek.h); it lives as long as the files do. */
struct comm_parser *comm_target_files_parser(struct comm_target_files *files);

/*
 * The module of a mapping.  Waits a little for a file that is asked for first.  -EAGAIN: it is still being read;
 * -ENOENT: the mapping is of no file.
 */
int comm_target_files_module(struct comm_target_files *files, uint32_t tgid,
			     const struct comm_mapping *m, struct comm_module **ret);
/* As comm_perf_maps_code(). */
int comm_target_files_generated(struct comm_target_files *files, uint32_t tgid, uint64_t ip,
				struct comm_code *ret);
/* As comm_inspect_live_prefetch(), of the process's n mappings. */
void comm_target_files_prefetch(struct comm_target_files *files, uint32_t tgid,
				const struct comm_mapping *map, size_t n, bool is_fork,
				uint64_t stop_ns);
/* A run has ended: waits for names, until stop_ns at most, whatever was allowed. */
void comm_target_files_finish(struct comm_target_files *files, uint64_t stop_ns);
/* As comm_modules_tell_unread(). */
void comm_target_files_tell_unread(struct comm_target_files *files, comm_inspect_unread_fn *fn,
				   void *ctx);
/* Is a file being read, or waiting for its turn? */
bool comm_target_files_busy(const struct comm_target_files *files);

/* Takes what was read, and lets a part of so much more CPU time go into files; UINT64_MAX: there is no limit. */
void comm_target_files_allow(struct comm_target_files *files, uint64_t cpu_ns);
/* CPU time of setup: of this process alone, and with that of its children but for perf maps of the run. */
uint64_t comm_target_files_own_ns(const struct comm_target_files *files);
uint64_t comm_target_files_setup_ns(const struct comm_target_files *files);
/* That of children for perf maps since the prefetch. */
uint64_t comm_target_files_generated_ns(const struct comm_target_files *files);
/* Files that were not read, or not read on in. */
uint64_t comm_target_files_lost(const struct comm_target_files *files);

#endif
