/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings: the raw, merged event stream in a versioned file, together with
 * every answer that the engine got about the target (mappings, code bytes,
 * names).  Answers stand before the event that needed them, so that replay.h
 * reads the file once, front to back, and gives the same matrix bit for bit
 * without the target, its files or any privilege.  record_format.h says how.
 *
 * A recording holds addresses and memory of the target: it is made 0600.
 */
#ifndef COMM_RECORD_H
#define COMM_RECORD_H

#include "event.h"
#include "inspect.h"

struct comm_record;

/* What the run was, so that a replay is reported like it. */
struct comm_record_head {
	uint64_t start_ns, start_unix_ns;
	double cycles_per_ns;
	double overhead_limit;
	char source[32], event[32], estimator[32], host[64], command[256];
	char numa[4096];     /* which CPUs are on which node, as of struct comm_run_info */
	char function[1024]; /* whose reads the run is about; "": all */
};

/* A file that exists is overwritten.  -ENOTBLK: it is no regular file; -ELOOP: a symbolic link. */
int comm_record_create(const char *path, const struct comm_record_head *head,
		       struct comm_record **ret);
/* A view that asks the view inner and records each answer when it is new. */
void comm_record_inspect(struct comm_record *record, const struct comm_inspect *inner,
			 struct comm_inspect *ret);
void comm_record_event(struct comm_record *record, const struct comm_event *event);
/* From here on nobody waits for the file's disk (out_file.h).  0 or -errno. */
int comm_record_start(struct comm_record *record);
/* The last record: when the run ended.  All is written then, or at give_up_ns given up. */
void comm_record_end(struct comm_record *record, uint64_t end_ns, uint64_t give_up_ns);
/* Finds out whether another program has deleted the file, or cut it short: that is an error, too. */
void comm_record_look(struct comm_record *record);
/*
 * Records not written because of an error, and the first such errno; ENOENT and ESTALE: the file was
 * deleted, or cut short; ENOBUFS and ETIMEDOUT: its disk did not keep up, or not in time.
 */
uint64_t comm_record_lost(const struct comm_record *record, int *ret_errno);
void comm_record_destroy(struct comm_record *record);

#endif
