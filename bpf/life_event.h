/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: records of what happens to threads, and the name of one that is sampled,
 * which may be gone before the daemon could ask for it.
 */
#ifndef COMM_LIFE_EVENT_H
#define COMM_LIFE_EVENT_H

/* NULL: dropped, and counted.  The caller fills in the rest and submits. */
static __always_inline struct comm_raw_life *life_event(struct comm_raw_cpu *c, __u32 kind,
							struct task_struct *task)
{
	struct comm_raw_life *l = bpf_ringbuf_reserve(&life, sizeof(*l), 0);

	if (!l) {
		__sync_fetch_and_add(&c->life_drops, 1);
		return NULL;
	}
	__sync_fetch_and_add(&c->life_events, 1);
	__builtin_memset(l, 0, sizeof(*l));
	l->time_ns = bpf_ktime_get_ns();
	l->tid = task->pid;
	l->tgid = task->tgid;
	l->kind = kind;
	l->cpu = bpf_get_smp_processor_id();
	return l;
}

static __always_inline void put_name(struct comm_raw_life *l, const char *name)
{
	bpf_probe_read_kernel_str(l->name, sizeof(l->name), name);
}

/* With the first sample of a thread that has given itself no name so far. */
static __always_inline void tell_first_name(struct comm_raw_cpu *c, struct task_struct *task,
					    __u64 time_ns)
{
	__u32 tid = task->pid;
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tid);
	struct comm_raw_life *l;

	if (!known || known->names)
		return;
	l = life_event(c, COMM_RAW_RENAME, task);
	if (!l)
		return;
	l->time_ns = time_ns - 1;
	put_name(l, task->comm);
	bpf_ringbuf_submit(l, wake_flags());
	known->names = 1;
}

#endif
