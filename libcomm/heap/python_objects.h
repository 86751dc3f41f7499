/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of CPython 3.11 to 3.13 in a target's memory: texts (Include/cpython/unicodeobject.h).  All of it may be
 * anything: each count is bounded, and a memory tells how many reads are left for one question.
 *
 * Not for where objects are: python_code.h knows that.  Keeps nothing.
 */
#ifndef COMM_PYTHON_OBJECTS_H
#define COMM_PYTHON_OBJECTS_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where versions differ, bytes. */
struct comm_python_layout {
	unsigned int minor;
	unsigned int ascii, wide; /* the first character of a text of ASCII, and of others */
};

/* NULL: of another version. */
const struct comm_python_layout *comm_python_layout_of(unsigned int minor);

struct comm_python_memory {
	/* Returns how many bytes could be read, or -errno. */
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes);
	void *ctx;
	uint32_t tgid;
	const struct comm_python_layout *layout;
	unsigned int reads_left; /* -E2BIG at 0 */
};

/* All of it, or an error; -EPROTO: there is less. */
int comm_python_read(struct comm_python_memory *memory, uint64_t at, void *buf, size_t bytes);

/* Whether a word may be a count of references, or a pointer. */
bool comm_python_is_count(uint64_t word);
bool comm_python_is_pointer(uint64_t word);

/* A text as UTF-8, not clean (text.h); a long one is cut.  -ENOENT: it is none, or empty. */
int comm_python_text(struct comm_python_memory *memory, uint64_t at, char text[COMM_NAME_BYTES]);

#endif
