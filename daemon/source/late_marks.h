/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of programs (<comm/mark.h>) for a source whose samples cannot read them: the daemon reads the words of
 * a thread when it drains, some 25 to 500 ms after the sample.  It says only what is certain.  A thread
 * counts how many regions it has begun at each depth, so a region that was there at one look
 * and at the next one, with the same count, was there at all samples in between, whatever was inside; and where nothing
 * was there, with the same count, nothing was.  All else is COMM_MARK_NOT_KNOWN.
 *
 * So what is said is right, and what is not said is not random: the shorter a region, the more of
 * its samples are not known, and all of them if it is always shorter than the interval of looks.
 *
 * A frame is told to have begun in the middle between two looks, if it is the only one and that interval is
 * short beside it (FRAME_PARTS); of others the number is told with the next one, so that nobody
 * knows when they began (frame.h).  A COMM_STOP() that one of the two looks did not meet drops all samples
 * between them; one that both did not meet drops none.
 *
 * Bounded: of threads and processes that there is no room for nothing is said.  One thread uses it.
 */
#ifndef COMMD_LATE_MARKS_H
#define COMMD_LATE_MARKS_H

#include "event.h"
#include "marks.h"

#include <sys/types.h>

struct comm_late_marks;

/* How it looks; what is read is hostile. */
struct comm_late_marks_ops {
	/* Memory of a process; returns how many bytes could be read, or -errno. */
	ssize_t (*memory)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes);
	/* A thread's pointer to its variables. */
	int (*thread_pointer)(void *ctx, uint32_t tgid, uint32_t tid, uint64_t *ret);
	uint64_t (*now_ns)(void *ctx); /* the clock of samples */
	void *ctx;
};

/* What a process was in at a sample. */
struct comm_late_mark {
	bool stopped; /* it said COMM_STOP() */
	uint64_t frame,
		frame_ns; /* not 0: it was in this frame from then on, and it was not told before */
	struct comm_marks regions;
};

int comm_late_marks_create(const struct comm_late_marks_ops *ops, struct comm_late_marks **ret);
void comm_late_marks_destroy(struct comm_late_marks *marks);
/* The process has marks, and there; again with the same place for a process that may be another. */
void comm_late_marks_place(struct comm_late_marks *marks, uint32_t tgid,
			   const struct comm_marks_place *place);
/* A thread has ended or a process runs another program: what is known of it is forgotten. */
void comm_late_marks_event(struct comm_late_marks *marks, const struct comm_event *event);
/* False: the process has no marks that were told. */
bool comm_late_marks_at(struct comm_late_marks *marks, uint32_t tgid, uint32_t tid,
			uint64_t time_ns, struct comm_late_mark *ret);

#endif
