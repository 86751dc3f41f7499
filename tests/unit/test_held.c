// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of targets that are held: real processes, as /proc has them. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/held.c"

static pid_t child;

/* A child that stops itself, or waits. */
static void start(bool traced, bool stops)
{
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (traced)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (stops)
			raise(SIGSTOP);
		for (;;)
			pause();
	}
	if (stops)
		assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
}

static int end(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

static const char *said(void)
{
	static char text[512];
	struct comm_held held = {0};

	comm_held_add(&held, (uint32_t)child);
	assert_int_equal(held.threads, 1);
	comm_held_sentence(&held, text, sizeof(text));
	return text;
}

static void stopped_by_a_signal(void **state)
{
	(void)state;
	start(false, true);
	assert_non_null(strstr(said(), "its only thread is stopped by a signal"));
	kill(child, SIGCONT);
	waitpid(child, NULL, WCONTINUED);
	assert_null(strstr(said(), "stopped"));
}

static void stopped_by_a_tracer(void **state)
{
	char tracer[32];

	(void)state;
	start(true, true);
	assert_non_null(strstr(said(), "debugger or tracer"));
	snprintf(tracer, sizeof(tracer), "process %d ", getpid());
	assert_non_null(strstr(said(), tracer));
}

static void asleep(void **state)
{
	(void)state;
	start(false, false);
	/* It may not have come to sleep yet. */
	for (int i = 0; i < 10000 && !strstr(said(), "asleep"); i++)
		usleep(1000);
	assert_non_null(strstr(said(), "asleep"));
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* In a group of its own; false: none can be made. */
static bool freeze(bool second, char group[PATH_MAX])
{
	char mount[PATH_MAX], path[PATH_MAX + 64], pid[32];

	if (!find_mount(second, mount))
		return false;
	snprintf(group, PATH_MAX, "%.4000s/test_held.%d", mount, getpid());
	if (mkdir(group, 0755))
		return false;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(pid, sizeof(pid), "%d", child);
	if (!put(path, pid))
		return false;
	snprintf(path, sizeof(path), "%s/%s", group, second ? "cgroup.freeze" : "freezer.state");
	return put(path, second ? "1" : "FROZEN");
}

static void thaw(bool second, const char *group)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", group, second ? "cgroup.freeze" : "freezer.state");
	put(path, second ? "0" : "THAWED");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 1000 && rmdir(group); i++)
		usleep(1000);
}

static void frozen(bool second)
{
	char group[PATH_MAX] = "";
	bool told = false, could;

	start(false, false);
	could = freeze(second, group);
	for (int i = 0; could && i < 10000 && !told; i++) {
		told = strstr(said(), "frozen in a control group");
		usleep(1000);
	}
	if (*group)
		thaw(second, group);
	if (!could) {
		print_message("no control group of version %d can be made and frozen here\n",
			      second ? 2 : 1);
		skip();
	}
	assert_true(told);
}

static void frozen_in_the_first_version(void **state)
{
	(void)state;
	frozen(false);
}

static void frozen_in_the_second_version(void **state)
{
	(void)state;
	frozen(true);
}

static void ended(void **state)
{
	struct comm_held held = {0};
	char text[256] = "x";

	(void)state;
	comm_held_add(&held, 1 << 30);
	comm_held_sentence(&held, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, end)
	const struct CMUnitTest tests[] = {
		TEST(stopped_by_a_signal),
		TEST(stopped_by_a_tracer),
		TEST(asleep),
		TEST(frozen_in_the_first_version),
		TEST(frozen_in_the_second_version),
		cmocka_unit_test(ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
