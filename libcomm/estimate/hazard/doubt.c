// SPDX-License-Identifier: GPL-2.0-or-later
#include "doubt.h"

void comm_doubt_begin(struct comm_doubt *doubt, uint32_t reader)
{
	doubt->reader = reader;
	doubt->n = 0;
	doubt->all = 0;
}

void comm_doubt_add(struct comm_doubt *doubt, const struct comm_doubt_writer *writer)
{
	if (doubt->n == COMM_DOUBT_WRITERS || !(writer->share > 0))
		return;
	doubt->writer[doubt->n++] = *writer;
	doubt->all += writer->share;
}

/* What all but those writers have that count as one, with this share. */
static float doubt_of(const struct comm_doubt *doubt, double share)
{
	return doubt->all > share ? (float)(1 - share / doubt->all) : 0;
}

struct comm_doubts comm_doubt_of(const struct comm_doubt *doubt, const struct comm_doubt_writer *of)
{
	double thread = 0, role = 0, side = 0, code = 0;

	for (uint32_t i = 0; i < doubt->n; i++) {
		const struct comm_doubt_writer *w = &doubt->writer[i];
		bool same_side = (w->thread == doubt->reader) == (of->thread == doubt->reader);

		if (w->thread == of->thread)
			thread += w->share;
		if (w->thread == of->thread || (same_side && w->role && w->role == of->role))
			role += w->share;
		if (same_side)
			side += w->share;
		if (w->site == of->site)
			code += w->share;
	}
	return (struct comm_doubts){doubt_of(doubt, thread), doubt_of(doubt, role),
				    doubt_of(doubt, side), doubt_of(doubt, code)};
}
