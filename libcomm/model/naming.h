/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Naming: the interface to the names behind the ids of edges, of a live run or a result file. */
#ifndef COMM_NAMING_H
#define COMM_NAMING_H

#include "ids.h"

/*
 * Each function returns what ctx holds for an id (less than the n_ of its kind), in
 * the structs of ids.h.
 */
struct comm_naming {
	const void *ctx;
	uint32_t n_threads, n_functions, n_sites, n_objects, n_regions;
	const struct comm_thread *(*thread_at)(const void *ctx, uint32_t id);
	const struct comm_function *(*function_at)(const void *ctx, uint32_t id);
	const struct comm_site *(*site_at)(const void *ctx, uint32_t id);
	const struct comm_object *(*object_at)(const void *ctx, uint32_t id);
	const struct comm_code_region *(*region_at)(const void *ctx, uint32_t id);
};

#endif
