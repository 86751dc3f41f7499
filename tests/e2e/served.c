// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file system of FUSE that has the files of another directory, and answers nothing as long as there is a file of that
 * name:
 *	served DIRECTORY SILENT MOUNTPOINT
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int root;
static const char *silent;

/* Of what is asked for, the path below the directory; NULL: of a file that is open, and has none any more. */
static const char *below(const char *path)
{
	while (access(silent, F_OK) == 0)
		usleep(10 * 1000);
	return path && !path[1] ? "." : path ? path + 1 : NULL;
}

static int result(ssize_t n)
{
	return n < 0 ? -errno : (int)n;
}

/* One that is open is taken away as it is, and has no other name until it is closed. */
static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->hard_remove = 1;
	config->nullpath_ok = 1;
	return NULL;
}

static int get(const char *path, struct stat *ret, struct fuse_file_info *file)
{
	path = below(path);
	if (file)
		return result(fstat((int)file->fh, ret));
	return result(fstatat(root, path, ret, AT_SYMLINK_NOFOLLOW));
}

static int open_file(const char *path, struct fuse_file_info *file)
{
	int fd = openat(root, below(path), file->flags & ~(O_CREAT | O_EXCL));

	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int create(const char *path, mode_t mode, struct fuse_file_info *file)
{
	int fd = openat(root, below(path), file->flags | O_CREAT, mode);

	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	return result(close((int)file->fh));
}

static int read_file(const char *path, char *buf, size_t bytes, off_t at,
		     struct fuse_file_info *file)
{
	below(path);
	return result(pread((int)file->fh, buf, bytes, at));
}

static int write_file(const char *path, const char *buf, size_t bytes, off_t at,
		      struct fuse_file_info *file)
{
	below(path);
	return result(pwrite((int)file->fh, buf, bytes, at));
}

static int cut(const char *path, off_t bytes, struct fuse_file_info *file)
{
	int fd, err;

	path = below(path);
	if (file)
		return result(ftruncate((int)file->fh, bytes));
	fd = openat(root, path, O_WRONLY);
	err = fd < 0 ? -errno : result(ftruncate(fd, bytes));
	if (fd >= 0)
		close(fd);
	return err;
}

static int sync_file(const char *path, int only_data, struct fuse_file_info *file)
{
	(void)only_data;
	below(path);
	return result(fsync((int)file->fh));
}

static int allocate(const char *path, int mode, off_t at, off_t bytes, struct fuse_file_info *file)
{
	below(path);
	return result(fallocate((int)file->fh, mode, at, bytes));
}

static int take_away(const char *path)
{
	return result(unlinkat(root, below(path), 0));
}

static int change_mode(const char *path, mode_t mode, struct fuse_file_info *file)
{
	(void)file;
	return result(fchmodat(root, below(path), mode, 0));
}

static int change_owner(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *file)
{
	(void)file;
	return result(fchownat(root, below(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int tell_space(const char *path, struct statvfs *ret)
{
	below(path);
	return result(fstatvfs(root, ret));
}

static const struct fuse_operations operations = {
	.init = begin,
	.getattr = get,
	.open = open_file,
	.create = create,
	.release = release,
	.read = read_file,
	.write = write_file,
	.truncate = cut,
	.fsync = sync_file,
	.fallocate = allocate,
	.unlink = take_away,
	.chmod = change_mode,
	.chown = change_owner,
	.statfs = tell_space,
};

int main(int argc, char **argv)
{
	char *args[] = {argv[0], "-f", argv[argc - 1], NULL};

	if (argc != 4)
		return 2;
	silent = argv[2];
	root = open(argv[1], O_PATH | O_DIRECTORY);
	if (root < 0) {
		perror(argv[1]);
		return 1;
	}
	return fuse_main(3, args, &operations, NULL);
}
