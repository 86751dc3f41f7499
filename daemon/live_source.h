/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a live run: which one it is, by the options or the first that does, and its sampler,
 * opened.  live.c drives that.
 *
 * Errors: as source.h: 0 or -errno and a sentence.
 */
#ifndef COMMD_LIVE_SOURCE_H
#define COMMD_LIVE_SOURCE_H

#include "options.h"
#include "source.h"

struct comm_live_source {
	const struct comm_source *source;
	const char *arg; /* behind the colon of its name, "" when none */
	const struct comm_sampler *sampler;
	void *handle; /* NULL: not open */
	struct comm_sampler_info info;
	unsigned int next; /* of comm_source_choose() */
};

/* Of a zeroed one.  Chooses; the source can do what the options ask for. */
int comm_live_source_choose(struct comm_live_source *live, const struct comm_options *options,
			    char **err);
/*
 * Opens the sampler.  With "auto" goes on to the next source when the kernel refuses what it
 * seemed to permit, and says so on stderr, unless that could not do what was asked for.
 */
int comm_live_source_open(struct comm_live_source *live, const struct comm_options *options,
			  struct comm_target *target, struct comm_inspect *inspect,
			  uint32_t interrupt_ns, char **err);
void comm_live_source_close(struct comm_live_source *live);

#endif
