/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Touches (estimator.h), to be asked for by datum: of a page that was mapped more than
 * once the latest before the read counts.
 *
 * Bounded: the oldest are forgotten first.
 */
#ifndef COMM_TOUCHES_H
#define COMM_TOUCHES_H

#include <stdbool.h>

#include "estimator.h"

struct comm_touches;

/* Level (edge.h) of an edge that a touch tells: 4 KiB, with data of 8 B. */
enum { COMM_TOUCH_LEVEL = 3 };

int comm_touches_create(struct comm_touches **ret);
void comm_touches_destroy(struct comm_touches *touches);

/* In order of time. */
void comm_touches_add(struct comm_touches *touches, const struct comm_touch *touch);
/*
 * The latest touch of the datum's page before time_ns, or else, as touches are told late, the
 * first one after it; NULL: none is known.  The loader's are of constant data alone (COMM_ACCESS_CONSTANT).
 *
 * Not all touches are told, when there are many, and where the kernel maps 2 MiB at once there is one
 * for all: of a page that none is told of, and that is no file's, a touch nearby counts if all in the
 * same 256 KiB are by one thread; else, if none is told in these, in the same 2 or 16 MiB.
 */
const struct comm_touch *comm_touches_of(const struct comm_touches *touches, uint64_t datum,
					 bool constant, bool of_file, uint64_t time_ns);
/* Of what a touch tells to a read at time_ns, and there in its frames; none where it was told after that. */
struct comm_ages comm_touch_ages(const struct comm_touch *touch, uint64_t time_ns,
				 const struct comm_frame_at *at);
/* None at all: the source does not tell of them. */
bool comm_touches_none(const struct comm_touches *touches);

#endif
