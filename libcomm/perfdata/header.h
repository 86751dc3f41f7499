/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a perf.data says of itself: in its header, and behind the data in sections called
 * features.  In pipe mode (perf record -o -) the same facts come as records.  The file is
 * hostile.  One thread uses it.
 */
#ifndef COMM_PERFDATA_HEADER_H
#define COMM_PERFDATA_HEADER_H

#include "events.h"
#include "files.h"
#include "perfdata.h"

struct comm_perfdata_header {
	/* The caller's; build-ids go to files. */
	const char *path;
	struct comm_perfdata_files *files;

	struct comm_perfdata_info info;
	struct comm_perfdata_events events; /* the caller's to free, also after an error */
	uint64_t data_offset, data_bytes;
	bool aux;		/* it holds raw traces */
	bool other_compression; /* its records are compressed, and not with zstd */
	int fd;
	uint64_t file_bytes;
	bool cut; /* perf was killed, or the file is cut short: there are no features */
};

/* On failure *err is a sentence (malloc'ed), or NULL when memory is short. */
int comm_perfdata_header_read(struct comm_perfdata_header *header, int fd, uint64_t file_bytes,
			      char **err);
/* Facts that come as records: a feature, and the build-id of a file. */
void comm_perfdata_header_feature(struct comm_perfdata_header *header, uint64_t feature,
				  const void *bytes, size_t n);
void comm_perfdata_header_build_id(struct comm_perfdata_header *header, uint16_t misc,
				   const void *body, size_t bytes);

/* Readies *err with a formatted sentence; returns error, for `return` lines. */
__attribute__((format(printf, 3, 4))) int comm_perfdata_fail(char **err, int error,
							     const char *format, ...);
int comm_perfdata_damaged(const char *path, const char *what, char **err);

#endif
