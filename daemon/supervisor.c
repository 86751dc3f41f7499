// SPDX-License-Identifier: GPL-2.0-or-later
#include "supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

enum { SAY_S = 5 };

/* $WATCHDOG_USEC, of this process and not of one that started it. */
static uint64_t watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long us;
	char *end;

	if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	errno = 0;
	us = strtoull(usec, &end, 10);
	return errno || end == usec || *end || us > UINT64_MAX / 1000 ? 0 : us * 1000;
}

int comm_supervisor_open(struct comm_supervisor *ret)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = name ? strlen(name) : 0;
	int err;

	*ret = (struct comm_supervisor){.fd = -1};
	if (!n)
		return 0;
	if ((*name != '/' && *name != '@') || n >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, name, n);
	/* An abstract name begins with a zero, and ends where its length says. */
	if (*name == '@')
		*address.sun_path = '\0';
	ret->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ret->fd < 0)
		return -errno;
	if (connect(ret->fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0) {
		err = -errno;
		comm_supervisor_close(ret);
		return err;
	}
	/* Twice as often as it has to be. */
	ret->interval_ns = watchdog_ns() / 2;
	return 0;
}

void comm_supervisor_close(struct comm_supervisor *supervisor)
{
	if (supervisor->fd >= 0)
		close(supervisor->fd);
	supervisor->fd = -1;
	supervisor->interval_ns = 0;
}

void comm_supervisor_tell(const struct comm_supervisor *supervisor, const char *lines)
{
	if (supervisor->fd >= 0)
		(void)!send(supervisor->fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool comm_supervisor_listens(struct comm_supervisor *supervisor, uint64_t now_ns)
{
	if (supervisor->fd < 0 || now_ns - supervisor->said_ns < SAY_S * 1000000000ull)
		return false;
	supervisor->said_ns = now_ns;
	return true;
}

int comm_supervisor_alive(struct comm_supervisor *supervisor, uint64_t now_ns, int sleep_ms)
{
	uint64_t due_ns = supervisor->told_ns + supervisor->interval_ns;

	if (!supervisor->interval_ns)
		return sleep_ms;
	if (now_ns >= due_ns) {
		comm_supervisor_tell(supervisor, "WATCHDOG=1");
		supervisor->told_ns = now_ns;
		due_ns = now_ns + supervisor->interval_ns;
	}
	return comm_clock_until_ms(due_ns, now_ns, sleep_ms);
}
