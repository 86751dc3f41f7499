/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the kernel module's list of targets equal to commd's.  Processes for which
 * that list has no room are not sampled, and counted: nobody is sampled unasked.  One
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
	uint32_t *told; /* tgids that the module has been told, n_told of them */
	size_t n_told;
	size_t n_left_out; /* members that the module had no room for, at the last look */
	uint64_t left_out; /* how often one became such */
	uint32_t *last;	   /* n_last members at the last look, of which none was left out */
	size_t n_last;
	uint64_t cgroup_id; /* that the module has been told, with each before it; 0: none */
};

/* Tells the module nothing yet.  -ENOMEM. */
int comm_kmod_targets_init(struct comm_kmod_targets *targets, struct cp_reader *reader,
			   const struct comm_target *target);
/* *targets may be zeroed; the module keeps its list. */
void comm_kmod_targets_deinit(struct comm_kmod_targets *targets);

/* Tells the module all members of the target, before the start; -errno. */
int comm_kmod_targets_set(struct comm_kmod_targets *targets);
/* Tells the module the members that it does not know yet; -errno. */
int comm_kmod_targets_update(struct comm_kmod_targets *targets);
/* Is that process a target, so that the module's samples of it count? */
bool comm_kmod_targets_has(const struct comm_kmod_targets *targets, uint32_t tgid);

#endif
