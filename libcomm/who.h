/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who: dense ids for threads and for code.  A site is a source line of a
 * function (or of a function inlined there); functions group sites.  Ids are
 * never reused in a run; id 0 is "(other)" in every dictionary, id 1 of sites
 * is "[kernel]".  Bounded: past the limit everything new is (other), counted.
 */
#ifndef COMM_WHO_H
#define COMM_WHO_H

#include "ids.h"
#include "space.h"

struct comm_who;

int comm_who_create(const struct comm_view *view, struct comm_who **ret);
void comm_who_destroy(struct comm_who *who);

/* The thread that tid is at now_ns; a tid that was reused is another thread. */
uint32_t comm_who_thread(struct comm_who *who, uint32_t tgid, uint32_t tid, uint64_t now_ns);
void comm_who_exit(struct comm_who *who, uint32_t tid, uint64_t now_ns);
/* The name may have changed (exec, prctl): ask again. */
void comm_who_renamed(struct comm_who *who, uint32_t tgid, uint32_t tid);
uint32_t comm_who_site(struct comm_who *who, struct comm_space *space, uint64_t ip,
		       uint64_t now_ns);

uint32_t comm_who_threads(const struct comm_who *who);
uint32_t comm_who_functions(const struct comm_who *who);
uint32_t comm_who_sites(const struct comm_who *who);
const struct comm_thread *comm_who_thread_at(const struct comm_who *who, uint32_t id);
const struct comm_function *comm_who_function_at(const struct comm_who *who, uint32_t id);
const struct comm_site *comm_who_site_at(const struct comm_who *who, uint32_t id);

#endif
