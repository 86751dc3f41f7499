/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Are the accesses true that the processor is said to sample?  A process of its own reads and
 * writes at known addresses, in an endless loop of one load and one store, and every sample of it
 * must name one of the two: its instruction, its direction, and an address that it goes to.  That
 * an event can be opened says none of this.
 *
 * Forks; for the thread that has no others yet.
 */
#ifndef COMMD_SELF_TEST_H
#define COMMD_SELF_TEST_H

#include "source.h"

struct comm_self_test {
	unsigned int loads, stores; /* samples that were true */
	unsigned int wrong;
};

/*
 * Samples it by this source with this argument.  0: enough of the samples came, and they are true; or
 * -errno, and *why says what was found (malloc'ed).  *ret holds the counts in both cases.
 */
int comm_self_test(const struct comm_source *source, const char *arg, struct comm_self_test *ret,
		   char **why);

#endif
