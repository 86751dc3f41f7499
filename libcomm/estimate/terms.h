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
#define COMM_TERMS(X)                                                                              \
	X(activity, "who has fallen silent goes on writing")                                       \
	X(affinity, "a thread reads from all writers alike")                                       \
	X(beside, "regions before and after a datum's tell nothing")                               \
	X(ends, "a thread may write more pieces of a region, however often it was seen in few")    \
	X(far, "far from all sampled writes, whoever writes in the object competes")               \
	X(guess, "far from all sampled writes nobody wrote")                                       \
	X(kappa, "how far a region tells of its parts is the same in all objects")                 \
	X(label, "that each datum has one writer is nowhere taken into account")                   \
	X(large, "the one writer of a large block is a guess where it was not seen")               \
	X(mixing, "how far the writers around a datum tell of its own is the same in all objects") \
	X(met, "code that writes around a datum writes it, whether met there or not")              \
	X(often, "what is read over and over is as any other datum")                               \
	X(own, "a burst's own writes count while its reads are estimated")                         \
	X(recent, "a writer's rate is that of the whole run")                                      \
	X(regular, "chance has programs alternate, and sweep")                                     \
	X(rewritten, "no edge is in doubt for what the census sees")                               \
	X(seats, "threads of one role that come one after the other are each new")                 \
	X(sharing, "a datum that one thread writes is written by no other, unless seen")           \
	X(time, "who wrote more wrote last")                                                       \
	X(touch, "nobody's first writes are known")                                                \
	X(unseen, "a datum that is read often and not seen written is as any other")               \
	X(waits, "loops that wait are as any other code")                                          \
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
