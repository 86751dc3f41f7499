// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_untold.h"

#include <stdbool.h>

#include "sample_event.h"

void comm_bpf_untold_note(struct comm_raw_ctl *ctl, int (*note)(void *ctx, uint32_t id), void *ctx)
{
	bool all = true;

	/* Of the others nobody knows the ids. */
	if (!__atomic_load_n(&ctl->tell_all, __ATOMIC_RELAXED) || ctl->untold_more)
		return;
	/* First: a program that fails meanwhile sets it again, behind its id. */
	__atomic_store_n(&ctl->tell_all, 0, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < COMM_RAW_UNTOLD; i++) {
		unsigned int id = __atomic_load_n(&ctl->untold[i], __ATOMIC_RELAXED);

		if (!id)
			continue;
		if (note(ctx, id))
			all = false;
		else
			__atomic_compare_exchange_n(&ctl->untold[i], &id, 0, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	if (!all)
		__atomic_store_n(&ctl->tell_all, 1, __ATOMIC_RELAXED);
}
