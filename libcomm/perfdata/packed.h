/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed records: what `perf record -z` writes in place of the kernel's records, which are one
 * stream of zstd over the whole file, cut into records wherever one of these was full.  A record
 * may begin in one and end in the next.
 *
 * What comes out is bounded: a record at a time, and a window of zstd as large as the highest
 * level of perf has.  The stream is hostile.  One thread uses it.
 */
#ifndef COMM_PERFDATA_PACKED_H
#define COMM_PERFDATA_PACKED_H

#include <stddef.h>

struct comm_perfdata_packed;

int comm_perfdata_packed_create(struct comm_perfdata_packed **ret);
void comm_perfdata_packed_destroy(struct comm_perfdata_packed *packed);

/* The next piece of the stream, 64 KiB at most, which is copied, when next() has given 0. */
void comm_perfdata_packed_push(struct comm_perfdata_packed *packed, const void *bytes, size_t n);
/*
 * The next record, with its header, into ret_record of 64 KiB: 1; 0: it wants a further piece.
 * -EBADMSG: this is no stream of records.
 */
int comm_perfdata_packed_next(struct comm_perfdata_packed *packed, void *ret_record);

#endif
