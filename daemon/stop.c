// SPDX-License-Identifier: GPL-2.0-or-later
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum {
	LIMIT_MS = 900,
	ENDING_LIMIT_MS = 5000,
	/*
	 * A system call that waits for a file server without an answer (FUSE, NFS) lets no
	 * handler run and ends by a signal that kills alone: so much later one comes.
	 */
	KILL_MS = 2000,
	NS_PER_MS = 1000000,
	SOCKETS_MOST = 1 << 16, /* descriptors among which there are those of helpers */
};

/*
 * All that end a program by default, but for those of its own errors, SIGQUIT, by which a
 * person wants a core dump, and SIGPIPE.  Who sends one of them expects commd to end; so it
 * does, with the run closed.
 */
static const int signals[] = {SIGINT,  SIGTERM,	  SIGHUP,  SIGUSR1, SIGUSR2,   SIGALRM,
			      SIGPROF, SIGVTALRM, SIGPOLL, SIGPWR,  SIGSTKFLT, SIGXCPU};

#define SIGNAL_LATE SIGRTMIN /* of the timer; the other real-time signals are as those above */

static volatile sig_atomic_t told;
static int told_fd = -1, schedstat_fd = -1;
static timer_t late_timer, kill_timer;
static uint64_t limit_ns = (uint64_t)LIMIT_MS * NS_PER_MS, since_ns, waited_ns;

/* Time that this process was ready to run and had no CPU; 0 where the kernel does not tell. */
static uint64_t time_waited_ns(void)
{
	char text[64], *end;
	ssize_t n = pread(schedstat_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

static void arm(timer_t timer, uint64_t ns)
{
	const struct itimerspec at = {
		.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};

	timer_settime(timer, 0, &at, NULL);
}

static void arm_both(uint64_t ns)
{
	arm(late_timer, ns);
	arm(kill_timer, ns + (uint64_t)KILL_MS * NS_PER_MS);
}

static void tell(int signal)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)signal;
	if (!told) {
		since_ns = comm_clock_now_ns();
		told = 1;
		waited_ns = time_waited_ns();
		arm_both(limit_ns);
	}
	if (write(told_fd, &one, sizeof(one)) < 0)
		errno = 0; /* it is readable already */
	errno = saved;
}

/*
 * Helpers end when their sockets are closed, which a thread that waits for a file server without an answer keeps open,
 * also when this process is killed.  No other file is touched: to close one may wait for that server, too.  What is printed
 * may go to a socket that others have, too.
 */
static void hang_up(void)
{
	for (int fd = STDERR_FILENO + 1; fd < SOCKETS_MOST; fd++)
		shutdown(fd, SHUT_RDWR);
}

/* On a busy machine, time without a CPU does not count: the end of a run needs some. */
static void end_late(int signal)
{
	static const char sentence[] =
		"commd: told to end, but something takes too long: ended in the midst of it; "
		"what is stored by now is there, and the run is unfinished\n";
	uint64_t spent_ns = comm_clock_now_ns() - since_ns - (time_waited_ns() - waited_ns);
	int saved = errno;

	/* Not the timer has sent it. */
	if (!told) {
		tell(signal);
		return;
	}
	if (spent_ns + NS_PER_MS < limit_ns) {
		arm_both(limit_ns - spent_ns);
		errno = saved;
		return;
	}
	(void)!write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
	hang_up();
	_exit(1);
}

/*
 * SQLite maps the store's -shm file, which another program may cut short.  Nothing is left to
 * do then: SQLite holds pointers into it.  What it committed is in the -wal file, which the next
 * who opens the store takes in.
 */
static void end_cut(int signal)
{
	static const char sentence[] =
		"commd: the -shm file of the store was cut short by another program; what is "
		"stored by now is there, and the run is unfinished\n";

	(void)signal;
	(void)!write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
	_exit(1);
}

static int make_timer(int signal, timer_t *ret)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};

	return timer_create(CLOCK_MONOTONIC, &event, ret) ? -errno : 0;
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* nohup: the run is to outlive the terminal. */
static void catch (int signal, const struct sigaction *action, sigset_t *caught)
{
	sigaddset(caught, signal);
	if (signal != SIGHUP || !is_ignored(SIGHUP))
		sigaction(signal, action, NULL);
}

int comm_stop_catch(void)
{
	struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
	sigset_t caught;
	int err;

	schedstat_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (told_fd < 0)
		return -errno;
	err = make_timer(SIGNAL_LATE, &late_timer);
	if (!err)
		err = make_timer(SIGKILL, &kill_timer);
	if (err)
		return err;
	sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		catch (signals[i], &action, &caught);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		catch (signal, &action, &caught);
	action.sa_handler = end_late;
	catch (SIGNAL_LATE, &action, &caught);
	/* Who has started this may have blocked some, and a blocked one ends nothing. */
	sigprocmask(SIG_UNBLOCK, &caught, NULL);
	action.sa_handler = end_cut;
	sigaction(SIGBUS, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return 0;
}

int comm_stop_fd(void)
{
	return told_fd;
}

bool comm_stop_told(void)
{
	return told;
}

uint64_t comm_stop_told_ns(void)
{
	return told ? since_ns : UINT64_MAX;
}

void comm_stop_ending(void)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	limit_ns = (uint64_t)ENDING_LIMIT_MS * NS_PER_MS;
	if (told)
		arm_both(limit_ns);
	sigprocmask(SIG_SETMASK, &old, NULL);
}
