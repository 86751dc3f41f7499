/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: rounds of work that a process does again and again, and says so (COMM_FRAME() of
 * <comm/mark.h>).  The program counts its frames and nothing more, so when one began is known as far
 * as samples saw the count: between the last one that met a smaller count, and the first that met this
 * one.  A frame of which fewer than COMM_FRAMES_MET samples met the one before is of no known
 * beginning: estimators could not tell what was written in it, either.
 *
 * Bounded: of COMM_FRAMES_PROCESSES processes at once; of more, those that were not met for longest
 * give way, and their frames are not known until two have begun.
 */
#ifndef COMM_FRAME_H
#define COMM_FRAME_H

#include <stdint.h>

enum { COMM_FRAMES_PROCESSES = 64, COMM_FRAMES_MET = 16 };

/* How long before an instant its frame began, and the frame before that; 0: not known. */
struct comm_frame_at {
	float began_ns, before_ns;
};

/* Where a process is in its frames. */
struct comm_frame_process {
	uint32_t tgid; /* 0: free */
	uint64_t number, met_ns;
	uint64_t n_met;		      /* samples in this frame */
	uint64_t began_ns, before_ns; /* when it did, and the one before; 0: not known */
};

struct comm_frames {
	struct comm_frame_process process[COMM_FRAMES_PROCESSES];
	uint32_t n;
};

/* A sample at now_ns met the process in that frame.  Returns how many began since it was last met. */
uint64_t comm_frames_mark(struct comm_frames *frames, uint32_t tgid, uint64_t number,
			  uint64_t now_ns);
/* A sample at now_ns met the process, in the frame of which comm_frames_mark() told last. */
struct comm_frame_at comm_frames_at(struct comm_frames *frames, uint32_t tgid, uint64_t now_ns);
/* The process has ended, or runs another program. */
void comm_frames_drop(struct comm_frames *frames, uint32_t tgid);

#endif
