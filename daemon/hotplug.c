// SPDX-License-Identifier: GPL-2.0-or-later
#include "hotplug.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fence.h"
#include "parent.h"
#include "passed_fd.h"
#include "rights.h"
#include "seccomp_list.h"
#include "trigger.h"

enum {
	/* The opener's descriptors. */
	SOCKET,
	PROGRAM,
	ABOVE, /* so that neither takes the other's place */
	PAGE = 4096,
	FROM_KERNEL = 1,     /* group of uevents; udevd's are another */
	SLEPT_NS = 10000000, /* two clocks are read one after the other */
};

enum state { HERE, AWAY, WANTED };

/*
 * Before 5.8 there is no CAP_PERFMON, and Debian's kernels ask for CAP_SYS_ADMIN where kernel.perf_event_paranoid is
 * above PARANOID_MOST.
 */
static const int kept[] = {38 /* CAP_PERFMON */, CAP_SYS_ADMIN};

enum { PARANOID_MOST = 2 };

static const struct comm_seccomp_rule calls[] = {
	COMM_SECCOMP_CALL(recvfrom),
	COMM_SECCOMP_CALL(sendmsg),
	COMM_SECCOMP_IS(perf_event_open, 1, (uint32_t)-1), /* of CPUs alone */
	COMM_SECCOMP_IS(ioctl, 1, (uint32_t)PERF_EVENT_IOC_SET_BPF),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_list list = {calls, sizeof(calls) / sizeof(*calls), {NULL}};

struct answer {
	uint32_t event, cpu;
	int32_t err; /* 0: a descriptor comes with it */
};

struct comm_hotplug {
	struct perf_event_attr attr[COMM_HOTPLUG_EVENTS];
	unsigned int n_events, n_cpus;
	uint8_t *state;				 /* enum state, by CPU */
	bool *went;				 /* by CPU: since the last look */
	int *online;				 /* room for their numbers */
	int online_fd, uevents, socket, program; /* -1: none */
	char seen[PAGE];			 /* the kernel's list as of the last look */
	uint64_t looked_ns, slept_ns;
	unsigned int waited; /* answers that are still to come */
	uint64_t lost;
};

static uint64_t slept_ns(void)
{
	uint64_t now_ns = comm_clock_now_ns();

	return comm_clock_ns(CLOCK_BOOTTIME) - now_ns;
}

/* Into seen; whether it has changed. */
static bool read_list(struct comm_hotplug *h)
{
	char text[PAGE];
	ssize_t n = pread(h->online_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	if (!strcmp(text, h->seen))
		return false;
	memcpy(h->seen, text, (size_t)n + 1);
	return true;
}

/* Of a process without the right, or in a namespace that the kernel tells nothing: -1. */
static int open_uevents(void)
{
	struct sockaddr_nl from = {.nl_family = AF_NETLINK, .nl_groups = FROM_KERNEL};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&from, sizeof(from))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Whether it says that a CPU went. */
static bool take_uevent(struct comm_hotplug *h, const char *text)
{
	unsigned int cpu;
	int end = 0;

	if (sscanf(text, "offline@/devices/system/cpu/cpu%u%n", &cpu, &end) != 1 || text[end] ||
	    cpu >= h->n_cpus)
		return false;
	h->went[cpu] = true;
	return true;
}

static bool read_uevents(struct comm_hotplug *h)
{
	struct sockaddr_nl from = {0};
	socklen_t size = sizeof(from);
	char text[PAGE];
	bool any = false;
	ssize_t n;

	while ((n = recvfrom(h->uevents, text, sizeof(text) - 1, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &size)) > 0) {
		text[n] = '\0';
		/* Of another process it would be by its number. */
		any |= !from.nl_pid && take_uevent(h, text);
		size = sizeof(from);
	}
	return any;
}

int comm_hotplug_create(const char *online, struct comm_hotplug **ret)
{
	struct comm_hotplug *h = calloc(1, sizeof(*h));
	long possible = sysconf(_SC_NPROCESSORS_CONF);
	int n;

	if (!h || possible < 1) {
		free(h);
		return -ENOMEM;
	}
	h->socket = h->program = -1;
	h->uevents = open_uevents();
	h->n_cpus = (unsigned int)possible;
	h->state = malloc(h->n_cpus);
	h->went = calloc(h->n_cpus, sizeof(*h->went));
	h->online = calloc(h->n_cpus, sizeof(*h->online));
	h->online_fd = open(online ? online : COMM_ONLINE_CPUS, O_RDONLY | O_CLOEXEC);
	if (h->online_fd < 0 || !h->state || !h->went || !h->online) {
		n = h->online_fd < 0 ? -errno : -ENOMEM;
		comm_hotplug_destroy(h);
		return n;
	}
	read_list(h);
	h->slept_ns = slept_ns();
	memset(h->state, AWAY, h->n_cpus);
	n = comm_cpu_list(h->seen, h->online, (int)h->n_cpus);
	for (int i = 0; i < n; i++)
		if (h->online[i] < possible)
			h->state[h->online[i]] = HERE;
	*ret = h;
	return 0;
}

void comm_hotplug_destroy(struct comm_hotplug *h)
{
	if (!h)
		return;
	if (h->online_fd >= 0)
		close(h->online_fd);
	if (h->uevents >= 0)
		close(h->uevents);
	if (h->socket >= 0)
		close(h->socket);
	free(h->state);
	free(h->went);
	free(h->online);
	free(h);
}

int comm_hotplug_add(struct comm_hotplug *h, const struct perf_event_attr *attr)
{
	if (h->n_events == COMM_HOTPLUG_EVENTS)
		return -ENOSPC;
	h->attr[h->n_events] = *attr;
	return (int)h->n_events++;
}

void comm_hotplug_attach(struct comm_hotplug *h, int program)
{
	h->program = program;
}

/* Closes all but the two. */
static bool keep_descriptors(int socket, int program)
{
	int from = SOCKET + 1;

	socket = fcntl(socket, F_DUPFD, ABOVE);
	if (program >= 0) {
		program = fcntl(program, F_DUPFD, ABOVE);
		from = PROGRAM + 1;
	}
	if (dup2(socket, SOCKET) < 0 || (from > PROGRAM && dup2(program, PROGRAM) < 0))
		return false;
	return syscall(SYS_close_range, from, ~0u, 0) == 0;
}

/* It keeps nothing that is not opened by number: no file, no process, no memory but its own. */
static void confine(const struct comm_hotplug *h, int socket, pid_t parent)
{
	bool is_enough = comm_has_capability(kept[0], -1) && comm_perf_paranoid() <= PARANOID_MOST;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "commd-cpus");
	if (!keep_descriptors(socket, h->program) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    comm_fence_all() || comm_rights_as_nobody(kept, is_enough ? 1 : 2) ||
	    comm_parent_bind(parent) || comm_seccomp_install(&list))
		_exit(1);
}

/* A descriptor or -errno. */
static int open_on(const struct comm_hotplug *h, uint32_t event, uint32_t cpu)
{
	int fd = comm_perf_open(&h->attr[event], -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC), err;

	if (fd < 0 || h->program < 0 || !ioctl(fd, PERF_EVENT_IOC_SET_BPF, PROGRAM))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static _Noreturn void serve(const struct comm_hotplug *h)
{
	bool told = true;
	uint32_t cpu;

	while (told && recv(SOCKET, &cpu, sizeof(cpu), 0) == sizeof(cpu))
		for (uint32_t i = 0; i < h->n_events && told; i++) {
			int fd = open_on(h, i, cpu);
			const struct answer answer = {i, cpu, fd < 0 ? -fd : 0};

			told = !comm_passed_fd_send(SOCKET, &answer, sizeof(answer), fd, 0);
			if (fd >= 0)
				close(fd);
		}
	_exit(0);
}

int comm_hotplug_start(struct comm_hotplug *h)
{
	int ends[2], err = 0;
	pid_t pid, own = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid) {
		confine(h, ends[1], own);
		serve(h);
	}
	if (pid < 0)
		err = -errno;
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		h->socket = ends[0];
	return err;
}

/* Nobody opens anything any more. */
static void give_up(struct comm_hotplug *h)
{
	h->lost += h->waited;
	h->waited = 0;
	close(h->socket);
	h->socket = -1;
}

/* Whether an answer was there. */
static bool take_answer(struct comm_hotplug *h, const struct comm_hotplug_ops *ops, void *ctx)
{
	struct answer answer = {0};
	int fd;
	ssize_t n = comm_passed_fd_receive(h->socket, &answer, sizeof(answer), MSG_DONTWAIT, &fd);

	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n != sizeof(answer)) {
		if (fd >= 0)
			close(fd);
		give_up(h);
		return false;
	}
	h->waited--;
	if (fd < 0 || answer.event >= h->n_events || answer.cpu >= h->n_cpus) {
		/* Gone again, or not one of the PMU's CPUs: hybrid machines have two. */
		h->lost += answer.err != ENODEV && answer.err != ENOENT;
		if (fd >= 0)
			close(fd);
	} else if (!ops->back(ctx, answer.event, answer.cpu, fd)) {
		h->lost++;
	}
	return h->waited > 0;
}

/* Asks for what a CPU is to have; it stays wanted while there is no room for the question. */
static void ask(struct comm_hotplug *h, uint32_t cpu)
{
	ssize_t n = h->socket < 0 ? -1
				  : send(h->socket, &cpu, sizeof(cpu), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (h->socket >= 0 && n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	h->state[cpu] = HERE;
	if (n == sizeof(cpu))
		h->waited += h->n_events;
	else
		h->lost += h->n_events;
}

static void see_changes(struct comm_hotplug *h, const struct comm_hotplug_ops *ops, void *ctx)
{
	int n = comm_cpu_list(h->seen, h->online, (int)h->n_cpus), at = 0;

	for (unsigned int cpu = 0; cpu < h->n_cpus && n > 0; cpu++) {
		bool here;

		while (at < n && h->online[at] < (int)cpu)
			at++;
		here = at < n && h->online[at] == (int)cpu;
		if (h->state[cpu] == HERE && (!here || h->went[cpu])) {
			ops->gone(ctx, cpu);
			h->state[cpu] = AWAY;
		}
		if (h->state[cpu] != HERE)
			h->state[cpu] = here ? WANTED : AWAY;
		h->went[cpu] = false;
	}
}

void comm_hotplug_look(struct comm_hotplug *h, uint64_t now_ns, const struct comm_hotplug_ops *ops,
		       void *ctx)
{
	uint64_t slept;
	bool changed;

	if (!h || now_ns - h->looked_ns < COMM_HOTPLUG_LOOK_MS * 1000000ULL)
		return;
	h->looked_ns = now_ns;
	while (h->waited && h->socket >= 0 && take_answer(h, ops, ctx))
		;
	slept = slept_ns();
	changed = read_uevents(h);
	changed |= read_list(h);
	/* While the machine sleeps all CPUs but the first are offline. */
	if ((int64_t)(slept - h->slept_ns) > SLEPT_NS) {
		memset(h->went, true, h->n_cpus);
		changed = true;
	}
	if (changed)
		see_changes(h, ops, ctx);
	h->slept_ns = slept;
	for (uint32_t cpu = 0; cpu < h->n_cpus; cpu++)
		if (h->state[cpu] == WANTED)
			ask(h, cpu);
}

uint64_t comm_hotplug_lost(const struct comm_hotplug *h)
{
	return h ? h->lost : 0;
}
