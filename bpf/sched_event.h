/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling and life-cycle records, each kind in a ring of its own: at overload,
 * switches are dropped and life-cycle events are not.  Includes nothing.
 */
#ifndef COMM_SCHED_EVENT_H
#define COMM_SCHED_EVENT_H

enum comm_raw_sched_kind {
	COMM_RAW_SWITCH = 1,
	COMM_RAW_FORK,
	COMM_RAW_EXEC,
	COMM_RAW_EXIT,
	COMM_RAW_RENAME,
	COMM_RAW_MMAP,
	COMM_RAW_ENDED, /* the process is gone, all its CPU time is known */
};

/* A tgid is 0 when the thread is not a target's. */
struct comm_raw_sched {
	unsigned long long time_ns;
	unsigned int tid, tgid;		    /* the thread that leaves the CPU */
	unsigned int other_tid, other_tgid; /* the thread that comes */
	unsigned short kind;
	unsigned short cpu;
	unsigned int zero;
};

struct comm_raw_life {
	unsigned long long time_ns;
	unsigned int tid, tgid;
	unsigned int child_tid, child_tgid; /* FORK */
	unsigned short kind;
	unsigned short cpu;
	unsigned int executable; /* MMAP */
	union {
		struct {
			unsigned long long start, end, offset;
		};			   /* MMAP */
		unsigned long long cpu_ns; /* ENDED: of all its threads, since it was forked */
		char name[16];		   /* RENAME, EXIT: of the thread, from then on */
	};
};

_Static_assert(sizeof(struct comm_raw_sched) == 32, "one switch costs 40 bytes of ring");
_Static_assert(sizeof(struct comm_raw_life) == 56, "layout of both sides");

#endif
