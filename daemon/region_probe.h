/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions between probes that a file contains (sys/sdt.h), as a user names them:
 *
 *	NAME=PATH:PROVIDER:BEGIN,PROVIDER:END[,PROVIDER:END]...
 */
#ifndef COMMD_REGION_PROBE_H
#define COMMD_REGION_PROBE_H

#include "event.h"

enum { COMM_REGION_PROBE_ENDS = 4 };

/* A probe; its texts are parts of what was parsed. */
struct comm_probe_name {
	const char *provider, *name;
};

struct comm_region_probe {
	char name[COMM_PROBED_BYTES]; /* of the region */
	const char *path;
	struct comm_probe_name begin, end[COMM_REGION_PROBE_ENDS];
	unsigned int n_ends;
};

struct comm_region_probe_list {
	unsigned int n;
	struct comm_region_probe region[COMM_PROBED_MAX]; /* id less 1 */
};

/* Keeps pointers into text, which it changes.  -EINVAL: it is not as above. */
int comm_region_probe_parse(char *text, struct comm_region_probe *ret);

#endif
