// SPDX-License-Identifier: GPL-2.0-or-later
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "worker.h"

enum {
	BLOCK_BYTES = 1 << 18,
	BLOCKS_MAX = COMM_OUT_FILE_BYTES / BLOCK_BYTES,
	PATIENCE_NS = 1000000000, /* of who destroys a file whose end nobody waited for */
};

struct out_block {
	size_t n; /* 0: to look at the file */
	char data[];
};

struct comm_out_file {
	int fd;
	struct out_block *filling;
	/* A ring of one who puts and one who takes; NULL behind the last one put: to end. */
	struct out_block *slot[BLOCKS_MAX];
	struct comm_worker worker;
	uint64_t put;
	uint64_t taken; /* of the thread, gives slots back */
	int error;	/* the first one; of the thread, once that has begun, read by the other */
	int refused;	/* of who puts: why it puts no more */
	uint64_t bytes; /* written; of the thread */
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

	if (!file)
		return -ENOMEM;
	file->fd = make_file(path, mode);
	if (file->fd < 0) {
		int err = file->fd;

		free(file);
		return err;
	}
	comm_worker_init(&file->worker);
	*ret = file;
	return 0;
}

static int look(const struct comm_out_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st))
		return errno;
	if (!st.st_nlink)
		return ENOENT;
	return (uint64_t)st.st_size < file->bytes ? ESTALE : 0;
}

static int write_all(struct comm_out_file *file, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(file->fd, data, n);

		if (done < 0 && errno != EINTR)
			return errno;
		if (done > 0) {
			data += done;
			n -= (size_t)done;
			file->bytes += (uint64_t)done;
		}
	}
	return 0;
}

static void write_block(struct comm_out_file *file, struct out_block *block)
{
	int error = file->error;

	if (!error)
		error = write_all(file, block->data, block->n);
	if (!error)
		error = look(file);
	__atomic_store_n(&file->error, error, __ATOMIC_RELAXED);
	free(block);
}

static void serve(void *arg)
{
	struct comm_out_file *file = arg;

	for (;;) {
		struct out_block *block;

		comm_worker_wait(&file->worker);
		block = file->slot[file->taken % BLOCKS_MAX];
		if (!block)
			break;
		file->slot[file->taken % BLOCKS_MAX] = NULL;
		write_block(file, block);
		/* Pairs with the load in waiting(): the slot is empty. */
		__atomic_store_n(&file->taken, file->taken + 1, __ATOMIC_RELEASE);
	}
}

int comm_out_file_start(struct comm_out_file *file)
{
	return comm_worker_start(&file->worker, serve, file);
}

static int error_of(const struct comm_out_file *file)
{
	int error = __atomic_load_n(&file->error, __ATOMIC_RELAXED);

	return error ? -error : -file->refused;
}

static int refuse(struct comm_out_file *file, int error)
{
	if (!file->refused)
		file->refused = error;
	return error_of(file);
}

static uint64_t waiting(const struct comm_out_file *file)
{
	/* Pairs with the store in serve(). */
	return file->put - __atomic_load_n(&file->taken, __ATOMIC_ACQUIRE);
}

/* The block that is filled goes to the thread, or is written at once. */
static int hand_over(struct comm_out_file *file)
{
	struct out_block *block = file->filling;

	if (!file->worker.is_started) {
		write_block(file, block);
	} else if (waiting(file) == BLOCKS_MAX) {
		return refuse(file, ENOBUFS);
	} else {
		file->slot[file->put++ % BLOCKS_MAX] = block;
		comm_worker_tell(&file->worker);
	}
	file->filling = NULL;
	return error_of(file);
}

static int fill(struct comm_out_file *file)
{
	if (file->filling)
		return 0;
	file->filling = malloc(sizeof(struct out_block) + BLOCK_BYTES);
	if (!file->filling)
		return refuse(file, ENOMEM);
	file->filling->n = 0;
	return 0;
}

int comm_out_file_write(struct comm_out_file *file, const void *data, size_t bytes)
{
	const char *from = data;
	int err = error_of(file);

	while (!err && bytes) {
		size_t n;

		err = fill(file);
		if (err)
			break;
		n = BLOCK_BYTES - file->filling->n;
		n = bytes < n ? bytes : n;
		memcpy(file->filling->data + file->filling->n, from, n);
		file->filling->n += n;
		from += n;
		bytes -= n;
		if (file->filling->n == BLOCK_BYTES)
			err = hand_over(file);
	}
	return err;
}

static int flush(struct comm_out_file *file)
{
	int err = error_of(file);

	if (!err)
		err = fill(file);
	return err ? err : hand_over(file);
}

int comm_out_file_flush(struct comm_out_file *file)
{
	/* Behind what waits it would wait as long, and take the place of a full block. */
	return file->worker.is_started && waiting(file) ? error_of(file) : flush(file);
}

int comm_out_file_end(struct comm_out_file *file, uint64_t give_up_ns)
{
	int err = flush(file);

	if (!file->worker.is_started)
		return err;
	err = comm_worker_end(&file->worker, give_up_ns);
	return err ? err : error_of(file);
}

const char *comm_out_file_why(int error)
{
	switch (error) {
	case ENOENT:
		return "it was deleted";
	case ESTALE:
		return "it was cut short by another program";
	case ENOBUFS:
	case ETIMEDOUT:
		return "its disk did not take it in time";
	default:
		return strerror(error);
	}
}

void comm_out_file_destroy(struct comm_out_file *file)
{
	if (!file)
		return;
	/* Its end was waited for in vain. */
	if (file->worker.is_started && file->worker.is_over)
		return;
	if (comm_out_file_end(file, comm_clock_now_ns() + PATIENCE_NS) == -ETIMEDOUT)
		return;
	for (size_t i = 0; i < BLOCKS_MAX; i++)
		free(file->slot[i]);
	free(file->filling);
	close(file->fd);
	comm_worker_deinit(&file->worker);
	free(file);
}
