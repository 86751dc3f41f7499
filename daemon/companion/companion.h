/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Companions: what stands beside the sampler of a live run and adds events of its
 * own about the same target.  A companion is one file of this folder and one line of
 * a table (companion.c); live.c walks the table and names none of them.  A companion
 * neither takes samples nor estimates.
 *
 * One thread uses it.  Life: open, while all privileges are there; (drain, the engine
 * with its bursts, turn)*; drain once more; close.
 */
#ifndef COMM_COMPANION_H
#define COMM_COMPANION_H

#include <stdint.h>
#include <stdio.h>

#include "burst.h"
#include "merge.h"
#include "target.h"

struct comm_options;
struct comm_sampler;

struct comm_companion_config {
	const struct comm_options *options;
	const struct comm_sampler *sampler; /* beside which it stands */
	const struct comm_target *target;
	double interrupt_ns; /* what an interrupt costs the target */
};

struct comm_companion {
	const char *title; /* as --doctor shows it */
	/* Could it be used here and now?  *why: a sentence (malloc'ed), if not. */
	int (*probe)(char **why);
	/* *ret is left NULL where this run does not want it; errors are for what was asked. */
	int (*open)(const struct comm_companion_config *config, void **ret, char **err);
	/* A burst that the engine has made of that sample. */
	void (*burst)(void *companion, const struct comm_event *event,
		      const struct comm_burst *burst);
	/* Pushes what was seen since the call before, and then what was lost. */
	void (*drain)(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx);
	/*
	 * The engine has taken all that was drained.  budget_ns: what the whole run may
	 * have spent by now, of which a companion takes a share; UINT64_MAX: no budget.
	 */
	void (*turn)(void *companion, uint64_t now_ns, uint64_t budget_ns);
	/* So often it wants its turn, ms. */
	int (*turn_ms)(const void *companion);
	/* Of the target's time, since open; its own is counted with the daemon's. */
	uint64_t (*cost_ns)(const void *companion);
	/* For -v, at the end: a line or more. */
	void (*say)(const void *companion, FILE *out);
	void (*close)(void *companion);
};

/* NULL-terminated. */
extern const struct comm_companion *const comm_companion_table[];

/* Those of one run. */
struct comm_companions;

/* 0, or -errno and maybe a sentence (malloc'ed). */
int comm_companions_open(const struct comm_companion_config *config, struct comm_companions **ret,
			 char **err);
void comm_companions_close(struct comm_companions *companions);

void comm_companions_burst(struct comm_companions *companions, const struct comm_event *event,
			   const struct comm_burst *burst);
/* Returns what they have cost the target since the call before, ns. */
uint64_t comm_companions_drain(struct comm_companions *companions, uint64_t now_ns,
			       comm_event_fn *push, void *ctx);
void comm_companions_turn(struct comm_companions *companions, uint64_t now_ns, uint64_t budget_ns);
/* The least that one of them wants; most_ms if there is none. */
int comm_companions_turn_ms(const struct comm_companions *companions, int most_ms);
void comm_companions_say(const struct comm_companions *companions, FILE *out);

#endif
