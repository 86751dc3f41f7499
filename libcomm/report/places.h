/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of a report: on which CPUs the run's threads were found in each of its slices. */
#ifndef COMM_PLACES_H
#define COMM_PLACES_H

#include <comm/comm.h>

#include "grouping.h"
#include "slices.h"

/* -EINVAL, with *err: a thread belongs to no single node of the grouping. */
int comm_places_check(const struct comm_grouping_use *use, char **err);
/*
 * Loads the places of the cover's taken slices, in order of time, then one for each thread that
 * has none.  The caller frees the malloc'ed array, also on failure.
 */
int comm_places_load(struct comm_grouping_use *use, const struct comm_slices *slices,
		     struct comm_report_place **ret, size_t *ret_n);

#endif
