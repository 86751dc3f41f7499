// SPDX-License-Identifier: GPL-2.0-or-later
/* Yielding to whatever else wants to run, and coming back without privileges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/fence.c"
#include "../../daemon/priority.c"
#include "../../daemon/trigger.c"

static const uid_t nobody = 65534;

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	(void)err;
	(void)fmt;
	return error;
}

/* In a process of its own, which stays as it is left. */
static int in_child(int (*run)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int come_back(void)
{
	comm_priority_allow_return();
	if (setuid(nobody))
		return 1;
	for (int i = 0; i < 2; i++) {
		if (!comm_priority_yield(true) || sched_getscheduler(0) != SCHED_IDLE)
			return 2;
		if (comm_priority_yield(false) || sched_getscheduler(0) != SCHED_OTHER ||
		    getpriority(PRIO_PROCESS, 0) != 5)
			return 3;
	}
	return 0;
}

static int come_back_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, 5) ? 4 : come_back();
}

static bool is_policy_soon(int policy)
{
	for (int i = 0; i < 60000; i++) {
		if (sched_getscheduler(0) == policy)
			return true;
		usleep(1000);
	}
	return false;
}

/* Root that may raise no limit, as in many containers. */
static int drop_resource(void)
{
	const struct rlimit no_limit = {0, 0};
	cap_value_t resource = CAP_SYS_RESOURCE;
	cap_t caps = cap_get_proc();
	int rc = setrlimit(RLIMIT_NICE, &no_limit) ||
		 cap_set_flag(caps, CAP_PERMITTED, 1, &resource, CAP_CLEAR) ||
		 cap_set_flag(caps, CAP_EFFECTIVE, 1, &resource, CAP_CLEAR) || cap_set_proc(caps);

	cap_free(caps);
	return rc;
}

static int come_back_woken(void)
{
	if (drop_resource())
		return 1;
	comm_priority_allow_return();
	if (waker < 0 || setuid(nobody))
		return 2;
	for (int i = 0; i < 2; i++) {
		if (!comm_priority_yield(true) || sched_getscheduler(0) != SCHED_IDLE)
			return 3;
		if (comm_priority_yield(false) || !is_policy_soon(SCHED_OTHER))
			return 4;
	}
	return 0;
}

/* Who would bring it back is gone: it does not say that it came back. */
static int stay_yielding(void)
{
	if (drop_resource())
		return 1;
	comm_priority_allow_return();
	if (waker < 0 || !comm_priority_yield(true))
		return 2;
	shutdown(waker, SHUT_RDWR);
	return comm_priority_yield(false) && sched_getscheduler(0) == SCHED_IDLE ? 0 : 3;
}

/* Who would bring it back was killed before: it does not begin. */
static int begin_without_waker(void)
{
	if (drop_resource())
		return 1;
	comm_priority_allow_return();
	if (waker < 0)
		return 2;
	shutdown(waker, SHUT_RDWR);
	return !comm_priority_yield(true) && sched_getscheduler(0) == SCHED_OTHER ? 0 : 3;
}

/* As any user, whose limit is 0: there would be no way back. */
static int stay(void)
{
	const struct rlimit no_limit = {0, 0};

	if (setrlimit(RLIMIT_NICE, &no_limit) || setuid(nobody))
		return 1;
	comm_priority_allow_return();
	return !comm_priority_yield(true) && sched_getscheduler(0) == SCHED_OTHER ? 0 : 2;
}

/* A command that is started has the limit of before. */
static int restore(void)
{
	const struct rlimit small = {3, 7};
	struct rlimit now;

	if (setrlimit(RLIMIT_NICE, &small))
		return 1;
	comm_priority_allow_return();
	if (getrlimit(RLIMIT_NICE, &now) || now.rlim_cur != 20)
		return 2;
	comm_priority_restore();
	return getrlimit(RLIMIT_NICE, &now) || now.rlim_cur != 3 || now.rlim_max != 7 ? 3 : 0;
}

/* Root may not everywhere raise a limit (CAP_SYS_RESOURCE). */
static int raises(void)
{
	const struct rlimit some = {20, 20};

	return setrlimit(RLIMIT_NICE, &some) != 0;
}

static void need_limit(void)
{
	if (!geteuid() && !in_child(raises))
		return;
	print_message(
		"this process may not raise RLIMIT_NICE: it needs root and CAP_SYS_RESOURCE\n");
	skip();
}

/* Started so, it goes on, permitted or not. */
static int go_on(void)
{
	if (sched_setscheduler(0, SCHED_IDLE, &zero))
		return 1;
	comm_priority_allow_return();
	return comm_priority_yield(false) && sched_getscheduler(0) == SCHED_IDLE ? 0 : 2;
}

static void test_goes_on(void **state)
{
	(void)state;
	assert_int_equal(in_child(go_on), 0);
}

static void test_comes_back(void **state)
{
	(void)state;
	need_limit();
	assert_int_equal(in_child(come_back_nice), 0);
}

static void need_nice(void)
{
	if (comm_has_capability(CAP_SYS_NICE, -1))
		return;
	print_message("this process has no CAP_SYS_NICE\n");
	skip();
}

static void test_is_brought_back(void **state)
{
	(void)state;
	need_nice();
	assert_int_equal(in_child(come_back_woken), 0);
}

static void test_is_not_brought_back(void **state)
{
	(void)state;
	need_nice();
	assert_int_equal(in_child(stay_yielding), 0);
	assert_int_equal(in_child(begin_without_waker), 0);
}

static void test_stays(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(in_child(stay), 0);
}

static void test_restores(void **state)
{
	(void)state;
	need_limit();
	assert_int_equal(in_child(restore), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_is_brought_back),
		cmocka_unit_test(test_is_not_brought_back),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_restores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
