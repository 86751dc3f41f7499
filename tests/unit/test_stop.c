// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that is told to end does, whatever it is doing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "first_child.h"
#include "stop.c"

enum { TOLD_STATUS = 7 };

static void spin_cpu_ms(uint64_t ms)
{
	uint64_t from_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	while (comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from_ns < ms * NS_PER_MS)
		;
}

static void waits(void)
{
	struct pollfd fd = {.fd = comm_stop_fd(), .events = POLLIN};

	while (!comm_stop_told())
		poll(&fd, 1, -1);
	_exit(fd.revents || poll(&fd, 1, 0) == 1 ? TOLD_STATUS : 2);
}

static void spins(void)
{
	for (;;)
		;
}

/* As in a system call that waits for a server: no handler runs. */
static void hears_nothing(void)
{
	sigset_t all;

	while (!comm_stop_told())
		;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
}

static void writes_the_end(void)
{
	while (!comm_stop_told())
		;
	comm_stop_ending();
	spin_cpu_ms(2 * LIMIT_MS);
	_exit(TOLD_STATUS);
}

static void never_ends_the_end(void)
{
	comm_stop_ending();
	spins();
}

/* Runs body in a child, which gets the signal when it is ready; returns its status. */
static int status_after(void (*body)(void), int signal)
{
	int ready[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (comm_stop_catch() || write(ready[1], "x", 1) != 1)
			_exit(3);
		body();
		_exit(4);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(kill(child, signal), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void test_signals_tell(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		int status = status_after(waits, signals[i]);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != TOLD_STATUS)
			fail_msg("signal %d: status %x", signals[i], status);
	}
}

static void test_what_does_not_look_is_ended(void **state)
{
	int status = status_after(spins, SIGTERM);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	status = status_after(hears_nothing, SIGINT);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static int ends[2];

/* Whose socket another has open for longer, as a thread that the kernel does not let end. */
static void spins_with_a_socket(void)
{
	pid_t other = fork();

	if (!other) {
		alarm(100);
		for (;;)
			pause();
	}
	close(ends[0]);
	spins();
}

static void test_helpers_are_told(void **state)
{
	struct pollfd fd = {.events = POLLIN};
	int status;
	pid_t holder;
	char byte;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	status = status_after(spins_with_a_socket, SIGTERM);
	assert_true(WIFEXITED(status));
	close(ends[1]);
	fd.fd = ends[0];
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(recv(ends[0], &byte, 1, 0), 0);
	holder = first_child_of(getpid());
	assert_true(holder > 0);
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	close(ends[0]);
}

static void test_the_end_may_take_longer(void **state)
{
	int status = status_after(writes_the_end, SIGTERM);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), TOLD_STATUS);
	status = status_after(never_ends_the_end, SIGTERM);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_tell),
		cmocka_unit_test(test_what_does_not_look_is_ended),
		cmocka_unit_test(test_helpers_are_told),
		cmocka_unit_test(test_the_end_may_take_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
