// SPDX-License-Identifier: GPL-2.0-or-later
#include "losses.h"

int comm_losses_tell(struct comm_losses *losses, const uint64_t count[COMM_LOSS_MAX],
		     uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct comm_event event = {.kind = COMM_EV_LOSS, .time_ns = now_ns};
	int pushed = 0;

	for (unsigned int cause = 0; cause < COMM_LOSS_MAX; cause++) {
		if (count[cause] <= losses->told[cause])
			continue;
		event.cause = cause;
		event.count = count[cause] - losses->told[cause];
		losses->told[cause] = count[cause];
		push(ctx, &event);
		pushed++;
	}
	return pushed;
}
