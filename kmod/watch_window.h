/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The window of a slot: from a write on, who reads and who writes?  Two debug registers
 * on one datum tell: a write traps by both, a read by the read-write one alone.  All of
 * it is called by whoever holds or has claimed the slot, from a handler.
 */
#ifndef CP_WATCH_WINDOW_H
#define CP_WATCH_WINDOW_H

#include "watch_place.h"

/* By the write that the slot waited for. */
void cp_watch_window_open(struct cp_watch_slot *slot, const struct cp_hit *hit, u16 flags);
/*
 * A trap in the window; flags: CP_ACCESS_READ or CP_ACCESS_WRITE.  False: the window is
 * over, for *end.
 */
bool cp_watch_window_take(struct cp_watch_slot *slot, struct cp_hit *hit, u16 flags,
			  enum cp_window_end *end);
/* A trap that found the slot held by another CPU. */
void cp_watch_window_miss(struct cp_watch_slot *slot, u16 flags);
/* When an open window is over if nothing traps any more. */
u64 cp_watch_window_end_ns(const struct cp_watch_slot *slot);
/* Tells of the end of a watch with a window, whether it came to one or not. */
void cp_watch_window_close(struct cp_watch_slot *slot, struct cp_hit *hit, enum cp_window_end end);

#endif
