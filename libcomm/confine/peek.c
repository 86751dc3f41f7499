// SPDX-License-Identifier: GPL-2.0-or-later
#include "peek.h"

#include "clock.h"
#include "peek_child.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	PEEK_MS = 1000,
	/* While the other process is ready to run and has no CPU, or has not begun. */
	BUSY_MS = 10 * 1000,
	/* After so much waiting in vain, at once and of all time, it waits for so long only. */
	VAIN_MS = 3000,
	VAIN_PART = 50,
	SHORT_MS = 20,
	AGAIN_MS = 1000, /* from one process that is asked for to the next, if it does not hang */
	HANGS = 64,
	HANG_MS = 30 * 1000,
	SEVERAL = 0, /* processes are asked about at once */
};

struct comm_peek {
	struct comm_parser *parser;
	int socket; /* -1: there is nobody to ask */
	bool waits; /* to receive from it waits for SHORT_MS */
	pid_t pid;  /* 0: it has not begun */
	uint64_t serial, cpu_ns;
	uint64_t begun_ns, vain_ns, again_ns;
	uint64_t end_ns; /* nothing is asked from then on */
	bool hurries;
	/* An answer that nobody waits for any more; serial 0: there is none. */
	struct {
		uint64_t serial, begun_ns;
		uint32_t tgid;
	} late;
	/* Processes that one hung on: not asked about for a while.  The oldest is forgotten. */
	struct {
		uint32_t tgid;
		uint64_t until_ns;
	} hangs[HANGS];
	size_t n_hangs;
	/* Until then processes are not asked about together, for one of several had hung. */
	uint64_t apart_ns;
	struct {
		struct comm_peek_answer head;
		char bytes[COMM_PEEK_PIECE_BYTES];
	} message;
};

static int make_child(struct comm_peek *peek)
{
	uint64_t now_ns = comm_clock_now_ns();
	const struct timeval most = {.tv_usec = SHORT_MS * 1000};
	int ends[2], err;

	if (now_ns < peek->again_ns)
		return -ECHILD;
	peek->again_ns = now_ns + AGAIN_MS * 1000000ull;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	err = comm_parser_make_peek(peek->parser, ends[1]);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	peek->socket = ends[0];
	/* Later in a run this is not permitted. */
	peek->waits = !setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	peek->pid = 0;
	return 0;
}

int comm_peek_create(struct comm_parser *parser, struct comm_peek **ret)
{
	struct comm_peek *peek = calloc(1, sizeof(*peek));
	int err;

	if (!peek)
		return -ENOMEM;
	peek->parser = parser;
	peek->begun_ns = comm_clock_now_ns();
	peek->end_ns = UINT64_MAX;
	peek->socket = -1;
	err = make_child(peek);
	peek->again_ns = 0;
	if (err)
		free(peek);
	else
		*ret = peek;
	return err;
}

static void give_up(struct comm_peek *peek)
{
	if (peek->socket >= 0)
		close(peek->socket);
	peek->socket = -1;
	peek->late.serial = 0;
}

void comm_peek_destroy(struct comm_peek *peek)
{
	if (peek)
		give_up(peek);
	free(peek);
}

void comm_peek_until(struct comm_peek *peek, uint64_t end_ns)
{
	peek->end_ns = end_ns;
}

void comm_peek_hurry(struct comm_peek *peek, bool hurries)
{
	peek->hurries = hurries;
}

uint64_t comm_peek_cpu_ns(const struct comm_peek *peek)
{
	return peek->cpu_ns;
}

static bool hangs(const struct comm_peek *peek, uint32_t tgid)
{
	for (size_t i = 0; i < HANGS; i++)
		if (peek->hangs[i].tgid == tgid)
			return comm_clock_now_ns() < peek->hangs[i].until_ns;
	return false;
}

static uint64_t patience_ns(const struct comm_peek *peek, uint64_t now_ns)
{
	uint64_t may_ns = VAIN_MS * 1000000ull + (now_ns - peek->begun_ns) / VAIN_PART;

	return (peek->vain_ns < may_ns ? PEEK_MS : SHORT_MS) * 1000000ull;
}

/* What the other process does, and the CPU time that it has had, in ticks. */
struct doing {
	char state; /* 0: not known */
	unsigned long user, system;
};

static struct doing doing_of(const struct comm_peek *peek)
{
	struct doing ret = {0};
	char path[64];
	FILE *file;

	if (!peek->pid)
		return (struct doing){.state = 'R'};
	snprintf(path, sizeof(path), "/proc/%d/stat", peek->pid);
	file = fopen(path, "re");
	if (file &&
	    fscanf(file, "%*d (commd-memory) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &ret.state, &ret.user, &ret.system) != 3)
		ret = (struct doing){0};
	if (file)
		fclose(file);
	return ret;
}

/* Whether the other process has or waits for a CPU, and does not wait for a page. */
static bool is_busy(const struct comm_peek *peek)
{
	return doing_of(peek).state == 'R';
}

static void keep_off(struct comm_peek *peek, uint32_t tgid, uint64_t until_ns)
{
	size_t at = peek->n_hangs++ % HANGS;

	for (size_t i = 0; i < HANGS; i++)
		if (peek->hangs[i].tgid == tgid)
			at = i;
	peek->hangs[at].tgid = tgid;
	peek->hangs[at].until_ns = until_ns;
}

/*
 * Which of several it hangs on is found by asking about each.  Whoever was asked about has not stopped it.
 * waited_ns: for nothing.
 */
static void note_hang(struct comm_peek *peek, uint32_t tgid, uint64_t waited_ns)
{
	uint64_t until_ns = comm_clock_now_ns() + HANG_MS * 1000000ull;
	char state = doing_of(peek).state;

	if (state == 'T' || state == 't')
		;
	else if (tgid == SEVERAL)
		peek->apart_ns = until_ns;
	else
		keep_off(peek, tgid, until_ns);
	peek->vain_ns += waited_ns;
	peek->again_ns = 0;
	give_up(peek);
}

/* Whether an answer has taken too long by now. */
static bool is_given_up(const struct comm_peek *peek, uint64_t begun_ns, uint64_t now_ns)
{
	uint64_t late_ns = begun_ns + patience_ns(peek, begun_ns);
	uint64_t stop_ns = begun_ns + BUSY_MS * 1000000ull;

	if (now_ns >= stop_ns || now_ns >= peek->end_ns)
		return true;
	return now_ns >= late_ns && !is_busy(peek);
}

/* Waits until something can be received; false: it has taken too long. */
static bool wait_for_answer(struct comm_peek *peek, uint64_t begun_ns)
{
	struct pollfd fd = {.fd = peek->socket, .events = POLLIN};
	uint64_t late_ns = begun_ns + patience_ns(peek, begun_ns), now_ns;

	if (late_ns > peek->end_ns)
		late_ns = peek->end_ns;
	for (;;) {
		now_ns = comm_clock_now_ns();
		if (poll(&fd, 1, now_ns < late_ns ? (int)((late_ns - now_ns) / 1000000) + 1 : 10) >
		    0)
			return true;
		/* Who has answered just now waits for no CPU any more. */
		if (is_given_up(peek, begun_ns, comm_clock_now_ns()))
			return poll(&fd, 1, 0) > 0;
	}
}

/* Takes an answer that nobody waits for any more.  True: something else can be asked. */
static bool is_free(struct comm_peek *peek)
{
	const struct comm_peek_answer *head = &peek->message.head;
	struct pollfd fd = {.fd = peek->socket, .events = POLLIN};
	ssize_t n;

	if (!peek->late.serial)
		return true;
	if (!peek->hurries)
		wait_for_answer(peek, peek->late.begun_ns);
	do {
		n = recv(peek->socket, &peek->message, sizeof(peek->message), MSG_DONTWAIT);
		if (n == sizeof(*head) && !head->serial)
			peek->pid = (pid_t)head->pid;
	} while (n == sizeof(*head) && !head->serial);
	if (n >= (ssize_t)sizeof(*head) && head->serial == peek->late.serial) {
		peek->cpu_ns += head->cpu_ns;
		peek->late.serial = 0;
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		give_up(peek);
	} else if (is_given_up(peek, peek->late.begun_ns, comm_clock_now_ns()) &&
		   poll(&fd, 1, 0) <= 0) {
		note_hang(peek, peek->late.tgid, SHORT_MS * 1000000ull);
	}
	return !peek->late.serial;
}

/* The request begins with its head, and is of so many bytes. */
static int ask_all(struct comm_peek *peek, struct comm_peek_request *request, size_t bytes)
{
	int err;

	/* It may turn out to hang on the very process. */
	if (!is_free(peek))
		return -EAGAIN;
	if (hangs(peek, request->tgid) || comm_clock_now_ns() >= peek->end_ns)
		return -ETIME;
	if (peek->socket < 0) {
		err = make_child(peek);
		if (err)
			return -ECHILD;
	}
	request->serial = ++peek->serial;
	if (send(peek->socket, request, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes)
		return 0;
	give_up(peek);
	return -ECHILD;
}

static int ask(struct comm_peek *peek, struct comm_peek_request *request)
{
	return ask_all(peek, request, sizeof(*request));
}

/* Whether an answer comes within SHORT_MS, or later if the other process waits for a CPU until it has had one for as long. */
static bool comes_soon(const struct comm_peek *peek, uint64_t begun_ns)
{
	uint64_t stop_ns = begun_ns + PEEK_MS * 1000000ull;
	unsigned long most = SHORT_MS * (unsigned long)sysconf(_SC_CLK_TCK) / 1000;
	struct pollfd fd = {.fd = peek->socket, .events = POLLIN};
	struct doing first = {0}, now;

	if (poll(&fd, 1, peek->waits ? 0 : SHORT_MS) > 0)
		return true;
	do {
		now = doing_of(peek);
		if (!first.state)
			first = now;
		if (now.state != 'R' || now.user + now.system - first.user - first.system >= most ||
		    comm_clock_now_ns() >= stop_ns)
			return poll(&fd, 1, 0) > 0;
	} while (poll(&fd, 1, SHORT_MS) <= 0);
	return true;
}

/* Nearly every answer comes at once: to wait for it while receiving saves a system call of two. */
static ssize_t receive(struct comm_peek *peek, const struct comm_peek_request *request,
		       uint64_t begun_ns)
{
	ssize_t n = -1;

	if (peek->waits)
		n = recv(peek->socket, &peek->message, sizeof(peek->message), 0);
	if (n >= 0)
		return n;
	if (peek->hurries && !comes_soon(peek, begun_ns)) {
		peek->late.serial = request->serial;
		peek->late.tgid = request->tgid;
		peek->late.begun_ns = begun_ns;
		return -EAGAIN;
	}
	if (!peek->hurries && !wait_for_answer(peek, begun_ns)) {
		note_hang(peek, request->tgid, comm_clock_now_ns() - begun_ns);
		return -ETIME;
	}
	return recv(peek->socket, &peek->message, sizeof(peek->message), MSG_DONTWAIT);
}

/* One answer into the message; returns its n, which the message has as many bytes for. */
static ssize_t take(struct comm_peek *peek, const struct comm_peek_request *request)
{
	const struct comm_peek_answer *head = &peek->message.head;
	uint64_t begun_ns = comm_clock_now_ns();
	ssize_t n;

	do {
		n = receive(peek, request, begun_ns);
		if (n == -ETIME || n == -EAGAIN)
			return n;
		if (n == sizeof(*head))
			peek->pid = (pid_t)head->pid;
	} while (n == sizeof(*head) && !head->serial);
	if (n < (ssize_t)sizeof(*head) || head->serial != request->serial ||
	    (head->n > 0 && n - (ssize_t)sizeof(*head) != head->n)) {
		give_up(peek);
		return -ECHILD;
	}
	peek->cpu_ns += head->cpu_ns;
	return (ssize_t)head->n;
}

ssize_t comm_peek_maps(struct comm_peek *peek, uint32_t tgid, uint64_t from_bytes, const char **ret)
{
	struct comm_peek_request request = {
		.kind = COMM_PEEK_MAPS, .tgid = tgid, .addr = from_bytes};
	ssize_t n = ask(peek, &request);

	*ret = peek->message.bytes;
	return n < 0 ? n : take(peek, &request);
}

/* What one answer holds. */
static ssize_t read_piece(struct comm_peek *peek, struct comm_peek_request *request, void *buf)
{
	ssize_t n = ask(peek, request);

	if (n == 0)
		n = take(peek, request);
	if (n > (ssize_t)request->bytes) {
		give_up(peek);
		return -ECHILD;
	}
	if (n > 0)
		memcpy(buf, peek->message.bytes, (size_t)n);
	return n;
}

static int read_number(struct comm_peek *peek, struct comm_peek_request *request, uint64_t *ret)
{
	uint64_t number = 0;
	ssize_t n;

	request->bytes = sizeof(number);
	n = read_piece(peek, request, &number);
	if (n < 0)
		return (int)n;
	if (n != sizeof(number)) {
		give_up(peek);
		return -ECHILD;
	}
	*ret = number;
	return 0;
}

static int read_words(struct comm_peek *peek, struct comm_peek_words_request *request,
		      struct comm_peek_word *ret)
{
	size_t n = request->head.bytes;
	ssize_t got =
		ask_all(peek, &request->head, sizeof(request->head) + n * sizeof(*request->place));

	if (got == 0)
		got = take(peek, &request->head);
	if (got < 0)
		return (int)got;
	if (got != (ssize_t)(n * sizeof(*ret))) {
		give_up(peek);
		return -ECHILD;
	}
	memcpy(ret, peek->message.bytes, n * sizeof(*ret));
	return 0;
}

/* As many places as go into one request; those of a process that hangs are for themselves.  Returns how many. */
static size_t fill(const struct comm_peek *peek, const struct comm_peek_place *place, size_t n,
		   struct comm_peek_words_request *request)
{
	bool alone = comm_clock_now_ns() < peek->apart_ns || hangs(peek, (uint32_t)place->tgid);
	size_t i;

	request->head =
		(struct comm_peek_request){.kind = COMM_PEEK_WORDS, .tgid = (uint32_t)place->tgid};
	for (i = 0; i < n && i < COMM_PEEK_WORDS_MAX; i++) {
		if (place[i].tgid != place->tgid && (alone || hangs(peek, (uint32_t)place[i].tgid)))
			break;
		if (place[i].tgid != place->tgid)
			request->head.tgid = SEVERAL;
		request->place[i] = place[i];
	}
	request->head.bytes = i;
	return i;
}

int comm_peek_words(struct comm_peek *peek, const struct comm_peek_place *place, size_t n,
		    struct comm_peek_word *ret)
{
	struct comm_peek_words_request request;
	bool is_answered = !n;
	int err = 0;

	memset(ret, 0, n * sizeof(*ret));
	/* Whom it turns out to hang on is asked about apart. */
	if (!is_free(peek))
		return -EAGAIN;
	/* Of who hangs nothing is known; others are asked about all the same. */
	while (n && (!err || err == -ETIME)) {
		size_t some = fill(peek, place, n, &request);

		err = read_words(peek, &request, ret);
		is_answered |= !err;
		place += some;
		ret += some;
		n -= some;
	}
	return is_answered && (err == -ETIME || err == -ECHILD) ? 0 : err;
}

int comm_peek_robust_list(struct comm_peek *peek, uint32_t tgid, uint32_t tid, uint64_t *ret)
{
	struct comm_peek_request request = {
		.kind = COMM_PEEK_ROBUST_LIST, .tgid = tgid, .addr = tid};

	return read_number(peek, &request, ret);
}

int comm_peek_ipc(struct comm_peek *peek, uint32_t tgid, uint64_t *ret)
{
	struct comm_peek_request request = {.kind = COMM_PEEK_IPC, .tgid = tgid};

	return read_number(peek, &request, ret);
}

int comm_peek_program(struct comm_peek *peek, uint32_t tgid, struct comm_program_link *ret)
{
	struct comm_peek_request request = {
		.kind = COMM_PEEK_PROGRAM, .tgid = tgid, .bytes = sizeof(*ret)};
	ssize_t n = read_piece(peek, &request, ret);

	if (n < 0)
		return (int)n;
	if (n != sizeof(*ret) || !memchr(ret->file, 0, sizeof(ret->file)) ||
	    !memchr(ret->name, 0, sizeof(ret->name))) {
		give_up(peek);
		return -ECHILD;
	}
	return 0;
}

ssize_t comm_peek_memory(struct comm_peek *peek, uint32_t tgid, uint64_t addr, void *buf,
			 size_t bytes)
{
	struct comm_peek_request request = {.kind = COMM_PEEK_MEMORY, .tgid = tgid, .addr = addr};

	request.bytes = bytes < COMM_PEEK_PIECE_BYTES ? bytes : COMM_PEEK_PIECE_BYTES;
	return read_piece(peek, &request, buf);
}

ssize_t comm_peek_command(struct comm_peek *peek, uint32_t tgid, void *buf, size_t bytes)
{
	struct comm_peek_request request = {.kind = COMM_PEEK_COMMAND, .tgid = tgid};

	request.bytes = bytes < COMM_PEEK_PIECE_BYTES ? bytes : COMM_PEEK_PIECE_BYTES;
	return read_piece(peek, &request, buf);
}
