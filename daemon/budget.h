/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The budget of a run that goes on: a command changes it for all who keep within it.  What that means is theirs; see
 * pace.h and companion.h.
 */
#ifndef COMMD_BUDGET_H
#define COMMD_BUDGET_H

#include "companion.h"
#include "pace.h"

/*
 * overhead: a share, from now on.  NULL, or why it cannot be: then nothing has changed.  Call after a drain; push is
 * given what was spent until now.
 */
const char *comm_budget_change(struct comm_pace *pace, struct comm_companions *companions,
			       double overhead, comm_event_fn *push, void *ctx);

#endif
