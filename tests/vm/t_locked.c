// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose memory a session's rings are. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cptest.h"

enum { MOST = 16, LIMIT_BYTES = 32 << 20 };

struct outcome {
	int n, err, again; /* sessions until it failed; and once more after all were closed */
};

static bool write_to(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fputs(text, file) >= 0;

	return file ? !fclose(file) && ok : false;
}

/* Opens sessions until one is refused; how many were not. */
static int open_many(struct cp_reader **reader, uint32_t ring_bytes, int *ret_err)
{
	int n = 0;

	*ret_err = 0;
	while (n < MOST && !*ret_err) {
		*ret_err = cp_reader_create(CP_DEVICE, ring_bytes, 0, &reader[n]);
		n += !*ret_err;
	}
	return n;
}

static void open_and_close(struct outcome *outcome, uint32_t ring_bytes)
{
	struct cp_reader *reader[MOST];
	int err;

	outcome->n = open_many(reader, ring_bytes, &outcome->err);
	for (int i = 0; i < outcome->n; i++)
		cp_reader_destroy(reader[i]);
	outcome->again = open_many(reader, ring_bytes, &err);
}

/* Rings of which so many sessions have LIMIT_BYTES. */
static uint32_t ring_bytes_of(int sessions)
{
	uint32_t bytes = CP_MIN_RING_BYTES;
	uint32_t rings = CP_CONTEXTS * (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	while (2 * bytes * rings * sessions <= LIMIT_BYTES)
		bytes *= 2;
	return bytes;
}

static struct outcome *in_child(bool (*prepare)(void))
{
	struct outcome *outcome =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!prepare())
			_exit(1);
		open_and_close(outcome, ring_bytes_of(4));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		outcome->err = WIFSIGNALED(status) ? -EINTR : -ECHILD;
	return outcome;
}

static bool into_cgroup(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", LIMIT_BYTES);
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir("/sys/fs/cgroup/small", 0755);
	return write_to("/sys/fs/cgroup/small/memory.max", text) &&
	       write_to("/sys/fs/cgroup/small/cgroup.procs", "0");
}

static bool without_ipc_lock(void)
{
	struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capget, &head, data))
		return false;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	return !syscall(SYS_capset, &head, data);
}

void test_locked(void)
{
	struct outcome *outcome = in_child(into_cgroup);

	/* Four sessions and what goes with them are more than the cgroup may have. */
	check(outcome->err == -ENOMEM && outcome->n >= 2 && outcome->n <= 4 &&
		      outcome->again >= 2 && outcome->again <= 4,
	      "memory: rings are the cgroup's", "%d sessions, then %s; %d again", outcome->n,
	      strerror(-outcome->err), outcome->again);
	outcome = in_child(without_ipc_lock);
	check(outcome->err == -ENOBUFS && outcome->n == 3 && outcome->again == 3,
	      "memory: rings count as locked without CAP_IPC_LOCK",
	      "%d sessions, then %s; %d again", outcome->n, strerror(-outcome->err),
	      outcome->again);
}
