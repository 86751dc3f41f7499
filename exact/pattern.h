/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions by a pattern of their names, as of files (fnmatch(3)). */
#ifndef COMM_EXACT_PATTERN_H
#define COMM_EXACT_PATTERN_H

#include "pub_tool_basics.h"

/* The whole name, or what people call the function (bare_name.h). */
Bool comm_pattern_has(const HChar *pattern, const HChar *name);

#endif
