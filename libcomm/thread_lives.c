/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread_lives.h"

/* Thread tid of the process tgid (0: not a target's) goes on a CPU, or off it. */
static void sched(const struct comm_thread_lives *lives, uint64_t time_ns, uint32_t tgid,
		  uint32_t tid, bool on_cpu)
{
	const struct comm_est_ops *ops = lives->ops;
	uint32_t thread;

	if (!ops->sched || !tgid)
		return;
	thread = comm_threads_get(lives->identity->threads, tgid, tid, time_ns);
	if (ops->sched(lives->est, time_ns, thread, on_cpu))
		comm_open_slice_lose(lives->slice, COMM_LOSS_SCHED, 1);
}

void comm_thread_lives_switch(const struct comm_thread_lives *lives, const struct comm_event *event)
{
	sched(lives, event->time_ns, event->sched.prev_tgid, event->tid, false);
	sched(lives, event->time_ns, event->sched.next_tgid, event->next_tid, true);
}

void comm_thread_lives_exec(const struct comm_thread_lives *lives, const struct comm_event *event)
{
	const struct comm_est_ops *ops = lives->ops;

	comm_space_changed(lives->spaces, event->tgid);
	comm_frames_drop(lives->frames, event->tgid);
	comm_threads_exec(lives->identity->threads, event->tgid, event->tid);
	if (ops->began)
		ops->began(lives->est, event->time_ns,
			   comm_threads_get(lives->identity->threads, event->tgid, event->tgid,
					    event->time_ns));
}

static void forget_process(const struct comm_thread_lives *lives, uint32_t tgid)
{
	comm_space_drop(lives->spaces, tgid);
	comm_objects_drop(lives->identity->objects, tgid);
	comm_frames_drop(lives->frames, tgid);
}

void comm_thread_lives_exit(const struct comm_thread_lives *lives, const struct comm_event *event)
{
	const struct comm_est_ops *ops = lives->ops;
	struct comm_threads *threads = lives->identity->threads;

	comm_threads_named(threads, event);
	if (ops->ended)
		ops->ended(lives->est, comm_threads_find(threads, event->tgid, event->tid));
	comm_threads_exit(threads, event->tid, event->time_ns);
	if (event->tid == event->tgid)
		forget_process(lives, event->tgid);
}

/*
 * A record may come after its process's end, which is not told again: first writes of pages are
 * told late, and threads may outlive the first one of their process.
 */
void comm_thread_lives_forget(const struct comm_thread_lives *lives)
{
	uint32_t tgid;

	while (comm_space_crowded(lives->spaces, &tgid))
		forget_process(lives, tgid);
}
