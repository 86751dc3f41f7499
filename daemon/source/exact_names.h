/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses in a result of the exact source: functions, lines, types and
 * variables, from the files that the program was mapped from, as samples of it would have
 * them.  What was allocated or mapped is named by where in the code that was.
 *
 * The result is hostile, and so are the files: other processes read them (parser.h), and are waited
 * for.
 */
#ifndef COMMD_EXACT_NAMES_H
#define COMMD_EXACT_NAMES_H

#include "results.h"

struct comm_exact_names;

/*
 * Of a result that has comm_exact_maps(); from then on its slices name sites and objects by the ids below.
 * Until the result is closed *ret must be there.
 */
int comm_exact_names_create(struct comm_exact *result, struct comm_exact_names **ret);
void comm_exact_names_destroy(struct comm_exact_names *names);

/* What the slices then name: how many there are, and each. */
uint32_t comm_exact_names_sites(const struct comm_exact_names *names);
uint32_t comm_exact_names_functions(const struct comm_exact_names *names);
uint32_t comm_exact_names_objects(const struct comm_exact_names *names);
const struct comm_site *comm_exact_names_site(const struct comm_exact_names *names, uint32_t id);
const struct comm_function *comm_exact_names_function(const struct comm_exact_names *names,
						      uint32_t id);
const struct comm_object *comm_exact_names_object(const struct comm_exact_names *names,
						  uint32_t id);
/* The path of that id in the result, of these functions. */
const struct comm_call *comm_exact_names_path(const struct comm_exact_names *names, uint32_t id);

/* How many files could not be read though they are there. */
uint64_t comm_exact_names_unread(const struct comm_exact_names *names);

#endif
