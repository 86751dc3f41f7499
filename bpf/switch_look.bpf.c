// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks at words of processes whenever one of their threads leaves its CPU, and at the ticks of those
 * that do not.  The thread's memory is still mapped then, and the slice that ends is its own: what
 * changed since the look before was written by who of the process ran meanwhile.
 */
#include "look_event.h"
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "own_time.h"
#include "tick.h"

char LICENSE[] SEC("license") = "GPL";

struct comm_raw_look_ctl ctl;

/* A word that could not be read so often in a row is gone: to try costs ten times a look. */
enum { FAILED_MOST = 16 };

/* What the looks at a word have found.  Not the daemon's to see: mm is a kernel address. */
struct seen {
	__u64 value, time_ns, mm;
	__u32 generation;
	__u32 busy; /* a CPU looks at it */
	__u32 begun, gone;
	__u32 failed; /* so many looks in a row */
	__u32 zero;
};

struct all_seen {
	struct seen word[COMM_RAW_LOOK_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct all_seen);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct comm_raw_look_cpu);
} look_cpus SEC(".maps");

/* One for all CPUs, so that records keep their order but for those of handlers that overlap. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, COMM_RAW_LOOK_RING_BYTES);
} looks SEC(".maps");

static __always_inline bool is_watched(__u32 tgid)
{
	for (__u32 i = 0; i < COMM_RAW_LOOK_WORDS && i < ctl.n_processes; i++)
		if (ctl.process[i] == tgid)
			return tgid;
	return false;
}

static __always_inline void tell(struct comm_raw_look_cpu *c, const struct comm_raw_look *record)
{
	if (bpf_ringbuf_output(&looks, (void *)record, sizeof(*record), BPF_RB_NO_WAKEUP))
		c->drops++;
}

static __always_inline void tell_word(struct comm_raw_look_cpu *c, const struct comm_raw_look *at,
				      __u32 kind, const struct seen *s, __u64 since_ns, __u64 value)
{
	struct comm_raw_look record = *at;

	record.until_ns = bpf_ktime_get_ns();
	record.since_ns = since_ns;
	record.kind = kind;
	record.generation = s->generation;
	record.value = value;
	tell(c, &record);
}

/* What a look has found, at: of the thread that runs. */
static __always_inline void found(struct comm_raw_look_cpu *c, const struct comm_raw_look *at,
				  struct seen *s, __u64 value)
{
	c->looks++;
	/* Where it could not be read another mapping may have come. */
	if (!s->begun)
		tell_word(c, at, COMM_RAW_LOOK_BEGUN, s, 0, value);
	else if (value != s->value)
		tell_word(c, at, COMM_RAW_LOOK_CHANGED, s, s->failed ? 0 : s->time_ns, value);
	s->begun = 1;
	s->failed = 0;
	s->value = value;
	s->time_ns = at->time_ns;
}

static __always_inline void look_at(struct comm_raw_look_cpu *c, const struct comm_raw_look *at,
				    const struct comm_raw_look_word *w, struct seen *s,
				    __u32 generation, __u64 mm)
{
	__u64 value;

	/* Two CPUs at once could take an older value for a change: who comes second does not look. */
	if (__sync_lock_test_and_set(&s->busy, 1))
		return;
	if (s->generation != generation) {
		s->generation = generation;
		s->mm = mm;
		s->begun = s->gone = s->failed = 0;
	}
	if (s->mm == mm && !s->gone) {
		if (!bpf_probe_read_user(&value, sizeof(value), (const void *)w->addr)) {
			found(c, at, s, value & w->mask);
		} else {
			c->failed++;
			s->failed++;
		}
	}
	if (!s->gone && (s->mm != mm || s->failed == FAILED_MOST)) {
		s->gone = 1;
		tell_word(c, at, COMM_RAW_LOOK_GONE, s, 0, 0);
	}
	__sync_lock_test_and_set(&s->busy, 0);
}

static __always_inline void look_at_all(struct comm_raw_look_cpu *c, const struct comm_raw_look *at,
					struct task_struct *task)
{
	__u64 mm = (__u64)BPF_CORE_READ(task, mm);
	__u32 zero = 0;
	struct all_seen *all = bpf_map_lookup_elem(&seen, &zero);

	/* A thread that exits has no memory any more. */
	if (!all || !mm)
		return;
	for (__u32 i = 0; i < COMM_RAW_LOOK_WORDS; i++) {
		const struct comm_raw_look_word *w = &ctl.word[i];
		__u32 generation = *(volatile const __u32 *)&w->generation;

		barrier();
		if (generation && w->tgid == at->tgid)
			look_at(c, at, w, &all->word[i], generation, mm);
	}
	c->runs++;
}

static __always_inline struct comm_raw_look_cpu *this_cpu(__u32 cpu)
{
	return bpf_map_lookup_elem(&look_cpus, &cpu);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(left, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct comm_raw_look record = {.kind = COMM_RAW_LOOK_SWITCH};
	__u32 cpu = bpf_get_smp_processor_id();
	struct comm_raw_look_cpu *c = this_cpu(cpu);
	bool from, to;

	if (!c)
		return 0;
	from = ctl.n_words && is_watched(prev->tgid);
	to = ctl.n_words && is_watched(next->tgid);
	if (!from && !to) {
		c->call_ns += SELF_ENTRY_NS;
		return 0;
	}
	record.time_ns = bpf_ktime_get_ns();
	record.cpu = cpu;
	if (from) {
		record.tgid = prev->tgid;
		record.tid = prev->pid;
		look_at_all(c, &record, prev);
	}
	if (to) {
		record.other_tgid = next->tgid;
		record.other_tid = next->pid;
	}
	record.until_ns = bpf_ktime_get_ns();
	tell(c, &record);
	c->ns += own_time(record.time_ns);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(ticked, struct hrtimer *timer)
{
	struct comm_raw_look record = {.kind = COMM_RAW_LOOK_TICK};
	struct comm_raw_look_cpu *c;
	struct task_struct *task;

	if (!ctl.n_words || !is_tick(timer))
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_watched(task->tgid))
		return 0;
	record.time_ns = bpf_ktime_get_ns();
	record.cpu = bpf_get_smp_processor_id();
	c = this_cpu(record.cpu);
	if (!c)
		return 0;
	record.tgid = task->tgid;
	record.tid = task->pid;
	look_at_all(c, &record, task);
	c->ticks++;
	tell(c, &record);
	c->ns += own_time(record.time_ns);
	return 0;
}
