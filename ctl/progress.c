// SPDX-License-Identifier: GPL-2.0-or-later
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_S = 5 };

static const char *command;
static time_t begun_s, said_s;

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* proc_pid_io(5): what this process has read and written, in the page cache or not. */
static void read_io(uint64_t *ret_read, uint64_t *ret_written)
{
	static const char read_name[] = "rchar: ", written_name[] = "wchar: ";
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;

	*ret_read = *ret_written = 0;
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strstr(text, read_name);
	if (at)
		*ret_read = strtoull(at + strlen(read_name), NULL, 10);
	at = strstr(text, written_name);
	if (at)
		*ret_written = strtoull(at + strlen(written_name), NULL, 10);
}

static void sleep_until_next(void)
{
	const struct itimerval timer = {.it_value.tv_sec = said_s ? said_s : FIRST_S};

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* In a signal's handler: numbers and texts are all that is formatted. */
static void say(int signal)
{
	uint64_t in, out;
	int err = errno, n;
	char line[160];

	(void)signal;
	said_s = now_s() - begun_s;
	read_io(&in, &out);
	n = snprintf(line, sizeof(line),
		     "%s: %lld s so far, %" PRIu64 " MiB read, %" PRIu64 " MiB written\n", command,
		     (long long)said_s, in >> 20, out >> 20);
	if (n > 0 && n < (int)sizeof(line))
		(void)!write(STDERR_FILENO, line, (size_t)n);
	sleep_until_next();
	errno = err;
}

void ctl_progress_begin(const char *name)
{
	const struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESTART};

	if (!isatty(STDERR_FILENO))
		return;
	command = name;
	begun_s = now_s();
	if (sigaction(SIGALRM, &action, NULL) == 0)
		sleep_until_next();
}
