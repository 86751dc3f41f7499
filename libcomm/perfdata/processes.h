/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a file as they were at one point of time: their mappings and the names
 * of their threads, by what the file's records said so far.  perf records no munmap(): a
 * mapping is there until another takes its place.  Records are hostile: names are cleaned,
 * numbers bounded.  One thread uses it.
 */
#ifndef COMM_PERFDATA_PROCESSES_H
#define COMM_PERFDATA_PROCESSES_H

#include "inspect.h"
#include "mapping.h"
#include "maps.h"

struct comm_perfdata_processes;

/* maps: gives mappings their kinds and files; it outlives the processes. */
int comm_perfdata_processes_create(struct comm_maps *maps, struct comm_perfdata_processes **ret);
void comm_perfdata_processes_destroy(struct comm_perfdata_processes *processes);

/* The file's id, 0 when it is of none; negative: -errno, the mapping is left out. */
int64_t comm_perfdata_processes_map(struct comm_perfdata_processes *processes, uint32_t tgid,
				    const struct comm_perfdata_mapping *mapping);
/* A child with mappings of its own (another tgid), or a thread. */
void comm_perfdata_processes_fork(struct comm_perfdata_processes *processes, uint32_t tgid,
				  uint32_t tid, uint32_t child_tgid, uint32_t child_tid);
/* Another program: the mappings are gone. */
void comm_perfdata_processes_exec(struct comm_perfdata_processes *processes, uint32_t tgid);
void comm_perfdata_processes_exit(struct comm_perfdata_processes *processes, uint32_t tgid,
				  uint32_t tid);
void comm_perfdata_processes_name(struct comm_perfdata_processes *processes, uint32_t tid,
				  const char *name, size_t bytes);

/* As in inspect.h; the array is valid until the next call that changes mappings. */
int comm_perfdata_processes_maps(const struct comm_perfdata_processes *processes, uint32_t tgid,
				 const struct comm_mapping **ret, size_t *ret_n);
/* The mapping that addr is in, or NULL. */
const struct comm_mapping *
comm_perfdata_processes_at(const struct comm_perfdata_processes *processes, uint32_t tgid,
			   uint64_t addr);
int comm_perfdata_processes_thread(const struct comm_perfdata_processes *processes, uint32_t tid,
				   char name[16]);

#endif
