/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a record says of a mapping, PERF_RECORD_MMAP or MMAP2.  The record is hostile.  Any
 * thread may call.
 */
#ifndef COMM_PERFDATA_MAPPING_H
#define COMM_PERFDATA_MAPPING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm_perfdata_mapping {
	uint64_t start, bytes, offset;
	/* Of the file; with a build-id, ino is a number that all files of that id have. */
	uint64_t ino;
	uint32_t major, minor;
	bool readable, writable, executable, shared;
	const char *path; /* need not end within path_bytes */
	size_t path_bytes;
	const void *build_id; /* NULL: not told */
	size_t build_id_bytes;
};

/* -EBADMSG: too short, or no mapping can be so.  What ret points to is in the record. */
int comm_perfdata_mapping(const struct perf_event_header *record,
			  struct comm_perfdata_mapping *ret);

#endif
