// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack.h"

#include <stdlib.h>
#include <string.h>

enum {
	STACKS_MAX = 65536, /* of one process */
	STACKS_FIRST = 16,
};

static const uint64_t stack_bytes_max = (uint64_t)1 << 30;

void comm_stacks_deinit(struct comm_stacks *stacks)
{
	free(stacks->stack);
	*stacks = (struct comm_stacks){0};
}

/* Index of the first stack at or after start. */
static size_t place_of(const struct comm_stacks *stacks, uint64_t start)
{
	size_t lo = 0, hi = stacks->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (stacks->stack[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct comm_stack *find(const struct comm_stacks *stacks, uint64_t start)
{
	size_t place = place_of(stacks, start);

	return place < stacks->n && stacks->stack[place].start == start ? &stacks->stack[place]
									: NULL;
}

const struct comm_stack *comm_stacks_at(const struct comm_stacks *stacks, uint64_t start)
{
	return find(stacks, start);
}

/*
 * A stack is another thread's now.  The C library hands the stack of a thread
 * that ended to the next one; but when an earlier owner comes back, threads
 * run by turns on stacks within one mapping (goroutines, fibers), which then
 * counts as contested: no thread's stack.
 */
static void change_owner(struct comm_stack *stack, uint32_t tid)
{
	for (size_t i = 0; i < COMM_STACK_OWNERS; i++)
		stack->contested |= stack->owner[i] == tid;
	stack->owner[stack->next_owner++ % COMM_STACK_OWNERS] = stack->tid;
	stack->tid = tid;
}

static bool add(struct comm_stacks *stacks, uint64_t start, uint32_t tid)
{
	size_t place = place_of(stacks, start);

	if (stacks->n >= STACKS_MAX)
		return false;
	if (stacks->n == stacks->capacity) {
		size_t capacity = stacks->capacity ? stacks->capacity * 2 : STACKS_FIRST;
		struct comm_stack *bigger = realloc(stacks->stack, capacity * sizeof(*bigger));

		if (!bigger)
			return false;
		stacks->stack = bigger;
		stacks->capacity = capacity;
	}
	memmove(&stacks->stack[place + 1], &stacks->stack[place],
		(stacks->n - place) * sizeof(*stacks->stack));
	stacks->stack[place] = (struct comm_stack){.start = start, .tid = tid};
	stacks->n++;
	return true;
}

bool comm_stacks_learn(struct comm_stacks *stacks, struct comm_space *space,
		       const struct comm_mapping *m, uint32_t tid, uint64_t now_ns)
{
	uint64_t start = m->start;
	struct comm_stack *stack;

	if (m->kind != COMM_MAP_ANON || m->shared || !m->writable ||
	    m->end - m->start > stack_bytes_max)
		return false;
	stack = find(stacks, start);
	if (stack) {
		if (stack->tid == tid || stack->contested)
			return false;
		change_owner(stack, tid);
		return true;
	}
	/*
	 * A second stack of one thread is a fiber's or a signal handler's, in
	 * memory that also holds other things: the first one counts, as long as
	 * it is mapped.
	 */
	for (size_t i = 0; i < stacks->n; i++) {
		const struct comm_mapping *found;

		if (stacks->stack[i].tid != tid || stacks->stack[i].contested)
			continue;
		found = comm_space_find(space, stacks->stack[i].start, now_ns);
		if (found && found->start == stacks->stack[i].start)
			return false;
		memmove(&stacks->stack[i], &stacks->stack[i + 1],
			(stacks->n - i - 1) * sizeof(*stacks->stack));
		stacks->n--;
		break;
	}
	return add(stacks, start, tid);
}
