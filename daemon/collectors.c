// SPDX-License-Identifier: GPL-2.0-or-later
#include "collectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In a build each is in a folder of its own. */
static bool find(const char *folder, const char *library, char *ret)
{
	const char *const places[] = {folder, "../lib/commprof"};
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	*ret = '\0';
	if (n <= 0)
		return false;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, PATH_MAX, "%s/%s/%s", own, places[i], library) < PATH_MAX &&
		    !access(ret, R_OK))
			return true;
	*ret = '\0';
	return false;
}

bool comm_collectors_find_marks(struct comm_collectors *ret)
{
	return find("collect", "libcomm-collect.so", ret->marks);
}

bool comm_collectors_find_allocations(struct comm_collectors *ret)
{
	return find("alloc", "libcomm-alloc.so", ret->allocations);
}

static void preload(const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;

	if (!others || !*others) {
		setenv("LD_PRELOAD", path, 1);
	} else if (asprintf(&all, "%s:%s", path, others) >= 0) {
		setenv("LD_PRELOAD", all, 1);
		free(all);
	}
}

void comm_collectors_name(const struct comm_collectors *collectors)
{
	const char *path = collectors->marks;

	if (*path) {
		/* OMPT has a list, but the runtime takes the first that wants to be its tool. */
		setenv("OMP_TOOL_LIBRARIES", path, 0);
		setenv("INTEL_LIBITTNOTIFY64", path, 0);
		setenv("NVTX_INJECTION64_PATH", path, 0);
	}
	if (*collectors->allocations)
		preload(collectors->allocations);
}
