/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows on live words without debug registers: a word is looked at whenever a thread of its
 * process leaves a CPU, and at the ticks of those that do not (bpf/switch_look.bpf.c).  Who ran
 * between two looks that differ is who may have written (look_candidates.h); whose writes a
 * reader sees follows from when it ran (look_pairs.h).  It tells threads, not code (seen_writers.h guesses at that).  A word that gets
 * the value that it had is not seen to be written.
 *
 * Only the word's own process is looked at: in memory that others may share, nobody is named.  What the
 * kernel writes on behalf of no thread, such as a device's data, counts as written by who ran.
 *
 * BPF is loaded by create; later calls need no privilege and no system call.  One thread uses it.
 */
#ifndef COMM_SWITCH_WINDOW_H
#define COMM_SWITCH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "live_word.h"
#include "look_pairs.h"
#include "merge.h"
#include "target.h"

struct comm_switch_windows;

enum { COMM_SWITCH_WORDS_MAX = 32 };

struct comm_switch_windows_config {
	const struct comm_target *target;
	uint32_t words; /* looked at at once: 2 to COMM_SWITCH_WORDS_MAX */
	/* Is a process's address in memory that it may share with others?  NULL: none is. */
	bool (*is_shared)(void *ctx, uint32_t tgid, uint64_t addr);
	void *shared_ctx;
};

struct comm_switch_windows_stats {
	uint64_t begun;
	uint64_t ended;	  /* of these, and told */
	uint64_t changed; /* of these, with a change */
	uint64_t changes;
	uint64_t certain;     /* changes with one candidate */
	uint64_t known;	      /* changes whose writer is known, these among them */
	uint64_t runs, looks; /* a run looks at all words of its process */
	uint64_t ticks;	      /* of these, runs at ticks */
	uint64_t failed;      /* looks at memory that was not there */
	uint64_t look_ns;     /* the target's time, for looks and for telling switches */
	uint64_t call_ns;     /* anybody's, for calls of the program that have nothing to look at */
	uint64_t lost;	      /* windows given up, for records were lost */
	uint64_t
		unknown[COMM_LOOK_UNKNOWN_MAX]; /* windows told, by why their writer is not known */
	uint64_t unasked; /* words drawn that cannot be looked at: others may write them */
};

/* Can words be looked at, here and now?  *why: a sentence, malloc'ed, if not. */
int comm_switch_windows_probe(char **why);
int comm_switch_windows_create(const struct comm_switch_windows_config *config,
			       struct comm_switch_windows **ret, char **err);
void comm_switch_windows_destroy(struct comm_switch_windows *w);

/*
 * Ends all windows and detaches the programs, for good.  From then on collect() pushes
 * COMM_LOSS_LOOKS.
 */
void comm_switch_windows_stop(struct comm_switch_windows *w, uint64_t now_ns);

/* The word is in the draw for the windows that begin at the next turn. */
void comm_switch_windows_offer(struct comm_switch_windows *w, const struct comm_live_word *word);
/*
 * Ends windows that are due, and begins others on words that were offered since windows last
 * began, drawn by the bytes that they stand for, those of a few milliseconds' lag apart from slower ones.
 * left_ns: what looks may take of the target's time; INFINITY: as much as they want.  No window begins whose looks
 * would take more, by what looks took before.  most_ns: all that could ever be left; words whose windows would take more
 * are told as words that nobody was seen to write.
 */
void comm_switch_windows_turn(struct comm_switch_windows *w, uint64_t now_ns, double left_ns,
			      double most_ns);
/*
 * Pushes the pairs of windows that ended as COMM_EV_FED events.  What nobody was seen to write has
 * the reader in the event's head.
 */
void comm_switch_windows_collect(struct comm_switch_windows *w, uint64_t now_ns,
				 comm_event_fn *push, void *ctx);
/* Interval at which turn() and collect() want to be called; INT_MAX: nothing is open. */
int comm_switch_windows_turn_ms(const struct comm_switch_windows *w);
void comm_switch_windows_stats(const struct comm_switch_windows *w,
			       struct comm_switch_windows_stats *ret);

#endif
