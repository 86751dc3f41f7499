// SPDX-License-Identifier: GPL-2.0-or-later
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DESCRIPTORS = 32 };

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
