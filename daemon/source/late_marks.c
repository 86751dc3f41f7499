// SPDX-License-Identifier: GPL-2.0-or-later
#include "late_marks.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSES = 64,
	THREADS = 1024,	 /* one per hash value */
	FRAME_PARTS = 4, /* a frame's beginning is known to so small a part of it, or not at all */
};

static const uint64_t AGAIN_NS = 1000 * 1000 * 1000; /* until a pointer is asked for again */

/* As in <comm/mark.h>, which is no header of ours to include: it makes marks. */
struct mark_stack {
	uint64_t depth, name[COMM_MARKS_MAX];
	uint32_t begun[COMM_MARKS_MAX];
};

/* The beginning of its struct comm_mark_process. */
struct mark_process {
	uint32_t stopped, changes;
	uint64_t frame;
};

/* When the words were begun to be read, and when that had ended; 0: before the thread was there. */
struct look {
	uint64_t before_ns, after_ns;
};

struct thread {
	uint32_t tgid, tid; /* tid 0: free */
	uint64_t pointer;   /* 0: not known */
	uint64_t again_ns;  /* not asked before */
	struct look old, last;
	struct mark_stack old_stack, last_stack; /* a thread begins with zeroes */
};

struct process {
	uint32_t tgid; /* 0: free */
	struct comm_marks_place place;
	uint64_t placed_ns;
	uint64_t again_ns;
	struct look old, last;
	bool old_stopped, last_stopped;
	uint64_t frame, told_frame; /* that the last look saw, and that was told */
	uint64_t boundary_ns;	    /* where that frame began, as far as is known */
	bool is_held;		    /* told with the next one */
};

struct comm_late_marks {
	struct comm_late_marks_ops ops;
	struct process process[PROCESSES];
	struct thread thread[THREADS];
};

int comm_late_marks_create(const struct comm_late_marks_ops *ops, struct comm_late_marks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->ops = *ops;
	return 0;
}

void comm_late_marks_destroy(struct comm_late_marks *marks)
{
	free(marks);
}

static struct process *find_process(struct comm_late_marks *marks, uint32_t tgid)
{
	for (size_t i = 0; tgid && i < PROCESSES; i++)
		if (marks->process[i].tgid == tgid)
			return &marks->process[i];
	return NULL;
}

/* A free place, or that of the process which was not met for longest. */
static struct process *find_place(struct comm_late_marks *marks)
{
	struct process *oldest = marks->process;

	for (size_t i = 0; i < PROCESSES; i++) {
		struct process *p = &marks->process[i];

		if (!p->tgid)
			return p;
		if (p->last.before_ns < oldest->last.before_ns)
			oldest = p;
	}
	return oldest;
}

static struct thread *thread_place(struct comm_late_marks *marks, uint32_t tgid, uint32_t tid)
{
	return &marks->thread[comm_hash_mix(tid, tgid) % THREADS];
}

static struct thread *thread_of(struct comm_late_marks *marks, uint32_t tgid, uint32_t tid)
{
	struct thread *t = thread_place(marks, tgid, tid);

	if (t->tgid != tgid || t->tid != tid)
		*t = (struct thread){.tgid = tgid, .tid = tid};
	return t;
}

static void forget_threads(struct comm_late_marks *marks, uint32_t tgid)
{
	for (size_t i = 0; i < THREADS; i++)
		if (marks->thread[i].tgid == tgid)
			marks->thread[i] = (struct thread){0};
}

void comm_late_marks_place(struct comm_late_marks *marks, uint32_t tgid,
			   const struct comm_marks_place *place)
{
	struct process *p = find_process(marks, tgid);

	if (p && p->place.stack == place->stack && p->place.process == place->process)
		return;
	if (!p)
		p = find_place(marks);
	forget_threads(marks, tgid);
	*p = (struct process){
		.tgid = tgid, .place = *place, .placed_ns = marks->ops.now_ns(marks->ops.ctx)};
}

/* What was placed later than the event is of who came after it. */
static void forget_process(struct comm_late_marks *marks, uint32_t tgid, uint64_t time_ns)
{
	struct process *p = find_process(marks, tgid);

	if (!p || p->placed_ns > time_ns)
		return;
	forget_threads(marks, tgid);
	*p = (struct process){0};
}

void comm_late_marks_event(struct comm_late_marks *marks, const struct comm_event *event)
{
	struct thread *t = thread_place(marks, event->tgid, event->tid);

	switch (event->kind) {
	case COMM_EV_EXEC:
		forget_process(marks, event->tgid, event->time_ns);
		break;
	case COMM_EV_EXIT:
		if (t->tgid == event->tgid && t->tid == event->tid)
			*t = (struct thread){0};
		break;
	case COMM_EV_FORK:
		if (event->fork.child_tgid != event->tgid)
			forget_process(marks, event->fork.child_tgid, event->time_ns);
		break;
	default:
		break;
	}
}

static bool read_words(struct comm_late_marks *marks, uint32_t tgid, uint64_t addr, void *words,
		       size_t bytes, struct look *ret)
{
	const struct comm_late_marks_ops *ops = &marks->ops;
	ssize_t n;

	ret->before_ns = ops->now_ns(ops->ctx);
	n = ops->memory(ops->ctx, tgid, addr, words, bytes);
	ret->after_ns = ops->now_ns(ops->ctx);
	return n == (ssize_t)bytes;
}

/* Looks at the thread unless it was looked at since then; false: that fails. */
static bool look_at_thread(struct comm_late_marks *marks, const struct process *p, struct thread *t,
			   uint64_t time_ns)
{
	const struct comm_late_marks_ops *ops = &marks->ops;
	uint64_t now_ns = ops->now_ns(ops->ctx);
	struct mark_stack stack;
	struct look look;

	if (t->last.before_ns >= time_ns)
		return true;
	if (now_ns < t->again_ns)
		return false;
	if ((t->pointer || !ops->thread_pointer(ops->ctx, t->tgid, t->tid, &t->pointer)) &&
	    read_words(marks, t->tgid, t->pointer + (uint64_t)p->place.stack, &stack, sizeof(stack),
		       &look)) {
		t->old = t->last;
		t->old_stack = t->last_stack;
		t->last = look;
		t->last_stack = stack;
		return t->last.before_ns >= time_ns;
	}
	t->pointer = 0;
	t->again_ns = now_ns + AGAIN_NS;
	return false;
}

static void add(struct comm_marks *marks, uint64_t name)
{
	if (marks->n < COMM_MARKS_MAX)
		marks->name[marks->n++] = name;
}

/* Those in which the thread was from one look to the other. */
static void regions_between(const struct mark_stack *old, const struct mark_stack *last,
			    struct comm_marks *ret)
{
	for (uint32_t i = 0; i < COMM_MARKS_MAX; i++) {
		bool was_in = old->depth > i, is_in = last->depth > i;

		if (old->begun[i] != last->begun[i] || was_in != is_in ||
		    (is_in && old->name[i] != last->name[i])) {
			add(ret, COMM_MARK_NOT_KNOWN);
			return;
		}
		if (!is_in)
			return;
		add(ret, last->name[i]);
	}
}

/*
 * Has the frame that the last look saw told, if it is another one: not before the sample at time_ns,
 * as what is older may have been passed on.
 */
static void date_frame(struct process *p, uint64_t time_ns, struct comm_late_mark *ret)
{
	uint64_t early_ns = p->old.before_ns ? p->old.before_ns : p->last.before_ns;
	uint64_t width_ns = p->last.after_ns - early_ns, middle_ns = early_ns + width_ns / 2;
	uint64_t n = p->frame - p->told_frame;

	if (p->frame <= p->told_frame || p->last_stopped)
		return;
	if (p->told_frame && n == 1) {
		if (p->is_held)
			return;
		p->is_held = width_ns * FRAME_PARTS > middle_ns - p->boundary_ns;
	} else {
		p->is_held = false;
	}
	p->boundary_ns = middle_ns;
	if (p->is_held)
		return;
	p->told_frame = ret->frame = p->frame;
	ret->frame_ns = middle_ns > time_ns ? middle_ns : time_ns;
}

static void look_at_process(struct comm_late_marks *marks, struct process *p, uint64_t time_ns,
			    struct comm_late_mark *ret)
{
	struct mark_process words;
	struct look look;
	uint64_t now_ns = marks->ops.now_ns(marks->ops.ctx);

	if (p->place.process && p->last.before_ns < time_ns && now_ns >= p->again_ns) {
		if (read_words(marks, p->tgid, p->place.process, &words, sizeof(words), &look)) {
			p->old = p->last;
			p->old_stopped = p->last_stopped;
			p->last = look;
			p->last_stopped = words.stopped;
			p->frame = words.frame;
			date_frame(p, time_ns, ret);
		} else {
			p->again_ns = now_ns + AGAIN_NS;
		}
	}
	ret->stopped = p->old_stopped || p->last_stopped;
}

bool comm_late_marks_at(struct comm_late_marks *marks, uint32_t tgid, uint32_t tid,
			uint64_t time_ns, struct comm_late_mark *ret)
{
	struct process *p = find_process(marks, tgid);
	struct thread *t;

	*ret = (struct comm_late_mark){0};
	if (!p)
		return false;
	look_at_process(marks, p, time_ns, ret);
	if (ret->stopped)
		return true;
	t = thread_of(marks, tgid, tid);
	if (p->place.counts && look_at_thread(marks, p, t, time_ns) && t->old.after_ns <= time_ns)
		regions_between(&t->old_stack, &t->last_stack, &ret->regions);
	else
		add(&ret->regions, COMM_MARK_NOT_KNOWN);
	return true;
}
