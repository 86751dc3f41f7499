/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Naming: the interface to the names behind the ids of edges, of a live run or a result file. */
#ifndef COMM_NAMING_H
#define COMM_NAMING_H

#include "ids.h"

/*
 * Each function returns what ctx holds for an id (less than the n_ of its kind), in
 * the structs of ids.h; of threads, for a place in their table.
 */
struct comm_naming {
	const void *ctx;
	uint32_t n_threads, n_functions, n_sites, n_objects, n_regions, n_calls;
	const struct comm_thread *(*thread_at)(const void *ctx, uint32_t id);
	const struct comm_function *(*function_at)(const void *ctx, uint32_t id);
	const struct comm_site *(*site_at)(const void *ctx, uint32_t id);
	const struct comm_object *(*object_at)(const void *ctx, uint32_t id);
	const struct comm_code_region *(*region_at)(const void *ctx, uint32_t id);
	const struct comm_call *(*call_at)(const void *ctx, uint32_t id);
};

/* The id of a thread that has or had its place in the table, else COMM_ID_OTHER. */
static inline uint32_t comm_naming_thread(const struct comm_naming *naming, uint32_t id)
{
	uint32_t place = comm_thread_place(id);

	if (id < naming->n_threads)
		return id;
	return place < naming->n_threads &&
			       comm_thread_round(id) <= naming->thread_at(naming->ctx, place)->round
		       ? id
		       : COMM_ID_OTHER;
}

#endif
