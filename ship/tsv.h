/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tab-separated values in memory, as COPY of PostgreSQL and FORMAT TSV of ClickHouse take them: valid UTF-8, a
 * backslash is written as two, and no field is absent.
 * Not for forms that people read: those are of ctl/form.
 */
#ifndef SHIP_TSV_H
#define SHIP_TSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

enum {
	/* Bytes of a name: of two, with a build-id, an index of PostgreSQL has to hold a row (2704 bytes). */
	SHIP_NAME_BYTES = 1000,
	SHIP_MODULE_BYTES = 500,
	/* More than the slices of commd have, and well below the MemoryMax of packaging/commprof-ship@.service. */
	SHIP_TSV_MAX = 32 << 20,
};

/* A zeroed one is empty.  err: what went wrong first, -ENOMEM or -EFBIG; then nothing is added any more. */
struct ship_tsv {
	char *bytes;
	size_t n, capacity;
	int err;
	bool in_row;
};

/* Bytes of a clean text that is no longer than SHIP_NAME_BYTES, before it is cut, and a NUL. */
enum { SHIP_CLEAN_BYTES = COMM_TEXT_GROWTH * SHIP_NAME_BYTES + 1 };

/*
 * A text, of which bytes that are no UTF-8 and control characters are written "\xNN".  Of one that takes more than most
 * bytes the end is replaced by a hash of all of it, so that two texts stay two.  Returns ret.
 */
const char *ship_tsv_clean(const char *text, size_t most, char ret[SHIP_CLEAN_BYTES]);

/* A field: such a text. */
void ship_tsv_text(struct ship_tsv *tsv, const char *text, size_t most);
void ship_tsv_int(struct ship_tsv *tsv, int64_t value);
/* What is not finite is 0. */
void ship_tsv_real(struct ship_tsv *tsv, double value);
void ship_tsv_end_row(struct ship_tsv *tsv);

/* Of a text, the same on each host. */
uint64_t ship_tsv_hash(const char *text);

void ship_tsv_clear(struct ship_tsv *tsv);
void ship_tsv_deinit(struct ship_tsv *tsv);

#endif
