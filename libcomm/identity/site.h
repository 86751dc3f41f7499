/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites: dense ids for code.  A site is a source line of a function (or of a
 * function inlined there, one for each call that is inlined), in each marked region, for each type of what is read there and each caller another
 * one; functions group sites.  Ids are never reused in a run.
 * Id 0 is "(other)", for new sites past COMM_SITES_MAX, which are counted; id 1 is
 * "[kernel]", id 2 "[first write]", id 3 "[startup]", id 4 "[code not known]".
 */
#ifndef COMM_SITE_H
#define COMM_SITE_H

#include "ids.h"
#include "space.h"

struct comm_sites;

int comm_sites_create(const struct comm_inspect *inspect, struct comm_sites **ret);
void comm_sites_destroy(struct comm_sites *sites);

/* The site of the instruction at ip in the process of space. */
uint32_t comm_sites_get(struct comm_sites *sites, struct comm_space *space, uint64_t ip,
			uint64_t now_ns);
/* Where the return address is at the instruction at ip. */
struct comm_frame_rule comm_sites_frame(struct comm_sites *sites, struct comm_space *space,
					uint64_t ip, uint64_t now_ns);
/*
 * Asks again for names, lines and types that were still being read when a site was made, and
 * tells its sites and function of them in place: ids that edges have already stay good.
 */
void comm_sites_settle(struct comm_sites *sites);
/* The site of a function without code, of that name. */
uint32_t comm_sites_named(struct comm_sites *sites, const char *name);
/* The same site within a marked region (code_region.h). */
uint32_t comm_sites_within(struct comm_sites *sites, uint32_t site, uint32_t region);
/* The same site where its function was called in that call (call.h); itself if it is not known which. */
uint32_t comm_sites_called(struct comm_sites *sites, uint32_t site, uint32_t caller);

/*
 * The same site where what is read is known to be of a class: of an object that begins offset bytes in front of what
 * is read, by itself and not by the code.  Code that knows no type gives way to it, and code whose type begins
 * where the object does, which is a base of its class or another name for it.  Like names in debug
 * information the type is without namespaces.
 */
uint32_t comm_sites_of_class(struct comm_sites *sites, uint32_t site, const char *class,
			     uint64_t offset);

/*
 * The site of a function that is only guessed at, as it was seen to write such data: another function, "NAME (seen
 * writing it)", in no region that is known.  COMM_SITE_NOT_TOLD: the function has no name, or not yet.
 */
uint32_t comm_sites_seen_writing(struct comm_sites *sites, uint32_t function);

/* How often code became "(other)" because the ids of sites or functions had run out. */
uint64_t comm_sites_unfiled(const struct comm_sites *sites);
uint32_t comm_sites_count(const struct comm_sites *sites);
uint32_t comm_sites_functions(const struct comm_sites *sites);
const struct comm_site *comm_sites_at(const struct comm_sites *sites, uint32_t id);
/* The function of a site, as estimators ask for it: sites is a struct comm_sites. */
uint32_t comm_sites_function_of(const void *sites, uint32_t site);
const struct comm_function *comm_sites_function_at(const struct comm_sites *sites, uint32_t id);
/* Whether the site is of code that keeps a heap (allocation.h). */
bool comm_sites_keeps_heap(const struct comm_sites *sites, uint32_t site);

#endif
