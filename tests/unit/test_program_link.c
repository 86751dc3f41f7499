// SPDX-License-Identifier: GPL-2.0-or-later
/* By which name a program was started: a link's that leads to its file, not a script's. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "program_link.h"

static char dir[] = "/tmp/program-link-XXXXXX";
static char shell[PATH_MAX]; /* its file */

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) && realpath("/bin/sh", shell) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

/* The shell by some path, which waits for its standard input to end, once it has said that it runs. */
static struct comm_program_link started(const char *in, const char *path)
{
	struct comm_program_link link;
	int in_fds[2], out_fds[2], err;
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(in_fds, O_CLOEXEC) | pipe2(out_fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in_fds[0], 0);
		dup2(out_fds[1], 1);
		if (chdir(in) == 0)
			execl(path, "another", "-c", "echo; read line", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(read(out_fds[0], &byte, 1), 1);
	err = comm_program_link_find((uint32_t)pid, &link);
	close(in_fds[1]);
	close(in_fds[0]);
	close(out_fds[0]);
	close(out_fds[1]);
	waitpid(pid, NULL, 0);
	assert_int_equal(err, 0);
	assert_string_equal(link.file, shell);
	return link;
}

static void its_own_name(void **state)
{
	(void)state;
	assert_string_equal(started("/", shell).name, "");
}

static void a_link(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/a link", dir);
	assert_int_equal(symlink(shell, path), 0);
	assert_string_equal(started("/", path).name, "a link");
	assert_string_equal(started(dir, "./a link").name, "a link");
	assert_string_equal(started(dir, "a link").name, "a link");
	unlink(path);
}

/* The path is the script's, the file its interpreter's. */
static void a_script(void **state)
{
	static const char text[] = "#!/bin/sh\necho; read line\n";
	char path[PATH_MAX];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/script", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_string_equal(started("/", path).name, "");
	unlink(path);
}

static void nobody(void **state)
{
	struct comm_program_link link;

	(void)state;
	assert_int_equal(comm_program_link_find(INT_MAX, &link), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_name),
		cmocka_unit_test(a_link),
		cmocka_unit_test(a_script),
		cmocka_unit_test(nobody),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
