/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: records of what happens to threads, and the name of one that is sampled,
 * which may be gone before the daemon could ask for it.
 */
#ifndef COMM_LIFE_EVENT_H
#define COMM_LIFE_EVENT_H

enum { NAMES_MOST = 4 }; /* of a thread, until the daemon reads the ring */

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

/* Not 0. */
static __always_inline __u32 hash_name(const char name[16])
{
	__u64 half[2];

	__builtin_memcpy(half, name, sizeof(half));
	return (half[0] * 0x9e3779b97f4a7c15ULL ^ half[1] * 0xc2b2ae3d27d4eb4fULL) >> 32 | 1;
}

/*
 * A thread that shows in its name how far it is, or has one in a loop, is told of a few times
 * until the daemon reads the ring again: its creator names it, too.
 */
static __always_inline bool may_tell_name(struct comm_raw_told *known)
{
	if (ctl.tell_all)
		return true;
	if (known->name_drain != ctl.drains) {
		known->name_drain = ctl.drains;
		known->names = 0;
	}
	if (known->names == NAMES_MOST)
		return false;
	known->names++;
	return true;
}

/*
 * With a sample of the current thread, whose name was not told: it has given itself none so far, or nobody notices
 * that it does (COMM_HOOK_NAMES).  Global, so that the verifier looks at it once.
 */
__noinline int tell_sampled_name(__u64 time_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct comm_raw_cpu *c = this_cpu(bpf_get_smp_processor_id());
	__u32 tid = task->pid, hash;
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tid);
	struct comm_raw_life *l;
	char name[16] = {};

	if (!c || !known)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), task->comm);
	hash = hash_name(name);
	if (known->name_hash == hash || !may_tell_name(known))
		return 0;
	l = life_event(c, COMM_RAW_RENAME, task);
	if (!l)
		return 0;
	l->time_ns = time_ns - 1;
	__builtin_memcpy(l->name, name, sizeof(name));
	bpf_ringbuf_submit(l, wake_flags());
	known->name_hash = hash;
	return 0;
}

#endif
