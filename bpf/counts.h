/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of threads (count_event.h).  Part of capture.bpf.c, whose filter and programs it shares.
 *
 * The kernel's own totals of each target's thread are copied when the daemon asks, by a pass
 * over all threads, and when a thread ends: they cost nothing in between, and are right whatever
 * else is missed.  Perf events count on a CPU; what they counted between two switches is
 * the thread's that ran there.
 */
#ifndef COMM_COUNTS_BPF_H
#define COMM_COUNTS_BPF_H

#include "count_event.h"

const volatile bool counting = false;
const volatile __u32 n_events = 0;
/* Threads that began since have all of their counts in the run; CLOCK_MONOTONIC. */
__u64 count_since_ns;
/* Counts how often switches were turned on: what was noted before says nothing of now. */
__u32 attached = 1;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COMM_RAW_COUNTED_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct comm_raw_counts);
} counts SEC(".maps");

/* Those of CPU c from c * COMM_RAW_EVENTS_MAX on. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, COMM_RAW_EVENTS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} events SEC(".maps");

/* The events' values when the thread that runs came, or was last counted. */
struct came {
	struct bpf_perf_event_value event[COMM_RAW_EVENTS_MAX];
	__u32 attached; /* 0: no target runs */
	__u32 known;	/* bit i: event i was read then */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct came);
} came SEC(".maps");

static const struct comm_raw_counts no_counts;

static __always_inline __u64 total_of(struct task_struct *task, __u32 counter)
{
	switch (counter) {
	case COMM_RAW_CPU_NS:
		return task->se.sum_exec_runtime;
	case COMM_RAW_WAIT_NS:
		return bpf_core_field_exists(task->sched_info.run_delay)
			       ? task->sched_info.run_delay
			       : 0;
	case COMM_RAW_VOLUNTARY:
		return task->nvcsw;
	case COMM_RAW_INVOLUNTARY:
		return task->nivcsw;
	case COMM_RAW_MINOR_FAULTS:
		return task->min_flt;
	case COMM_RAW_MAJOR_FAULTS:
		return task->maj_flt;
	case COMM_RAW_MIGRATIONS:
		return task->se.nr_migrations;
	}
	return 0;
}

/*
 * NULL: there is no room, which is counted when the thread ends.  was_told: without an entry, the
 * daemon has read it already.
 */
static __always_inline struct comm_raw_counts *counts_of(struct task_struct *task, bool was_told)
{
	struct comm_raw_counts *c;
	__u32 tid = task->pid, i;
	bool all, is_old, exiting = task->flags & PF_EXITING_BIT;

	c = bpf_map_lookup_elem(&counts, &tid);
	if (c && c->start_ns == task->start_time && (!c->ended || exiting))
		return c;
	/*
	 * An exec by another thread than the first takes the first one's tid and time of start, but
	 * not its totals.
	 */
	all = task->start_time >= count_since_ns && !was_told &&
	      !(c && c->start_ns == task->start_time);
	/* A switch and the pass over all threads may begin one at once: what the first has counted stays. */
	is_old = bpf_map_update_elem(&counts, &tid, &no_counts, c ? BPF_ANY : BPF_NOEXIST);
	if (c && is_old)
		return NULL;
	c = bpf_map_lookup_elem(&counts, &tid);
	if (!c)
		return NULL;
	if (is_old)
		return c;
	c->start_ns = task->start_time;
	c->from_ns = all ? task->start_time : bpf_ktime_get_ns();
	c->tgid = task->tgid;
#pragma unroll
	for (i = 0; i < COMM_RAW_COUNTERS; i++)
		c->base[i] = all ? 0 : total_of(task, i);
	return c;
}

static __always_inline struct comm_raw_counts *count_totals(struct task_struct *task)
{
	struct comm_raw_counts *c = counts_of(task, false);
	__u32 i;

	if (!c)
		return NULL;
	c->to_ns = bpf_ktime_get_ns();
	c->asleep = !!task->__state;
#pragma unroll
	for (i = 0; i < COMM_RAW_COUNTERS; i++)
		c->value[i] = total_of(task, i) - c->base[i];
	return c;
}

/* Run by the daemon, for each thread of the machine. */
SEC("iter/task")
int count_all(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct comm_raw_counts *c;
	__u32 tid;

	if (!task || !is_target(task, task->tgid))
		return 0;
	if (task->flags & PF_EXITING_BIT) {
		/* What it had at its exit was counted, or will be: giving back memory takes a while. */
		tid = task->pid;
		c = bpf_map_lookup_elem(&counts, &tid);
		if (!c || c->start_ns != task->start_time || c->ended)
			return 0;
	}
	count_totals(task);
	return 0;
}

/* A thread exits, and runs on for a while: what that takes, such as giving back memory, is missing. */
static __always_inline void count_exit(struct task_struct *task, struct comm_raw_cpu *cpu)
{
	struct comm_raw_counts *c;

	if (!counting)
		return;
	c = count_totals(task);
	if (c)
		c->ended = 1;
	else
		__sync_fetch_and_add(&cpu->count_drops, 1);
}

/*
 * Gives task (NULL: it is no target's) what the events have counted since a thread came to
 * this CPU, and notes that another, or the same, runs from now on.
 */
static __always_inline void count_events(struct task_struct *task, struct comm_raw_cpu *of,
					 __u32 cpu, bool goes_on)
{
	struct comm_raw_counts *c = task ? counts_of(task, task->flags & PF_EXITING_BIT) : NULL;
	struct bpf_perf_event_value now;
	__u32 zero = 0, known = 0, i;
	struct came *then = bpf_map_lookup_elem(&came, &zero);

	if (!then)
		return;
	if (task && !c)
		of->count_drops++;
	for (i = 0; i < COMM_RAW_EVENTS_MAX && i < n_events; i++) {
		/* A CPU of another kind, or one that came online after the run had begun. */
		if (bpf_perf_event_read_value(&events, cpu * COMM_RAW_EVENTS_MAX + i, &now,
					      sizeof(now)))
			continue;
		if (c && then->attached == attached && then->known & 1U << i) {
			c->event[i].value += now.counter - then->event[i].counter;
			c->event[i].enabled_ns += now.enabled - then->event[i].enabled;
			c->event[i].running_ns += now.running - then->event[i].running;
		}
		then->event[i] = now;
		known |= 1U << i;
	}
	then->known = known;
	then->attached = goes_on ? attached : 0;
}

/*
 * Run by the daemon on a CPU, in an interrupt: the thread there gets what the events have counted
 * up to now.  It has run too long, perhaps, for a switch to tell of it in this slice.
 */
SEC("raw_tp")
int count_now(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct comm_raw_cpu *of = this_cpu(cpu);

	if (of && is_target(task, task->tgid))
		count_events(task, of, cpu, true);
	return 0;
}

#endif
