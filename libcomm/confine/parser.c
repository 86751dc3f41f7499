// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser.h"

#include "clock.h"
#include "passed_fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ACTIVE_MAX = 3,
	LINES_MAX = 2, /* of these: lines and types take long, and symbols must not wait for them */
	QUEUE_MAX = 256,
	RESTARTS_MAX = 3, /* of the host; then files are done without */
};

/*
 * The CPU time that a kind may take: at once, and then as a share of all time.  Lines and
 * types take seconds per file, once.
 */
static const struct allowance {
	uint64_t burst_ns;
	unsigned int per_mille;
} allowances[COMM_PARSE_KINDS] = {
	[COMM_PARSE_IDENTITY] = {2000000000ull, 5}, [COMM_PARSE_SYMBOLS] = {4000000000ull, 5},
	[COMM_PARSE_PERF_MAP] = {600000000ull, 5},  [COMM_PARSE_LINES] = {30000000000ull, 10},
	[COMM_PARSE_TYPES] = {30000000000ull, 10},
};

struct queued {
	struct queued *next;
	void *of;
	struct comm_parse_request request;
};

struct queue {
	struct queued *first, **end;
	size_t n;
	int64_t left_ns; /* of the allowance; below 0: overdrawn */
	uint64_t filled_ns;
};

struct active {
	uint64_t job;
	enum comm_parse_kind kind;
	void *of;
	int saved;
};

struct comm_parser {
	pid_t host; /* 0: there is none (any more) */
	int socket;
	unsigned int restarts;
	bool is_limited;
	struct queue queue[COMM_PARSE_KINDS];
	struct active active[ACTIVE_MAX];
	size_t n_active;
	int handed_out; /* memory file of the last answer, or -1 */
	uint64_t job, lost;
	uint64_t children_ns[COMM_PARSE_KINDS];
};

static int start_host(struct comm_parser *parser)
{
	pid_t parent = getpid();
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	parser->host = fork();
	if (!parser->host)
		comm_parse_host(ends[1], parent);
	err = parser->host < 0 ? -errno : 0;
	close(ends[1]);
	if (err) {
		parser->host = 0;
		close(ends[0]);
		return err;
	}
	parser->socket = ends[0];
	return 0;
}

/* A host that takes no message now is busy or dead: the next grant comes soon. */
static void grant(struct comm_parser *parser, uint64_t cpu_ns)
{
	const struct comm_parse_grant what = {.cpu_ns = cpu_ns};

	if (parser->host)
		send(parser->socket, &what, sizeof(what), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void comm_parser_allow(struct comm_parser *parser, uint64_t cpu_ns)
{
	if (!parser->is_limited || comm_parser_busy(parser))
		grant(parser, cpu_ns);
	parser->is_limited = true;
}

static struct comm_parser_end end;

static void end_host(struct comm_parser *parser)
{
	bool may_kill;
	int status;
	pid_t pid;

	if (!parser->host)
		return;
	close(parser->socket);
	/*
	 * It never waits for a file, so it dies at once; another wait() may have reaped it.  After
	 * the start this process may kill nobody: then it ends by its closed socket, unless
	 * somebody has stopped it, who is not waited for.
	 */
	may_kill = kill(parser->host, SIGKILL) == 0;
	do
		pid = waitpid(parser->host, &status, WUNTRACED);
	while (pid < 0 && errno == EINTR);
	if (pid > 0 && WIFSTOPPED(status))
		end.left = pid;
	else if (pid > 0 && !may_kill && WIFSIGNALED(status))
		end.was_killed = true;
	parser->host = 0;
}

struct comm_parser_end comm_parser_end(void)
{
	return end;
}

int comm_parser_create(struct comm_parser **ret)
{
	struct comm_parser *parser = calloc(1, sizeof(*parser));
	uint64_t now_ns = comm_clock_now_ns();
	int err;

	if (!parser)
		return -ENOMEM;
	parser->handed_out = -1;
	for (int i = 0; i < COMM_PARSE_KINDS; i++) {
		parser->queue[i].end = &parser->queue[i].first;
		parser->queue[i].left_ns = (int64_t)allowances[i].burst_ns;
		parser->queue[i].filled_ns = now_ns;
	}
	err = start_host(parser);
	if (err)
		free(parser);
	else
		*ret = parser;
	return err;
}

static void close_handed_out(struct comm_parser *parser)
{
	if (parser->handed_out >= 0)
		close(parser->handed_out);
	parser->handed_out = -1;
}

void comm_parser_destroy(struct comm_parser *parser)
{
	struct queued *next;

	if (!parser)
		return;
	end_host(parser);
	close_handed_out(parser);
	for (size_t i = 0; i < parser->n_active; i++)
		close(parser->active[i].saved);
	for (int i = 0; i < COMM_PARSE_KINDS; i++) {
		for (struct queued *q = parser->queue[i].first; q; q = next) {
			next = q->next;
			free(q);
		}
	}
	free(parser);
}

int comm_parser_ask(struct comm_parser *parser, const struct comm_parse_request *request, void *of)
{
	struct queue *queue = &parser->queue[request->kind];
	struct queued *q;

	if (queue->n == QUEUE_MAX)
		return -EBUSY;
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->next = NULL;
	q->of = of;
	q->request = *request;
	q->request.job = ++parser->job;
	*queue->end = q;
	queue->end = &q->next;
	queue->n++;
	return 0;
}

static void pop(struct queue *queue)
{
	struct queued *q = queue->first;

	queue->first = q->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->n--;
	free(q);
}

static bool takes_long(enum comm_parse_kind kind)
{
	return kind == COMM_PARSE_LINES || kind == COMM_PARSE_TYPES;
}

static bool may_start(struct comm_parser *parser, enum comm_parse_kind kind)
{
	struct queue *queue = &parser->queue[kind];
	const struct allowance *a = &allowances[kind];
	uint64_t now_ns = comm_clock_now_ns();
	size_t lines = 0;

	if (!queue->first || parser->n_active == ACTIVE_MAX)
		return false;
	queue->left_ns += (int64_t)((now_ns - queue->filled_ns) / 1000 * a->per_mille);
	queue->filled_ns = now_ns;
	if (queue->left_ns > (int64_t)a->burst_ns)
		queue->left_ns = (int64_t)a->burst_ns;
	if (queue->left_ns <= 0)
		return false;
	for (size_t i = 0; i < parser->n_active; i++)
		lines += takes_long(parser->active[i].kind);
	return !takes_long(kind) || lines < LINES_MAX;
}

static int send_request(const struct comm_parser *parser, const struct comm_parse_request *request,
			int saved)
{
	return comm_passed_fd_send(parser->socket, request, sizeof(*request), saved, MSG_DONTWAIT);
}

int comm_parser_make_peek(struct comm_parser *parser, int socket)
{
	const struct comm_parse_request request = {.kind = COMM_PARSE_PEEK};

	return parser->host ? send_request(parser, &request, socket) : -ECHILD;
}

/* False: it cannot be started, now or ever. */
static bool start(struct comm_parser *parser, enum comm_parse_kind kind)
{
	const struct queued *q = parser->queue[kind].first;
	int saved = memfd_create("commprof parsed", MFD_CLOEXEC);

	if (saved < 0)
		return false;
	if (send_request(parser, &q->request, saved) < 0) {
		close(saved);
		return false;
	}
	parser->active[parser->n_active++] =
		(struct active){.job = q->request.job, .kind = kind, .of = q->of, .saved = saved};
	pop(&parser->queue[kind]);
	return true;
}

static void hand_out(struct comm_parser *parser, const struct active *a, int err,
		     struct comm_parsed *ret)
{
	*ret = (struct comm_parsed){.kind = a->kind, .of = a->of, .err = err, .saved = a->saved};
	parser->handed_out = a->saved;
	parser->lost += err == -ECHILD || err == -ETIME || err == -EBUSY;
}

/*
 * A child in the hands of its file could hand back the largest table at no cost of its own, most of
 * it a hole, which takes as long to load as any other: what is handed back was written.
 */
static bool is_written(int saved)
{
	struct stat st;

	return fstat(saved, &st) == 0 && st.st_blocks * S_BLKSIZE >= st.st_size;
}

void comm_parser_charge(struct comm_parser *parser, enum comm_parse_kind kind, uint64_t cpu_ns)
{
	parser->queue[kind].left_ns -= (int64_t)cpu_ns;
}

static bool take_answer(struct comm_parser *parser, const struct comm_parse_answer *what,
			struct comm_parsed *ret)
{
	for (size_t i = 0; i < parser->n_active; i++) {
		const struct active a = parser->active[i];

		if (a.job != what->job)
			continue;
		parser->children_ns[a.kind] += what->cpu_ns;
		comm_parser_charge(parser, a.kind, what->cpu_ns);
		if (what->err == -EINPROGRESS)
			return false;
		parser->active[i] = parser->active[--parser->n_active];
		hand_out(parser, &a, what->err || is_written(a.saved) ? what->err : -ENODATA, ret);
		ret->owner = what->owner;
		ret->size_bytes = what->size_bytes;
		return true;
	}
	return false;
}

/* Without a host, what was active and then what is queued is done with, unread. */
static bool give_up(struct comm_parser *parser, struct comm_parsed *ret)
{
	if (parser->n_active) {
		hand_out(parser, &parser->active[--parser->n_active], -ECHILD, ret);
		return true;
	}
	if (parser->restarts++ < RESTARTS_MAX && start_host(parser) == 0) {
		if (parser->is_limited)
			grant(parser, 0);
		return false;
	}
	for (int i = 0; i < COMM_PARSE_KINDS; i++) {
		const struct queued *q = parser->queue[i].first;

		if (!q)
			continue;
		hand_out(
			parser,
			&(struct active){.kind = (enum comm_parse_kind)i, .of = q->of, .saved = -1},
			-ECHILD, ret);
		pop(&parser->queue[i]);
		return true;
	}
	return false;
}

bool comm_parser_next(struct comm_parser *parser, struct comm_parsed *ret)
{
	struct comm_parse_answer what;
	ssize_t n;

	close_handed_out(parser);
	if (!parser->host && comm_parser_busy(parser) && give_up(parser, ret))
		return true;
	if (!parser->host)
		return false;
	for (int i = 0; i < COMM_PARSE_KINDS; i++)
		while (may_start(parser, (enum comm_parse_kind)i) &&
		       start(parser, (enum comm_parse_kind)i))
			;
	while ((n = recv(parser->socket, &what, sizeof(what), MSG_DONTWAIT)) == sizeof(what))
		if (take_answer(parser, &what, ret))
			return true;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		end_host(parser);
		end.was_killed = !end.left;
		return give_up(parser, ret);
	}
	return false;
}

bool comm_parser_wait(struct comm_parser *parser, uint64_t ns)
{
	struct pollfd fd = {.fd = parser->socket, .events = POLLIN};

	if (!parser->host || !parser->n_active)
		return false;
	poll(&fd, 1, (int)((ns + 999999) / 1000000));
	return true;
}

bool comm_parser_busy(const struct comm_parser *parser)
{
	for (int i = 0; i < COMM_PARSE_KINDS; i++)
		if (parser->queue[i].first)
			return true;
	return parser->n_active;
}

bool comm_parser_busy_with(const struct comm_parser *parser, enum comm_parse_kind kind)
{
	for (size_t i = 0; i < parser->n_active; i++)
		if (parser->active[i].kind == kind)
			return true;
	return parser->queue[kind].first;
}

uint64_t comm_parser_children_ns(const struct comm_parser *parser, enum comm_parse_kind kind)
{
	return parser->children_ns[kind];
}

uint64_t comm_parser_lost(const struct comm_parser *parser)
{
	return parser->lost;
}
