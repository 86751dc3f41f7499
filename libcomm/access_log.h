/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of accesses: what the engine decoded, burst by burst, as rows of the file that --accesses asks for
 * (access_file.h), each with the number of accesses that it stands for.  One thread uses it.
 */
#ifndef COMM_ACCESS_LOG_H
#define COMM_ACCESS_LOG_H

#include "access_file.h"
#include "estimator.h"
#include "identity.h"

struct comm_access_log;

/* Of an access of a burst, what estimators need not know. */
struct comm_access_seen {
	uint64_t addr;
	enum comm_accesses_known known;
};

/* As comm_access_file_create(). */
int comm_access_log_create(const char *path, const struct comm_access_file_head *head,
			   struct comm_access_log **ret);
void comm_access_log_destroy(struct comm_access_log *log);

/* seen: of each of the burst's accesses.  Returns how many of them could not be written. */
uint64_t comm_access_log_burst(struct comm_access_log *log, const struct comm_identity *identity,
			       uint32_t tgid, uint32_t tid, const struct comm_access_burst *burst,
			       const struct comm_access_seen *seen);
/* To be called now and then: what is written can be read by others some 100 ms after it was. */
void comm_access_log_look(struct comm_access_log *log, uint64_t now_ns);
/* As comm_record_start() and comm_record_end(). */
int comm_access_log_start(struct comm_access_log *log);
void comm_access_log_end(struct comm_access_log *log, uint64_t end_ns, uint64_t give_up_ns);
/* Accesses that were not written, and the first error, as of comm_record_lost(). */
uint64_t comm_access_log_lost(const struct comm_access_log *log, int *ret_errno);

#endif
