// SPDX-License-Identifier: GPL-2.0-or-later
#include "answering.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 20 * 1000, SLOW_MS = 2000 };

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A byte for each answer; the pipe is closed at the end, and nothing else that it has keeps anybody waiting who reads what is printed. */
static _Noreturn void ask(const char *path, char *directory, int end)
{
	struct statfs fs;
	struct stat st;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "comm-store");
	if (dup2(end, 0) < 0 || syscall(SYS_close_range, 1, ~0u, 0) < 0)
		_exit(1);
	/* What one of them tells, the kernel may know by itself.  The path may be a link to another file system. */
	(void)statfs(directory, &fs);
	(void)!write(0, "", 1);
	(void)!stat(path, &st);
	(void)!write(0, "", 1);
	/* What is asked of a file that is opened is nobody's to choose: it may be a link to what the kernel makes up. */
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	_exit(0);
}

/* False: nothing came for too long, whatever signals did meanwhile. */
static bool next(int end, bool *ret_more)
{
	struct pollfd fd = {.fd = end, .events = POLLIN};
	int64_t until_ms = now_ms() + ANSWER_MS, left_ms = ANSWER_MS;
	char byte;
	int n;

	while ((n = poll(&fd, 1, (int)left_ms)) < 0 && errno == EINTR)
		left_ms = until_ms > now_ms() ? until_ms - now_ms() : 0;
	*ret_more = n > 0 && read(end, &byte, 1) == 1;
	return n != 0;
}

bool comm_answering(const char *path, int *ret_slow_ms)
{
	int64_t begun_ms = now_ms(), took_ms;
	bool answers = true, more = true;
	char copy[PATH_MAX];
	int ends[2];
	pid_t pid;

	*ret_slow_ms = 0;
	/* Who opens it says what is wrong with its name; without the process all is as it would be. */
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy) || pipe2(ends, O_CLOEXEC))
		return true;
	pid = fork();
	if (!pid)
		ask(path, dirname(copy), ends[1]);
	close(ends[1]);
	while (pid > 0 && answers && more)
		answers = next(ends[0], &more);
	close(ends[0]);
	/* What waits for the file system ends when that answers. */
	if (pid > 0 && answers)
		waitpid(pid, NULL, 0);
	else if (pid > 0)
		kill(pid, SIGKILL);
	took_ms = now_ms() - begun_ms;
	if (took_ms >= SLOW_MS)
		*ret_slow_ms = (int)took_ms;
	return answers;
}
