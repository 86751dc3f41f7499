// SPDX-License-Identifier: GPL-2.0-or-later
/* How many rings the BPF source has, and how large they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/source/bpf_rings.c"

enum { RINGS = 256, FIRST_FD = 10000, FAKE_MANAGER = 1 };

static int n_rings, n_read, n_put, fail_from;
static uint64_t all_bytes;

/* Fakes of the functions that bpf_rings.c calls. */
int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)name;
	(void)opts;
	assert_int_equal(type, BPF_MAP_TYPE_RINGBUF);
	assert_int_equal(key_size | value_size, 0);
	assert_int_equal(max_entries & (max_entries - 1), 0);
	if (n_rings == fail_from)
		return -ENOMEM;
	all_bytes += max_entries;
	return FIRST_FD + n_rings++;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	(void)flags;
	assert_int_equal(*(const uint32_t *)key, n_put++);
	assert_int_equal(*(const int *)value, FIRST_FD + n_rings - 1);
	return 0;
}

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	(void)opts;
	ring_buffer__add(NULL, fd, fn, ctx);
	return (struct ring_buffer *)FAKE_MANAGER;
}

int ring_buffer__add(struct ring_buffer *rb, int fd, ring_buffer_sample_fn fn, void *ctx)
{
	(void)rb;
	(void)fn;
	(void)ctx;
	assert_int_equal(fd, FIRST_FD + n_read++);
	return 0;
}

static int make(unsigned int n_online, struct comm_bpf_rings_plan *ret)
{
	struct ring_buffer *rings = NULL;

	n_rings = n_read = n_put = 0;
	all_bytes = 0;
	comm_bpf_rings_plan(n_online, ret);
	return comm_bpf_rings_make(0, ret, &rings, NULL, NULL);
}

/*
 * Whatever the machine: each entry of the array has a ring that is read, memory is bounded,
 * and so is the number of rings, as each takes time to make.
 */
static void test_bounds(void **state)
{
	static const unsigned int sizes[] = {1, 2, 3, 4, 8, 15, 16, 17, 48, 64, 65, 256, 8192};
	struct comm_bpf_rings_plan plan;

	(void)state;
	fail_from = RINGS;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		assert_int_equal(make(sizes[k], &plan), 0);
		assert_int_equal(n_rings, plan.n);
		assert_int_equal(n_read, plan.n);
		assert_int_equal(n_put, plan.n);
		assert_in_range(plan.n, sizes[k] < 16 ? sizes[k] : 16, 16);
		assert_in_range(all_bytes, 3 << 20, 64 << 20);
		assert_true(plan.bytes >= 1 << 20);
	}
	assert_int_equal(all_bytes, 64 << 20);
}

static void test_failure(void **state)
{
	struct comm_bpf_rings_plan plan;

	(void)state;
	fail_from = 2;
	assert_int_equal(make(4, &plan), -ENOMEM);
	assert_int_equal(n_put, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
