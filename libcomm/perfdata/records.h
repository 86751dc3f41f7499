/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a file of perf, one after the other, as they stand in it or in its packed records (packed.h).
 * Not for what a record says: of that it knows the length alone.  The file is hostile, and may be cut short
 * anywhere.  One thread uses it.
 */
#ifndef COMM_PERFDATA_RECORDS_H
#define COMM_PERFDATA_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of perf's own that are packed: the length is the header's, or told and then padded. */
enum { COMM_PERFDATA_COMPRESSED = 81, COMM_PERFDATA_COMPRESSED2 = 83 };

struct comm_perfdata_records;

/*
 * So many bytes of records from offset on.  fd is theirs from then on, on an error, too; path is for messages, and
 * must outlive them.  *err as of all functions here: a sentence, malloc'ed, or NULL.
 */
int comm_perfdata_records_open(const char *path, int fd, uint64_t offset, uint64_t bytes,
			       struct comm_perfdata_records **ret, char **err);
void comm_perfdata_records_close(struct comm_perfdata_records *records);
/* The next one, which stays until this is called again: 1; 0: there is none, maybe since the file is cut short. */
int comm_perfdata_records_next(struct comm_perfdata_records *records,
			       const struct perf_event_header **ret, char **err);
/* The record that was given last is of a kind that is packed: those in it come next. */
int comm_perfdata_records_unpack(struct comm_perfdata_records *records, char **err);
/* Whether the record that was given last stood in a packed one. */
bool comm_perfdata_records_packed(const struct comm_perfdata_records *records);
/* Behind the record that was given last stand so many bytes that are none. */
int comm_perfdata_records_skip(struct comm_perfdata_records *records, uint64_t bytes, char **err);
/* Whether the file ended before its records did. */
bool comm_perfdata_records_cut(const struct comm_perfdata_records *records);

#endif
