// SPDX-License-Identifier: GPL-2.0-or-later
#include "loss_teller.h"

int comm_loss_tell(struct comm_loss_teller *teller, const uint64_t count[COMM_LOSS_MAX],
		   uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct comm_event event = {.kind = COMM_EV_LOSS, .time_ns = now_ns};
	int pushed = 0;

	for (unsigned int cause = 0; cause < COMM_LOSS_MAX; cause++) {
		if (count[cause] <= teller->told[cause])
			continue;
		event.cause = cause;
		event.count = count[cause] - teller->told[cause];
		teller->told[cause] = count[cause];
		push(ctx, &event);
		pushed++;
	}
	return pushed;
}
