// SPDX-License-Identifier: GPL-2.0-or-later
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int comm_foreign_root(uint32_t tgid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", tgid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	return fd;
}

/*
 * Files of the kernel are regular, too, but to read one may do something: take the lines that
 * another waits for (trace_pipe), or ask a device (a PCI resource, which drivers in user space
 * map).  Whoever has a link beside its program could have root do that.
 */
static bool is_the_kernels(int fd)
{
	static const long types[] = {PROC_SUPER_MAGIC,	 SYSFS_MAGIC,	      DEBUGFS_MAGIC,
				     TRACEFS_MAGIC,	 SECURITYFS_MAGIC,    SELINUX_MAGIC,
				     CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
				     PSTOREFS_MAGIC,	 EFIVARFS_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (fs.f_type == types[i])
			return true;
	return false;
}

/* First an O_PATH handle, which has no side effect; only a regular file is then opened itself. */
int comm_foreign_regular(int dir_fd, const char *path, uint64_t resolve, uint64_t flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};
	char self[64];
	struct stat st;
	int handle, fd;

	handle = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	if (handle < 0)
		return -errno;
	if (fstat(handle, &st) < 0 || !S_ISREG(st.st_mode) || is_the_kernels(handle)) {
		close(handle);
		return -EINVAL;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(handle);
	return fd;
}

/* A program that was deleted, or never was in a directory, can still be opened by who runs it.  Else err. */
static int open_program(uint32_t tgid, uint64_t ino, int err)
{
	char link[64];
	struct stat st;
	int fd;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", tgid);
	fd = comm_foreign_regular(AT_FDCWD, link, 0, 0);
	if (fd < 0)
		return err;
	if (fstat(fd, &st) == 0 && st.st_ino == ino)
		return fd;
	close(fd);
	return err;
}

int comm_foreign_mapped(uint32_t tgid, uint64_t start, uint64_t end, uint64_t ino, const char *path,
			int root_fd)
{
	char link[96];
	struct stat st;
	int fd;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, tgid,
		 start, end);
	fd = comm_foreign_regular(AT_FDCWD, link, 0, 0);
	if (fd >= 0 || root_fd < 0 || path[0] != '/')
		return fd;
	fd = comm_foreign_regular(root_fd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, 0);
	if (fd < 0)
		return end ? open_program(tgid, ino, fd) : fd;
	if (fstat(fd, &st) < 0 || (end && st.st_ino != ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int comm_foreign_debug(const struct comm_elf_id *id, int root_fd, const char *path,
		       int ret[COMM_DEBUG_FILES_MAX])
{
	static const char *const beside[] = {"%.*s%s", "%.*s.debug/%s", "/usr/lib/debug%.*s%s"};
	const char *slash = strrchr(path, '/');
	bool has_id = strlen(id->build_id) >= 3;
	int dir_len = slash ? (int)(slash + 1 - path) : 0, n = 0, fd;
	char name[4096];

	snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%.2s/%s.debug", id->build_id,
		 has_id ? id->build_id + 2 : "");
	fd = has_id ? comm_foreign_regular(AT_FDCWD, name, RESOLVE_NO_MAGICLINKS, 0) : -ENOENT;
	if (fd >= 0)
		ret[n++] = fd;
	if (root_fd < 0)
		return n;
	/* Symbolic links inside a container's root must not lead out of it. */
	fd = has_id ? comm_foreign_regular(root_fd, name, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
					   0)
		    : -ENOENT;
	if (fd >= 0)
		ret[n++] = fd;
	for (size_t i = 0; i < 3 && id->debuglink[0] && !strchr(id->debuglink, '/'); i++) {
		snprintf(name, sizeof(name), beside[i], dir_len, path, id->debuglink);
		fd = comm_foreign_regular(root_fd, name, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
					  0);
		if (fd >= 0)
			ret[n++] = fd;
	}
	return n;
}

/* The pid that a process has in its own namespace, and its effective user. */
static int own_pid(uint32_t tgid, uint32_t *ret_pid, uint32_t *ret_uid)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tgid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	*ret_pid = tgid;
	while (fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			*ret_pid = (uint32_t)strtoul(last, NULL, 10);
		else if (!strncmp(line, "Uid:", 4)) /* real, then effective */
			found = sscanf(line + 4, "%*u %" SCNu32, ret_uid) == 1;
	}
	fclose(file);
	return found ? 0 : -ESRCH;
}

int comm_foreign_perf_map(uint32_t tgid, int root_fd)
{
	uint32_t pid, uid;
	char path[64];
	struct stat st;
	int err = own_pid(tgid, &pid, &uid), fd;

	if (err)
		return err;
	snprintf(path, sizeof(path), "tmp/perf-%" PRIu32 ".map", pid);
	fd = comm_foreign_regular(root_fd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
				  O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != uid))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}
