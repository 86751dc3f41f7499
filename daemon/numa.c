// SPDX-License-Identifier: GPL-2.0-or-later
#include "numa.h"

#include <stdio.h>
#include <string.h>

enum { NUMA_NODES = 1024 }; /* MAX_NUMNODES of the kernel, 1 << CONFIG_NODES_SHIFT */

/* The CPUs of a node, without the newline; "": it has none, or there is no such node. */
static void read_cpus(const char *sysfs, int node, char ret[COMM_NUMA_BYTES])
{
	char path[4096];
	FILE *file;

	*ret = '\0';
	snprintf(path, sizeof(path), "%s/node%d/cpulist", sysfs, node);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(ret, COMM_NUMA_BYTES, file))
		*ret = '\0';
	fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
}

void comm_numa_read(const char *sysfs, char ret[COMM_NUMA_BYTES])
{
	char cpus[COMM_NUMA_BYTES];
	size_t n = 0;

	*ret = '\0';
	for (int node = 0; node < NUMA_NODES; node++) {
		read_cpus(sysfs, node, cpus);
		if (!*cpus)
			continue;
		n += (size_t)snprintf(ret + n, COMM_NUMA_BYTES - n, "%s%d:%s", n ? ";" : "", node,
				      cpus);
		if (n >= COMM_NUMA_BYTES) {
			*ret = '\0';
			return;
		}
	}
}
