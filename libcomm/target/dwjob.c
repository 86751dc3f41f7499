// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwjob.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NOBODY = 65534,
	NICE = 19,
	CHILD_FILE = 3, /* descriptors of the child's only open files: the ELF file, the result */
	CHILD_RESULT = 4,
	/*
	 * At the lowest priority beside busy threads a child gets 1.5 % of a CPU or
	 * less.  SCHED_IDLE gets a fifth of that: on a busy host, where it matters,
	 * there would never be a line.
	 */
	WALL_MS = 120 * 1000,
};

static const unsigned long long child_bytes = 3ull << 30; /* memory beyond its parent's */

struct comm_dwjob {
	pid_t pid;
	int result; /* memory file */
	bool ended;
	uint64_t stop_ns, cpu_ns;
};

/* Closes the parent's files in the child: some are writable. */
static void keep_only(int fd, int result)
{
	int file = fcntl(fd, F_DUPFD, CHILD_RESULT + 1);

	result = fcntl(result, F_DUPFD, CHILD_RESULT + 1);
	if (file < 0 || result < 0 || dup2(file, CHILD_FILE) < 0 ||
	    dup2(result, CHILD_RESULT) < 0 || syscall(SYS_close_range, 0, CHILD_FILE - 1, 0) < 0 ||
	    syscall(SYS_close_range, CHILD_RESULT + 1, ~0u, 0) < 0)
		_exit(1);
}

/* Sandboxes the child: a hostile file that takes over libdw gets no rights and little CPU. */
static void confine(unsigned int cpu_ms, pid_t parent)
{
	struct rlimit cpu = {cpu_ms / 1000 + 2, cpu_ms / 1000 + 2};
	struct __user_cap_header_struct caps = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {0};
	struct rlimit none = {0, 0}, file = {COMM_DWLINE_SAVED_MAX, COMM_DWLINE_SAVED_MAX}, memory;
	unsigned long long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	if (!statm || fscanf(statm, "%llu", &pages) != 1)
		_exit(1);
	fclose(statm);
	memory.rlim_cur = memory.rlim_max = pages * (unsigned long long)getpagesize() + child_bytes;
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	setrlimit(RLIMIT_FSIZE, &file);
	setpriority(PRIO_PROCESS, 0, NICE);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/*
	 * The file is open already: no rights are needed from here on.  A daemon
	 * without CAP_SETUID keeps its user id, but no capability either.
	 */
	if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	if (syscall(SYS_capset, &caps, rights) < 0)
		_exit(1);
	/* Last, as a change of user id clears the death signal; the parent may be gone already. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static void child(int fd, unsigned int cpu_ms, int result, pid_t parent)
{
	struct comm_dwline *dw;

	keep_only(fd, result);
	confine(cpu_ms, parent);
	if (comm_dwline_build(CHILD_FILE, cpu_ms, &dw) < 0 ||
	    comm_dwline_save(dw, CHILD_RESULT) < 0)
		_exit(1);
	_exit(0);
}

int comm_dwjob_start(int fd, unsigned int cpu_ms, struct comm_dwjob **ret)
{
	struct comm_dwjob *job = calloc(1, sizeof(*job));
	pid_t parent = getpid();
	int err;

	if (!job)
		return -ENOMEM;
	job->stop_ns = comm_clock_now_ns() + WALL_MS * 1000000ull;
	job->result = memfd_create("commprof lines", MFD_CLOEXEC);
	if (job->result < 0) {
		err = -errno;
		free(job);
		return err;
	}
	job->pid = fork();
	if (!job->pid)
		child(fd, cpu_ms, job->result, parent);
	if (job->pid < 0) {
		err = -errno;
		close(job->result);
		free(job);
		return err;
	}
	*ret = job;
	return 0;
}

/* True when the child is gone, also when another wait() of this process reaped it. */
static bool reap(struct comm_dwjob *job, int flags)
{
	struct rusage used = {0};
	pid_t pid;

	do
		pid = wait4(job->pid, NULL, flags, &used);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return false;
	job->ended = true;
	job->cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
		      (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
	return true;
}

int comm_dwjob_poll(struct comm_dwjob *job, struct comm_dwline **ret)
{
	if (reap(job, WNOHANG))
		return comm_dwline_load(job->result, ret);
	if (comm_clock_now_ns() < job->stop_ns)
		return -EAGAIN;
	/* A child that this process may not kill dies with it, see confine(). */
	if (!kill(job->pid, SIGKILL))
		reap(job, 0);
	return -ETIME;
}

uint64_t comm_dwjob_cpu_ns(const struct comm_dwjob *job)
{
	return job->cpu_ns;
}

void comm_dwjob_destroy(struct comm_dwjob *job)
{
	if (!job)
		return;
	/* A child that another wait() reaped is gone: its pid may be reused, so do not kill it. */
	if (!job->ended && !reap(job, WNOHANG) && !kill(job->pid, SIGKILL))
		reap(job, 0);
	close(job->result);
	free(job);
}
