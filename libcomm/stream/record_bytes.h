/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of a recording (record_format.h) as bytes: appended to a growing buffer,
 * and read back one by one through a cursor.  The cursor remembers that it ran
 * past the end, so that its user checks for errors once, after the last field.
 */
#ifndef COMM_RECORD_BYTES_H
#define COMM_RECORD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* failed: out of memory, the content is void until the next clear. */
struct comm_bytes {
	uint8_t *data;
	size_t n, capacity;
	bool failed;
};

bool comm_bytes_reserve(struct comm_bytes *bytes, size_t more);
void comm_bytes_clear(struct comm_bytes *bytes); /* keeps the memory */
void comm_bytes_free(struct comm_bytes *bytes);

void comm_bytes_u8(struct comm_bytes *to, uint8_t value);
void comm_bytes_u16(struct comm_bytes *to, uint16_t value);
void comm_bytes_u32(struct comm_bytes *to, uint32_t value);
void comm_bytes_u64(struct comm_bytes *to, uint64_t value);
void comm_bytes_f64(struct comm_bytes *to, double value);
/* Both append zeros up to a multiple of 8 bytes. */
void comm_bytes_block(struct comm_bytes *to, const void *from, size_t n);
void comm_bytes_string(struct comm_bytes *to, const char *text); /* or NULL */

/* bad: a field was missing, or was no string; further fields read as 0. */
struct comm_cursor {
	const uint8_t *at, *end;
	bool bad;
};

uint8_t comm_cursor_u8(struct comm_cursor *c);
uint16_t comm_cursor_u16(struct comm_cursor *c);
uint32_t comm_cursor_u32(struct comm_cursor *c);
uint64_t comm_cursor_u64(struct comm_cursor *c);
double comm_cursor_f64(struct comm_cursor *c);
/* Results point into the bytes being read.  NULL: there is no string, or the cursor is bad. */
const void *comm_cursor_block(struct comm_cursor *c, size_t n);
const char *comm_cursor_text(struct comm_cursor *c);
const char *
comm_cursor_name(struct comm_cursor *c); /* clean text (text.h), else the cursor is bad */

#endif
