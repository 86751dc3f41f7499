// SPDX-License-Identifier: GPL-2.0-or-later
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

struct comm_out_file {
	FILE *file;
	int error;
	uint64_t bytes; /* written, and as many as the file had when it was looked at last: */
	off_t seen_bytes;
};

static int make_file(const char *path, mode_t mode)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTBLK;
		if (unlink(path) < 0)
			return -errno;
	}
	/* O_APPEND: a file that was cut short stays shorter than what was written to it. */
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	return fd;
}

int comm_out_file_create(const char *path, mode_t mode, struct comm_out_file **ret)
{
	struct comm_out_file *file = calloc(1, sizeof(*file));
	int fd;

	if (!file)
		return -ENOMEM;
	fd = make_file(path, mode);
	if (fd < 0) {
		free(file);
		return fd;
	}
	file->file = fdopen(fd, "w");
	if (!file->file) {
		close(fd);
		free(file);
		return -ENOMEM;
	}
	setvbuf(file->file, NULL, _IOFBF, BUFFER_BYTES);
	*ret = file;
	return 0;
}

void comm_out_file_destroy(struct comm_out_file *file)
{
	if (!file)
		return;
	fclose(file->file);
	free(file);
}

static int fail(struct comm_out_file *file, int error)
{
	file->error = error;
	return -error;
}

int comm_out_file_write(struct comm_out_file *file, const void *data, size_t bytes)
{
	if (file->error)
		return -file->error;
	if (bytes && fwrite(data, bytes, 1, file->file) != 1)
		return fail(file, errno ? errno : EIO);
	file->bytes += bytes;
	return 0;
}

int comm_out_file_flush(struct comm_out_file *file)
{
	if (file->error)
		return -file->error;
	if (fflush(file->file))
		return fail(file, errno);
	file->seen_bytes = (off_t)file->bytes;
	return 0;
}

int comm_out_file_look(struct comm_out_file *file)
{
	struct stat st;

	if (file->error)
		return -file->error;
	if (fstat(fileno(file->file), &st))
		return fail(file, errno);
	if (!st.st_nlink)
		return fail(file, ENOENT);
	if (st.st_size < file->seen_bytes)
		return fail(file, ESTALE);
	file->seen_bytes = st.st_size;
	return 0;
}
