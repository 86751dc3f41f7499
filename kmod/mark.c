// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hash.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "capture.h"
#include "mark.h"
#include "ring.h"
#include "source.h"
#include "target.h"

/* A process, held by reference: a number that is used again does not match. */
struct cp_mark_place {
	struct hlist_node node;
	struct rcu_head rcu;
	struct pid *pid;
	u64 mm; /* of the image that has the marks, as in target.h */
	s64 stack;
	u64 process;
	u64 told_frame;
};

/* The beginning of a struct comm_mark_process. */
struct cp_mark_process {
	u32 stopped, changes;
	u64 frame;
};

/* A struct comm_mark_stack as far as it is read. */
struct cp_mark_stack {
	u64 depth;
	u64 name[CP_MARK_DEPTH];
};

static u32 cp_mark_bucket(const struct pid *pid)
{
	return hash_ptr(pid, CP_MARK_BUCKETS_LOG);
}

static void cp_mark_free(struct rcu_head *rcu)
{
	struct cp_mark_place *place = container_of(rcu, struct cp_mark_place, rcu);

	put_pid(place->pid);
	kfree(place);
}

static void cp_mark_remove(struct cp_mark_places *places, struct cp_mark_place *place)
{
	hlist_del_rcu(&place->node);
	WRITE_ONCE(places->n, places->n - 1);
	/* A handler may look at it still. */
	call_rcu(&place->rcu, cp_mark_free);
}

/* Those of processes that are gone make room. */
static void cp_marks_prune(struct cp_mark_places *places)
{
	struct cp_mark_place *place;
	struct hlist_node *next;
	bool dead;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places->process); i++) {
		hlist_for_each_entry_safe(place, next, &places->process[i], node) {
			rcu_read_lock();
			dead = !pid_task(place->pid, PIDTYPE_TGID);
			rcu_read_unlock();
			if (dead)
				cp_mark_remove(places, place);
		}
	}
}

void cp_marks_deinit(struct cp_mark_places *places)
{
	struct cp_mark_place *place;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places->process); i++)
		hlist_for_each_entry_safe(place, next, &places->process[i], node)
			cp_mark_remove(places, place);
}

static struct cp_mark_place *cp_marks_find(const struct cp_mark_places *places,
					   const struct pid *pid)
{
	struct cp_mark_place *place;

	hlist_for_each_entry_rcu(place, &places->process[cp_mark_bucket(pid)], node, true)
		if (place->pid == pid)
			return place;
	return NULL;
}

/* Takes over the reference to pid if it is 0. */
static int cp_marks_add(struct cp_mark_places *places, struct pid *pid, u64 mm,
			const struct cp_marks *change)
{
	struct cp_mark_place *place;

	if (places->n >= CP_MAX_MARKED)
		return -ENOSPC;
	place = kzalloc(sizeof(*place), GFP_KERNEL_ACCOUNT);
	if (!place)
		return -ENOMEM;
	place->pid = pid;
	place->mm = mm;
	place->stack = change->stack;
	place->process = change->process;
	WRITE_ONCE(places->n, places->n + 1);
	hlist_add_head_rcu(&place->node, &places->process[cp_mark_bucket(pid)]);
	return 0;
}

static u64 cp_mark_image(struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	u64 number = mm ? mm->context.ctx_id : 0;

	if (mm)
		mmput(mm);
	return number;
}

int cp_marks_change(struct cp_mark_places *places, const struct cp_marks *change)
{
	bool remove = change->flags & CP_MARKS_REMOVE;
	struct cp_mark_place *old;
	struct task_struct *task;
	struct pid *pid;
	u64 mm;
	int ret;

	if (change->flags & ~CP_MARKS_REMOVE || change->reserved ||
	    (remove && (change->stack || change->process)))
		return -EINVAL;
	if (places->n >= CP_MAX_MARKED)
		cp_marks_prune(places);
	pid = change->tgid > 0 ? find_get_pid(change->tgid) : NULL;
	task = pid ? get_pid_task(pid, PIDTYPE_TGID) : NULL;
	if (!task) {
		put_pid(pid);
		return -ESRCH;
	}
	mm = cp_mark_image(task);
	put_task_struct(task);
	old = cp_marks_find(places, pid);
	ret = remove ? old ? 0 : -ENOENT : cp_marks_add(places, pid, mm, change);
	/* The new one stands before the old one: a handler finds either. */
	if (!ret && old)
		cp_mark_remove(places, old);
	if (ret || remove)
		put_pid(pid);
	return ret;
}

static bool cp_mark_read_user(void *to, u64 from, u32 bytes)
{
	return !copy_from_user_nmi(to, (void __user *)from, bytes);
}

bool cp_marks_look(const struct cp_mark_places *places, struct cp_hit *hit)
{
	struct signal_struct *signal = READ_ONCE(current->signal);
	struct cp_mark_process now;
	struct cp_mark_place *place;

	if (!READ_ONCE(places->n) || !signal)
		return true;
	rcu_read_lock();
	place = cp_marks_find(places, READ_ONCE(signal->pids[PIDTYPE_TGID]));
	if (!place || place->mm != cp_target_mm(current))
		goto out;
	hit->mark = place;
	/* What cannot be read says nothing. */
	if (!place->process || !cp_mark_read_user(&now, place->process, sizeof(now)))
		goto out;
	if (now.stopped) {
		rcu_read_unlock();
		return false;
	}
	hit->frame = now.frame;
out:
	rcu_read_unlock();
	return true;
}

void cp_hit_mark(struct cp_hit *hit)
{
	struct cp_mark_place *place = hit->mark;
	struct cp_mark_stack stack = {};
	struct cp_mark *record;
	u64 pointer, told;

	if (!place)
		return;
	hit->mark = NULL;
	pointer = cp_capture_thread_pointer();
	/* A thread without a pointer has not begun to run the program. */
	if (pointer && !cp_mark_read_user(&stack, pointer + place->stack, sizeof(stack)))
		stack = (struct cp_mark_stack){.depth = 1};
	told = READ_ONCE(place->told_frame);
	if (!stack.depth && hit->frame <= told)
		return;
	record = cp_ring_reserve(hit->ring, sizeof(*record));
	if (!record)
		return;
	cp_hit_head(hit, &record->head, CP_REC_MARK);
	record->frame = 0;
	if (hit->frame > told) {
		record->frame = hit->frame;
		WRITE_ONCE(place->told_frame, hit->frame);
	}
	record->depth = stack.depth;
	memcpy(record->name, stack.name, sizeof(record->name));
	cp_ring_commit(hit->ring, record, sizeof(*record));
}
