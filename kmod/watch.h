/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watchpoints: after a sampled access, who touches that datum next?  Every CPU
 * holds the same slots, made when the session starts and parked at an address
 * that nothing touches; a sample gives one slot a place, its datum.
 *
 * A CPU's slot stands at that place only while the CPU runs a task that can touch the
 * datum: one on the same mm, or another target where the datum's page is shared.  A
 * probe on sched_switch sees to that, so that only CPUs which run such a task right
 * now are sent a message when a watch is armed, and none when it ends: a slot that
 * still stands there is moved at the next switch, or by the one trap that it causes.
 *
 * A slot's life: FREE -> CLAIMED (by a sample) -> ARMED -> HELD (by a trap) -> FREE, or
 * with a window to OPEN and HELD by turns; from ARMED and OPEN back to CLAIMED when its
 * time is over.  Whoever makes the change by compare and exchange owns what comes next.
 * A slot is not CLAIMED while a message about it is under way.
 */
#ifndef CP_WATCH_H
#define CP_WATCH_H

#include "commprof.h"
#include "source.h"

struct cp_watcher;
struct cp_session;

void cp_watch_module_exit(void);

int cp_watch_create(struct cp_session *session, const struct cp_watch *config,
		    struct cp_watcher **ret);
void cp_watch_destroy(struct cp_watcher *watch);

/* Before the first CPU is opened. */
void cp_watch_begin(struct cp_watcher *watch);
/* From any CPU; the CPU meant may be away by now, or away and back. */
void cp_watch_open(struct cp_watcher *watch, unsigned int cpu);
void cp_watch_close(struct cp_watcher *watch, unsigned int cpu);
/* After every CPU was closed: nothing of ours runs any more. */
void cp_watch_quiesce(struct cp_watcher *watch);

/*
 * From a sample's handler.  own_hit_ip: if not 0, the access is still to come
 * and will itself hit the watch, with that IP: not evidence.  True: taken, or
 * refused for a reason that the next access of this sample shares.
 */
bool cp_watch_offer(struct cp_hit *hit, const struct cp_access *access, u64 own_hit_ip);
void cp_watch_stats(struct cp_watcher *watch, struct cp_stats *stats);

#endif
