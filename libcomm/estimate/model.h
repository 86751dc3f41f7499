/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimator's model in one page; docs/method/model.md tells it in words.  Terms are what it goes by besides the
 * plain rule that who writes a datum, or most of what is around it, wrote what is read.  Parameters are its
 * numbers.  tests/truth/ablate.py estimates recordings of known truth without each term, and with each parameter
 * changed; a term that earns nothing there goes.  The shipped program has them all.
 */
#ifndef COMM_MODEL_H
#define COMM_MODEL_H

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

/*
 * X(parameter, value, what it is).  Nothing hangs on them: with half or twice any of them no error of the recordings
 * changes by 0.01 (docs/method/model.md).  So what is of one kind is one number, and what is not seen is worth one
 * burst.  Of unmet: of real pairs of code 2 (stencil2d) to 140 times as many reads are met as that (hash), mostly the
 * first before 0.1 are expected; of pairs that by the source exchange nothing none in 0.8 and 1.3 (memcached), 5
 * (stencil2d's barrier) and 22 (a Go program).
 */
#define COMM_PARAMETERS(X)                                                                       \
	X(rare, 0.02, "chance of what is rare: activity ends, no data of an object are written") \
	X(likely, 0.9,                                                                           \
	  "chance of what is likely: data are written; what a burst leaves of those before")     \
	X(half, 0.5, "observations that one of another kind is worth: around, met, of reads")    \
	X(enough, 16,                                                                            \
	  "bursts that suffice: for a ratio, to be read over and over, of all objects")          \
	X(area_prior, 8, "data that the area above is worth")                                    \
	X(written_prior, 4, "data that the likely part is worth to an object's")                 \
	X(length_prior, 2, "observations that a burst's own length is worth")                    \
	X(seat_bursts, 32, "bursts that what was known of a seat is worth to a thread's own")    \
	X(silences, 8, "parts of a writer's silence in which what is rewritten has another")     \
	X(unmet, 0.15, "reads of a datum in which code was expected and not met")                \
	X(regular, 8, "power of the odds that a read is the first; 1: as by chance")             \
	X(ratio_prior, 2048, "bursts of all readers that count for one")                         \
	X(ratio_sd, 0.35, "error of the logarithm of reads per write, by the model of time")     \
	X(halve_s, 60, "seconds after which what was seen counts half")

#define COMM_TERM_ENUM(term, without) COMM_TERM_##term,
enum comm_term { COMM_TERMS(COMM_TERM_ENUM) COMM_TERM_COUNT };
#undef COMM_TERM_ENUM
#define COMM_PARAMETER_ENUM(name, value, what) COMM_P_##name,
enum comm_parameter_name { COMM_PARAMETERS(COMM_PARAMETER_ENUM) COMM_P_COUNT };
#undef COMM_PARAMETER_ENUM

#ifdef COMM_ABLATE
/* Whether a term is left out. */
bool comm_without(enum comm_term term);
double comm_parameter(enum comm_parameter_name name);
#else
static inline bool comm_without(enum comm_term term)
{
	(void)term;
	return false;
}

static inline double comm_parameter(enum comm_parameter_name name)
{
#define COMM_PARAMETER_VALUE(name, value, what) value,
	static const double values[] = {COMM_PARAMETERS(COMM_PARAMETER_VALUE)};
#undef COMM_PARAMETER_VALUE

	return values[name];
}
#endif

#endif
