// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collectors' library as its three kinds of hosts load and call it, each by the ABI of its
 * convention: which regions this thread is in then.  This program has marks itself, so
 * they are the words that it and the library share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <comm/mark.h>

static void *library;

/* The regions of this thread, as "a/b"; code as "0x12". */
static const char *regions(void)
{
	static __thread char text[1024];
	size_t n = 0;

	text[0] = '\0';
	for (uint64_t i = 0; i < comm_mark_thread.depth && i < COMM_MARK_DEPTH; i++) {
		const char *name = comm_mark_thread.name[i];

		if ((intptr_t)name < 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "/%#lx",
					      (unsigned long)name & ~(1ul << 63));
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "/%s", name);
	}
	return n ? text + 1 : text;
}

static int no_regions(void **state)
{
	(void)state;
	comm_mark_thread.depth = 0;
	return 0;
}

/* OpenMP */

typedef void (*any_fn)(void);

union data {
	uint64_t value;
	void *ptr;
};

static any_fn callback[32];

static int set_callback(int which, any_fn fn)
{
	callback[which] = fn;
	return 5;
}

static any_fn look_up(const char *name)
{
	return strcmp(name, "ompt_set_callback") ? NULL : (any_fn)set_callback;
}

static void parallel_begin(union data *parallel, uintptr_t code)
{
	((void (*)(union data *, const void *, union data *, unsigned int, int,
		   const void *))callback[3])(NULL, NULL, parallel, 2, 0, (const void *)code);
}

static void task_create(union data *task, int flags, uintptr_t code)
{
	((void (*)(union data *, const void *, union data *, int, int, const void *))callback[5])(
		NULL, NULL, task, flags, 0, (const void *)code);
}

static void task_schedule(union data *prior, int status, union data *next)
{
	((void (*)(union data *, int, union data *))callback[6])(prior, status, next);
}

static void implicit_task(int endpoint, union data *parallel, union data *task, int flags)
{
	((void (*)(int, union data *, union data *, unsigned int, unsigned int, int))callback[7])(
		endpoint, parallel, task, 2, 0, flags);
}

enum { BEGIN = 1, END = 2, COMPLETE = 1, SWITCH = 7, EXPLICIT = 4, UNTIED = 0x10000000 };

static int openmp(void **state)
{
	struct result {
		int (*initialize)(any_fn (*)(const char *), int, union data *);
		void (*finalize)(union data *);
		union data tool;
	} * result;
	struct result *(*start)(unsigned int, const char *);

	*(void **)&start = dlsym(library, "ompt_start_tool");
	assert_non_null(start);
	result = start(201811, "test");
	assert_non_null(result);
	assert_int_not_equal(result->initialize(look_up, 0, &result->tool), 0);
	return no_regions(state);
}

static void parallel_regions_nest(void **state)
{
	union data initial = {0}, outer = {0}, inner = {0}, task[2] = {{0}};

	(void)state;
	implicit_task(BEGIN, NULL, &initial, 1);
	assert_string_equal(regions(), "");
	{
		COMM_REGION("own");
		parallel_begin(&outer, 0x1001);
		implicit_task(BEGIN, &outer, &task[0], 2);
		assert_string_equal(regions(), "own/0x1000");
		parallel_begin(&inner, 0x2001);
		implicit_task(BEGIN, &inner, &task[1], 2);
		assert_string_equal(regions(), "own/0x1000/0x2000");
		/* At an end the runtime may not know the region any more. */
		implicit_task(END, NULL, &task[1], 2);
		assert_string_equal(regions(), "own/0x1000");
		implicit_task(END, NULL, &task[0], 2);
		assert_string_equal(regions(), "own");
	}
	implicit_task(END, NULL, &initial, 1);
	assert_string_equal(regions(), "");
}

static void tasks_are_regions_while_they_run(void **state)
{
	union data parallel = {0}, implicit = {0}, a = {0}, b = {0};

	(void)state;
	parallel_begin(&parallel, 0x1001);
	implicit_task(BEGIN, &parallel, &implicit, 2);
	task_create(&a, EXPLICIT, 0x3001);
	assert_string_equal(regions(), "0x1000");
	task_schedule(&implicit, SWITCH, &a);
	assert_string_equal(regions(), "0x1000/0x3000");
	/* It waits for another, and goes on where it was, in a region of its own. */
	{
		COMM_REGION("part");
		task_create(&b, EXPLICIT, 0x4001);
		task_schedule(&a, SWITCH, &b);
		assert_string_equal(regions(), "0x1000/0x3000/part/0x4000");
		task_schedule(&b, COMPLETE, &a);
		assert_string_equal(regions(), "0x1000/0x3000/part");
	}
	task_schedule(&a, COMPLETE, &implicit);
	assert_string_equal(regions(), "0x1000");
	implicit_task(END, NULL, &implicit, 2);
	assert_string_equal(regions(), "");
}

static void tasks_that_move_are_none(void **state)
{
	union data implicit = {0}, untied = {0}, nameless = {0};

	(void)state;
	task_create(&untied, EXPLICIT | UNTIED, 0x3001);
	task_schedule(&implicit, SWITCH, &untied);
	assert_string_equal(regions(), "");
	task_schedule(&untied, COMPLETE, &implicit);
	task_create(&nameless, EXPLICIT, 0);
	task_schedule(&implicit, SWITCH, &nameless);
	assert_string_equal(regions(), "");
	task_schedule(&nameless, COMPLETE, &implicit);
}

/* ITT */

struct domain {
	volatile int flags;
	const char *name;
};

struct id {
	unsigned long long d1, d2, d3;
};

static struct domain *(*domain_create)(const char *);
static void *(*string_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, void *);
static void (*task_begin_fn)(const struct domain *, struct id, struct id, void *);
static void (*task_end)(const struct domain *);
static void (*frame_begin)(const struct domain *, struct id *);
static void (*frame_end)(const struct domain *, struct id *);
static void (*pause_all)(void);
static void (*resume_all)(void);
static void (*set_thread_name)(const char *);
static void (*prepare)(void *);
static void nothing(void *unused)
{
	(void)unused;
}

#define API(name, variable)                                                        \
	{                                                                          \
		"__itt_" name, (void **)&(variable), (void *)1, (void *)nothing, 0 \
	}
static struct api {
	const char *name;
	void **function, *initial, *none;
	int group;
} apis[] = {
	API("domain_create", domain_create), API("string_handle_create", string_create),
	API("task_begin", task_begin),	     API("task_begin_fn", task_begin_fn),
	API("task_end", task_end),	     API("frame_begin_v3", frame_begin),
	API("frame_end_v3", frame_end),	     API("pause", pause_all),
	API("resume", resume_all),	     API("thread_set_name", set_thread_name),
	API("sync_prepare", prepare),	     {0},
};

static struct global {
	unsigned char magic[8];
	unsigned long version[3];
	volatile long initialised, mutex_initialised, counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **path;
	struct api *api;
} global = {.api = apis};

static int itt(void **state)
{
	void (*init)(struct global *, int);

	*(void **)&init = dlsym(library, "__itt_api_init");
	assert_non_null(init);
	init(&global, -1);
	assert_int_equal(global.initialised, 1);
	assert_ptr_equal(prepare, nothing);
	return no_regions(state);
}

static void itt_tasks_and_frames(void **state)
{
	struct domain *domain = domain_create("test.domain"), *off = domain_create("off");
	uint64_t frame = comm_mark_process.frame;
	struct id id = {0};
	char text[] = "parse";
	void *parse = string_create(text);

	(void)state;
	memset(text, 'x', 3); /* the program's own */
	assert_ptr_equal(domain_create("test.domain"), domain);
	assert_ptr_equal(string_create("parse"), parse);
	assert_string_equal(domain->name, "test.domain");
	assert_int_equal(domain->flags, 1);
	frame_begin(domain, &id);
	task_begin(domain, id, id, parse);
	assert_string_equal(regions(), "test.domain/parse");
	task_begin_fn(domain, id, id, (void *)0x5000);
	assert_string_equal(regions(), "test.domain/parse/0x5000");
	task_end(domain);
	task_end(domain);
	assert_string_equal(regions(), "test.domain");
	frame_end(domain, NULL);
	assert_int_equal(comm_mark_process.frame, frame + 1);
	off->flags = 0;
	task_begin(off, id, id, parse);
	assert_string_equal(regions(), "");
	task_end(off);
	/* An end too many does not end what others began. */
	{
		COMM_REGION("own");
		task_end(domain);
		assert_string_equal(regions(), "own");
	}
	task_begin(domain, id, id, NULL);
	assert_string_equal(regions(), "(unnamed)");
	task_end(domain);
}

static void itt_pauses_the_process(void **state)
{
	(void)state;
	pause_all();
	assert_int_equal(comm_mark_process.stopped, 1);
	resume_all();
	assert_int_equal(comm_mark_process.stopped, 0);
}

static void *named_thread(void *unused)
{
	static char name[32];

	(void)unused;
	set_thread_name("worker of a long name");
	prctl(PR_GET_NAME, name);
	return name;
}

static void itt_names_threads_but_the_first(void **state)
{
	char before[16], after[16];
	pthread_t thread;
	void *name;

	(void)state;
	prctl(PR_GET_NAME, before);
	set_thread_name("first");
	prctl(PR_GET_NAME, after);
	assert_string_equal(before, after);
	pthread_create(&thread, NULL, named_thread, NULL);
	pthread_join(thread, &name);
	assert_string_equal(name, "worker of a lon");
}

/* NVTX */

static int (*push)(const char *);
static int (*push_wide)(const wchar_t *);
static int (*push_ex)(const void *);
static int (*pop)(void);
static uint64_t (*start)(const char *);
static void (*end)(uint64_t);
static int (*domain_push)(const void *, const void *);
static int (*domain_pop)(const void *);
static const void *(*register_string)(const void *, const char *);

static any_fn *core[16] = {
	[5] = (any_fn *)&start, [7] = (any_fn *)&end,	     [8] = (any_fn *)&push_ex,
	[9] = (any_fn *)&push,	[10] = (any_fn *)&push_wide, [11] = (any_fn *)&pop};
static any_fn *core2[11] = {[4] = (any_fn *)&domain_push,
			    [5] = (any_fn *)&domain_pop,
			    [10] = (any_fn *)&register_string};

static int functions(int module, any_fn ***ret, unsigned int *ret_n)
{
	*ret = module == 1 ? core : module == 5 ? core2 : NULL;
	*ret_n = module == 1 ? 16 : 11;
	return !!*ret;
}

static const void *export_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*functions)(int, any_fn ***, unsigned int *);
	} table = {sizeof(table), functions};

	return id == 1 ? &table : NULL;
}

static int nvtx(void **state)
{
	int (*init)(const void *(*)(uint32_t));

	*(void **)&init = dlsym(library, "InitializeInjectionNvtx2");
	assert_non_null(init);
	assert_int_equal(init(export_table), 1);
	return no_regions(state);
}

static void nvtx_ranges_nest(void **state)
{
	struct {
		uint16_t version, size;
		char unused[28];
		int32_t type;
		const void *message;
	} event = {.version = 2, .size = 48, .type = 1, .message = "ascii"};
	char text[] = "load";

	(void)state;
	assert_int_equal(offsetof(__typeof__(event), message), 40);
	assert_int_equal(push(text), 0);
	strcpy(text, "next"); /* passed again with another text */
	assert_int_equal(push(text), 1);
	assert_int_equal(push_wide(L"wide\u20ac"), 2);
	assert_int_equal(push_ex(&event), 3);
	event.type = 3;
	event.message = register_string(NULL, "registered");
	domain_push(NULL, &event);
	assert_string_equal(regions(), "load/next/wide€/ascii/registered");
	assert_int_equal(domain_pop(NULL), 4);
	for (int i = 3; i >= 0; i--)
		assert_int_equal(pop(), i);
	assert_string_equal(regions(), "");
	{
		COMM_REGION("own");
		assert_true(pop() < 0);
		assert_string_equal(regions(), "own");
	}
}

static void *end_other(void *range)
{
	uint64_t mine = start("mine");

	end((uintptr_t)range);
	assert_string_equal(regions(), "mine");
	end(mine);
	assert_string_equal(regions(), "");
	return NULL;
}

static void nvtx_ranges_may_overlap(void **state)
{
	uint64_t a = start("a"), b = start("b");
	pthread_t thread;

	(void)state;
	assert_string_equal(regions(), "a/b");
	/* Those of a thread are its own. */
	pthread_create(&thread, NULL, end_other, (void *)a);
	pthread_join(thread, NULL);
	assert_string_equal(regions(), "a/b");
	end(a);
	assert_string_equal(regions(), "");
	end(b);
	assert_string_equal(regions(), "");
}

static void names_are_bounded(void **state)
{
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	push(text);
	assert_int_equal(strlen(regions()), 63);
	pop();
	push(NULL);
	assert_string_equal(regions(), "(unnamed)");
	pop();
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "range %d", i);
		push(text);
		assert_string_equal(regions(), i < 1000 ? text : regions());
		pop();
	}
	push(text);
	assert_string_equal(regions(), "(other)");
	pop();
	push("range 7");
	assert_string_equal(regions(), "range 7");
	pop();
}

static int open_library(void **state)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	assert_true(n > 0);
	path[n] = '\0';
	*strstr(path, "/tests/unit/") = '\0';
	strncat(path, "/collect/libcomm-collect.so", sizeof(path) - strlen(path) - 1);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		print_error("%s\n", dlerror());
	return !library;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(parallel_regions_nest, openmp),
		cmocka_unit_test_setup(tasks_are_regions_while_they_run, openmp),
		cmocka_unit_test_setup(tasks_that_move_are_none, openmp),
		cmocka_unit_test_setup(itt_tasks_and_frames, itt),
		cmocka_unit_test_setup(itt_pauses_the_process, itt),
		cmocka_unit_test_setup(itt_names_threads_but_the_first, itt),
		cmocka_unit_test_setup(nvtx_ranges_nest, nvtx),
		cmocka_unit_test_setup(nvtx_ranges_may_overlap, nvtx),
		cmocka_unit_test_setup(names_are_bounded, nvtx),
	};

	return cmocka_run_group_tests(tests, open_library, NULL);
}
