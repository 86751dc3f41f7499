/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the processes of a session keep their marks, and what a sample reads of them.  Changed
 * under the session's mutex, asked from any context: readers go by RCU, as in target.h.
 */
#ifndef CP_MARK_H
#define CP_MARK_H

#include <linux/list.h>
#include <linux/types.h>

#include "commprof.h"

enum { CP_MARK_BUCKETS_LOG = 6 };

struct cp_hit;

struct cp_mark_places {
	struct hlist_head process[1 << CP_MARK_BUCKETS_LOG];
	u32 n;
};

/* All zero has none. */
int cp_marks_change(struct cp_mark_places *places, const struct cp_marks *change);
void cp_marks_deinit(struct cp_mark_places *places);
/*
 * Looks for the marks of the current task and notes them in the hit; false: it wants no sample.
 * The rest of the handler may go by what is noted: it runs without preemption.
 */
bool cp_marks_look(const struct cp_mark_places *places, struct cp_hit *hit);
/* Writes the hit's CP_REC_MARK, if there is something to tell: once, before its first record. */
void cp_hit_mark(struct cp_hit *hit);

#endif
