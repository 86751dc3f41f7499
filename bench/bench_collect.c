// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the collectors' library costs a program, begin and end together, in ns: medians of many
 * short loops of calls as the hosts of its conventions make them, each paired with one without.
 *
 *	bench_collect LIBRARY [SECONDS]
 */
#include "clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 1000000, PAIRS_MAX = 10000 };

typedef void (*any_fn)(void);

struct itt_id {
	unsigned long long d1, d2, d3;
};

static void *(*volatile domain_create)(const char *);
static void *(*volatile string_create)(const char *);
static void (*volatile task_begin)(void *, struct itt_id, struct itt_id, void *);
static void (*volatile task_end)(void *);
static void *domain, *string;

static struct {
	const char *name;
	void **function, *initial, *nothing;
	int group;
} apis[] = {
	{"__itt_domain_create", (void **)&domain_create, NULL, NULL, 0},
	{"__itt_string_handle_create", (void **)&string_create, NULL, NULL, 0},
	{"__itt_task_begin", (void **)&task_begin, NULL, NULL, 0},
	{"__itt_task_end", (void **)&task_end, NULL, NULL, 0},
	{NULL, NULL, NULL, NULL, 0},
};

static int (*volatile push)(const char *);
static int (*volatile pop)(void);
static any_fn *core[16] = {[9] = (any_fn *)&push, [11] = (any_fn *)&pop};

static void (*volatile implicit_task)(int, void *, void *, unsigned int, unsigned int, int);

static int set_callback(int which, any_fn fn)
{
	if (which == 7)
		implicit_task = (void (*)(int, void *, void *, unsigned int, unsigned int, int))fn;
	return 5;
}

static any_fn look_up(const char *name)
{
	return strcmp(name, "ompt_set_callback") ? NULL : (any_fn)set_callback;
}

static int functions(int module, any_fn ***ret, unsigned int *ret_n)
{
	*ret = core;
	*ret_n = 16;
	return module == 1;
}

static const void *export_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*functions)(int, any_fn ***, unsigned int *);
	} table = {sizeof(table), functions};

	return id == 1 ? &table : NULL;
}

static int set_up(const char *path)
{
	struct {
		unsigned char magic[8];
		unsigned long version[3];
		volatile long state[3];
		pthread_mutex_t mutex;
		void *library, *error_handler;
		const char **path;
		void *api;
	} global = {.api = apis};
	struct result {
		int (*initialize)(any_fn (*)(const char *), int, void *);
		void (*finalize)(void *);
		uint64_t tool;
	} * (*ompt)(unsigned int, const char *);
	int (*nvtx)(const void *(*)(uint32_t));
	void (*itt)(void *, int);
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&itt = dlsym(library, "__itt_api_init");
	*(void **)&nvtx = dlsym(library, "InitializeInjectionNvtx2");
	*(void **)&ompt = dlsym(library, "ompt_start_tool");
	itt(&global, -1);
	nvtx(export_table);
	ompt(201811, "")->initialize(look_up, 0, NULL);
	domain = domain_create("bench");
	string = string_create("task");
	return 0;
}

static void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

static void itt(void)
{
	const struct itt_id id = {0, 0, 0};

	task_begin(domain, id, id, string);
	task_end(domain);
}

static void nvtx(void)
{
	push("a range");
	pop();
}

static void openmp(void)
{
	uint64_t parallel = 0x401001, task = 0;

	implicit_task(1, &parallel, &task, 2, 0, 2);
	implicit_task(2, NULL, &task, 2, 0, 2);
}

/* CPU time, as others take the CPU away. */
static uint64_t time_of(void (*volatile call)(void))
{
	uint64_t start_ns = comm_clock_thread_ns();

	for (int i = 0; i < TURNS; i++)
		call();
	return comm_clock_thread_ns() - start_ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *what, void (*call)(void), uint64_t for_ns)
{
	static double cost[PAIRS_MAX];
	uint64_t end_ns = comm_clock_now_ns() + for_ns;
	size_t n = 0;

	while (n < PAIRS_MAX && comm_clock_now_ns() < end_ns) {
		double without_ns = (double)time_of(nothing);

		cost[n++] = ((double)time_of(call) - without_ns) / TURNS;
	}
	qsort(cost, n, sizeof(*cost), by_value);
	printf("%-34s %.1f ns, the middle half of %zu pairs %.1f..%.1f ns\n", what, cost[n / 2], n,
	       cost[n / 4], cost[n - 1 - n / 4]);
}

int main(int argc, char **argv)
{
	uint64_t for_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 2) * 1000000000u;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_collect LIBRARY [SECONDS]\n");
		return 2;
	}
	if (set_up(argv[1]))
		return 1;
	measure("ITT, task begin and end", itt, for_ns);
	measure("NVTX, push and pop", nvtx, for_ns);
	measure("OMPT, a thread's part of a region", openmp, for_ns);
	return 0;
}
