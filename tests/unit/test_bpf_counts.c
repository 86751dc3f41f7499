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
#define bpf_prog_test_run_opts test_prog_run
#define bpf_program__fd test_program_fd

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

static int looked_at; /* CPUs, by count_now */

int test_program_fd(const struct bpf_program *program)
{
	(void)program;
	return -1;
}

int test_prog_run(int fd, struct bpf_test_run_opts *opts)
{
	(void)fd;
	(void)opts;
	looked_at++;
	return 0;
}

int test_link_fd(const struct bpf_link *link)
{
	(void)link;
	return -1;
}

static int n_deleted;

int test_map_delete_elem(int fd, const void *key)
{
	(void)fd;
	(void)key;
	n_deleted++;
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
	assert_int_equal(n_deleted, 0);
	free(counts.before.told);
}

static void add_faults(void *ctx, const struct comm_event *event)
{
	if (!strcmp(event->counted.counter, "page-faults"))
		*(uint64_t *)ctx += event->counted.value;
}

/* Between its last words and its last switch a thread counts on. */
static void a_thread_that_ended_may_still_run(void **state)
{
	struct capture_bpf bpf = {0};
	struct comm_counter_list events = {.n = 1, .name = {"page-faults"}};
	struct comm_bpf_counts counts = {
		.bpf = &bpf, .events = &events, .pass = (struct bpf_link *)&bpf};
	uint64_t faults = 0;

	(void)state;
	memset(raw, 0, sizeof(raw));
	fails_at = THREADS;
	n_deleted = 0;
	raw[0].ended = 1;
	raw[0].event[0] = (struct comm_raw_event_count){2526, 1000, 1000};
	comm_bpf_counts_read(&counts, 1, add_faults, &faults);
	assert_int_equal(n_deleted, 0);
	raw[0].event[0] = (struct comm_raw_event_count){3001, 1200, 1200};
	comm_bpf_counts_read(&counts, 2, add_faults, &faults);
	assert_int_equal(faults, 3001);
	assert_int_equal(n_deleted, 1);
	free(counts.before.told);
	/* Without events nothing is left to come. */
	events.n = 0;
	counts.before = (struct tolds){0};
	comm_bpf_counts_read(&counts, 3, add_faults, &faults);
	assert_int_equal(n_deleted, 2);
	free(counts.before.told);
}

/* What events count while switches are not seen is of nobody who is known. */
static void nobody_gets_what_no_switch_tells(void **state)
{
	struct capture_bpf__data data = {0};
	struct capture_bpf bpf = {.data = &data};
	struct comm_counter_list events = {.n = 1};
	struct comm_bpf_counts counts = {
		.bpf = &bpf, .events = &events, .n_cpus = 2, .pass = (struct bpf_link *)&bpf};
	uint32_t noted;

	(void)state;
	fails_at = 0;
	looked_at = 0;
	comm_bpf_counts_read(&counts, 1, NULL, NULL);
	assert_int_equal(looked_at, 0);
	comm_bpf_counts_attaching(&counts);
	assert_int_equal(looked_at, 0);
	comm_bpf_counts_attached(&counts);
	comm_bpf_counts_read(&counts, 1, NULL, NULL);
	assert_int_equal(looked_at, 4);
	noted = data.attached;
	comm_bpf_counts_detach(&counts);
	assert_int_equal(looked_at, 6);
	/* What the CPUs have noted is of another stretch than the next, and so is what they note until the program has ended. */
	assert_int_not_equal(data.attached, noted);
	noted = data.attached;
	comm_bpf_counts_attaching(&counts);
	assert_int_not_equal(data.attached, noted);
	comm_bpf_counts_read(&counts, 1, NULL, NULL);
	assert_int_equal(looked_at, 6);
	free(counts.before.told);
}

static struct comm_event events_told[8];
static size_t n_events_told;

static void take_event(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_true(n_events_told < 8);
	events_told[n_events_told++] = *event;
}

/* A thread that ran, and was not met by a switch, has an event that was not counted: no zero. */
static void what_was_not_counted_is_told(void **state)
{
	const struct comm_counter_list list = {.n = 1, .name = {"page-faults"}};
	struct comm_bpf_counts counts = {.events = &list};
	struct comm_event event = {.kind = COMM_EV_COUNT};
	const struct told before = {0};
	struct told now = {.value = {[COMM_RAW_CPU_NS] = 500}};

	(void)state;
	assert_int_equal(tell(&counts, &now, &before, &event, take_event, NULL), 2);
	assert_string_equal(events_told[1].counted.counter, "page-faults");
	assert_int_equal(events_told[1].counted.value, 0);
	assert_int_equal(events_told[1].counted.enabled_ns, 500);
	assert_int_equal(events_told[1].counted.running_ns, 0);
	/* Who did not run has nothing to be known. */
	assert_int_equal(tell(&counts, &now, &now, &event, take_event, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_not_be_read_is_told_once),
		cmocka_unit_test(a_thread_that_ended_may_still_run),
		cmocka_unit_test(nobody_gets_what_no_switch_tells),
		cmocka_unit_test(what_was_not_counted_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
