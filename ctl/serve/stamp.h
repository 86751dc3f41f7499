/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stamps of a store: another number whenever its files were written, which costs two stat().  What was written is not known by it:
 * a slice, a run's end, a label, or nothing but the log taken into the file.
 */
#ifndef CTL_STAMP_H
#define CTL_STAMP_H

#include <stdint.h>

/* 0: there is no such file. */
uint64_t ctl_stamp(const char *path);

#endif
