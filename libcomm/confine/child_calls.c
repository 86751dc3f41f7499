// SPDX-License-Identifier: GPL-2.0-or-later
#include "child_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#define LIST(name) name, sizeof(name) / sizeof(name[0])

enum {
	SPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
		 CLONE_NEWUTS | CLONE_NEWCGROUP,
};

static const struct comm_seccomp_rule both[] = {
	/* What is read: */
	COMM_SECCOMP_CALL(read),
	COMM_SECCOMP_CALL(pread64),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(fstat),
	/* glibc's fstat(). */
	COMM_SECCOMP_IS(newfstatat, 3, AT_EMPTY_PATH),
	/* Memory, none of it executable: */
	COMM_SECCOMP_NONE_OF(mmap, 2, PROT_EXEC),
	COMM_SECCOMP_CALL(munmap),
	COMM_SECCOMP_CALL(brk),
	/* Clocks of its own, and its end: */
	COMM_SECCOMP_CALL(clock_gettime),
	COMM_SECCOMP_CALL(getpid),
	COMM_SECCOMP_CALL(rt_sigreturn),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(exit),
	COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_list both_list = {LIST(both), {NULL}};

static const struct comm_seccomp_rule parser[] = {
	/* The memory file for what is read of the file: */
	COMM_SECCOMP_CALL(write),
	COMM_SECCOMP_CALL(pwrite64),
	COMM_SECCOMP_CALL(lseek),
	/* libelf asks whether a descriptor is open. */
	COMM_SECCOMP_IS(fcntl, 1, F_GETFD),
	COMM_SECCOMP_IS(fcntl, 1, F_GETFL),
	/* Memory, none of it executable: */
	COMM_SECCOMP_NONE_OF(mprotect, 2, PROT_EXEC),
	COMM_SECCOMP_CALL(mremap),
	COMM_SECCOMP_CALL(madvise),
	/* Limits of its own, its end by abort(): */
	COMM_SECCOMP_CALL(getrusage),
	COMM_SECCOMP_IS(prlimit64, 0, 0),
	COMM_SECCOMP_CALL(sysinfo),
	COMM_SECCOMP_CALL(getrandom),
	COMM_SECCOMP_CALL(futex),
	COMM_SECCOMP_CALL(gettid),
	COMM_SECCOMP_OWN_PID(tgkill, 0),
	COMM_SECCOMP_CALL(rt_sigprocmask),
	COMM_SECCOMP_CALL(rt_sigaction),
};

const struct comm_seccomp_list comm_child_calls_parser = {LIST(parser), {&both_list}};

static const struct comm_seccomp_rule peek[] = {
	/* The daemon's requests and answers, and /proc: */
	COMM_SECCOMP_CALL(recvfrom),
	COMM_SECCOMP_CALL(sendto),
	COMM_SECCOMP_NONE_OF(openat, 2, O_CREAT | O_TRUNC | O_ACCMODE),
	COMM_SECCOMP_CALL(process_vm_readv),
	COMM_SECCOMP_CALL(readlink),
	COMM_SECCOMP_CALL(get_robust_list),
};

const struct comm_seccomp_list comm_child_calls_peek = {LIST(peek), {&both_list}};

static const struct comm_seccomp_rule host[] = {
	COMM_SECCOMP_CALL(close_range),
	COMM_SECCOMP_CALL(dup2),
	COMM_SECCOMP_IS(fcntl, 1, F_DUPFD),
	COMM_SECCOMP_CALL(newfstatat),
	COMM_SECCOMP_CALL(fstatfs),
	/* Files of targets.  What these open for writing is oom_score_adj of a child itself. */
	COMM_SECCOMP_NONE_OF(openat, 2, O_CREAT | O_TRUNC),
	COMM_SECCOMP_CALL(openat2),
	COMM_SECCOMP_CALL(pipe2),
	/* The daemon's requests: */
	COMM_SECCOMP_CALL(recvmsg),
	COMM_SECCOMP_CALL(poll),
	/* Children are made, ended and waited for, */
	COMM_SECCOMP_NONE_OF(clone, 0, SPACES),
	COMM_SECCOMP_CALL(set_robust_list),
	COMM_SECCOMP_CALL(rseq),
	COMM_SECCOMP_CALL(pidfd_open),
	COMM_SECCOMP_CALL(kill),
	COMM_SECCOMP_CALL(tgkill),
	COMM_SECCOMP_CALL(wait4),
	COMM_SECCOMP_CALL(getppid),
	COMM_SECCOMP_CALL(clock_getres), /* clock_getcpuclockid() of a child */
	/* and give up their rights. */
	COMM_SECCOMP_CALL(prctl),
	COMM_SECCOMP_CALL(capset),
	COMM_SECCOMP_CALL(capget),
	COMM_SECCOMP_CALL(setgroups),
	COMM_SECCOMP_CALL(setresgid),
	COMM_SECCOMP_CALL(setresuid),
	COMM_SECCOMP_IS(setpriority, 1, 0),
};

const struct comm_seccomp_list comm_child_calls_host = {
	LIST(host), {&comm_child_calls_parser, &comm_child_calls_peek}};
