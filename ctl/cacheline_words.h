/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache lines for people: who does what with which bytes of a line, and what to do about it.
 * Names of an observed program come out printable.
 */
#ifndef CTL_CACHELINE_WORDS_H
#define CTL_CACHELINE_WORDS_H

#include <comm/comm.h>

#include "term.h"

enum { CTL_WORDS = 40, CTL_POOL = 3, CTL_CACHELINE_TEXT = 256, CTL_CACHELINE_SUMMARY = 1024 };

/*
 * A field: what one thread does with some bytes of a line, or a pool of threads that all use them,
 * from all places of the program together.  Bytes side by side that one function goes through, as
 * of an array, are one field, unless their types say that they are several.
 */
struct ctl_word {
	const struct comm_report_cacheline_use
		*use; /* the place with most accesses, of those whose line is known */
	double most;  /* there */
	uint32_t byte, size_bytes;
	const char *field; /* "struct.member", "": not known */
	double reads, writes;
	size_t n_threads; /* of use->role; 1: it is use->thread */
};

/*
 * The words that are used most, by byte; returns how many. *ret_left: how many more there are.
 * pools: CTL_POOL and more threads of one role that use the same bytes are one.
 */
size_t ctl_words(const struct comm_report *report, const struct comm_report_cacheline *line,
		 bool pools, struct ctl_word word[CTL_WORDS], size_t *ret_left);
/* "stats+0x40": what of the program the line is. */
const char *ctl_cacheline_name(char text[CTL_CACHELINE_TEXT],
			       const struct comm_report_cacheline *line);
/* The words of a line as a table, with their shares of its accesses. */
void ctl_cacheline_print(const struct ctl_term *term, const struct comm_report *report,
			 const struct comm_report_cacheline *line);
/* "worker (12) writes stats.hits, main reads bytes 8..15": what is used most, in one sentence. */
const char *ctl_cacheline_summary(char text[CTL_CACHELINE_SUMMARY],
				  const struct comm_report *report,
				  const struct comm_report_cacheline *line);
/* Is it stated to be shared falsely?  What report, sharing, advise and html count. */
bool ctl_cacheline_is_false(const struct comm_report_cacheline *line);
double ctl_cacheline_seconds(const struct comm_report *report);

/* Each object with stated false sharing, once, largest first, and what to do; "": returns 0. */
size_t ctl_cacheline_advise(const struct ctl_term *term, const struct comm_report *report);

#endif
