/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a session looks at.  Changed under the session's mutex, asked from any
 * context.
 */
#ifndef CP_TARGET_H
#define CP_TARGET_H

#include <linux/types.h>

#include "commprof.h"

struct cp_target_set;
struct task_struct;

struct cp_targets {
	struct cp_target_set __rcu *set;
};

int cp_targets_change(struct cp_targets *targets, const struct cp_target *change);
void cp_targets_deinit(struct cp_targets *targets);
bool cp_targets_empty(const struct cp_targets *targets);
/* Does the current task belong to it? */
bool cp_targets_match(const struct cp_targets *targets);
/* Does a task that cannot be freed meanwhile? */
bool cp_targets_match_task(const struct cp_targets *targets, struct task_struct *task);

#endif
