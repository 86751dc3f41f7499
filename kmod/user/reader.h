/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user side of /dev/commprof: one session, its rings, and the records in
 * order per ring.  Not for merging rings by time: that is the caller's.  Not
 * thread safe.  Functions return 0 or -errno.
 */
#ifndef CP_READER_H
#define CP_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "commprof.h"

struct cp_reader;

/* ring_bytes: a power of two; watermark_bytes: poll() wakes there, 0: half. */
int cp_reader_create(const char *path, uint32_t ring_bytes, uint32_t watermark_bytes,
		     struct cp_reader **ret);
void cp_reader_destroy(struct cp_reader *reader);

int cp_reader_fd(const struct cp_reader *reader); /* for poll() */
uint32_t cp_reader_rings(const struct cp_reader *reader);

/* The ioctls; size fields are filled in. */
int cp_reader_target(struct cp_reader *reader, enum cp_target_kind kind, uint32_t flags, int id);
/* Where a process has its marks. */
int cp_reader_marks(struct cp_reader *reader, int tgid, int64_t stack, uint64_t process);
int cp_reader_source(struct cp_reader *reader, struct cp_source *source);
/* cpu: or CP_RATE_EVERY_CPU. */
int cp_reader_rate(struct cp_reader *reader, uint32_t id, uint32_t cpu, uint64_t period);
int cp_reader_pointees(struct cp_reader *reader, uint32_t id, bool on);
int cp_reader_budget(struct cp_reader *reader, struct cp_budget *budget);
int cp_reader_watch(struct cp_reader *reader, struct cp_watch *watch);
int cp_reader_start(struct cp_reader *reader);
int cp_reader_stop(struct cp_reader *reader);
int cp_reader_stats(struct cp_reader *reader, struct cp_stats *ret);

/*
 * The next record of a ring, NULL when it has none: valid until the next call for
 * that ring, which also gives its room back to the module.
 */
const struct cp_record *cp_reader_next(struct cp_reader *reader, uint32_t ring);
/* How often the data of a ring were no record, and all that was in that ring was passed over. */
uint64_t cp_reader_malformed(const struct cp_reader *reader);

/*
 * The chunks of a sample, one after the other: NULL begins, and NULL is returned
 * past the last one or if the record does not hold what it says.
 */
const struct cp_chunk *cp_sample_chunk(const struct cp_sample *sample, const struct cp_chunk *last);

#endif
