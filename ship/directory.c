// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --to file:DIR: a file for each batch, by whatever carries files away from there.  The marks of runs (marks.h) are beside them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marks.h"
#include "sink.h"

enum { FILE_MODE = 0640 }; /* as the store's */

static const char prefix[] = "file:";

struct ship_sink {
	struct ship_marks marks;
};

static const char *directory_wrong(const char *to)
{
	return to[strlen(prefix)] ? NULL : "name a directory behind file:";
}

static void directory_close(struct ship_sink *sink)
{
	if (!sink)
		return;
	ship_marks_close(&sink->marks);
	free(sink);
}

static int directory_open(const struct ship_sink_config *config, struct ship_sink **ret, char **err)
{
	struct ship_sink *sink = calloc(1, sizeof(*sink));
	int code = sink ? 0 : -ENOMEM;

	if (!code)
		code = ship_marks_open(config->to + strlen(prefix), NULL, &sink->marks, err);
	if (code)
		free(sink);
	else
		*ret = sink;
	return code;
}

static int directory_mark(struct ship_sink *sink, const char *uuid, uint64_t *ret_ns, char **err)
{
	return ship_marks_read(&sink->marks, uuid, ret_ns, err);
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
	int dir = sink->marks.fd;
	int fd = openat(dir, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);
	int code;

	if (fd < 0)
		return -errno;
	code = write_all(fd, rows->bytes, rows->n);
	if (!code && fsync(fd) < 0)
		code = -errno;
	if (close(fd) < 0 && !code)
		code = -errno;
	if (!code && renameat(dir, partial, dir, name) < 0)
		code = -errno;
	if (!code && fsync(dir) < 0)
		code = -errno;
	if (code)
		unlinkat(dir, partial, 0);
	return code;
}

static int directory_put(struct ship_sink *sink, const struct ship_batch *batch, bool *ret_taken,
			 char **err)
{
	char name[NAME_MAX], partial[NAME_MAX];
	int code;

	*ret_taken = true;
	snprintf(name, sizeof(name), "%s.%020" PRIu64 ".tsv", batch->uuid, batch->start_ns);
	snprintf(partial, sizeof(partial), ".%s.partial", batch->uuid);
	code = write_file(sink, partial, name, &batch->rows);
	if (code)
		return ship_marks_fail(&sink->marks, code, "write a file", err);
	return ship_marks_write(&sink->marks, batch->uuid, batch->start_ns + batch->length_ns, err);
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
