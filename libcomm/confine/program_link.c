// SPDX-License-Identifier: GPL-2.0-or-later
#include "program_link.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AUXV_MAX = 64, PROC_BYTES = 64 };

static int open_of(uint32_t tgid, const char *name, int flags)
{
	char path[PATH_MAX + PROC_BYTES];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", tgid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static ssize_t read_of(uint32_t tgid, const char *name, void *buf, size_t bytes, uint64_t at)
{
	int fd = open_of(tgid, name, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, buf, bytes, (off_t)at);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

/* Where the path that was given to execve() is; 0: not known. */
static uint64_t path_addr(uint32_t tgid)
{
	Elf64_auxv_t auxv[AUXV_MAX];
	ssize_t n = read_of(tgid, "auxv", auxv, sizeof(auxv), 0);

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(auxv[0]); i++)
		if (auxv[i].a_type == AT_EXECFN)
			return auxv[i].a_un.a_val;
	return 0;
}

/* O_PATH opens nothing: no device, and no file of a program that never answers. */
static bool stat_of(uint32_t tgid, const char *name, struct stat *ret)
{
	int fd = open_of(tgid, name, O_PATH);
	bool told = fd >= 0 && fstat(fd, ret) == 0;

	if (fd >= 0)
		close(fd);
	return told;
}

static bool is_same_file(uint32_t tgid, const char *path)
{
	char there[PATH_MAX + 8];
	struct stat program, link;

	snprintf(there, sizeof(there), "%s/%s", path[0] == '/' ? "root" : "cwd", path);
	return stat_of(tgid, "exe", &program) && stat_of(tgid, there, &link) &&
	       program.st_dev == link.st_dev && program.st_ino == link.st_ino;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int comm_program_link_find(uint32_t tgid, struct comm_program_link *ret)
{
	char path[PATH_MAX], exe[PROC_BYTES];
	uint64_t addr = path_addr(tgid);
	ssize_t n;

	ret->name[0] = 0;
	snprintf(exe, sizeof(exe), "/proc/%" PRIu32 "/exe", tgid);
	n = readlink(exe, ret->file, sizeof(ret->file) - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ret->file[n] = 0;
	/* The string may end right before memory that there is not. */
	n = addr ? read_of(tgid, "mem", path, sizeof(path), addr) : 0;
	if (n <= 0 || !memchr(path, 0, (size_t)n) || !*base_of(path) ||
	    strlen(base_of(path)) >= sizeof(ret->name) ||
	    !strcmp(base_of(path), base_of(ret->file)) || !is_same_file(tgid, path))
		return 0;
	strcpy(ret->name, base_of(path));
	return 0;
}
