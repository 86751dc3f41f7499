/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a command's output goes: a file that the user named, or stdout. */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stddef.h>

/*
 * Writes all of it, so what fails to be made leaves the file as it was; path NULL or "-" is
 * stdout.  Returns an exit code, having said what failed.
 */
int ctl_output_write(const char *path, const char *bytes, size_t size);

#endif
