/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What system calls of the target do to its mappings, and so to the shadow: Valgrind's own notices do not say what is
 * shared, nor what is given back.
 */
#ifndef COMM_EXACT_MAPPING_H
#define COMM_EXACT_MAPPING_H

#include "pub_tool_basics.h"

struct comm_shadow;

void comm_mapping_init(struct comm_shadow *shadow);
/* Nothing of what was there is there any more. */
void comm_mapping_gone(Addr addr, SizeT bytes);
void comm_mapping_moved(Addr from, Addr to, SizeT bytes);
/* After a system call that did not fail: its arguments, and what it returned. */
void comm_mapping_syscall(UInt syscall, const UWord *args, UWord ret);

#endif
