// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cgroup.h>
#include <linux/hash.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "target.h"

/* A process or a cgroup, held by reference: a number that is used again does not match. */
struct cp_target_one {
	struct hlist_node node;
	struct rcu_head rcu;
	struct pid *pid; /* NULL: a cgroup */
	struct cgroup *cgroup;
	bool children;
};

enum { GENERATIONS = 8 };

static u32 cp_target_bucket(const struct pid *pid)
{
	return hash_ptr(pid, CP_TARGET_BUCKETS_LOG);
}

static struct hlist_head *cp_target_head(struct cp_targets *targets, const struct pid *pid)
{
	return pid ? &targets->process[cp_target_bucket(pid)] : &targets->cgroups;
}

static void cp_target_put(struct pid *pid, struct cgroup *cgroup)
{
	put_pid(pid);
	if (cgroup)
		cgroup_put(cgroup);
}

static void cp_target_free(struct rcu_head *rcu)
{
	struct cp_target_one *one = container_of(rcu, struct cp_target_one, rcu);

	cp_target_put(one->pid, one->cgroup);
	kfree(one);
}

static void cp_target_remove(struct cp_targets *targets, struct cp_target_one *one)
{
	hlist_del_rcu(&one->node);
	targets->n--;
	WRITE_ONCE(targets->n_children, targets->n_children - one->children);
	/* A handler may look at it still, and its pid must not become another's. */
	call_rcu(&one->rcu, cp_target_free);
}

static bool cp_target_is_dead(struct pid *pid)
{
	bool dead;

	rcu_read_lock();
	dead = !pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return dead;
}

/*
 * Processes that are gone make capacity: their numbers can no longer be named, so
 * nobody could remove them.
 */
static void cp_targets_prune(struct cp_targets *targets)
{
	struct cp_target_one *one;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets->process); i++)
		hlist_for_each_entry_safe(one, next, &targets->process[i], node)
			if (cp_target_is_dead(one->pid))
				cp_target_remove(targets, one);
}

/* Takes over the reference to pid or cgroup if it is 0. */
static int cp_targets_add(struct cp_targets *targets, struct pid *pid, struct cgroup *cgroup,
			  bool children)
{
	struct cp_target_one *one;

	if (targets->n >= CP_MAX_TARGETS)
		return -ENOSPC;
	one = kzalloc(sizeof(*one), GFP_KERNEL_ACCOUNT);
	if (!one)
		return -ENOMEM;
	one->pid = pid;
	one->cgroup = cgroup;
	one->children = children;
	targets->n++;
	WRITE_ONCE(targets->n_children, targets->n_children + children);
	hlist_add_head_rcu(&one->node, cp_target_head(targets, pid));
	return 0;
}

static int cp_targets_edit(struct cp_targets *targets, struct pid *pid, struct cgroup *cgroup,
			   u32 flags)
{
	struct cp_target_one *one;
	int ret;

	hlist_for_each_entry(one, cp_target_head(targets, pid), node) {
		if (one->pid != pid || one->cgroup != cgroup)
			continue;
		ret = flags & CP_TARGET_REMOVE ? 0 : -EEXIST;
		if (!ret)
			cp_target_remove(targets, one);
		goto put;
	}
	ret = flags & CP_TARGET_REMOVE
		      ? -ENOENT
		      : cp_targets_add(targets, pid, cgroup, flags & CP_TARGET_CHILDREN);
	if (!ret)
		return 0;
put:
	cp_target_put(pid, cgroup);
	return ret;
}

static int cp_target_find_process(int id, struct pid **ret)
{
	struct pid *pid = id > 0 ? find_get_pid(id) : NULL;

	if (!pid)
		return -ESRCH;
	if (cp_target_is_dead(pid)) {
		put_pid(pid);
		return -ESRCH;
	}
	*ret = pid;
	return 0;
}

static int cp_target_find_cgroup(int fd, struct cgroup **ret)
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

int cp_targets_change(struct cp_targets *targets, const struct cp_target *change)
{
	bool remove = change->flags & CP_TARGET_REMOVE;
	struct cgroup *cgroup = NULL;
	struct pid *pid = NULL;
	int ret;

	if (change->flags & ~(CP_TARGET_REMOVE | CP_TARGET_CHILDREN) ||
	    (change->flags & CP_TARGET_CHILDREN && (remove || change->kind != CP_TARGET_TGID)))
		return -EINVAL;
	cp_targets_prune(targets);
	switch (change->kind) {
	case CP_TARGET_TGID:
		ret = cp_target_find_process(change->id, &pid);
		break;
	case CP_TARGET_CGROUP:
		ret = cp_target_find_cgroup(change->id, &cgroup);
		break;
	case CP_TARGET_ALL:
		if (change->id)
			return -EINVAL;
		if (targets->all != remove)
			return remove ? -ENOENT : -EEXIST;
		WRITE_ONCE(targets->all, !remove);
		return 0;
	default:
		return -EINVAL;
	}
	return ret ?: cp_targets_edit(targets, pid, cgroup, change->flags);
}

void cp_targets_deinit(struct cp_targets *targets)
{
	struct cp_target_one *one;
	struct hlist_node *next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets->process); i++)
		hlist_for_each_entry_safe(one, next, &targets->process[i], node)
			cp_target_remove(targets, one);
	hlist_for_each_entry_safe(one, next, &targets->cgroups, node)
		cp_target_remove(targets, one);
}

bool cp_targets_empty(const struct cp_targets *targets)
{
	return !targets->all && !targets->n;
}

static bool cp_targets_has_process(const struct cp_targets *targets, const struct pid *pid,
				   bool children)
{
	struct cp_target_one *one;

	hlist_for_each_entry_rcu(one, &targets->process[cp_target_bucket(pid)], node)
		if (one->pid == pid && one->children >= children)
			return true;
	return false;
}

static bool cp_targets_has_cgroup(const struct cp_targets *targets, struct task_struct *task)
{
#ifdef CONFIG_CGROUPS
	struct cp_target_one *one;

	hlist_for_each_entry_rcu(one, &targets->cgroups, node)
		if (task_under_cgroup_hierarchy(task, one->cgroup))
			return true;
#endif
	return false;
}

static bool cp_targets_has_ancestor(const struct cp_targets *targets,
				    const struct task_struct *task)
{
	u32 generation;

	for (generation = 0; generation < GENERATIONS; generation++) {
		task = rcu_dereference(task->real_parent);
		if (is_global_init((struct task_struct *)task))
			return false;
		/* A parent that is being released has no pid left. */
		if (cp_targets_has_process(targets, READ_ONCE(task->signal->pids[PIDTYPE_TGID]),
					   true))
			return true;
	}
	return false;
}

u64 cp_target_mm(const struct task_struct *task)
{
	const struct mm_struct *mm = task->flags & PF_KTHREAD ? NULL : READ_ONCE(task->mm);

	return mm ? mm->context.ctx_id : 0;
}

bool cp_targets_match_task(const struct cp_targets *targets, struct task_struct *task)
{
	/* The signal struct of a task outlives it, but exit unhooks it. */
	struct signal_struct *signal = READ_ONCE(task->signal);
	bool match;

	if (!signal || task->flags & PF_KTHREAD)
		return false;
	if (READ_ONCE(targets->all))
		return true;
	rcu_read_lock();
	match = cp_targets_has_process(targets, READ_ONCE(signal->pids[PIDTYPE_TGID]), false) ||
		cp_targets_has_cgroup(targets, task) ||
		(READ_ONCE(targets->n_children) && cp_targets_has_ancestor(targets, task));
	rcu_read_unlock();
	return match;
}

bool cp_targets_match(const struct cp_targets *targets)
{
	return cp_targets_match_task(targets, current);
}
