// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ITT: the part of Intel's tracing API that a program contains loads this for
 * INTEL_LIBITTNOTIFY64 and calls __itt_api_init(), once for each module that contains it.  Tasks
 * and frames are regions; pause and resume stop and start; threads are named.  Structures as
 * in ittnotify_config.h of https://github.com/intel/ittapi, as far as they are used.
 */
#include "region.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct itt_domain {
	volatile int flags; /* not 0: its calls are made */
	const char *name;
	void *wide_name;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	void *wide_text;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

struct itt_api {
	const char *name;
	void **function;
	void *initial;
	void *nothing; /* to be called when there is no collector */
	int group;
};

struct itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **dll_path;
	struct itt_api *api; /* up to one without a name */
};

struct itt_id {
	unsigned long long d1, d2, d3;
};

/* How many regions of this convention the thread is in: an end too many is none. */
static COLLECT_THREAD unsigned int inside;

static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;

static void begin(const char *name)
{
	collect_begin(name);
	inside++;
}

static void end(void)
{
	if (!inside)
		return;
	inside--;
	collect_end_last();
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       const struct itt_string *name)
{
	(void)id, (void)parent;
	if (domain && domain->flags)
		begin(name ? name->text : "(unnamed)");
}

static void task_begin_function(const struct itt_domain *domain, struct itt_id id,
				struct itt_id parent, const void *function)
{
	(void)id, (void)parent;
	if (domain && domain->flags)
		begin(COMM_MARK_CODE(function));
}

static void task_end(const struct itt_domain *domain)
{
	if (domain && domain->flags)
		end();
}

/* A frame has no name but its domain's; it is a region as well. */
static void frame_begin(const struct itt_domain *domain, struct itt_id *id)
{
	(void)id;
	if (!domain || !domain->flags)
		return;
	collect_frame();
	begin(domain->name);
}

static void frame_end(const struct itt_domain *domain, struct itt_id *id)
{
	(void)id;
	task_end(domain);
}

static void pause_all(void)
{
	collect_stop(true);
}

static void resume_all(void)
{
	collect_stop(false);
}

/* The first thread's name is the process's, by which people look for it. */
static void set_thread_name(const char *name)
{
	char start[16] = "";

	if (!name || syscall(SYS_gettid) == getpid())
		return;
	strncpy(start, name, sizeof(start) - 1);
	pthread_setname_np(pthread_self(), start);
}

/*
 * A module makes no calls for a domain that is NULL, and programs look into theirs, so both must
 * be made.  For one name there is one, whichever module asks, and it stays.
 */
static struct itt_domain *domains;
static struct itt_string *strings;

static struct itt_domain *domain_create(const char *name)
{
	const char *kept = collect_name(name);
	struct itt_domain *domain;

	pthread_mutex_lock(&lists);
	for (domain = domains; domain; domain = domain->next)
		if (domain->name == kept)
			break;
	if (!domain && (domain = calloc(1, sizeof(*domain)))) {
		domain->flags = 1;
		domain->name = kept;
		domain->next = domains;
		domains = domain;
	}
	pthread_mutex_unlock(&lists);
	return domain;
}

static struct itt_string *string_create(const char *text)
{
	const char *kept = collect_name(text);
	struct itt_string *string;

	pthread_mutex_lock(&lists);
	for (string = strings; string; string = string->next)
		if (string->text == kept)
			break;
	if (!string && (string = calloc(1, sizeof(*string)))) {
		string->text = kept;
		string->next = strings;
		strings = string;
	}
	pthread_mutex_unlock(&lists);
	return string;
}

static const struct {
	const char *name;
	void *function;
} ours[] = {
	{"__itt_domain_create", (void *)domain_create},
	{"__itt_domain_createA", (void *)domain_create},
	{"__itt_string_handle_create", (void *)string_create},
	{"__itt_string_handle_createA", (void *)string_create},
	{"__itt_task_begin", (void *)task_begin},
	{"__itt_task_begin_fn", (void *)task_begin_function},
	{"__itt_task_end", (void *)task_end},
	{"__itt_frame_begin_v3", (void *)frame_begin},
	{"__itt_frame_end_v3", (void *)frame_end},
	{"__itt_pause", (void *)pause_all},
	{"__itt_resume", (void *)resume_all},
	{"__itt_thread_set_name", (void *)set_thread_name},
	{"__itt_thread_set_nameA", (void *)set_thread_name},
};

COLLECT_ENTRY void __itt_api_init(struct itt_global *global, int groups);

/* The module holds its lock meanwhile. */
COLLECT_ENTRY void __itt_api_init(struct itt_global *global, int groups)
{
	(void)groups;
	collect_init();
	for (struct itt_api *api = global->api; api->name; api++) {
		*api->function = api->nothing;
		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			if (!strcmp(api->name, ours[i].name))
				*api->function = ours[i].function;
	}
	global->api_initialized = 1;
}
