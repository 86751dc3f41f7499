/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs use of the kernel's own types, and nothing else of them: no kernel has to be at
 * hand to compile them.  Members are where the running kernel's BTF says (CO-RE), so neither their
 * order nor what is left out matters; their names and types do.  libbpf calls such a file vmlinux.h, and
 * asks for the macro below.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <linux/bpf.h>

typedef _Bool bool;
enum { false, true };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Whole, since these are copied from user memory. */
struct iovec {
	void *iov_base;
	unsigned long iov_len;
};

struct user_msghdr {
	void *msg_name;
	int msg_namelen;
	struct iovec *msg_iov;
	unsigned long msg_iovlen;
	void *msg_control;
	unsigned long msg_controllen;
	unsigned int msg_flags;
};

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip;
	unsigned long cs; /* of two bytes in newer kernels: libbpf loads as many as they have */
	unsigned long flags, sp, ss;
};

struct bpf_perf_event_data {
	struct pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};

typedef struct {
	int counter;
} atomic_t;

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct file;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

struct mm_struct {
	unsigned long start_code, end_code, brk;
};

struct signal_struct {
	atomic_t live;
	unsigned long long sum_sched_runtime;
};

struct sched_entity {
	__u64 sum_exec_runtime, nr_migrations;
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_io_accounting {
	__u64 wchar;
};

struct thread_struct {
	unsigned long fsbase, gsbase;
};

struct task_struct {
	void *stack;
	unsigned int flags, __state;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int pid, tgid;
	unsigned long nvcsw, nivcsw;
	__u64 start_time;
	unsigned long min_flt, maj_flt;
	char comm[16];
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct thread_struct thread;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct hrtimer {
	void *function;
};

struct tick_sched {
	struct hrtimer sched_timer;
};

#pragma clang attribute pop

#endif
