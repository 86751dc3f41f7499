// SPDX-License-Identifier: GPL-2.0-or-later
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { DESCRIPTORS = 32, STORE_MS = 10 * 1000 };

static int start_on(const struct comm_source *source, const char *arg, uint32_t pid, char **why)
{
	struct comm_sampler_config config = comm_sampler_defaults;
	void *handle = NULL;
	int err = comm_target_create(COMM_TARGET_PIDS, true, &config.target);

	if (err)
		return err;
	config.arg = arg;
	err = comm_target_add_pid(config.target, pid, why);
	if (!err)
		err = source->sampler->open(&config, &handle, why);
	if (!err)
		err = source->sampler->start(handle, why);
	if (!err)
		source->sampler->stop(handle);
	source->sampler->close(handle);
	comm_target_destroy(config.target);
	return err;
}

int comm_preflight_source(const struct comm_source *source, const char *arg, char **why)
{
	pid_t pid = fork();
	int err;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (pid < 0)
		return comm_source_fail(why, -errno, "cannot make a process to try it on: %s",
					strerror(errno));
	err = start_on(source, arg, (uint32_t)pid, why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

/* The pipe is closed when it ends, and nothing else that it has keeps anybody waiting who reads what commd prints. */
static _Noreturn void ask_store(const char *path, char *directory, int end)
{
	struct statfs fs;
	struct stat st;
	int opened;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "commd-store");
	if (dup2(end, 0) < 0 || syscall(SYS_close_range, 1, ~0u, 0) < 0)
		_exit(1);
	/* What one of them tells, the kernel may know by itself. */
	(void)statfs(directory, &fs);
	/* It may be a link to another one. */
	(void)!stat(path, &st);
	opened = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_exit(opened < 0 ? 1 : 0);
}

/* Whatever signals come meanwhile. */
static bool waits_for(struct pollfd *fd, int ms)
{
	uint64_t until_ns = comm_clock_now_ns() + (uint64_t)ms * 1000000, now_ns;
	int n;

	while ((n = poll(fd, 1, ms)) < 0 && errno == EINTR) {
		now_ns = comm_clock_now_ns();
		ms = now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0;
	}
	return n != 0;
}

bool comm_preflight_store(const char *path)
{
	char copy[PATH_MAX];
	struct pollfd fd = {.events = POLLIN};
	bool answers;
	int ends[2];
	pid_t pid;

	/* Who opens the store says what is wrong with its name; without the process all is as it would be. */
	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy) || pipe2(ends, O_CLOEXEC))
		return true;
	pid = fork();
	if (!pid)
		ask_store(path, dirname(copy), ends[1]);
	close(ends[1]);
	fd.fd = ends[0];
	answers = pid < 0 || waits_for(&fd, STORE_MS);
	close(ends[0]);
	if (pid < 0)
		return true;
	/* What waits for the file system ends when that answers. */
	if (answers)
		waitpid(pid, NULL, 0);
	else
		kill(pid, SIGKILL);
	return answers;
}

int comm_preflight_memory(uint32_t pid, char **why)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = -errno;
	return comm_source_fail(
		why, err,
		"may not read the memory and the mappings of process %u (%s), so its code is not "
		"known and next to nothing will be reported: run as its user or as root, or give "
		"CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
		pid, strerror(-err));
}

bool comm_preflight_descriptors(void)
{
	int fd[DESCRIPTORS], n = 0;

	while (n < DESCRIPTORS && (fd[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return n == DESCRIPTORS;
}
