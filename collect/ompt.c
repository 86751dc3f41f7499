// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OMPT: LLVM's libomp loads this for OMP_TOOL_LIBRARIES.  A parallel region and an explicit task
 * are a region each, named by the code that starts them.  The ABI is that of OpenMP 5.0,
 * section 4; no header of an OpenMP runtime is needed to build this.
 */
#include "region.h"

#include <stddef.h>

enum {
	CALLBACK_PARALLEL_BEGIN = 3,
	CALLBACK_TASK_CREATE = 5,
	CALLBACK_TASK_SCHEDULE = 6,
	CALLBACK_IMPLICIT_TASK = 7,
	SCOPE_BEGIN = 1,
	TASK_EXPLICIT = 0x4,
	TASK_UNTIED = 0x10000000,
	STATUS_COMPLETE = 1,
	STATUS_CANCEL = 3,
	STATUS_DETACH = 4, /* its code has ended, its completion waits for an event */
};

/*
 * What we keep for a parallel region or a task: the address of its code, and above that how
 * deep its thread was before it, and 1.
 */
union data {
	uint64_t value;
	void *ptr;
};

enum { CODE_BITS = 48 };

static const uint64_t code_mask = (UINT64_C(1) << CODE_BITS) - 1;

typedef void (*interface_fn)(void);
typedef interface_fn (*lookup_fn)(const char *name);
typedef int (*set_callback_fn)(int which, interface_fn callback);

struct start_tool_result {
	int (*initialize)(lookup_fn lookup, int initial_device, union data *tool);
	void (*finalize)(union data *tool);
	union data tool;
};

/* Where a call returns to is after the line that calls. */
static uint64_t code_of_call(const void *returns_to)
{
	return returns_to ? ((uintptr_t)returns_to - 1) & code_mask : 0;
}

static void begin(union data *task, uint64_t code)
{
	uint64_t depth;

	if (!code)
		return;
	depth = collect_begin(COMM_MARK_CODE(code));
	task->value = code | (depth + 1) << CODE_BITS;
}

static void end(const union data *task)
{
	if (task->value >> CODE_BITS)
		collect_end((task->value >> CODE_BITS) - 1);
}

static void parallel_begin(union data *encountering, const void *frame, union data *parallel,
			   unsigned int requested, int flags, const void *returns_to)
{
	(void)encountering, (void)frame, (void)requested, (void)flags;
	parallel->value = code_of_call(returns_to);
}

/* What a thread does of a parallel region.  The ends of waiting threads may come late. */
static void implicit_task(int endpoint, union data *parallel, union data *task, unsigned int n,
			  unsigned int index, int flags)
{
	(void)n, (void)index, (void)flags;
	if (endpoint != SCOPE_BEGIN)
		end(task);
	else if (parallel)
		begin(task, parallel->value);
}

/* Of an untied task it is not told at which depth of which thread it goes on. */
static void task_create(union data *encountering, const void *frame, union data *created, int flags,
			int has_dependences, const void *returns_to)
{
	(void)encountering, (void)frame, (void)has_dependences;
	if (created && flags & TASK_EXPLICIT && !(flags & TASK_UNTIED))
		created->value = code_of_call(returns_to);
}

/*
 * A task that waits for others stays beneath them, as its frame does on the thread's stack: it is
 * as it was when they have ended.
 */
static void task_schedule(union data *prior, int status, union data *next)
{
	if (prior &&
	    (status == STATUS_COMPLETE || status == STATUS_CANCEL || status == STATUS_DETACH))
		end(prior);
	if (next && !(next->value >> CODE_BITS))
		begin(next, next->value);
}

static int initialize(lookup_fn lookup, int initial_device, union data *tool)
{
	set_callback_fn set = (set_callback_fn)lookup("ompt_set_callback");

	(void)initial_device, (void)tool;
	if (!set)
		return 0;
	collect_init();
	set(CALLBACK_PARALLEL_BEGIN, (interface_fn)parallel_begin);
	set(CALLBACK_IMPLICIT_TASK, (interface_fn)implicit_task);
	set(CALLBACK_TASK_CREATE, (interface_fn)task_create);
	set(CALLBACK_TASK_SCHEDULE, (interface_fn)task_schedule);
	return 1;
}

static void finalize(union data *tool)
{
	(void)tool;
}

COLLECT_ENTRY struct start_tool_result *ompt_start_tool(unsigned int omp_version,
							const char *runtime_version);

COLLECT_ENTRY struct start_tool_result *ompt_start_tool(unsigned int omp_version,
							const char *runtime_version)
{
	static struct start_tool_result result = {initialize, finalize, {0}};

	(void)omp_version, (void)runtime_version;
	return &result;
}
