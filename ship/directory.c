// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --to file:DIR: a file for each batch, by whatever carries files away from there.  UUID.shipped is the mark of a run, and is
 * locked while one is sent, so that two who send the same run do not write one file at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sink.h"
#include "uuid.h"

enum {
	FILE_MODE = 0640, /* as the store's */
	MARK_BYTES = 21,  /* 20 digits and a newline, written at once */
};

static const char prefix[] = "file:";

struct ship_sink {
	char *path;
	int fd;
	/* The run whose mark is open, and locked. */
	char uuid[COMM_UUID_CHARS + 1];
	int mark_fd;
};

static const char *directory_wrong(const char *to)
{
	return to[strlen(prefix)] ? NULL : "name a directory behind file:";
}

/* A full disk, or one that is not there, may be another one later. */
static int fail(char **err, int code, const struct ship_sink *sink, const char *what)
{
	bool later = code == -ENOSPC || code == -EDQUOT || code == -EIO || code == -ESTALE;

	return ship_fail(err, later ? -EAGAIN : code, "cannot %s in %s: %s", what, sink->path,
			 strerror(-code));
}

static void directory_close(struct ship_sink *sink)
{
	if (!sink)
		return;
	if (sink->mark_fd >= 0)
		close(sink->mark_fd);
	if (sink->fd >= 0)
		close(sink->fd);
	free(sink->path);
	free(sink);
}

static int directory_open(const struct ship_sink_config *config, struct ship_sink **ret, char **err)
{
	struct ship_sink *sink = calloc(1, sizeof(*sink));
	int code = 0;

	if (!sink)
		return -ENOMEM;
	sink->fd = sink->mark_fd = -1;
	sink->path = strdup(config->to + strlen(prefix));
	if (!sink->path) {
		directory_close(sink);
		return -ENOMEM;
	}
	sink->fd = open(sink->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sink->fd < 0) {
		code = ship_fail(err, -errno, "cannot send to the directory %s: %s", sink->path,
				 strerror(errno));
		directory_close(sink);
		return code;
	}
	*ret = sink;
	return 0;
}

/* Opens the mark of a run, and locks it for as long as it is open. */
static int open_mark(struct ship_sink *sink, const char *uuid, char **err)
{
	char name[NAME_MAX];
	int code = 0;

	if (sink->mark_fd >= 0 && !strcmp(sink->uuid, uuid))
		return 0;
	if (sink->mark_fd >= 0)
		close(sink->mark_fd);
	snprintf(name, sizeof(name), "%s.shipped", uuid);
	snprintf(sink->uuid, sizeof(sink->uuid), "%s", uuid);
	sink->mark_fd =
		openat(sink->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (sink->mark_fd < 0)
		return fail(err, -errno, sink, "open the mark of a run");
	if (flock(sink->mark_fd, LOCK_EX | LOCK_NB) < 0)
		code = errno == EWOULDBLOCK
			       ? ship_fail(err, -EAGAIN, "another commctl ship sends run %s to %s",
					   uuid, sink->path)
			       : fail(err, -errno, sink, "lock the mark of a run");
	if (code) {
		close(sink->mark_fd);
		sink->mark_fd = -1;
	}
	return code;
}

static int directory_mark(struct ship_sink *sink, const char *uuid, uint64_t *ret_ns, char **err)
{
	char text[MARK_BYTES + 1] = "", *end;
	int code = open_mark(sink, uuid, err);
	ssize_t n;

	if (code)
		return code;
	n = pread(sink->mark_fd, text, MARK_BYTES, 0);
	if (n < 0)
		return fail(err, -errno, sink, "read the mark of a run");
	*ret_ns = 0;
	if (!n)
		return 0;
	text[n] = '\0';
	*ret_ns = strtoull(text, &end, 10);
	if (n == MARK_BYTES && end == text + MARK_BYTES - 1 && *end == '\n' && *ret_ns <= INT64_MAX)
		return 0;
	return ship_fail(err, -EUCLEAN,
			 "%s/%s.shipped is damaged; take it away, and the run is sent from its "
			 "beginning",
			 sink->path, uuid);
}

static int put_mark(struct ship_sink *sink, uint64_t ns, char **err)
{
	char text[MARK_BYTES + 1];

	snprintf(text, sizeof(text), "%020" PRIu64 "\n", ns);
	errno = 0;
	if (pwrite(sink->mark_fd, text, MARK_BYTES, 0) != MARK_BYTES ||
	    fdatasync(sink->mark_fd) < 0)
		return fail(err, errno ? -errno : -EIO, sink, "write the mark of a run");
	return 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Nobody sees a part of it under its name, nor after a crash the name of what is not there. */
static int write_file(struct ship_sink *sink, const char *partial, const char *name,
		      const struct ship_tsv *rows)
{
	int fd = openat(sink->fd, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);
	int code;

	if (fd < 0)
		return -errno;
	code = write_all(fd, rows->bytes, rows->n);
	if (!code && fsync(fd) < 0)
		code = -errno;
	if (close(fd) < 0 && !code)
		code = -errno;
	if (!code && renameat(sink->fd, partial, sink->fd, name) < 0)
		code = -errno;
	if (!code && fsync(sink->fd) < 0)
		code = -errno;
	if (code)
		unlinkat(sink->fd, partial, 0);
	return code;
}

static int directory_put(struct ship_sink *sink, const struct ship_batch *batch, bool *ret_taken,
			 char **err)
{
	char name[NAME_MAX], partial[NAME_MAX];
	int code = open_mark(sink, batch->uuid, err);

	if (code)
		return code;
	*ret_taken = true;
	snprintf(name, sizeof(name), "%s.%020" PRIu64 ".tsv", batch->uuid, batch->start_ns);
	snprintf(partial, sizeof(partial), ".%s.partial", batch->uuid);
	code = write_file(sink, partial, name, &batch->rows);
	if (code)
		return fail(err, code, sink, "write a file");
	return put_mark(sink, batch->start_ns + batch->length_ns, err);
}

const struct ship_sink_ops ship_directory = {
	.prefix = prefix,
	.form = "file:DIR",
	.wrong = directory_wrong,
	.open = directory_open,
	.close = directory_close,
	.mark = directory_mark,
	.put = directory_put,
};
