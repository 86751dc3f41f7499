/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Movers: threads of language runtimes that move what the program's own threads wrote, as copying garbage collectors
 * do.  Such a copy is a write, but its thread is not whose data it is: what others read of it has no known writer.
 * What movers tell each other is theirs.
 *
 * By the names that runtimes give these threads, in processes that have the runtime mapped; the table is in movers.c.
 * A runtime that moves memory in threads without such a name is not known.
 */
#ifndef COMM_MOVERS_H
#define COMM_MOVERS_H

#include "edge.h"
#include "space.h"
#include "thread.h"
#include "unwritten.h"

struct comm_movers;

/* Both outlive it. */
int comm_movers_create(const struct comm_threads *threads, const struct comm_space_table *spaces,
		       struct comm_movers **ret);
void comm_movers_destroy(struct comm_movers *movers);

/* A thread is met, whose process is there and has been looked at. */
void comm_movers_met(struct comm_movers *movers, uint32_t thread);
/* Whether what one thread wrote and the other one read was moved only. */
bool comm_movers_moved(const struct comm_movers *movers, uint32_t writer, uint32_t reader);

/* Passes on edges but for those of what was moved, whose bytes are summed up in *moved. */
struct comm_movers_sieve {
	const struct comm_movers *movers;
	comm_edge_fn *emit;
	void *ctx;
	struct comm_unwritten moved;
};

/* A comm_edge_fn, with the sieve as ctx. */
void comm_movers_edge(void *sieve, const struct comm_edge *edge);

#endif
