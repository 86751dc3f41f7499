// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "source.h"
#include "trigger.h"

enum {
	SPARE_FDS = 64, /* file descriptors kept for the rest of the daemon */
	/*
	 * Reopening all events for another rate costs time: at most 1/1000 of the
	 * time goes to it, or five times that to slow down.
	 */
	REOPEN_SHARE = 1000,
	REOPEN_NS_MIN = 2000000000,
};

struct comm_perf_threads {
	struct comm_perf_threads_config config;
	int *fd; /* of the event of each thread and ring, n of them */
	size_t n, capacity;
	bool enabled;
	uint64_t opened_ns; /* when the events were last opened; 0: never */
	uint64_t took_ns;   /* how long that took */
	size_t refused;	    /* processes, the most at one opening after the first */
};

int comm_perf_threads_create(const struct comm_perf_threads_config *config,
			     struct comm_perf_threads **ret)
{
	struct comm_perf_threads *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->config = *config;
	*ret = t;
	return 0;
}

static void close_first(struct comm_perf_threads *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(t->fd[i]);
	t->n -= n;
	if (t->n)
		memmove(t->fd, t->fd + n, t->n * sizeof(*t->fd));
}

void comm_perf_threads_destroy(struct comm_perf_threads *t)
{
	if (!t)
		return;
	close_first(t, t->n);
	free(t->fd);
	free(t);
}

static int add(struct comm_perf_threads *t, int fd)
{
	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? 2 * t->capacity : 64;
		int *grown = reallocarray(t->fd, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->fd = grown;
		t->capacity = capacity;
	}
	t->fd[t->n++] = fd;
	return 0;
}

static int open_thread(struct comm_perf_threads *t, pid_t tid, const struct perf_event_attr *attr)
{
	for (unsigned int i = 0; i < t->config.rings->n; i++) {
		const struct comm_cpu_ring *ring = &t->config.rings->ring[i];
		int fd = comm_perf_open(attr, tid, ring->cpu, -1, 0), rc;

		if (fd == -ESRCH) /* the thread has just ended */
			return 0;
		if (fd < 0)
			return fd;
		rc = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : add(t, fd);
		if (rc) {
			close(fd);
			return rc;
		}
		if (t->enabled)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

static size_t count_threads(const struct comm_perf_threads *t)
{
	const uint32_t *pid;
	size_t n = comm_target_pids(t->config.target, &pid), threads = 0, i;
	struct dirent *e;
	char path[64];
	DIR *dir;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%u/task", pid[i]);
		dir = opendir(path);
		while (dir && (e = readdir(dir)))
			threads += e->d_name[0] != '.';
		if (dir)
			closedir(dir);
	}
	return threads;
}

/*
 * Raises the soft limit of file descriptors towards want, up to the hard limit;
 * returns the limit.
 */
static size_t raise_fd_limit(size_t want)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_cur < want && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur;
}

/* A number of a member may be another user's process by now, or one that runs with other rights. */
static bool is_refusal(int rc)
{
	return rc == -EACCES || rc == -EPERM;
}

static int open_process(struct comm_perf_threads *t, uint32_t pid,
			const struct perf_event_attr *attr)
{
	struct dirent *e;
	char path[64];
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (!rc && dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			rc = open_thread(t, (pid_t)strtol(e->d_name, NULL, 10), attr);
	if (dir)
		closedir(dir);
	return rc;
}

/* Appends to the events that are open already. */
static int open_all(struct comm_perf_threads *t, const struct perf_event_attr *attr, char **err)
{
	/* While reopening, old and new events are open at once. */
	size_t threads = count_threads(t),
	       want = (2 * threads + 2) * t->config.rings->n + SPARE_FDS;
	size_t need = (threads + 1) * t->config.rings->n + SPARE_FDS;
	size_t limit = raise_fd_limit(want), refused = 0, n, i;
	const uint32_t *pid;
	int rc = 0;

	if (limit < need)
		return comm_source_fail(
			err, -EMFILE,
			"%zu threads on %u CPUs need %zu descriptors and the limit is %zu: raise "
			"'ulimit -n', or give CAP_BPF and CAP_PERFMON, with which %u are enough",
			threads, t->config.rings->n, need, limit, t->config.rings->n);
	n = comm_target_pids(t->config.target, &pid);
	for (i = 0; i < n && !rc; i++) {
		rc = open_process(t, pid[i], attr);
		if (!is_refusal(rc) || !t->opened_ns)
			continue;
		refused++;
		rc = 0;
	}
	if (refused > t->refused)
		t->refused = refused;
	if (is_refusal(rc))
		return comm_source_fail(err, rc,
					"may not watch process %u: it is another user's, or not "
					"dumpable; run as its user or as root",
					pid[i - 1]);
	if (rc)
		return comm_source_fail(err, rc, "cannot open %s for a thread: %s", t->config.name,
					strerror(-rc));
	return 0;
}

int comm_perf_threads_open(struct comm_perf_threads *t, const struct perf_event_attr *attr,
			   char **err)
{
	uint64_t now_ns = comm_clock_now_ns();
	size_t n_old = t->n;
	int rc = open_all(t, attr, err);

	if (rc)
		while (t->n > n_old)
			close(t->fd[--t->n]);
	else
		close_first(t, n_old);
	/* What failed has taken its time, too. */
	if (t->opened_ns)
		t->took_ns = comm_clock_now_ns() - now_ns;
	if (t->opened_ns || !rc)
		t->opened_ns = comm_clock_now_ns();
	return rc;
}

bool comm_perf_threads_worth_opening(const struct comm_perf_threads *t, uint64_t old_period,
				     uint64_t period)
{
	uint64_t wait_ns = t->took_ns * REOPEN_SHARE;

	if (period >= 2 * old_period)
		wait_ns /= 5;
	else if (wait_ns < REOPEN_NS_MIN)
		wait_ns = REOPEN_NS_MIN;
	/* A change as small as the jitter is not worth it. */
	if (period < old_period + old_period / 4 && period > old_period - old_period / 4)
		return false;
	return !t->enabled || comm_clock_now_ns() - t->opened_ns >= wait_ns;
}

void comm_perf_threads_enable(struct comm_perf_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		ioctl(t->fd[i], PERF_EVENT_IOC_ENABLE, 0);
	t->enabled = true;
}

void comm_perf_threads_disable(struct comm_perf_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		ioctl(t->fd[i], PERF_EVENT_IOC_DISABLE, 0);
	t->enabled = false;
}

size_t comm_perf_threads_count(const struct comm_perf_threads *t)
{
	return t->n;
}

uint64_t comm_perf_threads_refused(const struct comm_perf_threads *t)
{
	return t->refused;
}
