/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that a file contains (sys/sdt.h), as a user names them: regions between some, and one at which
 * frames begin:
 *
 *	NAME=PATH:PROVIDER:BEGIN,PROVIDER:END[,PROVIDER:END]...
 *	PATH:PROVIDER:BEGIN
 */
#ifndef COMMD_REGION_PROBE_H
#define COMMD_REGION_PROBE_H

#include <stdbool.h>

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

struct comm_frame_probe {
	const char *path; /* NULL: there is none */
	struct comm_probe_name begin;
};

struct comm_region_probe_list {
	unsigned int n;
	struct comm_region_probe region[COMM_PROBED_MAX]; /* id less 1 */
	struct comm_frame_probe frame;
};

static inline bool comm_region_probe_list_is_empty(const struct comm_region_probe_list *list)
{
	return !list->n && !list->frame.path;
}

/* Keeps pointers into text, which it changes.  -EINVAL: it is not as above. */
int comm_region_probe_parse(char *text, struct comm_region_probe *ret);
int comm_frame_probe_parse(char *text, struct comm_frame_probe *ret);

#endif
