/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Companions: modules that run beside the sampler of a live run and add events of
 * their own about the same target.  A companion is one file of this folder and one
 * line of a table (companion.c); live.c walks the table and names none of them.  A
 * companion neither takes samples nor estimates.
 *
 * One thread uses it.  Life: open, while all privileges are there; (drain, the engine
 * with its bursts, turn)*; end; drain once more; close.
 */
#ifndef COMM_COMPANION_H
#define COMM_COMPANION_H

#include <stdint.h>
#include <stdio.h>

#include "burst.h"
#include "merge.h"
#include "target.h"

struct comm_inspect;
struct comm_options;
struct comm_sampler;

struct comm_companion_config {
	const struct comm_options *options;
	const struct comm_sampler *sampler; /* the run's sampler, */
	void *handle;			    /* which is open */
	const struct comm_target *target;
	struct comm_inspect *inspect; /* of the target's processes as they are now */
	double interrupt_ns;	      /* what an interrupt costs the target */
	enum comm_trigger trigger;    /* unit of samples' periods */
	/* Is a process's address in memory that it may share with others? */
	bool (*is_shared)(void *ctx, uint32_t tgid, uint64_t addr);
	void *shared_ctx;
};

struct comm_companion {
	const char *title; /* the companion's name in --doctor */
	/*
	 * Could the companion be used here and now?  *why: a sentence (malloc'ed), why not, or
	 * if it could, what is to be known besides; NULL: nothing.
	 */
	int (*probe)(char **why);
	/*
	 * *ret stays NULL where the options do not ask for the companion, and where it cannot be
	 * had unasked: then *err is a sentence (malloc'ed) for the run's notes.  An error is
	 * returned only where they ask for it.
	 */
	int (*open)(const struct comm_companion_config *config, void **ret, char **err);
	/* The engine has computed this burst from event, a sample. */
	void (*burst)(void *companion, const struct comm_event *event,
		      const struct comm_burst *burst);
	/* Optional: the process has ended, or runs another program. */
	void (*gone)(void *companion, uint32_t tgid);
	/* Optional: the run ends, and drain() is called once more. */
	void (*end)(void *companion);
	/* Pushes the companion's events since the last call, and then its losses. */
	void (*drain)(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx);
	/*
	 * Called when the engine has taken all drained events.  budget_ns: the
	 * overhead that the whole run may have caused by now, of which a companion
	 * takes a share; UINT64_MAX: no budget.
	 */
	void (*turn)(void *companion, uint64_t now_ns, uint64_t budget_ns);
	/* Optional: another budget from now on, as a share. */
	void (*allow)(void *companion, uint64_t now_ns, double overhead);
	/* Interval at which turn() wants to be called, ms. */
	int (*turn_ms)(const void *companion);
	/*
	 * Cost to the target since open, ns; the companion's own CPU time is counted
	 * with the daemon's.
	 */
	uint64_t (*cost_ns)(const void *companion);
	/* Prints statistics for -v at the end of the run: a line or more. */
	void (*say)(const void *companion, FILE *out);
	void (*close)(void *companion);
};

/* NULL-terminated. */
extern const struct comm_companion *const comm_companion_table[];

/* The open companions of one run. */
struct comm_companions;

/* 0, or -errno and maybe a sentence (malloc'ed). */
int comm_companions_open(const struct comm_companion_config *config, struct comm_companions **ret,
			 char **err);
void comm_companions_close(struct comm_companions *companions);
/* "" or a sentence that says what is missing; valid until they are closed. */
const char *comm_companions_note(const struct comm_companions *companions);

void comm_companions_burst(struct comm_companions *companions, const struct comm_event *event,
			   const struct comm_burst *burst);
void comm_companions_gone(struct comm_companions *companions, uint32_t tgid);
void comm_companions_end(struct comm_companions *companions);
/* Drains all; returns what the companions have cost the target since the last call, ns. */
uint64_t comm_companions_drain(struct comm_companions *companions, uint64_t now_ns,
			       comm_event_fn *push, void *ctx);
void comm_companions_turn(struct comm_companions *companions, uint64_t now_ns, uint64_t budget_ns);
/* Another budget from now on, as a share, where there is one. */
void comm_companions_allow(struct comm_companions *companions, uint64_t now_ns, double overhead);
/* The shortest turn interval of the open companions; most_ms if none is open. */
int comm_companions_turn_ms(const struct comm_companions *companions, int most_ms);
void comm_companions_say(const struct comm_companions *companions, FILE *out);

#endif
