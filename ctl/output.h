/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a command's output goes: a file that the user named, or stdout. */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stddef.h>

/*
 * Writes all of it under another name and then gives it that of the file, so that what fails, or
 * is ended by a signal, leaves the file as it was; links, devices and files of other users are
 * written to as they are.  Path NULL or "-" is stdout.  Returns an exit code, having said what failed.
 */
int ctl_output_write(const char *path, const char *bytes, size_t size);

#endif
