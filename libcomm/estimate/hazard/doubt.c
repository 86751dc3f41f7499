// SPDX-License-Identifier: GPL-2.0-or-later
#include "doubt.h"

void comm_doubt_begin(struct comm_doubt *doubt, uint32_t reader)
{
	doubt->reader = reader;
	doubt->n = 0;
	doubt->all = doubt->watched = 0;
}

void comm_doubt_add(struct comm_doubt *doubt, const struct comm_doubt_writer *writer)
{
	if (doubt->n == COMM_DOUBT_WRITERS || !(writer->share > 0))
		return;
	doubt->writer[doubt->n++] = *writer;
	doubt->all += writer->share;
	doubt->watched += writer->watched;
}

/* Chances of writers that count as one. */
struct alike {
	double share, watched;
};

static void count(struct alike *alike, const struct comm_doubt_writer *writer)
{
	alike->share += writer->share;
	alike->watched += writer->watched;
}

static double left(double share, double all)
{
	return all > share ? 1 - share / all : 0;
}

/* watched: the part of the writer's share that is watched. */
static float doubt_of(const struct comm_doubt *doubt, const struct alike *alike, double watched)
{
	double estimated = left(alike->share - alike->watched, doubt->all - doubt->watched);

	return (float)(estimated + watched * (left(alike->watched, doubt->watched) - estimated));
}

struct comm_doubts comm_doubt_of(const struct comm_doubt *doubt, const struct comm_doubt_writer *of)
{
	struct alike thread = {0}, role = {0}, side = {0}, code = {0};
	double watched = of->share > 0 ? of->watched / of->share : 0;

	for (uint32_t i = 0; i < doubt->n; i++) {
		const struct comm_doubt_writer *w = &doubt->writer[i];
		bool same_side = (w->thread == doubt->reader) == (of->thread == doubt->reader);

		if (w->thread == of->thread)
			count(&thread, w);
		if (w->thread == of->thread || (same_side && w->role && w->role == of->role))
			count(&role, w);
		if (same_side)
			count(&side, w);
		if (w->site == of->site)
			count(&code, w);
	}
	return (struct comm_doubts){
		doubt_of(doubt, &thread, watched), doubt_of(doubt, &role, watched),
		doubt_of(doubt, &side, watched), doubt_of(doubt, &code, watched)};
}
