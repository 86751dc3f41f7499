/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows by debug registers: for some turns of its rewriting each access to a live word traps, so the last
 * writer before each read is known (window_pairs.h).  Words are drawn by the bytes that they stand for,
 * those that change soon apart from those that change later (late_words.h): a window on a word lasts four times what the
 * census waited for its change, and long ones must not keep short ones waiting.
 *
 * A window takes one register of each CPU.  Of each CPU it has so many traps: what comes after the first CPU is
 * silent is left out, else the others' accesses would count for more.  A word that is read so often that no
 * write comes among these waits for a write, and then for reads again.  Where other code alone reads the word among
 * them, the window has as many traps again, and once more.
 *
 * What it is not for: which words are live, and how much windows may cost (survey.c).  One thread uses it.
 */
#ifndef COMM_REGISTER_WINDOW_H
#define COMM_REGISTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "live_word.h"
#include "merge.h"
#include "target.h"

struct comm_register_windows;

struct comm_register_windows_config {
	const struct comm_target *target;
	uint32_t slots; /* debug registers of each CPU to take, as far as they are free */
	double trap_ns; /* what a trap costs the target */
	/* Is a process's address in memory that it may share with others?  NULL: all is. */
	bool (*is_shared)(void *ctx, uint32_t tgid, uint64_t addr);
	void *shared_ctx;
	/* Reads a process's code: returns how many bytes could be read from addr on, or -errno. */
	ssize_t (*read_code)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes);
	void *code_ctx;
	/* As a sampler's strings_ns().  NULL: it is not known. */
	uint64_t (*strings_ns)(void *ctx, bool watch);
	void *strings_ctx;
};

/* What windows may take of the target's time, ns: what is left, and what is ever kept.  INFINITY: there is no bound. */
struct comm_window_means {
	double left_ns, most_ns;
};

struct comm_register_windows_stats {
	uint64_t begun;
	uint64_t with_write, with_read; /* of those that ended: a write was seen; a read of one */
	uint64_t lost;			/* ended without an answer */
	uint64_t traps;
	uint64_t foreign; /* of these, of processes that have other data at the same address */
	uint64_t unknown; /* and those of which it is not known whether they read or wrote */
	uint64_t trap_ns; /* the target's time lost to traps and to setting registers */
	uint64_t set_ns;  /* time with debug registers set, for one window or more */
	/* What string instructions lost meanwhile (breakpoints.h), and of this while a long window was open. */
	bool knows_strings;
	uint64_t string_ns, long_string_ns;
	double string_loss; /* as a part of their time */
	uint64_t
		unpaid; /* draws of words that got no window: it would have cost too much, or the run ended */
};

/* Can they be used here and now?  *why: a sentence, malloc'ed: why not, or how many registers are free. */
int comm_register_windows_probe(char **why);
/* Opens all file descriptors, so that no privilege is needed later. */
int comm_register_windows_create(const struct comm_register_windows_config *config,
				 struct comm_register_windows **ret, char **err);
void comm_register_windows_destroy(struct comm_register_windows *windows);

/* The word may get a window. */
void comm_register_windows_offer(struct comm_register_windows *windows,
				 const struct comm_live_word *word);
/*
 * The run ends: the next collect tells what open windows have seen, and that the writer is not known of words that change late and
 * wait for a window.  Those that change soon and wait are like those that were not drawn.
 */
void comm_register_windows_end(struct comm_register_windows *windows);
/* The process has ended, or runs another program: what its windows saw no longer counts. */
void comm_register_windows_gone(struct comm_register_windows *windows, uint32_t tgid);
/* Pushes the COMM_EV_FED events of windows that have ended, and losses. */
void comm_register_windows_collect(struct comm_register_windows *windows, uint64_t now_ns,
				   comm_event_fn *push, void *ctx);
/*
 * Ends windows that are due, and begins new ones where slots are free, if anything is left of all means.  Long ones, on
 * words that change late, have means of their own besides, and are no longer than what is ever kept pays for.  Of a word that changes
 * later than that the writer is not known.
 */
void comm_register_windows_turn(struct comm_register_windows *windows, uint64_t now_ns,
				const struct comm_window_means *all,
				const struct comm_window_means *of_long);
/* Interval at which open windows are to be looked at, ms; INT_MAX: none is open. */
int comm_register_windows_turn_ms(const struct comm_register_windows *windows);
void comm_register_windows_stats(const struct comm_register_windows *windows,
				 struct comm_register_windows_stats *ret);

#endif
