/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chosen code: the pieces of code in which functions read that a run is about (commd --function), those that write where these
 * read, and those whose bursts come there.  A sampler takes all samples there and fewer elsewhere.  Bursts
 * show them, so that inlined and generated code is found as any other.  A piece where nobody reads any more costs samples
 * and makes nothing wrong; one that the sampler has no room for is met less often.
 */
#ifndef COMM_CHOSEN_CODE_H
#define COMM_CHOSEN_CODE_H

#include <stdint.h>

#include "burst.h"
#include "event.h"

enum { COMM_CHOSEN_NEW = 32, COMM_CHOSEN_NOTED = 8192, COMM_CHOSEN_PAGES = 4096 };

/* Zeroed at first.  Each key, and each page, has one place in its table; the last that falls there has it. */
struct comm_chosen_code {
	uint64_t noted[COMM_CHOSEN_NOTED]; /* keys told already */
	uint64_t page[COMM_CHOSEN_PAGES];  /* of memory, where such functions have read */
};

/*
 * Takes a burst of a process that runs the program (wanted_lines.h) into account.  Returns how many keys of
 * pieces are new; of more than COMM_CHOSEN_NEW the others come with a later burst.
 */
unsigned int comm_chosen_code_burst(struct comm_chosen_code *code, uint64_t program,
				    const struct comm_sample *sample,
				    const struct comm_burst *burst, uint64_t ret[COMM_CHOSEN_NEW]);

#endif
