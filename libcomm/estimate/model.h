/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terms of the estimator: what it goes by besides the plain rule that who writes a datum, or most of what is
 * around it, wrote what is read.  tests/truth/ablate.py estimates recordings of known truth without each of them; a term
 * that earns nothing there goes.  The shipped program has them all.
 */
#ifndef COMM_TERMS_H
#define COMM_TERMS_H

#include <stdbool.h>

/* X(term, what is done without it) */
#define COMM_TERMS(X)                                                                         \
	X(label,                                                                              \
	  "writers of an object compete for data not seen written, whoever writes around it") \
	X(met, "code that writes around a datum writes it, whether met there or not")         \
	X(often, "what is read over and over is as any other datum")                          \
	X(own_reads, "a thread reads from all writers alike")                                 \
	X(own, "a burst's own writes count while its reads are estimated")                    \
	X(rewritten, "no edge is in doubt for what the census sees")                          \
	X(seats, "threads of one role that come one after the other are each new")            \
	X(touch, "nobody's first writes are known")                                           \
	X(waits, "loops that wait are as any other code")                                     \
	X(written, "all data are written")

#define COMM_TERM_ENUM(term, without) COMM_TERM_##term,
enum comm_term { COMM_TERMS(COMM_TERM_ENUM) COMM_TERM_COUNT };
#undef COMM_TERM_ENUM

#ifdef COMM_ABLATE
/* Whether a term is left out. */
bool comm_without(enum comm_term term);
#else
static inline bool comm_without(enum comm_term term)
{
	(void)term;
	return false;
}
#endif

#endif
