/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: which memory of its own a thread that is in a system call has written
 * for it by the kernel.
 */
#ifndef COMM_KERNEL_COPY_H
#define COMM_KERNEL_COPY_H

static __always_inline void add_range(struct comm_raw_kcopy *k, __u64 addr, __u64 len)
{
	__u32 n = k->n_ranges;

	if (!len || len > IOV_BYTES_MAX || addr < MIN_ADDR || addr > USER_END - len)
		return;
	if (n < COMM_RAW_RANGES_MAX) {
		k->range[n].addr = addr;
		k->range[n].len_bytes = len;
		k->n_ranges = n + 1;
	}
}

static __always_inline void add_iov(struct comm_raw_kcopy *k, __u64 iov, __u64 n)
{
	struct iovec v[COMM_RAW_RANGES_MAX] = {};
	__u32 i;

	if (n > COMM_RAW_RANGES_MAX)
		n = COMM_RAW_RANGES_MAX;
	/*
	 * Entry by entry: a single read of the whole array would fail for a short
	 * vector at the end of a page.
	 */
	for (i = 0; i < COMM_RAW_RANGES_MAX; i++) {
		if (i >= n)
			break;
		if (bpf_probe_read_user(&v[i], sizeof(v[i]),
					(const void *)(iov + i * sizeof(v[i]))))
			break;
		add_range(k, (__u64)v[i].iov_base, v[i].iov_len);
	}
}

/*
 * The thread is in a system call: which user memory will the kernel write for it?  On
 * entry to and exit from the kernel, sp is not on the thread's kernel stack, or
 * pt_regs at its top still holds the previous call.
 */
static __always_inline void kernel_sample(struct task_struct *task, struct comm_raw_cpu *c,
					  const struct comm_raw_head *head, __u64 sp)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct comm_raw_kcopy k = {.head = *head};
	struct user_msghdr msg;
	__u64 a1 = regs->si;

	/* Exceptions and interrupts store -1 or the vector in orig_ax, never a call's number. */
	if (regs->cs != USER_CS || sp < (__u64)task->stack || sp >= (__u64)regs)
		return;
	switch ((long)regs->orig_ax) {
	case 0:	  /* read */
	case 17:  /* pread64 */
	case 45:  /* recvfrom */
	case 217: /* getdents64 */
		add_range(&k, a1, regs->dx);
		break;
	case 318: /* getrandom */
		add_range(&k, regs->di, a1);
		break;
	case 19:  /* readv */
	case 295: /* preadv */
	case 327: /* preadv2 */
		add_iov(&k, a1, regs->dx);
		break;
	case 47:  /* recvmsg */
	case 299: /* recvmmsg: the first message */
		if (!bpf_probe_read_user(&msg, sizeof(msg), (const void *)a1))
			add_iov(&k, (__u64)msg.msg_iov, msg.msg_iovlen);
		break;
	default:
		return;
	}
	if (!k.n_ranges)
		return;
	k.head.kind = COMM_RAW_KCOPY;
	k.head.ip = regs->ip;
	if ((!ctl.has_marks || write_mark(task, head)) && write_sample(head->cpu, &k, sizeof(k))) {
		c->kcopies++;
		tell_thread(head->tid);
		tell_process(head->tgid);
	} else {
		c->sample_drops++;
	}
}

#endif
