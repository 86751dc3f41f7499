/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The binary interface of commprof.ko: /dev/commprof (mode 0600).
 *
 * SESSIONS.  One open file is one session; nothing is shared between sessions.
 * Opening wants CAP_PERFMON and a kernel that is not locked down against perf.
 * A session goes through these calls, in this order:
 *
 *	open, CP_IOC_INFO, CP_IOC_RINGS (once), mmap,
 *	CP_IOC_TARGET / CP_IOC_SOURCE / CP_IOC_BUDGET / CP_IOC_WATCH in any order,
 *	CP_IOC_START, ... CP_IOC_STOP, ... CP_IOC_START ..., close.
 *
 * CP_IOC_TARGET, CP_IOC_MARKS, CP_IOC_RATE, CP_IOC_POINTEES, CP_IOC_INFO and CP_IOC_STATS
 * work at any time; the others give -EBUSY while the session runs.  The session ends when
 * the last descriptor and the last mapping are gone, however the process ended.
 *
 * STRUCTURES grow at their end only.  Each begins with its own size in bytes, set by
 * the caller and equal to the size in the ioctl's number, as a program that is compiled
 * with this header has both (-EINVAL otherwise).  A larger one than the module knows is
 * taken if what it does not know is zero (-E2BIG otherwise), a smaller one than version
 * 1 had is -EINVAL, and what a smaller one lacks counts as zero and is not written.
 * A number whose type, direction or call is another is -ENOTTY.  An unknown flag or a
 * non-zero reserved field is -EINVAL.  Fields marked "out" are written on success only.
 *
 * RINGS.  There is one ring per possible CPU and context (a record made in an
 * NMI must not share a ring with the interrupt handler below it):
 * ring = cpu * CP_CONTEXTS + context.  Two mappings each, by offset:
 *
 *	CP_OFF_CONTROL(ring)  one page, struct cp_ring_control, read and write
 *	CP_OFF_DATA(ring)     ring_bytes, read only
 *
 * The module is the only producer, the mapper the only consumer.  The consumer
 * loads head with acquire semantics, reads the records in [tail, head), each at
 * (position & (ring_bytes - 1)), then stores tail with release semantics.
 * Positions only grow.  A record never wraps: CP_REC_PAD fills the end.  The
 * module keeps its own head and reads nothing but tail from the page; a tail
 * that is not in [head - ring_bytes, head] drops records until it is.
 *
 * A record that does not fit is dropped (the newest one), and counted in lost[]
 * by cause.  poll() reports readable when a ring holds watermark_bytes.
 *
 * TIME is CLOCK_MONOTONIC, taken when the handler begins.  Records of one ring
 * ascend in time, except that a CP_REC_WATCH may be some microseconds older
 * than its neighbours.  A reader that takes the clock, then the heads, has seen
 * everything older than the clock less the longest handler (stats.max_ns).
 *
 * TARGETS may be changed at any time; a handler that already runs may still go by the
 * targets before the change.  Processes that have ended are forgotten by themselves.
 * One more than CP_MAX_TARGETS is -ENOSPC and is not sampled.
 *
 * RIGHTS are those of the process that opened.  Another one, to which the descriptor was passed,
 * may read, start and stop; CP_IOC_TARGET and CP_IOC_MARKS, which name processes, want
 * CAP_PERFMON of it (-EPERM).
 *
 * MARKS.  A program may keep, at one distance from each thread's pointer (FS base), the names
 * of the regions that the thread is in, and for the process one word that wants no samples and
 * the number of a frame (<comm/mark.h>).  Of a process whose places CP_IOC_MARKS told, a sample
 * has one CP_REC_MARK before its first record, of the same time, if the thread is in a region or
 * the frame is a later one than was told; and it has no record at all while the word is not 0.  The
 * places are of the image that runs at the call: exec and exit forget them.
 *
 * MEMORY of a session, its rings above all, is charged to the memory cgroup of the
 * caller, and without CAP_IPC_LOCK counted against RLIMIT_MEMLOCK of its user:
 * -ENOMEM and -ENOBUFS.
 *
 * IDENTITIES are those of the initial PID namespace, as in BPF.
 *
 * USER ONLY.  Kernel addresses appear only from a source with
 * CP_SOURCE_KERNEL, which wants CAP_PERFMON of the caller.
 */
#ifndef _UAPI_COMMPROF_H
#define _UAPI_COMMPROF_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CP_ABI_VERSION 1
#define CP_DEVICE "/dev/commprof"

#define CP_OFF_CONTROL(ring) ((__u64)(ring) << 32)
#define CP_OFF_DATA(ring) ((__u64)(ring) << 32 | 1U << 31)

enum cp_context {
	CP_CONTEXT_IRQ, /* interrupts off: timers, irq_work, debug traps */
	CP_CONTEXT_NMI,
	CP_CONTEXTS
};

enum cp_limits {
	CP_LOST_CAUSES = 16,
	CP_COST_BUCKETS = 64,
	CP_COMM_BYTES = 16,
	CP_REGS = 18, /* rax rcx rdx rbx rsp rbp rsi rdi r8..r15 fs_base gs_base */
	CP_MAX_CHUNKS = 24,
	CP_MAX_DATA_BYTES = 4096,
	CP_MAX_STACK_BYTES = 2048,
	CP_MAX_CHUNK_BYTES = 512,
	CP_VECTOR_BYTES = 256, /* xmm0..xmm15 */
	CP_MAX_ACCESSES = 16,  /* of one soft sample */
	CP_MARK_DEPTH = 8,     /* regions in each other that are told apart */
	CP_MAX_SOURCES = 4,
	CP_MAX_TARGETS = 1024,
	CP_MAX_MARKED = 1024,	 /* processes with marks */
	CP_MAX_SLOTS = 4,	 /* with CP_WATCH_WINDOW half as many */
	CP_WINDOW_ACCESSES = 16, /* of one window; then it ends early */
	CP_MIN_RING_BYTES = 16 << 10,
	CP_MAX_RING_BYTES = 16 << 20,
	CP_MAX_CAP_PPM = 500000,
	CP_DEFAULT_CAP_PPM = 50000,	    /* of a session */
	CP_DEFAULT_MODULE_CAP_PPM = 100000, /* of all that the module does on a CPU */
};

/* Why something that could have become a record did not. */
enum cp_lost {
	CP_LOST_RING_FULL,   /* the consumer was too slow */
	CP_LOST_BAD_TAIL,    /* the consumer's position makes no sense */
	CP_LOST_NESTED,	     /* the handler interrupted itself in this context */
	CP_LOST_BUDGET,	     /* the session's cap on handler time was reached, or the module's */
	CP_LOST_NO_TEXT,     /* instruction bytes not readable */
	CP_LOST_UNDECODED,   /* instruction not known: exact or nothing */
	CP_LOST_MODE32,	     /* 32-bit code: captured, not decoded */
	CP_LOST_NO_ADDRESS,  /* a precise sample without a data address */
	CP_LOST_WATCH_BUSY,  /* no watchpoint was free */
	CP_LOST_WATCH_RATE,  /* more watches than per_second */
	CP_LOST_WATCH_STORM, /* too many hits that were not the target's */
	CP_LOST_IMPRECISE,   /* a precise sample whose instruction or direction is not known */
	CP_LOST_THROTTLED,   /* times that the kernel stopped the event until the next tick */
	CP_LOST_STOPPED,     /* the process wants no samples for now */
};

enum cp_record_type {
	CP_REC_PAD = 1,
	CP_REC_SAMPLE, /* struct cp_sample */
	CP_REC_ACCESS, /* struct cp_access */
	CP_REC_WATCH,  /* struct cp_evidence */
	CP_REC_COPY,   /* struct cp_access: a range that the kernel writes for the task */
	CP_REC_PAIR,   /* struct cp_evidence, in a window: of CP_WATCH_WINDOW only */
	CP_REC_WINDOW, /* struct cp_window: of CP_WATCH_WINDOW only */
	CP_REC_MARK,   /* struct cp_mark: of CP_IOC_MARKS only */
};

enum cp_access_flags {
	CP_ACCESS_READ = 1 << 0,
	CP_ACCESS_WRITE = 1 << 1,  /* with READ: both, or not known which */
	CP_ACCESS_ATOMIC = 1 << 2, /* lock prefix or xchg */
	CP_ACCESS_IMPLICIT = 1 << 3,
	CP_ACCESS_REP = 1 << 4,
	CP_ACCESS_KERNEL = 1 << 5,
	CP_ACCESS_IP_AFTER = 1 << 6, /* ip is that of the next instruction */
	CP_ACCESS_EITHER = 1 << 7,   /* READ and WRITE: one of them, not known which */
	CP_ACCESS_BURST = 1 << 8,    /* the ring's next record is what it goes on with */
};

/* Every record begins so.  size_bytes is a multiple of 8. */
struct cp_record {
	__u32 size_bytes;
	__u16 type;   /* enum cp_record_type */
	__u16 source; /* from CP_IOC_SOURCE */
	__u64 time_ns;
	__u32 tgid;
	__u32 tid;
	__u16 cpu;
	__u8 context;
	__u8 mode_bits; /* 64 or 32: the interrupted code */
	__u32 reserved;
	__u64 period; /* what it stands for: the interval that it ends, in the source's unit */
	char comm[CP_COMM_BYTES];
};

/* One access with its exact address. */
struct cp_access {
	struct cp_record head;
	__u64 ip;
	__u64 addr;
	__u64 size_bytes;     /* 0: not known */
	__u16 flags;	      /* enum cp_access_flags */
	__u16 latency_cycles; /* 0: not measured */
	__u16 insn;	      /* soft: instructions after the sampled one */
	__u16 reserved;
	__u64 data_src; /* union perf_mem_data_src; 0: not measured */
};

/* Memory as it was at the sample; len_bytes (padded to 8) follow. */
struct cp_chunk {
	__u64 addr;
	__u32 len_bytes;
	__u32 reserved;
};

/* In which regions the thread of the next record is, by the addresses of their names. */
struct cp_mark {
	struct cp_record head;
	__u64 frame; /* 0: that which was told last, or none */
	__u64 depth; /* may exceed CP_MARK_DEPTH; 1 and the name 0: it cannot be read */
	__u64 name[CP_MARK_DEPTH]; /* outermost first; what is past depth means nothing */
};

#define CP_NO_FLAGS 0x80000000U

/*
 * The interrupted thread: its registers before the instruction at ip runs.  If
 * vector_bytes is not 0, so many bytes of xmm0.. follow; then n_chunks times
 * struct cp_chunk and its bytes.
 */
struct cp_sample {
	struct cp_record head;
	__u64 ip;
	__u64 flags; /* RFLAGS */
	__u64 reg[CP_REGS];
	__u32 known; /* bit i: reg[i] holds a value; CP_NO_FLAGS: flags holds none */
	__u16 n_chunks;
	__u16 vector_bytes;
	__u32 data_bytes; /* of all chunks, padding not counted */
	__u32 misses;	  /* pointers whose memory was not there or not ours to read */
};

/*
 * Two consecutive accesses to one datum; head and second are the later one, of a target
 * of the session, on the same mm as the first or on the same page of shared memory at
 * the same address.  Where the next access was somebody else's, or the kernel's without
 * CP_WATCH_KERNEL, there is no record.  A process that is no target is seen only where
 * it shares the mm.
 */
struct cp_evidence {
	struct cp_record head;
	struct {
		__u64 ip;
		__u64 addr;
		__u64 size_bytes;
		__u16 flags;
		__u16 latency_cycles;
		__u32 reserved;
		__u64 data_src;
	} first, second;
	__u64 first_ns;
	__u64 armed_ns; /* when the watch stood on the first CPU */
	__u32 first_tgid;
	__u32 first_tid;
	char first_comm[CP_COMM_BYTES];
};

/*
 * WINDOWS.  With CP_WATCH_WINDOW a sampled read has its datum watched for a write.  The
 * first one gives a CP_REC_WATCH, as with LOAD_THEN_WRITE, and opens the window: from
 * opened_ns on, when every CPU stands, each access for window_us gives a CP_REC_PAIR,
 * whose first is the last write before it and whose second has either CP_ACCESS_READ
 * or CP_ACCESS_WRITE; an instruction that does both is a write, for x86 does not tell
 * them apart.  A read's first is thus its producer, a write's first what it overwrites.
 * first_tid is 0 where CPUs trapped at once and which write came before was not seen.
 * armed_ns is opened_ns.
 *
 * The end of each such watch is one CP_REC_WINDOW.  "None" is an answer: reads is 0
 * then.  Which accesses a window that ends by TIME holds does not depend on who made
 * them; one that ends FULL holds those right after a write.  Windows that are open when
 * the session stops have no such record.
 */
enum cp_window_end {
	CP_WINDOW_END_TIME,	 /* window_us are over */
	CP_WINDOW_END_FULL,	 /* CP_WINDOW_ACCESSES came before */
	CP_WINDOW_END_UNWRITTEN, /* nobody wrote from armed_ns to closed_ns */
	CP_WINDOW_END_STRANGER,	 /* not a target's access, or the kernel's */
	CP_WINDOW_END_BUDGET,	 /* the cap on handler time was reached */
	CP_WINDOW_END_STORM,	 /* too many hits of others at that address */
};

/* head: tgid, tid, comm and period are those of the sampled read. */
struct cp_window {
	struct cp_record head;
	__u64 addr; /* the sampled read's */
	__u64 size_bytes;
	__u64 first_ns; /* when it was sampled */
	__u64 armed_ns;
	__u64 written_ns; /* 0: there was no write */
	__u64 opened_ns;  /* 0: it ended before */
	__u64 closed_ns;
	__u32 reads; /* between the two, as many CP_REC_PAIR as both */
	__u32 writes;
	__u32 missed; /* accesses that came while another CPU's was taken */
	__u32 end;    /* enum cp_window_end */
};

struct cp_ring_control {
	__u32 abi;
	__u32 size_bytes;
	__u64 head; /* written by the module */
	__u64 reserved0[6];
	__u64 tail; /* written by the consumer */
	__u64 reserved1[7];
	__u64 lost[CP_LOST_CAUSES]; /* written by the module */
};

struct cp_info {
	__u32 size;
	__u32 abi;	     /* out */
	__u32 cpus;	     /* out: rings / CP_CONTEXTS */
	__u32 page_bytes;    /* out */
	__u32 slots;	     /* out: most watchpoints this module takes */
	__u32 soft_pmu_type; /* out: perf type of commprof/mem/, 0: none */
};

struct cp_rings {
	__u32 size;
	__u32 flags;	       /* 0 */
	__u32 ring_bytes;      /* a power of two */
	__u32 watermark_bytes; /* 0: half */
};

enum cp_target_kind {
	CP_TARGET_TGID,	  /* id: a process, in the caller's namespace */
	CP_TARGET_CGROUP, /* id: descriptor of a cgroup v2 folder; with descendants */
	CP_TARGET_ALL,	  /* every user task */
};

enum cp_target_flags {
	CP_TARGET_REMOVE = 1 << 0,
	/*
	 * TGID: its descendants too, at once, up to 8 generations away and as long
	 * as those between live; name a child that shall outlive its parent.
	 */
	CP_TARGET_CHILDREN = 1 << 1,
};

struct cp_target {
	__u32 size;
	__u32 kind;
	__u32 flags;
	__s32 id;
};

enum cp_marks_flags {
	CP_MARKS_REMOVE = 1 << 0, /* stack and process are 0 */
};

/* -ESRCH: no such process; -ENOENT: none to remove; -ENOSPC: CP_MAX_MARKED have marks. */
struct cp_marks {
	__u32 size;
	__u32 flags;
	__s32 tgid; /* in the caller's namespace */
	__u32 reserved;
	__s64 stack;   /* of any thread: depth and names as in struct cp_mark, less its pointer */
	__u64 process; /* address of: __u32 stopped, __u32, __u64 frame; 0: there is none */
};

enum cp_source_kind {
	CP_SOURCE_SOFT, /* registers at a timer or counter interrupt */
	CP_SOURCE_PEBS, /* precise_ip events with a data address */
	CP_SOURCE_IBS,	/* AMD's ibs_op */
	CP_SOURCE_KINDS
};

enum cp_source_flags {
	CP_SOURCE_KERNEL = 1 << 0,   /* kernel code and addresses too; not soft */
	CP_SOURCE_ACCESSES = 1 << 1, /* soft: decode, CP_REC_ACCESS each */
	/*
	 * soft: CP_REC_SAMPLE.  pebs: one behind the CP_REC_ACCESS, of the same time,
	 * with the registers that the next instruction runs with; none where it is not
	 * known which instruction that is.
	 */
	CP_SOURCE_BURST = 1 << 2,
	CP_SOURCE_VECTOR = 1 << 3, /* with BURST: xmm registers too */
	CP_SOURCE_SWFILT = 1 << 4, /* ibs: the kernel filters by privilege */
	CP_SOURCE_JITTER = 1 << 5, /* vary the period by up to 1/8 */
	/*
	 * soft: a sample that meets a task inside read(), recv() and their kin gives
	 * a CP_REC_COPY for each buffer of the call, the first four; ip is the user's.
	 * Not of calls by 32-bit code.
	 */
	CP_SOURCE_COPIES = 1 << 6,
	/*
	 * pebs: the event counts nothing but loads, or nothing but stores.  An
	 * instruction that does both is then sampled by two events, and each sample
	 * stands for its own half.
	 */
	CP_SOURCE_LOADS = 1 << 7,
	CP_SOURCE_STORES = 1 << 8,
};

/*
 * type, config* are those of perf_event_attr, from sysfs or libpfm4: the module
 * guesses nothing, it opens the event and reports the error.  Hardware PMUs, and of
 * PERF_TYPE_SOFTWARE the two clocks; tracepoints, breakpoints and other software,
 * also that with a type in sysfs, are -EINVAL.  The latency threshold of loads
 * travels in config1 where the PMU has it there.
 */
struct cp_source {
	__u32 size;
	__u32 kind;
	__u32 flags;
	__u32 type;
	__u64 config;
	__u64 config1;
	__u64 config2;
	__u64 period;	   /* with a budget: where to start */
	__u64 min_period;  /* 0: period; the budget does not go below */
	__u32 stack_bytes; /* BURST: from 128 below the stack pointer on */
	__u32 chunk_bytes; /* BURST: per pointer, a multiple of 64; 0: none */
	/*
	 * BURST: 1 what registers point to, 2 and what that does .. 4; beyond 1 only
	 * from registers that the code ahead uses.
	 */
	__u32 depth;
	__u32 max_accesses; /* ACCESSES: most of one sample; 0: one */
	__u32 id;	    /* out: cp_record.source */
	__u32 precise;	    /* out: precise_ip that was granted */
	__u32 has_data_src; /* out: data_src will be filled */
	__u32 reserved;
};

#define CP_RATE_EVERY_CPU 0xffffffffU

/*
 * Another period for a source, from now on: the interval that runs is begun
 * anew.  -ENOENT: no such source; -EINVAL: a CPU that is not possible, or a
 * period that CP_IOC_SOURCE would refuse or that is below min_period.
 */
struct cp_rate {
	__u32 size;
	__u32 id;  /* from CP_IOC_SOURCE */
	__u32 cpu; /* or CP_RATE_EVERY_CPU */
	__u32 reserved;
	__u64 period;
};

/*
 * Whether BURST takes what registers point to, from the next sample on; it does
 * to begin with.  -ENOENT: no such source; -EINVAL: on is neither 0 nor 1, or the
 * source was asked for no chunk_bytes.
 */
struct cp_pointees {
	__u32 size;
	__u32 id; /* from CP_IOC_SOURCE */
	__u32 on;
	__u32 reserved;
};

struct cp_budget {
	__u32 size;
	__u32 flags;	  /* 0 */
	__u32 target_ppm; /* of each CPU's time; the period follows; 0: fixed period */
	__u32 cap_ppm;	  /* never more in a window; 0: CP_DEFAULT_CAP_PPM */
	/*
	 * Charged for each interrupt besides the time in the handler; at least what the
	 * module measured when it was loaded.
	 */
	__u32 entry_ns;
	__u32 window_ms; /* 0: 100 */
};

enum cp_watch_flags {
	CP_WATCH_LOAD_THEN_WRITE = 1 << 0,
	CP_WATCH_STORE_THEN_ACCESS = 1 << 1,
	CP_WATCH_KERNEL = 1 << 2, /* hits of kernel copies too; CAP_PERFMON */
	CP_WATCH_WINDOW = 1 << 3, /* with neither of the first two; wants window_us */
};

struct cp_watch {
	__u32 size;
	__u32 flags;	  /* 0: no watching */
	__u32 slots;	  /* wanted per CPU; with WINDOW each is two debug registers */
	__u32 per_second; /* watches armed, of the whole session */
	__u32 timeout_us; /* a watch without a hit may be taken after this */
	__u32 window_us;  /* of CP_WATCH_WINDOW; else 0 */
};

struct cp_stats {
	__u32 size;
	__u32 running;
	__u64 interrupts; /* handler entries */
	__u64 samples;	  /* that were a target's */
	__u64 records;	  /* put into the rings */
	__u64 handler_ns; /* measured, entry_ns not included */
	__u64 max_ns;	  /* longest handler */
	__u64 charged_ns; /* what the budget charged, entry_ns included */
	__u64 watch_armed;
	__u64 watch_hits;
	__u64 watch_expired;
	__u64 watch_foreign; /* traps that gave no record: not a target's, or too late */
	__u64 watch_missed;  /* not armed, since an isolated or vanished CPU cannot be told */
	__u64 arm_ns;	     /* sum over watches: sample to the last CPU told */
	__u64 arm_min_ns;    /* the shortest of them */
	__u64 period_scale;  /* of the budget, 1 << 16 is 1; the largest CPU's */
	__u32 watch_slots;   /* held on every CPU of this or the last run */
	__u32 cpus_online;   /* CPUs whose sources run */
	__u64 lost[CP_LOST_CAUSES];
	/* Handler time: 4 buckets an octave, bucket i from 2^(i/4) * (1 + (i%4)/4) * 16 ns. */
	__u64 cost[CP_COST_BUCKETS];
};

#define CP_IOC_MAGIC 0xc9
#define CP_IOC_INFO _IOWR(CP_IOC_MAGIC, 0, struct cp_info)
#define CP_IOC_RINGS _IOW(CP_IOC_MAGIC, 1, struct cp_rings)
#define CP_IOC_TARGET _IOW(CP_IOC_MAGIC, 2, struct cp_target)
#define CP_IOC_SOURCE _IOWR(CP_IOC_MAGIC, 3, struct cp_source)
#define CP_IOC_BUDGET _IOW(CP_IOC_MAGIC, 4, struct cp_budget)
#define CP_IOC_WATCH _IOW(CP_IOC_MAGIC, 5, struct cp_watch)
#define CP_IOC_START _IO(CP_IOC_MAGIC, 6)
#define CP_IOC_STOP _IO(CP_IOC_MAGIC, 7)
#define CP_IOC_STATS _IOWR(CP_IOC_MAGIC, 8, struct cp_stats)
#define CP_IOC_RATE _IOW(CP_IOC_MAGIC, 9, struct cp_rate)
#define CP_IOC_POINTEES _IOW(CP_IOC_MAGIC, 10, struct cp_pointees)
#define CP_IOC_MARKS _IOW(CP_IOC_MAGIC, 11, struct cp_marks)

#if defined(__KERNEL__) || __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct cp_record) == 56, "record header");
_Static_assert(sizeof(struct cp_access) == 96, "access");
_Static_assert(sizeof(struct cp_chunk) == 16, "chunk");
_Static_assert(sizeof(struct cp_sample) == 232, "sample");
_Static_assert(sizeof(struct cp_mark) == 136, "mark");
_Static_assert(sizeof(struct cp_evidence) == 176, "evidence");
_Static_assert(sizeof(struct cp_window) == 128, "window");
_Static_assert(sizeof(struct cp_ring_control) == 256, "ring control");
_Static_assert(sizeof(struct cp_info) == 24, "info");
_Static_assert(sizeof(struct cp_rings) == 16, "rings");
_Static_assert(sizeof(struct cp_target) == 16, "target");
_Static_assert(sizeof(struct cp_marks) == 32, "marks");
_Static_assert(sizeof(struct cp_source) == 88, "source");
_Static_assert(sizeof(struct cp_rate) == 24, "rate");
_Static_assert(sizeof(struct cp_pointees) == 16, "pointees");
_Static_assert(sizeof(struct cp_budget) == 24, "budget");
_Static_assert(sizeof(struct cp_watch) == 24, "watch");
_Static_assert(sizeof(struct cp_stats) == 768, "stats");
#endif

#endif
