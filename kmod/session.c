// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cpus.h"
#include "session.h"
#include "softpmu.h"

static void cp_session_wake(struct irq_work *work)
{
	wake_up_interruptible_poll(&container_of(work, struct cp_session, wake)->wait,
				   EPOLLIN | EPOLLRDNORM);
}

static void cp_session_quiesce(struct cp_session *session)
{
	if (session->watch)
		cp_watch_quiesce(session->watch);
	irq_work_sync(&session->wake);
}

static int cp_session_start(struct cp_session *session)
{
	unsigned int cpu;
	int ret;

	if (!session->ring_bytes || !session->n_sources || cp_targets_empty(&session->targets))
		return -EINVAL;
	for_each_possible_cpu(cpu) {
		struct cp_percpu *percpu = per_cpu_ptr(session->percpu, cpu);
		u32 i;

		/* A stop must not leave a spent budget or an old factor behind. */
		for (i = 0; i < CP_CONTEXTS; i++)
			cp_meter_begin(&percpu->meter[i]);
	}
	if (session->watch)
		cp_watch_begin(session->watch);
	ret = cp_cpus_start(session);
	if (ret) {
		cp_session_quiesce(session);
		return ret;
	}
	session->running = true;
	return 0;
}

static int cp_session_stop(struct cp_session *session)
{
	if (!session->running)
		return -EINVAL;
	cp_cpus_stop(session);
	cp_session_quiesce(session);
	session->running = false;
	return 0;
}

static int cp_session_info(struct cp_session *session, struct cp_info *info)
{
	info->abi = CP_ABI_VERSION;
	info->cpus = nr_cpu_ids;
	info->page_bytes = PAGE_SIZE;
	info->slots = CP_MAX_SLOTS;
	info->soft_pmu_type = cp_softpmu_type();
	return 0;
}

/* Kernels without network and io_uring count what perf has locked, and nothing else. */
static atomic_long_t *cp_session_locked_by(struct user_struct *user)
{
#ifdef CP_HAVE_LOCKED_VM
	return &user->locked_vm;
#else
	return &user->perf_mlock;
#endif
}

/*
 * Pages that cannot be paged out count against RLIMIT_MEMLOCK of the user, as those of
 * AF_XDP and io_uring do.  perf grants each user some more (perf_event_mlock_kb), which
 * modules cannot see.
 */
static int cp_session_lock_memory(struct cp_session *session, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, old;
	struct user_struct *user = current_user();
	atomic_long_t *locked = cp_session_locked_by(user);

	if (capable(CAP_IPC_LOCK))
		return 0;
	do {
		old = atomic_long_read(locked);
		if (old + pages > limit)
			return -ENOBUFS;
	} while (atomic_long_cmpxchg(locked, old, old + pages) != old);
	session->user = get_uid(user);
	session->locked_pages = pages;
	return 0;
}

static void cp_session_unlock_memory(struct cp_session *session)
{
	if (!session->user)
		return;
	atomic_long_sub(session->locked_pages, cp_session_locked_by(session->user));
	free_uid(session->user);
	session->user = NULL;
}

static void cp_session_rings_deinit(struct cp_session *session)
{
	unsigned int cpu;
	u32 i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < CP_CONTEXTS; i++)
			cp_ring_deinit(&per_cpu_ptr(session->percpu, cpu)->ring[i]);
	cp_session_unlock_memory(session);
}

/* For every possible CPU: one that comes later must not need memory then. */
static int cp_session_rings(struct cp_session *session, const struct cp_rings *config)
{
	u32 watermark = config->watermark_bytes ?: config->ring_bytes / 2;
	unsigned int cpu;
	u32 i;
	int ret;

	if (session->ring_bytes)
		return -EBUSY;
	if (config->flags || !is_power_of_2(config->ring_bytes) ||
	    config->ring_bytes < CP_MIN_RING_BYTES || config->ring_bytes > CP_MAX_RING_BYTES ||
	    watermark > config->ring_bytes)
		return -EINVAL;
	ret = cp_session_lock_memory(session, (unsigned long)num_possible_cpus() * CP_CONTEXTS *
						      cp_ring_pages(config->ring_bytes));
	if (ret)
		return ret;
	for_each_possible_cpu(cpu) {
		for (i = 0; i < CP_CONTEXTS; i++) {
			ret = cp_ring_init(&per_cpu_ptr(session->percpu, cpu)->ring[i], cpu,
					   config->ring_bytes, watermark);
			if (ret) {
				cp_session_rings_deinit(session);
				return ret;
			}
		}
	}
	/* Publishes the rings to poll and mmap, which do not take the mutex. */
	smp_store_release(&session->ring_bytes, config->ring_bytes);
	return 0;
}

static int cp_session_source(struct cp_session *session, struct cp_source *config)
{
	u32 id = session->n_sources;
	int ret;

	if (id == CP_MAX_SOURCES)
		return -ENOSPC;
	session->source[id].id = id;
	ret = cp_source_init(&session->source[id], session, config);
	if (ret)
		return ret;
	config->id = id;
	session->n_sources++;
	return 0;
}

static int cp_session_watch(struct cp_session *session, const struct cp_watch *config)
{
	struct cp_watcher *new;
	int ret = cp_watch_create(session, config, &new);

	if (ret)
		return ret;
	cp_watch_destroy(session->watch);
	session->watch = new;
	return 0;
}

static void cp_session_stats_of_cpu(const struct cp_percpu *percpu, struct cp_stats *stats)
{
	u32 c, i;

	stats->cpus_online += percpu->online;
	for (c = 0; c < CP_CONTEXTS; c++) {
		const struct cp_meter *meter = &percpu->meter[c];

		stats->interrupts += READ_ONCE(meter->interrupts);
		stats->samples += READ_ONCE(percpu->samples[c]);
		stats->records += READ_ONCE(percpu->ring[c].records);
		stats->handler_ns += READ_ONCE(meter->handler_ns);
		stats->charged_ns += READ_ONCE(meter->charged_ns);
		stats->max_ns = max(stats->max_ns, READ_ONCE(meter->max_ns));
		/* A context that nothing ran in has the scale that it began with. */
		if (READ_ONCE(meter->interrupts))
			stats->period_scale =
				max_t(u64, stats->period_scale, READ_ONCE(meter->scale));
		for (i = 0; i < CP_LOST_CAUSES; i++)
			stats->lost[i] += READ_ONCE(percpu->ring[c].lost[i]);
		for (i = 0; i < CP_COST_BUCKETS; i++)
			stats->cost[i] += READ_ONCE(meter->cost[i]);
	}
}

static int cp_session_stats(struct cp_session *session, struct cp_stats *stats)
{
	u32 size = stats->size;
	unsigned int cpu;

	memset(stats, 0, sizeof(*stats));
	stats->size = size;
	stats->running = session->running;
	for_each_possible_cpu(cpu)
		cp_session_stats_of_cpu(per_cpu_ptr(session->percpu, cpu), stats);
	cp_watch_stats(session->watch, stats);
	return 0;
}

/*
 * Who was handed a descriptor may read what its opener asked for.  To name others takes the
 * right that opening takes, unless the caller is the opener, which may have given it up since.
 */
static bool cp_session_may_name(const struct cp_session *session)
{
	return task_tgid(current) == session->opener || perfmon_capable();
}

static int cp_session_target(struct cp_session *session, const struct cp_target *change)
{
	if (!cp_session_may_name(session))
		return -EPERM;
	return cp_targets_change(&session->targets, change);
}

static int cp_session_marks(struct cp_session *session, const struct cp_marks *change)
{
	if (!cp_session_may_name(session))
		return -EPERM;
	return cp_marks_change(&session->marks, change);
}

static int cp_session_rate(struct cp_session *session, const struct cp_rate *config)
{
	if (config->reserved)
		return -EINVAL;
	if (config->id >= session->n_sources)
		return -ENOENT;
	return cp_source_rate(&session->source[config->id], config->cpu, config->period);
}

static int cp_session_pointees(struct cp_session *session, const struct cp_pointees *config)
{
	if (config->reserved)
		return -EINVAL;
	if (config->id >= session->n_sources)
		return -ENOENT;
	return cp_source_pointees(&session->source[config->id], config->on);
}

static int cp_session_budget(struct cp_session *session, const struct cp_budget *config)
{
	return cp_budget_rule(config, &session->rule);
}

union argument {
	u32 size;
	struct cp_info info;
	struct cp_rings rings;
	struct cp_target target;
	struct cp_marks marks;
	struct cp_source source;
	struct cp_rate rate;
	struct cp_pointees pointees;
	struct cp_budget budget;
	struct cp_watch watch;
	struct cp_stats stats;
};

static int cp_session_verb(struct cp_session *session, unsigned int nr, union argument *arg)
{
	lockdep_assert_held(&session->lock);
	switch (nr) {
	case _IOC_NR(CP_IOC_INFO):
		return cp_session_info(session, &arg->info);
	case _IOC_NR(CP_IOC_TARGET):
		return cp_session_target(session, &arg->target);
	case _IOC_NR(CP_IOC_MARKS):
		return cp_session_marks(session, &arg->marks);
	case _IOC_NR(CP_IOC_STATS):
		return cp_session_stats(session, &arg->stats);
	case _IOC_NR(CP_IOC_RATE):
		return cp_session_rate(session, &arg->rate);
	case _IOC_NR(CP_IOC_POINTEES):
		return cp_session_pointees(session, &arg->pointees);
	case _IOC_NR(CP_IOC_STOP):
		return cp_session_stop(session);
	}
	if (session->running)
		return -EBUSY;
	switch (nr) {
	case _IOC_NR(CP_IOC_RINGS):
		return cp_session_rings(session, &arg->rings);
	case _IOC_NR(CP_IOC_SOURCE):
		return cp_session_source(session, &arg->source);
	case _IOC_NR(CP_IOC_BUDGET):
		return cp_session_budget(session, &arg->budget);
	case _IOC_NR(CP_IOC_WATCH):
		return cp_session_watch(session, &arg->watch);
	default:
		return cp_session_start(session);
	}
}

static long cp_session_ioctl(struct file *file, unsigned int cmd, unsigned long data)
{
	/* As version 1 has them: their sizes are the least that a caller may have. */
	static const unsigned int known[] = {
		[_IOC_NR(CP_IOC_INFO)] = CP_IOC_INFO,
		[_IOC_NR(CP_IOC_RINGS)] = CP_IOC_RINGS,
		[_IOC_NR(CP_IOC_TARGET)] = CP_IOC_TARGET,
		[_IOC_NR(CP_IOC_SOURCE)] = CP_IOC_SOURCE,
		[_IOC_NR(CP_IOC_BUDGET)] = CP_IOC_BUDGET,
		[_IOC_NR(CP_IOC_WATCH)] = CP_IOC_WATCH,
		[_IOC_NR(CP_IOC_START)] = CP_IOC_START,
		[_IOC_NR(CP_IOC_STOP)] = CP_IOC_STOP,
		[_IOC_NR(CP_IOC_STATS)] = CP_IOC_STATS,
		[_IOC_NR(CP_IOC_RATE)] = CP_IOC_RATE,
		[_IOC_NR(CP_IOC_POINTEES)] = CP_IOC_POINTEES,
		[_IOC_NR(CP_IOC_MARKS)] = CP_IOC_MARKS,
	};
	struct cp_session *session = file->private_data;
	unsigned int nr = _IOC_NR(cmd);
	void __user *user = (void __user *)data;
	union argument *arg;
	u32 size = 0, least;
	int ret;

	/* All but the size makes the call. */
	if (nr >= ARRAY_SIZE(known) || (cmd ^ known[nr]) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT))
		return -ENOTTY;
	least = _IOC_SIZE(known[nr]);
	if (least) {
		if (get_user(size, (u32 __user *)user))
			return -EFAULT;
		if (size != _IOC_SIZE(cmd) || size < least)
			return -EINVAL;
		if (size > PAGE_SIZE)
			return -E2BIG;
	} else if (_IOC_SIZE(cmd)) {
		return -ENOTTY;
	} else if (data) {
		return -EINVAL;
	}
	arg = kzalloc(sizeof(*arg), GFP_KERNEL);
	if (!arg)
		return -ENOMEM;
	ret = size ? copy_struct_from_user(arg, least, user, size) : 0;
	if (!ret) {
		mutex_lock(&session->lock);
		ret = cp_session_verb(session, nr, arg);
		mutex_unlock(&session->lock);
	}
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, arg, least))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static int cp_session_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct cp_session *session = file->private_data;
	u32 ring_bytes = smp_load_acquire(&session->ring_bytes); /* pairs with cp_session_rings() */
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 index = offset >> 32;
	struct cp_ring *ring;

	if (!ring_bytes)
		return -ENXIO;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (index >= (u64)nr_cpu_ids * CP_CONTEXTS || !cpu_possible(index / CP_CONTEXTS))
		return -ENXIO;
	ring = &per_cpu_ptr(session->percpu, index / CP_CONTEXTS)->ring[index % CP_CONTEXTS];
	if (offset == CP_OFF_CONTROL(index) && vma->vm_end - vma->vm_start == PAGE_SIZE)
		return cp_ring_mmap_control(ring, vma);
	if (offset == CP_OFF_DATA(index) && vma->vm_end - vma->vm_start == ring_bytes)
		return cp_ring_mmap_data(ring, vma);
	return -EINVAL;
}

static __poll_t cp_session_poll(struct file *file, struct poll_table_struct *table)
{
	struct cp_session *session = file->private_data;
	unsigned int cpu;
	u32 i;

	if (!smp_load_acquire(&session->ring_bytes)) /* pairs with cp_session_rings() */
		return EPOLLERR;
	poll_wait(file, &session->wait, table);
	smp_mb(); /* between the caller's tail and our head, pairs with cp_ring_wake() */
	for_each_possible_cpu(cpu)
		for (i = 0; i < CP_CONTEXTS; i++)
			if (cp_ring_readable(&per_cpu_ptr(session->percpu, cpu)->ring[i]))
				return EPOLLIN | EPOLLRDNORM;
	return 0;
}

/* Counters made by a module bypass perf_event_paranoid: this is the check. */
static int cp_session_open(struct inode *inode, struct file *file)
{
	const struct cp_budget unlimited = {.size = sizeof(unlimited)};
	struct cp_session *session;
	unsigned int cpu;
	u32 i;
	int ret;

	if (!perfmon_capable())
		return -EPERM;
	ret = security_locked_down(LOCKDOWN_PERF);
	if (ret)
		return ret;
	session = kzalloc(sizeof(*session), GFP_KERNEL_ACCOUNT);
	if (!session)
		return -ENOMEM;
	session->percpu = alloc_percpu_gfp(struct cp_percpu, GFP_KERNEL_ACCOUNT);
	if (!session->percpu) {
		kfree(session);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		for (i = 0; i < CP_CONTEXTS; i++)
			cp_meter_init(&per_cpu_ptr(session->percpu, cpu)->meter[i],
				      get_random_u32());
	session->opener = get_pid(task_tgid(current));
	mutex_init(&session->lock);
	init_waitqueue_head(&session->wait);
	session->wake = IRQ_WORK_INIT(cp_session_wake);
	cp_cpus_init(session);
	cp_budget_rule(&unlimited, &session->rule);
	file->private_data = session;
	return 0;
}

static int cp_session_release(struct inode *inode, struct file *file)
{
	struct cp_session *session = file->private_data;

	mutex_lock(&session->lock);
	if (session->running)
		cp_session_stop(session);
	mutex_unlock(&session->lock);
	cp_cpus_deinit(session);
	cp_watch_destroy(session->watch);
	cp_targets_deinit(&session->targets);
	cp_marks_deinit(&session->marks);
	cp_session_rings_deinit(session);
	free_percpu(session->percpu);
	put_pid(session->opener);
	kfree(session);
	return 0;
}

const struct file_operations cp_session_fops = {
	.owner = THIS_MODULE,
	.open = cp_session_open,
	.release = cp_session_release,
	.unlocked_ioctl = cp_session_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = cp_session_mmap,
	.poll = cp_session_poll,
};
