/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first touch of pages, a write: what an event of it tells an estimator of their data, and of which code that
 * is.  engine.c asks for each COMM_EV_TOUCH.
 */
#ifndef COMM_FIRST_TOUCH_H
#define COMM_FIRST_TOUCH_H

#include <stdbool.h>

#include "estimator.h"
#include "event.h"
#include "identity.h"
#include "space.h"

/*
 * False: nothing.  Shared memory was there before its process touched it, and a page of a file
 * holds what the file does, but for what is written in it and what the loader has relocated.
 */
bool comm_first_touch_find(const struct comm_identity *identity, struct comm_space *space,
			   const struct comm_event *event, struct comm_touch *ret);

#endif
