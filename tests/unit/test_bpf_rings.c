// SPDX-License-Identifier: GPL-2.0-or-later
/* Which CPU gets which ring of the BPF source, and how large the rings are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/source/bpf_rings.c"

enum { CPUS_MAX = 8192, NO_RING = -1, FIRST_FD = 10000, FAKE_MANAGER = 1 };

static int online[CPUS_MAX], n_online;
static int ring_of[CPUS_MAX]; /* by CPU: a ring, as the array of maps has it */
static int n_rings, n_read, fail_from;
static uint64_t all_bytes;

/* Fakes of the functions that bpf_rings.c calls. */
int comm_online_cpus(int *cpu, int max)
{
	assert_true(n_online <= max);
	memcpy(cpu, online, (size_t)n_online * sizeof(*cpu));
	return n_online;
}

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
	uint32_t cpu = *(const uint32_t *)key;

	(void)fd;
	(void)flags;
	assert_true(cpu < CPUS_MAX);
	assert_int_equal(ring_of[cpu], NO_RING);
	ring_of[cpu] = *(const int *)value - FIRST_FD;
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

/* Online are n CPUs of n_cpus: 0, step, 2 * step and so on. */
static int make(int step, int n, unsigned int n_cpus)
{
	struct ring_buffer *rings = NULL;

	n_rings = n_read = 0;
	all_bytes = 0;
	n_online = n;
	for (int i = 0; i < n; i++)
		online[i] = step * i;
	for (int i = 0; i < CPUS_MAX; i++)
		ring_of[i] = NO_RING;
	return comm_bpf_rings_make(0, n_cpus, &rings, NULL, NULL);
}

/* Whatever the machine: every CPU has a ring that is read, and memory is bounded. */
static void test_bounds(void **state)
{
	static const int sizes[] = {1, 2, 3, 4, 8, 48, 64, 65, 128, 255, 256, 257, 1000, 8192};

	(void)state;
	fail_from = -1;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		assert_int_equal(make(1, sizes[k], (unsigned int)sizes[k]), 0);
		assert_int_equal(n_read, n_rings);
		assert_in_range(all_bytes, 4 << 20, 64 << 20);
		assert_true(all_bytes / (uint64_t)n_rings >= 256 << 10);
		for (int i = 0; i < sizes[k]; i++)
			assert_in_range(ring_of[i], 0, n_rings - 1);
	}
}

/* Two online CPUs do not share a ring while there are few, whatever their numbers are. */
static void test_own(void **state)
{
	(void)state;
	fail_from = -1;
	assert_int_equal(make(2, 64, 128), 0);
	assert_int_equal(n_rings, 64);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < i; j++)
			assert_int_not_equal(ring_of[2 * i], ring_of[2 * j]);
}

/* A CPU that comes online later has a ring, too: its records would all be dropped. */
static void test_offline(void **state)
{
	(void)state;
	fail_from = -1;
	assert_int_equal(make(1, 2, 6), 0);
	assert_int_equal(n_rings, 2);
	for (int i = 0; i < 6; i++)
		assert_in_range(ring_of[i], 0, 1);
	assert_int_equal(ring_of[6], NO_RING);
}

static void test_failure(void **state)
{
	(void)state;
	fail_from = 2;
	assert_int_equal(make(1, 4, 4), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_offline),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
