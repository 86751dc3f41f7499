// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
	free(t->last);
	t->told = t->last = NULL;
}

static bool is_told(const struct comm_kmod_targets *t, uint32_t pid)
{
	for (size_t i = 0; i < t->n_told; i++)
		if (t->told[i] == pid)
			return true;
	return false;
}

/* -ENOSPC: the module has no room for it. */
static int tell(struct comm_kmod_targets *t, uint32_t pid)
{
	int rc;

	if (t->n_told == CP_MAX_TARGETS)
		return -ENOSPC;
	/*
	 * The module samples children from their fork on; they become entries
	 * of their own when commd hears of them.
	 */
	rc = cp_reader_target(t->reader, CP_TARGET_TGID,
			      comm_target_follows(t->target) ? CP_TARGET_CHILDREN : 0, (int)pid);
	if (rc && rc != -EEXIST && rc != -ESRCH)
		return rc;
	t->told[t->n_told++] = pid;
	return 0;
}

/* Whether there is nothing to tell since the last look, which is mostly so. */
static bool is_same(const struct comm_kmod_targets *t, const uint32_t *pid, size_t n)
{
	return t->last && n == t->n_last && !memcmp(pid, t->last, n * sizeof(*pid));
}

/* Without memory for it the next look is a whole one again. */
static void remember(struct comm_kmod_targets *t, const uint32_t *pid, size_t n)
{
	uint32_t *last = n ? realloc(t->last, n * sizeof(*last)) : NULL;

	if (!last) {
		free(t->last);
		t->last = NULL;
		return;
	}
	memcpy(last, pid, n * sizeof(*last));
	t->last = last;
	t->n_last = n;
}

int comm_kmod_targets_update(struct comm_kmod_targets *t)
{
	const uint32_t *pid;
	size_t n = comm_target_pids(t->target, &pid), i, kept = 0, left_out = 0;
	int rc;

	if (comm_target_cgroup_id(t->target) != t->cgroup_id)
		return comm_kmod_targets_set(t);
	if (comm_target_kind(t->target) != COMM_TARGET_PIDS || is_same(t, pid, n))
		return 0;
	/* Forget processes that have ended: a pid that is reused must be told again. */
	for (i = 0; i < t->n_told; i++)
		if (comm_target_has(t->target, t->told[i]))
			t->told[kept++] = t->told[i];
	t->n_told = kept;
	for (i = 0; i < n; i++) {
		if (is_told(t, pid[i]))
			continue;
		rc = tell(t, pid[i]);
		if (rc == -ENOSPC)
			left_out++;
		else if (rc)
			return rc;
	}
	if (left_out > t->n_left_out)
		t->left_out += left_out - t->n_left_out;
	t->n_left_out = left_out;
	remember(t, pid, left_out ? 0 : n);
	return 0;
}

int comm_kmod_targets_set(struct comm_kmod_targets *t)
{
	int rc;

	switch (comm_target_kind(t->target)) {
	case COMM_TARGET_ALL:
		return cp_reader_target(t->reader, CP_TARGET_ALL, 0, 0);
	case COMM_TARGET_PIDS:
		return comm_kmod_targets_update(t);
	case COMM_TARGET_CGROUP:
		break;
	}
	rc = cp_reader_target(t->reader, CP_TARGET_CGROUP, 0, comm_target_cgroup_fd(t->target));
	/* Removed again meanwhile: the next one will be told. */
	if (rc && rc != -ENOSPC)
		return rc;
	t->cgroup_id = comm_target_cgroup_id(t->target);
	t->left_out += !!rc;
	return 0;
}

bool comm_kmod_targets_has(const struct comm_kmod_targets *t, uint32_t tgid)
{
	/* Of every process commd itself is the one that nobody asks for. */
	return comm_target_kind(t->target) != COMM_TARGET_ALL || tgid != (uint32_t)getpid();
}
