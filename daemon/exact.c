// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An exact run: a command under Valgrind with our tool, which counts every
 * access, and then its result file into the store, a slice for each phase.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact_read.h"
#include "interval.h"
#include "privilege.h"
#include "session.h"
#include "valgrind.h"

enum {
	ROWS_MAX = 1 << 22, /* edges of a slice: folding some would not be exact */
	LOOK_MS = 250,
};

struct exact {
	const struct comm_options *options;
	struct comm_session session;
	struct comm_exact *result;
	char directory[PATH_MAX], out[PATH_MAX];
	int signals;
	sigset_t old_signals;
	pid_t child; /* 0: none */
	int exit_status;
};

/* The edges of one phase. */
struct phase {
	struct comm_edge *edges;
	size_t n, room;
	bool failed;
};

static int fail(const char *what, int err, char *why)
{
	if (why)
		fprintf(stderr, "commd: %s\n", why);
	else
		fprintf(stderr, "commd: %s: %s\n", what, strerror(-err));
	free(why);
	return err;
}

static int make_directory(struct exact *exact)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(exact->directory, sizeof(exact->directory), "%s/commd-XXXXXX",
			 tmp && *tmp == '/' ? tmp : "/tmp");

	if (n >= (int)sizeof(exact->directory) || !mkdtemp(exact->directory)) {
		n = fail("cannot make a temporary directory", -errno, NULL);
		*exact->directory = '\0';
		return n;
	}
	n = snprintf(exact->out, sizeof(exact->out), "%s/result", exact->directory);
	return n < (int)sizeof(exact->out) ? 0 : fail("TMPDIR", -ENAMETOOLONG, NULL);
}

/* A program whose exec() failed has gone on with another file. */
static bool has_second_file(const struct exact *exact, char *ret, size_t size)
{
	return snprintf(ret, size, "%s.2", exact->out) < (int)size && !access(ret, F_OK);
}

static void remove_directory(const struct exact *exact)
{
	char path[PATH_MAX];

	if (!*exact->directory)
		return;
	unlink(exact->out);
	for (unsigned int i = 2;
	     snprintf(path, sizeof(path), "%s.%u", exact->out, i) < PATH_MAX && !unlink(path); i++)
		;
	rmdir(exact->directory);
}

static int catch_signals(struct exact *exact)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &exact->old_signals);
	exact->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return exact->signals < 0 ? fail("cannot catch signals", -errno, NULL) : 0;
}

/* True: somebody wants the run to end. */
static bool pass_signals(struct exact *exact)
{
	struct signalfd_siginfo info;
	bool told = false;

	while (read(exact->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		told = true;
		/* What a terminal sends goes to the command as well as to us. */
		if (info.ssi_code != SI_KERNEL)
			kill(exact->child, (int)info.ssi_signo);
	}
	return told;
}

static bool has_ended(struct exact *exact)
{
	if (waitpid(exact->child, &exact->exit_status, WNOHANG) != exact->child)
		return false;
	exact->child = 0;
	return true;
}

/* Waits for the command; asked to end, it may take its time, and is still read. */
static const char *run_until_over(struct exact *exact)
{
	uint64_t start_ns = comm_monotonic_ns();
	uint64_t duration_ns = exact->options->duration_ns;
	struct pollfd fd = {.fd = exact->signals, .events = POLLIN};
	const char *how = "target exited";
	bool is_over = false;

	while (!has_ended(exact)) {
		uint64_t passed_ns = comm_monotonic_ns() - start_ns;

		if (duration_ns && passed_ns >= duration_ns && !is_over) {
			kill(exact->child, SIGTERM);
			is_over = true;
			how = "duration";
		}
		if (exact->session.progress)
			fprintf(stderr, "\r\033[K%5.0f s under Valgrind", (double)passed_ns / 1e9);
		if (poll(&fd, 1, LOOK_MS) > 0 && pass_signals(exact) && !is_over) {
			is_over = true;
			how = "interrupted";
		}
	}
	if (exact->session.progress)
		fputs("\r\033[K", stderr);
	return how;
}

/* Threads of a result count from 0, and those of edges from 1. */
static const struct comm_thread *thread_at(const void *ctx, uint32_t id)
{
	static const struct comm_thread other = {.name = "(other)"};

	return id == COMM_ID_OTHER ? &other : comm_exact_thread_at(ctx, id - 1);
}

static const struct comm_function *function_at(const void *ctx, uint32_t id)
{
	return comm_exact_function_at(ctx, id);
}

static const struct comm_site *site_at(const void *ctx, uint32_t id)
{
	return comm_exact_site_at(ctx, id);
}

static const struct comm_object *object_at(const void *ctx, uint32_t id)
{
	return comm_exact_object_at(ctx, id);
}

static void take_edge(void *ctx, const struct comm_edge *edge)
{
	struct phase *phase = ctx;

	if (phase->n == phase->room) {
		size_t room = phase->room ? 2 * phase->room : 1024;
		struct comm_edge *grown = reallocarray(phase->edges, room, sizeof(*grown));

		if (!grown) {
			phase->failed = true;
			return;
		}
		phase->edges = grown;
		phase->room = room;
	}
	phase->edges[phase->n++] = *edge;
}

static int store_phase(struct exact *exact, uint32_t index)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	const struct comm_exact_phase *in = comm_exact_phase_at(exact->result, index);
	const struct comm_naming naming = {
		.ctx = exact->result,
		.n_threads = run->n_threads + 1,
		.n_functions = run->n_functions,
		.n_sites = run->n_sites,
		.n_objects = run->n_objects,
		.thread_at = thread_at,
		.function_at = function_at,
		.site_at = site_at,
		.object_at = object_at,
	};
	struct comm_slice_info info = {
		.start_ns = in->start_ns,
		.end_ns = in->end_ns > in->start_ns ? in->end_ns : in->start_ns + 1,
		/* They are counted for the run as a whole. */
		.accesses = index + 1 == run->n_phases ? run->accesses : 0,
	};
	struct phase phase = {0};
	int err;

	err = comm_exact_slice(exact->result, index, take_edge, &phase, &info.unwritten);
	if (!err && phase.failed)
		err = -ENOMEM;
	if (!err)
		err = comm_store_write_named(exact->session.store, &info, phase.edges, phase.n,
					     &naming);
	free(phase.edges);
	return err;
}

static int store_run(struct exact *exact, const char *how, uint64_t *ret_end_ns)
{
	const struct comm_exact_run *run = comm_exact_run(exact->result);
	struct comm_session *session = &exact->session;
	uint64_t end_ns = run->start_ns + run->wall_ns;
	struct utsname host;
	int err;

	uname(&host);
	err = comm_store_begin_run(session->store,
				   &(struct comm_run_info){
					   .source = "exact",
					   .event = "every access",
					   .estimator = COMM_ESTIMATOR_EXACT,
					   .command = run->command,
					   .host = host.nodename,
					   .start_ns = run->start_ns,
					   .start_unix_ns = run->start_unix_ns,
					   .granularity_bytes = run->granularity_bytes,
					   .notes = "",
				   },
				   &session->run);
	for (uint32_t i = 0; i < run->n_phases && !err; i++) {
		err = store_phase(exact, i);
		if (comm_exact_phase_at(exact->result, i)->end_ns > end_ns)
			end_ns = comm_exact_phase_at(exact->result, i)->end_ns;
	}
	if (!err)
		err = comm_store_end_run(session->store, end_ns, how);
	*ret_end_ns = end_ns;
	return err;
}

static int read_result(struct exact *exact)
{
	char *why = NULL;
	int err;

	if (access(exact->out, F_OK)) {
		fprintf(stderr,
			"commd: %s left no result: Valgrind could not run it, or was killed\n",
			exact->options->command[0]);
		return -ENOENT;
	}
	err = comm_exact_open(exact->out, &exact->result, &why);
	return err ? fail("cannot read the result", err, why) : 0;
}

/* Returns commd's exit status. */
static int import(struct exact *exact, const char *how)
{
	const struct comm_options *options = exact->options;
	const struct comm_exact_run *run;
	char second[PATH_MAX];
	uint64_t end_ns;
	int err;

	if (read_result(exact))
		return 1;
	run = comm_exact_run(exact->result);
	err = store_run(exact, how, &end_ns);
	if (err) {
		fprintf(stderr, "commd: cannot write the run to %s: %s\n", options->store,
			strerror(-err));
		return 1;
	}
	if (has_second_file(exact, second, sizeof(second)))
		fprintf(stderr, "commd: the command failed to execute another program; what it did "
				"after that is left out\n");
	if (WIFSIGNALED(exact->exit_status) && !strcmp(how, "target exited"))
		fprintf(stderr, "commd: the command was ended by a signal (%s)\n",
			strsignal(WTERMSIG(exact->exit_status)));
	if (!options->quiet)
		fprintf(stderr, "%.1f s (%s), %llu accesses, all counted; run %lld in %s\n",
			(double)(end_ns - run->start_ns) / 1e9, how,
			(unsigned long long)run->accesses, (long long)exact->session.run,
			options->store);
	if (run->accesses)
		return 0;
	fprintf(stderr, "commd: no memory access of the target was seen\n");
	return 3;
}

static void deinit(struct exact *exact)
{
	comm_exact_close(exact->result);
	remove_directory(exact);
	comm_session_deinit(&exact->session);
	if (exact->signals >= 0)
		close(exact->signals);
}

int comm_exact(const struct comm_options *options)
{
	struct exact exact = {.options = options, .session.row_cap = ROWS_MAX, .signals = -1};
	struct comm_valgrind valgrind;
	char *why = NULL;
	int err, status = 1;

	err = comm_privilege_become_user(options->store);
	if (err) {
		fail("cannot become the user behind sudo", err, NULL);
		return 1;
	}
	err = comm_valgrind_find(&valgrind, &why);
	if (err) {
		fail("no exact source", err, why);
		return 1;
	}
	if (catch_signals(&exact) || comm_session_open_store(&exact.session, options) ||
	    make_directory(&exact))
		goto out;
	err = comm_valgrind_start(&valgrind, options, exact.out, &exact.old_signals, &exact.child,
				  &why);
	if (err) {
		fail("cannot start Valgrind", err, why);
		goto out;
	}
	status = import(&exact, run_until_over(&exact));
out:
	deinit(&exact);
	return status;
}
