/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a result file, one after the other, and what a first pass over them finds: how many there are of a kind, and
 * of what they list, so that the second (results.c) has memory for all of it.  Not what they mean.  The file is
 * hostile, and stays the caller's.
 */
#ifndef COMM_EXACT_RECORDS_H
#define COMM_EXACT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

enum {
	COMM_EXACT_KINDS = COMM_EXACT_FORGOTTEN + 1,
};

struct comm_exact_records {
	const uint8_t *data;
	size_t bytes;
	size_t first;			  /* offset of the first record */
	uint32_t count[COMM_EXACT_KINDS]; /* records */
	size_t items[COMM_EXACT_KINDS];	  /* of those that list something */
	size_t text_bytes;		  /* of all strings, with their NUL */
	size_t untold;			  /* edges of the record before */
};

struct comm_exact_one {
	uint32_t kind, bytes;
	const uint8_t *payload;
};

/*
 * The first pass: sets all but data and bytes, which the caller has.  -EMEDIUMTYPE: no such file; -EPROTO: made by a
 * newer version; -EBADMSG: corrupt, before *ret_at; -ENODATA: cut off.
 */
int comm_exact_survey(struct comm_exact_records *in, size_t *ret_at);
/* 1: *ret is the record at *at, which moves on; 0: the end; -EBADMSG. */
int comm_exact_next(const struct comm_exact_records *in, size_t *at, struct comm_exact_one *ret);

#endif
