/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices of a run that counts by itself (libcomm-exact): who ends one, and how much memory they take. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* Whether there is no memory to be had. */
static int is_out;
#define syscall(...) (is_out ? -1 : (syscall)(__VA_ARGS__))

#include "../exact/tsan/slice.c"

enum { EDGES = 1 << 12 };

static uint32_t slice_under_way;

void comm_exact_epochs_cut(void)
{
}

void comm_exact_epoch_slice(uint32_t slice)
{
	slice_under_way = slice;
}

static struct comm_exact_edge edge[EDGES];
static struct comm_exact_thread thread;

struct comm_exact_thread *comm_exact_threads(void)
{
	return &thread;
}

struct comm_exact_edge *comm_exact_table(struct comm_exact_thread *t, uint64_t *ret_mask)
{
	(void)t;
	*ret_mask = EDGES - 1;
	return edge;
}

static void count(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		edge[i].key = 1 + i;
		edge[i].bytes += 8;
	}
}

static void begin(void)
{
	memset(&all, 0, sizeof(all));
	memset(edge, 0, sizeof(edge));
	all.length_ns = 1;
	all.start_ns = clock_ns();
}

/* Each byte is in one slice, and slices follow each other. */
static void check_all(const struct comm_exact_slices *slices)
{
	uint64_t counted = 0, told = 0, shares = 0;

	for (uint32_t i = 0; i < EDGES; i++)
		counted += edge[i].bytes;
	for (uint64_t i = 0; i < slices->n; i++) {
		const struct comm_exact_slice *s = comm_exact_slice_at(i);

		assert_true(s->n > 0);
		assert_true(s->end_ns >= s->start_ns);
		assert_true(!i || s->start_ns >= comm_exact_slice_at(i - 1)->end_ns);
		assert_int_equal(s->first, shares);
		shares += s->n;
		for (uint64_t k = 0; k < s->n; k++)
			told += comm_exact_share_at(s->first + k)->bytes;
	}
	assert_int_equal(told, counted);
}

static void *take(void *ret)
{
	assert_int_equal(comm_exact_slices_take(ret), 0);
	return NULL;
}

/* Whoever writes the result waits while a slice is ended. */
static void test_turns(void **state)
{
	struct comm_exact_slices slices;
	pthread_t writer;

	(void)state;
	begin();
	count(1);
	take_turn();
	assert_int_equal(pthread_create(&writer, NULL, take, &slices), 0);
	usleep(50000);
	assert_true(cut_slice());
	assert_int_equal(slice_under_way, 1);
	count(1);
	comm_exact_slices_give_back();
	pthread_join(writer, NULL);
	assert_int_equal(slices.n, 2);
	assert_int_equal(slices.end_ns, comm_exact_slice_at(1)->end_ns);
	assert_int_equal(slices.uncut_ns, 0);
	check_all(&slices);
	comm_exact_slices_give_back();
}

static void test_bound(void **state)
{
	struct comm_exact_slices slices;
	uint64_t n = 0;

	(void)state;
	begin();
	do
		count(EDGES);
	while (cut_slice() && ++n < SHARES_MAX);
	assert_in_range(all.shares.n, SHARES_MAX, SHARES_MAX + EDGES);
	count(EDGES);
	count(1);
	assert_int_equal(comm_exact_slices_take(&slices), 0);
	assert_in_range(all.shares.n, SHARES_MAX, SHARES_MAX + 2 * EDGES);
	assert_int_equal(slices.uncut_ns, comm_exact_slice_at(slices.n - 1)->start_ns);
	check_all(&slices);
	comm_exact_slices_give_back();
}

/* Where memory runs out within a slice, the next one takes the rest; and there is a result if there is any then. */
static void test_memory_is_out(void **state)
{
	struct comm_exact_slices slices;

	(void)state;
	begin();
	count(1000);
	assert_true(cut_slice());
	count(EDGES);
	is_out = 1;
	assert_false(cut_slice());
	assert_true(all.slices.n == 2 && all.shares.n > 1000 && all.shares.n < 1000 + EDGES);
	assert_int_equal(comm_exact_slices_take(&slices), -ENOMEM);
	comm_exact_slices_give_back();
	is_out = 0;
	assert_int_equal(comm_exact_slices_take(&slices), 0);
	assert_int_equal(slices.uncut_ns, comm_exact_slice_at(1)->end_ns);
	check_all(&slices);
	comm_exact_slices_give_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
