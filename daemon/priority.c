// SPDX-License-Identifier: GPL-2.0-or-later
#include "priority.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fence.h"
#include "parent.h"
#include "rights.h"
#include "seccomp_list.h"
#include "trigger.h"

/* Threads a CPU that want to run: with so many, one has its turn some 30 ms later. */
static const long CROWD = 8;

static const struct sched_param zero;

static bool is_raised, may_return, is_yielding, has_limit;
static int before;
static struct rlimit limit_before;
static int waker = -1; /* a socket: who wakes this process up where it may not return by itself */

static long runnable_threads(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	long n;

	if (!f)
		return 0;
	if (fscanf(f, "%*f %*f %*f %ld/", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

void comm_priority_raise(void)
{
	if (runnable_threads() <= CROWD * sysconf(_SC_NPROCESSORS_ONLN))
		return;
	before = getpriority(PRIO_PROCESS, 0);
	is_raised = !setpriority(PRIO_PROCESS, 0, -20);
}

void comm_priority_restore(void)
{
	if (is_raised)
		setpriority(PRIO_PROCESS, 0, before);
	if (has_limit)
		setrlimit(RLIMIT_NICE, &limit_before);
}

/* It keeps a socket and nothing else, and has one system call for another process: that one. */
static bool confine_waker(int socket, pid_t whose)
{
	static const int kept[] = {CAP_SYS_NICE};
	const struct comm_seccomp_rule calls[] = {
		COMM_SECCOMP_CALL(recvfrom),
		COMM_SECCOMP_IS(sched_setscheduler, 0, (uint32_t)whose),
		COMM_SECCOMP_CALL(restart_syscall),
		COMM_SECCOMP_CALL(exit_group),
	};
	const struct comm_seccomp_list list = {calls, sizeof(calls) / sizeof(*calls), {NULL}};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "commd-priority");
	return (socket == 0 || dup2(socket, 0) == 0) && syscall(SYS_close_range, 1u, ~0u, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && comm_fence_all() == 0 &&
	       comm_rights_as_nobody(kept, 1) == 0 && comm_parent_bind(whose) == 0 &&
	       comm_seccomp_install(&list) == 0;
}

/* Of each byte that comes, until the process is gone that it is for. */
static _Noreturn void wake(pid_t whose)
{
	char byte;

	while (recv(0, &byte, 1, 0) == 1)
		sched_setscheduler(whose, SCHED_OTHER, &zero);
	_exit(0);
}

/* Makes that process, which ends with this one. */
static bool start_waker(void)
{
	pid_t whose = getpid(), child;
	int ends[2];

	if (!comm_has_capability(CAP_SYS_NICE, -1) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	child = fork();
	if (!child) {
		if (confine_waker(ends[1], whose))
			wake(whose);
		_exit(1);
	}
	close(ends[1]);
	if (child > 0)
		waker = ends[0];
	else
		close(ends[0]);
	return child > 0;
}

/* The limit has 20 - nice (getrlimit(2)).  A raised priority could not come back. */
void comm_priority_allow_return(void)
{
	rlim_t wanted = (rlim_t)(20 - getpriority(PRIO_PROCESS, 0));
	struct rlimit limit;

	is_yielding = sched_getscheduler(0) == SCHED_IDLE;
	if (is_raised || is_yielding || getrlimit(RLIMIT_NICE, &limit_before))
		return;
	limit = limit_before;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted;
		limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
		has_limit = !setrlimit(RLIMIT_NICE, &limit);
	}
	may_return = limit_before.rlim_cur >= wanted || has_limit || start_waker();
}

/* It ends when it is killed, as by its user. */
static bool has_waker(void)
{
	char byte;

	return recv(waker, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

static bool change(bool yield)
{
	if (yield || waker < 0)
		return !sched_setscheduler(0, yield ? SCHED_IDLE : SCHED_OTHER, &zero);
	return send(waker, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

bool comm_priority_yield(bool wanted)
{
	/* It acts some time after it was asked. */
	if (waker >= 0)
		is_yielding = sched_getscheduler(0) == SCHED_IDLE;
	if (waker >= 0 && wanted && !has_waker())
		may_return = false;
	if (may_return && wanted != is_yielding && change(wanted))
		is_yielding = wanted;
	return is_yielding;
}

void comm_priority_leave(void)
{
	may_return = false;
	if (waker >= 0)
		close(waker);
	waker = -1;
}
