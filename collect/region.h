/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of threads whose code we did not write: what ompt.c, itt.c and nvtx.c hear of, in the
 * words of <comm/mark.h>, so that commd reads them as it reads those of programs with marks.
 * Where a program has marks itself, both share its words.  Any thread calls, at any time.
 */
#ifndef COLLECT_REGION_H
#define COLLECT_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <comm/mark.h>

/* What other modules look up. */
#define COLLECT_ENTRY __attribute__((visibility("default")))
#define COLLECT_THREAD __thread __attribute__((tls_model("initial-exec")))

/* Distance from a thread's pointer to its regions, and what all threads have together. */
extern int64_t collect_stack_distance;
extern struct comm_mark_process *collect_process;
/* The module whose words these will be when it has been initialised; NULL: they are. */
extern const struct comm_mark_module *collect_awaited;

/* Before anything else, as often as one likes. */
void collect_init(void);
void collect_settle(void);

/*
 * A copy of a name that is there for ever, the same for the same text; "(other)" when there are too
 * many, "(unnamed)" for NULL.
 */
const char *collect_name(const char *text);
/* The same of a wide text, as UTF-8. */
const char *collect_wide_name(const void *wide);

static inline struct comm_mark_stack *collect_stack(void)
{
	char *thread_pointer;

	if (__builtin_expect(!!collect_awaited, 0))
		collect_settle();
	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	return (struct comm_mark_stack *)(thread_pointer + collect_stack_distance);
}

/* Returns how deep the thread was before. */
static inline uint64_t collect_begin(const char *name)
{
	struct comm_mark_stack *stack = collect_stack();
	uint64_t depth = stack->depth;

	if (depth < COMM_MARK_DEPTH) {
		stack->name[depth] = name;
		stack->begun[depth]++;
	}
	COMM_MARK_BARRIER();
	stack->depth = depth + 1;
	return depth;
}

/* Ends what was begun at that depth, unless it has ended already with what was around it. */
static inline void collect_end(uint64_t depth)
{
	struct comm_mark_stack *stack = collect_stack();

	if (stack->depth > depth)
		stack->depth = depth;
}

/* Ends the innermost region. */
static inline void collect_end_last(void)
{
	struct comm_mark_stack *stack = collect_stack();

	if (stack->depth)
		stack->depth--;
}

/* As comm_mark_frame() does, for the process whose words these are. */
static inline void collect_frame(void)
{
	uint64_t *frame = &collect_process->frame;

	__atomic_store_n(frame, __atomic_load_n(frame, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline void collect_stop(bool stopped)
{
	collect_init();
	__atomic_store_n(&collect_process->stopped, stopped, __ATOMIC_RELAXED);
}

#endif
