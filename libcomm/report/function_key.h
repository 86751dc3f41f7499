/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of functions, the same in the reports of other runs and hosts (comm_node.key). */
#ifndef COMM_FUNCTION_KEY_H
#define COMM_FUNCTION_KEY_H

#include <comm/comm.h>
#include <stdbool.h>

#include "texts.h"

/* "BUILD-ID+0xADDRESS" of a described node; "MODULE:NAME" where there is no build-id. */
const char *comm_function_key(struct comm_texts *texts, const struct comm_node *node);

/* Whatever was the first to write a page (ids.h): a function, but nobody knows which. */
bool comm_function_is_unknown(const struct comm_node *node);

#endif
