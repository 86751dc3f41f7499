// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each function that allocates and each that frees, of a program that was started with libcomm-alloc.so (alloc/),
 * on glibc's malloc and on jemalloc: the table has the block with its size and who asked for it, and none
 * that was freed.  The program is this one, started once more.
 *
 *	test_allocating ways		prints what is not so
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "maps.h"
#include "read_self.h"
#include "sampled_blocks.h"

#define ALONE static __attribute__((noinline, noclone, noipa))

enum { BYTES = 5000, ALIGN = 4096, LG_ALIGN = 12, CODE_MOST = 300 };

static struct comm_sampled_blocks *blocks;
static uint64_t ahead_ns;

static uint64_t now(void *ctx)
{
	(void)ctx;
	return comm_clock_now_ns() + ahead_ns;
}

static void look(void)
{
	static char text[1 << 20];
	struct comm_names *names;
	struct comm_mapping *map;
	struct comm_maps *maps;
	FILE *file = fopen("/proc/self/maps", "re");
	size_t n_text = fread(text, 1, sizeof(text), file), n;

	fclose(file);
	if (comm_names_create(1 << 20, &names) || comm_maps_create(names, &maps) ||
	    comm_maps_parse(maps, text, n_text, &map, &n))
		exit(1);
	comm_sampled_blocks_look(blocks, (uint32_t)getpid(), map, n);
}

static int told(const void *block, struct comm_allocation *ret)
{
	ahead_ns += 100000000;
	return comm_sampled_blocks_at(blocks, (uint32_t)getpid(), (uintptr_t)block, now(NULL), true,
				      ret);
}

/* As C++ names them; NULL where the process has none. */
static void *symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static const char *way; /* that is tried */

ALONE void *by_malloc(void)
{
	void *volatile block = malloc(BYTES);

	return block;
}

ALONE void *by_calloc(void)
{
	void *volatile block = calloc(1, BYTES);

	return block;
}

ALONE void *by_realloc(void)
{
	void *volatile block = realloc(NULL, BYTES);

	return block;
}

ALONE void *by_reallocarray(void)
{
	void *volatile block = reallocarray(NULL, BYTES / 8, 8);

	return block;
}

ALONE void *by_posix_memalign(void)
{
	void *volatile block = NULL;

	if (posix_memalign((void **)&block, ALIGN, BYTES))
		return NULL;
	return block;
}

ALONE void *by_aligned_alloc(void)
{
	void *volatile block = aligned_alloc(ALIGN, BYTES);

	return block;
}

ALONE void *by_memalign(void)
{
	void *volatile block = memalign(ALIGN, BYTES);

	return block;
}

/* A way of C++, or of jemalloc, by its symbol. */
ALONE void *by_symbol(void)
{
	void *(*function)(size_t, uintptr_t, uintptr_t) = symbol(way);
	void *volatile block;

	if (strstr(way, "align_val_t"))
		block = function(BYTES, ALIGN, (uintptr_t) "");
	else if (way[0] == '_')
		block = function(BYTES, (uintptr_t) "", 0);
	else
		block = function(BYTES, LG_ALIGN, 0);
	return block;
}

ALONE void *by_rallocx(void)
{
	void *(*function)(void *, size_t, int) = symbol("rallocx");
	void *volatile block = function(malloc(100), BYTES, LG_ALIGN);

	return block;
}

/* Of another size: at the same place, or it goes on as before. */
ALONE void *by_xallocx(void)
{
	size_t (*function)(void *, size_t, size_t, int) = symbol("xallocx");
	void *volatile block = malloc(BYTES);

	function(block, BYTES, 0, 0);
	return block;
}

static void by_free(void *block)
{
	free(block);
}

static void free_by_realloc(void *block)
{
	free(realloc(block, 100000));
}

static void free_by_symbol(void *block)
{
	void (*function)(void *, uintptr_t, uintptr_t) = symbol(way);

	if (!strncmp(way, "_ZdlPvm", 7) || !strncmp(way, "_ZdaPvm", 7))
		function(block, BYTES, ALIGN);
	else if (way[0] == '_')
		function(block, ALIGN, (uintptr_t) "");
	else
		function(block, way[0] == 's' ? BYTES : 0, 0);
}

static void free_by_rallocx(void *block)
{
	void *(*function)(void *, size_t, int) = symbol("rallocx");

	free(function(block, 100000, 0));
}

static const struct {
	const char *name;
	void *(*get)(void);
} begins[] = {
	{"malloc", by_malloc},
	{"calloc", by_calloc},
	{"realloc", by_realloc},
	{"reallocarray", by_reallocarray},
	{"posix_memalign", by_posix_memalign},
	{"aligned_alloc", by_aligned_alloc},
	{"memalign", by_memalign},
	{"_Znwm", by_symbol},
	{"_Znam", by_symbol},
	{"_ZnwmRKSt9nothrow_t", by_symbol},
	{"_ZnamRKSt9nothrow_t", by_symbol},
	{"_ZnwmSt11align_val_t", by_symbol},
	{"_ZnamSt11align_val_t", by_symbol},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", by_symbol},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", by_symbol},
	{"mallocx", by_symbol},
	{"rallocx", by_rallocx},
	{"xallocx", by_xallocx},
};

static const struct {
	const char *name;
	void (*put)(void *block);
} ends[] = {
	{"free", by_free},
	{"realloc", free_by_realloc},
	{"_ZdlPv", free_by_symbol},
	{"_ZdaPv", free_by_symbol},
	{"_ZdlPvRKSt9nothrow_t", free_by_symbol},
	{"_ZdaPvRKSt9nothrow_t", free_by_symbol},
	{"_ZdlPvm", free_by_symbol},
	{"_ZdaPvm", free_by_symbol},
	{"_ZdlPvSt11align_val_t", free_by_symbol},
	{"_ZdaPvSt11align_val_t", free_by_symbol},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", free_by_symbol},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", free_by_symbol},
	{"_ZdlPvmSt11align_val_t", free_by_symbol},
	{"_ZdaPvmSt11align_val_t", free_by_symbol},
	{"dallocx", free_by_symbol},
	{"sdallocx", free_by_symbol},
	{"rallocx", free_by_rallocx},
};

/* Whether its caller is the function, or, of libstdc++ and libc, a caller of those. */
static bool is_of(const struct comm_allocation *a, const void *function)
{
	bool found = a->code - (uintptr_t)function < CODE_MOST;

	for (uint32_t i = 0; i < a->n_words; i++)
		found |= a->word[i] - (uintptr_t)function < CODE_MOST;
	return found;
}

static int complain(const char *name, const char *what)
{
	printf("%s: %s\n", name, what);
	return 1;
}

static int try_to_get(const char *name, void *(*get)(void))
{
	struct comm_allocation a = {0};
	int failed = 0;
	void *block;

	way = name;
	block = get();
	if (told(block, &a) || a.start != (uintptr_t)block)
		failed = complain(name, "its block is not told");
	else if (a.size_bytes < BYTES || a.size_bytes > malloc_usable_size(block))
		failed = complain(name, "of another size");
	else if (!is_of(&a, get))
		failed = complain(name, "by somebody else");
	else if ((!strcmp(name, "mallocx") || !strcmp(name, "rallocx")) && (uintptr_t)block % ALIGN)
		failed = complain(name, "not aligned");
	memset(block, 1, BYTES);
	free(block);
	return failed;
}

static int try_to_free(const char *name, void (*put)(void *block))
{
	void *block = aligned_alloc(ALIGN, BYTES);
	struct comm_allocation a;

	way = name;
	if (told(block, &a))
		return complain(name, "nothing is told");
	put(block);
	return told(block, &a) ? 0 : complain(name, "the block is told that was freed");
}

static int all_ways(void)
{
	const struct comm_sampled_reading reading = {read_self, now, NULL};
	int failed = comm_sampled_blocks_create(&reading, &blocks) != 0;

	look();
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		failed += try_to_get(begins[i].name, begins[i].get);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		failed += try_to_free(ends[i].name, ends[i].put);
	return failed != 0;
}

static void started_with(const char *libraries)
{
	char self[PATH_MAX], text[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* malloc is the sanitizer's */
#endif
	assert_in_range(n, 1, sizeof(self) - 2);
	self[n] = 0;
	n = strrchr(self, '/') - self;
	snprintf(text, sizeof(text), "%.*s/../../alloc/libcomm-alloc.so%s:libstdc++.so.6", (int)n,
		 self, libraries);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("LD_PRELOAD", text, 1);
		setenv("COMM_ALLOC_BYTES", "1", 1);
		execl(self, self, "ways", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void on_glibc(void **state)
{
	(void)state;
	started_with("");
}

static void on_jemalloc(void **state)
{
	(void)state;
	started_with(":libjemalloc.so.2");
}

/* Whose operator new calls malloc(). */
static void on_jemalloc_behind_libstdcxx(void **state)
{
	(void)state;
	started_with(":libstdc++.so.6:libjemalloc.so.2");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_glibc),
		cmocka_unit_test(on_jemalloc),
		cmocka_unit_test(on_jemalloc_behind_libstdcxx),
	};

	if (argc > 1 && !strcmp(argv[1], "ways"))
		return all_ways();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
