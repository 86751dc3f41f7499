// SPDX-License-Identifier: GPL-2.0-or-later
#include "first_touch.h"

#include "allocation.h"

#include <string.h>

/* The program that a file names as its interpreter: glibc's or musl's. */
static bool is_loader(struct comm_space *space, uint64_t ip, uint64_t now_ns)
{
	const struct comm_mapping *m = comm_space_find(space, ip, now_ns);
	const char *name = m && m->file ? strrchr(m->path, '/') : NULL;

	return name && (!strncmp(name, "/ld-linux", 9) || !strncmp(name, "/ld-musl", 8));
}

/* memset() and its kin by their names: what clears pages is no writer of what is then put there. */
static bool clears(const char *function)
{
	return strstr(function, "memset") || strstr(function, "bzero");
}

/*
 * What wrote pages first wrote all of them, if it filled them and is no allocator, which only cuts them,
 * and does not merely clear them.
 */
static uint32_t site_of(struct comm_sites *sites, struct comm_space *space,
			const struct comm_event *event)
{
	const char *function;
	uint32_t site;

	if (!(event->access.flags & COMM_ACCESS_REP))
		return COMM_SITE_FIRST_WRITE;
	if (event->access.flags & COMM_ACCESS_KERNEL)
		return COMM_SITE_KERNEL;
	site = comm_sites_get(sites, space, event->access.ip, event->time_ns);
	function = comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name;
	return comm_allocations_is_allocator(function) || clears(function) ||
			       !strcmp(function, "[unknown]")
		       ? COMM_SITE_FIRST_WRITE
		       : site;
}

bool comm_first_touch_find(const struct comm_identity *identity, struct comm_space *space,
			   const struct comm_event *event, struct comm_touch *ret)
{
	const struct comm_precise *pages = &event->access;
	const struct comm_mapping *m;

	*ret = (struct comm_touch){
		.time_ns = event->time_ns,
		.size_bytes = pages->size_bytes,
	};
	if (!comm_objects_private(identity->objects, space, pages->addr, event->time_ns,
				  &ret->datum))
		return false;
	ret->thread = comm_threads_get(identity->threads, event->tgid, event->tid, event->time_ns);
	ret->site = site_of(identity->sites, space, event);
	m = comm_space_find(space, pages->addr, event->time_ns);
	ret->of_file = m && m->file;
	ret->loads = ret->of_file && is_loader(space, pages->ip, event->time_ns);
	if (ret->loads)
		ret->site = COMM_SITE_STARTUP;
	return ret->site != COMM_SITE_FIRST_WRITE || !ret->of_file;
}
