// SPDX-License-Identifier: GPL-2.0-or-later
#include "clock.h"
#include "dwjob.h"

#include "elfsym.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRIES = 100 }; /* tries of stopping a child before it is done */

static int wait_for(struct comm_dwjob *job, struct comm_dwline **ret)
{
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	int err;

	while ((err = comm_dwjob_poll(job, ret)) == -EAGAIN && comm_clock_now_ns() < stop_ns)
		usleep(1000);
	return err;
}

static int open_self(void)
{
	struct comm_elf_id id;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(comm_elf_identify(fd, &id), 0);
	if (!id.has_lines) {
		print_message("this test was built without -g\n");
		close(fd);
		skip();
	}
	return fd;
}

/* The pid of this process's only child. */
static pid_t child_of_mine(void)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

static void the_same_table(void **state)
{
	struct comm_dwline *here, *there;
	struct comm_dwjob *job;
	int fd = open_self();

	(void)state;
	assert_int_equal(comm_dwjob_start(fd, 10000, &job), 0);
	assert_int_equal(comm_dwjob_cpu_ns(job), 0);
	assert_int_equal(comm_dwline_build(fd, 10000, &here), 0);
	close(fd);
	assert_int_equal(wait_for(job, &there), 0);
	assert_true(comm_dwjob_cpu_ns(job) > 0);
	assert_int_equal(comm_dwline_lines(here), comm_dwline_lines(there));
	assert_int_equal(comm_dwline_inlines(here), comm_dwline_inlines(there));
	comm_dwjob_destroy(job);
	comm_dwline_destroy(here);
	comm_dwline_destroy(there);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void no_dwarf(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct comm_dwline *dw;
	struct comm_dwjob *job;

	(void)state;
	assert_int_equal(comm_dwjob_start(fd, 100, &job), 0);
	assert_int_equal(wait_for(job, &dw), -ENODATA);
	comm_dwjob_destroy(job);
	assert_int_equal(comm_dwjob_start(-1, 100, &job), 0);
	assert_int_equal(wait_for(job, &dw), -ENODATA);
	comm_dwjob_destroy(job);
	comm_dwjob_destroy(NULL);
	close(fd);
}

static void given_up(void **state)
{
	struct comm_dwjob *job;
	int fd = open_self();

	(void)state;
	assert_int_equal(comm_dwjob_start(fd, 10000, &job), 0);
	comm_dwjob_destroy(job);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(fd);
}

/* Another part of the program may wait for any child. */
static void reaped_by_another(void **state)
{
	struct comm_dwline *dw;
	struct comm_dwjob *job;
	int fd = open_self();

	(void)state;
	assert_int_equal(comm_dwjob_start(fd, 10000, &job), 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_int_equal(comm_dwjob_poll(job, &dw), 0);
	comm_dwline_destroy(dw);
	comm_dwjob_destroy(job);
	/* A child that was killed left no table. */
	assert_int_equal(comm_dwjob_start(fd, 10000, &job), 0);
	kill(child_of_mine(), SIGKILL);
	assert_int_equal(wait_for(job, &dw), -ENODATA);
	comm_dwjob_destroy(job);
	close(fd);
}

/* Stops a child before its walk, when it has confined itself. */
static bool stop_at_work(pid_t pid)
{
	struct __ptrace_syscall_info info;
	bool confined = false;
	int status;

	if (pid <= 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
		return false;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 &&
		    info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			/*
			 * Its last step of confining itself; the next system call
			 * belongs to its work.
			 */
			if (confined)
				return ptrace(PTRACE_DETACH, pid, 0, SIGSTOP) == 0 &&
				       waitpid(pid, &status, WUNTRACED) == pid &&
				       WIFSTOPPED(status);
			confined = info.entry.nr == SYS_prctl &&
				   info.entry.args[0] == PR_SET_PDEATHSIG;
		}
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0)
			return false;
	}
	return false;
}

static bool is_of_child(pid_t pid, const char *name, const char *line_start, const char *holds)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, line_start, strlen(line_start)))
			found = strstr(line, holds);
	fclose(file);
	return found;
}

static void confined(void **state)
{
	int canary = open("/dev/null", O_WRONLY), fd = open_self(), n_files = 0;
	struct comm_dwline *dw;
	struct comm_dwjob *job;
	char path[64], to[256];
	bool caught = false;
	pid_t pid = 0;

	(void)state;
	assert_int_equal(dup2(canary, 77), 77);
	for (int i = 0; i < TRIES && !caught; i++) {
		assert_int_equal(comm_dwjob_start(fd, 10000, &job), 0);
		pid = child_of_mine();
		caught = stop_at_work(pid);
		if (!caught)
			comm_dwjob_destroy(job);
	}
	if (!caught)
		fail_msg("no child was seen to confine itself");
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), 19);
	assert_true(is_of_child(pid, "status", "CapEff:", "\t0000000000000000"));
	assert_true(is_of_child(pid, "status", "CapPrm:", "\t0000000000000000"));
	assert_true(is_of_child(pid, "status", "NoNewPrivs:", "1"));
	if (geteuid() == 0)
		assert_true(is_of_child(pid, "status", "Uid:", "\t65534\t65534\t65534"));
	assert_true(is_of_child(pid, "limits", "Max processes", " 0 "));
	assert_false(is_of_child(pid, "limits", "Max file size", "unlimited"));
	assert_false(is_of_child(pid, "limits", "Max address space", "unlimited"));
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, i);
		n_files += readlink(path, to, sizeof(to)) > 0;
	}
	assert_int_equal(n_files, 2);
	/* The poll must not wait for the stopped child, or the alarm ends this test. */
	alarm(20);
	assert_int_equal(comm_dwjob_poll(job, &dw), -EAGAIN);
	alarm(0);
	comm_dwjob_destroy(job);
	close(77);
	close(canary);
	close(fd);
}

/* A child ends with the process that started it. */
static void dies_with_its_parent(void **state)
{
	int fd = open_self(), ends[2];
	bool caught;
	pid_t parent, child = 0;
	char path[64];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	parent = fork();
	if (!parent) {
		struct comm_dwjob *job;

		if (comm_dwjob_start(fd, 10000, &job) < 0)
			_exit(1);
		child = child_of_mine();
		caught = stop_at_work(child);
		for (int i = 0; i < TRIES && !caught; i++) {
			comm_dwjob_destroy(job);
			if (comm_dwjob_start(fd, 10000, &job) < 0)
				_exit(1);
			child = child_of_mine();
			caught = stop_at_work(child);
		}
		if (!caught)
			child = 0;
		_exit(write(ends[1], &child, sizeof(child)) != sizeof(child));
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	waitpid(parent, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	close(fd);
	if (!child)
		fail_msg("no child was seen to confine itself");
	snprintf(path, sizeof(path), "/proc/%d/exe", child);
	for (int i = 0; i < 2000 && readlink(path, (char[8]){0}, 8) > 0; i++)
		usleep(1000);
	/* A child that was only stopped would still exist. */
	if (readlink(path, (char[8]){0}, 8) > 0) {
		kill(child, SIGKILL);
		fail();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_table), cmocka_unit_test(no_dwarf),
		cmocka_unit_test(given_up),	  cmocka_unit_test(reaped_by_another),
		cmocka_unit_test(confined),	  cmocka_unit_test(dies_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
