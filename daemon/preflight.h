/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preflight: whether a run would succeed here, by doing what it does.  A capability may be in
 * the set and mean nothing (a user namespace), a seccomp filter shows in no file, and a limit
 * of descriptors is met on the way.
 */
#ifndef COMMD_PREFLIGHT_H
#define COMMD_PREFLIGHT_H

#include <stdbool.h>

#include "source.h"

/*
 * Opens and starts a source's sampler on a child of this process.  arg: as
 * comm_sampler_config.  0, or -errno and *why, a sentence.
 */
int comm_preflight_source(const struct comm_source *source, const char *arg, char **why);
/* May this process read the memory of that one?  0, or -errno and *why, a sentence. */
int comm_preflight_memory(uint32_t pid, char **why);
/* Are there enough descriptors left for what a run opens later? */
bool comm_preflight_descriptors(void);

#endif
