// SPDX-License-Identifier: GPL-2.0-or-later
#include "peek_child.h"

#include "child_calls.h"
#include "clock.h"
#include "program_link.h"
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	OPEN_MAX = 32, /* processes whose two files stay open */
	PEEK_SOCKET = 3,
};

/* What opening /proc/PID/maps and mem of another user's process takes. */
static const int kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};

static struct memory {
	uint32_t tgid; /* 0: free */
	int fd, maps;  /* -1: not open */
	uint64_t used;
} memories[OPEN_MAX];

static struct {
	struct comm_peek_answer head;
	char bytes[COMM_PEEK_PIECE_BYTES];
} message;

static void confine(int socket, pid_t host)
{
	prctl(PR_SET_NAME, "commd-memory");
	if (dup2(socket, PEEK_SOCKET) < 0 || syscall(SYS_close_range, 0, PEEK_SOCKET - 1, 0) < 0 ||
	    syscall(SYS_close_range, PEEK_SOCKET + 1, ~0u, 0) < 0)
		_exit(1);
	if (comm_rights_as_nobody(kept, sizeof(kept) / sizeof(kept[0])) < 0)
		_exit(1);
	/* Not before, as a change of user id clears the death signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != host)
		_exit(1);
	if (comm_seccomp_install(&comm_child_calls_peek) < 0)
		_exit(1);
}

static void answer(uint64_t serial, int64_t n)
{
	static uint64_t told_ns;
	static pid_t pid;
	uint64_t now_ns = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	size_t bytes = sizeof(message.head) + (n > 0 ? (size_t)n : 0);

	if (!pid)
		pid = getpid();
	message.head = (struct comm_peek_answer){serial, n, now_ns - told_ns, pid};
	told_ns = now_ns;
	if (send(PEEK_SOCKET, &message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		_exit(0); /* the daemon has given this process up, or is gone */
}

static int open_proc(uint32_t tgid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", tgid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void forget(struct memory *m)
{
	if (m->tgid) {
		close_file(&m->fd);
		close_file(&m->maps);
	}
	*m = (struct memory){.fd = -1, .maps = -1};
}

/* The slot of a process, or else the one that is free or was used least recently. */
static struct memory *memory_of(uint32_t tgid)
{
	static uint64_t used;
	struct memory *found = &memories[0];

	used++;

	for (size_t i = 0; i < OPEN_MAX; i++) {
		struct memory *m = &memories[i];

		if (m->tgid == tgid) {
			m->used = used;
			return m;
		}
		if (!m->tgid || (found->tgid && m->used < found->used))
			found = m;
	}
	forget(found);
	found->used = used;
	return found;
}

/* Whole lines of a file of mappings.  Returns how many bytes, or -errno. */
static int64_t read_lines(int fd, uint64_t from)
{
	size_t used = 0;
	ssize_t n = 0;

	while (sizeof(message.bytes) - used >= COMM_PEEK_LINE_BYTES &&
	       (n = pread(fd, message.bytes + used, sizeof(message.bytes) - used,
			  (off_t)(from + used))) > 0)
		used += (size_t)n;
	return used || n >= 0 ? (int64_t)used : -errno;
}

/*
 * A process whose first thread has ended seems to have no mappings, but a file of them that was opened
 * before still tells.  The one that is opened now comes first, as that other one tells of the program
 * before an exec.
 */
static int64_t read_maps(uint32_t tgid, uint64_t from)
{
	struct memory *m = memory_of(tgid);
	bool is_open = m->tgid && m->maps >= 0;
	int fd;
	int64_t n;

	if (from)
		return is_open ? read_lines(m->maps, from) : -ESTALE;
	fd = open_proc(tgid, "maps");
	n = fd < 0 ? fd : read_lines(fd, 0);
	if (n > 0) {
		close_file(&m->maps);
		m->tgid = tgid;
		m->maps = fd;
		return n;
	}
	close_file(&fd);
	return is_open ? read_lines(m->maps, 0) : n;
}

/*
 * While the kernel waits for a page here it has let the target's mmap_lock go, without which that
 * could map nothing until the page is there.  In a read of /proc/PID/mem it keeps the lock.
 */
static ssize_t read_remote(uint32_t tgid, uint64_t addr, size_t bytes)
{
	const struct iovec here = {message.bytes, bytes}, there = {(void *)(uintptr_t)addr, bytes};

	return process_vm_readv((pid_t)tgid, &here, 1, &there, 1, 0);
}

/*
 * The file of /proc reads what the call cannot: memory that is executable only, and, if it was
 * opened before, that of a process whose first thread has ended.
 */
static int64_t read_memory(uint32_t tgid, uint64_t addr, size_t bytes)
{
	struct memory *m = memory_of(tgid);
	bool fresh = !m->tgid || m->fd < 0;
	ssize_t n;

	for (;;) {
		int fd = fresh ? open_proc(tgid, "mem") : m->fd;

		if (fd < 0)
			return fd;
		m->tgid = tgid;
		m->fd = fd;
		n = read_remote(tgid, addr, bytes);
		if (n > 0)
			return n;
		n = pread(m->fd, message.bytes, bytes, (off_t)addr);
		if (n > 0)
			return n;
		n = n < 0 ? -errno : -ESRCH;
		/* After an exec the open /proc/PID/mem still means the old memory: open it anew. */
		close_file(&m->fd);
		if (fresh)
			return n;
		fresh = true;
	}
}

static int64_t robust_list(uint32_t tid)
{
	uint64_t head = 0;
	size_t bytes;

	if (syscall(SYS_get_robust_list, tid, &head, &bytes))
		return -errno;
	memcpy(message.bytes, &head, sizeof(head));
	return sizeof(head);
}

static int64_t ipc_namespace(uint32_t tgid)
{
	int fd = open_proc(tgid, "ns/ipc"), err;
	struct stat st;
	uint64_t number;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	number = st.st_ino;
	memcpy(message.bytes, &number, sizeof(number));
	return sizeof(number);
}

/* The kernel gives what a process wrote over its command line, too; only the start is wanted. */
static int64_t read_command(uint32_t tgid, size_t bytes)
{
	int fd = open_proc(tgid, "cmdline");
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, message.bytes, bytes);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static int64_t program_link(uint32_t tgid)
{
	static struct comm_program_link link;
	int err;

	memset(&link, 0, sizeof(link));
	err = comm_program_link_find(tgid, &link);
	if (err)
		return err;
	memcpy(message.bytes, &link, sizeof(link));
	return sizeof(link);
}

/*
 * Words from all over the memory of a process, in as few calls as their pages allow: a call ends at the first page
 * that cannot be read.  0, or -errno: none of the others can be read.
 */
static int read_words_of(const struct comm_peek_place *place, size_t n, struct comm_peek_word *word)
{
	struct iovec here[COMM_PEEK_WORDS_MAX], there[COMM_PEEK_WORDS_MAX];

	for (size_t i = 0; i < n; i++) {
		here[i] = (struct iovec){&word[i].value, sizeof(word[i].value)};
		there[i] = (struct iovec){(void *)(uintptr_t)place[i].addr, sizeof(word[i].value)};
	}
	for (size_t at = 0; at < n; at++) {
		ssize_t bytes = process_vm_readv((pid_t)place->tgid, here + at, n - at, there + at,
						 n - at, 0);

		if (bytes < 0 && errno != EFAULT)
			return -errno;
		for (; bytes >= (ssize_t)sizeof(word->value); bytes -= sizeof(word->value))
			word[at++].is_known = 1;
	}
	return 0;
}

/* Of a process that has ended, or may not be read, no word is known.  An error: none may be read. */
static int64_t read_words(const struct comm_peek_words_request *request)
{
	const struct comm_peek_place *place = request->place;
	struct comm_peek_word *word = (struct comm_peek_word *)message.bytes;
	size_t n = request->head.bytes;
	bool is_any_read = false;
	int err, denied = 0;

	memset(word, 0, n * sizeof(*word));
	for (size_t at = 0, end; at < n; at = end) {
		for (end = at + 1; end < n && place[end].tgid == place[at].tgid; end++)
			;
		err = read_words_of(place + at, end - at, word + at);
		is_any_read |= !err;
		if (err == -EPERM || err == -EACCES)
			denied = err;
	}
	return denied && !is_any_read ? denied : (int64_t)(n * sizeof(*word));
}

static void serve(const struct comm_peek_words_request *request)
{
	const struct comm_peek_request *head = &request->head;

	if (head->kind == COMM_PEEK_WORDS)
		answer(head->serial, read_words(request));
	else if (!head->tgid || head->bytes > sizeof(message.bytes))
		answer(head->serial, -EINVAL);
	else if (head->kind == COMM_PEEK_MAPS)
		answer(head->serial, read_maps(head->tgid, head->addr));
	else if (head->kind == COMM_PEEK_ROBUST_LIST)
		answer(head->serial, robust_list((uint32_t)head->addr));
	else if (head->kind == COMM_PEEK_IPC)
		answer(head->serial, ipc_namespace(head->tgid));
	else if (head->kind == COMM_PEEK_PROGRAM)
		answer(head->serial, program_link(head->tgid));
	else if (head->kind == COMM_PEEK_COMMAND)
		answer(head->serial, read_command(head->tgid, head->bytes));
	else
		answer(head->serial, read_memory(head->tgid, head->addr, head->bytes));
}

_Noreturn void comm_peek_child(int socket, pid_t host)
{
	struct comm_peek_words_request request;
	size_t words;
	ssize_t n;

	confine(socket, host);
	answer(0, 0);
	while ((n = recv(PEEK_SOCKET, &request, sizeof(request), 0)) >=
	       (ssize_t)sizeof(request.head)) {
		words = request.head.kind == COMM_PEEK_WORDS ? request.head.bytes : 0;
		if (words > COMM_PEEK_WORDS_MAX ||
		    (size_t)n != sizeof(request.head) + words * sizeof(*request.place))
			break;
		serve(&request);
	}
	_exit(0);
}
