// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts of threads as the BPF programs keep them, read from a map of the test's own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define bpf_iter_create test_iter_create
#define bpf_link__fd test_link_fd
#define bpf_map_delete_elem test_map_delete_elem
#define bpf_map_lookup_batch test_map_lookup_batch

#include "../../daemon/source/bpf_counts.c"

enum { THREADS = 4 };

/* The map: of thread i + 1 raw[i], of which each batch gives one. */
static struct comm_raw_counts raw[THREADS];
static int fails_at; /* THREADS: never */
static uint64_t told_ns[THREADS];

int test_iter_create(int link_fd)
{
	(void)link_fd;
	return -1;
}

int test_link_fd(const struct bpf_link *link)
{
	(void)link;
	return -1;
}

int test_map_delete_elem(int fd, const void *key)
{
	(void)fd;
	(void)key;
	fail();
	return 0;
}

int test_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			  const struct bpf_map_batch_opts *opts)
{
	uint32_t i = in ? *(uint32_t *)in : 0;

	(void)fd;
	(void)opts;
	if (i == (uint32_t)fails_at)
		return -EFAULT;
	assert_true(*count >= 1);
	*(uint32_t *)keys = i + 1;
	*(struct comm_raw_counts *)values = raw[i];
	*count = 1;
	*(uint32_t *)out = i + 1;
	return i + 1 == THREADS ? -ENOENT : 0;
}

static void take_count(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_int_equal(event->kind, COMM_EV_COUNT);
	assert_string_equal(event->counted.counter, COMM_COUNTER_CPU);
	assert_in_range(event->tid, 1, THREADS);
	told_ns[event->tid - 1] += event->counted.value;
}

static void what_could_not_be_read_is_told_once(void **state)
{
	struct capture_bpf bpf = {0};
	struct comm_counter_list events = {0};
	struct comm_bpf_counts counts = {
		.bpf = &bpf, .events = &events, .pass = (struct bpf_link *)&bpf};
	static const int failures[] = {THREADS, 2, 0, 3, THREADS};

	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		for (int t = 0; t < THREADS; t++)
			raw[t].value[COMM_RAW_CPU_NS] += 1000;
		fails_at = failures[i];
		comm_bpf_counts_read(&counts, 1, take_count, NULL);
		for (int t = 0; t < fails_at; t++)
			assert_int_equal(told_ns[t], raw[t].value[COMM_RAW_CPU_NS]);
	}
	free(counts.before.told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_not_be_read_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
