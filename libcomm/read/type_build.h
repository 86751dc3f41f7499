/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the table of what a file's instructions read (type_table.h) from the file's code and its
 * DWARF, function by function.  Bounded: past a time or size limit the remaining
 * functions are left out.  Both files are hostile; they are read, never mapped.
 */
#ifndef COMM_TYPE_BUILD_H
#define COMM_TYPE_BUILD_H

#include "type_table.h"

/* How many operands read memory other than the stack's, and of how many the type was found. */
struct comm_type_counts {
	uint64_t all, typed;
	uint64_t functions;
};

/*
 * code: the file that is run.  dwarf: that, or its debug file.  ret_counts: or NULL.  -ENODATA: no
 * usable DWARF.  For files of others only in a child that may crash (parse_child.h).
 */
int comm_type_build(int code, int dwarf, unsigned int cpu_ms, struct comm_type_table **ret,
		    struct comm_type_counts *ret_counts);

#endif
