/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyed rows: an array of rows of one type, in order of arrival, of which each is found by its
 * key, the bytes that it begins with.  Edges, placements, origins, counts and cache lines are
 * summed in such tables, and files, places and objects numbered by them.  Not for rows that leave
 * alone, or whose keys change.  Rows move when a table grows; their indices stay.  One thread uses
 * a table.
 */
#ifndef COMM_KEYED_H
#define COMM_KEYED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hash.h"

struct comm_keyed {
	void *row; /* n of them, each key once */
	size_t n, capacity;
	uint32_t *slot; /* 1 + index into row, 0: free; twice as many as room, or none */
	unsigned int hash_shift;
};

/* A table as a member, whose rows have a type and a name. */
#define COMM_KEYED(table, type, rows, n_rows) \
	union {                               \
		struct comm_keyed table;      \
		struct {                      \
			type *rows;           \
			size_t n_rows;        \
		};                            \
	}

/* What is the same for all tables of a type of rows. */
struct comm_keyed_kind {
	size_t row_bytes, key_bytes; /* of the key at least 8, or its hash has no high bits */
	/* For add() and fold(): adds a row's values to those of the row with its key, at first 0. */
	void (*sum)(void *to, const void *row);
	size_t most;  /* rows of a table; 0: as many as memory holds */
	bool hostile; /* an adversary may choose keys: they are hashed with a secret (hash.h) */
};

/* The sizes of a kind whose keys end with the member last; no padding lies between them. */
#define COMM_KEYED_BYTES(type, last) \
	.row_bytes = sizeof(type),   \
	.key_bytes = offsetof(type, last) + sizeof(((const type *)NULL)->last)

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_keyed_deinit(struct comm_keyed *keyed);
void comm_keyed_clear(struct comm_keyed *keyed);
/* Room for one row more.  -ENOMEM. */
int comm_keyed_grow(struct comm_keyed *keyed, const struct comm_keyed_kind *kind);
void comm_keyed_sort(struct comm_keyed *keyed, const struct comm_keyed_kind *kind,
		     int (*order)(const void *, const void *));
/*
 * Of the rows that are lossy, or of all if that is NULL, keeps the cap that are the first in
 * that order.  strip() changes the keys of the others, by which they are then added up.
 * Returns how many these are.
 */
size_t comm_keyed_fold(struct comm_keyed *keyed, const struct comm_keyed_kind *kind, size_t cap,
		       int (*order)(const void *, const void *), bool (*lossy)(const void *row),
		       void (*strip)(void *row));

static inline void *comm_keyed_row(const struct comm_keyed *keyed,
				   const struct comm_keyed_kind *kind, size_t at)
{
	return (uint8_t *)keyed->row + at * kind->row_bytes;
}

static inline uint64_t comm_keyed_hash(const struct comm_keyed_kind *kind, const void *key)
{
	size_t tail = kind->key_bytes % sizeof(uint64_t);
	const uint8_t *words = key, *end = words + kind->key_bytes - tail;
	uint64_t hash = 0, word;

	if (kind->hostile)
		return comm_hash_secret(key, kind->key_bytes);
	memcpy(&hash, end, tail);
	for (; words < end; words += sizeof(word)) {
		memcpy(&word, words, sizeof(word));
		hash = comm_hash_mix(hash, word);
	}
	return hash;
}

/* The slot of a key, or the free one where it belongs; there must be slots. */
static inline uint32_t *comm_keyed_slot(const struct comm_keyed *keyed,
					const struct comm_keyed_kind *kind, const void *key)
{
	size_t mask = 2 * keyed->capacity - 1, at;

	/* The high bits: all bits of all words are in these (hash.h). */
	at = comm_keyed_hash(kind, key) >> keyed->hash_shift;
	while (keyed->slot[at] &&
	       memcmp(comm_keyed_row(keyed, kind, keyed->slot[at] - 1), key, kind->key_bytes) != 0)
		at = (at + 1) & mask;
	return &keyed->slot[at];
}

/* The row with that key; NULL: there is none. */
static inline void *comm_keyed_find(const struct comm_keyed *keyed,
				    const struct comm_keyed_kind *kind, const void *key)
{
	uint32_t at = keyed->slot ? *comm_keyed_slot(keyed, kind, key) : 0;

	return at ? comm_keyed_row(keyed, kind, at - 1) : NULL;
}

/*
 * Finds the row with that key, or makes one whose other bytes are zero; *ret is its index.
 * -ENOSPC: there are as many as there may be; -ENOMEM.  Inline, so that it is compiled for each
 * kind: it is called for each sample.
 */
static inline int comm_keyed_at(struct comm_keyed *keyed, const struct comm_keyed_kind *kind,
				const void *key, size_t *ret)
{
	uint32_t *slot = keyed->slot ? comm_keyed_slot(keyed, kind, key) : NULL;
	uint8_t *row;
	int err;

	if (!slot || !*slot) {
		if (kind->most && keyed->n >= kind->most)
			return -ENOSPC;
		if (!slot || keyed->n == keyed->capacity) {
			err = comm_keyed_grow(keyed, kind);
			if (err)
				return err;
			slot = comm_keyed_slot(keyed, kind, key);
		}
		row = comm_keyed_row(keyed, kind, keyed->n);
		memcpy(row, key, kind->key_bytes);
		memset(row + kind->key_bytes, 0, kind->row_bytes - kind->key_bytes);
		*slot = ++keyed->n;
	}
	*ret = *slot - 1;
	return 0;
}

/* Adds a row to the one with its key; *ret_at, unless NULL, is its index.  Errors of at(). */
static inline int comm_keyed_add(struct comm_keyed *keyed, const struct comm_keyed_kind *kind,
				 const void *row, size_t *ret_at)
{
	size_t at;
	int err = comm_keyed_at(keyed, kind, row, &at);

	if (err)
		return err;
	kind->sum(comm_keyed_row(keyed, kind, at), row);
	if (ret_at)
		*ret_at = at;
	return 0;
}

#endif
