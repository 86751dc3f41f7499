// SPDX-License-Identifier: GPL-2.0-or-later
#include "store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_ATTEMPTS = 8 };

static int lock_path(const char *path, char name[PATH_MAX])
{
	int n = snprintf(name, PATH_MAX, "%s-lock", path);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static pid_t read_pid(int fd)
{
	char text[16];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	pid = strtol(text, NULL, 10);
	return pid > 0 && pid <= INT_MAX ? pid : 0;
}

/* True when the lock file was removed by its last holder between open() and locking. */
static int is_stale(int fd, const char *name)
{
	struct stat by_fd, by_name;

	return fstat(fd, &by_fd) < 0 || stat(name, &by_name) < 0 ||
	       by_fd.st_ino != by_name.st_ino || by_fd.st_dev != by_name.st_dev;
}

int comm_store_lock_take(const char *path, int *ret_fd, pid_t *ret_holder)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[PATH_MAX], text[16];
	int fd, n, err;

	*ret_holder = 0;
	err = lock_path(path, name);
	if (err)
		return err;
	for (int i = 0; i < LOCK_ATTEMPTS; i++) {
		fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
		if (fd < 0)
			return -errno;
		if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
			err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
			*ret_holder = read_pid(fd);
			close(fd);
			return err;
		}
		if (is_stale(fd, name)) {
			close(fd);
			continue;
		}
		n = snprintf(text, sizeof(text), "%d\n", getpid());
		/* The pid only serves messages: a full disk does not matter. */
		if (fchmod(fd, 0640) < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, text, n, 0) != n)
			errno = 0;
		*ret_fd = fd;
		return 0;
	}
	return -EBUSY;
}

void comm_store_lock_drop(const char *path, int fd)
{
	char name[PATH_MAX];

	if (fd < 0)
		return;
	if (!lock_path(path, name) && !is_stale(fd, name))
		unlink(name);
	close(fd);
}

pid_t comm_store_lock_holder(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[PATH_MAX];
	pid_t pid = 0;
	int fd;

	if (lock_path(path, name))
		return 0;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		pid = read_pid(fd);
	close(fd);
	return pid;
}
