// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/workqueue.h>

#include "cpus.h"
#include "session.h"

static int cp_cpus_state; /* of cpuhp */

static int cp_cpus_comes(unsigned int cpu, struct hlist_node *node)
{
	struct cp_session *session = hlist_entry(node, struct cp_session, node);

	WRITE_ONCE(per_cpu_ptr(session->percpu, cpu)->present, true);
	schedule_work(&session->cpus_work);
	return 0;
}

static int cp_cpus_goes(unsigned int cpu, struct hlist_node *node)
{
	struct cp_session *session = hlist_entry(node, struct cp_session, node);
	struct cp_percpu *percpu = per_cpu_ptr(session->percpu, cpu);

	WRITE_ONCE(percpu->present, false);
	atomic_set_release(&percpu->went, 1); /* pairs with cp_cpus_update() */
	schedule_work(&session->cpus_work);
	return 0;
}

static void cp_cpus_close(struct cp_session *session, unsigned int cpu)
{
	u32 i;

	per_cpu_ptr(session->percpu, cpu)->online = false;
	for (i = 0; i < session->n_sources; i++)
		cp_source_close(&session->source[i], cpu);
	if (session->watch)
		cp_watch_close(session->watch, cpu);
}

static int cp_cpus_open(struct cp_session *session, unsigned int cpu)
{
	u32 i;
	int ret;

	if (session->watch)
		cp_watch_open(session->watch, cpu);
	for (i = 0; i < session->n_sources; i++) {
		ret = cp_source_open(&session->source[i], cpu);
		/* Another PMU's CPU, or one that has just gone. */
		if (ret && ret != -ENOENT && ret != -ENODEV) {
			cp_cpus_close(session, cpu);
			return ret;
		}
	}
	per_cpu_ptr(session->percpu, cpu)->online = true;
	return 0;
}

/*
 * Makes the events be what the callbacks have noted.  A CPU that goes while this looks
 * at it is noted again, so that the work comes again.
 */
static int cp_cpus_update(struct cp_session *session)
{
	unsigned int cpu;
	int ret = 0, err;

	lockdep_assert_held(&session->lock);
	for_each_possible_cpu(cpu) {
		struct cp_percpu *percpu = per_cpu_ptr(session->percpu, cpu);

		/* Also of a CPU that is back: perf has taken its events out of service. */
		if (atomic_xchg(&percpu->went, 0))
			cp_cpus_close(session, cpu);
		if (!READ_ONCE(percpu->present) || percpu->online)
			continue;
		err = cp_cpus_open(session, cpu);
		ret = ret ?: err;
	}
	return ret;
}

static void cp_cpus_work(struct work_struct *work)
{
	struct cp_session *session = container_of(work, struct cp_session, cpus_work);

	mutex_lock(&session->lock);
	/* A CPU that comes while the session runs is sampled if it can be. */
	if (session->running)
		cp_cpus_update(session);
	mutex_unlock(&session->lock);
}

int cp_cpus_start(struct cp_session *session)
{
	unsigned int cpu;
	int ret;

	for_each_possible_cpu(cpu) {
		struct cp_percpu *percpu = per_cpu_ptr(session->percpu, cpu);

		percpu->present = false;
		atomic_set(&percpu->went, 0);
	}
	ret = cpuhp_state_add_instance(cp_cpus_state, &session->node);
	if (ret)
		return ret;
	ret = cp_cpus_update(session);
	if (ret)
		cp_cpus_stop(session);
	return ret;
}

void cp_cpus_stop(struct cp_session *session)
{
	unsigned int cpu;

	cpuhp_state_remove_instance_nocalls(cp_cpus_state, &session->node);
	for_each_possible_cpu(cpu)
		cp_cpus_close(session, cpu);
}

void cp_cpus_init(struct cp_session *session)
{
	INIT_WORK(&session->cpus_work, cp_cpus_work);
}

void cp_cpus_deinit(struct cp_session *session)
{
	cancel_work_sync(&session->cpus_work);
}

int cp_cpus_module_init(void)
{
	int ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "commprof:online", cp_cpus_comes,
					  cp_cpus_goes);

	if (ret < 0)
		return ret;
	cp_cpus_state = ret;
	return 0;
}

void cp_cpus_module_exit(void)
{
	cpuhp_remove_multi_state(cp_cpus_state);
}
