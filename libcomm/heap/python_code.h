/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of Python programs: whose bytecode stands at an address.  From CPython 3.11 to 3.13 it is the end of its
 * code object (Include/cpython/code.h, "_PyCode_DEF"), which has the function's name, its file, and a table of lines
 * (Objects/locations.md).  So the object is looked for in front of the address.  All of it is read from the target's
 * memory and may be anything: what comes back are names and a line to show.
 *
 * Not for code objects that the interpreter's own file has ("frozen" modules).  Bounded: of the code objects that it
 * knows the one that was asked for least recently gives way.  One thread uses it.
 */
#ifndef COMM_PYTHON_CODE_H
#define COMM_PYTHON_CODE_H

#include "heap_blocks.h"

struct comm_python_codes;

/* Of reading, read, now_ns and names. */
int comm_python_codes_create(const struct comm_heap_reading *reading,
			     struct comm_python_codes **ret);
void comm_python_codes_destroy(struct comm_python_codes *codes);

/*
 * The function and line of the bytecode at place->addr.  -ENOENT: there is none, as far as is known; other errors:
 * the memory could not be read.
 */
int comm_python_codes_at(struct comm_python_codes *codes, uint32_t tgid,
			 const struct comm_heap_place *place, struct comm_code *ret);

#endif
