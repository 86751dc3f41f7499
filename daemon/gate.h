/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gate: whether what was sampled at some time counts, since sampling can be disabled during
 * a run.  Who lives and what is mapped counts always.  One thread uses it; a zeroed gate is open.
 */
#ifndef COMMD_GATE_H
#define COMMD_GATE_H

#include "event.h"

struct comm_gate {
	bool is_shut;
	uint64_t since_ns; /* before that it was the other way */
};

/* All that happened before has been asked about. */
void comm_gate_set(struct comm_gate *gate, bool shut, uint64_t now_ns);
bool comm_gate_passes(const struct comm_gate *gate, const struct comm_event *event);

#endif
