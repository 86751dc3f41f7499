// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame.h"

#include <stddef.h>

static struct comm_frame_process *find(struct comm_frames *frames, uint32_t tgid)
{
	for (uint32_t i = 0; i < frames->n; i++)
		if (frames->process[i].tgid == tgid)
			return &frames->process[i];
	return NULL;
}

/* The place of a process that is not there: a free one, or that of which nothing was met for longest. */
static struct comm_frame_process *find_place(struct comm_frames *frames)
{
	struct comm_frame_process *oldest = frames->process;

	for (uint32_t i = 0; i < frames->n; i++) {
		if (!frames->process[i].tgid)
			return &frames->process[i];
		if (frames->process[i].met_ns < oldest->met_ns)
			oldest = &frames->process[i];
	}
	return frames->n < COMM_FRAMES_PROCESSES ? &frames->process[frames->n++] : oldest;
}

uint64_t comm_frames_mark(struct comm_frames *frames, uint32_t tgid, uint64_t number,
			  uint64_t now_ns)
{
	struct comm_frame_process *p = find(frames, tgid);
	uint64_t n;

	if (!tgid)
		return 0;
	if (!p)
		p = find_place(frames);
	if (p->tgid != tgid || number < p->number) {
		*p = (struct comm_frame_process){.tgid = tgid, .number = number, .met_ns = now_ns};
		return 0;
	}
	n = number - p->number;
	if (!n)
		return 0;
	p->before_ns = p->began_ns;
	p->began_ns = 0;
	if (n == 1 && p->n_met >= COMM_FRAMES_MET && now_ns > p->met_ns)
		p->began_ns = p->met_ns + (now_ns - p->met_ns) / 2;
	p->number = number;
	p->n_met = 0;
	return n;
}

struct comm_frame_at comm_frames_at(struct comm_frames *frames, uint32_t tgid, uint64_t now_ns)
{
	struct comm_frame_process *p = tgid ? find(frames, tgid) : NULL;

	if (!p)
		return (struct comm_frame_at){0};
	p->n_met++;
	if (now_ns > p->met_ns)
		p->met_ns = now_ns;
	if (!p->began_ns || !p->before_ns || now_ns <= p->began_ns)
		return (struct comm_frame_at){0};
	return (struct comm_frame_at){(float)(now_ns - p->began_ns),
				      (float)(now_ns - p->before_ns)};
}

void comm_frames_drop(struct comm_frames *frames, uint32_t tgid)
{
	struct comm_frame_process *p = tgid ? find(frames, tgid) : NULL;

	if (p)
		*p = (struct comm_frame_process){0};
}
