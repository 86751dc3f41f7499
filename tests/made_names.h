/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up names behind ids: a comm_who and a comm_what that are plain arrays,
 * for tests of the store, which asks no more of them than this.  They stand in
 * for who.c and what.c at link time, so a program that includes this must not
 * use the engine.
 */
#ifndef TESTS_MADE_NAMES_H
#define TESTS_MADE_NAMES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "what.h"
#include "who.h"

enum { MADE_MAX = 8192 };

struct comm_who {
	struct comm_thread thread[MADE_MAX];
	struct comm_function function[MADE_MAX];
	struct comm_site site[MADE_MAX];
	uint32_t n_threads, n_functions, n_sites;
};

struct comm_what {
	struct comm_object object[MADE_MAX];
	uint32_t n_objects;
};

uint32_t comm_who_threads(const struct comm_who *who)
{
	return who->n_threads;
}

uint32_t comm_who_functions(const struct comm_who *who)
{
	return who->n_functions;
}

uint32_t comm_who_sites(const struct comm_who *who)
{
	return who->n_sites;
}

const struct comm_thread *comm_who_thread_at(const struct comm_who *who, uint32_t id)
{
	return id < who->n_threads ? &who->thread[id] : NULL;
}

const struct comm_function *comm_who_function_at(const struct comm_who *who, uint32_t id)
{
	return id < who->n_functions ? &who->function[id] : NULL;
}

const struct comm_site *comm_who_site_at(const struct comm_who *who, uint32_t id)
{
	return id < who->n_sites ? &who->site[id] : NULL;
}

uint32_t comm_what_objects(const struct comm_what *what)
{
	return what->n_objects;
}

const struct comm_object *comm_what_object_at(const struct comm_what *what, uint32_t id)
{
	return id < what->n_objects ? &what->object[id] : NULL;
}

static inline uint32_t made_thread(struct comm_who *who, uint32_t tgid, uint32_t tid,
				   const char *name)
{
	struct comm_thread *t = &who->thread[who->n_threads];

	memset(t, 0, sizeof(*t));
	t->tgid = tgid;
	t->tid = tid;
	t->start_ns = 1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	return who->n_threads++;
}

static inline uint32_t made_function(struct comm_who *who, const char *name, const char *module,
				     uint64_t start)
{
	who->function[who->n_functions] = (struct comm_function){name, module, "b01d", start};
	return who->n_functions++;
}

static inline uint32_t made_site(struct comm_who *who, uint32_t function, const char *source,
				 uint32_t line)
{
	who->site[who->n_sites] = (struct comm_site){
		.function = function, .source = source, .line = line, .offset = 0x1000 + line};
	return who->n_sites++;
}

static inline uint32_t made_object(struct comm_what *what, enum comm_object_kind kind,
				   const char *name, const char *module, uint64_t size_bytes)
{
	what->object[what->n_objects] =
		(struct comm_object){.kind = kind,
				     .name = name,
				     .module = module,
				     .build_id = "",
				     .start = (uint64_t)(1 + what->n_objects) << 32,
				     .size_bytes = size_bytes};
	return what->n_objects++;
}

/* With what every dictionary begins with: (other), [kernel]. */
static inline void made_names(struct comm_who **ret_who, struct comm_what **ret_what)
{
	struct comm_who *who = calloc(1, sizeof(*who));
	struct comm_what *what = calloc(1, sizeof(*what));

	if (!who || !what)
		abort();
	made_thread(who, 0, 0, "(other)");
	made_function(who, "(other)", "", 0);
	made_function(who, "[kernel]", "", 0);
	made_site(who, 0, NULL, 0);
	made_site(who, 1, NULL, 0);
	made_object(what, COMM_OBJECT_OTHER, "(other)", "", 0);
	*ret_who = who;
	*ret_what = what;
}

#endif
