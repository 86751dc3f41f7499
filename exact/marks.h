/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program marks (comm/mark.h), as the stores of a mark tell it.  A mark is a few of these, into memory of the
 * thread or of the process, and calls nobody: so the values that code of marked modules stores are in the trace, and
 * what they mean is found out in the order of execution.  Values are hostile.
 *
 * Nothing here knows where a name leads, nor the translator.  One thread at a time.
 */
#ifndef COMM_EXACT_MARKS_H
#define COMM_EXACT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in <comm/mark.h>, which is not included: it would make marks here. */
enum {
	COMM_MARKS_NOTE = 2,
	COMM_MARKS_VERSION_FIRST = 2, /* that had what processes have */
	COMM_MARKS_VERSION = 3,
	COMM_MARKS_DEPTH = 8,
	COMM_MARKS_OBJECTS = 64,
};

struct comm_marks_stack_layout {
	uint64_t depth;
	uint64_t name[COMM_MARKS_DEPTH];
};

struct comm_marks_object {
	uint64_t start; /* 0: free */
	uint64_t bytes; /* 0: not filled in, or going */
	uint64_t name;
};

struct comm_marks_process_layout {
	uint32_t stopped, changes;
	uint64_t frame;
	struct comm_marks_object object[COMM_MARKS_OBJECTS];
};

struct comm_marks_module_layout {
	uint32_t version, depth;
	int64_t stack; /* of any thread: its stack less its thread pointer */
	uint64_t process;
};

/* Where marks stand, of the thread that runs; COMM_MARKS_NOWHERE: not known. */
struct comm_tool_marks_place {
	uint64_t stack, process;
};

#define COMM_MARKS_NOWHERE UINT64_MAX

static inline bool comm_marks_is_of_stack(const struct comm_tool_marks_place *place, uint64_t addr)
{
	return addr - place->stack < sizeof(struct comm_marks_stack_layout);
}

static inline bool comm_marks_is_of_process(const struct comm_tool_marks_place *place,
					    uint64_t addr)
{
	return addr - place->process < sizeof(struct comm_marks_process_layout);
}

/* The host's: the region of a name within another region. */
typedef uint32_t comm_marks_region_fn(uint32_t parent, uint64_t name);

/* The marks that a thread is in, outermost first. */
struct comm_tool_marks {
	uint32_t depth;
	uint32_t n_regions; /* of the outermost ones, that are found already */
	uint64_t name[COMM_MARKS_DEPTH];
	uint32_t region[COMM_MARKS_DEPTH];
};

/* A thread's stack is told to have a value at an offset. */
void comm_marks_told(struct comm_tool_marks *marks, uint64_t offset, uint64_t value);
/* The regions of all but the n outermost marks are to be found anew. */
void comm_marks_forget(struct comm_tool_marks *marks, uint32_t n);
/* The region that the marks lead to which are within the first n: these are around `base`. */
uint32_t comm_marks_region(struct comm_tool_marks *marks, uint32_t n, uint32_t base,
			   comm_marks_region_fn *region_of);

#endif
