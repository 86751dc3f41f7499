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
 * X(parameter, value, what it is).  docs/method/model.md has what half and twice each of them do.  Of due: of real
 * pairs of code 2 (stencil2d) to 140 times as many reads are met as that (hash), mostly the first before 0.1 are due
 * (kernels of tests/truth, PostgreSQL, python); of pairs that by the source exchange nothing none in 0.8 and 1.3
 * (memcached), 5 (stencil2d's barrier) and 22 (a Go program).  Of reads: 1 would take an array of which half is constant
 * for a written one.  Of seat_bursts: memory that threads of a role use in turns is each one's own.
 */
#define COMM_PARAMETERS(X)                                                                    \
	X(stop, 0.02, "chance per burst that a thread's activity ends; 0 to 1")               \
	X(both, 16, "bursts that read, and that write, which tell their ratio")               \
	X(silences, 8, "parts of a writer's silence in which what is rewritten has another")  \
	X(unseen, 1, "bursts that all pieces not seen to be written are worth")               \
	X(mixing, 0.5, "bursts that the shares around a region are worth in it")              \
	X(due, 0.15, "reads of a datum in which code was due and not met")                    \
	X(met_reads, 0.5, "reads of a datum in which code was met")                           \
	X(often, 16, "bursts that read a datum, from which on it is read over and over")      \
	X(regular, 8, "power of the odds that a read is the first; 1: as by chance")          \
	X(reads, 0.5, "bursts that write, which one that reads is worth as to who is around") \
	X(own_prior, 0.5, "reads that all objects' are worth to an object's")                 \
	X(own_most, 16, "reads of all objects that count at most")                            \
	X(own_floor, 0.02, "least share of own reads to divide by; 0 to 1")                   \
	X(ratio_prior, 2048, "bursts of all readers that count for one")                      \
	X(ratio_sd, 0.35, "error of the logarithm of reads per write, by the model of time")  \
	X(ratio_else, 0.1, "density of other ratios, per unit of the logarithm")              \
	X(region_prior, 8, "data that the region above is worth")                             \
	X(seat_bursts, 32, "bursts that what was known of a seat is worth")                   \
	X(recent, 0.9, "what each burst leaves of those before it; 0 to 1")                   \
	X(written_mean, 0.9, "part of data that are written, where nothing is known; 0 to 1") \
	X(written_prior, 4, "data that this is worth to an object's")                         \
	X(written_most, 0.98, "the largest such part; 0 to 1")                                \
	X(halve_s, 60, "seconds after which what was seen counts half")                       \
	X(length_prior, 2, "observations that a burst's own length is worth")

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
