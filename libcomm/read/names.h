/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that came from a target, kept once each: clean text (text.h), at most
 * COMM_NAME_BYTES with the NUL, and unmoved until the table is destroyed, so equal names are equal pointers.  The table
 * is bounded: past its limit every new name is "(other)".
 */
#ifndef COMM_NAMES_H
#define COMM_NAMES_H

#include <stddef.h>

enum {
	COMM_NAME_BYTES = 512,
};

struct comm_names;

int comm_names_create(size_t max_bytes, struct comm_names **ret);
void comm_names_destroy(struct comm_names *names);

/* Never NULL.  Stops at a NUL or after len_bytes, whichever comes first. */
const char *comm_names_add(struct comm_names *names, const char *str, size_t len_bytes);

#endif
