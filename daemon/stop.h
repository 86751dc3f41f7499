/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tells commd to end: a signal, at any time.  Whoever works in rounds looks whether it was
 * told; what does not return, because it reads something endless or something that never
 * answers, is ended by a timer, and the run with it.
 */
#ifndef COMMD_STOP_H
#define COMMD_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* Once, before anything that may take long.  0 or -errno. */
int comm_stop_catch(void);
/* Becomes readable when commd is told to end; never read it. */
int comm_stop_fd(void);
bool comm_stop_told(void);
/* When it was told first, CLOCK_MONOTONIC; UINT64_MAX: it was not. */
uint64_t comm_stop_told_ns(void);
/*
 * The run's end is being written, which is bounded work: it may take longer than the second
 * that everything else has, as on a slow disk.
 */
void comm_stop_ending(void);

#endif
