/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the module's list of targets up with commd's own.  Where there are too many
 * processes for the module it is told to send everybody's, and has() chooses.  One
 * thread uses it.
 */
#ifndef COMM_KMOD_TARGETS_H
#define COMM_KMOD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target.h"

struct cp_reader;

struct comm_kmod_targets {
	struct cp_reader *reader;
	const struct comm_target *target;
	uint32_t *told; /* members that the module knows */
	size_t n_told;
	bool all; /* it sends everybody's */
};

/* Tells nothing yet.  -ENOMEM. */
int comm_kmod_targets_init(struct comm_kmod_targets *targets, struct cp_reader *reader,
			   const struct comm_target *target);
/* Also one that is zeroed; the module keeps what it was told. */
void comm_kmod_targets_deinit(struct comm_kmod_targets *targets);

/* All of the target, before the start; -errno. */
int comm_kmod_targets_set(struct comm_kmod_targets *targets);
/* The members that the module does not know yet; -errno. */
int comm_kmod_targets_update(struct comm_kmod_targets *targets);
/* Is what the module sent of that process a target's? */
bool comm_kmod_targets_has(const struct comm_kmod_targets *targets, uint32_t tgid);

#endif
