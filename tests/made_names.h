/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up names behind ids, as plain arrays, for tests of the store and of its readers. */
#ifndef TESTS_MADE_NAMES_H
#define TESTS_MADE_NAMES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "naming.h"

enum { MADE_MAX = 8192 };

struct made_names {
	struct comm_thread thread[MADE_MAX];
	struct comm_function function[MADE_MAX];
	struct comm_site site[MADE_MAX];
	struct comm_object object[MADE_MAX];
	struct comm_code_region region[MADE_MAX];
	struct comm_call call[MADE_MAX];
	uint32_t n_threads, n_functions, n_sites, n_objects, n_regions, n_calls;
};

static inline const struct comm_thread *made_thread_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_threads ? &names->thread[id] : NULL;
}

static inline const struct comm_function *made_function_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_functions ? &names->function[id] : NULL;
}

static inline const struct comm_site *made_site_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_sites ? &names->site[id] : NULL;
}

static inline const struct comm_object *made_object_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_objects ? &names->object[id] : NULL;
}

static inline const struct comm_code_region *made_region_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_regions ? &names->region[id] : NULL;
}

static inline const struct comm_call *made_call_at(const void *ctx, uint32_t id)
{
	const struct made_names *names = ctx;

	return id < names->n_calls ? &names->call[id] : NULL;
}

static inline struct comm_naming made_naming(const struct made_names *names)
{
	return (struct comm_naming){
		.ctx = names,
		.n_threads = names->n_threads,
		.n_functions = names->n_functions,
		.n_sites = names->n_sites,
		.n_objects = names->n_objects,
		.n_regions = names->n_regions,
		.n_calls = names->n_calls,
		.thread_at = made_thread_at,
		.function_at = made_function_at,
		.site_at = made_site_at,
		.object_at = made_object_at,
		.region_at = made_region_at,
		.call_at = made_call_at,
	};
}

static inline uint32_t made_thread(struct made_names *names, uint32_t tgid, uint32_t tid,
				   const char *name)
{
	struct comm_thread *t = &names->thread[names->n_threads];

	memset(t, 0, sizeof(*t));
	t->tgid = tgid;
	t->tid = tid;
	t->start_ns = 1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	return names->n_threads++;
}

static inline uint32_t made_function(struct made_names *names, const char *name, const char *module,
				     uint64_t start)
{
	names->function[names->n_functions] = (struct comm_function){
		.name = name, .module = module, .build_id = "b01d", .start = start};
	return names->n_functions++;
}

static inline uint32_t made_site(struct made_names *names, uint32_t function, const char *source,
				 uint32_t line)
{
	names->site[names->n_sites] = (struct comm_site){
		.function = function, .source = source, .line = line, .offset = 0x1000 + line};
	return names->n_sites++;
}

static inline uint32_t made_region(struct made_names *names, uint32_t parent, const char *name)
{
	names->region[names->n_regions] = (struct comm_code_region){name, parent};
	return names->n_regions++;
}

static inline uint32_t made_call(struct made_names *names, uint32_t parent, uint32_t function)
{
	names->call[names->n_calls] = (struct comm_call){parent, function};
	return names->n_calls++;
}

static inline uint32_t made_object(struct made_names *names, enum comm_object_kind kind,
				   const char *name, const char *module, uint64_t size_bytes)
{
	names->object[names->n_objects] =
		(struct comm_object){.kind = kind,
				     .name = name,
				     .module = module,
				     .build_id = "",
				     .start = (uint64_t)(1 + names->n_objects) << 32,
				     .size_bytes = size_bytes};
	return names->n_objects++;
}

/* Begins with the entries of every dictionary: (other), [kernel]. */
static inline struct made_names *made_names_create(void)
{
	struct made_names *names = calloc(1, sizeof(*names));

	if (!names)
		abort();
	made_thread(names, 0, 0, "(other)");
	made_function(names, "(other)", "", 0);
	made_function(names, "[kernel]", "", 0);
	made_site(names, 0, NULL, 0);
	made_site(names, 1, NULL, 0);
	made_object(names, COMM_OBJECT_OTHER, "(other)", "", 0);
	made_region(names, 0, "");
	made_region(names, 0, "(other)");
	made_call(names, COMM_CALL_UNKNOWN, 0);
	made_call(names, COMM_CALL_OUTERMOST, 0);
	return names;
}

#endif
