// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel half of the live source: samples from the scheduler's tick and from a
 * per-CPU perf event, switches, and the life cycle of the targets.
 *
 * Why per CPU and filtered here rather than one event per thread: a per-task timer
 * event is stopped and started at every context switch, which slowed a ping-pong of
 * two threads down 5.7 times on a virtual machine; an event that stays on its CPU,
 * whose program returns at once for threads of other processes, cost 2 %.
 */
#include "sample_event.h"
#include "sched_event.h"
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

enum {
	USER_CS = 0x33,
	USER32_CS = 0x23,
	RESUME_FLAG = 1 << 16, /* an interrupt may have set it */
	CS_WORD = 17,	       /* index of cs in struct pt_regs, in words */
	MIN_ADDR = 0x10000,
	IOV_BYTES_MAX = 1 << 24, /* a larger buffer length is taken for garbage */
	SELF_TIMED = 16,	 /* one in so many program runs is timed: a power of two */
	VM_EXEC_BIT = 4,
	PAGE = 4096,
	PAGE_SHIFT_BITS = 12,
	PF_EXITING_BIT = 4,
	PF_KTHREAD_BIT = 0x00200000,
	BAD_PAGES = 8,
	FORGET_BAD = 64, /* one in so many samples tries bad pages again */
	PF_WRITE_BIT = 2,
	TOUCH_SWEEPS = 4,
	TOUCH_PAGES = 512,	      /* most pages of a record */
	TOUCH_BEGINNING = 64,	      /* bytes: a write of these is one of the page's beginning */
	TOUCH_CODE = 128,	      /* bytes: instructions so near are of one loop */
	TOUCH_STACK = 1 << 20,	      /* bytes above the stack pointer that are the stack's, */
	TOUCH_RED_ZONE = 256,	      /* and below it */
	TOUCH_WAIT_NS = 20000000,     /* a longer pause ends a record, */
	TOUCH_LONGEST_NS = 100000000, /* and so long a one, for it is told when it ends */
	TOUCH_FIRST = 2000,	 /* records of a CPU at once: programs touch most memory early */
	TOUCH_EACH_NS = 5000000, /* later one in so long */
	SECOND_NS = 1000000000,
};

#define USER_END 0x7ffffffff000ULL

/* Fixed at load, so that the verifier and the JIT see constants. */
const volatile __u32 stack_bytes = 512;
const volatile __u32 stack_below_bytes = 128;
const volatile __u32 max_lines = COMM_RAW_LINES_MAX;
const volatile __u32 line_regs = 0xffff & ~(1 << 4); /* enum comm_reg, all but rsp */
const volatile __u32 n_rings = 1;		     /* of samples, and of switches */
const volatile bool code_line = true;
const volatile bool samples_time = true; /* or else instructions */
const volatile __u64 since_ns = 0; /* threads that are born later are known from their birth on */
const volatile bool follow = true;
const volatile bool all_tasks = false;
const volatile __u32 own_tgid = 0;
const volatile bool by_cgroup = false;
const volatile __u32 cgroup_level = 0;
const volatile bool has_probes = false;
const volatile __u32 others_every = 1; /* of samples outside of pieces one in so many is taken */

struct comm_raw_ctl ctl = {.lines_on = 1};

/* Offset from tick_cpu_sched to __irq_regs, per-CPU variables: the same on each CPU. */
const volatile __s64 irq_regs_behind_tick = 0;

/*
 * Allocated at once, some 5 MB: each fork and each end of a process would go through the kernel's allocator
 * for maps otherwise, and what that does later counts for nobody.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8); /* enum comm_raw_target */
} targets SEC(".maps");

/* By tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct comm_raw_marks);
} marks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct comm_raw_wanted);
} wanted SEC(".maps");

/*
 * Pieces of code in which functions read that the run is about, or write what these read, as far as bursts have shown them.
 * Those of programs that have ended are the first to give way.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PIECES_MAX);
	__type(key, __u64);
	__type(value, __u8);
} pieces SEC(".maps");

/* Written by probe.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PROBED_THREADS);
	__type(key, __u32);
	__type(value, struct comm_raw_probed);
} probed SEC(".maps");

/* Written by probe.bpf.c, but for what was told. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PROBED_PROCESSES);
	__type(key, __u32);
	__type(value, struct comm_raw_probed_frames);
} probed_frames SEC(".maps");

/*
 * Which threads and processes the daemon has had records of, by tid.  Only their ends, new
 * names and new mappings are of use to it, so in a storm of short-lived children the records
 * are as few as the samples.  Preallocated: samples write here, in an interrupt.  The least
 * recently used goes for a new one: what is told of a thread after its end, such as its first
 * writes of pages, leaves an entry that no exit deletes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct comm_raw_told);
} told SEC(".maps");

/*
 * Names of threads that have ended and were not told of, for windows meet threads that no sample did.  Some
 * of the last second's, as long as 4,000 end in it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct comm_raw_ended);
} ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct comm_raw_cpu);
} cpus SEC(".maps");

/* The shape of a ring; the daemon makes them and decides how large they are. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PAGE);
};

/* Several, or all CPUs would wait for one spinlock: see ring_of(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} switches SEC(".maps");

/*
 * One for all CPUs: these records are few, and a ring keeps their order: a fork is read
 * before what its child does on another CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} life SEC(".maps");

enum {
	SCRATCH_BYTES = sizeof(struct comm_raw_sample) + COMM_RAW_STACK_MAX +
			COMM_RAW_LINES_MAX * sizeof(struct comm_raw_line),
};

struct scratch {
	__u64 bytes[SCRATCH_BYTES / 8];
	volatile __u64 bloom;
	__u64 stack, code, code_end, low_end;
	/* Pages that could not be read, to be skipped: a fault costs ten times a read. */
	volatile __u64 bad_page[BAD_PAGES];
	volatile __u32 retry;
	volatile __u32 n_lines;
	volatile __u32 failed;
};

/*
 * One scratch per CPU suffices: the sampling programs do not nest, as both run in a
 * timer's interrupt.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct comm_raw_cpu *this_cpu(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* Index of a CPU's ring in both arrays of rings. */
static __always_inline __u32 ring_of(__u32 cpu)
{
	return cpu % n_rings;
}

/*
 * Flags of a record that is written.  A wake-up costs more than the record, so there is one alone when the
 * daemon has gone to sleep for long; that two CPUs both give it is no harm.
 */
static __always_inline __u64 wake_flags(void)
{
	if (!ctl.wake)
		return BPF_RB_NO_WAKEUP;
	ctl.wake = 0;
	return BPF_RB_FORCE_WAKEUP;
}

/* Writes a record into the ring of this CPU; false: dropped. */
static __always_inline bool write_sample(__u32 cpu, void *record, __u64 size)
{
	__u32 i = ring_of(cpu);
	void *ring = bpf_map_lookup_elem(&samples, &i);

	return ring && !bpf_ringbuf_output(ring, record, size, wake_flags());
}

static __always_inline bool under_cgroup(struct task_struct *task)
{
	struct cgroup *cgrp = BPF_CORE_READ(task, cgroups, dfl_cgrp), *ancestor;

	if ((__u32)BPF_CORE_READ(cgrp, level) < cgroup_level)
		return false;
	if (bpf_core_read(&ancestor, sizeof(ancestor), &cgrp->ancestors[cgroup_level]))
		return false;
	return BPF_CORE_READ(ancestor, kn, id) == ctl.cgroup_id;
}

static __always_inline bool is_listed(__u32 tgid)
{
	__u8 *target = bpf_map_lookup_elem(&targets, &tgid);

	return target && !(*target & COMM_RAW_TARGET_ENDED);
}

static __always_inline bool is_target(struct task_struct *task, __u32 tgid)
{
	if (!tgid)
		return false;
	if (all_tasks)
		return tgid != own_tgid && !(task->flags & PF_KTHREAD_BIT);
	if (by_cgroup)
		return under_cgroup(task);
	if (ctl.only_tgid)
		return tgid == ctl.only_tgid;
	return is_listed(tgid);
}

/*
 * The map has no room, or what we have interrupted is changing it.  What cannot be noted must not be
 * missed: the daemon notes it when it next reads the rings.
 */
static __always_inline void note(__u32 id, struct comm_raw_told *fresh)
{
	__u32 at = id % COMM_RAW_UNTOLD;

	if (!bpf_map_update_elem(&told, &id, fresh, BPF_ANY))
		return;
	if (ctl.untold[at] && ctl.untold[at] != id)
		ctl.untold_more = 1;
	ctl.untold[at] = id;
	ctl.tell_all = 1;
}

/* Notes that the daemon gets a record of this thread. */
static __always_inline void tell_thread(__u32 tid)
{
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tid), fresh = {.thread = 1};

	if (known)
		known->thread = 1;
	else
		note(tid, &fresh);
}

static __always_inline void tell_process(__u32 tgid)
{
	struct comm_raw_told *known = bpf_map_lookup_elem(&told, &tgid), fresh = {.process = 1};

	if (known)
		known->process = 1;
	else
		note(tgid, &fresh);
}

/* Those that probes have begun go around those that the program has marked itself. */
static __always_inline void add_probed(struct task_struct *task, struct comm_raw_mark *m)
{
	__u32 tid = task->pid;
	struct comm_raw_probed *p = bpf_map_lookup_elem(&probed, &tid);
	__u32 n;

	if (!p || p->born_ns != task->start_time)
		return;
	n = p->depth < COMM_RAW_MARKS_MAX ? p->depth : COMM_RAW_MARKS_MAX;
	for (int i = COMM_RAW_MARKS_MAX - 1; i >= 0; i--) {
		__u32 from = i - n;

		/* The verifier must see the bound that the compiler knows to be superfluous. */
		barrier_var(from);
		m->name[i] = i < n ? p->id[i] : m->name[from & (COMM_RAW_MARKS_MAX - 1)];
	}
	m->depth += n;
}

/*
 * Writes a record of the regions that the thread is in, if it is in one; false: dropped.  What
 * cannot be read may be a region, too: it has a name that nobody can read.
 */
static __noinline bool write_mark(struct task_struct *task, const struct comm_raw_head *head)
{
	struct comm_raw_mark m = {};
	__u64 fs_base = task->thread.fsbase;
	__u32 tgid = head->tgid;
	struct comm_raw_marks *place;

	place = bpf_map_lookup_elem(&marks, &tgid);
	/* A thread without a pointer has not begun to run the program. */
	if (place && fs_base &&
	    bpf_probe_read_user(&m.depth, sizeof(m.depth) + sizeof(m.name),
				(const void *)(fs_base + place->stack)))
		m.depth = 1;
	if (has_probes)
		add_probed(task, &m);
	if (!m.depth)
		return true;
	m.head = *head;
	m.head.kind = COMM_RAW_MARK;
	return write_sample(head->cpu, &m, sizeof(m));
}

#include "counts.h"
#include "kernel_copy.h"
#include "life_event.h"
#include "own_time.h"
#include "rep_string.h"
#include "thread_memory.h"
#include "tick.h"

static __always_inline struct scratch *this_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/* A macro: the context of a perf event must be read in place. */
#define COPY_REGS(s, regs)                  \
	do {                                \
		(s)->head.ip = (regs)->ip;  \
		(s)->reg[0] = (regs)->ax;   \
		(s)->reg[1] = (regs)->cx;   \
		(s)->reg[2] = (regs)->dx;   \
		(s)->reg[3] = (regs)->bx;   \
		(s)->reg[4] = (regs)->sp;   \
		(s)->reg[5] = (regs)->bp;   \
		(s)->reg[6] = (regs)->si;   \
		(s)->reg[7] = (regs)->di;   \
		(s)->reg[8] = (regs)->r8;   \
		(s)->reg[9] = (regs)->r9;   \
		(s)->reg[10] = (regs)->r10; \
		(s)->reg[11] = (regs)->r11; \
		(s)->reg[12] = (regs)->r12; \
		(s)->reg[13] = (regs)->r13; \
		(s)->reg[14] = (regs)->r14; \
		(s)->reg[15] = (regs)->r15; \
		(s)->flags = (regs)->flags; \
	} while (0)

/*
 * An interrupt that the kernel held off until a system call had returned is one of the kernel's
 * time (comm_sample_is_behind_syscall()).
 */
static __always_inline bool is_behind_syscall(const struct comm_raw_sample *s, __u64 cs)
{
	return samples_time && cs != USER32_CS && s->reg[1] == s->head.ip &&
	       !((s->reg[11] ^ s->flags) & ~RESUME_FLAG);
}

#include "fault_return.h"

/*
 * How many samples like this one it stands for; 0: it is left out, and another one stands for it.  Code is drawn less
 * often where none of the functions is that the run is about: it has to be met at times all the same, for it writes what
 * these read, and may call them.
 */
static __always_inline __u32 stands_for(const struct task_struct *task, __u64 ip)
{
	struct mm_struct *mm = task->mm;
	__u64 key;

	if (others_every == 1 || !mm)
		return 1;
	key = comm_raw_piece_key(mm->start_code, ip);
	if (bpf_map_lookup_elem(&pieces, &key))
		return 1;
	return bpf_get_prandom_u32() % others_every ? 0 : others_every;
}

/* Completes and submits the sample in t, which has the registers already. */
static __always_inline void user_sample(struct scratch *t, struct task_struct *task,
					struct comm_raw_cpu *c, const struct comm_raw_head *head,
					__u64 cs)
{
	struct comm_raw_sample *s = (struct comm_raw_sample *)t->bytes;
	__u64 stack, ip = s->head.ip;
	__u32 n, len, times;

	if (is_behind_syscall(s, cs))
		return;
	if (is_behind_fault(s, head->tid)) {
		c->behind_faults++;
		return;
	}
	times = stands_for(task, ip);
	if (!times)
		return;
	t->bloom = 0;
	t->n_lines = t->failed = 0;
	t->retry = c->samples % FORGET_BAD == 0;
	s->head = *head;
	s->head.kind = COMM_RAW_SAMPLE;
	s->head.period *= times;
	s->head.ip = ip;
	s->reg[16] = task->thread.fsbase;
	s->reg[17] = task->thread.gsbase;
	s->mode_bits = cs == USER32_CS ? 32 : 64;
	s->stack_bytes = stack_bytes;
	s->program = task->mm ? task->mm->start_code : 0;
	s->zero[0] = s->zero[1] = s->zero[2] = 0;
	/* Aligned to a line, so that no line is partly in the stack window. */
	stack = (s->reg[4] - stack_below_bytes) & ~(COMM_RAW_LINE_BYTES - 1ULL);
	t->stack = stack;
	read_stack(s, stack);
	if (ctl.lines_on && s->mode_bits == 64)
		read_lines(task, t, s, (struct comm_raw_line *)(s->data + stack_bytes));
	n = t->n_lines;
	if (n > COMM_RAW_LINES_MAX)
		return;
	s->n_lines = n;
	len = sizeof(*s) + stack_bytes + n * sizeof(struct comm_raw_line);
	if ((!ctl.has_marks || write_mark(task, head)) && write_sample(head->cpu, s, len)) {
		c->samples++;
		tell_thread(head->tid);
		tell_sampled_name(head->time_ns);
		tell_process(head->tgid);
	} else {
		/* Those for which it stands are not stored either. */
		c->sample_drops += times;
	}
	c->lines += n;
	c->failed_reads += t->failed;
}

/*
 * When a program began, or 0: this run is not timed.  Called where it has found a target, for strangers have to
 * leave at once: to draw whether a run is timed costs as much as they do otherwise.
 */
static __always_inline __u64 begin_timed(void)
{
	return bpf_get_prandom_u32() % SELF_TIMED ? 0 : bpf_ktime_get_ns();
}

/* What so many runs took of which this was the one that was timed. */
static __always_inline __u64 timed(__u64 start_ns)
{
	return start_ns ? SELF_TIMED * own_time(start_ns) : 0;
}

/* Whether there is a record now of the frame that the process is in; else the ring is full. */
static __always_inline bool tell_frame(const struct comm_raw_head *head, __u64 number)
{
	struct comm_raw_frame f = {};

	f.head = *head;
	f.head.kind = COMM_RAW_FRAME;
	f.number = number;
	return write_sample(head->cpu, &f, sizeof(f));
}

/*
 * Looks at the marks that all threads of the process have together: writes a record of its frame, if it
 * is in a later one, and returns whether it said COMM_STOP().  What cannot be read says nothing.  What a
 * full ring has no room for is told at the next sample.
 */
static __noinline bool is_stopped(const struct comm_raw_head *head)
{
	struct comm_raw_process now = {};
	struct comm_raw_marks *place;
	__u32 tgid = head->tgid;

	place = bpf_map_lookup_elem(&marks, &tgid);
	if (!place || !place->process ||
	    bpf_probe_read_user(&now, sizeof(now), (const void *)place->process))
		return false;
	if (now.frame > place->frame && !now.stopped && !ctl.probes_frames &&
	    tell_frame(head, now.frame))
		place->frame = now.frame;
	return now.stopped;
}

/* The same of frames that begin at a probe. */
static __noinline void tell_probed_frame(const struct comm_raw_head *head)
{
	struct comm_raw_probed_frames *f;
	__u32 tgid = head->tgid;
	__u64 number;

	f = bpf_map_lookup_elem(&probed_frames, &tgid);
	if (!f)
		return;
	number = f->number;
	if (number > f->told && tell_frame(head, number))
		f->told = number;
}

/* Returns the current task; NULL: it is no thread of a target, or not to be sampled. */
static __always_inline struct task_struct *met_target(struct comm_raw_cpu *c,
						      struct comm_raw_head *head, __u32 cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 id = bpf_get_current_pid_tgid();

	head->tgid = id >> 32;
	head->tid = id;
	if (!is_target(task, head->tgid))
		return NULL;
	head->cpu = cpu;
	head->time_ns = bpf_ktime_get_ns();
	head->period = c->period;
	c->seen_ns = head->time_ns;
	c->hits++;
	if (ctl.has_marks && is_stopped(head)) {
		c->stopped++;
		return NULL;
	}
	if (ctl.probes_frames)
		tell_probed_frame(head);
	return task;
}

#include "first_write.h"

static __always_inline void end_sample(struct comm_raw_cpu *c, const struct comm_raw_head *head,
				       __u64 start_ns)
{
	tell_old_sweeps(c, head->time_ns);
	c->handler_ns += timed(start_ns);
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	__u64 start_ns = begin_timed();
	__u32 cpu = bpf_get_smp_processor_id();
	struct comm_raw_cpu *c = this_cpu(cpu);
	struct comm_raw_head head = {};
	struct task_struct *task;
	struct scratch *t;
	__u64 cs;

	if (!c)
		return 0;
	if (!(__u32)bpf_get_current_pid_tgid()) {
		c->idle++;
		return 0;
	}
	c->interrupts++;
	task = met_target(c, &head, cpu);
	t = this_scratch();
	if (!task || !t)
		return 0;
	/*
	 * cs by its offset, not by name: newer kernels declare it with two bytes, but
	 * the context must be read by words, and a CO-RE relocation wants the sizes
	 * to agree.
	 */
	cs = *(volatile __u64 *)((__u8 *)ctx + CS_WORD * sizeof(__u64)) & 0xffff;
	if (cs & 3) {
		COPY_REGS((struct comm_raw_sample *)t->bytes, &ctx->regs);
		user_sample(t, task, c, &head, cs);
	} else {
		const struct kernel_at at = {ctx->regs.ip, ctx->regs.sp, ctx->regs.si, ctx->regs.di,
					     ctx->regs.cx};

		kernel_sample(task, c, &head, &at);
	}
	end_sample(c, &head, start_ns);
	return 0;
}

/* Returns the user or kernel registers that the tick has interrupted. */
static __always_inline struct pt_regs *interrupted_regs(const struct hrtimer *timer)
{
	__u64 tick = (__u64)timer - bpf_core_field_offset(struct tick_sched, sched_timer);
	struct pt_regs *regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)(tick + irq_regs_behind_tick)))
		return NULL;
	return regs;
}

/* regs: of what was interrupted, the kernel's or a program's. */
static __always_inline bool interrupts_string(const struct pt_regs *regs)
{
	__u64 ip = BPF_CORE_READ(regs, ip);
	__u32 insn = 0;

	if (ip >> 63 ? bpf_probe_read_kernel(&insn, sizeof(insn), (void *)ip)
		     : bpf_probe_read_user(&insn, sizeof(insn), (void *)ip))
		return false;
	return comm_is_string_insn(insn);
}

/*
 * The scheduler's tick interrupts the running thread anyway: a sample in it costs our
 * own work only, which is a tenth of an interrupt in a virtual machine.
 */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(ticked, struct hrtimer *timer)
{
	struct comm_raw_head head = {};
	struct pt_regs *regs, *interrupted;
	struct task_struct *task;
	struct comm_raw_cpu *c;
	struct scratch *t;
	__u64 start_ns;
	__u32 cpu;

	if (!is_tick(timer))
		return 0;
	start_ns = begin_timed();
	cpu = bpf_get_smp_processor_id();
	c = this_cpu(cpu);
	if (!c)
		return 0;
	/* The daemon tests on itself whether ticks can be sampled on this kernel. */
	if (ctl.try_ticks) {
		task = bpf_get_current_task_btf();
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if ((__u32)task->tgid == own_tgid && interrupted_regs(timer) == regs)
			c->ticks++;
		return 0;
	}
	if (ctl.watch_strings) {
		regs = interrupted_regs(timer);
		c->string_ticks += regs && interrupts_string(regs);
	}
	if (!ctl.tick_every || ++c->ticks % ctl.tick_every) {
		if (ctl.watch_strings)
			c->handler_ns += timed(start_ns);
		return 0;
	}
	task = met_target(c, &head, cpu);
	t = this_scratch();
	if (!task || !t)
		return 0;
	c->tick_hits++;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	interrupted = interrupted_regs(timer);
	if (interrupted == regs) {
		COPY_REGS((struct comm_raw_sample *)t->bytes, regs);
		user_sample(t, task, c, &head, regs->cs);
	} else {
		const struct kernel_at at = {
			BPF_CORE_READ(interrupted, ip), BPF_CORE_READ(interrupted, sp),
			BPF_CORE_READ(interrupted, si), BPF_CORE_READ(interrupted, di),
			BPF_CORE_READ(interrupted, cx)};

		kernel_sample(task, c, &head, &at);
	}
	end_sample(c, &head, start_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_tgid = prev->tgid, next_tgid = next->tgid;
	bool from = is_target(prev, prev_tgid), to = is_target(next, next_tgid);
	struct comm_raw_sched *s;
	struct comm_raw_cpu *c;
	void *ring;
	__u64 start_ns, now;
	__u32 cpu, i;

	if (!from && !to)
		return 0;
	start_ns = begin_timed();
	cpu = bpf_get_smp_processor_id();
	c = this_cpu(cpu);
	if (!c)
		return 0;
	c->switches++;
	now = bpf_ktime_get_ns();
	c->seen_ns = now;
	if (n_events)
		count_events(from ? prev : NULL, c, cpu, to);
	i = ring_of(cpu);
	ring = bpf_map_lookup_elem(&switches, &i);
	s = ring ? bpf_ringbuf_reserve(ring, sizeof(*s), 0) : NULL;
	if (!s) {
		c->sched_drops++;
		c->sched_ns += timed(start_ns);
		return 0;
	}
	s->time_ns = now;
	s->tid = prev->pid;
	s->tgid = from ? prev_tgid : 0;
	s->other_tid = next->pid;
	s->other_tgid = to ? next_tgid : 0;
	s->kind = COMM_RAW_SWITCH;
	s->cpu = cpu;
	s->zero = 0;
	bpf_ringbuf_submit(s, wake_flags());
	/* After its exit nothing would take it out of the map again. */
	if (to && !(next->flags & PF_EXITING_BIT))
		tell_thread(next->pid);
	c->switches_out++;
	c->sched_ns += timed(start_ns);
	return 0;
}

#include "life_cycle.h"
