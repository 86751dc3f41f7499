/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: one record per thing that happened.  Every source produces events and
 * the merge orders them; an event does not tell which source made it.
 *
 * Time is CLOCK_MONOTONIC in nanoseconds.  Addresses are the target's virtual
 * addresses.  An event is valid only during the call that hands it over; a
 * callee that keeps it copies it, and the comm_sample_bytes() of its sample.
 */
#ifndef COMM_EVENT_H
#define COMM_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count.h"

/* The events of a run. */
enum comm_event_kind {
	COMM_EV_SAMPLE = 1, /* registers and memory of an interrupted thread */
	COMM_EV_ACCESS,	    /* one precise access: PEBS, IBS, SPE, a tracer */
	COMM_EV_KCOPY,	    /* the thread is in a system call that writes its memory, or reads it */
	COMM_EV_SWITCH,	    /* a CPU goes from thread .tid to .next_tid */
	COMM_EV_FORK,	    /* .tid made .child_tgid/.child_tid */
	COMM_EV_EXEC,	    /* .tgid runs another program */
	COMM_EV_EXIT,	    /* thread .tid ends */
	COMM_EV_MMAP,	    /* .tgid mapped a file or executable memory */
	COMM_EV_RATE,	    /* from now on a sample stands for .period */
	COMM_EV_COST,	    /* what profiling cost since the last such event */
	COMM_EV_LOSS,	    /* .count records were lost for .cause */
	COMM_EV_RENAME,	    /* thread .tid has another name, or has it still */
	/* The thread was the first to write these pages, some time before; filled them, if COMM_ACCESS_REP. */
	COMM_EV_TOUCH,
	COMM_EV_MARK,	/* the regions that the thread is in at its events of the same time */
	COMM_EV_COUNT,	/* how much of a counter fell to the thread since its last such event */
	COMM_EV_OBJECT, /* .tgid has named memory, or does so no more */
	COMM_EV_FRAME,	/* .tgid was met in another frame than before (frame.h) */
	COMM_EV_PROBED, /* what regions between probes are called, before the first MARK */
	COMM_EV_CENSUS, /* a read of .tid was drawn: does it wait, and when does its word change */
	COMM_EV_FED, /* a read in a window on a live word, and the last write before it, by .tid */
};

/*
 * Every place that can lose data has a cause; each reaches the store.  Recordings
 * and stores hold the names.
 */
enum comm_loss {
	COMM_LOSS_RING,	       /* sample ring full in the kernel */
	COMM_LOSS_SCHED,       /* scheduling ring full, or the table of running threads */
	COMM_LOSS_LIFE,	       /* life-cycle ring full */
	COMM_LOSS_THROTTLE,    /* the kernel throttled the event */
	COMM_LOSS_LATE,	       /* too late for the merge, or no memory to hold it */
	COMM_LOSS_NO_TEXT,     /* the code at the sample could not be read */
	COMM_LOSS_UNDECODED,   /* the bytes are no instruction we know */
	COMM_LOSS_MODE32,      /* 32-bit code: counted, not decoded */
	COMM_LOSS_JIT,	       /* code changed after it was read, as generated code does */
	COMM_LOSS_UNMAPPED,    /* address in no known mapping */
	COMM_LOSS_THREADS,     /* thread table full: filed under "(other)" */
	COMM_LOSS_WINDOW,      /* estimator window full: accesses thinned */
	COMM_LOSS_CELLS,       /* no room for an edge: folded into "(other)" */
	COMM_LOSS_STORE,       /* slice not stored: see comm_store_missed() */
	COMM_LOSS_RECORD,      /* recording stopped: disk full or error */
	COMM_LOSS_BUDGET,      /* switches not reported, to stay in the budget */
	COMM_LOSS_NO_ADDRESS,  /* a precise sample without a data address */
	COMM_LOSS_WATCH,       /* windows given up, or that never began */
	COMM_LOSS_UNKNOWN,     /* a recording's records of unknown kinds */
	COMM_LOSS_IDS,	       /* site, region or object table full: filed under "(other)" */
	COMM_LOSS_MALFORMED,   /* records of a ring that are too short, or none at all */
	COMM_LOSS_IMPRECISE,   /* a precise sample of an unknown instruction or direction */
	COMM_LOSS_TARGETS,     /* processes that the kernel's list of targets had no room for */
	COMM_LOSS_UNFINISHED,  /* not looked at when the run's time was over */
	COMM_LOSS_FILES,       /* files of the target that could not be read for names */
	COMM_LOSS_TOUCH,       /* first writes of pages not told: too many at once */
	COMM_LOSS_STRANGERS,   /* forks and execs not reported, to stay in the budget */
	COMM_LOSS_PAUSED,      /* ms in which no samples were taken, to stay in the budget */
	COMM_LOSS_DISABLED,    /* ms in which the user wanted no samples: no time of the run */
	COMM_LOSS_COUNTS,      /* threads not counted, or counters: too many at once */
	COMM_LOSS_STOPPED,     /* samples that the program did not want (COMM_STOP()) */
	COMM_LOSS_CENSUS,      /* words that were read and not looked at again */
	COMM_LOSS_BLOCKS,      /* reads of a heap whose block was not known */
	COMM_LOSS_SHARED_RING, /* a ring of several kinds of records, it is not known of which */
	COMM_LOSS_LOOKS,       /* ms without windows by looks at switches, to stay in the budget */
	COMM_LOSS_ACCESSES,    /* not written to the file of accesses: disk full or error */
	COMM_LOSS_CPUS,	       /* events of CPUs that came back, and were not opened again */
	COMM_LOSS_NAMES,       /* stretches without new names of threads, to stay in the budget */
	COMM_LOSS_MAX
};

/* Stable identifier of a cause ("ring_full"), and what it means to a user. */
const char *comm_loss_name(enum comm_loss cause);
const char *comm_loss_help(enum comm_loss cause);
/* Left out on purpose, to stay in the budget: no sample is lost by it. */
bool comm_loss_is_spared(enum comm_loss cause);

/* General registers in the order of their x86 encoding. */
enum comm_reg {
	COMM_RAX,
	COMM_RCX,
	COMM_RDX,
	COMM_RBX,
	COMM_RSP,
	COMM_RBP,
	COMM_RSI,
	COMM_RDI,
	COMM_R8,
	COMM_R9,
	COMM_R10,
	COMM_R11,
	COMM_R12,
	COMM_R13,
	COMM_R14,
	COMM_R15,
	COMM_NGPR,
	COMM_FS_BASE = COMM_NGPR,
	COMM_GS_BASE,
	COMM_NREGS
};

enum comm_trigger {
	COMM_TRIGGER_TIME,	   /* .period is ns of CPU time */
	COMM_TRIGGER_INSTRUCTIONS, /* .period is user instructions */
	COMM_TRIGGER_ACCESSES,	   /* .period is accesses of the sampled kind */
};

enum {
	COMM_SAMPLE_CHUNKS = 48,       /* most pieces of memory in a sample */
	COMM_SAMPLE_DATA_BYTES = 4608, /* most bytes of memory in a sample */
};

/* Memory of the target as it was at the instant of the sample. */
struct comm_chunk {
	uint64_t addr;
	uint32_t len_bytes;
	uint32_t offset; /* into comm_sample.data */
};

/* Bits of comm_sample.known beside those of the registers. */
enum comm_sample_known {
	/* The registers are those after the instruction at ip, which has run. */
	COMM_SAMPLE_AFTER = 1 << 30,
	COMM_SAMPLE_NO_FLAGS = (int)(1u << 31), /* flags holds no value */
};

struct comm_sample {
	uint64_t reg[COMM_NREGS];
	uint64_t ip;
	uint64_t flags;	   /* RFLAGS */
	uint64_t period;   /* of this sample, in units of the trigger; 0: that of the last RATE */
	uint32_t known;	   /* bit i: reg[i] holds a value; enum comm_sample_known */
	uint8_t mode_bits; /* 64, or 32 for compatibility mode */
	uint8_t n_chunks;
	uint16_t data_bytes;
	struct comm_chunk chunk[COMM_SAMPLE_CHUNKS];
	uint8_t data[COMM_SAMPLE_DATA_BYTES]; /* the first data_bytes are set */
};

enum comm_access_flags {
	COMM_ACCESS_READ = 1 << 0,
	COMM_ACCESS_WRITE = 1 << 1,
	COMM_ACCESS_ATOMIC = 1 << 2,   /* lock prefix or xchg */
	COMM_ACCESS_IMPLICIT = 1 << 3, /* push, pop, call, ret */
	COMM_ACCESS_REP = 1 << 4,      /* one range for a whole rep; TOUCH: all of it was filled */
	COMM_ACCESS_KERNEL = 1 << 5,   /* done by the kernel for the thread */
	/*
	 * The thread's next event is a SAMPLE of the same time: what it does behind
	 * this access.  The two are one observation.
	 */
	COMM_ACCESS_BURST = 1 << 6,
	/* Set by the engine: in memory that no thread of the process can write, a file's or the kernel's. */
	COMM_ACCESS_CONSTANT = 1 << 7,
	COMM_ACCESS_OWN_STACK = 1 << 8, /* by the engine: in the accessing thread's own stack */
	/* By the engine: in what the thread that created this one wrote for it, and nobody later. */
	COMM_ACCESS_BY_CREATOR = 1 << 9,
	/* By the engine: in a file's private pages, in a variable of less than 2 MiB, or in no known mapping. */
	COMM_ACCESS_OF_FILE = 1 << 10,
	/* KCOPY: its period is the sample's, as an ACCESS's; else, if not 0, how many such copies were counted. */
	COMM_ACCESS_BY_TIME = 1 << 11,
};

/* One access whose address is known exactly. */
struct comm_precise {
	uint64_t addr;
	uint64_t ip;
	uint64_t size_bytes;
	uint16_t flags;		 /* enum comm_access_flags */
	uint16_t latency_cycles; /* 0: not measured */
	uint32_t period;	 /* of this sample; 0: that of the last RATE */
	union {
		uint64_t data_src;   /* perf_mem_data_src, 0: not measured */
		uint64_t call_bytes; /* KCOPY: all that its system call reads; 0: this alone */
	};
};

/* By what means a window told who wrote its word. */
enum comm_fed_how {
	COMM_FED_REGISTERS, /* debug registers trapped at each access */
	COMM_FED_SWITCHES,  /* the word was looked at whenever a thread left its CPU */
	COMM_FED_SOLE,	    /* no thread but its reader can have written the word: nobody looked */
};

enum { COMM_MARKS_MAX = 8 }; /* as COMM_MARK_DEPTH of <comm/mark.h> */

enum { COMM_NAMED_MAX = 64 }; /* as COMM_MARK_OBJECTS there */

/* Regions between probes; a name that a user gives, its NUL included. */
enum { COMM_PROBED_MAX = 16, COMM_PROBED_BYTES = 64 };

/* In place of a name: in what the thread was from there on is not known. */
#define COMM_MARK_NOT_KNOWN UINT64_MAX

/*
 * Marked regions, outermost first, by the addresses of their names in the target; one between
 * probes by its id, up to COMM_PROBED_MAX.
 */
struct comm_marks {
	uint32_t n; /* at most COMM_MARKS_MAX */
	uint64_t name[COMM_MARKS_MAX];
};

struct comm_event {
	uint64_t time_ns;
	uint16_t kind;
	uint16_t cpu;
	uint32_t tgid;
	uint32_t tid;
	union {
		uint32_t next_tid; /* SWITCH */
		uint32_t cause;	   /* LOSS */
		uint32_t trigger;  /* RATE */
	};
	union {
		const struct comm_sample *sample; /* SAMPLE */
		struct comm_precise access;	  /* ACCESS, KCOPY, TOUCH */
		/*
		 * A read that was drawn from a burst by its bytes.  stands_for is the bytes read that
		 * it stands for, by the chance with which it was drawn; with a trigger of time, in a
		 * nanosecond of one cycle.  The census looks at the read's word again and again: it
		 * had its first value until quiet_ns after the first look, and another one at
		 * changed_ns; changed_ns 0: no look found another one.
		 */
		struct {
			struct comm_precise read;
			double stands_for;
			uint64_t quiet_ns, changed_ns;
			bool waits; /* its burst reads the same words over and over: nobody looked */
		} census;	    /* CENSUS: the head is of the reader */
		/*
		 * A pair of a window: a thread's reads, and the last write before them.  Pairs of one
		 * window come together, have its number, and share the bytes that it stands for.
		 */
		struct {
			struct comm_precise read, write; /* write.ip 0: the code is not known */
			uint64_t read_ns, write_ns;
			uint32_t read_tgid, read_tid;
			uint32_t window;
			uint32_t how;	   /* enum comm_fed_how */
			double stands_for; /* as of the census: this pair's part */
		} fed; /* FED: the head is of the writer; write.flags 0: nobody was seen to write */
		struct {
			uint32_t child_tgid, child_tid;
		} fork;
		struct {
			uint64_t start, end, offset;
			uint32_t executable;
		} mmap;
		struct {
			uint32_t prev_tgid, next_tgid; /* 0: the thread is no target's */
		} sched;			       /* SWITCH */
		struct comm_marks marks;	       /* MARK: comes before what it is about */
		struct {
			uint64_t start, size_bytes, name; /* size_bytes 0: no more */
			uint32_t slot;			  /* less than COMM_NAMED_MAX */
		} object;				  /* OBJECT: the name's address */
		uint64_t frame;				  /* FRAME: its number */
		char name[16]; /* RENAME, EXIT: the thread's from then on; "": not told */
		struct {
			uint32_t id; /* 1 to COMM_PROBED_MAX */
			char name[COMM_PROBED_BYTES];
		} probed;	 /* PROBED */
		uint64_t period; /* RATE */
		uint64_t count;	 /* LOSS */
		struct {
			uint64_t handler_ns;	 /* interrupts and probes */
			uint64_t daemon_ns;	 /* the daemon's own CPU time, that others wanted */
			uint64_t daemon_idle_ns; /* and that nobody else wanted */
			uint64_t setup_ns;	 /* CPU time for what happens once */
			uint64_t target_ns;	 /* CPU time the target used */
			uint64_t samples;
			double limit, floor; /* as a run's were; limit 0: there was none */
		} cost;			     /* COST: since the last COST event */
		struct {
			char counter[COMM_COUNTER_BYTES]; /* its name */
			uint64_t value;
			uint64_t enabled_ns, running_ns; /* as of struct comm_count */
		} counted;				 /* COUNT */
	};
};

/* Bytes of a sample that a copy needs: data past data_bytes is left out. */
size_t comm_sample_bytes(const struct comm_sample *sample);

/* True when counts and chunk bounds are in range: to be called on untrusted bytes. */
bool comm_sample_valid(const struct comm_sample *sample);

/*
 * Whether the thread has run nothing since a system call returned: SYSCALL leaves in rcx where it
 * returns to, and in r11 the flags (AMD64 Architecture Programmer's Manual, volume 3, SYSCALL).
 * An interrupt that came while the kernel had interrupts disabled is taken there: as a sample of
 * time it is one of the kernel's.
 */
bool comm_sample_is_behind_syscall(const struct comm_sample *sample);

/*
 * Whether addr is in what pthread_create() writes at the new thread's pointer, in glibc and musl: the
 * pointer itself, the table of thread-local storage, the canary of stacks and the key of pointers.
 */
bool comm_sample_is_set_up(const struct comm_sample *sample, uint64_t addr);

#endif
