/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Epochs: when a cell was written, in the 16 bits that it has for that.  An epoch is of one frame of the process and,
 * where the run is cut, of one slice; where it is not, it is the frame's number.  What epochs are of is known to all
 * processes that came from one by fork(); each is in one of its own, and only the first one is told of slices.
 */
#ifndef COMM_EXACT_TSAN_EPOCH_H
#define COMM_EXACT_TSAN_EPOCH_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * After COMM_EXACT_EPOCH_WRAP of them they begin again at 1: what was written as many frames ago seems to be new then,
 * and of which slice it is is not known any more.
 */
enum { COMM_EXACT_EPOCH_WRAP = UINT16_MAX - 1, COMM_EXACT_STOPPED = UINT16_MAX };

/* In place of a slice's number: it is not known. */
#define COMM_EXACT_NO_SLICE UINT32_MAX

/* The one that the process is in; 0: before the first frame, of a run that is not cut. */
extern uint16_t comm_exact_epoch;
/* That which reads are of: COMM_EXACT_STOPPED, which is none, while they do not count, nor do writes. */
extern uint16_t comm_exact_epoch_read;

/* The run will be cut: the first slice begins. */
void comm_exact_epochs_cut(void);
void comm_exact_epoch_slice(uint32_t slice);
void comm_exact_epoch_frame(uint64_t frame);
void comm_exact_epoch_stop(int stopped);
/* In a child of fork(). */
void comm_exact_epochs_forked(void);

/* How many frames ago that was: 1 this frame, 2 the one before it, 3 earlier; 0: there are none yet. */
uint32_t comm_exact_back(uint16_t written);
/* The slice and 1, COMM_EXACT_NO_SLICE, or 0: it is that which the process is in, or nobody cuts slices. */
uint32_t comm_exact_earlier(uint16_t written);

#pragma GCC visibility pop

#endif
