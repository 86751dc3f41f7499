/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of paths that threads make while another one looks at all that there are (libcomm-exact). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../exact/tsan/path.c"

enum { MAKERS = 3, EACH = 20000 };

void *comm_exact_map_shared(size_t bytes)
{
	return calloc(1, bytes);
}

static uint32_t made[MAKERS][EACH];

static void *make_paths(void *of)
{
	uint32_t *mine = of, first = 1 + (mine - made[0]);

	for (uint32_t i = 0; i < EACH; i++)
		mine[i] = comm_exact_path_within(COMM_EXACT_PATH_OUTERMOST, first + i);
	return NULL;
}

static void test_while_made(void **state)
{
	pthread_t thread[MAKERS];
	uint32_t n = COMM_EXACT_PATH_FIRST, unwritten = 0;

	(void)state;
	assert_int_equal(comm_exact_path_count(), 0);
	comm_exact_paths_init();
	for (uint32_t i = 0; i < MAKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, make_paths, made[i]), 0);
	while (n < COMM_EXACT_PATH_FIRST + MAKERS * EACH)
		for (uint32_t now = comm_exact_path_count(); n < now; n++)
			unwritten += comm_exact_path_get(n).parent != COMM_EXACT_PATH_OUTERMOST;
	for (uint32_t i = 0; i < MAKERS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(unwritten, 0);
	for (uint32_t i = 0; i < MAKERS * EACH; i++) {
		const uint32_t path = made[i / EACH][i % EACH];

		assert_int_equal(comm_exact_path_get(path).function, 1 + i);
		assert_int_equal(comm_exact_path_within(COMM_EXACT_PATH_OUTERMOST, 1 + i), path);
	}
	assert_int_equal(comm_exact_path_count(), COMM_EXACT_PATH_FIRST + MAKERS * EACH);
}

/* A pair of zeros has a number, too; and when there are no more, nobody knows the path. */
static void test_all(void **state)
{
	const uint32_t zero = comm_exact_path_within(COMM_EXACT_PATH_UNKNOWN, 0);
	uint32_t last = zero, i;

	(void)state;
	assert_true(zero >= COMM_EXACT_PATH_FIRST);
	assert_int_equal(comm_exact_path_within(COMM_EXACT_PATH_UNKNOWN, 0), zero);
	assert_int_equal(comm_exact_path_get(zero).parent, COMM_EXACT_PATH_UNKNOWN);
	assert_int_equal(comm_exact_path_get(zero).function, 0);
	for (i = 0; i < COMM_EXACT_PATHS_MAX && last != COMM_EXACT_PATH_UNKNOWN; i++)
		last = comm_exact_path_within(zero, i);
	assert_int_equal(last, COMM_EXACT_PATH_UNKNOWN);
	assert_int_equal(comm_exact_path_count(), COMM_EXACT_PATHS_MAX);
	assert_int_equal(comm_exact_path_within(COMM_EXACT_PATH_UNKNOWN, 0), zero);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_made),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
