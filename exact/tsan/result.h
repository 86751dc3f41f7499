/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result file that commd reads (exact/format.h): a phase for each slice, sites that are
 * instructions, by address.
 */
#ifndef COMM_EXACT_RESULT_H
#define COMM_EXACT_RESULT_H

#include "shadow.h"

#pragma GCC visibility push(hidden)

/* The run begins now.  slice_ns: cut it into slices of that length; 0: it is one. */
void comm_exact_result_begin(uint64_t slice_ns);
/* 0 or -errno.  Not two at a time. */
int comm_exact_result_write(const char *path);

#pragma GCC visibility pop

#endif
