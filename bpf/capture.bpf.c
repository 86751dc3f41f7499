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
	CS_WORD = 17, /* index of cs in struct pt_regs, in words */
	MIN_ADDR = 0x10000,
	IOV_BYTES_MAX = 1 << 24, /* a larger buffer length is taken for garbage */
	SELF_TIMED = 16,	 /* one in so many program runs is timed */
	SELF_MOST_NS = 20000,	 /* cap: the host had taken the CPU away */
	VM_EXEC_BIT = 4,
	PAGE = 4096,
	PAGE_SHIFT_BITS = 12,
	PF_EXITING_BIT = 4,
	PF_KTHREAD_BIT = 0x00200000,
	BAD_PAGES = 8,
	FORGET_BAD = 64, /* one in so many samples tries bad pages again */
	PF_WRITE_BIT = 2,
	TOUCH_SWEEPS = 4,
	TOUCH_PAGES = 64,	  /* most pages of a record */
	TOUCH_WAIT_NS = 20000000, /* a longer pause ends a record */
	TOUCH_FIRST = 2000,	  /* records of a CPU at once: programs touch most memory early */
	TOUCH_EACH_NS = 5000000,  /* later one in so long */
	SECOND_NS = 1000000000,
};

#define USER_END 0x7ffffffff000ULL

/* Fixed at load, so that the verifier and the JIT see constants. */
const volatile __u32 stack_bytes = 512;
const volatile __u32 stack_below_bytes = 128;
const volatile __u32 max_lines = 12;
const volatile __u32 line_regs = 0xffff & ~(1 << 4); /* enum comm_reg, all but rsp */
const volatile __u32 n_rings = 1;		     /* of samples, and of switches */
const volatile bool code_line = true;
const volatile bool follow = true;
const volatile bool all_tasks = false;
const volatile __u32 own_tgid = 0;
const volatile __u64 cgroup_id = 0;
const volatile __u32 cgroup_level = 0;
const volatile bool has_probes = false;

struct comm_raw_ctl ctl = {.lines_on = 1};

/* Callback of the tick's timer, found by find_tick. */
__u64 tick_function;
/* Offset from tick_cpu_sched to __irq_regs, per-CPU variables: the same on each CPU. */
const volatile __s64 irq_regs_behind_tick = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
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

/* Written by probe.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COMM_RAW_PROBED_THREADS);
	__type(key, __u32);
	__type(value, struct comm_raw_probed);
} probed SEC(".maps");

/* Bytes, so that no CPU's store undoes another's. */
struct told {
	__u8 thread;  /* the daemon has had a record of this thread */
	__u8 process; /* the key is a tgid: and a sample of some thread of this process */
	__u8 zero[2];
	__u32 mmap_drain; /* ctl.drains at its last MMAP record */
};

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
	__type(value, struct told);
} told SEC(".maps");

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

/* Writes a record into the ring of this CPU; false: dropped. */
static __always_inline bool write_sample(__u32 cpu, void *record, __u64 size)
{
	__u32 i = ring_of(cpu);
	void *ring = bpf_map_lookup_elem(&samples, &i);

	return ring && !bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP);
}

static __always_inline bool under_cgroup(struct task_struct *task)
{
	struct cgroup *cgrp = BPF_CORE_READ(task, cgroups, dfl_cgrp), *ancestor;

	if ((__u32)BPF_CORE_READ(cgrp, level) < cgroup_level)
		return false;
	if (bpf_core_read(&ancestor, sizeof(ancestor), &cgrp->ancestors[cgroup_level]))
		return false;
	return BPF_CORE_READ(ancestor, kn, id) == cgroup_id;
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
	if (cgroup_id)
		return under_cgroup(task);
	if (ctl.only_tgid)
		return tgid == ctl.only_tgid;
	return is_listed(tgid);
}

/* No room in the map: what cannot be noted must not be missed. */
static __always_inline void note(__u32 id, struct told *fresh)
{
	if (bpf_map_update_elem(&told, &id, fresh, BPF_ANY))
		ctl.tell_all = 1;
}

/* Notes that the daemon gets a record of this thread. */
static __always_inline void tell_thread(__u32 tid)
{
	struct told *known = bpf_map_lookup_elem(&told, &tid), fresh = {.thread = 1};

	if (known)
		known->thread = 1;
	else
		note(tid, &fresh);
}

static __always_inline void tell_process(__u32 tgid)
{
	struct told *known = bpf_map_lookup_elem(&told, &tgid), fresh = {.process = 1};

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

/*
 * Can v be a pointer to data?  Low values are mostly plain numbers: only a program
 * that is not position independent has memory there, between its code and its heap.
 */
static __always_inline bool like_data(__u64 v, __u64 code, __u64 code_end, __u64 low_end)
{
	if (v < MIN_ADDR || v >= USER_END || (v >= code && v < code_end))
		return false;
	return v >= 1ULL << 32 || (v >= code_end && v < low_end);
}

static __always_inline bool seen_line(const struct comm_raw_line *line, __u32 n, __u64 addr)
{
	__u32 i;

	for (i = 0; i < COMM_RAW_LINES_MAX; i++)
		if (i < n && line[i].addr == addr)
			return true;
	return false;
}

static __always_inline void read_code(struct scratch *t, struct comm_raw_line *out, __u64 ip)
{
	/* Near the end of a page the next one may not be there. */
	if (bpf_probe_read_user(out->data, COMM_RAW_LINE_BYTES, (const void *)ip)) {
		ip &= ~(COMM_RAW_LINE_BYTES - 1ULL);
		if (bpf_probe_read_user(out->data, COMM_RAW_LINE_BYTES, (const void *)ip)) {
			t->failed++;
			return;
		}
	}
	out->addr = ip;
	t->n_lines = 1;
}

/*
 * Copies the line that one register points to.  Not static and not inlined, so that
 * the verifier checks it once by itself: unrolled for 16 registers it takes half a
 * million steps.
 */
__noinline int read_line(__u64 v)
{
	struct comm_raw_line *out;
	__u64 bit, bloom, page;
	__u32 zero = 0, n;
	struct scratch *t;

	t = bpf_map_lookup_elem(&scratches, &zero);
	if (!t)
		return 0;
	n = t->n_lines;
	bloom = t->bloom;
	if (n >= max_lines || n >= COMM_RAW_LINES_MAX)
		return 0;
	if (!like_data(v, t->code, t->code_end, t->low_end))
		return 0;
	v &= ~(COMM_RAW_LINE_BYTES - 1ULL);
	if (v - t->stack < stack_bytes)
		return 0;
	out = (struct comm_raw_line *)((__u8 *)t->bytes + sizeof(struct comm_raw_sample) +
				       stack_bytes);
	bit = 1ULL << ((v >> 6) & 63);
	if ((bloom & bit) && seen_line(out, n, v))
		return 0;
	t->bloom = bloom | bit;
	page = v >> PAGE_SHIFT_BITS;
	if (t->bad_page[page % BAD_PAGES] == page && !t->retry)
		return 0;
	if (bpf_probe_read_user(out[n].data, COMM_RAW_LINE_BYTES, (const void *)v)) {
		t->bad_page[page % BAD_PAGES] = page;
		t->failed++;
		return 0;
	}
	if (t->retry)
		t->bad_page[page % BAD_PAGES] = 0;
	out[n].addr = v;
	t->n_lines = n + 1;
	return 0;
}

static __always_inline void read_lines(struct task_struct *task, struct scratch *t,
				       struct comm_raw_sample *s, struct comm_raw_line *out)
{
	struct mm_struct *mm = task->mm;
	__u32 i;

	if (!mm)
		return;
	t->code = mm->start_code;
	t->code_end = mm->end_code;
	t->low_end = mm->brk;
	if (code_line)
		read_code(t, out, s->head.ip);
	for (i = 0; i < 16; i++)
		if (line_regs & (1U << i))
			read_line(s->reg[i]);
	/*
	 * An object that a pointer points to seldom ends with the pointer's line: the
	 * next line too.
	 */
	for (i = 0; i < 16; i++)
		if (line_regs & (1U << i))
			read_line(s->reg[i] + COMM_RAW_LINE_BYTES);
}

static __always_inline void read_stack(struct comm_raw_sample *s, __u64 stack)
{
	__u64 edge;

	s->stack_addr = stack;
	if (!bpf_probe_read_user(s->data, stack_bytes, (const void *)stack))
		return;
	/*
	 * The stack window crosses into a page that is not there: copy only the stack
	 * pointer's own page.
	 */
	edge = (stack + stack_below_bytes) & ~(PAGE - 1ULL);
	if (edge <= stack)
		edge += PAGE;
	s->stack_addr = 0;
	if (edge - stack < stack_bytes && edge > stack + stack_below_bytes) {
		__u32 len = (edge - stack) & (COMM_RAW_STACK_MAX - 1);

		if (!bpf_probe_read_user(s->data, len, (const void *)stack)) {
			s->stack_addr = stack;
			s->stack_bytes = len;
		}
	}
}

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

/* Completes and submits the sample in t, which has the registers already. */
static __always_inline void user_sample(struct scratch *t, struct task_struct *task,
					struct comm_raw_cpu *c, const struct comm_raw_head *head,
					__u64 cs)
{
	struct comm_raw_sample *s = (struct comm_raw_sample *)t->bytes;
	__u64 stack, ip = s->head.ip;
	__u32 n, len;

	t->bloom = 0;
	t->n_lines = t->failed = 0;
	t->retry = c->samples % FORGET_BAD == 0;
	s->head = *head;
	s->head.kind = COMM_RAW_SAMPLE;
	s->head.ip = ip;
	s->reg[16] = task->thread.fsbase;
	s->reg[17] = task->thread.gsbase;
	s->mode_bits = cs == USER32_CS ? 32 : 64;
	s->stack_bytes = stack_bytes;
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
		tell_process(head->tgid);
	} else {
		c->sample_drops++;
	}
	c->lines += n;
	c->failed_reads += t->failed;
}

static __always_inline __u64 own_time(__u64 start_ns)
{
	__u64 took_ns = bpf_ktime_get_ns() - start_ns;

	return took_ns < SELF_MOST_NS ? took_ns : SELF_MOST_NS;
}

/*
 * Looks at the marks that all threads of the process have together: writes a record of its frame, if it
 * is in a later one, and returns whether it said COMM_STOP().  What cannot be read says nothing.  What a
 * full ring has no room for is told at the next sample.
 */
static __noinline bool is_stopped(const struct comm_raw_head *head)
{
	struct comm_raw_frame f = {};
	struct comm_raw_process now = {};
	struct comm_raw_marks *place;
	__u32 tgid = head->tgid;

	place = bpf_map_lookup_elem(&marks, &tgid);
	if (!place || !place->process ||
	    bpf_probe_read_user(&now, sizeof(now), (const void *)place->process))
		return false;
	if (now.frame > place->frame && !now.stopped) {
		f.head = *head;
		f.head.kind = COMM_RAW_FRAME;
		f.number = now.frame;
		if (write_sample(head->cpu, &f, sizeof(f)))
			place->frame = now.frame;
	}
	return now.stopped;
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
	return task;
}

/* Pages that one thread was the first to write, one after the other, and are not told yet. */
struct sweep {
	struct comm_raw_head head;
	__u64 page, end; /* [page, end) */
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
	k.head.time_ns = now;
	k.range[0].addr = sweep->page << PAGE_SHIFT_BITS;
	k.range[0].len_bytes = (sweep->end - sweep->page) << PAGE_SHIFT_BITS;
	sweep->page = sweep->end;
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

static __always_inline void end_sample(struct comm_raw_cpu *c, const struct comm_raw_head *head)
{
	tell_old_sweeps(c, head->time_ns);
	if (c->hits % SELF_TIMED == 0)
		c->handler_ns += SELF_TIMED * own_time(head->time_ns);
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
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
		kernel_sample(task, c, &head, ctx->regs.sp);
	}
	end_sample(c, &head);
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
	__u32 cpu;

	if ((__u64)timer->function != tick_function)
		return 0;
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
	if (!ctl.tick_every || ++c->ticks % ctl.tick_every)
		return 0;
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
		kernel_sample(task, c, &head, BPF_CORE_READ(interrupted, sp));
	}
	end_sample(c, &head);
	return 0;
}

/*
 * The first write of a page faults, so each fault names the writer of what may never be
 * written again.  A sweep over pages is one record, told when it ends; its time is that of the
 * telling, for the merge wants order.  Several sweeps at once: loops fill several arrays.
 */
static __always_inline void touched(__u64 address, __u64 error_code, __u64 ip)
{
	__u64 id = bpf_get_current_pid_tgid(), now, page = address >> PAGE_SHIFT_BITS;
	__u32 zero = 0, cpu = bpf_get_smp_processor_id(), i;
	struct comm_raw_cpu *c = this_cpu(cpu);
	struct touches *t;
	struct sweep *sweep;
	bool known = false;

	if (!(error_code & PF_WRITE_BIT) || address >= USER_END || !c)
		return;
	if (!is_target(bpf_get_current_task_btf(), id >> 32))
		return;
	t = bpf_map_lookup_elem(&touches, &zero);
	if (!t)
		return;
	now = bpf_ktime_get_ns();
	c->faults++;
	t->busy = true;
	for (i = 0; i < TOUCH_SWEEPS; i++) {
		sweep = &t->sweep[i];
		if (now - sweep->head.time_ns > TOUCH_WAIT_NS) {
			tell_sweep(c, t, sweep, now);
		} else if (!known && sweep->end == page && sweep->head.tid == (__u32)id &&
			   sweep->end - sweep->page < TOUCH_PAGES) {
			sweep->head.time_ns = now;
			sweep->end++;
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
	}
	t->busy = false;
	if (c->faults % SELF_TIMED == 0)
		c->touch_ns += SELF_TIMED * own_time(now);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(touched_by_user, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	touched(address, error_code, regs->ip);
	return 0;
}

/* The kernel, while it writes what a system call returns. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(touched_by_kernel, unsigned long address, struct pt_regs *regs,
	     unsigned long error_code)
{
	touched(address, error_code, 0);
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
	__u64 now;
	__u32 cpu, i;

	if (!from && !to)
		return 0;
	cpu = bpf_get_smp_processor_id();
	c = this_cpu(cpu);
	if (!c)
		return 0;
	c->switches++;
	now = bpf_ktime_get_ns();
	c->seen_ns = now;
	if (n_events)
		count_events(from ? prev : NULL, cpu, to);
	i = ring_of(cpu);
	ring = bpf_map_lookup_elem(&switches, &i);
	s = ring ? bpf_ringbuf_reserve(ring, sizeof(*s), 0) : NULL;
	if (!s) {
		c->sched_drops++;
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
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	/* After its exit nothing would take it out of the map again. */
	if (to && !(next->flags & PF_EXITING_BIT))
		tell_thread(next->pid);
	c->switches_out++;
	if (c->switches_out % SELF_TIMED == 0)
		c->sched_ns += SELF_TIMED * own_time(now);
	return 0;
}

/* NULL: dropped, and counted.  The caller fills in the rest and submits. */
static __always_inline struct comm_raw_life *life_event(struct comm_raw_cpu *c, __u32 kind,
							struct task_struct *task)
{
	struct comm_raw_life *l = bpf_ringbuf_reserve(&life, sizeof(*l), 0);

	if (!l) {
		__sync_fetch_and_add(&c->life_drops, 1);
		return NULL;
	}
	__sync_fetch_and_add(&c->life_events, 1);
	__builtin_memset(l, 0, sizeof(*l));
	l->time_ns = bpf_ktime_get_ns();
	l->tid = task->pid;
	l->tgid = task->tgid;
	l->kind = kind;
	l->cpu = bpf_get_smp_processor_id();
	return l;
}

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

/* Begins a program of the life cycle: returns the CPU's counters; *start_ns: when, or 0. */
static __always_inline struct comm_raw_cpu *begin_life(__u64 *start_ns)
{
	struct comm_raw_cpu *c = this_cpu(bpf_get_smp_processor_id());

	*start_ns = 0;
	if (!c)
		return NULL;
	__sync_fetch_and_add(&c->life_calls, 1);
	if (c->life_calls % SELF_TIMED == 0)
		*start_ns = bpf_ktime_get_ns();
	return c;
}

static __always_inline void end_life(struct comm_raw_cpu *c, __u64 start_ns)
{
	if (start_ns)
		__sync_fetch_and_add(&c->life_ns, SELF_TIMED * own_time(start_ns));
}

static __always_inline void on_fork(struct comm_raw_cpu *c, struct task_struct *parent,
				    struct task_struct *child)
{
	__u32 tgid = parent->tgid, child_tgid = child->tgid, child_tid = child->pid;
	bool telling = tell_stranger(c);
	struct comm_raw_life *l;
	__u8 target = telling ? COMM_RAW_TARGET_KNOWN : 0;

	if (child_tgid != tgid && follow && !cgroup_id && !all_tasks) {
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
	bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	tell_thread(child_tid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(parent, parent->tgid))
		return 0;
	c = begin_life(&start_ns);
	if (!c)
		return 0;
	on_fork(c, parent, child);
	end_life(c, start_ns);
	return 0;
}

static __always_inline void on_exec(struct comm_raw_cpu *c, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct told *known = bpf_map_lookup_elem(&told, &tgid);
	struct comm_raw_life *l;

	if (ctl.has_marks)
		bpf_map_delete_elem(&marks, &tgid);
	if (!(known && known->process) && !tell_stranger(c))
		return;
	l = life_event(c, COMM_RAW_EXEC, task);
	if (!l)
		return;
	bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	tell_thread(tgid);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task)
{
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(task, task->tgid))
		return 0;
	c = begin_life(&start_ns);
	if (!c)
		return 0;
	on_exec(c, task);
	end_life(c, start_ns);
	return 0;
}

static __always_inline void on_exit(struct comm_raw_cpu *c, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	struct comm_raw_life *l;

	if (!bpf_map_delete_elem(&told, &tid) || ctl.tell_all) {
		l = life_event(c, COMM_RAW_EXIT, task);
		if (l)
			bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	}
	if (task->signal->live.counter)
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
	c = begin_life(&start_ns);
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
	bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
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
	c = begin_life(&start_ns);
	if (!c)
		return 0;
	on_free(c, task, tgid, *target);
	end_life(c, start_ns);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *task)
{
	struct comm_raw_life *l = NULL;
	struct comm_raw_cpu *c;
	struct told *known;
	__u32 tid = task->pid;
	__u64 start_ns;

	if (!is_target(task, task->tgid))
		return 0;
	c = begin_life(&start_ns);
	if (!c)
		return 0;
	known = bpf_map_lookup_elem(&told, &tid);
	if (ctl.tell_all || (known && known->thread))
		l = life_event(c, COMM_RAW_RENAME, task);
	if (l)
		bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	end_life(c, start_ns);
	return 0;
}

/*
 * The daemon reads all mappings anew after it has read such a record: one of each process is
 * enough until it reads the ring again.
 */
static __always_inline bool tell_mmap(__u32 tgid)
{
	struct told *known = bpf_map_lookup_elem(&told, &tgid);

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
	__u64 vm_flags = vma->vm_flags;
	struct comm_raw_life *l;
	struct comm_raw_cpu *c;
	__u64 start_ns;

	if (!is_target(task, task->tgid) || (!vma->vm_file && !(vm_flags & VM_EXEC_BIT)))
		return 0;
	c = begin_life(&start_ns);
	if (!c)
		return 0;
	l = tell_mmap(task->tgid) ? life_event(c, COMM_RAW_MMAP, task) : NULL;
	if (l) {
		l->start = vma->vm_start;
		l->end = vma->vm_end;
		l->offset = (__u64)vma->vm_pgoff << PAGE_SHIFT_BITS;
		l->executable = !!(vm_flags & VM_EXEC_BIT);
		bpf_ringbuf_submit(l, BPF_RB_NO_WAKEUP);
	}
	end_life(c, start_ns);
	return 0;
}
