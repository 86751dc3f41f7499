/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of a slice's windows (watched.h), besides the edges that they made. */
#ifndef COMM_WATCHED_SUMS_H
#define COMM_WATCHED_SUMS_H

#include <stdint.h>

struct comm_watched_sums {
	uint64_t watches;	 /* that ended */
	double unanswered_bytes; /* bytes read that those stand for in which nobody was seen to write */
};

#endif
