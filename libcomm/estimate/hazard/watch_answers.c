// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_answers.h"

#include <errno.h>

#include "event.h"

enum { WATCH_ANSWERS_APART_NS = 1000000 }; /* from a read, that make a watch independent of it */

int comm_watch_answers_init(struct comm_watch_answers *answers, uint32_t granularity_bytes)
{
	return comm_pairs_create(granularity_bytes, &answers->pairs) ||
			       comm_watch_next_create(&answers->next)
		       ? -ENOMEM
		       : 0;
}

void comm_watch_answers_deinit(struct comm_watch_answers *answers)
{
	comm_pairs_destroy(answers->pairs);
	comm_watch_next_destroy(answers->next);
}

int comm_watch_answers_add(struct comm_watch_answers *answers, const struct comm_evidence *evidence)
{
	if (evidence->first.flags & COMM_ACCESS_WRITE ||
	    evidence->armed_ns < evidence->first_ns + WATCH_ANSWERS_APART_NS)
		comm_pairs_add(answers->pairs, evidence);
	else if (answers->n_asked < COMM_WATCH_ANSWERS_ASKED)
		answers->asked[answers->n_asked++] = *evidence;
	else
		return -ENOSPC;
	return 0;
}

/* Room for COMM_CANDIDATES + 1; returns how many: one for each thread. */
static uint32_t forecast(const struct comm_candidate *candidate, uint32_t n,
			 const struct comm_touch *touch, double unwritten,
			 struct comm_watch_next_writer *ret)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		ret[i] = (struct comm_watch_next_writer){candidate[i].thread, candidate[i].site,
							 candidate[i].share};
	if (!touch)
		return n;
	for (i = 0; i < n && ret[i].thread != touch->thread; i++)
		;
	if (i == n)
		ret[n++] = (struct comm_watch_next_writer){touch->thread, touch->site, 0};
	ret[i].share += unwritten;
	return n;
}

void comm_watch_answers_score(struct comm_watch_answers *answers,
			      const struct comm_evidence *evidence,
			      const struct comm_candidate *candidate, uint32_t n,
			      const struct comm_touch *touch, double unwritten)
{
	const struct comm_watch_next_read read = {
		.thread = evidence->first_thread,
		.object = comm_access_whole(&evidence->first),
		.datum = evidence->first.datum,
		.known = comm_candidates_wrote(candidate, n),
	};
	const struct comm_watch_next_write write = {evidence->second_thread, evidence->second.site};
	struct comm_watch_next_writer foretold[COMM_CANDIDATES + 1];

	n = forecast(candidate, n, touch, unwritten, foretold);
	comm_watch_next_add(answers->next, &read, evidence->second.flags ? &write : NULL, foretold,
			    n);
}

double comm_watch_answers_share(const struct comm_watch_answers *answers,
				const struct comm_window_read *r, uint32_t reader,
				struct comm_candidate *candidate, uint32_t *n, double unwritten)
{
	const struct comm_watch_next_read read = {reader, r->object, r->datum,
						  comm_candidates_wrote(candidate, *n)};
	struct comm_watch_next_writer writer[COMM_WATCH_NEXT_WRITERS];
	uint32_t n_writers = comm_watch_next_shares(answers->next, &read, writer), i, j;
	double rest = 1;

	for (i = 0; i < n_writers; i++)
		rest -= writer[i].share;
	for (j = 0; j < *n && n_writers; j++)
		candidate[j].share *= rest;
	for (i = 0; i < n_writers; i++) {
		for (j = 0; j < *n && candidate[j].thread != writer[i].thread; j++)
			;
		if (j == COMM_CANDIDATES)
			continue;
		if (j == *n)
			candidate[(*n)++] = (struct comm_candidate){.thread = writer[i].thread,
								    .site = writer[i].site,
								    .level = COMM_REGION_OBJECT};
		/* The next writer says who the last one was, but not when it wrote. */
		if (writer[i].share > 0)
			comm_ages_scale(&candidate[j].ages,
					candidate[j].share /
						(candidate[j].share + writer[i].share));
		candidate[j].share += writer[i].share;
		candidate[j].watched += writer[i].share;
	}
	return rest * unwritten;
}

void comm_watch_answers_self(const struct comm_watch_answers *answers,
			     const struct comm_window_read *r, uint32_t reader,
			     struct comm_candidate *candidate, uint32_t n, double written)
{
	double self = 0, want, others;

	if (written <= 0 || !comm_pairs_any(answers->pairs, reader, r->object, r->datum))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (candidate[i].thread == reader)
			self = candidate[i].share / written;
	want = comm_pairs_self(answers->pairs, reader, r->object, r->datum, self);
	others = self < 1 ? (1 - want) / (1 - self) : 0;
	if (others <= 0 || (self <= 0 && want > 0))
		return;
	for (uint32_t i = 0; i < n; i++) {
		double by = candidate[i].thread == reader ? want / self : others;

		candidate[i].share *= by;
		candidate[i].watched *= by;
	}
}
