// SPDX-License-Identifier: GPL-2.0-or-later
#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collectors.h"
#include "container.h"
#include "priority.h"
#include "source.h"

enum {
	MEMBERS_MAX = 65536,
	KERNEL_THREAD = 0x00200000, /* PF_KTHREAD, in the flags of /proc/PID/stat */
	LOOK_MOST = 256,	    /* members that one comm_target_cpu_ns() looks at */
	DEPTH_MAX = 64,		    /* generations of children that one scan finds */
	/* PROC_PID_INIT_INO: the kernel's own name for the first PID namespace. */
	FIRST_PID_NS = 0xEFFFFFFC,
};

struct member {
	uint64_t cpu_ns; /* at the last comm_target_cpu_ns() */
	bool ran;	 /* since the last comm_target_alive(): no need to look */
	bool gone;	 /* as the last comm_target_alive() found */
};

struct comm_target {
	enum comm_target_kind kind;
	bool follow;
	uint64_t since_ns;
	uint32_t *pid; /* sorted */
	struct member *member;
	size_t n, capacity;
	size_t looked;	   /* the member that comm_target_cpu_ns() looks at next */
	bool expects_ends; /* comm_target_ended() will be called for each member */
	uint64_t cpu_ns;   /* used by all members, ended ones too */
	char *cgroup;
	int cgroup_fd; /* its directory */
	int stat_fd;   /* cpu.stat of the cgroup, or /proc/stat */
	uint64_t stat_start_ns, cgroup_id;
	uint32_t cgroup_level;
	int go_fd, result_fd; /* pipes to a spawned child that waits for release */
	int command_fd;	      /* of the spawned child, readable at its end; -1: none */
	uint32_t command_pid;
};

struct stat_line {
	char state;
	uint32_t ppid;
	uint32_t flags;
	uint32_t n_threads;
};

static int read_small(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n >= 0)
		buf[n] = 0;
	return (int)n;
}

static int read_stat(uint32_t pid, struct stat_line *ret)
{
	char path[64], buf[1024], *p;
	int rc;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	rc = read_small(path, buf, sizeof(buf));
	if (rc < 0)
		return rc;
	/* The process name may contain parentheses: the last one ends it. */
	p = strrchr(buf, ')');
	if (!p ||
	    sscanf(p + 1, " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u",
		   &ret->state, &ret->ppid, &ret->flags, &ret->n_threads) != 4)
		return -EBADMSG;
	return 0;
}

/* A process has ended when its last thread has, not its first. */
static bool has_ended(const struct stat_line *line)
{
	return line->state == 'X' || (line->state == 'Z' && line->n_threads <= 1);
}

static uint32_t tgid_of(uint32_t pid)
{
	char path[64], buf[4096], *p;
	unsigned int tgid;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (read_small(path, buf, sizeof(buf)) < 0)
		return 0;
	p = strstr(buf, "\nTgid:");
	return p && sscanf(p + 6, "%u", &tgid) == 1 ? tgid : 0;
}

static uint64_t cpu_of(uint32_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* CPU time: usage_usec of a cgroup, or all that is not idle of /proc/stat, in 10 ms. */
static uint64_t stat_cpu_ns(const struct comm_target *target)
{
	unsigned long long v[8] = {0};
	char buf[4096], *p;
	ssize_t n = pread(target->stat_fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = 0;
	if (target->kind == COMM_TARGET_CGROUP) {
		p = strstr(buf, "usage_usec ");
		return p && sscanf(p + 11, "%llu", v) == 1 ? v[0] * 1000 : 0;
	}
	if (sscanf(buf, "cpu %llu %llu %llu", &v[0], &v[1], &v[2]) != 3)
		return 0;
	return (v[0] + v[1] + v[2]) * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

int comm_target_create(enum comm_target_kind kind, bool follow, struct comm_target **ret)
{
	struct comm_target *target = calloc(1, sizeof(*target));

	if (!target)
		return -ENOMEM;
	target->kind = kind;
	target->follow = follow;
	target->since_ns = comm_clock_ns(CLOCK_MONOTONIC);
	target->cgroup_fd = target->stat_fd = -1;
	target->go_fd = target->result_fd = target->command_fd = -1;
	if (kind == COMM_TARGET_ALL) {
		target->stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
		target->stat_start_ns = stat_cpu_ns(target);
	}
	*ret = target;
	return 0;
}

void comm_target_destroy(struct comm_target *target)
{
	if (!target)
		return;
	if (target->stat_fd >= 0)
		close(target->stat_fd);
	if (target->cgroup_fd >= 0)
		close(target->cgroup_fd);
	/* A child that still waits reads the end of file and exits. */
	if (target->go_fd >= 0)
		close(target->go_fd);
	if (target->result_fd >= 0)
		close(target->result_fd);
	if (target->command_fd >= 0)
		close(target->command_fd);
	free(target->cgroup);
	free(target->pid);
	free(target->member);
	free(target);
}

static size_t position(const struct comm_target *target, uint32_t pid)
{
	size_t low = 0, high = target->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (target->pid[mid] < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool comm_target_has(const struct comm_target *target, uint32_t tgid)
{
	size_t i = position(target, tgid);

	if (target->kind != COMM_TARGET_PIDS)
		return tgid != 0;
	return i < target->n && target->pid[i] == tgid;
}

/* since_ns: CPU time that the process had used before it became a member. */
static int add(struct comm_target *target, uint32_t tgid, uint64_t since_ns)
{
	size_t i = position(target, tgid), capacity;
	struct member *member;
	uint32_t *pid;

	if (i < target->n && target->pid[i] == tgid)
		return 0;
	if (target->n >= MEMBERS_MAX)
		return -ENOSPC;
	if (target->n == target->capacity) {
		capacity = target->capacity ? 2 * target->capacity : 16;
		pid = realloc(target->pid, capacity * sizeof(*pid));
		if (!pid)
			return -ENOMEM;
		target->pid = pid;
		member = realloc(target->member, capacity * sizeof(*member));
		if (!member)
			return -ENOMEM;
		target->member = member;
		target->capacity = capacity;
	}
	memmove(&target->pid[i + 1], &target->pid[i], (target->n - i) * sizeof(*target->pid));
	memmove(&target->member[i + 1], &target->member[i],
		(target->n - i) * sizeof(*target->member));
	target->pid[i] = tgid;
	target->member[i] = (struct member){.cpu_ns = since_ns};
	target->n++;
	return 1;
}

static void drop(struct comm_target *target, size_t i)
{
	target->n--;
	memmove(&target->pid[i], &target->pid[i + 1], (target->n - i) * sizeof(*target->pid));
	memmove(&target->member[i], &target->member[i + 1],
		(target->n - i) * sizeof(*target->member));
}

/* A stranger has forked a process of this number: the member that had it is gone. */
static void forget(struct comm_target *target, uint32_t pid)
{
	size_t i = position(target, pid);

	if (i < target->n && target->pid[i] == pid)
		drop(target, i);
}

int comm_target_add_pid(struct comm_target *target, uint32_t pid, char **err)
{
	struct stat_line line;
	uint32_t tgid;
	int rc;

	tgid = tgid_of(pid);
	rc = tgid ? read_stat(tgid, &line) : -ESRCH;
	if (rc == -ENOENT || rc == -ESRCH)
		return comm_source_fail(err, -ESRCH, "there is no process %u", pid);
	if (rc)
		return comm_source_fail(err, rc, "cannot read /proc/%u/stat: %s", pid,
					strerror(-rc));
	if (line.flags & KERNEL_THREAD)
		return comm_source_fail(err, -EINVAL,
					"process %u is a kernel thread: it has no memory of its "
					"own to communicate through",
					pid);
	if (has_ended(&line))
		return comm_source_fail(err, -ESRCH,
					"process %u has ended (a zombie that its parent %u has not "
					"waited for)",
					tgid, line.ppid);
	if (line.state == 'Z')
		return comm_source_fail(
			err, -EOPNOTSUPP,
			"the first thread of process %u has ended, and with it went "
			"what /proc tells of the others' memory",
			tgid);
	if (tgid == (uint32_t)getpid())
		return comm_source_fail(err, -EINVAL, "process %u is the profiler itself", pid);
	rc = add(target, tgid, cpu_of(tgid));
	if (rc < 0)
		return comm_source_fail(err, rc, "too many target processes: %s", strerror(-rc));
	comm_target_scan(target);
	return 0;
}

/* Finds the mount point of the cgroup v2 hierarchy, which may be beside v1's. */
static int cgroup_mount(char *ret, size_t size, char **err)
{
	char line[4096], dir[2048], type[64];
	FILE *f = fopen("/proc/self/mounts", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %2047s %63s", dir, type) == 2 &&
			!strcmp(type, "cgroup2") && (size_t)snprintf(ret, size, "%s", dir) < size;
	if (f)
		fclose(f);
	return found ? 0
		     : comm_source_fail(
			       err, -ENOENT,
			       "no cgroup v2 hierarchy is mounted (see 'mount -t cgroup2')");
}

/*
 * Makes the cgroup that has the path now the target.  Id and CPU time are asked of one open
 * directory, for another may take the path in between.
 */
static int hold_cgroup(struct comm_target *target)
{
	int fd = open(target->cgroup, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int stat_fd = fd < 0 ? fd : openat(fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (stat_fd < 0 || fstat(fd, &st)) {
		int err = -errno;

		if (stat_fd >= 0)
			close(stat_fd);
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (target->stat_fd >= 0)
		close(target->stat_fd);
	if (target->cgroup_fd >= 0)
		close(target->cgroup_fd);
	target->cgroup_fd = fd;
	target->stat_fd = stat_fd;
	/* A cgroup's id is its directory's inode number on 64-bit kernels. */
	target->cgroup_id = st.st_ino;
	/* Below 0, and so beyond 2^64, where those before it have used more. */
	target->stat_start_ns = stat_cpu_ns(target) - target->cpu_ns;
	return 0;
}

int comm_target_set_cgroup(struct comm_target *target, const char *path, char **err)
{
	char mount[2048], real[4096], *full = NULL;
	const char *p;
	struct stat st;
	int rc;

	rc = cgroup_mount(mount, sizeof(mount), err);
	if (rc)
		return rc;
	if (!strncmp(path, "/sys/", 5) || !strncmp(path, mount, strlen(mount)))
		rc = asprintf(&full, "%s", path);
	else
		rc = asprintf(&full, "%s/%s", mount, path);
	if (rc < 0)
		return -ENOMEM;
	if (!realpath(full, real) || stat(real, &st) || !S_ISDIR(st.st_mode))
		rc = comm_source_fail(err, -ENOENT, "there is no cgroup %s", full);
	else if (strncmp(real, mount, strlen(mount)) ||
		 (real[strlen(mount)] && real[strlen(mount)] != '/'))
		rc = comm_source_fail(err, -EINVAL,
				      "%s is not a directory of the cgroup v2 hierarchy at %s",
				      real, mount);
	else
		rc = 0;
	free(full);
	if (rc)
		return rc;
	target->cgroup_level = 0;
	for (p = real + strlen(mount); *p; p++)
		if (*p == '/' && p[1])
			target->cgroup_level++;
	target->kind = COMM_TARGET_CGROUP;
	free(target->cgroup);
	target->cgroup = strdup(real);
	rc = target->cgroup ? hold_cgroup(target) : -ENOMEM;
	return rc ? comm_source_fail(err, rc, "cannot read %s/cpu.stat: %s", real, strerror(-rc))
		  : 0;
}

int comm_target_set_container(struct comm_target *target, const char *id, char **err)
{
	char mount[2048], *path = NULL;
	int rc = cgroup_mount(mount, sizeof(mount), err);

	if (!rc)
		rc = comm_container_find(mount, id, &path, err);
	if (!rc)
		rc = comm_target_set_cgroup(target, path, err);
	free(path);
	return rc;
}

int comm_target_follow_cgroup(struct comm_target *target)
{
	char byte;
	int err;

	/* The file of a cgroup that was removed gives ENODEV, also when there is another of its name. */
	if (pread(target->stat_fd, &byte, 1, 0) >= 0 || errno != ENODEV)
		return 0;
	err = hold_cgroup(target);
	return err ? err : 1;
}

static void child_main(char *const argv[], const struct comm_collectors *collectors, int go_fd,
		       int result_fd)
{
	sigset_t none;
	char byte = 0;
	int error;

	/* The command must not inherit the signals that the profiler catches or ignores; nohup's is its own. */
	for (int i = 1; i < NSIG; i++)
		if (signal(i, SIG_DFL) == SIG_IGN && i == SIGHUP)
			signal(i, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (byte != 'g')
		_exit(127);
	comm_priority_restore();
	comm_collectors_name(collectors);
	execvp(argv[0], argv);
	error = errno;
	if (write(result_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int comm_target_spawn(struct comm_target *target, char *const argv[],
		      const struct comm_collectors *collectors, uint32_t *ret_pid, char **err)
{
	int go[2], result[2], rc;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return comm_source_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(result, O_CLOEXEC)) {
		rc = comm_source_fail(err, -errno, "cannot make a pipe: %s", strerror(errno));
		goto close_go;
	}
	pid = fork();
	if (!pid) {
		close(go[1]);
		close(result[0]);
		child_main(argv, collectors, go[0], result[1]);
	}
	rc = pid < 0 ? -errno : add(target, (uint32_t)pid, 0);
	if (rc < 0) {
		comm_source_fail(err, rc, "cannot start %s: %s", argv[0], strerror(-rc));
		goto close_result;
	}
	close(go[0]);
	close(result[1]);
	target->go_fd = go[1];
	target->result_fd = result[0];
	target->command_pid = *ret_pid = (uint32_t)pid;
	/* Without it the end is noticed later, as that of any other process. */
	target->command_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;

close_result:
	close(result[0]);
	close(result[1]);
close_go:
	close(go[0]);
	close(go[1]);
	return rc;
}

int comm_target_release(struct comm_target *target)
{
	int error = 0, rc = 0;
	ssize_t n;

	if (target->go_fd < 0)
		return -EINVAL;
	if (write(target->go_fd, "g", 1) != 1)
		rc = -ESRCH; /* the child ended before its exec() */
	close(target->go_fd);
	target->go_fd = -1;
	do {
		n = read(target->result_fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(target->result_fd);
	target->result_fd = -1;
	if (!rc && n == sizeof(error))
		rc = -error;
	return rc;
}

int comm_target_command_fd(const struct comm_target *target)
{
	return target->command_fd;
}

void comm_target_command_ended(struct comm_target *target)
{
	size_t i = position(target, target->command_pid);

	close(target->command_fd);
	target->command_fd = -1;
	if (i < target->n && target->pid[i] == target->command_pid)
		target->member[i].ran = false;
}

int comm_target_scan(struct comm_target *target)
{
	struct stat_line line;
	struct dirent *e;
	int depth, added;
	DIR *dir;

	if (target->kind != COMM_TARGET_PIDS || !target->follow)
		return 0;
	/* A child may be listed before its parent: repeat until nothing is new. */
	for (depth = 0; depth < DEPTH_MAX; depth++) {
		dir = opendir("/proc");
		if (!dir)
			return -errno;
		added = 0;
		while ((e = readdir(dir))) {
			uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);

			if (!pid || pid == (uint32_t)getpid() || comm_target_has(target, pid) ||
			    read_stat(pid, &line) || !comm_target_has(target, line.ppid))
				continue;
			if (line.state != 'Z' && add(target, pid, cpu_of(pid)) > 0)
				added++;
		}
		closedir(dir);
		if (!added)
			break;
	}
	return 0;
}

void comm_target_event(struct comm_target *target, const struct comm_event *event)
{
	uint32_t child = event->fork.child_tgid;

	if (target->kind != COMM_TARGET_PIDS || event->kind != COMM_EV_FORK || child == event->tgid)
		return;
	if (!comm_target_has(target, event->tgid))
		forget(target, child);
	else if (target->follow)
		add(target, child, 0);
}

void comm_target_adopt(struct comm_target *target, uint32_t tgid)
{
	add(target, tgid, 0);
}

void comm_target_expect_ends(struct comm_target *target)
{
	target->expects_ends = true;
}

void comm_target_ended(struct comm_target *target, uint32_t tgid, uint64_t cpu_ns)
{
	size_t i = position(target, tgid);

	if (i >= target->n || target->pid[i] != tgid)
		return;
	if (cpu_ns > target->member[i].cpu_ns)
		target->cpu_ns += cpu_ns - target->member[i].cpu_ns;
	drop(target, i);
}

void comm_target_add_cpu(struct comm_target *target, uint64_t cpu_ns)
{
	target->cpu_ns += cpu_ns;
}

enum comm_target_kind comm_target_kind(const struct comm_target *target)
{
	return target->kind;
}

uint64_t comm_target_since_ns(const struct comm_target *target)
{
	return target->since_ns;
}

bool comm_target_follows(const struct comm_target *target)
{
	return target->follow;
}

size_t comm_target_pids(const struct comm_target *target, const uint32_t **ret)
{
	*ret = target->pid;
	return target->n;
}

uint64_t comm_target_cgroup_id(const struct comm_target *target)
{
	return target->cgroup_id;
}

uint32_t comm_target_cgroup_level(const struct comm_target *target)
{
	return target->cgroup_level;
}

const char *comm_target_cgroup_path(const struct comm_target *target)
{
	return target->cgroup;
}

int comm_target_cgroup_fd(const struct comm_target *target)
{
	return target->cgroup_fd;
}

bool comm_target_pids_are_global(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS;
}

/* The end of a process that is gone may still be in a ring: it is dropped the second time. */
static bool to_drop(const struct comm_target *target, struct member *member)
{
	bool drop = !target->expects_ends || member->gone;

	member->gone = true;
	return drop;
}

bool comm_target_alive(struct comm_target *target)
{
	struct stat_line line;
	size_t i;

	if (target->kind != COMM_TARGET_PIDS)
		return true;
	for (i = target->n; i-- > 0;) {
		struct member *member = &target->member[i];
		int rc;

		if (member->ran) {
			member->ran = false;
			return true;
		}
		rc = read_stat(target->pid[i], &line);
		if (!rc && !has_ended(&line))
			return true;
		if (to_drop(target, member))
			drop(target, i);
	}
	return false;
}

uint64_t comm_target_cpu_ns(struct comm_target *target)
{
	size_t i;

	if (target->kind != COMM_TARGET_PIDS) {
		uint64_t now = stat_cpu_ns(target);

		/* The file of a cgroup that was removed says nothing: what was used stays used. */
		if (now > target->stat_start_ns + target->cpu_ns)
			target->cpu_ns = now - target->stat_start_ns;
		return target->cpu_ns;
	}
	for (i = 0; i < target->n && i < LOOK_MOST; i++) {
		size_t at = target->looked++ % target->n;
		struct member *member = &target->member[at];
		uint64_t now = cpu_of(target->pid[at]);

		/* now is 0: the process has ended, and the CPU time it used last is unknown. */
		if (now > member->cpu_ns) {
			target->cpu_ns += now - member->cpu_ns;
			member->cpu_ns = now;
			member->ran = true;
		}
	}
	return target->cpu_ns;
}
