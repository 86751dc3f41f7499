// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * commctl ship: runs commctl-ship, which has clients of a database and of HTTP in it that commctl is to do without.  It is beside
 * commctl in a build, and in ../lib/commprof when installed; by a PATH nothing is looked for.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

int ctl_ship(int argc, char **argv)
{
	static const char *const places[] = {"commctl-ship", "../lib/commprof/commctl-ship"};
	char own[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	(void)argc;
	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - own), own, places[i]);
		execv(path, argv);
		if (errno != ENOENT) {
			fprintf(stderr, "commctl: cannot run %s: %s\n", path, strerror(errno));
			return CTL_FAILURE;
		}
	}
	fprintf(stderr,
		"commctl: commctl-ship is not installed: it is in the package "
		"commprof-ship, and is built where libpq-dev and libcurl4-openssl-dev are\n");
	return CTL_FAILURE;
}
