/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that the sampling programs write into their ring, and the counters and
 * controls that they share with the daemon.  Private to one build of the daemon: the
 * BPF object is embedded in it, so there is no version.  Includes nothing, for both
 * sides have their own names for fixed-width types.
 */
#ifndef COMM_SAMPLE_EVENT_H
#define COMM_SAMPLE_EVENT_H

enum {
	COMM_RAW_STACK_MAX = 2048, /* stack_bytes: a multiple of 64, at most this */
	COMM_RAW_LINES_MAX = 40,
	COMM_RAW_WANTED_MAX = 16,
	COMM_RAW_CODE_SHIFT = 12, /* code in such pieces */
	COMM_RAW_PIECE_SHIFT =
		4, /* and in smaller ones, of which each is of one function: they are aligned so */
	COMM_RAW_PIECES_MAX = 16384,
	COMM_RAW_LINE_BYTES = 64,
	COMM_RAW_RANGES_MAX = 4,
	COMM_RAW_MARKS_MAX = 8,
	COMM_RAW_NREGS = 18, /* enum comm_reg of libcomm/event.h */
};

enum comm_raw_kind {
	COMM_RAW_SAMPLE = 1,
	COMM_RAW_KCOPY,
	COMM_RAW_TOUCH,
	COMM_RAW_MARK,
	COMM_RAW_FRAME,
};

struct comm_raw_head {
	unsigned long long time_ns;
	unsigned long long period; /* mean period of this CPU's event and ticks together */
	unsigned int kind;
	unsigned int cpu;
	unsigned int tgid;
	unsigned int tid;
	unsigned long long ip; /* user mode */
};

struct comm_raw_line {
	unsigned long long addr;
	unsigned char data[COMM_RAW_LINE_BYTES];
};

/*
 * stack_bytes of stack follow the fixed part (always present; stack_addr is 0 when
 * the stack could not be read), then n_lines lines.
 */
struct comm_raw_sample {
	struct comm_raw_head head;
	unsigned long long reg[COMM_RAW_NREGS];
	unsigned long long flags;
	unsigned long long program; /* address of its code; 0: not known */
	unsigned long long stack_addr;
	unsigned short stack_bytes;
	unsigned short n_lines;
	unsigned char mode_bits;
	unsigned char zero[3];
	unsigned char data[];
};

struct comm_raw_range {
	unsigned long long addr;
	unsigned long long len_bytes;
};

/* Ranges that the kernel writes or reads for a thread, or that a thread was the first to write. */
struct comm_raw_kcopy {
	struct comm_raw_head head;
	unsigned int n_ranges;
	unsigned char filled; /* TOUCH: what wrote first wrote all; head.ip 0: the kernel */
	unsigned char reads;  /* KCOPY: the kernel reads them */
	unsigned char zero[2];
	/* KCOPY, if it reads: bytes that the thread has passed since the last such record; 0: not known. */
	unsigned long long passed_bytes;
	/* Likewise: all bytes of the system call, of which the range is a piece; 0: it is all that is copied. */
	unsigned long long call_bytes;
	struct comm_raw_range range[COMM_RAW_RANGES_MAX];
};

/* The regions of a thread (struct comm_mark_stack), before the sample that met it in them. */
struct comm_raw_mark {
	struct comm_raw_head head;
	unsigned long long depth; /* not 0; may exceed COMM_RAW_MARKS_MAX */
	unsigned long long name[COMM_RAW_MARKS_MAX];
};

/* The beginning of a struct comm_mark_process. */
struct comm_raw_process {
	unsigned int stopped, changes;
	unsigned long long frame;
};

/* The process is in another frame than at its last such record, from this sample on. */
struct comm_raw_frame {
	struct comm_raw_head head;
	unsigned long long number;
};

enum { COMM_RAW_PROBED_THREADS = 32768, COMM_RAW_PROBED_PROCESSES = 1024 };

/* The regions that probes have begun in a thread; value of the map of them, by tid. */
struct comm_raw_probed {
	unsigned long long born_ns; /* start_time of the thread: a later one may have its id */
	unsigned int depth;	    /* may exceed COMM_RAW_MARKS_MAX */
	unsigned int zero;
	unsigned char id[COMM_RAW_MARKS_MAX]; /* not 0: stands in place of a name's address */
};

/* The frames that a probe has begun in a process; value of the map of them, by tgid. */
struct comm_raw_probed_frames {
	unsigned long long number;
	unsigned long long told; /* the number that the daemon has had a record of */
};

/*
 * Places whose lines to copy with a sample, zeros behind them; value of the map of them, of which two are looked up: by
 * the address of the program's code, which processes have in common that were forked, and by comm_raw_code_key().  A
 * place is an address, or COMM_RAW_BY_REGISTER: offset bytes behind what a register points to, or with
 * COMM_RAW_BY_POINTER behind what the pointer points to that is there, pointer bytes behind the register.
 */
struct comm_raw_wanted {
	unsigned long long place[COMM_RAW_WANTED_MAX];
};

/* Of a program and an instruction: equal for code that is near. */
static inline unsigned long long comm_raw_code_key(unsigned long long program,
						   unsigned long long ip)
{
	return program ^ ((ip >> COMM_RAW_CODE_SHIFT) + 1) * 0x9e3779b97f4a7c15ULL;
}

/* The same of smaller pieces of code; key of the map of those where chosen functions read. */
static inline unsigned long long comm_raw_piece_key(unsigned long long program,
						    unsigned long long ip)
{
	return program ^ ((ip >> COMM_RAW_PIECE_SHIFT) + 1) * 0x9e3779b97f4a7c15ULL;
}

#define COMM_RAW_BY_REGISTER (1ULL << 63)
#define COMM_RAW_BY_POINTER (1ULL << 62)
#define COMM_RAW_PLACE(reg, pointer, offset) \
	(COMM_RAW_BY_REGISTER | (unsigned long long)(reg) << 32 | (pointer) << 16 | (offset))
#define COMM_RAW_PLACE_REGISTER(place) ((place) >> 32 & 15)
#define COMM_RAW_PLACE_POINTER(place) ((place) >> 16 & 0xffff)
#define COMM_RAW_PLACE_OFFSET(place) ((place)&0xffff)

/* Where the marks of a process are; value of the map of marks, by tgid. */
struct comm_raw_marks {
	long long stack; /* how far from a thread's pointer its struct comm_mark_stack is */
	unsigned long long process; /* of the struct comm_mark_process; 0: it has none */
	unsigned long long frame;   /* that was told; the daemon writes 0, and it is told again */
};

/*
 * One per possible CPU, in a map that the daemon has mapped.  The daemon writes
 * period only; everything else belongs to the programs on that CPU, and each
 * counter to one program, so none of them needs an atomic.
 */
struct comm_raw_cpu {
	unsigned long long period;
	unsigned long long seen_ns; /* a target ran here */
	/* The sampling programs. */
	unsigned long long interrupts; /* without those of an idle CPU */
	unsigned long long idle;
	unsigned long long ticks;
	unsigned long long hits; /* interrupts and ticks that met a target */
	unsigned long long tick_hits;
	unsigned long long samples;
	unsigned long long kcopies;
	unsigned long long handler_ns; /* the programs' time, scaled from one run in 16 */
	unsigned long long lines;
	unsigned long long failed_reads;
	unsigned long long sample_drops;
	/* sched_switch. */
	unsigned long long switches; /* of targets */
	unsigned long long switches_out;
	unsigned long long sched_drops;
	unsigned long long sched_ns; /* the programs' time, scaled from one run in 16 */
	/* Life cycle; tasks only, never nested on one CPU. */
	unsigned long long life_events;
	unsigned long long life_drops;
	unsigned long long life_ns;	  /* the programs' time, scaled from one run in 16 */
	unsigned long long life_left_out; /* strangers' events beyond ctl.strangers_per_s */
	unsigned long long targets_full;  /* children for which the map of targets had no room */
	unsigned long long ended_ns;	  /* CPU time of ended targets the daemon never heard of */
	/* Page faults; tasks only, but one may take the other's place within. */
	unsigned long long touch_ns; /* the programs' time, scaled from one run in 16 */
	unsigned long long touch_drops;
	unsigned long long
		stopped; /* hits in processes that want no samples now; sampling programs */
	unsigned long long count_drops;	  /* threads that ended uncounted */
	unsigned long long behind_faults; /* hits that are the kernel's time; sampling programs */
	unsigned long long string_ticks;  /* that met a string instruction; see ctl.watch_strings */
	unsigned long long name_ns;	  /* as life_ns, of renaming */
	unsigned long long reserved[2];
};

/* Of a thread or process; value of a map by tid.  Bytes, so that no CPU's store undoes another's. */
struct comm_raw_told {
	unsigned char thread;  /* the daemon has had a record of this thread */
	unsigned char process; /* the key is a tgid: and a sample of some thread of this process */
	unsigned char names;   /* RENAME records of the thread since name_drain, */
	unsigned char zero;
	unsigned int name_hash;	 /* of the name that was told last */
	unsigned int mmap_drain; /* ctl.drains at its last MMAP record, */
	unsigned int name_drain; /* which ctl.drains was at the first of them */
};

/* Of a thread that has ended and was not told of; value of a map by tid. */
struct comm_raw_ended {
	unsigned long long time_ns;
	unsigned int tgid, zero;
	char name[16];
};

enum { COMM_RAW_UNTOLD = 64 };

/* Written by the daemon at any time, what is untold by BPF. */
struct comm_raw_ctl {
	unsigned int only_tgid; /* the only target's tgid; 0: look into the map of targets */
	unsigned int lines_on;
	unsigned int tick_every; /* one in so many ticks is a sample; 0: none */
	unsigned int try_ticks;	 /* test: count the ticks in the daemon's user mode, sample none */
	unsigned int tell_all;	 /* life-cycle events of strangers, too, without bound */
	/*
	 * A stranger is a thread of which the daemon has had no record.  So many of their forks
	 * and execs are told in a second.
	 */
	unsigned int strangers_per_s;
	unsigned int strangers; /* told in the second that began at second_ns */
	unsigned long long second_ns;
	unsigned long long cgroup_id; /* of by_cgroup; that which has its path now */
	unsigned int has_marks;	      /* the map of marks is not empty */
	unsigned int drains;	      /* how often the daemon has begun to read the rings, from 1 */
	unsigned int probes_frames;   /* frames begin at a probe, not at a process's own marks */
	unsigned int watch_strings;   /* at ticks (rep_string.h) */
	unsigned int wake; /* the next record wakes the daemon and sets this to 0; else none does */
	/*
	 * Of which threads and processes it could not be noted that the daemon has had records:
	 * tell_all is set until it has noted them itself.  By id; 0: free.
	 */
	unsigned int untold[COMM_RAW_UNTOLD];
	unsigned int untold_more; /* and of others, which had no place there */
};

/* Value of the map of targets, by tgid. */
enum comm_raw_target {
	COMM_RAW_TARGET_KNOWN = 1, /* the daemon knows the process and waits for its ENDED record */
	COMM_RAW_TARGET_ENDED =
		2, /* its last thread has exited, and its CPU time is still to come */
};

_Static_assert(sizeof(struct comm_raw_head) == 40, "layout of both sides");
_Static_assert(sizeof(struct comm_raw_sample) == 40 + 18 * 8 + 32, "layout of both sides");
_Static_assert(sizeof(struct comm_raw_cpu) == 256, "four cache lines");

#endif
