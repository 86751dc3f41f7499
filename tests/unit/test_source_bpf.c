// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of the BPF rings that are not what they should be: each is counted. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/source/bpf.c"
#include "../../daemon/source/bpf_life.c"

enum { STACK_BYTES = 64, LINES = 2 };

static int n_pushed;

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	if (event->kind == COMM_EV_SAMPLE)
		assert_true(comm_sample_valid(event->sample));
	n_pushed++;
}

/* Gives a copy of its own to the reader, so that a sanitizer sees what is read beyond it. */
static void give(int (*reader)(void *, void *, size_t), void *ctx, const void *data, size_t size)
{
	void *copy = malloc(size);

	memcpy(copy, data, size);
	assert_int_equal(reader(ctx, copy, size), 0);
	free(copy);
}

static void test_samples(void **state)
{
	struct source s = {.config = {.stack_bytes = STACK_BYTES}, .push = take};
	const size_t whole =
		sizeof(struct comm_raw_sample) + STACK_BYTES + LINES * sizeof(struct comm_raw_line);
	struct comm_raw_kcopy kcopy = {.head = {.kind = COMM_RAW_KCOPY}, .n_ranges = 1};
	struct comm_raw_sample *raw = calloc(1, whole);

	(void)state;
	assert_int_equal(comm_wanted_lines_create(&s.wanted), 0);
	n_pushed = 0;
	raw->head.kind = COMM_RAW_SAMPLE;
	raw->stack_bytes = STACK_BYTES;
	raw->stack_addr = 0x7000;
	raw->n_lines = LINES;
	give(on_sample, &s, raw, whole);
	give(on_sample, &s, &kcopy, sizeof(kcopy));
	assert_int_equal(n_pushed, 2);
	assert_int_equal(s.malformed, 0);
	give(on_sample, &s, raw, whole - 1);
	give(on_sample, &s, raw, sizeof(*raw));
	give(on_sample, &s, raw, sizeof(raw->head));
	raw->n_lines = COMM_RAW_LINES_MAX + 1;
	give(on_sample, &s, raw, whole);
	raw->n_lines = 0;
	raw->stack_bytes = STACK_BYTES + 1;
	give(on_sample, &s, raw, whole);
	raw->head.kind = 99;
	give(on_sample, &s, raw, whole);
	give(on_sample, &s, &kcopy, sizeof(kcopy) - 1);
	assert_int_equal(n_pushed, 2);
	assert_int_equal(s.malformed, 7);
	comm_wanted_lines_destroy(s.wanted);
	free(raw);
}

static struct comm_event touched;

static void take_touch(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	touched = *event;
}

/* First writes of pages: by the program, or by the kernel, for which the record has no ip. */
static void test_touches(void **state)
{
	struct comm_raw_cpu cpu[2] = {{.touch_drops = 3, .count_drops = 2}, {.touch_drops = 4}};
	struct comm_bpf_life life = {.cpu = cpu, .n_cpus = 2};
	struct source s = {.push = take_touch, .cpu = cpu, .life = &life, .life_info.n_cpus = 2};
	struct comm_raw_kcopy raw = {.head = {.kind = COMM_RAW_TOUCH, .tid = 5, .ip = 0x400},
				     .n_ranges = 1,
				     .range = {{0x7000, 0x2000}}};
	struct comm_sampler_stats stats;

	(void)state;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_true(touched.kind == COMM_EV_TOUCH && touched.tid == 5 &&
		    touched.access.addr == 0x7000 && touched.access.size_bytes == 0x2000);
	assert_int_equal(touched.access.flags, COMM_ACCESS_WRITE);
	raw.head.ip = 0;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.flags, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	raw.filled = 1;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.flags,
			 COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL | COMM_ACCESS_REP);
	source_stats(&s, &stats);
	assert_int_equal(stats.loss[COMM_LOSS_TOUCH], 7);
	assert_int_equal(stats.loss[COMM_LOSS_COUNTS], 2);
}

/* What the kernel reads for a thread stands for what was passed since the last such record. */
static void test_kernel_reads(void **state)
{
	struct source s = {.push = take_touch};
	struct comm_raw_kcopy raw = {
		.head = {.kind = COMM_RAW_KCOPY, .tid = 5, .ip = 0x400, .period = 4000000},
		.n_ranges = 1,
		.reads = 1,
		.call_bytes = 0x3000,
		.range = {{0x7000, 0x1000}}};

	(void)state;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.kind, COMM_EV_KCOPY);
	assert_int_equal(touched.access.flags,
			 COMM_ACCESS_READ | COMM_ACCESS_KERNEL | COMM_ACCESS_BY_TIME);
	/* Of the event and the ticks together, not of the last RATE, which is the event's alone. */
	assert_int_equal(touched.access.period, 4000000);
	assert_int_equal(touched.access.call_bytes, 0x3000);
	raw.passed_bytes = 1;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.flags, COMM_ACCESS_READ | COMM_ACCESS_KERNEL);
	assert_int_equal(touched.access.period, 1);
	raw.passed_bytes = 0x1000 * 7 + 5;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.period, 7);
	raw.passed_bytes = UINT64_MAX;
	raw.range[0].len_bytes = 1;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.period, UINT32_MAX);
	raw.range[0].len_bytes = 0;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.period, 1);
	raw.reads = 0;
	raw.passed_bytes = 0;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.access.flags,
			 COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL | COMM_ACCESS_BY_TIME);
}

static void test_marks(void **state)
{
	struct source s = {.push = take_touch};
	struct comm_raw_mark raw = {.head = {.kind = COMM_RAW_MARK, .tid = 5, .time_ns = 9},
				    .depth = 2,
				    .name = {0x1000, 0x2000, 0x3000}};

	(void)state;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_true(touched.kind == COMM_EV_MARK && touched.tid == 5 && touched.time_ns == 9);
	assert_int_equal(touched.marks.n, 2);
	assert_true(touched.marks.name[0] == 0x1000 && touched.marks.name[1] == 0x2000);
	raw.depth = UINT64_MAX;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_int_equal(touched.marks.n, COMM_MARKS_MAX);
	assert_int_equal(s.malformed, 0);
	give(on_sample, &s, &raw, sizeof(raw) - 1);
	assert_int_equal(s.malformed, 1);
}

static void test_frames(void **state)
{
	struct source s = {.push = take_touch};
	struct comm_raw_frame raw = {
		.head = {.kind = COMM_RAW_FRAME, .tgid = 4, .tid = 5, .time_ns = 9},
		.number = 1ull << 40};

	(void)state;
	give(on_sample, &s, &raw, sizeof(raw));
	assert_true(touched.kind == COMM_EV_FRAME && touched.tgid == 4 && touched.time_ns == 9);
	assert_int_equal(touched.frame, 1ull << 40);
	assert_int_equal(s.malformed, 0);
	give(on_sample, &s, &raw, sizeof(raw) - 1);
	assert_int_equal(s.malformed, 1);
}

static void test_life(void **state)
{
	struct comm_bpf_life life = {.push = take};
	struct comm_raw_sched sched = {.kind = COMM_RAW_SWITCH};
	struct comm_raw_life raw = {.kind = COMM_RAW_EXIT};
	struct comm_sampler_stats stats = {0};

	(void)state;
	n_pushed = 0;
	comm_target_create(COMM_TARGET_PIDS, true, &life.config.target);
	give(on_switch, &life, &sched, sizeof(sched));
	give(on_life, &life, &raw, sizeof(raw));
	assert_int_equal(n_pushed, 2);
	give(on_switch, &life, &sched, sizeof(sched) - 1);
	give(on_life, &life, &raw, sizeof(raw) - 1);
	raw.kind = 0;
	give(on_life, &life, &raw, sizeof(raw));
	raw.kind = 99;
	give(on_life, &life, &raw, sizeof(raw));
	assert_int_equal(n_pushed, 2);
	comm_bpf_life_stats(&life, &stats);
	assert_int_equal(stats.loss[COMM_LOSS_MALFORMED], 4);
	comm_target_destroy(life.config.target);
}

static uint32_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return (uint32_t)pid;
}

static void end(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
}

/* Who has ended before the kernel tells of ends is no target: its number may be another's. */
static void test_ended_before_start(void **state)
{
	struct comm_bpf_life_config config = {0};
	struct comm_bpf_life *life = NULL;
	uint32_t pid[] = {sleeper(), sleeper()};
	char *err = NULL;
	uint8_t target;
	int fd, rc;

	(void)state;
	assert_int_equal(comm_target_create(COMM_TARGET_PIDS, true, &config.target), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(comm_target_add_pid(config.target, pid[i], &err), 0);
	rc = comm_bpf_life_open(&config, &life, &err);
	if (rc) {
		print_message("no BPF here: %s\n", err ? err : strerror(-rc));
		free(err);
		end(pid[0]);
		end(pid[1]);
		comm_target_destroy(config.target);
		skip();
	}
	end(pid[0]);
	assert_int_equal(comm_bpf_life_start(life, &err), 0);
	fd = bpf_map__fd(life->bpf->maps.targets);
	assert_int_not_equal(bpf_map_lookup_elem(fd, &pid[0], &target), 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &pid[1], &target), 0);
	comm_bpf_life_stop(life);
	comm_bpf_life_close(life);
	end(pid[1]);
	comm_target_destroy(config.target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_touches),
		cmocka_unit_test(test_kernel_reads),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_ended_before_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
