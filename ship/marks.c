// SPDX-License-Identifier: GPL-2.0-or-later
#include "marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink.h"

enum {
	FILE_MODE = 0640, /* as the store's */
	MARK_BYTES = 21,  /* 20 digits and a newline, written at once */
};

/* A full disk, or one that is not there, may be another one later. */
int ship_marks_fail(const struct ship_marks *marks, int code, const char *what, char **err)
{
	bool later = code == -ENOSPC || code == -EDQUOT || code == -EIO || code == -ESTALE;

	return ship_fail(err, later ? -EAGAIN : code, "cannot %s in %s: %s", what, marks->path,
			 strerror(-code));
}

void ship_marks_close(struct ship_marks *marks)
{
	if (marks->mark_fd >= 0)
		close(marks->mark_fd);
	if (marks->fd >= 0)
		close(marks->fd);
	free(marks->path);
	free(marks->end);
	*marks = (struct ship_marks){.fd = -1, .mark_fd = -1};
}

int ship_marks_open(const char *path, const char *target, struct ship_marks *ret, char **err)
{
	int code, n;

	*ret = (struct ship_marks){.fd = -1, .mark_fd = -1};
	ret->path = strdup(path);
	n = target ? asprintf(&ret->end, ".%016" PRIx64 ".shipped", ship_tsv_hash(target))
		   : asprintf(&ret->end, ".shipped");
	if (n < 0)
		ret->end = NULL;
	if (!ret->path || !ret->end) {
		ship_marks_close(ret);
		return -ENOMEM;
	}
	ret->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd >= 0)
		return 0;
	code = -errno;
	ship_marks_close(ret);
	return ship_fail(err, code, "cannot send to the directory %s: %s", path, strerror(-code));
}

static int write_mark(struct ship_marks *marks, uint64_t ns, char **err)
{
	char text[MARK_BYTES + 1];

	snprintf(text, sizeof(text), "%020" PRIu64 "\n", ns);
	errno = 0;
	if (pwrite(marks->mark_fd, text, MARK_BYTES, 0) == MARK_BYTES && !fdatasync(marks->mark_fd))
		return 0;
	return ship_marks_fail(marks, errno ? -errno : -EIO, "write the mark of a run", err);
}

/* A new mark has its place on the disk before anything is sent, so that a full one does not make a slice be sent again. */
static int begin_mark(struct ship_marks *marks, char **err)
{
	struct stat stat;
	int code;

	if (fstat(marks->mark_fd, &stat) < 0)
		return ship_marks_fail(marks, -errno, "read the mark of a run", err);
	if (stat.st_size)
		return 0;
	code = write_mark(marks, 0, err);
	if (!code && fsync(marks->fd) < 0)
		code = ship_marks_fail(marks, -errno, "write the mark of a run", err);
	return code;
}

/* Opens the mark of a run, and locks it for as long as it is open. */
static int open_mark(struct ship_marks *marks, const char *uuid, char **err)
{
	char name[NAME_MAX];
	int code = 0;

	if (marks->mark_fd >= 0 && !strcmp(marks->uuid, uuid))
		return 0;
	if (marks->mark_fd >= 0)
		close(marks->mark_fd);
	snprintf(name, sizeof(name), "%s%s", uuid, marks->end);
	snprintf(marks->uuid, sizeof(marks->uuid), "%s", uuid);
	marks->mark_fd =
		openat(marks->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (marks->mark_fd < 0)
		return ship_marks_fail(marks, -errno, "open the mark of a run", err);
	if (flock(marks->mark_fd, LOCK_EX | LOCK_NB) < 0)
		code = errno == EWOULDBLOCK
			       ? ship_fail(err, -EAGAIN, "another commctl ship sends run %s to %s",
					   uuid, marks->path)
			       : ship_marks_fail(marks, -errno, "lock the mark of a run", err);
	else
		code = begin_mark(marks, err);
	if (code) {
		close(marks->mark_fd);
		marks->mark_fd = -1;
	}
	return code;
}

int ship_marks_read(struct ship_marks *marks, const char *uuid, uint64_t *ret_ns, char **err)
{
	char text[MARK_BYTES + 1] = "", *end;
	int code = open_mark(marks, uuid, err);
	ssize_t n;

	if (code)
		return code;
	n = pread(marks->mark_fd, text, MARK_BYTES, 0);
	if (n < 0)
		return ship_marks_fail(marks, -errno, "read the mark of a run", err);
	*ret_ns = 0;
	if (!n)
		return 0;
	text[n] = '\0';
	*ret_ns = strtoull(text, &end, 10);
	if (n == MARK_BYTES && end == text + MARK_BYTES - 1 && *end == '\n' && *ret_ns <= INT64_MAX)
		return 0;
	return ship_fail(err, -EUCLEAN,
			 "%s/%s%s is damaged; take it away, and the run is sent from its beginning",
			 marks->path, uuid, marks->end);
}

int ship_marks_write(struct ship_marks *marks, const char *uuid, uint64_t ns, char **err)
{
	int code = open_mark(marks, uuid, err);

	return code ? code : write_mark(marks, ns, err);
}
