// SPDX-License-Identifier: GPL-2.0-or-later
#include "pinning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term.h"

enum { PINNING_NAME = 64 };

struct ctl_cpus ctl_pinning_cpus(const struct ctl_cut_plan *plan, const struct ctl_parts *parts,
				 size_t vertex)
{
	struct ctl_cpus cpus = {0};

	for (size_t p = 0; p < parts->n; p++) {
		bool free = plan->part[vertex] == CTL_CUT_FREE && plan->used[p];

		for (size_t i = 0; i < CTL_CPUS_MAX / 64 && (free || plan->part[vertex] == p); i++)
			cpus.word[i] |= parts->part[p].cpus.word[i];
	}
	return cpus;
}

static char *cpus_of(const struct ctl_cut_plan *plan, const struct ctl_parts *parts, size_t vertex)
{
	struct ctl_cpus cpus = ctl_pinning_cpus(plan, parts, vertex);

	return ctl_cpus_text(&cpus);
}

static const char *clean(char name[PINNING_NAME], const struct ctl_placed_thread *thread)
{
	return ctl_clean(name, PINNING_NAME, thread->name, PINNING_NAME - 1);
}

/* To taskset, 0 is taskset itself. */
static bool can_be_pinned(const struct ctl_placed_thread *thread)
{
	return thread->tid > 0;
}

static void pin_taskset(const struct ctl_placing *placing, const struct ctl_cut_plan *plan,
			const struct ctl_parts *parts)
{
	char name[PINNING_NAME];

	for (size_t t = 0; t < placing->n_threads; t++) {
		const struct ctl_placed_thread *thread = &placing->thread[t];
		char *cpus = cpus_of(plan, parts, thread->vertex);

		if (cpus && can_be_pinned(thread))
			printf("taskset -pc %s %u  # %s\n", cpus, thread->tid, clean(name, thread));
		free(cpus);
	}
}

/* The process of the vertex's first thread that is not among earlier ones. */
static bool is_first_of(const struct ctl_placing *placing, size_t t)
{
	for (size_t i = 0; i < t; i++)
		if (placing->thread[i].tgid == placing->thread[t].tgid)
			return false;
	return placing->thread[t].tgid > 0;
}

/*
 * The groups of a process are beneath its own: threads can only go to those, and the group becomes
 * the root of a threaded subtree (Documentation/admin-guide/cgroup-v2.rst, "Threads").
 */
static void pin_cpuset(const struct ctl_placing *placing, const struct ctl_cut_plan *plan,
		       const struct ctl_parts *parts)
{
	char name[PINNING_NAME];

	for (size_t t = 0; t < placing->n_threads; t++) {
		uint32_t tgid = placing->thread[t].tgid;

		if (!is_first_of(placing, t))
			continue;
		printf("# process %u; its group must have cpuset in its cgroup.controllers\n"
		       "group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/%u/cgroup)\n",
		       tgid, tgid);
		for (size_t p = 0; p < parts->n; p++) {
			char *cpus = ctl_cpus_text(&parts->part[p].cpus);

			if (plan->used[p] && cpus)
				printf("mkdir -p \"$group/%s%d\" &&\n"
				       "  echo threaded > \"$group/%s%d/cgroup.type\" &&\n"
				       "  echo +cpuset > \"$group/cgroup.subtree_control\" &&\n"
				       "  echo %s > \"$group/%s%d/cpuset.cpus\"\n",
				       ctl_level_name(parts->level), parts->part[p].number,
				       ctl_level_name(parts->level), parts->part[p].number, cpus,
				       ctl_level_name(parts->level), parts->part[p].number);
			free(cpus);
		}
		for (size_t i = 0; i < placing->n_threads; i++) {
			const struct ctl_placed_thread *thread = &placing->thread[i];
			size_t part = plan->part[thread->vertex];

			if (thread->tgid != tgid || !can_be_pinned(thread) || part == CTL_CUT_FREE)
				continue;
			printf("echo %u > \"$group/%s%d/cgroup.threads\"  # %s\n", thread->tid,
			       ctl_level_name(parts->level), parts->part[part].number,
			       clean(name, thread));
		}
	}
}

static void pin_numactl(const struct ctl_placing *placing, const struct ctl_cut_plan *plan,
			const struct ctl_parts *parts)
{
	char name[PINNING_NAME];

	for (size_t t = 0; t < placing->n_threads; t++) {
		const struct ctl_placed_thread *thread = &placing->thread[t];
		size_t part = plan->part[thread->vertex];
		bool split = part == CTL_CUT_FREE;
		char *cpus;

		if (!is_first_of(placing, t))
			continue;
		for (size_t i = t; i < placing->n_threads; i++)
			split |= placing->thread[i].tgid == thread->tgid &&
				 plan->part[placing->thread[i].vertex] != part;
		printf("# process %u, %s", thread->tgid, clean(name, thread));
		if (split) {
			printf(": its threads go to several places, which numactl cannot do; see "
			       "--as taskset\n");
			continue;
		}
		cpus = cpus_of(plan, parts, thread->vertex);
		if (parts->level == CTL_NODE)
			printf("\nnumactl --cpunodebind=%d --preferred=%d\n",
			       parts->part[part].number, parts->part[part].number);
		else if (cpus)
			printf("\nnumactl --physcpubind=%s\n", cpus);
		free(cpus);
	}
}

ctl_pinning *ctl_pinning_find(const char *name)
{
	static const struct {
		const char *name;
		ctl_pinning *print;
	} forms[] = {
		{"taskset", pin_taskset},
		{"cpuset", pin_cpuset},
		{"numactl", pin_numactl},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i].name, name))
			return forms[i].print;
	return NULL;
}
