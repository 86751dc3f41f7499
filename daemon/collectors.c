// SPDX-License-Identifier: GPL-2.0-or-later
#include "collectors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcomm-collect.so"

bool comm_collectors_find(char *ret)
{
	/* In a build, and installed. */
	static const char *const places[] = {"collect", "../lib/commprof"};
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n <= 0)
		return false;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, PATH_MAX, "%s/%s/" LIBRARY, own, places[i]) < PATH_MAX &&
		    !access(ret, R_OK))
			return true;
	return false;
}

void comm_collectors_name(const char *path)
{
	/* OMPT has a list, but the runtime takes the first that wants to be its tool. */
	setenv("OMP_TOOL_LIBRARIES", path, 0);
	setenv("INTEL_LIBITTNOTIFY64", path, 0);
	setenv("NVTX_INJECTION64_PATH", path, 0);
}
