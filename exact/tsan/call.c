// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "object.h"
#include "selected.h"
#include "symbol.h"
#include "thread.h"

enum {
	PATTERN_BYTES = 4096,
	TRIES = 64,
	REGION_BYTES = 64, /* as much of a region's name as results have, and a NUL */
	NAME_BYTES = REGION_BYTES - sizeof(", later calls") + 1,
};

enum is_wanted { NOT_KNOWN, WANTED, NOT_WANTED };

/* Two threads that meet it at once write the same. */
struct function {
	uint64_t pc; /* behind the call that says that it begins; 0: free */
	enum is_wanted is;
	uint32_t calls; /* that have a number */
	char name[NAME_BYTES], later[REGION_BYTES];
};

/* Shared with children of fork(), as names of regions are. */
static struct {
	char pattern[PATTERN_BYTES];
	uint64_t n, later;
	char name[COMM_EXACT_CALLS_MAX][REGION_BYTES];
	struct function function[COMM_EXACT_FUNCTIONS];
} * calls;

static uint32_t n_callers; /* 0: nobody asked */

/* One that a thread is in. */
struct call {
	uint64_t entered, sp; /* before it, at it */
	struct comm_exact_inside around;
	uint32_t function;
};

/*
 * An exit does not say of which function it is: the calls under way are found by how many have begun
 * and not ended.
 */
static __thread struct {
	int busy; /* a signal handler, or what is called here, is not to be looked at */
	uint64_t entered;
	uint32_t n, capacity;
	struct call *call, few[COMM_EXACT_CALLS_DEEP];
} mine __attribute__((tls_model("initial-exec")));

int comm_exact_calls_wanted;

/* Of C++ programs alone. */
extern char *__cxa_demangle(const char *name, char *buf, size_t *bytes, int *status)
	__attribute__((weak));

void comm_exact_calls_init(const char *pattern, uint32_t callers)
{
	if (!pattern && !callers)
		return;
	calls = comm_exact_map_shared(sizeof(*calls));
	n_callers = callers < COMM_EXACT_CALLERS ? callers : COMM_EXACT_CALLERS;
	if (n_callers)
		comm_exact_paths_init();
	else
		snprintf(calls->pattern, sizeof(calls->pattern), "%s", pattern);
	comm_exact_calls_wanted = 1;
}

uint64_t comm_exact_function_pc(uint32_t function)
{
	return calls->function[function].pc;
}

int comm_exact_calls_count(uint64_t *ret_numbered, uint64_t *ret_later)
{
	uint64_t n;

	if (!calls || n_callers)
		return 0;
	n = __atomic_load_n(&calls->n, __ATOMIC_RELAXED);
	*ret_numbered = n < COMM_EXACT_CALLS_MAX ? n : COMM_EXACT_CALLS_MAX;
	*ret_later = __atomic_load_n(&calls->later, __ATOMIC_RELAXED);
	return 1;
}

static void look_up(struct function *f)
{
	struct comm_exact_symbol symbol;
	int err = errno, wanted;
	char *name = NULL;

	comm_exact_symbol(f->pc - 1, &symbol);
	if (__cxa_demangle && symbol.name[0] == '_' && symbol.name[1] == 'Z')
		name = __cxa_demangle(symbol.name, NULL, NULL, NULL);
	wanted = comm_exact_name_fits(calls->pattern, name ? name : symbol.name);
	/* Cut off, and seen to be. */
	if (snprintf(f->name, sizeof(f->name), "%s", name ? name : symbol.name) >= NAME_BYTES)
		snprintf(f->name + sizeof(f->name) - 4, 4, "...");
	snprintf(f->later, sizeof(f->later), "%s, later calls", f->name);
	free(name);
	__atomic_store_n(&f->is, wanted ? WANTED : NOT_WANTED, __ATOMIC_RELEASE);
	errno = err;
}

/* NULL: its calls are not told apart. */
static struct function *wanted_function(uint64_t pc)
{
	uint64_t i = pc * 0x9e3779b97f4a7c15u >> 40, tries;

	for (tries = 0; tries < TRIES; tries++, i++) {
		struct function *f = &calls->function[i & (COMM_EXACT_FUNCTIONS - 1)];
		uint64_t old = 0;

		if (f->pc != pc &&
		    !__atomic_compare_exchange_n(&f->pc, &old, pc, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) &&
		    old != pc)
			continue;
		if (n_callers)
			return f;
		if (__atomic_load_n(&f->is, __ATOMIC_ACQUIRE) == NOT_KNOWN)
			look_up(f);
		return f->is == WANTED ? f : NULL;
	}
	return NULL;
}

static const char *name_call(struct function *f)
{
	uint64_t n = __atomic_load_n(&calls->n, __ATOMIC_RELAXED);

	if (n < COMM_EXACT_CALLS_MAX)
		n = __atomic_fetch_add(&calls->n, 1, __ATOMIC_RELAXED);
	if (n >= COMM_EXACT_CALLS_MAX) {
		__atomic_fetch_add(&calls->later, 1, __ATOMIC_RELAXED);
		return f->later;
	}
	snprintf(calls->name[n], REGION_BYTES, "%s #%u", f->name,
		 __atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED));
	return calls->name[n];
}

static void end_last(void)
{
	const struct call *last = &mine.call[--mine.n];

	mine.entered = last->entered;
	comm_exact_region_leave(&last->around);
}

/*
 * Calls that longjmp() left are still there, and so is one whose last instruction jumps to the exit: the stack's
 * top is above them now.  Of another stack, such as a signal handler's, nothing is known.
 */
static void end_below(uint64_t sp)
{
	while (mine.n && mine.call[mine.n - 1].sp < sp &&
	       comm_object_of(mine.call[mine.n - 1].sp) == comm_object_of(sp - 1))
		end_last();
}

/* The path of the last call; of callers beyond those that were asked for nobody knows. */
static uint32_t last_path(uint32_t around)
{
	const struct call *last = &mine.call[mine.n - 1];
	uint32_t path = COMM_EXACT_PATH_UNKNOWN, i;

	if (mine.n == 1)
		return comm_exact_path_within(COMM_EXACT_PATH_OUTERMOST, last->function);
	if (mine.n <= n_callers + 1)
		return comm_exact_path_within(around, last->function);
	for (i = mine.n - n_callers - 1; i < mine.n; i++)
		path = comm_exact_path_within(path, mine.call[i].function);
	return path;
}

/* By number: the name is interposed (mapping.c).  A thread's memory stays. */
static void make_room(void)
{
	const size_t bytes = COMM_EXACT_CALLERS_DEEP * sizeof(*mine.call);
	void *many = MAP_FAILED;

	if (n_callers)
		many = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mine.call = many == MAP_FAILED ? mine.few : many;
	mine.capacity = many == MAP_FAILED ? COMM_EXACT_CALLS_DEEP : COMM_EXACT_CALLERS_DEEP;
}

static void begin(uint64_t pc, uint64_t sp)
{
	struct function *f;

	if (!mine.call)
		make_room();
	/* Two that are under way do not begin at one place. */
	end_below(sp + 1);
	f = wanted_function(pc);
	if (f && mine.n < mine.capacity) {
		struct call *call = &mine.call[mine.n++];

		*call = (struct call){
			.entered = mine.entered, .sp = sp, .function = f - calls->function};
		if (n_callers)
			comm_exact_path_enter(last_path(comm_exact_path_now()), &call->around);
		else
			comm_exact_region_enter(name_call(f), &call->around);
	}
	mine.entered++;
}

static void end(uint64_t sp)
{
	/* Before it was the first one that was looked at. */
	if (!mine.entered)
		return;
	mine.entered--;
	end_below(sp);
	while (mine.n && mine.entered <= mine.call[mine.n - 1].entered)
		end_last();
}

static int take(void)
{
	int is_free = !mine.busy;

	mine.busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return is_free;
}

static void give_back(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine.busy = 0;
}

void comm_exact_call_begin(uint64_t pc, uint64_t sp)
{
	if (!take())
		return;
	begin(pc, sp);
	give_back();
}

void comm_exact_call_end(uint64_t sp)
{
	if (!take())
		return;
	end(sp);
	give_back();
}
