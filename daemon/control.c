// SPDX-License-Identifier: GPL-2.0-or-later
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "overhead.h"
#include "source.h"
#include "text.h"

enum {
	LINE_BYTES = 64, /* a longer line is no command */
	/* A writer that never stops costs fifty wake-ups a second, and a hundred commands in each. */
	READ_BYTES = 512,
	TURN_NS = 20 * 1000 * 1000,
	SENTENCES_MOST = 5,
};

struct comm_control {
	int fd, ack;   /* -1: none, or not any more */
	bool owned;    /* the descriptors are ours */
	bool skipping; /* to the end of a line that is too long */
	char buffer[READ_BYTES];
	size_t n;
	uint64_t taken_ns;
	unsigned int n_said; /* of what was not done */
	/* Of commands to enable and to disable that follow each other the last one is done: each takes milliseconds. */
	enum comm_command toggle;
	unsigned int n_toggles; /* that wait for it, to be acknowledged */
};

static const char *const names[COMM_COMMAND_MAX] = {
	[COMM_COMMAND_ENABLE] = "enable",     [COMM_COMMAND_DISABLE] = "disable",
	[COMM_COMMAND_PING] = "ping",	      [COMM_COMMAND_STOP] = "stop",
	[COMM_COMMAND_OVERHEAD] = "overhead",
};

/* The text behind "fifo:" or "fd:"; NULL: it begins otherwise, or ends there. */
static const char *behind(const char *spec, const char *kind)
{
	size_t n = strlen(kind);

	return !strncmp(spec, kind, n) && spec[n] && spec[n] != ',' ? spec + n : NULL;
}

/* Reads "N" or "N,M". */
static int parse_fds(const char *text, int fd[2])
{
	for (int i = 0; i < 2; i++) {
		char *end;
		long value = strtol(text, &end, 10);

		if (*text < '0' || *text > '9' || value > INT_MAX || (*end && *end != ','))
			return -EINVAL;
		fd[i] = (int)value;
		if (!*end)
			return 0;
		text = end + 1;
	}
	return -EINVAL;
}

bool comm_control_is_spec(const char *spec)
{
	const char *fds = behind(spec, "fd:");
	int fd[2];

	return behind(spec, "fifo:") || (fds && !parse_fds(fds, fd));
}

/*
 * To read and to write, as perf does: so neither opening nor reading waits for the other side,
 * which may come and go.  What is no FIFO is never opened: of some devices that alone does
 * something.
 */
static int open_fifo(const char *path, int *ret, struct stat *st, char **why)
{
	int err = 0, place = open(path, O_PATH | O_CLOEXEC);
	char proc[64];

	if (place < 0)
		return comm_source_fail(why, -errno, "--control: %s: %s%s", path, strerror(errno),
					errno == ENOENT ? " (mkfifo makes a FIFO)" : "");
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", place);
	if (fstat(place, st) || !S_ISFIFO(st->st_mode)) {
		err = comm_source_fail(why, -EINVAL, "--control: %s is no FIFO", path);
	} else {
		*ret = open(proc, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (*ret < 0)
			err = comm_source_fail(why, -errno, "--control: %s: %s", path,
					       strerror(errno));
	}
	close(place);
	return err;
}

static int open_fifos(struct comm_control *control, const char *paths, char **why)
{
	char *path = strdup(paths), *comma = path ? strchr(path, ',') : NULL;
	struct stat st = {0}, ack = {0};
	int err;

	if (!path)
		return -ENOMEM;
	if (comma)
		*comma = '\0';
	control->owned = true;
	err = open_fifo(path, &control->fd, &st, why);
	if (!err && comma)
		err = open_fifo(comma + 1, &control->ack, &ack, why);
	if (!err && comma && st.st_dev == ack.st_dev && st.st_ino == ack.st_ino)
		err = comm_source_fail(why, -EINVAL, "--control wants two FIFOs, not %s twice",
				       path);
	free(path);
	return err;
}

static int take_fd(int fd, int *ret, char **why)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st))
		return comm_source_fail(why, -EBADF, "--control: there is no descriptor %d", fd);
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
		return comm_source_fail(why, -EINVAL,
					"--control: descriptor %d is neither a pipe nor a socket",
					fd);
	/* As perf does: the other side must not keep the run from going on. */
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return comm_source_fail(why, -errno, "--control: descriptor %d: %s", fd,
					strerror(errno));
	*ret = fd;
	return 0;
}

int comm_control_open(const char *spec, struct comm_control **ret, char **why)
{
	struct comm_control *control = calloc(1, sizeof(*control));
	const char *fifos = behind(spec, "fifo:"), *fds = behind(spec, "fd:");
	int fd[2] = {-1, -1}, err = -EINVAL;

	if (!control)
		return -ENOMEM;
	control->fd = control->ack = -1;
	if (fifos) {
		err = open_fifos(control, fifos, why);
	} else if (fds && !parse_fds(fds, fd)) {
		err = take_fd(fd[0], &control->fd, why);
		if (!err && fd[1] >= 0)
			err = take_fd(fd[1], &control->ack, why);
	}
	if (err) {
		comm_control_close(control);
		return err;
	}
	*ret = control;
	return 0;
}

void comm_control_close(struct comm_control *control)
{
	if (!control)
		return;
	if (control->owned && control->fd >= 0)
		close(control->fd);
	if (control->owned && control->ack >= 0)
		close(control->ack);
	free(control);
}

int comm_control_fd(const struct comm_control *control, uint64_t now_ns, int *sleep_ms)
{
	if (!control || control->fd < 0)
		return -1;
	if (now_ns >= control->taken_ns + TURN_NS)
		return control->fd;
	*sleep_ms = comm_clock_until_ms(control->taken_ns + TURN_NS, now_ns, *sleep_ms);
	return -1;
}

static void acknowledge(struct comm_control *control)
{
	static const char ack[] = "ack\n";

	if (control->ack < 0 || write(control->ack, ack, sizeof(ack) - 1) == sizeof(ack) - 1)
		return;
	fprintf(stderr, "commd: --control: nobody reads what is acknowledged; commands are done "
			"without\n");
	if (control->owned)
		close(control->ack);
	control->ack = -1;
}

/* A line that was not done, in a sentence of what comes before and behind it. */
static void say_undone(struct comm_control *control, const char *line, size_t n, const char *before,
		       const char *behind)
{
	char shown[COMM_TEXT_GROWTH * LINE_BYTES + 1];

	if (control->n_said >= SENTENCES_MOST)
		return;
	control->n_said++;
	n = n < LINE_BYTES ? n : LINE_BYTES;
	comm_text_clean(line, n, shown, sizeof(shown));
	fprintf(stderr, "commd: --control: %s'%s': %s%s\n", before, shown, behind,
		control->n_said < SENTENCES_MOST ? "" : "; more of such are passed over");
}

static void say_unknown(struct comm_control *control, const char *line, size_t n)
{
	say_undone(control, line, n, "no command is called ",
		   "enable, disable, ping, stop and overhead are");
}

/* What is behind the name of the command, as a share. */
static int parse_overhead(const char *text, size_t n, double *ret)
{
	char copy[LINE_BYTES + 1];

	if (n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return comm_overhead_parse(copy, ret);
}

static void toggle(struct comm_control *control, comm_control_fn *fn, void *ctx)
{
	if (control->n_toggles)
		fn(ctx, control->toggle, 0);
	for (; control->n_toggles; control->n_toggles--)
		acknowledge(control);
}

static void do_command(struct comm_control *control, enum comm_command command, const char *line,
		       size_t n, comm_control_fn *fn, void *ctx)
{
	size_t length = strlen(names[command]);
	double overhead = 0;
	const char *why;

	if (command == COMM_COMMAND_ENABLE || command == COMM_COMMAND_DISABLE) {
		control->toggle = command;
		control->n_toggles++;
		return;
	}
	toggle(control, fn, ctx);
	if (command == COMM_COMMAND_OVERHEAD &&
	    parse_overhead(line + length, n - length, &overhead)) {
		say_undone(control, line, n, "", COMM_OVERHEAD_WANTED);
		return;
	}
	why = fn(ctx, command, overhead);
	if (why)
		say_undone(control, line, n, "", why);
	else
		acknowledge(control);
}

static void do_line(struct comm_control *control, const char *line, size_t n, comm_control_fn *fn,
		    void *ctx)
{
	for (int i = 0; i < COMM_COMMAND_MAX; i++) {
		size_t length = strlen(names[i]);
		bool has_value = i == COMM_COMMAND_OVERHEAD && n > length && line[length] == ' ';

		if ((n != length && !has_value) || memcmp(line, names[i], length) != 0)
			continue;
		do_command(control, (enum comm_command)i, line, n, fn, ctx);
		return;
	}
	if (n)
		say_unknown(control, line, n);
}

/* A line ends as perf's do; returns its length without the end, or -1: none has ended. */
static ssize_t line_length(const struct comm_control *control)
{
	for (size_t i = 0; i < control->n; i++)
		if (control->buffer[i] == '\n' || !control->buffer[i])
			return (ssize_t)i;
	return -1;
}

static void read_more(struct comm_control *control)
{
	ssize_t n = read(control->fd, control->buffer + control->n,
			 sizeof(control->buffer) - control->n);

	if (n > 0) {
		control->n += (size_t)n;
	} else if (!n || (errno != EAGAIN && errno != EINTR)) {
		fprintf(stderr, "commd: --control: nobody can write commands any more; the run "
				"goes on as it is\n");
		control->fd = -1;
	}
}

/* All that still comes of that line is no command either. */
static void skip_long_line(struct comm_control *control)
{
	if (control->n <= LINE_BYTES)
		return;
	if (!control->skipping)
		say_unknown(control, control->buffer, control->n);
	control->skipping = true;
	control->n = 0;
}

void comm_control_take(struct comm_control *control, uint64_t now_ns, comm_control_fn *fn,
		       void *ctx)
{
	ssize_t n;

	if (!control || control->fd < 0 || now_ns < control->taken_ns + TURN_NS)
		return;
	control->taken_ns = now_ns;
	read_more(control);
	while ((n = line_length(control)) >= 0) {
		if (!control->skipping)
			do_line(control, control->buffer, (size_t)n, fn, ctx);
		control->skipping = false;
		control->n -= (size_t)n + 1;
		memmove(control->buffer, control->buffer + n + 1, control->n);
	}
	toggle(control, fn, ctx);
	skip_long_line(control);
}
