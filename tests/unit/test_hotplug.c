// SPDX-License-Identifier: GPL-2.0-or-later
/* CPUs that go and come back: what a list says, and the process that opens their events again. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t opener;

/* Which process it is. */
static pid_t noted_fork(void)
{
	pid_t pid = fork();

	if (pid > 0)
		opener = pid;
	return pid;
}

#include "../../daemon/fence.c"
#define fork noted_fork
#include "../../daemon/hotplug.c"
#undef fork
#include "../../daemon/trigger.c"

enum { SECOND = COMM_HOTPLUG_LOOK_MS * 1000000, CPUS = 8, LOOKS = 60000, PAUSE_US = 1000 };

static const struct perf_event_attr dummy = {
	.size = sizeof(dummy),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	.disabled = 1,
};
static char path[] = "/tmp/test_hotplug.XXXXXX";
static unsigned int n_gone, n_back; /* CPUs, events */
static uint64_t now_ns;

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	(void)err;
	(void)fmt;
	return error;
}

static void gone(void *ctx, unsigned int cpu)
{
	(void)ctx;
	assert_true(cpu < 2);
	n_gone++;
}

static bool back(void *ctx, unsigned int event, unsigned int cpu, int fd)
{
	uint64_t counts[2];

	(void)ctx;
	assert_int_equal(event, n_back % 2);
	assert_true(cpu < 2);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, counts, sizeof(counts)), sizeof(counts));
	close(fd);
	n_back++;
	return true;
}

static const struct comm_hotplug_ops ops = {.gone = gone, .back = back};

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void look(struct comm_hotplug *h)
{
	now_ns += SECOND;
	comm_hotplug_look(h, now_ns, &ops, NULL);
}

static struct comm_hotplug *make(void)
{
	struct comm_hotplug *h = NULL;

	n_gone = n_back = 0;
	put("0-1\n");
	assert_int_equal(comm_hotplug_create(path, &h), 0);
	/* As many as the list has, on a machine with less. */
	h->n_cpus = 2;
	h->state = realloc(h->state, 2);
	h->went = realloc(h->went, 2 * sizeof(*h->went));
	memset(h->went, 0, 2 * sizeof(*h->went));
	h->online = realloc(h->online, 2 * sizeof(*h->online));
	h->state[1] = HERE;
	assert_int_equal(comm_hotplug_add(h, &dummy), 0);
	assert_int_equal(comm_hotplug_add(h, &dummy), 1);
	return h;
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_lists(void **state)
{
	int cpu[CPUS];

	(void)state;
	assert_int_equal(comm_cpu_list("0-2,5\n", cpu, CPUS), 4);
	assert_int_equal(cpu[2], 2);
	assert_int_equal(cpu[3], 5);
	assert_int_equal(comm_cpu_list("3\n", cpu, CPUS), 1);
	assert_int_equal(cpu[0], 3);
	assert_int_equal(comm_cpu_list("0-1000000\n", cpu, CPUS), CPUS);
	assert_int_equal(comm_cpu_list("\n", cpu, CPUS), -ENODATA);
	assert_int_equal(comm_cpu_list("", cpu, CPUS), -ENODATA);
}

/* Without a process to open them events of a CPU that is back are lost, and so many are told. */
static void test_nobody_opens(void **state)
{
	struct comm_hotplug *h = make();

	(void)state;
	look(h);
	assert_int_equal(n_gone, 0);
	put("0\n");
	comm_hotplug_look(h, now_ns + SECOND - 1, &ops, NULL);
	assert_int_equal(n_gone, 0);
	look(h);
	assert_int_equal(n_gone, 1);
	look(h);
	assert_int_equal(n_gone, 1);
	assert_int_equal(comm_hotplug_lost(h), 0);
	put("0-1\n");
	look(h);
	assert_int_equal(comm_hotplug_lost(h), 2);
	look(h);
	assert_int_equal(comm_hotplug_lost(h), 2);
	assert_int_equal(n_gone, 1);
	comm_hotplug_destroy(h);
}

/* A CPU that is back before anybody looks is in the list as it was. */
static void test_messages(void **state)
{
	static const char *const others[] = {
		"online@/devices/system/cpu/cpu1",    "offline@/devices/system/cpu/cpu2",
		"offline@/devices/system/cpu/cpu1/x", "offline@/devices/system/memory/memory1",
		"offline@/devices/system/cpu/cpu",    "",
	};
	struct comm_hotplug *h = make();

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(take_uevent(h, others[i]));
	assert_true(take_uevent(h, "offline@/devices/system/cpu/cpu1"));
	assert_true(h->went[1]);
	see_changes(h, &ops, NULL);
	assert_int_equal(n_gone, 1);
	assert_int_equal(h->state[1], WANTED);
	look(h);
	assert_int_equal(comm_hotplug_lost(h), 2);
	see_changes(h, &ops, NULL);
	assert_int_equal(n_gone, 1);
	comm_hotplug_destroy(h);
}

static bool may_open(void)
{
	int fd = comm_perf_open(&dummy, -1, 0, -1, 0);
	int cpu[2], n = comm_online_cpus(cpu, 2);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && n == 2 && cpu[1] == 1;
}

/* With the process that opens; skips the test where events of CPUs may not be opened, or there is no second CPU. */
static struct comm_hotplug *begin(void)
{
	struct comm_hotplug *h;

	if (!may_open())
		skip();
	h = make();
	assert_int_equal(comm_hotplug_start(h), 0);
	return h;
}

/* The opener ends with who started it. */
static void end(struct comm_hotplug *h)
{
	comm_hotplug_destroy(h);
	assert_int_equal(waitpid(opener, NULL, 0), opener);
}

/* Looks until so many are back. */
static void look_for(struct comm_hotplug *h, unsigned int wanted)
{
	for (unsigned int i = 0; i < LOOKS && n_back < wanted; i++) {
		look(h);
		usleep(PAUSE_US);
	}
	assert_int_equal(n_back, wanted);
}

static void test_opens_again(void **state)
{
	struct comm_hotplug *h;

	(void)state;
	h = begin();
	for (unsigned int i = 1; i <= 3; i++) {
		put("0\n");
		look(h);
		assert_int_equal(n_gone, i);
		put("0-1\n");
		look_for(h, 2 * i);
	}
	/* A machine that slept has had CPUs offline, though nobody saw it. */
	h->slept_ns -= SECOND;
	look_for(h, 10);
	assert_int_equal(n_gone, 5);
	assert_int_equal(comm_hotplug_lost(h), 0);
	end(h);
}

static void has_line(pid_t pid, const char *wanted)
{
	char name[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	for (unsigned int i = 0; i < LOOKS && !found; i++) {
		f = fopen(name, "r");
		assert_non_null(f);
		while (fgets(line, sizeof(line), f))
			found |= !strncmp(line, wanted, strlen(wanted));
		fclose(f);
		usleep(PAUSE_US);
	}
	if (!found)
		fail_msg("no %s in %s", wanted, name);
}

/* It has one right, one descriptor, and no user's files. */
static void test_confined(void **state)
{
	struct comm_hotplug *h;
	struct stat st;
	char name[64];

	(void)state;
	if (geteuid())
		skip();
	h = begin();
#ifndef __SANITIZE_ADDRESS__
	has_line(opener, "Seccomp:\t2");
#endif
	/* CAP_PERFMON, and CAP_SYS_ADMIN where Debian's kernels ask for it. */
	has_line(opener, comm_perf_paranoid() > 2 ? "CapEff:\t0000004000200000"
						  : "CapEff:\t0000004000000000");
	has_line(opener, comm_perf_paranoid() > 2 ? "CapPrm:\t0000004000200000"
						  : "CapPrm:\t0000004000000000");
	has_line(opener, "CapBnd:\t0000000000000000");
	has_line(opener, "Uid:\t65534");
	has_line(opener, "NoNewPrivs:\t1");
	snprintf(name, sizeof(name), "/proc/%d/fd/1", opener);
	assert_int_equal(lstat(name, &st), -1);
	end(h);
}

/* Nobody waits for one that is stopped, and what a killed one owes is lost. */
static void test_stopped_and_killed(void **state)
{
	struct comm_hotplug *h;

	(void)state;
	h = begin();
	kill(opener, SIGSTOP);
	put("0\n");
	look(h);
	put("0-1\n");
	look(h);
	look(h);
	assert_int_equal(n_back, 0);
	assert_int_equal(comm_hotplug_lost(h), 0);
	kill(opener, SIGCONT);
	look_for(h, 2);
	kill(opener, SIGKILL);
	assert_int_equal(waitpid(opener, NULL, 0), opener);
	put("0\n");
	look(h);
	put("0-1\n");
	look(h);
	look(h);
	assert_int_equal(n_back, 2);
	assert_int_equal(comm_hotplug_lost(h), 2);
	comm_hotplug_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	 cmocka_unit_test(test_nobody_opens),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_opens_again),
		cmocka_unit_test(test_confined), cmocka_unit_test(test_stopped_and_killed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
