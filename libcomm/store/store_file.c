// SPDX-License-Identifier: GPL-2.0-or-later
#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "schema.h"

enum {
	FILE_ATTEMPTS = 8,
	LOG_FRAME_BYTES = 24 + COMM_SCHEMA_PAGE_BYTES, /* behind a head of 32 bytes */
};

/*
 * Where the lock is: far from the bytes that SQLite locks and from any byte of a file.  So
 * many bytes are locked as the writer's pid says, and one: the kernel tells others who ask
 * how many.
 */
static const off_t lock_at = (off_t)1 << 62;

/* Locks for reading are of no writer: anyone takes them who may read. */
static bool has_writer(int fd, pid_t *ret)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = lock_at, .l_len = 1};

	*ret = 0;
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return false;
	if (lock.l_len > 1 && lock.l_len <= INT_MAX)
		*ret = (pid_t)(lock.l_len - 1);
	return true;
}

pid_t comm_store_file_writer(int fd)
{
	pid_t writer;

	has_writer(fd, &writer);
	return writer;
}

static int take_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = lock_at,
			     .l_len = 1 + (off_t)getpid()};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

int comm_store_file_own(int fd, pid_t *ret_holder)
{
	int err = take_lock(fd);

	*ret_holder = 0;
	return err == -EBUSY && !has_writer(fd, ret_holder) ? -EAGAIN : err;
}

/* The directory of path without links, and its last part as it is. */
static int resolve(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char directory[PATH_MAX], real[PATH_MAX];
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	/* SQLite and the writer have files beside it. */
	if (n >= sizeof(directory) || strlen(base) + strlen("-ballast") > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(directory, path, n);
	directory[n] = '\0';
	if (!realpath(n ? directory : ".", real))
		return -errno;
	n = snprintf(ret, PATH_MAX, "%s%s%s", real, real[1] ? "/" : "", base);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool comm_store_file_is_planted(const char *name, const struct stat *st, uid_t also)
{
	const char *slash = strrchr(name, '/');
	char directory[PATH_MAX] = ".";
	struct stat of;

	if (slash && snprintf(directory, sizeof(directory), "%.*s", (int)(slash - name) + 1,
			      name) >= PATH_MAX)
		return true;
	if (st->st_uid == geteuid() || st->st_uid == also || stat(directory, &of))
		return false;
	return of.st_mode & S_ISVTX && of.st_mode & S_IWOTH && st->st_uid != of.st_uid;
}

static int type_error(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISLNK(st->st_mode) ? -ELOOP : S_ISDIR(st->st_mode) ? -EISDIR : -EMEDIUMTYPE;
}

/* Its mode is what SQLite gives on to the files beside it. */
static int make_file(const char *name)
{
	int fd, err;

	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0640) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int open_file(const char *name)
{
	struct stat st;
	int fd, err;

	if (lstat(name, &st))
		return errno == ENOENT ? make_file(name) : -errno;
	/* A device or a FIFO is not even opened: that alone may do something, or wait. */
	err = type_error(&st);
	if (err)
		return err;
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || comm_store_file_is_planted(name, &st, geteuid())) {
		close(fd);
		return -EREMOTE;
	}
	return fd;
}

/* 0: the file has that name. */
static int name_error(const char *name, const struct stat *st)
{
	struct stat by_name;

	if (lstat(name, &by_name))
		return errno == EACCES ? -EACCES : -ESTALE;
	return by_name.st_ino == st->st_ino && by_name.st_dev == st->st_dev ? 0 : -ESTALE;
}

int comm_store_file_open(const char *path, struct comm_store_file *ret, pid_t *ret_holder)
{
	struct comm_store_file file;
	struct stat st;
	int err;

	*ret_holder = 0;
	err = resolve(path, file.name);
	for (int i = 0; !err && i < FILE_ATTEMPTS; i++) {
		file.fd = open_file(file.name);
		/* Another made it, or took it away, between two looks. */
		if (file.fd == -EEXIST || file.fd == -ENOENT)
			continue;
		if (file.fd < 0)
			return file.fd;
		err = comm_store_file_own(file.fd, ret_holder);
		file.is_owned = !err;
		if (err == -EAGAIN)
			err = 0;
		if (!err && fstat(file.fd, &st) < 0)
			err = -errno;
		if (!err)
			err = type_error(&st);
		if (!err && name_error(file.name, &st) == 0) {
			/* SQLite's log goes by the name: under another name it would be missing. */
			if (st.st_nlink != 1)
				err = -EMLINK;
			file.size_bytes = st.st_size;
			file.log_bytes = 0;
			file.index_fd = -1;
			if (!err) {
				*ret = file;
				return 0;
			}
		}
		close(file.fd);
	}
	return err ? err : -EBUSY;
}

void comm_store_file_close(struct comm_store_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->index_fd >= 0)
		close(file->index_fd);
	file->fd = file->index_fd = -1;
}

int comm_store_file_index(struct comm_store_file *file)
{
	char name[PATH_MAX];

	if (file->index_fd < 0 && snprintf(name, sizeof(name), "%s-shm", file->name) < PATH_MAX)
		file->index_fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return file->index_fd;
}

/*
 * Frames of SQLite's log that its index has (sqlite.org/walformat.html: mxFrame in the header of the
 * -shm file): 0 once all are in the store, as after a checkpoint that truncates the log.
 */
static uint32_t frames_in_log(struct comm_store_file *file)
{
	uint32_t header[5];
	int fd = comm_store_file_index(file);

	return fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) ? header[4] : 0;
}

/*
 * What is committed is in the log first, and SQLite trusts its index: of what another program cut off
 * it would write a rest behind a hole, and take that into the store.  A log that was deleted goes on
 * without its name.
 */
static bool is_log_cut(struct comm_store_file *file)
{
	uint64_t seen_bytes = file->log_bytes;
	char log[PATH_MAX];
	struct stat st;

	if (snprintf(log, sizeof(log), "%s-wal", file->name) >= PATH_MAX || lstat(log, &st))
		return false;
	file->log_bytes = (uint64_t)st.st_size;
	return file->log_bytes < seen_bytes &&
	       file->log_bytes < LOG_FRAME_BYTES * (uint64_t)frames_in_log(file);
}

int comm_store_file_check(struct comm_store_file *file)
{
	struct stat st;
	pid_t holder;
	int err;

	/* Readers take the run for one that has no end until this is known to be its writer. */
	if (!file->is_owned)
		file->is_owned = comm_store_file_own(file->fd, &holder) == 0;
	if (fstat(file->fd, &st) < 0)
		return -errno;
	if (!st.st_nlink)
		return -ENOENT;
	err = name_error(file->name, &st);
	if (err)
		return err;
	if ((uint64_t)st.st_size < file->size_bytes || is_log_cut(file))
		return -ENODATA;
	file->size_bytes = st.st_size;
	return 0;
}

static void *map_alone(void *addr, size_t bytes, int prot, int flags, int fd, off_t at)
{
	void *map = mmap(addr, bytes, prot, flags, fd, at);

	if (map != MAP_FAILED)
		madvise(map, bytes, MADV_DONTFORK);
	return map;
}

void comm_store_file_map_alone(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs && vfs->iVersion >= 3)
		vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)map_alone);
}
