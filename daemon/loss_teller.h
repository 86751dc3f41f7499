/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Losses as events: a sampler or a companion counts lost events by cause, and this
 * turns each growth of a counter into one event.  One thread uses it.
 */
#ifndef COMMD_LOSS_TELLER_H
#define COMMD_LOSS_TELLER_H

#include "merge.h"

struct comm_loss_teller {
	uint64_t told[COMM_LOSS_MAX];
};

/*
 * Pushes a COMM_EV_LOSS for each cause whose counter has grown since the last call;
 * at first, *teller is zero.  Returns how many.
 */
int comm_loss_tell(struct comm_loss_teller *teller, const uint64_t count[COMM_LOSS_MAX],
		   uint64_t now_ns, comm_event_fn *push, void *ctx);

#endif
