// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"

#include <errno.h>
#include <stdlib.h>

#include "keyed.h"

enum { FIRST_ID = COMM_CALL_OUTERMOST + 1 };

struct comm_calls {
	COMM_KEYED(keyed, struct comm_call, call, n); /* from FIRST_ID on */
	uint64_t n_unfiled;
};

int comm_calls_create(struct comm_calls **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_calls_destroy(struct comm_calls *calls)
{
	if (!calls)
		return;
	comm_keyed_deinit(&calls->keyed);
	free(calls);
}

uint32_t comm_calls_get(struct comm_calls *calls, uint32_t function, uint32_t parent)
{
	static const struct comm_keyed_kind kind = {
		COMM_KEYED_BYTES(struct comm_call, function),
		.most = COMM_CALLS_MAX - FIRST_ID,
	};
	struct comm_call key = {parent, function};
	size_t at;

	if (parent != COMM_CALL_UNKNOWN && comm_calls_count(calls) >= COMM_CALLS_MAX / 2 &&
	    !comm_keyed_find(&calls->keyed, &kind, &key)) {
		calls->n_unfiled++;
		key.parent = COMM_CALL_UNKNOWN;
	}
	if (comm_keyed_at(&calls->keyed, &kind, &key, &at)) {
		calls->n_unfiled++;
		return COMM_CALL_UNKNOWN;
	}
	return FIRST_ID + (uint32_t)at;
}

uint64_t comm_calls_unfiled(const struct comm_calls *calls)
{
	return calls->n_unfiled;
}

uint32_t comm_calls_count(const struct comm_calls *calls)
{
	return FIRST_ID + (uint32_t)calls->n;
}

const struct comm_call *comm_calls_at(const struct comm_calls *calls, uint32_t id)
{
	static const struct comm_call none;

	return id >= FIRST_ID && id < comm_calls_count(calls) ? &calls->call[id - FIRST_ID] : &none;
}
