/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One open file.  The mutex guards the configuration and the events; handlers read
 * only what does not change while the session runs.  Hotplug callbacks never take it:
 * they leave a note for a work item that does (cpus.h).
 */
#ifndef CP_SESSION_H
#define CP_SESSION_H

#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "budget.h"
#include "mark.h"
#include "ring.h"
#include "source.h"
#include "target.h"
#include "watch.h"

/* What a handler writes is its own CPU's only, one set per context. */
struct cp_percpu {
	struct cp_ring ring[CP_CONTEXTS];
	struct cp_meter meter[CP_CONTEXTS];
	u64 samples[CP_CONTEXTS];
	u64 period[CP_MAX_SOURCES]; /* of the interval that runs */
	u64 wanted[CP_MAX_SOURCES]; /* before budget and jitter; CP_IOC_RATE sets it */
	struct perf_event *event[CP_MAX_SOURCES];
	bool online;   /* has events */
	bool present;  /* hotplug's notes: the CPU is there */
	atomic_t went; /* and it was away since the events were made */
};

struct cp_session {
	struct mutex lock; /* the configuration, start and stop */
	struct hlist_node node;
	struct pid *opener; /* the process that was permitted to open it */
	struct cp_percpu __percpu *percpu;
	u32 ring_bytes;		  /* 0: no rings yet */
	struct user_struct *user; /* whose locked_pages the rings are; NULL: nobody's */
	unsigned long locked_pages;
	bool running;
	struct work_struct cpus_work;
	struct cp_targets targets;
	struct cp_mark_places marks;
	struct cp_src source[CP_MAX_SOURCES];
	u32 n_sources;
	struct cp_budget_rule rule;
	struct cp_watcher *watch; /* NULL: none */
	struct irq_work wake;
	wait_queue_head_t wait;
};

extern const struct file_operations cp_session_fops;

#endif
