// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run may do with files: each thing that is refused is tried, behind the fence. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/fence.c"

static char base[32];
static pid_t other; /* a process outside */

static int refused(const char *what, long got)
{
	if (got == -1 && (errno == EACCES || errno == EPERM || errno == EXDEV))
		return 0;
	dprintf(2, "%s is let pass: %ld, %s\n", what, got, got < 0 ? strerror(errno) : "");
	return 1;
}

static int let_pass(const char *what, long got)
{
	if (got != -1)
		return 0;
	dprintf(2, "%s is refused: %s\n", what, strerror(errno));
	return 1;
}

static int try_files(void)
{
	char path[64];
	int wrong = 0;

	wrong += refused("a new file elsewhere", open("outside/new", O_WRONLY | O_CREAT, 0600));
	wrong += refused("writing a file elsewhere", open("outside/file", O_WRONLY));
	wrong += refused("reading a file elsewhere", open("outside/file", O_RDONLY));
	wrong += refused("removing a file elsewhere", unlink("outside/file"));
	wrong += refused("listing a directory elsewhere", open("outside", O_RDONLY | O_DIRECTORY));
	wrong += refused("/etc/shadow", open("/etc/shadow", O_RDONLY));
	wrong += refused("a device", open("/dev/null", O_WRONLY));
	wrong += refused("a file of /proc written", open("/proc/self/oom_score_adj", O_WRONLY));
	wrong += refused("a setting of the kernel", open("/proc/sys/kernel/hostname", O_WRONLY));
	wrong += refused("a link out", link("store/a.db", "outside/link"));
	wrong += refused("a file moved out", rename("store/a.db", "outside/moved"));
	wrong += refused("another file beside the store read", open("store/other", O_RDONLY));
	wrong += refused("and written", open("store/other", O_WRONLY));
	wrong +=
		refused("a new file beside the store", open("store/new", O_WRONLY | O_CREAT, 0600));
	wrong += refused("that removed", unlink("store/other"));
	wrong += refused("the log removed", unlink("store/a.db-wal"));
	wrong += refused("a directory", mkdir("store/directory", 0700));
	wrong += refused("a symbolic link", symlink("/etc/passwd", "store/symlink"));
	wrong += refused("a FIFO", mkfifo("store/fifo", 0600));
	snprintf(path, sizeof(path), "/proc/%d/mem", other);
	wrong += refused("the memory of a process outside", open(path, O_RDONLY));
	snprintf(path, sizeof(path), "/proc/%d/root/", other);
	wrong += refused("its root", open(path, O_RDONLY | O_DIRECTORY));
	return wrong;
}

static int try_later_versions(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
	int wrong = 0;

	if (comm_fence_version() >= 3)
		wrong += refused("cutting a file elsewhere", truncate("outside/file", 0));
	if (comm_fence_version() >= 4)
		wrong += refused("a connection", connect(socket(AF_INET, SOCK_STREAM, 0),
							 (struct sockaddr *)&to, sizeof(to)));
	if (comm_fence_version() >= 6)
		wrong += refused("a signal to a process outside", kill(other, SIGTERM));
	return wrong;
}

static int try_needed(void)
{
	char path[64];
	int wrong = 0;

	wrong += let_pass("writing the store", open("store/a.db", O_RDWR));
	wrong += let_pass("its log", open("store/a.db-wal", O_RDWR));
	if (comm_fence_version() >= 3)
		wrong += let_pass("cutting that", truncate("store/a.db-wal", 0));
	wrong += let_pass("/proc", open("/proc/stat", O_RDONLY));
	wrong += let_pass("processes", open("/proc", O_RDONLY | O_DIRECTORY));
	snprintf(path, sizeof(path), "/proc/%d/stat", other);
	wrong += let_pass("the state of a process outside", open(path, O_RDONLY));
	snprintf(path, sizeof(path), "/proc/%d/task", other);
	wrong += let_pass("its threads", open(path, O_RDONLY | O_DIRECTORY));
	snprintf(path, sizeof(path), "/proc/%d/comm", other);
	wrong += let_pass("its name", open(path, O_RDONLY));
	wrong += let_pass("/sys", open("/sys/devices/system/cpu/online", O_RDONLY));
	return wrong;
}

static int behind(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || comm_fence_close("store/a.db", false))
			_exit(200);
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 201;
}

static int setup(void **state)
{
	(void)state;
	strcpy(base, "/tmp/test_fence.XXXXXX");
	if (!mkdtemp(base) || chdir(base) || mkdir("store", 0700) || mkdir("outside", 0700) ||
	    close(open("store/a.db", O_RDWR | O_CREAT, 0600)) ||
	    close(open("store/a.db-wal", O_RDWR | O_CREAT, 0600)) ||
	    close(open("store/other", O_RDWR | O_CREAT, 0600)) ||
	    close(open("outside/file", O_RDWR | O_CREAT, 0600)))
		return -1;
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return other < 0;
}

static int teardown(void **state)
{
	static const char *const files[] = {"store/a.db",    "store/a.db-wal",	  "outside/file",
					    "outside/new",   "outside/link",	  "outside/moved",
					    "store/symlink", "store/fifo",	  "store/other",
					    "store/new",     "store/a.db-journal"};

	(void)state;
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir("store/directory");
	rmdir("store");
	rmdir("outside");
	return chdir("/") || rmdir(base);
}

static void need_landlock(void)
{
	if (comm_fence_version())
		return;
	print_message("the kernel has no Landlock, or it is switched off\n");
	skip();
}

static void test_refused(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(behind(try_files), 0);
	assert_int_equal(behind(try_later_versions), 0);
}

static void test_needed(void **state)
{
	(void)state;
	assert_int_equal(behind(try_needed), 0);
}

/* Where SQLite has no log, it makes a journal for each transaction. */
static int try_journal(void)
{
	return let_pass("a journal", open("store/a.db-journal", O_RDWR | O_CREAT, 0640)) +
	       refused("a new file elsewhere", open("outside/new", O_WRONLY | O_CREAT, 0600));
}

static void test_without_log(void **state)
{
	(void)state;
	need_landlock();
	assert_int_equal(unlink("store/a.db-wal"), 0);
	assert_int_equal(behind(try_journal), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_needed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_log, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
