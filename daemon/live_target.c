// SPDX-License-Identifier: GPL-2.0-or-later
#include "live_target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectors.h"
#include "source.h"
#include "text.h"

/* Numbers of processes are those of our PID namespace; after "unshare --pid --fork" /proc is still that of another. */
static int check_proc(char **err)
{
	char own[16], self[16] = "";

	snprintf(own, sizeof(own), "%d", getpid());
	if (readlink("/proc/self", self, sizeof(self) - 1) > 0 && !strcmp(own, self))
		return 0;
	return comm_source_fail(
		err, -ESRCH,
		"/proc is not mounted, or is that of another PID namespace, whose numbers "
		"are other processes: mount -t proc proc /proc");
}

int comm_live_target_choose(struct comm_live_target *live, const struct comm_options *options,
			    char **err)
{
	struct comm_collectors collectors = {0};
	int rc = check_proc(err);

	if (rc)
		return rc;
	if (!options->no_collectors)
		comm_collectors_find_marks(&collectors);
	if (options->alloc_sites && !comm_collectors_find_allocations(&collectors))
		return comm_source_fail(err, -ENOENT,
					"libcomm-alloc.so is not installed, which --alloc-sites "
					"needs: see commd --doctor");
	rc = comm_target_create(options->cgroup || options->container ? COMM_TARGET_CGROUP
								      : COMM_TARGET_PIDS,
				!options->no_follow, &live->target);
	if (rc)
		return comm_source_fail(err, rc, "cannot set up the target: %s", strerror(-rc));
	if (options->cgroup)
		rc = comm_target_set_cgroup(live->target, options->cgroup, err);
	else if (options->container)
		rc = comm_target_set_container(live->target, options->container, err);
	else if (options->command)
		rc = comm_target_spawn(live->target, options->command, &collectors,
				       &live->command_pid, err);
	for (int i = 0; !rc && i < options->n_pids; i++)
		rc = comm_target_add_pid(live->target, (uint32_t)options->pid[i], err);
	return rc;
}

void comm_live_target_name(struct comm_live_target *live, const struct comm_options *options,
			   const struct comm_inspect *processes)
{
	char text[sizeof(live->name)] = "";
	size_t n = 0;

	if (options->command) {
		for (char **arg = options->command; *arg && n < sizeof(text); arg++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
					      *arg);
	} else if (options->cgroup) {
		snprintf(text, sizeof(text), "cgroup %s", options->cgroup);
	} else if (options->container) {
		snprintf(text, sizeof(text), "container %s", options->container);
	} else {
		n = comm_inspect_live_command(processes, (uint32_t)options->pid[0], text,
					      sizeof(text) - 1);
		for (size_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		/* A program that overwrites its title leaves blanks behind it. */
		while (n && text[n - 1] == ' ')
			text[--n] = '\0';
		if (options->n_pids > 1 && n < sizeof(text))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " and %d more",
				 options->n_pids - 1);
	}
	comm_text_clean(text, sizeof(text), live->name, sizeof(live->name));
}

/* A service that keeps on being restarted is not worth a sentence each time. */
static const char *follow_cgroup(struct comm_live_target *live)
{
	const char *path = comm_target_cgroup_path(live->target);
	int rc = comm_target_follow_cgroup(live->target);

	if (rc == 0)
		return NULL;
	if (rc == -ENOENT) {
		if (!live->said_removed)
			fprintf(stderr,
				"commd: the cgroup %s was removed; the run goes on with the next "
				"one of its name\n",
				path);
		live->said_removed = true;
		return NULL;
	}
	if (rc > 0) {
		if (!live->said_followed)
			fprintf(stderr, "commd: the cgroup %s was made again, and is followed\n",
				path);
		live->said_followed = live->said_removed = true;
		return NULL;
	}
	fprintf(stderr, "commd: the cgroup %s was removed, and its next one cannot be read: %s\n",
		path, strerror(-rc));
	return "cgroup removed";
}

const char *comm_live_target_gone(struct comm_live_target *live)
{
	if (comm_target_kind(live->target) == COMM_TARGET_CGROUP)
		return follow_cgroup(live);
	return comm_target_alive(live->target) ? NULL : "target exited";
}

void comm_live_target_deinit(struct comm_live_target *live)
{
	comm_target_destroy(live->target);
}
