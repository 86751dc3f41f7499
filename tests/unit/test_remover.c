// SPDX-License-Identifier: GPL-2.0-or-later
/* The process that removes what is beside the store: nothing else goes, and not without it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/fence.c"
#include "../../daemon/remover.c"
#include "first_child.h"

static const char *const files[] = {"a.db",	    "a.db-wal", "a.db-shm",  "a.db-ballast",
				    "a.db-journal", "b.db-wal", "a.db-other"};

enum { FILES = sizeof(files) / sizeof(*files), OWN_FIRST = 1, OWN_LAST = 4 };

static char directory[32];

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/test_remover.XXXXXX");
	if (!mkdtemp(directory) || chdir(directory))
		return -1;
	for (size_t i = 0; i < FILES; i++)
		if (close(open(files[i], O_WRONLY | O_CREAT | O_EXCL, 0600)))
			return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < FILES; i++)
		unlink(files[i]);
	return chdir("/") || rmdir(directory);
}

/* As a run does: behind its fence.  Returns how many things went wrong. */
static int run(bool is_killed)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char name[64];
	int wrong = 0;
	pid_t remover;

	if (comm_remover_start("a.db"))
		return 100;
	remover = first_child_of(getpid());
	comm_remover_take_over();
	if (is_killed && (kill(remover, SIGKILL) || waitpid(remover, NULL, 0) != remover))
		return 101;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || comm_fence_close("a.db", false))
		return 102;
	if (comm_fence_version() && (!unlink("a.db-wal") || errno != EACCES))
		wrong++;
	for (size_t i = 0; i < FILES; i++) {
		bool goes = !is_killed && i >= OWN_FIRST && i <= OWN_LAST;

		snprintf(name, sizeof(name), "%s/%s", directory, files[i]);
		if ((vfs->xDelete(vfs, name, 0) == SQLITE_OK) != goes ||
		    (access(name, F_OK) == 0) == goes) {
			dprintf(2, "%s: %s\n", name, strerror(errno));
			wrong++;
		}
	}
	return wrong;
}

static pid_t stopped;

static void go_on(int signal)
{
	(void)signal;
	kill(stopped, SIGCONT);
}

/* A signal comes while the remover is asked, which answers after it. */
static int run_with_signal(void)
{
	const struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_RESTART};
	const struct itimerval soon = {.it_value = {.tv_usec = 100000}};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char name[64];
	int status;

	if (comm_remover_start("a.db"))
		return 100;
	stopped = first_child_of(getpid());
	comm_remover_take_over();
	sigaction(SIGALRM, &action, NULL);
	if (kill(stopped, SIGSTOP) || waitpid(stopped, &status, WUNTRACED) != stopped ||
	    setitimer(ITIMER_REAL, &soon, NULL))
		return 101;
	snprintf(name, sizeof(name), "%s/a.db-wal", directory);
	return vfs->xDelete(vfs, name, 0) != SQLITE_OK || access(name, F_OK) == 0;
}

static void a_signal_is_no_answer(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(run_with_signal());
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int in_child(bool is_killed)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run(is_killed));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static void what_is_beside_the_store_goes(void **state)
{
	(void)state;
	assert_int_equal(in_child(false), 0);
}

static void without_it_nothing_goes(void **state)
{
	(void)state;
	assert_int_equal(in_child(true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_beside_the_store_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(without_it_nothing_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_signal_is_no_answer, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
