/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources: where the data of a run come from.  A source is one file of this
 * folder and one line in comm_sources[].  There are two kinds:
 *
 *	with a sampler	samples a live target; live.c makes the run, and drives it
 *	with run()	makes its run by itself: a recording, exact counts; only on
 *			request, never chosen by "auto"
 *
 * No code outside of this folder names a source.  One thread uses all this.
 */
#ifndef COMM_SOURCE_H
#define COMM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler.h"

struct comm_options;

struct comm_source {
	const char *name;
	const char *help; /* one line */
	/* Name of the argument behind the name and a colon, for --help; NULL: takes none. */
	const char *arg;
	bool needs_arg; /* arg must be given */
	bool of_file;	/* arg is a file to read: the source works anywhere, and has no target */
	/*
	 * Could this process use the source, here and now?  *why: a sentence, if not.  NULL: of
	 * a file.
	 */
	int (*probe)(char **why);
	/*
	 * The argument with which it takes the processor's own samples of memory accesses,
	 * and whether it could, here and now.  "auto" tries it before all sources without.
	 * NULL: none.
	 */
	const char *precise_arg;
	int (*probe_precise)(char **why);
	const struct comm_sampler *sampler;
	bool tells_calls; /* of a function one by one: --calls */
	/* For run() with a target.  Do the options suit it?  *why: a sentence, if not. */
	int (*check)(const struct comm_options *options, char **why);
	/* For a source without a sampler.  A whole run; returns commd's exit status. */
	int (*run)(const struct comm_options *options);
};

/*
 * "auto", with neither sampler nor run(): comm_source_choose() replaces it when the
 * target is there.
 */
extern const struct comm_source comm_source_auto;

/* NULL-terminated, best first. */
extern const struct comm_source *const comm_sources[];

/* "auto" or a source of the table; NULL: no source has that name. */
const struct comm_source *comm_source_find(const char *name);
/* All names that --source takes, "auto, bpf, kmod[:precise], ... or replay:FILE"; cut to size. */
void comm_source_names(char *ret, size_t size);
/* The same without what follows them, "auto bpf kmod ..."; returns ret. */
const char *comm_source_plain_names(char *ret, size_t size);
/*
 * The first with a sampler that can be used here, and *ret_arg, what to put behind its
 * colon ("": nothing): the first that samples accesses precisely, or else the first of
 * all.  *at is 0 at first; called again with what it became, it goes on behind the one that
 * it gave.  NULL: none, and *err says why each of those it tried cannot, or is NULL.
 */
const struct comm_source *comm_source_choose(unsigned int *at, const char **ret_arg, char **err);

/* Readies *err with a formatted sentence (malloc'ed); returns error, for `return` lines. */
__attribute__((format(printf, 3, 4))) int comm_source_fail(char **err, int error, const char *fmt,
							   ...);

#endif
