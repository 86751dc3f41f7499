// SPDX-License-Identifier: GPL-2.0-or-later
#include "silence.h"

/*
 * The census tells how soon after a read the next write came.  A writer that takes turns with its reader lets that
 * run for as long, so only what is rewritten in a small part of what the reader ran was written by another.
 */
enum { SILENCE_PART = 8 };

double comm_silence_move(struct comm_compete *compete, const struct comm_rewritten *rewritten,
			 const struct comm_window_read *read, uint32_t reader,
			 struct comm_candidate *candidate, uint32_t n)
{
	double kept[COMM_CANDIDATES], moved = 0, writes = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct comm_candidate *c = &candidate[i];
		double silent;
		uint64_t off_ns = comm_compete_silent(compete, reader, c->thread, &silent);

		kept[i] = 1 - silent * comm_rewritten_share(rewritten, read->object, read->site,
							    off_ns / SILENCE_PART);
		moved += c->share * (1 - kept[i]);
		c->share *= kept[i];
		comm_ages_scale(&c->ages, kept[i]);
		writes += c->rate * c->active * kept[i];
	}
	for (uint32_t i = 0; i < n && writes > 0; i++)
		candidate[i].share +=
			moved * candidate[i].rate * candidate[i].active * kept[i] / writes;
	return writes > 0 ? 0 : moved;
}
