/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of capture.bpf.c: samples that an interrupt brings when a page fault returns.  The kernel
 * handles a fault with interrupts disabled in part, and one that it held off is taken before the
 * instruction that faulted runs again: a sample of time there is one of the kernel's.  All
 * registers are as they were at the fault.  A fault has one such sample at most, for a loop that waits
 * has the same registers again and again.
 */
#ifndef COMM_FAULT_RETURN_H
#define COMM_FAULT_RETURN_H

struct last_fault {
	__u64 registers; /* mixed */
	__u32 tid;	 /* 0: none, or one that had its sample */
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct last_fault);
} last_faults SEC(".maps");

static __always_inline __u64 mix_in(__u64 mixed, __u64 reg)
{
	mixed ^= reg;
	return mixed << 7 | mixed >> 57;
}

static __always_inline __u64 mix_regs(const struct pt_regs *regs)
{
	__u64 mixed = mix_in(regs->ip, regs->ax);

	mixed = mix_in(mixed, regs->cx);
	mixed = mix_in(mixed, regs->dx);
	mixed = mix_in(mixed, regs->bx);
	mixed = mix_in(mixed, regs->sp);
	mixed = mix_in(mixed, regs->bp);
	mixed = mix_in(mixed, regs->si);
	mixed = mix_in(mixed, regs->di);
	mixed = mix_in(mixed, regs->r8);
	mixed = mix_in(mixed, regs->r9);
	mixed = mix_in(mixed, regs->r10);
	mixed = mix_in(mixed, regs->r11);
	mixed = mix_in(mixed, regs->r12);
	mixed = mix_in(mixed, regs->r13);
	mixed = mix_in(mixed, regs->r14);
	return mix_in(mixed, regs->r15);
}

/* A thread of a target faults in user mode. */
static __always_inline void note_fault(__u32 tid, const struct pt_regs *regs)
{
	__u32 zero = 0;
	struct last_fault *fault = bpf_map_lookup_elem(&last_faults, &zero);

	if (!fault)
		return;
	/* An interrupt between the two finds no fault, or this one. */
	fault->tid = 0;
	barrier();
	fault->registers = mix_regs(regs);
	barrier();
	fault->tid = tid;
}

static __always_inline bool is_behind_fault(const struct comm_raw_sample *s, __u32 tid)
{
	__u32 zero = 0, i;
	struct last_fault *fault = bpf_map_lookup_elem(&last_faults, &zero);
	__u64 mixed = s->head.ip;

	if (!fault || !samples_time || fault->tid != tid)
		return false;
	for (i = 0; i < 16; i++)
		mixed = mix_in(mixed, s->reg[i]);
	if (mixed != fault->registers)
		return false;
	fault->tid = 0;
	return true;
}

#endif
