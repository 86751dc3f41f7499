/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: forks, execs, ends, names and new mappings of the targets.
 */
#ifndef COMM_LIFE_CYCLE_H
#define COMM_LIFE_CYCLE_H

/*
 * May one more record of a stranger be written?  The counter is shared by all CPUs, and a
 * race of two of them lets a few more pass.
 */
static __always_inline bool tell_stranger(struct comm_raw_cpu *c)
{
	__u64 now;

	if (ctl.tell_all)
		return true;
	now = bpf_ktime_get_ns();
	if (now - ctl.second_ns >= SECOND_NS) {
		ctl.second_ns = now;
		ctl.strangers = 0;
	}
	if (ctl.strangers >= ctl.strangers_per_s) {
		__sync_fetch_and_add(&c->life_left_out, 1);
		return false;
	}
	__sync_fetch_and_add(&ctl.strangers, 1);
	return true;
}

static __always_inline void end_life(struct comm_raw_cpu *c, __u64 start_ns)
{
	if (start_ns)
		__sync_fetch_and_add(&c->life_ns, timed(start_ns));
}

static __always_inline void on_fork(struct comm_raw_cpu *c, struct task_struct *parent,
				    struct task_struct *child)
{
	__u32 tgid = parent->tgid, child_tgid = child->tgid, child_tid = child->pid;
	bool telling = tell_stranger(c);
	struct comm_raw_life *l;
	__u8 target = telling ? COMM_RAW_TARGET_KNOWN : 0;

	if (child_tgid != tgid && follow && !by_cgroup && !all_tasks) {
		if (!bpf_map_update_elem(&targets, &child_tgid, &target, BPF_ANY))
			ctl.only_tgid = 0;
		else
			__sync_fetch_and_add(&c->targets_full, 1);
	}
	l = telling ? life_event(c, COMM_RAW_FORK, parent) : NULL;
	if (!l)
		return;
	l->child_tid = child_tid;
	l->child_tgid = child_tgid;
	bpf_ringbuf_submit(l, wake_flags());
	tell_thread(child_tid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(parent, parent->tgid))
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	on_fork(c, parent, child);
	end_life(c, start_ns);
	return 0;
}

static __always_inline void on_exec(struct comm_raw_cpu *c, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tgid);
	struct comm_raw_life *l;

	if (ctl.has_marks)
		bpf_map_delete_elem(&marks, &tgid);
	if (!(known && known->process) && !tell_stranger(c))
		return;
	l = life_event(c, COMM_RAW_EXEC, task);
	if (!l)
		return;
	bpf_ringbuf_submit(l, wake_flags());
	tell_thread(tgid);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task)
{
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(task, task->tgid))
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	on_exec(c, task);
	end_life(c, start_ns);
	return 0;
}

static __always_inline void keep_name(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct comm_raw_ended end = {.time_ns = bpf_ktime_get_ns(), .tgid = task->tgid};

	bpf_probe_read_kernel_str(end.name, sizeof(end.name), task->comm);
	bpf_map_update_elem(&ended, &tid, &end, BPF_ANY);
}

static __always_inline void on_exit(struct comm_raw_cpu *c, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	bool is_last = !task->signal->live.counter;
	struct comm_raw_life *l;

	/* A daemon that sleeps until something comes must learn that its target has ended. */
	if (!bpf_map_delete_elem(&told, &tid) || ctl.tell_all || (is_last && ctl.wake)) {
		l = life_event(c, COMM_RAW_EXIT, task);
		if (l) {
			put_name(l, task->comm);
			bpf_ringbuf_submit(l, wake_flags());
		}
	} else {
		keep_name(task);
	}
	if (!is_last)
		return;
	if (ctl.has_marks)
		bpf_map_delete_elem(&marks, &tgid);
	if (tid != tgid) /* samples of other threads came after the first one's exit */
		bpf_map_delete_elem(&told, &tgid);
	if (ctl.only_tgid == tgid)
		ctl.only_tgid = 0;
}

/* The last thread of a process ends: it is no target any more. */
static __always_inline void end_target(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	__u8 *target;

	if (task->signal->live.counter)
		return;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (target)
		*target |= COMM_RAW_TARGET_ENDED;
}

/* Newer kernels pass a second argument; the first is the same everywhere. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(task, task->tgid))
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	on_exit(c, task);
	count_exit(task, c);
	end_target(task);
	end_life(c, start_ns);
	return 0;
}

static __always_inline void on_free(struct comm_raw_cpu *c, struct task_struct *task, __u32 tgid,
				    __u8 target)
{
	__u64 cpu_ns = task->signal->sum_sched_runtime;
	struct comm_raw_life *l;

	bpf_map_delete_elem(&targets, &tgid);
	if (!(target & COMM_RAW_TARGET_KNOWN)) {
		__sync_fetch_and_add(&c->ended_ns, cpu_ns);
		return;
	}
	l = life_event(c, COMM_RAW_ENDED, task);
	if (!l)
		return;
	l->cpu_ns = cpu_ns;
	bpf_ringbuf_submit(l, wake_flags());
}

/*
 * The process has been waited for, and nothing of it runs any more: only now is all of its
 * CPU time in its sum.  At its exit that of the last milliseconds is missing, and short
 * children live no longer.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct comm_raw_cpu *c;
	__u64 start_ns;
	__u8 *target;

	if ((__u32)task->pid != tgid)
		return 0;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (!target)
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	on_free(c, task, tgid, *target);
	end_life(c, start_ns);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *task, const char *name)
{
	struct comm_raw_life *l = NULL;
	struct comm_raw_told *known;
	__u32 tid = task->pid;
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(task, task->tgid))
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	known = bpf_map_lookup_elem(&told, &tid);
	if (ctl.tell_all || (known && known->thread && may_tell_name(known)))
		l = life_event(c, COMM_RAW_RENAME, task);
	if (l) {
		put_name(l, name);
		if (known)
			known->name_hash = hash_name(l->name);
		bpf_ringbuf_submit(l, wake_flags());
	}
	if (start_ns)
		__sync_fetch_and_add(&c->name_ns, timed(start_ns));
	return 0;
}

/*
 * The daemon reads all mappings anew after it has read such a record: one of each process is
 * enough until it reads the ring again.
 */
static __always_inline bool tell_mmap(__u32 tgid)
{
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tgid);

	if (ctl.tell_all)
		return true;
	if (!known || !known->process || known->mmap_drain == ctl.drains)
		return false;
	known->mmap_drain = ctl.drains;
	return true;
}

/* The kernel calls this function for each new mapping. */
SEC("fentry/perf_event_mmap")
int BPF_PROG(mapped, struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct comm_raw_life *l;
	struct comm_raw_cpu *c;
	__u64 start_ns, vm_flags;

	if (!is_target(task, task->tgid))
		return 0;
	vm_flags = vma->vm_flags;
	if (!vma->vm_file && !(vm_flags & VM_EXEC_BIT))
		return 0;
	start_ns = begin_timed();
	c = this_cpu(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	l = tell_mmap(task->tgid) ? life_event(c, COMM_RAW_MMAP, task) : NULL;
	if (l) {
		l->start = vma->vm_start;
		l->end = vma->vm_end;
		l->offset = (__u64)vma->vm_pgoff << PAGE_SHIFT_BITS;
		l->executable = !!(vm_flags & VM_EXEC_BIT);
		bpf_ringbuf_submit(l, wake_flags());
	}
	end_life(c, start_ns);
	return 0;
}

#endif
