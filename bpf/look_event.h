/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that switch_look.bpf.c looks at, and what it writes into its ring.  Private to one build of
 * the daemon, as sample_event.h.  Includes nothing.
 */
#ifndef COMM_LOOK_EVENT_H
#define COMM_LOOK_EVENT_H

enum { COMM_RAW_LOOK_WORDS = 32, COMM_RAW_LOOK_RING_BYTES = 1 << 21 };

/*
 * Written by the daemon.  It writes generation, which no word had before, last, and 0 there first;
 * the program reads it first.
 */
struct comm_raw_look_word {
	unsigned long long addr; /* of the aligned word */
	unsigned long long mask; /* bits of it that count */
	unsigned int tgid;
	unsigned int generation; /* 0: there is no word */
};

struct comm_raw_look_ctl {
	unsigned int n_words; /* 0: the programs return at once */
	unsigned int n_processes;
	unsigned int process[COMM_RAW_LOOK_WORDS]; /* tgids of the words, each once, and zeros */
	struct comm_raw_look_word word[COMM_RAW_LOOK_WORDS];
};

enum comm_raw_look_kind {
	COMM_RAW_LOOK_SWITCH = 1,
	COMM_RAW_LOOK_TICK,    /* tid runs, and goes on */
	COMM_RAW_LOOK_BEGUN,   /* a word was looked at for the first time */
	COMM_RAW_LOOK_CHANGED, /* it had another value at the look before */
	COMM_RAW_LOOK_GONE,    /* with its program, or its mapping: no more looks */
};

struct comm_raw_look {
	unsigned long long time_ns; /* when the thread was interrupted: before any look */
	/* SWITCH: from when on the next one may run; of words: after the look at this one. */
	unsigned long long until_ns;
	unsigned long long since_ns; /* CHANGED: of the look before; 0: not known */
	unsigned short kind;
	unsigned short cpu;
	unsigned int tgid, tid;		    /* 0: of no watched process; SWITCH: it leaves */
	unsigned int other_tgid, other_tid; /* SWITCH: it comes */
	unsigned int generation;	    /* of the word */
	unsigned long long value;	    /* BEGUN, CHANGED: the word's bits that count */
};

/* One per possible CPU, in a map that the daemon has mapped; each belongs to that CPU's programs. */
struct comm_raw_look_cpu {
	unsigned long long runs;  /* in which words were looked at */
	unsigned long long ticks; /* of these, at ticks */
	unsigned long long looks;
	unsigned long long failed;  /* looks at memory that is not there now */
	unsigned long long ns;	    /* what the programs took of watched processes */
	unsigned long long drops;   /* records without room in the ring */
	unsigned long long call_ns; /* what switches took in which there was nothing to look at */
	unsigned long long reserved;
};

_Static_assert(sizeof(struct comm_raw_look_word) == 24, "layout of both sides");
_Static_assert(sizeof(struct comm_raw_look) == 56, "layout of both sides");
_Static_assert(sizeof(struct comm_raw_look_cpu) == 64, "a cache line");

#endif
