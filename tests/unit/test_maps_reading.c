// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings that are read in turns, of a live view: one piece in each, those of few processes at once. */
#include "maps_reading.h"
#include "own_view.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	PIECES = 20000,
	CHILDREN = COMM_MAPS_READINGS_MAX + 2,
	PAGE_BYTES = 4096,
	TURNS_MAX = 10000
};

static pid_t pid[CHILDREN];
static void *at;

/* Children that have so many mappings. */
static int make_children(void **state)
{
	size_t bytes = (size_t)PIECES * PAGE_BYTES;

	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < PIECES; i += 2)
		assert_int_equal(mprotect((char *)at + i * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	munmap(at, bytes);
	return setup(state);
}

static int end_children(void **state)
{
	for (int i = 0; i < CHILDREN; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	return teardown(state);
}

static int ask(int child, const struct comm_mapping **ret, size_t *ret_n)
{
	return inspect.ops->maps(inspect.ctx, (uint32_t)pid[child], ret, ret_n);
}

/* They are whole after some turns, and then what they are at once where nobody takes turns. */
static void turns_read_what_is_read_at_once(void **state)
{
	const struct comm_mapping *map;
	struct comm_mapping *before;
	size_t n, n_before;
	int turns = 0, err;

	(void)state;
	assert_int_equal(ask(0, &map, &n_before), 0);
	before = calloc(n_before, sizeof(*before));
	assert_non_null(before);
	memcpy(before, map, n_before * sizeof(*before));
	assert_true(n_before > PIECES);
	assert_false(comm_inspect_live_turn(&inspect));
	for (; (err = ask(0, &map, &n)) == -EINPROGRESS && turns < TURNS_MAX; turns++) {
		bool more = comm_inspect_live_turn(&inspect);

		/* Those of few mappings need no turn. */
		assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
		assert_true(more || ask(1, &map, &n) == -EINPROGRESS);
	}
	assert_int_equal(err, 0);
	assert_in_range(turns, 5, 200);
	assert_int_equal(n, n_before);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(map[i].start, before[i].start);
		assert_int_equal(map[i].end, before[i].end);
		assert_int_equal(map[i].file, before[i].file);
		assert_int_equal(map[i].kind, before[i].kind);
		assert_ptr_equal(map[i].path, before[i].path);
	}
	free(before);
	/* A run that ends takes no turns. */
	comm_inspect_live_until(&inspect, UINT64_MAX);
	assert_int_equal(ask(1, &map, &n), 0);
}

/* All are read, but only so many at once. */
static void few_are_read_at_once(void **state)
{
	const struct comm_mapping *map;
	bool is_read[CHILDREN] = {false};
	int left = CHILDREN, turns = 0, err;
	size_t n;

	(void)state;
	comm_inspect_live_turn(&inspect);
	for (int i = 0; i < CHILDREN; i++)
		assert_int_equal(ask(i, &map, &n), -EINPROGRESS);
	/* There is no room for one of few mappings either. */
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), -EINPROGRESS);
	for (; left && turns < TURNS_MAX; turns++) {
		comm_inspect_live_turn(&inspect);
		for (int i = 0; i < CHILDREN; i++) {
			err = is_read[i] ? -EINPROGRESS : ask(i, &map, &n);
			if (err == -EINPROGRESS)
				continue;
			assert_int_equal(err, 0);
			assert_true(n > PIECES);
			is_read[i] = true;
			left--;
		}
	}
	assert_int_equal(left, 0);
	assert_false(comm_inspect_live_turn(&inspect));
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
}

/* Who ends meanwhile is told to have ended, and makes room. */
static void who_ends_meanwhile(void **state)
{
	const struct comm_mapping *map;
	int turns = 0, err;
	size_t n;

	(void)state;
	comm_inspect_live_turn(&inspect);
	assert_int_equal(ask(0, &map, &n), -EINPROGRESS);
	kill(pid[0], SIGKILL);
	waitpid(pid[0], NULL, 0);
	while (comm_inspect_live_turn(&inspect) && turns < TURNS_MAX)
		turns++;
	assert_true(turns < TURNS_MAX);
	err = ask(0, &map, &n);
	/* What came before its end may be all that there is to come. */
	if (!err)
		err = ask(0, &map, &n);
	assert_int_equal(err, -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(turns_read_what_is_read_at_once, make_children,
						end_children),
		cmocka_unit_test_setup_teardown(few_are_read_at_once, make_children, end_children),
		cmocka_unit_test_setup_teardown(who_ends_meanwhile, make_children, end_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
