/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The topology of a machine: its CPUs, and which of them share a NUMA node or a last-level cache.
 * Of this machine, or of another as lscpu(1) tells it there.
 */
#ifndef CTL_TOPOLOGY_H
#define CTL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CTL_CPUS_MAX = 8192 };

enum ctl_level {
	CTL_NODE,
	CTL_CACHE, /* last level */
	CTL_CPU,
	CTL_LEVELS,
};

/* "node", "cache", "cpu" */
const char *ctl_level_name(enum ctl_level level);

/* A set of CPUs. */
struct ctl_cpus {
	uint64_t word[CTL_CPUS_MAX / 64];
};

bool ctl_cpus_has(const struct ctl_cpus *cpus, int64_t cpu);
size_t ctl_cpus_count(const struct ctl_cpus *cpus);
/* "0-3,8", as the kernel writes and takes it.  -EINVAL: not such a list, or an empty one. */
int ctl_cpus_parse(const char *text, struct ctl_cpus *ret);
/* The same the other way round, malloc'ed; NULL: there is no memory. */
char *ctl_cpus_text(const struct ctl_cpus *cpus);

struct ctl_topology {
	struct ctl_cpus cpus;
	/* Of each CPU, the number of its unit of each level: a node's own, else its first CPU's. */
	int unit[CTL_CPUS_MAX][CTL_LEVELS];
};

/*
 * path: NULL, this machine's /sys; a folder, a copy of another one's; or a file that
 * "lscpu -p=CPU,NODE,CACHE" wrote.  allowed, if not NULL: leaves out all other CPUs.
 * On failure *err is a sentence, malloc'ed (NULL: no memory).
 */
int ctl_topology_read(const char *path, const struct ctl_cpus *allowed, struct ctl_topology *ret,
		      char **err);

/* A unit of a level. */
struct ctl_part {
	int number;
	struct ctl_cpus cpus;
};

struct ctl_parts {
	enum ctl_level level;
	struct ctl_part *part; /* by number */
	size_t n;
};

/* -ENOMEM */
int ctl_parts_init(struct ctl_parts *parts, const struct ctl_topology *topology,
		   enum ctl_level level);
void ctl_parts_deinit(struct ctl_parts *parts);
/* The index of the part that has a CPU; parts->n: none has. */
size_t ctl_parts_of(const struct ctl_parts *parts, int64_t cpu);

#endif
