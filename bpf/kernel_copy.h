/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: which memory of its own a thread that is in a system call has written
 * or read for it by the kernel.
 */
#ifndef COMM_KERNEL_COPY_H
#define COMM_KERNEL_COPY_H

enum {
	READ_BYTES_MAX = 4096, /* of one piece */
	SENT_PIECES_MAX = 32,  /* of a message: later ones are not looked at */
	/* The bytes of rep movsb, f3 a4, and of rep movsq, f3 48 a5. */
	REP = 0xf3,
	REX_W = 0x48,
	MOVSB = 0xa4,
	MOVS = 0xa5,
};

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

/* The kernel's registers where it was interrupted. */
struct kernel_at {
	__u64 ip, sp, si, di, cx;
};

/* What a thread had passed to write() and its like when it was last met in one. */
struct passed {
	__u64 born_ns; /* start_time of the thread: a later one may have its id */
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct passed);
} passed SEC(".maps");

/*
 * How many bytes the kernel has read for write() and its like since it was last met there; 0: not known.
 * How long it copies says less: new pages of a file take hundreds of times as long as a buffer that is used again.
 * What sendfile() has passed counts, too, though nobody reads it.
 */
static __always_inline __u64 passed_since(const struct task_struct *task, __u64 call)
{
	struct passed now = {.born_ns = task->start_time}, *before;
	__u32 tid = task->pid;
	__u64 bytes = 0;

	/* write, pwrite64, writev, pwritev, pwritev2 */
	if (call != 1 && call != 18 && call != 20 && call != 296 && call != 328)
		return 0;
	if (!bpf_core_field_exists(task->ioac.wchar))
		return 0;
	now.bytes = task->ioac.wchar;
	before = bpf_map_lookup_elem(&passed, &tid);
	if (before && before->born_ns == now.born_ns)
		bytes = now.bytes - before->bytes;
	else if (now.born_ns >= since_ns)
		bytes = now.bytes;
	bpf_map_update_elem(&passed, &tid, &now, BPF_ANY);
	/* This write() is not among them yet, and there may have been no other. */
	return bytes ? bytes : 1;
}

/*
 * The kernel copies from the thread's memory, as for write(): what is left of the piece
 * at hand.  It does so by rep movsb, or before 6.3 by rep movsq; what it does since then on processors without
 * ERMS is not seen.  What copies to the thread's memory has its address in di.
 */
static __always_inline bool add_read(struct comm_raw_kcopy *k, const struct task_struct *task,
				     __u64 call, const struct kernel_at *at)
{
	__u8 insn[3];
	__u64 len = at->cx;

	if (at->si < MIN_ADDR || at->si >= USER_END || at->di < USER_END ||
	    bpf_probe_read_kernel(insn, sizeof(insn), (const void *)at->ip))
		return false;
	if (insn[0] != REP)
		return false;
	if (insn[1] == REX_W && insn[2] == MOVS)
		len *= sizeof(__u64);
	else if (insn[1] != MOVSB)
		return false;
	add_range(k, at->si, len < READ_BYTES_MAX ? len : READ_BYTES_MAX);
	k->reads = true;
	k->passed_bytes = passed_since(task, call);
	return true;
}

/* Draws one of all pieces given so far, in proportion to their bytes. */
static __always_inline void draw_sent(struct comm_raw_kcopy *k, __u64 addr, __u64 len)
{
	if (!len || len > IOV_BYTES_MAX || addr < MIN_ADDR || addr > USER_END - len)
		return;
	k->call_bytes += len;
	if (bpf_get_prandom_u32() % k->call_bytes >= len)
		return;
	k->range[0].addr = addr;
	k->range[0].len_bytes = len;
	k->n_ranges = 1;
}

static __always_inline void draw_sent_of(struct comm_raw_kcopy *k, __u64 message)
{
	struct user_msghdr msg;
	struct iovec v;

	if (bpf_probe_read_user(&msg, sizeof(msg), (const void *)message))
		return;
	for (__u32 i = 0; i < SENT_PIECES_MAX; i++) {
		if (i >= msg.msg_iovlen || bpf_probe_read_user(&v, sizeof(v), &msg.msg_iov[i]))
			break;
		draw_sent(k, (__u64)v.iov_base, v.iov_len);
	}
}

/*
 * The thread sends to a socket, somewhere in send() or sendmsg(): a piece of what it was given.  Copies are too
 * short to meet them by themselves, as most end in the instruction that they begin in, and whether what is copied
 * lies in a near cache changes how long they take twentyfold.  The call changes that less.
 */
static __always_inline bool add_sent(struct comm_raw_kcopy *k, const struct pt_regs *regs)
{
	__u64 len;

	switch ((long)regs->orig_ax) {
	case 44: /* sendto */
		draw_sent(k, regs->si, regs->dx);
		break;
	case 46:  /* sendmsg */
	case 307: /* sendmmsg: the first message */
		draw_sent_of(k, regs->si);
		break;
	default:
		return false;
	}
	len = k->range[0].len_bytes;
	if (len > READ_BYTES_MAX) {
		k->range[0].addr += bpf_get_prandom_u32() % (len / READ_BYTES_MAX) * READ_BYTES_MAX;
		k->range[0].len_bytes = READ_BYTES_MAX;
	}
	k->reads = true;
	return true;
}

/*
 * The thread is in a system call: which user memory does the kernel read, or will it write for it?  On
 * entry to and exit from the kernel, sp is not on the thread's kernel stack, or
 * pt_regs at its top still holds the previous call.
 */
static __always_inline void kernel_sample(struct task_struct *task, struct comm_raw_cpu *c,
					  const struct comm_raw_head *head,
					  const struct kernel_at *at)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct comm_raw_kcopy k = {.head = *head};
	struct user_msghdr msg;
	__u64 a1 = regs->si;

	/* Exceptions and interrupts store -1 or the vector in orig_ax, never a call's number. */
	if (regs->cs != USER_CS || at->sp < (__u64)task->stack || at->sp >= (__u64)regs)
		return;
	if (add_sent(&k, regs) || add_read(&k, task, regs->orig_ax, at))
		goto tell;
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
tell:
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
