// SPDX-License-Identifier: GPL-2.0-or-later
#include "gate.h"

void comm_gate_set(struct comm_gate *gate, bool shut, uint64_t now_ns)
{
	if (gate->is_shut == shut)
		return;
	gate->is_shut = shut;
	gate->since_ns = now_ns;
}

/* What a counter counted meanwhile is no part of what rates are of, either. */
static bool is_sampled(uint16_t kind)
{
	switch (kind) {
	case COMM_EV_SAMPLE:
	case COMM_EV_ACCESS:
	case COMM_EV_CENSUS:
	case COMM_EV_FED:
	case COMM_EV_KCOPY:
	case COMM_EV_TOUCH:
	case COMM_EV_MARK:
	case COMM_EV_COUNT:
		return true;
	default:
		return false;
	}
}

bool comm_gate_passes(const struct comm_gate *gate, const struct comm_event *event)
{
	if (!is_sampled(event->kind))
		return true;
	/* Before the last change it was the other way. */
	return event->time_ns < gate->since_ns ? gate->is_shut : !gate->is_shut;
}
