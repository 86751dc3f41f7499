// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"

enum { DICT_SLOTS = 2 * COMM_CALLS_MAX };

struct comm_calls {
	struct comm_call call[COMM_CALLS_MAX];
	uint32_t n;
	uint64_t n_unfiled;
	uint32_t slot[DICT_SLOTS]; /* of call; 0: free */
};

int comm_calls_create(struct comm_calls **ret)
{
	struct comm_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	calls->n = COMM_CALL_OUTERMOST + 1;
	*ret = calls;
	return 0;
}

void comm_calls_destroy(struct comm_calls *calls)
{
	free(calls);
}

uint32_t comm_calls_get(struct comm_calls *calls, uint32_t function, uint32_t parent)
{
	size_t at = comm_hash_mix(function, parent);

	for (; calls->slot[at &= DICT_SLOTS - 1]; at++) {
		const struct comm_call *have = &calls->call[calls->slot[at]];

		if (have->function == function && have->parent == parent)
			return calls->slot[at];
	}
	if (parent != COMM_CALL_UNKNOWN && calls->n >= COMM_CALLS_MAX / 2) {
		calls->n_unfiled++;
		return comm_calls_get(calls, function, COMM_CALL_UNKNOWN);
	}
	if (calls->n >= COMM_CALLS_MAX) {
		calls->n_unfiled++;
		return COMM_CALL_UNKNOWN;
	}
	calls->call[calls->n] = (struct comm_call){parent, function};
	calls->slot[at] = calls->n;
	return calls->n++;
}

uint64_t comm_calls_unfiled(const struct comm_calls *calls)
{
	return calls->n_unfiled;
}

uint32_t comm_calls_count(const struct comm_calls *calls)
{
	return calls->n;
}

const struct comm_call *comm_calls_at(const struct comm_calls *calls, uint32_t id)
{
	return &calls->call[id < calls->n ? id : COMM_CALL_UNKNOWN];
}
