/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who: dense ids for threads and for code.  A site is a source line of a
 * function (or of a function inlined there); functions group sites.  Ids are
 * never reused in a run; id 0 is "(other)" in every dictionary, id 1 of sites
 * is "[kernel]".  Bounded: past the limit everything new is (other), counted.
 */
#ifndef COMM_WHO_H
#define COMM_WHO_H

#include "space.h"

enum {
	COMM_ID_OTHER = 0,
	COMM_SITE_KERNEL = 1,
	COMM_FUNCTION_KERNEL = 1,
	COMM_THREADS_MAX = 65536,
	COMM_SITES_MAX = 1 << 18,
};

struct comm_thread {
	uint32_t tgid, tid;
	uint64_t start_ns, end_ns; /* first seen; 0 while it lives */
	char name[16];
};

struct comm_function {
	const char *name;
	const char *module;
	const char *build_id;
	uint64_t start; /* file virtual address; keys runs and hosts; JIT: 0 */
};

struct comm_site {
	uint32_t function;
	const char *inlined; /* NULL when none */
	const char *source;  /* NULL when unknown */
	uint32_t line;
	uint64_t offset; /* of its first seen ip into the file; JIT: its address */
};

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
