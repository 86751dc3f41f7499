// SPDX-License-Identifier: GPL-2.0-or-later
#include "reader_lock.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum {
	LOCKS_AT = 120,	   /* in the log's index */
	WRITERS_LOCKS = 3, /* to write, to move the log into the store, to make the index anew */
	ALL_LOCKS = SQLITE_SHM_NLOCK,
};

/* Behind SQLite's own file. */
struct watched {
	const sqlite3_io_methods *below;
	char index[PATH_MAX];
	int index_fd; /* closed last: with any descriptor of a file go all of its locks */
};

static int below_bytes;
static sqlite3_io_methods methods;

static struct watched *of(sqlite3_file *file)
{
	return (struct watched *)((char *)file + below_bytes);
}

int comm_reader_lock_bytes(void)
{
	return sizeof(struct watched);
}

/* Whether another process has a lock for writing there, as a writer has. */
static bool is_written(struct watched *watched, int first, int n)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT + first, .l_len = n};

	if (watched->index_fd < 0)
		watched->index_fd =
			open(watched->index, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return watched->index_fd < 0 || fcntl(watched->index_fd, F_GETLK, &lock) < 0 ||
	       lock.l_type != F_UNLCK;
}

static int shm_lock(sqlite3_file *file, int first, int n, int flags)
{
	struct watched *watched = of(file);
	int code = watched->below->xShmLock(file, first, n, flags);

	/* To unlock what is not locked does nothing. */
	if ((code & 0xff) == SQLITE_BUSY && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) &&
	    first + n <= WRITERS_LOCKS && !is_written(watched, first, n))
		return SQLITE_OK;
	return code;
}

static int close_file(sqlite3_file *file)
{
	struct watched *watched = of(file);
	int code = watched->below->xClose(file);

	if (watched->index_fd >= 0)
		close(watched->index_fd);
	return code;
}

void comm_reader_lock_watch(const sqlite3_vfs *below, const char *name, sqlite3_file *file)
{
	struct watched *watched;

	below_bytes = below->szOsFile;
	watched = of(file);
	*watched = (struct watched){.below = file->pMethods, .index_fd = -1};
	/* Of a file system without shared memory there is no index. */
	if (file->pMethods->iVersion < 2 || !file->pMethods->xShmLock ||
	    snprintf(watched->index, sizeof(watched->index), "%s-shm", name) >= PATH_MAX)
		return;
	methods = *file->pMethods;
	methods.xShmLock = shm_lock;
	methods.xClose = close_file;
	file->pMethods = &methods;
}

pid_t comm_reader_lock_holder(int index_fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT, .l_len = ALL_LOCKS};

	if (fcntl(index_fd, F_GETLK, &lock) < 0 || lock.l_type != F_RDLCK)
		return 0;
	return lock.l_pid;
}
