/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a CPU's timers is the scheduler's tick, for programs at hrtimer_expire_entry.
 */
#ifndef COMM_TICK_H
#define COMM_TICK_H

/* Callback of the tick's timer; 0: not found. */
__u64 tick_function;

/*
 * Run once.  For a symbol declared as __ksym libbpf reads all of /proc/kallsyms, a quarter of the
 * CPU time of an attach; the kernel just looks it up.
 */
SEC("syscall")
int find_tick(void *ctx)
{
	static const char since_6_8[] = "tick_nohz_handler", before[] = "tick_sched_timer";
	__u64 at = 0;

	if (bpf_kallsyms_lookup_name(since_6_8, sizeof(since_6_8), 0, &at) &&
	    bpf_kallsyms_lookup_name(before, sizeof(before), 0, &at))
		return 1;
	tick_function = at;
	return 0;
}

static __always_inline bool is_tick(const struct hrtimer *timer)
{
	return (__u64)timer->function == tick_function;
}

#endif
