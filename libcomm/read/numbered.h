/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers by address: what has been read of a DIE, of a unit or of a text of DWARF, by where
 * it lies, so that it is read once.
 */
#ifndef COMM_NUMBERED_H
#define COMM_NUMBERED_H

#include "keyed.h"

struct comm_numbered {
	uint64_t key;
	uint32_t number; /* 0: none yet */
};

static const struct comm_keyed_kind comm_numbered_kind = {
	COMM_KEYED_BYTES(struct comm_numbered, key),
};

/* Where a key's number is, until the next call; NULL: out of memory. */
static inline uint32_t *comm_numbered(struct comm_keyed *keyed, uint64_t key)
{
	size_t at;

	if (comm_keyed_at(keyed, &comm_numbered_kind, &key, &at))
		return NULL;
	return &((struct comm_numbered *)comm_keyed_row(keyed, &comm_numbered_kind, at))->number;
}

#endif
