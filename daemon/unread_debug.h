/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information of targets that is not read: says so on stderr, each kind once in a run, with
 * what to do about it.
 */
#ifndef COMM_UNREAD_DEBUG_H
#define COMM_UNREAD_DEBUG_H

#include "inspect.h"

struct comm_unread_debug {
	unsigned int said; /* enum comm_dwline_unread */
};

/* A comm_inspect_unread_fn; ctx: the above. */
void comm_unread_debug_say(void *ctx, const char *module, unsigned int unread);

#endif
