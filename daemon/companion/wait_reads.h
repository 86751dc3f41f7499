/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wait reads: does a burst wait for another thread's write?  One that writes nothing and reads the same
 * few data over and over does (window.h has the turns), so does one that reads few and yields, and so does
 * one all of whose reads were met in such a loop (waited_reads.h).  It reads for as long as what it waits for is
 * not there, so what it reads is no amount of data.
 */
#ifndef COMM_WAIT_READS_H
#define COMM_WAIT_READS_H

#include <stdbool.h>
#include <stdint.h>

#include "burst.h"
#include "waited_reads.h"

bool comm_wait_reads_is(struct comm_waited_reads *known, uint32_t tgid,
			const struct comm_burst *burst);

#endif
