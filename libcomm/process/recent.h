/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recent processes: what is kept of each process that was asked about lately; of too many the
 * one that was asked about least recently is forgotten.  Not told of ends: a number that is given
 * again finds what was kept of the process before.  One thread uses a table.
 */
#ifndef COMM_RECENT_H
#define COMM_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of what is kept of a process. */
struct comm_recent {
	struct comm_recent *next; /* of the same bucket */
	uint32_t tgid;
	uint64_t used;
};

enum { COMM_RECENT_BUCKETS = 1024 };

struct comm_recents {
	struct comm_recent *bucket[COMM_RECENT_BUCKETS];
	size_t n, max;
	size_t bytes; /* that are kept of each */
	uint64_t used;
	void (*forget)(void *ctx, struct comm_recent *kept); /* frees all but kept itself */
	void *ctx;
};

void comm_recents_init(struct comm_recents *recents, size_t max, size_t bytes,
		       void (*forget)(void *ctx, struct comm_recent *kept), void *ctx);
/* Of a zeroed table, too. */
void comm_recents_deinit(struct comm_recents *recents);

/* What is kept of a process, at first zeros.  NULL: out of memory.  Valid until the next get(). */
void *comm_recents_get(struct comm_recents *recents, uint32_t tgid);
/* NULL: nothing is.  Does not count as asking. */
void *comm_recents_known(const struct comm_recents *recents, uint32_t tgid);
/* Of those that have what is asked for, the one that was asked about least recently; NULL: none. */
void *comm_recents_oldest(const struct comm_recents *recents,
			  bool (*has)(const struct comm_recent *kept, const void *ctx),
			  const void *ctx);
void comm_recents_each(const struct comm_recents *recents,
		       void (*fn)(void *ctx, struct comm_recent *kept), void *ctx);

#endif
