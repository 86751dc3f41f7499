// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/reader.h"

int comm_kmod_targets_init(struct comm_kmod_targets *t, struct cp_reader *reader,
			   const struct comm_target *target)
{
	*t = (struct comm_kmod_targets){
		.reader = reader,
		.target = target,
		.told = calloc(CP_MAX_TARGETS, sizeof(*t->told)),
	};
	return t->told ? 0 : -ENOMEM;
}

void comm_kmod_targets_deinit(struct comm_kmod_targets *t)
{
	free(t->told);
	t->told = NULL;
}

static int watch_all(struct comm_kmod_targets *t)
{
	int rc = t->all ? 0 : cp_reader_target(t->reader, CP_TARGET_ALL, 0, 0);

	if (!rc || rc == -EEXIST)
		t->all = true;
	return rc == -EEXIST ? 0 : rc;
}

static bool is_told(const struct comm_kmod_targets *t, uint32_t pid)
{
	for (size_t i = 0; i < t->n_told; i++)
		if (t->told[i] == pid)
			return true;
	return false;
}

int comm_kmod_targets_update(struct comm_kmod_targets *t)
{
	const uint32_t *pid;
	size_t n = comm_target_pids(t->target, &pid), i, kept = 0;
	int rc;

	if (t->all || comm_target_kind(t->target) != COMM_TARGET_PIDS)
		return 0;
	/* Forget processes that have ended: a pid that is reused must be told again. */
	for (i = 0; i < t->n_told; i++)
		if (comm_target_has(t->target, t->told[i]))
			t->told[kept++] = t->told[i];
	t->n_told = kept;
	for (i = 0; i < n; i++) {
		if (is_told(t, pid[i]))
			continue;
		if (t->n_told == CP_MAX_TARGETS)
			return watch_all(t);
		/*
		 * The module samples children from their fork on; they become entries
		 * of their own when commd hears of them.
		 */
		rc = cp_reader_target(t->reader, CP_TARGET_TGID,
				      comm_target_follows(t->target) ? CP_TARGET_CHILDREN : 0,
				      (int)pid[i]);
		if (rc == -ENOSPC)
			return watch_all(t);
		if (rc && rc != -EEXIST && rc != -ESRCH)
			return rc;
		t->told[t->n_told++] = pid[i];
	}
	return 0;
}

int comm_kmod_targets_set(struct comm_kmod_targets *t)
{
	int fd, rc;

	switch (comm_target_kind(t->target)) {
	case COMM_TARGET_ALL:
		return watch_all(t);
	case COMM_TARGET_PIDS:
		return comm_kmod_targets_update(t);
	case COMM_TARGET_CGROUP:
		break;
	}
	fd = open(comm_target_cgroup_path(t->target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = cp_reader_target(t->reader, CP_TARGET_CGROUP, 0, fd);
	close(fd);
	return rc;
}

bool comm_kmod_targets_has(const struct comm_kmod_targets *t, uint32_t tgid)
{
	if (!t->all)
		return true;
	return tgid != (uint32_t)getpid() &&
	       (comm_target_kind(t->target) == COMM_TARGET_ALL || comm_target_has(t->target, tgid));
}
