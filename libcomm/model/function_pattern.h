/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of functions' names, as --function has them.  Exact runtimes have the same, on what is theirs of bare_name.h. */
#ifndef COMM_FUNCTION_PATTERN_H
#define COMM_FUNCTION_PATTERN_H

#include <stdbool.h>

/*
 * Whether the pattern, as of fnmatch(3), is that of the whole name, or of what people call the function (bare_name.h).  A
 * pattern that is the name, letter for letter, fits, whatever wildcards are in it.
 */
bool comm_function_pattern_has(const char *pattern, const char *name);

#endif
