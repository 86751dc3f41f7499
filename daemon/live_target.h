/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of a live run: made by the options, what lists call it, and whether it is still
 * there.  Who its members are is in target.h.
 *
 * Errors: as source.h: 0 or -errno and a sentence.
 */
#ifndef COMMD_LIVE_TARGET_H
#define COMMD_LIVE_TARGET_H

#include "inspect.h"
#include "options.h"
#include "target.h"

struct comm_live_target {
	struct comm_target *target;
	uint32_t command_pid;		  /* 0: there is no command */
	bool said_removed, said_followed; /* of its cgroup */
	char name[256];			  /* its command line, or the cgroup; clean (text.h) */
};

/* Of a zeroed one.  A command waits for comm_target_release(). */
int comm_live_target_choose(struct comm_live_target *live, const struct comm_options *options,
			    char **err);
void comm_live_target_name(struct comm_live_target *live, const struct comm_options *options,
			   const struct comm_inspect *processes);
/*
 * How the run has ended with its target; NULL: it goes on.  A cgroup that was removed is followed
 * to the next one of its path, which is said on stderr once.
 */
const char *comm_live_target_gone(struct comm_live_target *live);
void comm_live_target_deinit(struct comm_live_target *live);

#endif
