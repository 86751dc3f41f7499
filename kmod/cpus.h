/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session's events on the CPUs that are there, as CPUs come and go.  Not for what an
 * event does (source.h, watch.h).
 *
 * No event is made or freed in a hotplug callback: that runs under the hotplug lock,
 * and many a perf event waits for this lock itself (its static keys, its PMU's own
 * preparations), which never ends.  The callbacks only note what happened.  A work
 * item, which holds the session's mutex, makes and frees the events.  In between perf
 * keeps the peace: it takes the events of a CPU that goes out of service and gives
 * none to one that is not there.
 */
#ifndef CP_CPUS_H
#define CP_CPUS_H

struct cp_session;

int cp_cpus_module_init(void);
void cp_cpus_module_exit(void);

void cp_cpus_init(struct cp_session *session);
/* Not under the session's mutex; no more work comes or runs. */
void cp_cpus_deinit(struct cp_session *session);

/* Under the session's mutex.  An event that cannot be opened is an error. */
int cp_cpus_start(struct cp_session *session);
void cp_cpus_stop(struct cp_session *session);

#endif
