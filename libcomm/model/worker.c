// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

void comm_worker_init(struct comm_worker *worker)
{
	sem_init(&worker->there, 0, 0);
	sem_init(&worker->is_up, 0, 0);
	sem_init(&worker->is_down, 0, 0);
}

void comm_worker_deinit(struct comm_worker *worker)
{
	sem_destroy(&worker->there);
	sem_destroy(&worker->is_up);
	sem_destroy(&worker->is_down);
}

static void *serve(void *arg)
{
	struct comm_worker *worker = arg;

	sem_post(&worker->is_up);
	worker->work(worker->ctx);
	sem_post(&worker->is_down);
	return NULL;
}

int comm_worker_start(struct comm_worker *worker, void (*work)(void *ctx), void *ctx)
{
	sigset_t handled, before;
	int err;

	worker->work = work;
	worker->ctx = ctx;
	sigfillset(&handled);
	sigdelset(&handled, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &handled, &before);
	err = pthread_create(&worker->thread, NULL, serve, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return -err;
	worker->is_started = true;
	/* What makes a thread is done, before a filter of system calls comes. */
	while (sem_wait(&worker->is_up))
		;
	return 0;
}

void comm_worker_tell(struct comm_worker *worker)
{
	sem_post(&worker->there);
}

void comm_worker_wait(struct comm_worker *worker)
{
	while (sem_wait(&worker->there))
		;
}

int comm_worker_end(struct comm_worker *worker, uint64_t give_up_ns)
{
	const struct timespec give_up = {(time_t)(give_up_ns / NS_PER_S),
					 (long)(give_up_ns % NS_PER_S)};
	int rc;

	if (!worker->is_started)
		return 0;
	if (!worker->is_over)
		sem_post(&worker->there);
	worker->is_over = true;
	do
		rc = sem_clockwait(&worker->is_down, CLOCK_MONOTONIC, &give_up);
	while (rc && errno == EINTR);
	if (rc)
		return -ETIMEDOUT;
	pthread_join(worker->thread, NULL);
	worker->is_started = false;
	return 0;
}
