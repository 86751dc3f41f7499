/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: who was the first to write a page, by its faults.
 */
#ifndef COMM_FIRST_WRITE_H
#define COMM_FIRST_WRITE_H

/*
 * Pages that one thread was the first to write, one after the other, upwards or downwards, and are
 * not told yet.  What writes them from their beginnings on fills them, downwards from their ends,
 * whereas an allocator begins anywhere.  A stack grows downwards, too, and fills nothing.
 */
struct sweep {
	/* .ip: of the first write at a beginning, else of all; 0: the kernel's. */
	struct comm_raw_head head;
	__u64 page, end; /* [page, end) */
	__u64 began_ns;
	__u64 beginnings; /* so many pages were first written at theirs */
	/*
	 * Other code that fills the next page begins a sweep of its own.  Where code changes page by page, or too
	 * many records were written of late, it goes on with this one, which no code fills then.
	 */
	bool after_single, mixed;
};

struct touches {
	struct sweep sweep[TOUCH_SWEEPS];
	__u64 credit_ns;    /* TOUCH_EACH_NS for each record that may be written */
	__u64 next;	    /* the sweep to give way */
	volatile bool busy; /* a page fault is at work: no interrupt may look */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct touches);
} touches SEC(".maps");

static __always_inline void tell_sweep(struct comm_raw_cpu *c, struct touches *t,
				       struct sweep *sweep, __u64 now)
{
	__u64 most = (__u64)TOUCH_FIRST * TOUCH_EACH_NS;
	struct comm_raw_kcopy k = {.head = sweep->head, .n_ranges = 1};

	if (sweep->page == sweep->end)
		return;
	k.head.kind = COMM_RAW_TOUCH;
	k.filled = !sweep->mixed && sweep->beginnings > 1 &&
		   sweep->beginnings * 2 > sweep->end - sweep->page;
	k.head.time_ns = now;
	k.range[0].addr = sweep->page << PAGE_SHIFT_BITS;
	k.range[0].len_bytes = (sweep->end - sweep->page) << PAGE_SHIFT_BITS;
	sweep->page = sweep->end;
	sweep->began_ns = now;
	/* Credit grows with time, as if the first record had been written long ago. */
	if (now - t->credit_ns > most)
		t->credit_ns = now - most;
	if (now - t->credit_ns < TOUCH_EACH_NS) {
		c->touch_drops++;
		return;
	}
	t->credit_ns += TOUCH_EACH_NS;
	if (!write_sample(k.head.cpu, &k, sizeof(k))) {
		c->touch_drops++;
		return;
	}
	tell_thread(k.head.tid);
	tell_process(k.head.tgid);
}

/* A sweep without a successor would never be told; called by the sampling programs. */
static __always_inline void tell_old_sweeps(struct comm_raw_cpu *c, __u64 now)
{
	__u32 zero = 0, i;
	struct touches *t = bpf_map_lookup_elem(&touches, &zero);

	if (!t || t->busy)
		return;
	for (i = 0; i < TOUCH_SWEEPS; i++)
		if (now - t->sweep[i].head.time_ns > TOUCH_WAIT_NS)
			tell_sweep(c, t, &t->sweep[i], now);
}

/*
 * The first write of a page faults, so each fault names the writer of what may never be
 * written again.  A sweep over pages is one record, told when it ends; its time is that of the
 * telling, for the merge wants order.  Several sweeps at once: loops fill several arrays.  The current task is
 * a target.
 */
static __always_inline void touched(__u64 address, __u64 error_code, __u64 ip, __u64 sp)
{
	__u64 start_ns, now, id = bpf_get_current_pid_tgid(), page = address >> PAGE_SHIFT_BITS;
	__u32 zero = 0, cpu = bpf_get_smp_processor_id(), i;
	struct comm_raw_cpu *c = this_cpu(cpu);
	struct touches *t;
	struct sweep *sweep;
	bool writes = error_code & PF_WRITE_BIT && address < USER_END, known = false;
	bool after_single = false, other, has_credit;
	__u64 at = address % PAGE;
	bool begins = at < TOUCH_BEGINNING, up, down, fills;
	bool ends = at >= PAGE - TOUCH_BEGINNING &&
		    (address + TOUCH_RED_ZONE < sp || address - sp > TOUCH_STACK);

	start_ns = begin_timed();
	if (!c || (!writes && !start_ns))
		return;
	if (!writes) {
		c->touch_ns += timed(start_ns);
		return;
	}
	t = bpf_map_lookup_elem(&touches, &zero);
	if (!t)
		return;
	now = bpf_ktime_get_ns();
	has_credit = now - t->credit_ns > (__u64)TOUCH_FIRST / 2 * TOUCH_EACH_NS;
	t->busy = true;
	for (i = 0; i < TOUCH_SWEEPS; i++) {
		sweep = &t->sweep[i];
		up = sweep->end == page;
		down = sweep->page == page + 1;
		if (now - sweep->head.time_ns > TOUCH_WAIT_NS) {
			tell_sweep(c, t, sweep, now);
		} else if (!known && (up || down) && sweep->head.tid == (__u32)id &&
			   !sweep->head.ip == !ip && sweep->end - sweep->page < TOUCH_PAGES &&
			   now - sweep->began_ns < TOUCH_LONGEST_NS) {
			fills = down ? ends : begins;
			other = fills && sweep->beginnings &&
				ip - sweep->head.ip + TOUCH_CODE > 2 * TOUCH_CODE;
			if (other && !sweep->mixed && has_credit &&
			    (sweep->beginnings > 1 || !sweep->after_single)) {
				after_single = sweep->beginnings == 1;
				continue;
			}
			sweep->mixed |= other;
			sweep->head.time_ns = now;
			if (fills && !sweep->beginnings)
				sweep->head.ip = ip;
			sweep->end += up;
			sweep->page -= down;
			sweep->beginnings += fills;
			known = true;
		}
	}
	if (!known) {
		sweep = &t->sweep[t->next++ % TOUCH_SWEEPS];
		tell_sweep(c, t, sweep, now);
		sweep->head = (struct comm_raw_head){
			.time_ns = now, .cpu = cpu, .tgid = id >> 32, .tid = id, .ip = ip};
		sweep->page = page;
		sweep->end = page + 1;
		sweep->began_ns = now;
		sweep->beginnings = begins;
		sweep->after_single = after_single;
		sweep->mixed = false;
	}
	t->busy = false;
	c->touch_ns += timed(start_ns);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(touched_by_user, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (is_target(bpf_get_current_task_btf(), id >> 32)) {
		note_fault(id, regs);
		touched(address, error_code, regs->ip, regs->sp);
	}
	return 0;
}

/* The kernel, while it writes what a system call returns. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(touched_by_kernel, unsigned long address, struct pt_regs *regs,
	     unsigned long error_code)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (is_target(bpf_get_current_task_btf(), id >> 32))
		touched(address, error_code, 0, 0);
	return 0;
}

#endif
