// SPDX-License-Identifier: GPL-2.0-or-later
#include "child_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	SPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
		 CLONE_NEWUTS | CLONE_NEWCGROUP,
};

static const struct comm_seccomp_rule parser[] = {
	/* The file, and the memory file for what is read of it: */
	COMM_SECCOMP_CALL(read),
	COMM_SECCOMP_CALL(pread64),
	COMM_SECCOMP_CALL(write),
	COMM_SECCOMP_CALL(pwrite64),
	COMM_SECCOMP_CALL(lseek),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(fstat),
	/* glibc's fstat(). */
	{SYS_newfstatat, COMM_SECCOMP_IS, 3, AT_EMPTY_PATH},
	/* libelf asks whether a descriptor is open. */
	{SYS_fcntl, COMM_SECCOMP_IS, 1, F_GETFD},
	{SYS_fcntl, COMM_SECCOMP_IS, 1, F_GETFL},
	/* Memory, none of it executable: */
	{SYS_mmap, COMM_SECCOMP_NONE_OF_BITS, 2, PROT_EXEC},
	{SYS_mprotect, COMM_SECCOMP_NONE_OF_BITS, 2, PROT_EXEC},
	COMM_SECCOMP_CALL(munmap),
	COMM_SECCOMP_CALL(mremap),
	COMM_SECCOMP_CALL(madvise),
	COMM_SECCOMP_CALL(brk),
	/* Clocks and limits of its own, its end, by abort() too: */
	COMM_SECCOMP_CALL(clock_gettime),
	COMM_SECCOMP_CALL(getrusage),
	{SYS_prlimit64, COMM_SECCOMP_IS, 0, 0},
	COMM_SECCOMP_CALL(sysinfo),
	COMM_SECCOMP_CALL(getrandom),
	COMM_SECCOMP_CALL(futex),
	COMM_SECCOMP_CALL(getpid),
	COMM_SECCOMP_CALL(gettid),
	{SYS_tgkill, COMM_SECCOMP_IS_OWN_PID, 0, 0},
	COMM_SECCOMP_CALL(rt_sigprocmask),
	COMM_SECCOMP_CALL(rt_sigaction),
	COMM_SECCOMP_CALL(rt_sigreturn),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(exit),
	COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_rule peek[] = {
	/* The daemon's requests and answers, and /proc: */
	COMM_SECCOMP_CALL(recvfrom),
	COMM_SECCOMP_CALL(sendto),
	{SYS_openat, COMM_SECCOMP_NONE_OF_BITS, 2, O_CREAT | O_TRUNC | O_ACCMODE},
	COMM_SECCOMP_CALL(read),
	COMM_SECCOMP_CALL(pread64),
	COMM_SECCOMP_CALL(process_vm_readv),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(fstat),
	/* glibc's fstat(). */
	{SYS_newfstatat, COMM_SECCOMP_IS, 3, AT_EMPTY_PATH},
	COMM_SECCOMP_CALL(get_robust_list),
	COMM_SECCOMP_CALL(clock_gettime),
	COMM_SECCOMP_CALL(getpid),
	/* For what glibc allocates on its own: */
	{SYS_mmap, COMM_SECCOMP_NONE_OF_BITS, 2, PROT_EXEC},
	COMM_SECCOMP_CALL(munmap),
	COMM_SECCOMP_CALL(brk),
	COMM_SECCOMP_CALL(rt_sigreturn),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(exit),
	COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_rule host[] = {
	COMM_SECCOMP_CALL(read),
	COMM_SECCOMP_CALL(pread64),
	COMM_SECCOMP_CALL(write),
	COMM_SECCOMP_CALL(pwrite64),
	COMM_SECCOMP_CALL(lseek),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(close_range),
	COMM_SECCOMP_CALL(dup2),
	{SYS_fcntl, COMM_SECCOMP_IS, 1, F_GETFD},
	{SYS_fcntl, COMM_SECCOMP_IS, 1, F_GETFL},
	{SYS_fcntl, COMM_SECCOMP_IS, 1, F_DUPFD},
	COMM_SECCOMP_CALL(fstat),
	COMM_SECCOMP_CALL(newfstatat),
	COMM_SECCOMP_CALL(fstatfs),
	/* Files of targets.  What these open for writing is oom_score_adj of a child itself. */
	{SYS_openat, COMM_SECCOMP_NONE_OF_BITS, 2, O_CREAT | O_TRUNC},
	COMM_SECCOMP_CALL(openat2),
	COMM_SECCOMP_CALL(pipe2),
	/* Memory, none of it executable: */
	{SYS_mmap, COMM_SECCOMP_NONE_OF_BITS, 2, PROT_EXEC},
	{SYS_mprotect, COMM_SECCOMP_NONE_OF_BITS, 2, PROT_EXEC},
	COMM_SECCOMP_CALL(munmap),
	COMM_SECCOMP_CALL(mremap),
	COMM_SECCOMP_CALL(madvise),
	COMM_SECCOMP_CALL(brk),
	/* The daemon's requests: */
	COMM_SECCOMP_CALL(recvmsg),
	COMM_SECCOMP_CALL(recvfrom),
	COMM_SECCOMP_CALL(sendto),
	COMM_SECCOMP_CALL(poll),
	/* Children are made, ended and waited for, */
	{SYS_clone, COMM_SECCOMP_NONE_OF_BITS, 0, SPACES},
	COMM_SECCOMP_CALL(set_robust_list),
	/* The child that reads memory, of targets: */
	COMM_SECCOMP_CALL(get_robust_list),
	COMM_SECCOMP_CALL(process_vm_readv),
	COMM_SECCOMP_CALL(rseq),
	COMM_SECCOMP_CALL(pidfd_open),
	COMM_SECCOMP_CALL(kill),
	COMM_SECCOMP_CALL(wait4),
	/* and give up their rights. */
	COMM_SECCOMP_CALL(prctl),
	COMM_SECCOMP_CALL(capset),
	COMM_SECCOMP_CALL(capget),
	COMM_SECCOMP_CALL(setgroups),
	COMM_SECCOMP_CALL(setresgid),
	COMM_SECCOMP_CALL(setresuid),
	{SYS_prlimit64, COMM_SECCOMP_IS, 0, 0},
	{SYS_setpriority, COMM_SECCOMP_IS, 1, 0},
	COMM_SECCOMP_CALL(getrusage),
	COMM_SECCOMP_CALL(clock_gettime),
	COMM_SECCOMP_CALL(clock_getres), /* clock_getcpuclockid() of a child */
	COMM_SECCOMP_CALL(sysinfo),
	COMM_SECCOMP_CALL(getrandom),
	COMM_SECCOMP_CALL(futex),
	COMM_SECCOMP_CALL(getpid),
	COMM_SECCOMP_CALL(getppid),
	COMM_SECCOMP_CALL(gettid),
	COMM_SECCOMP_CALL(tgkill),
	COMM_SECCOMP_CALL(rt_sigprocmask),
	COMM_SECCOMP_CALL(rt_sigaction),
	COMM_SECCOMP_CALL(rt_sigreturn),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(exit),
	COMM_SECCOMP_CALL(exit_group),
};

enum {
	PARSER = sizeof(parser) / sizeof(parser[0]),
	PEEK = sizeof(peek) / sizeof(peek[0]),
	HOST = sizeof(host) / sizeof(host[0]),
};

int comm_child_calls_host(void)
{
	return comm_seccomp_install(host, HOST);
}

int comm_child_calls_parser(void)
{
	return comm_seccomp_install(parser, PARSER);
}

int comm_child_calls_peek(void)
{
	return comm_seccomp_install(peek, PEEK);
}

bool comm_child_calls_host_knows(long nr)
{
	return comm_seccomp_knows(host, HOST, nr);
}

bool comm_child_calls_parser_knows(long nr)
{
	return comm_seccomp_knows(parser, PARSER, nr);
}

bool comm_child_calls_peek_knows(long nr)
{
	return comm_seccomp_knows(peek, PEEK, nr);
}
