/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target: a set of processes, with their children, or a cgroup, or every process
 * but this one.  Knows its member processes and the CPU time they used; knows nothing
 * of sampling.  One thread uses it.
 *
 * Errors: as source.h: 0 or -errno and a sentence.
 */
#ifndef COMM_TARGET_H
#define COMM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors.h"
#include "event.h"

struct comm_target;

enum comm_target_kind { COMM_TARGET_PIDS, COMM_TARGET_CGROUP, COMM_TARGET_ALL };

/* follow: present and future children of members are members, too. */
int comm_target_create(enum comm_target_kind kind, bool follow, struct comm_target **ret);
void comm_target_destroy(struct comm_target *target);

/*
 * -ESRCH: no such process, or it has ended (a zombie); -EOPNOTSUPP: its first
 * thread has; -EINVAL: a kernel thread, or this process itself.  A thread's id
 * stands for its process.
 */
int comm_target_add_pid(struct comm_target *target, uint32_t pid, char **err);
/* A directory of the cgroup v2 hierarchy, or its path below the mount. */
int comm_target_set_cgroup(struct comm_target *target, const char *path, char **err);
/* That of a container (container.h). */
int comm_target_set_container(struct comm_target *target, const char *id, char **err);
/*
 * When the cgroup has been removed, takes the next one of its path, as a service has that is
 * started again: the id is another then, not the level.  0: it is there as before; 1: the
 * next one was taken; -ENOENT: there is none yet.  CPU time counts from when it is taken.
 */
int comm_target_follow_cgroup(struct comm_target *target);

/*
 * Forks a child that is a member and waits; comm_target_release() lets it
 * execute argv.  -errno of the exec comes from release.  collectors: named in the child's
 * environment (collectors.h).
 */
int comm_target_spawn(struct comm_target *target, char *const argv[],
		      const struct comm_collectors *collectors, uint32_t *ret_pid, char **err);
int comm_target_release(struct comm_target *target);
/*
 * Becomes readable when the command has ended; -1: there is none, or comm_target_alive() was
 * told of its end.
 */
int comm_target_command_fd(const struct comm_target *target);
/* The command has ended: comm_target_alive() is to look at it again. */
void comm_target_command_ended(struct comm_target *target);

/* With follow, adds the children that members have already. */
int comm_target_scan(struct comm_target *target);
/* Adds the child of a member's FORK; who has its number after a stranger's is no member. */
void comm_target_event(struct comm_target *target, const struct comm_event *event);
/* Adds a process that was forked by a member, whose fork came in no event. */
void comm_target_adopt(struct comm_target *target, uint32_t tgid);

/*
 * CPU time of ended processes.  Who knows it says so before the first end; until then what a
 * member used since it was last looked at goes uncounted when it ends.
 */
void comm_target_expect_ends(struct comm_target *target);
/* A member has ended, after using so much CPU time since it was forked. */
void comm_target_ended(struct comm_target *target, uint32_t tgid, uint64_t cpu_ns);
/* Processes that never were members have ended after using so much. */
void comm_target_add_cpu(struct comm_target *target, uint64_t cpu_ns);

enum comm_target_kind comm_target_kind(const struct comm_target *target);
bool comm_target_follows(const struct comm_target *target);
/* When it was made, CLOCK_MONOTONIC: threads that were born later, a command's too, are known from their birth on. */
uint64_t comm_target_since_ns(const struct comm_target *target);
bool comm_target_has(const struct comm_target *target, uint32_t tgid);
/* Members; *ret is valid until the next change. */
size_t comm_target_pids(const struct comm_target *target, const uint32_t **ret);
/* The cgroup's id, as the kernel compares it, and its depth. */
uint64_t comm_target_cgroup_id(const struct comm_target *target);
uint32_t comm_target_cgroup_level(const struct comm_target *target);
const char *comm_target_cgroup_path(const struct comm_target *target);
/* Its directory, open as long as it is the target. */
int comm_target_cgroup_fd(const struct comm_target *target);
/* Are our pids the kernel's global ones, not those of a container's PID namespace? */
bool comm_target_pids_are_global(void);

/*
 * Does any member still live?  Asks the kernel until one does, so do not call it for every
 * event.  A cgroup always does, as it may be made again, and so does "all".
 */
bool comm_target_alive(struct comm_target *target);
/*
 * CPU time used since create by all present and past members, ns.  Of many members each call
 * looks at some, in turn.
 */
uint64_t comm_target_cpu_ns(struct comm_target *target);

#endif
