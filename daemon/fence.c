// SPDX-License-Identifier: GPL-2.0-or-later
#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Of the kernel's linux/landlock.h, which in distributions is older than the kernels that commd
 * runs on: what later versions of Landlock added is asked for where the kernel has it.
 */
enum {
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_FILE = 1 << 5,
	MAKE_REG = 1 << 8,
	FIRST = (1 << 13) - 1,	  /* all of version 1 */
	REFER = 1 << 13,	  /* since version 2 */
	CUT = 1 << 14,		  /* truncate(), since 3 */
	IOCTL_DEV = 1 << 15,	  /* on devices opened later, since 5 */
	TCP = 1 << 0 | 1 << 1,	  /* bind() and connect(), since 4 */
	SCOPES = 1 << 0 | 1 << 1, /* abstract sockets and signals, since 6 */
	ASK_VERSION = 1 << 0,
	RULE_BENEATH = 1,
};

struct rules {
	uint64_t files, net, scoped;
};

struct beneath {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

int comm_fence_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

	return version > 0 ? (int)version : 0;
}

/* A file is no link, or it is another; the way to a directory may be one. */
static int allow(int rules_fd, const char *path, uint64_t allowed)
{
	int no_link = allowed & (READ_DIR | REMOVE_FILE) ? 0 : O_NOFOLLOW;
	int fd = open(path, O_PATH | no_link | O_CLOEXEC), err = 0;
	struct beneath beneath = {.allowed = allowed, .fd = fd};

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (syscall(SYS_landlock_add_rule, rules_fd, RULE_BENEATH, &beneath, 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

/*
 * The store and what SQLite has beside it, each by itself, so that of a directory with other
 * files none of these is written, read or removed: what goes at the end, the remover removes
 * (remover.h).  Where there is no log (a file system without shared memory) SQLite makes a journal
 * for each transaction, which takes the directory.
 */
static int allow_store(int rules_fd, const char *store_path, uint64_t file_rights)
{
	static const char *const own[] = {"", "-wal", "-shm", "-ballast"};
	uint64_t of_directory = READ_DIR;
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !err; i++) {
		if (snprintf(path, sizeof(path), "%s%s", store_path, own[i]) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (!strcmp(own[i], "-wal") && access(path, F_OK))
			of_directory |= MAKE_REG | file_rights;
		err = allow(rules_fd, path, file_rights);
	}
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s", store_path);
	return allow(rules_fd, dirname(path), of_directory);
}

/* Rules by which nothing is allowed yet. */
static int make_rules(int version)
{
	struct rules rules = {.files = FIRST};
	size_t size = sizeof(rules.files);
	int fd;

	if (version >= 2)
		rules.files |= REFER;
	if (version >= 3)
		rules.files |= CUT;
	if (version >= 4) {
		rules.net = TCP;
		size = sizeof(rules.files) + sizeof(rules.net);
	}
	if (version >= 5)
		rules.files |= IOCTL_DEV;
	if (version >= 6) {
		rules.scoped = SCOPES;
		size = sizeof(rules);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	return fd < 0 ? -errno : fd;
}

/* Closes rules_fd. */
static int restrict_to(int rules_fd, int err)
{
	if (!err && syscall(SYS_landlock_restrict_self, rules_fd, 0) < 0)
		err = -errno;
	close(rules_fd);
	return err;
}

int comm_fence_all(void)
{
	int version = comm_fence_version(), fd = version ? make_rules(version) : -1;

	if (fd < 0)
		return version ? fd : 0;
	return restrict_to(fd, 0);
}

int comm_fence_remover(const char *directory)
{
	int version = comm_fence_version(), fd = version ? make_rules(version) : -1;

	if (fd < 0)
		return version ? fd : 0;
	return restrict_to(fd, allow(fd, directory, REMOVE_FILE));
}

int comm_fence_close(const char *store_path, bool reads_all)
{
	int version = comm_fence_version(), fd, err;

	if (!version)
		return 0;
	fd = make_rules(version);
	if (fd < 0)
		return fd;
	err = allow_store(fd, store_path, READ_FILE | WRITE_FILE | (version >= 3 ? CUT : 0));
	if (!err)
		err = allow(fd, reads_all ? "/" : "/proc", READ_FILE | READ_DIR);
	if (!err)
		err = allow(fd, "/sys", READ_FILE | READ_DIR);
	return restrict_to(fd, err);
}
