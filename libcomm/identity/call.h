/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls: dense ids for the functions that are under way around a function, as far as a stack
 * tells.  A call is a function within another call, its parent; ids are never reused in a run.
 * Past COMM_CALLS_MAX / 2 ids new calls are within COMM_CALL_UNKNOWN: paths lose their outer part,
 * and past COMM_CALLS_MAX they are COMM_CALL_UNKNOWN themselves; both is counted.
 */
#ifndef COMM_CALL_H
#define COMM_CALL_H

#include "ids.h"

struct comm_calls;

int comm_calls_create(struct comm_calls **ret);
void comm_calls_destroy(struct comm_calls *calls);

uint32_t comm_calls_get(struct comm_calls *calls, uint32_t function, uint32_t parent);

/* How often a path lost callers because the ids had run out. */
uint64_t comm_calls_unfiled(const struct comm_calls *calls);
uint32_t comm_calls_count(const struct comm_calls *calls);
/* Until the next get(). */
const struct comm_call *comm_calls_at(const struct comm_calls *calls, uint32_t id);

#endif
