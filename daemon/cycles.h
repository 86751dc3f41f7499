/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many core cycles pass in a nanosecond while a thread computes.  The time
 * stamp counter does not tell: it runs at a nominal rate.  Measured with a
 * chain of dependent multiplications, which take three cycles each on every
 * x86-64 core of the last fifteen years (Intel's and AMD's optimization
 * manuals, instruction latencies).  Takes some 2 ms.
 */
#ifndef COMMD_CYCLES_H
#define COMMD_CYCLES_H

double comm_cycles_per_ns(void);

#endif
