// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "target.h"

/* A pid is held by reference, so a number that is used again does not match. */
struct cp_target_set {
	bool all;
	bool children; /* somebody's count */
	u32 n;
	struct {
		struct pid *pid;
		struct cgroup *cgroup;
		bool children;
	} one[CP_MAX_TARGETS];
};

enum { GENERATIONS = 8 };

static int find(const struct cp_target_set *set, const struct pid *pid, const struct cgroup *cgroup)
{
	u32 i;

	for (i = 0; i < set->n; i++)
		if (set->one[i].pid == pid && set->one[i].cgroup == cgroup)
			return i;
	return -ENOENT;
}

static bool is_dead(struct pid *pid)
{
	bool dead;

	rcu_read_lock();
	dead = !pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return dead;
}

static void put(struct pid *pid, struct cgroup *cgroup)
{
	put_pid(pid);
	if (cgroup)
		cgroup_put(cgroup);
}

/* Takes over the references to pid or cgroup, also when it fails. */
static int edit(struct cp_target_set *set, struct pid *pid, struct cgroup *cgroup, u32 flags,
		struct pid **ret_pid, struct cgroup **ret_cgroup)
{
	bool remove = flags & CP_TARGET_REMOVE;
	int at = find(set, pid, cgroup);

	*ret_pid = pid;
	*ret_cgroup = cgroup;
	if (remove) {
		if (at < 0)
			return at;
		set->one[at] = set->one[--set->n];
		/* Two references go: the set's, below, and the caller's, later. */
		return 0;
	}
	if (at >= 0)
		return -EEXIST;
	if (set->n == CP_MAX_TARGETS)
		return -ENOSPC;
	set->one[set->n].pid = pid;
	set->one[set->n].cgroup = cgroup;
	set->one[set->n].children = flags & CP_TARGET_CHILDREN;
	set->n++;
	*ret_pid = NULL;
	*ret_cgroup = NULL;
	return 0;
}

static int find_process(int id, struct pid **ret)
{
	struct pid *pid = id > 0 ? find_get_pid(id) : NULL;

	if (!pid)
		return -ESRCH;
	if (is_dead(pid)) {
		put_pid(pid);
		return -ESRCH;
	}
	*ret = pid;
	return 0;
}

static int find_cgroup(int fd, struct cgroup **ret)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup = cgroup_get_from_fd(fd);

	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup);
	*ret = cgroup;
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

/*
 * Processes that are gone make room: their numbers can no longer be named, so
 * nobody could remove them.  Moves them behind the end; returns how many.
 */
static u32 prune(struct cp_target_set *set)
{
	u32 i = 0, dead = 0;

	while (i < set->n) {
		if (set->one[i].pid && is_dead(set->one[i].pid)) {
			swap(set->one[i], set->one[set->n - 1]);
			set->n--;
			dead++;
		} else {
			i++;
		}
	}
	return dead;
}

int cp_targets_change(struct cp_targets *targets, const struct cp_target *change)
{
	bool remove = change->flags & CP_TARGET_REMOVE;
	struct cp_target_set *old = rcu_dereference_protected(targets->set, 1);
	struct cp_target_set *new;
	struct cgroup *cgroup = NULL, *drop_cgroup = NULL;
	struct pid *pid = NULL, *drop_pid = NULL;
	struct pid *gone[CP_MAX_TARGETS];
	u32 i, dead;
	int ret = 0;

	if (change->flags & ~(CP_TARGET_REMOVE | CP_TARGET_CHILDREN) ||
	    (change->flags & CP_TARGET_CHILDREN && (remove || change->kind != CP_TARGET_TGID)))
		return -EINVAL;
	switch (change->kind) {
	case CP_TARGET_TGID:
		ret = find_process(change->id, &pid);
		break;
	case CP_TARGET_CGROUP:
		ret = find_cgroup(change->id, &cgroup);
		break;
	case CP_TARGET_ALL:
		ret = change->id ? -EINVAL : 0;
		break;
	default:
		ret = -EINVAL;
	}
	if (ret)
		return ret;

	new = old ? kmemdup(old, sizeof(*old), GFP_KERNEL) : kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new) {
		put(pid, cgroup);
		return -ENOMEM;
	}
	dead = prune(new);
	for (i = 0; i < dead; i++)
		gone[i] = new->one[new->n + i].pid;
	if (change->kind == CP_TARGET_ALL) {
		if (new->all != remove)
			ret = remove ? -ENOENT : -EEXIST;
		new->all = !remove;
	} else {
		ret = edit(new, pid, cgroup, change->flags, &drop_pid, &drop_cgroup);
	}
	if (ret) {
		kfree(new);
		put(drop_pid, drop_cgroup);
		return ret;
	}
	new->children = false;
	for (i = 0; i < new->n; i++)
		new->children |= new->one[i].children;
	rcu_assign_pointer(targets->set, new);
	synchronize_rcu(); /* handlers hold IRQs off: they are readers */
	kfree(old);
	for (i = 0; i < dead; i++)
		put_pid(gone[i]);
	if (remove) {
		put(drop_pid, drop_cgroup);
		put(drop_pid, drop_cgroup);
	}
	return 0;
}

void cp_targets_deinit(struct cp_targets *targets)
{
	struct cp_target_set *set = rcu_dereference_protected(targets->set, 1);
	u32 i;

	if (!set)
		return;
	for (i = 0; i < set->n; i++)
		put(set->one[i].pid, set->one[i].cgroup);
	kfree(set);
	RCU_INIT_POINTER(targets->set, NULL);
}

bool cp_targets_empty(const struct cp_targets *targets)
{
	struct cp_target_set *set = rcu_dereference_protected(targets->set, 1);

	return !set || (!set->all && !set->n);
}

static bool in_cgroup(struct task_struct *task, struct cgroup *cgroup)
{
#ifdef CONFIG_CGROUPS
	return task_under_cgroup_hierarchy(task, cgroup);
#else
	return false;
#endif
}

static bool descends(const struct cp_target_set *set, const struct task_struct *task)
{
	u32 generation, i;

	for (generation = 0; generation < GENERATIONS; generation++) {
		struct pid *pid;

		task = rcu_dereference(task->real_parent);
		if (is_global_init((struct task_struct *)task))
			return false;
		/* A parent that is being released has no pid left. */
		pid = READ_ONCE(task->signal->pids[PIDTYPE_TGID]);
		for (i = 0; i < set->n; i++)
			if (set->one[i].children && set->one[i].pid == pid)
				return true;
	}
	return false;
}

bool cp_targets_match_task(const struct cp_targets *targets, struct task_struct *task)
{
	/* The signal struct of a task outlives it, but exit unhooks it. */
	struct signal_struct *signal = READ_ONCE(task->signal);
	struct cp_target_set *set;
	bool match = false;
	u32 i;

	if (!signal || task->flags & PF_KTHREAD)
		return false;
	rcu_read_lock();
	set = rcu_dereference(targets->set);
	if (set) {
		struct pid *pid = READ_ONCE(signal->pids[PIDTYPE_TGID]);

		match = set->all;
		for (i = 0; i < set->n && !match; i++)
			match = set->one[i].pid ? set->one[i].pid == pid
						: in_cgroup(task, set->one[i].cgroup);
		if (!match && set->children)
			match = descends(set, task);
	}
	rcu_read_unlock();
	return match;
}

bool cp_targets_match(const struct cp_targets *targets)
{
	return cp_targets_match_task(targets, current);
}
