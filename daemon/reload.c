// SPDX-License-Identifier: GPL-2.0-or-later
#include "reload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "config_file.h"
#include "options.h"

/* A manager waits for 90 s; and a machine may be busy. */
enum { PATIENCE_MS = 60000, LINE_BYTES = 64, NAMES_BYTES = 1024 };

static const char taken[] = "overhead";

static int fail(const char *path, const char *why)
{
	fprintf(stderr, "commd: --reload: %s: %s\n", path, why);
	return 1;
}

/* Both ends are open in the commd that takes commands; -1, and why is told. */
static int open_fifo(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0) {
		fail(path, errno == ENXIO ? "no commd takes commands there" : strerror(errno));
	} else if (fstat(fd, &st) || !S_ISFIFO(st.st_mode)) {
		fail(path, "it is no FIFO");
		close(fd);
		fd = -1;
	}
	return fd;
}

static void drain(int fd)
{
	char old[LINE_BYTES];

	while (read(fd, old, sizeof(old)) > 0)
		;
}

/* Whether an answer came in time. */
static bool is_answered(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint64_t until_ns = comm_clock_now_ns() + PATIENCE_MS * 1000000ull, now_ns;
	char answer[LINE_BYTES];

	while ((now_ns = comm_clock_now_ns()) < until_ns)
		if (poll(&poll_fd, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0)
			return read(fd, answer, sizeof(answer)) > 0;
	return false;
}

static int command(const char *control, const char *answers, double overhead)
{
	int to = open_fifo(control, O_WRONLY);
	int from = to < 0 ? -1 : open_fifo(answers, O_RDONLY), status = 1, n;
	char line[LINE_BYTES];

	if (from >= 0) {
		drain(from);
		/* Somebody may have left a line without an end. */
		n = snprintf(line, sizeof(line), "\noverhead %.9g\n", 100 * overhead);
		if (write(to, line, (size_t)n) != n)
			fail(control, "it is full of commands");
		else if (!is_answered(from))
			fail(control, "commd did not take the budget; its log may say why");
		else
			status = 0;
	}
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return status;
}

/* The length of the name in "--name=value". */
static size_t name_length(const char *word)
{
	return strcspn(word + 2, "=");
}

/* What else the file has is told: it may have been changed, too. */
static void say_rest(const struct comm_options *options)
{
	char names[NAMES_BYTES] = "";
	size_t used = 0;

	for (size_t i = 0; i < options->config->n; i++) {
		const char *word = options->config->word[i];
		int length = (int)name_length(word);

		if ((size_t)length == strlen(taken) && !strncmp(word + 2, taken, (size_t)length))
			continue;
		if (used + (size_t)length + 3 > sizeof(names))
			break;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
					 used ? ", " : "", length, word + 2);
	}
	if (used)
		fprintf(stderr,
			"commd: --reload: %s is taken; what %s says of %s is taken when commd is "
			"restarted\n",
			taken, options->config_path, names);
}

int comm_reload(const struct comm_options *options)
{
	char *control, *answers;
	int status = 1;

	if (options->rate_hz > 0)
		return fail(options->config_path,
			    "it has a rate, which is taken when commd is restarted");
	control = strdup(options->control + strlen("fifo:"));
	answers = control ? strchr(control, ',') : NULL;
	if (answers) {
		*answers++ = '\0';
		status = command(control, answers, options->overhead);
	}
	if (!status)
		say_rest(options);
	free(control);
	return status;
}
