/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom a session looks at.  Changed under the session's mutex, asked from any context.
 * Changes wait for nobody: readers go by RCU, and what was removed is freed later.
 */
#ifndef CP_TARGET_H
#define CP_TARGET_H

#include <linux/list.h>
#include <linux/types.h>

#include "commprof.h"

enum { CP_TARGET_BUCKETS_LOG = 8 };

struct task_struct;

struct cp_targets {
	struct hlist_head process[1 << CP_TARGET_BUCKETS_LOG];
	struct hlist_head cgroups;
	u32 n;		/* of both */
	u32 n_children; /* of which the descendants are targets too */
	bool all;
};

/* All zero has no targets. */
int cp_targets_change(struct cp_targets *targets, const struct cp_target *change);
void cp_targets_deinit(struct cp_targets *targets);
bool cp_targets_empty(const struct cp_targets *targets);
/* Does the current task belong to it? */
bool cp_targets_match(const struct cp_targets *targets);
/*
 * Which memory a task runs on; 0: none, as with a kernel thread, whatever it borrows.  x86 gives
 * each mm a number that is never given again (for its TLB), while another mm may come to lie where
 * one lay.  Of current, or of a task that the scheduler puts on this CPU: theirs cannot go
 * meanwhile.
 */
u64 cp_target_mm(const struct task_struct *task);
/* Does a task that cannot be freed meanwhile? */
bool cp_targets_match_task(const struct cp_targets *targets, struct task_struct *task);

#endif
