// SPDX-License-Identifier: GPL-2.0-or-later
#include "remover.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fence.h"
#include "parent.h"
#include "rights.h"
#include "seccomp_list.h"

enum {
	/* The remover's descriptors. */
	SOCKET,
	DIRECTORY,
	NOGROUP = 65534,
	/* So long it is waited for, since it may have no CPU; each second it is seen whether it is stopped. */
	ANSWER_S = 10,
};

static const char *const suffixes[] = {"-wal", "-shm", "-ballast", "-journal"};

enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

static const struct comm_seccomp_rule calls[] = {
	COMM_SECCOMP_CALL(recvfrom),	    COMM_SECCOMP_CALL(getppid),
	COMM_SECCOMP_CALL(sendto),	    COMM_SECCOMP_IS(unlinkat, 0, DIRECTORY),
	COMM_SECCOMP_CALL(restart_syscall), COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_list list = {calls, sizeof(calls) / sizeof(*calls), {NULL}};

static int socket_fd = -1; /* to the remover */
static pid_t remover_pid;
static bool is_gone; /* it was asked and did not answer */
static char base[NAME_MAX + 1];

/*
 * Root without capabilities removes nothing from another user's directory, whose owner may.  Without
 * CAP_SETUID it keeps its user id.
 */
static void become_owner(int directory)
{
	struct stat st;

	if (geteuid() || fstat(directory, &st) || !st.st_uid)
		return;
	if (setgroups(0, NULL) == 0 && setresgid(NOGROUP, NOGROUP, NOGROUP) == 0)
		(void)!setresuid(st.st_uid, st.st_uid, st.st_uid);
}

static void confine(int socket, int directory, const char *path, pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "commd-remover");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || comm_fence_remover(path))
		_exit(1);
	/* Not before, as that one might not come to the directory by its path. */
	become_owner(directory);
	if (comm_rights_keep(NULL, 0) || comm_parent_bind(parent))
		_exit(1);
	/* Both are above, so that neither takes the other's place. */
	if (dup2(socket, SOCKET) < 0 || dup2(directory, DIRECTORY) < 0 ||
	    syscall(SYS_close_range, DIRECTORY + 1, ~0u, 0) < 0)
		_exit(1);
	if (comm_seccomp_install(&list))
		_exit(1);
}

static _Noreturn void serve(pid_t parent)
{
	char name[SUFFIXES][sizeof(base) + sizeof("-journal")];
	uint8_t which;
	int err;

	for (size_t i = 0; i < SUFFIXES; i++)
		snprintf(name[i], sizeof(name[i]), "%s%s", base, suffixes[i]);
	while (recv(SOCKET, &which, sizeof(which), 0) == sizeof(which) && which < SUFFIXES) {
		/* Who was stopped while it was asked may find another run's files by now. */
		if (getppid() != parent)
			break;
		err = unlinkat(DIRECTORY, name[which], 0) ? errno : 0;
		if (send(SOCKET, &err, sizeof(err), MSG_NOSIGNAL) != sizeof(err))
			break;
	}
	_exit(0);
}

/* A descriptor that is above those that the remover keeps. */
static int above(int fd)
{
	int to = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, DIRECTORY + 1);

	if (fd >= 0)
		close(fd);
	return to;
}

int comm_remover_start(const char *store_path)
{
	const struct timeval patience = {.tv_sec = 1};
	const char *slash = strrchr(store_path, '/');
	char copy[PATH_MAX], *path;
	int ends[2], directory, err = 0;
	pid_t pid = -1, own = getpid();

	/* Who opens the store says what is wrong with its name, or its directory. */
	if (snprintf(copy, sizeof(copy), "%s", store_path) >= PATH_MAX ||
	    snprintf(base, sizeof(base), "%s", slash ? slash + 1 : store_path) >= (int)sizeof(base))
		return 0;
	path = dirname(copy);
	directory = above(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (directory < 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		err = -errno;
		close(directory);
		return err;
	}
	ends[1] = above(ends[1]);
	if (ends[1] >= 0)
		pid = fork();
	if (!pid) {
		confine(ends[1], directory, path, own);
		serve(own);
	}
	if (pid < 0)
		err = -errno;
	close(directory);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	socket_fd = ends[0];
	remover_pid = pid;
	return 0;
}

static bool is_stopped(void)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)remover_pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

/* A late answer would be taken for that of the next question: then there is no next. */
static int ask(uint8_t which)
{
	int err, waited_s = 0;
	ssize_t n;

	is_gone = true;
	if (send(socket_fd, &which, sizeof(which), MSG_NOSIGNAL) != sizeof(which))
		return EIO;
	/* With a limit of time no signal handler has it go on by itself. */
	do
		n = recv(socket_fd, &err, sizeof(err), 0);
	while (n < 0 &&
	       (errno == EINTR || (errno == EAGAIN && ++waited_s < ANSWER_S && !is_stopped())));
	is_gone = n != sizeof(err);
	if (!is_gone)
		return err;
	close(socket_fd);
	socket_fd = -1;
	return EIO;
}

/* In the place of unlink(). */
static int have_removed(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(base);
	uint8_t which = 0;
	int err = EPERM;

	while (which < SUFFIXES && strcmp(name + strnlen(name, n), suffixes[which]))
		which++;
	if (strncmp(name, base, n) == 0 && which < SUFFIXES)
		err = ask(which);
	errno = err;
	return err ? -1 : 0;
}

bool comm_remover_is_gone(void)
{
	return is_gone;
}

void comm_remover_left(const char *store_path, char *ret, size_t bytes)
{
	char path[PATH_MAX];
	size_t used = 0;

	*ret = '\0';
	for (size_t i = 0; i < SUFFIXES; i++) {
		snprintf(path, sizeof(path), "%s%s", store_path, suffixes[i]);
		if (access(path, F_OK) || used >= bytes)
			continue;
		used += (size_t)snprintf(ret + used, bytes - used, "%s%s%s", used ? ", " : "", base,
					 suffixes[i]);
	}
}

void comm_remover_leave(void)
{
	if (socket_fd >= 0)
		close(socket_fd);
	socket_fd = -1;
}

void comm_remover_take_over(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs && vfs->iVersion >= 3 && socket_fd >= 0)
		vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)have_removed);
}
