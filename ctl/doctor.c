// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "number.h"
#include "open.h"
#include "options.h"
#include "term.h"

extern char **environ;

static const struct argp_option argp_options[] = {
	{.key = CTL_STORE, .doc = "Look at this store alone"},
	{0},
};

static const struct argp argp = {
	.options = argp_options,
	.doc = "What works on this machine and what to do about the rest: the stores, and the "
	       "sources of samples as \"commd --doctor\" finds them.",
};

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static int check_store(const char *path)
{
	char size[CTL_NUMBER], stall[CTL_NUMBER], own[CTL_NUMBER], name[PATH_MAX];
	struct comm_reader *reader;
	const struct comm_run *last;
	struct comm_runs *runs;
	char *err;
	size_t n;
	int code;

	code = ctl_open_answers(path, &err);
	if (!code)
		code = comm_reader_open(path, &reader, &err);
	if (!code) {
		ctl_bytes(size, comm_reader_bytes(reader));
		code = comm_reader_runs(reader, &runs, &err);
		comm_reader_close(reader);
	}
	if (code) {
		printf("  bad: %s\n", err ? err : strerror(-code));
		free(err);
		return CTL_FAILURE;
	}
	n = comm_runs_count(runs);
	ctl_clean(name, sizeof(name), path, sizeof(name) - 1);
	printf("  good: %s, %zu run%s, %s", name, n, plural(n), size);
	last = n ? comm_runs_at(runs, n - 1) : NULL;
	if (last && last->state == COMM_RUN_RUNNING)
		printf(", run %lld is being written", (long long)last->id);
	printf("\n");
	/* Of one that is being written it is not known yet, nor of one of an older version. */
	if (last && last->stall_ns)
		printf("  in run %lld a slice took at most %s to be stored, and sampling was held "
		       "up for at most %s%s%s%s\n",
		       (long long)last->id, ctl_duration(size, last->store_ns),
		       ctl_duration(stall, last->stall_ns), last->stall_own_ns ? ", " : "",
		       last->stall_own_ns ? ctl_duration(own, last->stall_own_ns) : "",
		       last->stall_own_ns ? " without the time in which commd had no CPU" : "");
	comm_runs_free(runs);
	return CTL_OK;
}

static int check_stores(const char *path)
{
	static const char *const defaults[] = {CTL_STORE_HERE, CTL_STORE_SERVICE};
	int code = CTL_OK, found = 0;

	printf("stores:\n");
	if (path)
		return check_store(path);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		if (access(defaults[i], F_OK) < 0)
			continue;
		found++;
		if (check_store(defaults[i]))
			code = CTL_FAILURE;
	}
	if (!found)
		printf("  none: neither ./%s nor %s exists; commd makes one\n", CTL_STORE_HERE,
		       CTL_STORE_SERVICE);
	return code;
}

/* The commd that was built or installed beside this commctl comes before the PATH's. */
static bool find_beside(char daemon[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", daemon, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	daemon[n] = '\0';
	slash = strrchr(daemon, '/');
	if (!slash || slash + sizeof("/commd") > daemon + PATH_MAX)
		return false;
	strcpy(slash, "/commd");
	return access(daemon, X_OK) == 0;
}

static int ask_daemon(void)
{
	static char name[] = "commd", option[] = "--doctor";
	char *argv[] = {name, option, NULL};
	char daemon[PATH_MAX];
	int err, status;
	pid_t pid;

	fflush(stdout);
	if (find_beside(daemon))
		err = posix_spawn(&pid, daemon, NULL, NULL, argv, environ);
	else
		err = posix_spawnp(&pid, name, NULL, NULL, argv, environ);
	if (err) {
		printf("sources:\n  bad: commd is neither beside commctl nor on the PATH: %s\n",
		       strerror(err));
		return CTL_FAILURE;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return CTL_FAILURE;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return CTL_OK;
	printf("  bad: commd --doctor did not finish\n");
	return CTL_FAILURE;
}

int ctl_doctor(int argc, char **argv)
{
	struct ctl_options options = {0};
	int store, daemon;

	ctl_options_parse(&argp, NULL, argc, argv, &options);
	store = check_stores(options.store);
	daemon = ask_daemon();
	return store ? store : daemon;
}
