/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Silence: who has been on no CPU while the reader ran for long is not the last writer of what is rewritten far
 * sooner, as the census saw it (rewritten.h).  What was learned of who writes where does not know that the
 * program has gone on to another phase; a thread of the last one would have its data for ever.
 */
#ifndef COMM_SILENCE_H
#define COMM_SILENCE_H

#include "compete.h"
#include "rewritten.h"

/*
 * Takes from n candidates' shares of a read what was written since by another, and gives it to those who ran
 * since, as they write.  Returns the part that there is nobody for.
 */
double comm_silence_move(struct comm_compete *compete, const struct comm_rewritten *rewritten,
			 const struct comm_window_read *read, uint32_t reader,
			 struct comm_candidate *candidate, uint32_t n);

#endif
