/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who can tell what the ids of edges stand for: live identities or a result file. */
#ifndef COMM_NAMING_H
#define COMM_NAMING_H

#include "ids.h"

/*
 * Where the names behind the ids of edges come from.  Each function gives what
 * ctx has under an id below its n_, shaped as ids.h says.
 */
struct comm_naming {
	const void *ctx;
	uint32_t n_threads, n_functions, n_sites, n_objects;
	const struct comm_thread *(*thread_at)(const void *ctx, uint32_t id);
	const struct comm_function *(*function_at)(const void *ctx, uint32_t id);
	const struct comm_site *(*site_at)(const void *ctx, uint32_t id);
	const struct comm_object *(*object_at)(const void *ctx, uint32_t id);
};

#endif
