// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who asked for a block by jemalloc's own profile of its heap (jemalloc_extents.c, heap_blocks.c): that of Debian's
 * library in this very process, which is told to draw blocks more often than it does by itself.
 */
#include <string.h>
#include <time.h>

#include "clock.h"
#include "jemalloc_library.h"
#include "own_heap.h"

#define ALONE static __attribute__((noinline, noclone, noipa, aligned(128)))

enum { N = 600, CODE_MOST = 128 };

static struct {
	void *(*malloc)(size_t bytes);
	void (*free)(void *p);
	int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t bytes);
} je;

ALONE char *here(size_t bytes)
{
	char *volatile p = je.malloc(bytes);

	return memset(p, 1, bytes);
}

ALONE char *there(size_t bytes)
{
	char *volatile p = je.malloc(bytes);

	return memset(p, 2, bytes);
}

static int site_at(const void *at, uint64_t time_ns, struct comm_allocation *ret)
{
	struct own_place own = place_of((uintptr_t)at);
	const struct comm_heap_place place = {
		.addr = (uintptr_t)at,
		.m = &own.m,
		.zeroed = own.zeroed,
		.n_zeroed = own.n_zeroed,
	};

	return comm_heap_blocks_site(blocks, (uint32_t)getpid(), &place, time_ns, ret);
}

/* Its block must have been read twice before; -EAGAIN is not told for ever. */
static int site_of(const void *at, struct comm_allocation *ret)
{
	int err = -EAGAIN;

	for (int i = 0; i < 20 && err == -EAGAIN; i++, clock_ns += SECOND_NS)
		err = site_at(at, clock_ns, ret);
	return err;
}

/* The time that jemalloc knows, too. */
static int begin(void **state)
{
	clock_ns = comm_clock_now_ns() + SECOND_NS;
	return setup(state);
}

static bool is_of(const struct comm_allocation *a, char *(*function)(size_t bytes))
{
	bool found = false;

	for (uint32_t i = 0; i < a->n_words; i++)
		found |= a->word[i] - (uintptr_t)function < CODE_MOST;
	return found;
}

static void sites_of_what_is_drawn(void **state)
{
	static char *block[N];
	unsigned int n_told = 0, n_large = 0;

	(void)state;
	for (size_t i = 0; i < N; i++)
		block[i] = (i % 2 ? here : there)(100 + i * i);
	clock_ns = comm_clock_now_ns() + SECOND_NS;
	for (size_t i = 0; i < N; i++) {
		struct comm_allocation a;

		if (site_of(block[i] + 50 + i * i, &a)) {
			n_large += i * i >= 100000;
			continue;
		}
		n_told++;
		assert_int_equal(a.start, (uintptr_t)block[i]);
		assert_int_equal(a.size_bytes, 100 + i * i);
		assert_int_equal(a.sp, 0);
		assert_true(is_of(&a, i % 2 ? here : there));
		assert_false(is_of(&a, i % 2 ? there : here));
		assert_in_range(a.until_ns, a.since_ns, clock_ns);
	}
	print_message("%u of %d are told\n", n_told, N);
	assert_in_range(n_told, N / 2, N);
	assert_int_equal(n_large, 0); /* of those as large all are drawn */
	for (size_t i = 0; i < N; i++)
		je.free(block[i]);
}

/*
 * The time now, when jemalloc's clock has come to it as well: that clock stands still from tick to tick, and on a
 * machine whose CPUs are taken from it for much longer.
 */
static uint64_t moment_ns(void)
{
	const struct timespec wait = {0, 1000 * 1000};
	uint64_t now_ns = comm_clock_now_ns();

	while (comm_clock_ns(CLOCK_MONOTONIC_COARSE) <= now_ns)
		nanosleep(&wait, NULL);
	return now_ns;
}

/* An address that is given again: of each moment it is that of who had it then, or nobody's. */
static void an_address_in_turns(void **state)
{
	uint64_t before_ns = moment_ns(), between_ns;
	char *p = here(1 << 20), *q;
	struct comm_allocation a;

	(void)state;
	clock_ns = comm_clock_now_ns() + SECOND_NS;
	assert_int_equal(site_of(p, &a), 0);
	assert_int_equal(site_at(p, before_ns, &a), -ENOENT);
	assert_int_equal(site_at(p, a.until_ns, &a), 0);
	assert_true(is_of(&a, here));
	between_ns = moment_ns();
	je.free(p);
	q = there(1 << 20);
	assert_ptr_equal(q, p);
	clock_ns += 10ull * SECOND_NS;
	assert_int_equal(site_of(q, &a), 0);
	assert_true(is_of(&a, there));
	assert_int_equal(site_at(q, between_ns, &a), -ENOENT);
	je.free(q);
	clock_ns += 10ull * SECOND_NS;
	assert_int_not_equal(site_of(q, &a), 0);
}

static void what_is_not_drawn(void **state)
{
	bool on = false;
	struct comm_allocation a;
	char *p, *others = malloc(100000);

	(void)state;
	assert_int_equal(je.mallctl("prof.active", NULL, NULL, &on, sizeof(on)), 0);
	p = here(1 << 20);
	clock_ns = comm_clock_now_ns() + SECOND_NS;
	assert_int_equal(site_of(p, &a), -ENOENT);
	je.free(p);
	on = true;
	assert_int_equal(je.mallctl("prof.active", NULL, NULL, &on, sizeof(on)), 0);
	assert_int_equal(site_of(others, &a), -ENOSYS);
	free(others);
}

static int load(char **argv)
{
	void *lib;

	/* What is freed is kept, however long the test takes: the same address is then given again. */
	setenv("MALLOC_CONF", "prof:true,lg_prof_sample:12,dirty_decay_ms:-1", 1);
	lib = load_library("libjemalloc.so.2", argv);
	if (!lib)
		return -1;
	*(void **)&je.malloc = dlsym(lib, "malloc");
	*(void **)&je.free = dlsym(lib, "free");
	*(void **)&je.mallctl = dlsym(lib, "mallctl");
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sites_of_what_is_drawn, begin, teardown),
		cmocka_unit_test_setup_teardown(an_address_in_turns, begin, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_drawn, begin, teardown),
	};

	(void)argc;
	if (load(argv))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
