// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The self-test of precise samples, with a source that is not there: it tells of the accesses of the
 * real process what the test says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../daemon/self_test.c"

static enum how {
	TRUE,
	ONE_WRONG, /* of 40 */
	SHIFTED,   /* addresses of the line behind */
	SKIDDED,   /* the instruction behind */
	SWAPPED,   /* loads are stores */
	STRANGE,   /* addresses of nobody's memory */
	LOADS,	   /* no stores */
	NONE,
	SLOW, /* to open; then true */
	REFUSED,
} how;
static struct ground *seen; /* the other process' own memory has the same address */
static uint32_t sampled;
static bool closed, stopped;

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(err, fmt, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

const struct comm_sampler_config comm_sampler_defaults = {.stack_bytes = 512};

int comm_target_create(enum comm_target_kind kind, bool follow, struct comm_target **ret)
{
	assert_true(kind == COMM_TARGET_PIDS && !follow);
	*ret = (struct comm_target *)&sampled;
	return 0;
}

int comm_target_add_pid(struct comm_target *target, uint32_t pid, char **why)
{
	(void)why;
	*(uint32_t *)target = pid;
	return 0;
}

void comm_target_destroy(struct comm_target *target)
{
	assert_ptr_equal(target, &sampled);
}

static int fake_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	assert_string_equal(config->arg, "precise");
	if (how == REFUSED)
		return comm_source_fail(err, -EPERM, "not permitted");
	*ret = &sampled;
	closed = stopped = false;
	if (how == SLOW) {
		clockid_t clock;

		assert_int_equal(clock_getcpuclockid((pid_t)sampled, &clock), 0);
		while (clock_ns(clock) < GIVE_UP_CPU_NS)
			usleep(10000);
	}
	return 0;
}

static int fake_start(void *handle, char **err)
{
	(void)handle;
	(void)err;
	return 0;
}

static void push_one(comm_event_fn *push, void *ctx, unsigned int i)
{
	const struct look *look = ctx;
	bool loads = i % 2 == 0 || how == LOADS;
	struct comm_event event = {.kind = COMM_EV_ACCESS, .tgid = sampled, .tid = sampled};
	struct comm_precise *access = &event.access;
	bool wrong = how == ONE_WRONG && i == 7;

	access->ip = (uint64_t)(uintptr_t)(loads ? comm_self_test_load : comm_self_test_store);
	access->addr = (uint64_t)(uintptr_t)(loads ? look->ground->read : look->ground->written) +
		       64ULL * (i % 64);
	access->flags = loads ? COMM_ACCESS_READ : COMM_ACCESS_WRITE;
	if (how == SHIFTED)
		access->addr += 8;
	if (how == SKIDDED)
		access->ip += 4;
	if (how == SWAPPED)
		access->flags ^= COMM_ACCESS_READ | COMM_ACCESS_WRITE;
	if (how == STRANGE || wrong)
		access->addr = 0x100000000000ULL + 64ULL * i;
	push(ctx, &event);
	/* Neither a stranger's access nor another kind of event is judged. */
	event.tgid++;
	push(ctx, &event);
	event.tgid--;
	event.kind = COMM_EV_SWITCH;
	push(ctx, &event);
}

static int fake_drain(void *handle, comm_event_fn *push, void *ctx)
{
	assert_ptr_equal(handle, &sampled);
	seen = (struct ground *)((struct look *)ctx)->ground;
	/* The process does run, where it says it does. */
	assert_true(seen->ready && !kill((pid_t)sampled, 0));
	if (how == NONE)
		return 0;
	for (unsigned int i = 0; i < 40; i++)
		push_one(push, ctx, i);
	return 40;
}

static void fake_stop(void *handle)
{
	(void)handle;
	stopped = true;
}

static void fake_close(void *handle)
{
	(void)handle;
	closed = true;
}

static const struct comm_sampler sampler = {
	.open = fake_open,
	.start = fake_start,
	.drain = fake_drain,
	.stop = fake_stop,
	.close = fake_close,
};
static const struct comm_source source = {.name = "fake", .sampler = &sampler};

/* The sentence, or "" where it is true; malloc'ed. */
static int run(enum how what, struct comm_self_test *counts, char **why)
{
	int err;

	how = what;
	*why = NULL;
	err = comm_self_test(&source, "precise", counts, why);
	assert_true(!err == !*why);
	assert_true(closed && (stopped || what == REFUSED));
	/* It is gone. */
	assert_true(what == REFUSED || kill((pid_t)sampled, 0));
	return err;
}

static void test_true(void **state)
{
	struct comm_self_test counts;
	char *why;

	(void)state;
	assert_int_equal(run(TRUE, &counts, &why), 0);
	assert_true(counts.loads >= 32 && counts.stores >= 32 && !counts.wrong);
	/* A sample that a signal or the scheduler has spoilt is no reason. */
	assert_int_equal(run(ONE_WRONG, &counts, &why), 0);
	assert_true(counts.wrong);
	/* What it runs for while the source is being opened is not counted. */
	assert_int_equal(run(SLOW, &counts, &why), 0);
}

static void test_wrong(void **state)
{
	static const enum how wrong[] = {SHIFTED, SKIDDED, SWAPPED, STRANGE};
	struct comm_self_test counts;
	char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(run(wrong[i], &counts, &why), -EBADMSG);
		assert_true(counts.wrong == 40 && !counts.loads && !counts.stores);
		assert_non_null(strstr(why, "of 40 samples"));
		assert_non_null(strstr(why, "40 were wrong"));
		free(why);
	}
}

/* What never comes is not waited for: the process has had its CPU time. */
static void test_too_few(void **state)
{
	struct comm_self_test counts;
	char *why;

	(void)state;
	assert_int_equal(run(NONE, &counts, &why), -ENODATA);
	assert_non_null(strstr(why, "only 0 loads and 0 stores"));
	free(why);
	assert_int_equal(run(LOADS, &counts, &why), -ENODATA);
	assert_non_null(strstr(why, " and 0 stores"));
	free(why);
	assert_int_equal(run(REFUSED, &counts, &why), -EPERM);
	assert_string_equal(why, "not permitted");
	free(why);
}

/* The process touches what it says, and nothing else of the ground. */
static void test_process(void **state)
{
	struct ground *ground = mmap(NULL, sizeof(*ground), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	(void)state;
	for (unsigned int i = 0; i < REGION_BYTES; i++)
		ground->read[i] = 1;
	pid = fork();
	if (!pid)
		touch(ground);
	while (!*(volatile unsigned char *)&ground->written[REGION_BYTES - STEP_BYTES])
		;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (unsigned int i = 0; i < REGION_BYTES; i++)
		assert_int_equal(ground->written[i], i % STEP_BYTES < 8);
	munmap(ground, sizeof(*ground));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_true),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
