// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse_host.h"

#include "child_calls.h"
#include "clock.h"
#include "parent.h"
#include "parse_child.h"
#include "passed_fd.h"
#include "peek_child.h"
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CHILDREN_MAX = 16, /* with those that hang and cannot be killed, */
	PEEKS_MAX = 8,	   /* of which so many read memory: files are still read */
	OPEN_MS = 5000,	   /* to open the file: a file system may never answer */
	WALL_MS = 120 * 1000,
	LATE_MS = 600 * 1000, /* the same with the time in which it was stopped */
	TELL_MS = 100,	      /* how often the daemon is told what a child has cost */
	LEFT_MOST_MS = 100,   /* of CPU time that is granted and not used */
	HOST_SOCKET = 3,
};

/* What opening a target's files needs, and what confining and ending a child does. */
static const int kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,	  CAP_SETUID, CAP_SETGID,
			   CAP_KILL,	   CAP_CHECKPOINT_RESTORE};

struct child {
	pid_t pid; /* 0: the slot is free */
	int pidfd, told;
	uint64_t job;
	uint32_t kind;
	uint64_t open_stop_ns, stop_ns, late_ns;
	uint64_t told_ns;    /* of its CPU time */
	uint64_t stopped_ns; /* when; 0: it runs */
	bool answered;	     /* it hangs: killed, but not gone; or it is the process of peek.h */
	bool has_opened;
	struct comm_parse_opened opened;
};

static struct child children[CHILDREN_MAX];
static bool is_limited;
static int64_t left_ns; /* CPU time that children may use; below 0: overdrawn */

static void answer(int socket, const struct comm_parse_answer *what)
{
	/* The daemon takes its answers or is gone: nothing is left to do then. */
	if (send(socket, what, sizeof(*what), MSG_NOSIGNAL) != sizeof(*what))
		_exit(0);
}

static void take_grant(const struct comm_parse_grant *grant)
{
	const int64_t most_ns = LEFT_MOST_MS * 1000000ll;

	if (!is_limited)
		left_ns = 0;
	is_limited = true;
	left_ns += grant->cpu_ns < (uint64_t)most_ns ? (int64_t)grant->cpu_ns : most_ns;
	if (left_ns > most_ns)
		left_ns = most_ns;
}

static bool is_ended(const char *text, size_t capacity)
{
	return memchr(text, 0, capacity);
}

/*
 * Who asks may have been taken over, and the child that is asked makes paths of these texts and
 * opens them with rights: they end, and a build-id is no path.
 */
static bool is_whole(const struct comm_parse_request *request)
{
	const struct comm_elf_id *id = &request->id;
	const unsigned char *flags = (const unsigned char *)id;

	return request->kind <= COMM_PARSE_PEEK && is_ended(request->path, sizeof(request->path)) &&
	       is_ended(id->build_id, sizeof(id->build_id)) &&
	       is_ended(id->debuglink, sizeof(id->debuglink)) &&
	       strspn(id->build_id, "0123456789abcdef") == strlen(id->build_id) &&
	       flags[offsetof(struct comm_elf_id, has_symtab)] <= 1 &&
	       flags[offsetof(struct comm_elf_id, has_lines)] <= 1;
}

/*
 * The request's descriptor goes to *ret_saved, or -1: it was a grant.  False: the daemon is
 * gone, or sends what it never would.
 */
static bool receive(int socket, struct comm_parse_request *ret, int *ret_saved)
{
	struct comm_parse_grant grant;
	ssize_t n = comm_passed_fd_receive(socket, ret, sizeof(*ret), 0, ret_saved);

	if (n == sizeof(grant) && *ret_saved < 0) {
		memcpy(&grant, ret, sizeof(grant));
		take_grant(&grant);
		return true;
	}
	return n == sizeof(*ret) && *ret_saved >= 0 && is_whole(ret);
}

static struct child *free_slot(void)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++)
		if (!children[i].pid)
			return &children[i];
	return NULL;
}

/* Returns how many there still are. */
static unsigned int end_peeks(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid && children[i].kind == COMM_PARSE_PEEK) {
			kill(children[i].pid, SIGKILL);
			n++;
		}
	return n;
}

static int start(const struct comm_parse_request *request, int saved)
{
	struct child *c = free_slot();
	uint64_t now_ns = comm_clock_now_ns();
	bool peeks = request->kind == COMM_PARSE_PEEK;
	pid_t host = getpid();
	int told[2], err;

	if (peeks && end_peeks() >= PEEKS_MAX)
		return -EBUSY;
	if (!c)
		return -EBUSY;
	*c = (struct child){
		.job = request->job,
		.kind = request->kind,
		.open_stop_ns = now_ns + OPEN_MS * 1000000ull,
		.stop_ns = now_ns + WALL_MS * 1000000ull,
		.late_ns = now_ns + LATE_MS * 1000000ull,
		.answered = peeks,
	};
	if (pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	c->pid = fork();
	if (!c->pid && peeks)
		comm_peek_child(saved, host);
	if (!c->pid)
		comm_parse_child(request, saved, told[1], host);
	close(told[1]);
	c->told = told[0];
	if (c->pid > 0) {
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		if (c->pidfd >= 0)
			return 0;
		err = -errno;
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	} else {
		err = -errno;
	}
	close(c->told);
	c->pid = 0;
	return err;
}

static void look_opened(struct child *c)
{
	if (!c->has_opened)
		c->has_opened = read(c->told, &c->opened, sizeof(c->opened)) == sizeof(c->opened);
}

/* CPU time of the host since this was asked last. */
static uint64_t host_more_ns(void)
{
	static uint64_t told_ns;
	uint64_t own_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID), more_ns = own_ns - told_ns;

	told_ns = own_ns;
	return more_ns;
}

static uint64_t used_ns(const struct rusage *used)
{
	return (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000u;
}

/* What a child has used in all, now or when it ended, becomes what is to be told. */
static uint64_t more_ns(struct child *c, uint64_t all_ns)
{
	uint64_t more_ns = host_more_ns();

	if (all_ns > c->told_ns) {
		more_ns += all_ns - c->told_ns;
		c->told_ns = all_ns;
	}
	left_ns -= (int64_t)more_ns;
	return more_ns;
}

static void tell_used(int socket, struct child *c)
{
	struct comm_parse_answer what = {.job = c->job, .err = -EINPROGRESS};
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &used))
		return;
	what.cpu_ns = more_ns(c, (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec);
	answer(socket, &what);
}

static void ended(int socket, struct child *c, int status, const struct rusage *used)
{
	struct comm_parse_answer what = {
		.job = c->job, .err = -ECHILD, .cpu_ns = more_ns(c, used_ns(used))};

	look_opened(c);
	if (c->has_opened) {
		what.owner = c->opened.owner;
		what.size_bytes = c->opened.size_bytes;
		what.err = c->opened.err;
		if (!what.err && !WIFEXITED(status))
			what.err = -ECHILD;
		else if (!what.err && WEXITSTATUS(status))
			what.err = -ENODATA;
	}
	if (!c->answered)
		answer(socket, &what);
	close(c->pidfd);
	close(c->told);
	c->pid = 0;
}

static uint64_t deadline_ns(const struct child *c)
{
	uint64_t stop_ns = c->has_opened ? c->stop_ns : c->open_stop_ns;

	return c->stopped_ns || c->late_ns < stop_ns ? c->late_ns : stop_ns;
}

/*
 * A child in the hands of a file system that hangs may not even die: it is answered for, and
 * its slot comes back when it does.
 */
static void look_after(int socket, struct child *c, uint64_t now_ns)
{
	struct rusage used;
	int status;

	if (wait4(c->pid, &status, WNOHANG, &used) == c->pid) {
		ended(socket, c, status, &used);
		return;
	}
	if (c->answered)
		return;
	look_opened(c);
	if (!c->stopped_ns)
		tell_used(socket, c);
	if (now_ns < deadline_ns(c))
		return;
	kill(c->pid, SIGKILL);
	c->answered = true;
	answer(socket, &(struct comm_parse_answer){.job = c->job, .err = -ETIME});
}

static void let_run(struct child *c, bool run, uint64_t now_ns)
{
	if (run == !c->stopped_ns)
		return;
	kill(c->pid, run ? SIGCONT : SIGSTOP);
	if (run) {
		c->open_stop_ns += now_ns - c->stopped_ns;
		c->stop_ns += now_ns - c->stopped_ns;
	}
	c->stopped_ns = run ? 0 : now_ns;
}

/*
 * Within a limit one child at a time reads, symbols before lines: two that share it would both
 * be late.  Opening is no work, but may hang, so that none waits for another's.
 */
static void regulate(uint64_t now_ns)
{
	struct child *first = NULL;

	for (struct child *c = children; c < children + CHILDREN_MAX; c++)
		if (c->pid && !c->answered && c->has_opened &&
		    (!first || c->kind < first->kind ||
		     (c->kind == first->kind && c->job < first->job)))
			first = c;
	for (struct child *c = children; c < children + CHILDREN_MAX; c++)
		if (c->pid && !c->answered)
			let_run(c, !is_limited || (left_ns > 0 && (c == first || !c->has_opened)),
				now_ns);
}

static _Noreturn void end_all(void)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid)
			kill(children[i].pid, SIGKILL);
	_exit(0);
}

static void confine(int socket, pid_t parent)
{
	sigset_t all;

	/* Signals meant for the daemon, such as those of a terminal, end it, and it ends this. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "commd-files");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* The daemon's other files are none of its business: some are writable, one is locked. */
	if (dup2(socket, HOST_SOCKET) < 0 || syscall(SYS_close_range, 0, HOST_SOCKET - 1, 0) < 0 ||
	    syscall(SYS_close_range, HOST_SOCKET + 1, ~0u, 0) < 0)
		_exit(1);
	if (comm_rights_keep(kept, sizeof(kept) / sizeof(kept[0])) < 0)
		_exit(1);
	if (comm_parent_bind(parent))
		_exit(1);
	if (comm_seccomp_install(&comm_child_calls_host) < 0)
		_exit(1);
}

/* When the children have to be looked after at the latest; -1: never. */
static int sleep_ms(uint64_t now_ns)
{
	uint64_t stop_ns = UINT64_MAX, slice_ns = TELL_MS * 1000000ull, running = 0;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		const struct child *c = &children[i];

		if (!c->pid || c->answered)
			continue;
		running += !c->stopped_ns;
		if (deadline_ns(c) < stop_ns)
			stop_ns = deadline_ns(c);
	}
	if (running && is_limited && left_ns > 0 && (uint64_t)left_ns / running < slice_ns)
		slice_ns = (uint64_t)left_ns / running;
	if (running && now_ns + slice_ns < stop_ns)
		stop_ns = now_ns + slice_ns;
	if (stop_ns == UINT64_MAX)
		return -1;
	return stop_ns > now_ns ? (int)((stop_ns - now_ns) / 1000000) + 1 : 0;
}

static void begin(const struct comm_parse_request *request, int saved)
{
	int err = start(request, saved);

	if (err)
		answer(HOST_SOCKET, &(struct comm_parse_answer){.job = request->job, .err = err});
	close(saved);
}

_Noreturn void comm_parse_host(int socket, pid_t parent)
{
	struct comm_parse_request request = {0};
	int saved;

	confine(socket, parent);
	for (;;) {
		struct pollfd fds[1 + CHILDREN_MAX] = {{.fd = HOST_SOCKET, .events = POLLIN}};
		uint64_t now_ns = comm_clock_now_ns();

		for (size_t i = 0; i < CHILDREN_MAX; i++)
			fds[1 + i] = (struct pollfd){.fd = children[i].pid ? children[i].pidfd : -1,
						     .events = POLLIN};
		poll(fds, 1 + CHILDREN_MAX, sleep_ms(now_ns));
		now_ns = comm_clock_now_ns();
		for (size_t i = 0; i < CHILDREN_MAX; i++)
			if (children[i].pid)
				look_after(HOST_SOCKET, &children[i], now_ns);
		if (fds[0].revents) {
			if (!receive(HOST_SOCKET, &request, &saved))
				end_all();
			if (saved >= 0)
				begin(&request, saved);
		}
		regulate(now_ns);
	}
}
