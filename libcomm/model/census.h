/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Census: what becomes of the words that are read.  Of each burst one read is drawn; a burst that
 * waits is only counted, of another one the read's word is looked at again and again, until it has
 * another value or the last look is over.  A class says which; words of a reading end, a
 * thread's at a site of an object, are summed by class.  The engine sums them for a slice, the
 * store for wider ones.  A word that is rewritten with its own value counts as unchanged.  One
 * thread uses a table.
 */
#ifndef COMM_CENSUS_H
#define COMM_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

/* Looks are so long after the first one; stores hold their numbers. */
#define COMM_CENSUS_LAGS_NS(X) \
	X(1000000ull)          \
	X(3000000ull)          \
	X(10000000ull)         \
	X(30000000ull)         \
	X(100000000ull)        \
	X(300000000ull)        \
	X(1000000000ull)       \
	X(3000000000ull)       \
	X(10000000000ull)

enum {
	COMM_CENSUS_LAGS = 9,
	/* Who feeds whom is told of words that this look, after 1 s, or an earlier one finds changed. */
	COMM_CENSUS_FED = 6,
};

extern const uint64_t comm_census_lag_ns[COMM_CENSUS_LAGS];

/* Classes of words; stores hold the numbers. */
enum comm_census_class {
	COMM_CENSUS_WAITS,
	COMM_CENSUS_CHANGED, /* and so many: the number of the look that found it changed */
	COMM_CENSUS_QUIET = COMM_CENSUS_CHANGED + COMM_CENSUS_LAGS, /* and so many: looks that
								       found it unchanged, no more
								       were made */
	COMM_CENSUS_CLASSES = COMM_CENSUS_QUIET + COMM_CENSUS_LAGS + 1,
};

/*
 * The class of a word that was unchanged quiet_ns after the first look, and changed at changed_ns
 * (0: at no look).  Looks are late on a busy machine: each counts as the one whose lag is next to it.
 */
enum comm_census_class comm_census_class_of(uint64_t quiet_ns, uint64_t changed_ns);

struct comm_census_words {
	uint32_t thread, site, object, class;
	uint64_t words;
	double bytes;	/* read, that the words stand for */
	double squares; /* of the bytes that each stands for, summed */
};

/* By thread, site, object and class. */
struct comm_census {
	COMM_KEYED(keyed, struct comm_census_words, cell, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_census_deinit(struct comm_census *table);
void comm_census_clear(struct comm_census *table);
/* Adds words to those of the same key.  -ENOMEM. */
int comm_census_add(struct comm_census *table, const struct comm_census_words *words);
/*
 * Keeps the cap cells with most bytes and sums the others up, by class, in cells without thread,
 * site and object.  *ret_folded grows by these.
 */
void comm_census_fold(struct comm_census *table, size_t cap, uint64_t *ret_folded);
/* Orders by thread, site, object and class. */
void comm_census_sort(struct comm_census *table);

#endif
