/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run of a BPF program takes of whom it interrupts.
 */
#ifndef COMM_OWN_TIME_H
#define COMM_OWN_TIME_H

enum {
	SELF_ENTRY_NS = 46,   /* to call a program that returns at once: docs/operate/overhead.md */
	SELF_MOST_NS = 20000, /* cap: the host had taken the CPU away */
};

static __always_inline __u64 own_time(__u64 start_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - start_ns + SELF_ENTRY_NS;

	return took_ns < SELF_MOST_NS ? took_ns : SELF_MOST_NS;
}

#endif
