// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NVTX: the headers that a program includes load this for NVTX_INJECTION64_PATH and call
 * InitializeInjectionNvtx2(), once for each module.  Pushed ranges are regions, and so are started
 * ones on the thread that starts them, as long as it ends them, too.  Structures and
 * numbers as in nvtxTypes.h of https://github.com/NVIDIA/NVTX, version 3.
 */
#include "region.h"

#include <stddef.h>

enum {
	TABLE_CALLBACKS = 1,
	MODULE_CORE = 1,
	MODULE_CORE2 = 5,
	CORE_RANGE_START_EX = 4,
	CORE_RANGE_START = 5,
	CORE_RANGE_START_WIDE = 6,
	CORE_RANGE_END = 7,
	CORE_RANGE_PUSH_EX = 8,
	CORE_RANGE_PUSH = 9,
	CORE_RANGE_PUSH_WIDE = 10,
	CORE_RANGE_POP = 11,
	CORE2_RANGE_START_EX = 2,
	CORE2_RANGE_END = 3,
	CORE2_RANGE_PUSH_EX = 4,
	CORE2_RANGE_POP = 5,
	CORE2_REGISTER_STRING = 10,
	CORE2_REGISTER_STRING_WIDE = 11,
	MESSAGE_ASCII = 1,
	MESSAGE_WIDE = 2,
	MESSAGE_REGISTERED = 3,
	NO_RANGE = -2, /* NVTX_NO_PUSH_POP_TRACKING */
};

typedef void (*any_fn)(void);

struct export_table {
	size_t struct_size;
	/* A module's functions: pointers to where its calls look for them. */
	int (*functions)(int module, any_fn ***ret, unsigned int *ret_n);
};

struct event {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

_Static_assert(offsetof(struct event, message) == 40, "as nvtxEventAttributes_v2 has it");

static COLLECT_THREAD unsigned int pushed;
static COLLECT_THREAD uint32_t thread_number; /* 0: it has started no range */

static const char *name_of(const struct event *event)
{
	switch (event && event->size >= sizeof(*event) ? event->message_type : 0) {
	case MESSAGE_ASCII:
		return collect_name(event->message);
	case MESSAGE_WIDE:
		return collect_wide_name(event->message);
	case MESSAGE_REGISTERED: /* by register_string() */
		return event->message ? event->message : collect_name(NULL);
	default:
		return collect_name(NULL);
	}
}

static int push_name(const char *name)
{
	collect_begin(name);
	return (int)pushed++;
}

static int push(const char *text)
{
	return push_name(collect_name(text));
}

static int push_wide(const void *text)
{
	return push_name(collect_wide_name(text));
}

static int push_event(const struct event *event)
{
	return push_name(name_of(event));
}

static int pop(void)
{
	if (!pushed)
		return NO_RANGE;
	collect_end_last();
	return (int)--pushed;
}

/* A range's id: the thread that it is of, and how deep that was before it. */
static uint64_t start_name(const char *name)
{
	static uint32_t threads;

	if (!thread_number)
		thread_number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return (uint64_t)thread_number << 32 | (uint32_t)collect_begin(name);
}

static uint64_t start(const char *text)
{
	return start_name(collect_name(text));
}

static uint64_t start_wide(const void *text)
{
	return start_name(collect_wide_name(text));
}

static uint64_t start_event(const struct event *event)
{
	return start_name(name_of(event));
}

/* Nobody may write the words of another thread: there the range goes on up to what is around it. */
static void end(uint64_t range)
{
	if (thread_number && range >> 32 == thread_number)
		collect_end((uint32_t)range);
}

/* Domains are not told apart: a name is one, whichever part of a program says it. */
static int domain_push(const void *domain, const struct event *event)
{
	(void)domain;
	return push_event(event);
}

static int domain_pop(const void *domain)
{
	(void)domain;
	return pop();
}

static uint64_t domain_start(const void *domain, const struct event *event)
{
	(void)domain;
	return start_event(event);
}

static void domain_end(const void *domain, uint64_t range)
{
	(void)domain;
	end(range);
}

static const void *register_string(const void *domain, const char *text)
{
	(void)domain;
	return collect_name(text);
}

static const void *register_wide_string(const void *domain, const void *text)
{
	(void)domain;
	return collect_wide_name(text);
}

static const struct {
	int module;
	unsigned int at;
	any_fn function;
} ours[] = {
	{MODULE_CORE, CORE_RANGE_START_EX, (any_fn)start_event},
	{MODULE_CORE, CORE_RANGE_START, (any_fn)start},
	{MODULE_CORE, CORE_RANGE_START_WIDE, (any_fn)start_wide},
	{MODULE_CORE, CORE_RANGE_END, (any_fn)end},
	{MODULE_CORE, CORE_RANGE_PUSH_EX, (any_fn)push_event},
	{MODULE_CORE, CORE_RANGE_PUSH, (any_fn)push},
	{MODULE_CORE, CORE_RANGE_PUSH_WIDE, (any_fn)push_wide},
	{MODULE_CORE, CORE_RANGE_POP, (any_fn)pop},
	{MODULE_CORE2, CORE2_RANGE_START_EX, (any_fn)domain_start},
	{MODULE_CORE2, CORE2_RANGE_END, (any_fn)domain_end},
	{MODULE_CORE2, CORE2_RANGE_PUSH_EX, (any_fn)domain_push},
	{MODULE_CORE2, CORE2_RANGE_POP, (any_fn)domain_pop},
	{MODULE_CORE2, CORE2_REGISTER_STRING, (any_fn)register_string},
	{MODULE_CORE2, CORE2_REGISTER_STRING_WIDE, (any_fn)register_wide_string},
};

COLLECT_ENTRY int InitializeInjectionNvtx2(const struct export_table *(*get)(uint32_t table));

/* 1: it has been set up. */
COLLECT_ENTRY int InitializeInjectionNvtx2(const struct export_table *(*get)(uint32_t table))
{
	const struct export_table *table = get(TABLE_CALLBACKS);

	if (!table || table->struct_size < sizeof(*table))
		return 0;
	collect_init();
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		any_fn **functions;
		unsigned int n;

		if (table->functions(ours[i].module, &functions, &n) && ours[i].at < n &&
		    functions[ours[i].at])
			*functions[ours[i].at] = ours[i].function;
	}
	return 1;
}
