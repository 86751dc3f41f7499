// SPDX-License-Identifier: GPL-2.0-or-later
#include "keyed.h"

#include <errno.h>
#include <stdlib.h>

enum { KEYED_FIRST = 64 };

void comm_keyed_deinit(struct comm_keyed *keyed)
{
	free(keyed->row);
	free(keyed->slot);
	memset(keyed, 0, sizeof(*keyed));
}

void comm_keyed_clear(struct comm_keyed *keyed)
{
	keyed->n = 0;
	if (keyed->slot)
		memset(keyed->slot, 0, 2 * keyed->capacity * sizeof(*keyed->slot));
}

/* Finds rows where they are now. */
static void reindex(struct comm_keyed *keyed, const struct comm_keyed_kind *kind)
{
	size_t n = keyed->n;

	comm_keyed_clear(keyed);
	for (; keyed->n < n; keyed->n++)
		*comm_keyed_slot(keyed, kind, comm_keyed_row(keyed, kind, keyed->n)) = keyed->n + 1;
}

int comm_keyed_grow(struct comm_keyed *keyed, const struct comm_keyed_kind *kind)
{
	size_t capacity = keyed->capacity ? 2 * keyed->capacity : KEYED_FIRST;
	uint32_t *slot;
	void *row;

	if (capacity > UINT32_MAX / 2)
		return -ENOMEM;
	row = reallocarray(keyed->row, capacity, kind->row_bytes);
	if (!row)
		return -ENOMEM;
	keyed->row = row;
	slot = reallocarray(keyed->slot, 2 * capacity, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	keyed->slot = slot;
	keyed->capacity = capacity;
	keyed->hash_shift = __builtin_clzll(2 * capacity) + 1;
	reindex(keyed, kind);
	return 0;
}

void comm_keyed_sort(struct comm_keyed *keyed, const struct comm_keyed_kind *kind,
		     int (*order)(const void *, const void *))
{
	if (!keyed->n)
		return;
	qsort(keyed->row, keyed->n, kind->row_bytes, order);
	reindex(keyed, kind);
}

size_t comm_keyed_fold(struct comm_keyed *keyed, const struct comm_keyed_kind *kind, size_t cap,
		       int (*order)(const void *, const void *), bool (*lossy)(const void *row),
		       void (*strip)(void *row))
{
	size_t n = keyed->n, rank = 0;

	if (n <= cap)
		return 0;
	qsort(keyed->row, n, kind->row_bytes, order);
	comm_keyed_clear(keyed);
	/* In place: there are never more rows than have been looked at. */
	for (size_t i = 0; i < n; i++) {
		void *row = comm_keyed_row(keyed, kind, i);
		uint32_t *slot;

		if ((!lossy || lossy(row)) && rank++ >= cap)
			strip(row);
		slot = comm_keyed_slot(keyed, kind, row);
		if (*slot) {
			kind->sum(comm_keyed_row(keyed, kind, *slot - 1), row);
			continue;
		}
		memmove(comm_keyed_row(keyed, kind, keyed->n), row, kind->row_bytes);
		*slot = ++keyed->n;
	}
	return rank > cap ? rank - cap : 0;
}
