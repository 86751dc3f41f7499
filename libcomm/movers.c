// SPDX-License-Identifier: GPL-2.0-or-later
#include "movers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * As the kernel has the names, of which it keeps 15 bytes.  OpenJDK (src/hotspot/share/gc; those of 17 are as it runs
 * here): workers, and the VM Thread, in which the serial collector runs.  .NET (src/coreclr/gc, its worker threads).  V8
 * (src/libplatform/worker-thread.cc), whose workers scavenge and compact; before they had names they are like all
 * others of node.  Go's collector does not move.
 */
static const struct {
	const char *file, *thread; /* what both begin with */
} movers[] = {
	{"libjvm.so", "GC Thread#"}, /* parallel, G1 */
	{"libjvm.so", "GC task"},    /* the same of Java 8 */
	{"libjvm.so", "Gang wo"},    /* likewise */
	{"libjvm.so", "G1 "},	     /* Conc#, Refine#, Main Marker, Service */
	{"libjvm.so", "VM Thread"},  /* serial, and pauses of the others */
	{"libjvm.so", "ZWorker"},    /* Young#, Old# */
	{"libjvm.so", "ZDriver"},    /* and Minor, Major */
	{"libjvm.so", "XWorker"},    /* Z without generations, in later versions */
	{"libjvm.so", "Shenan"},     /* "Shenandoah GC Threads#0" */
	{"libcoreclr.so", ".NET Server GC"},
	{"libcoreclr.so", ".NET BGC"},
	{"libnode.so", "V8Worker"},
	{"node", "V8Worker"},
};

enum { MOVERS = sizeof(movers) / sizeof(movers[0]) };

struct comm_movers {
	const struct comm_threads *threads;
	const struct comm_space_table *spaces;
	uint32_t *thread; /* by place: the one that moves; 0: none */
	size_t capacity;
};

int comm_movers_create(const struct comm_threads *threads, const struct comm_space_table *spaces,
		       struct comm_movers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->threads = threads;
	(*ret)->spaces = spaces;
	return 0;
}

void comm_movers_destroy(struct comm_movers *m)
{
	if (!m)
		return;
	free(m->thread);
	free(m);
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool is_mover(const struct comm_movers *m, const struct comm_thread *thread)
{
	for (size_t i = 0; i < MOVERS; i++)
		if (begins(thread->name, movers[i].thread) &&
		    comm_space_has_file(m->spaces, thread->tgid, movers[i].file))
			return true;
	return false;
}

/* Most programs have none, and take no room. */
static bool reserve(struct comm_movers *m, uint32_t place)
{
	size_t capacity = m->capacity ? m->capacity : 256;
	uint32_t *thread;

	while (capacity <= place)
		capacity *= 2;
	if (capacity == m->capacity)
		return true;
	thread = realloc(m->thread, capacity * sizeof(*thread));
	if (!thread)
		return false;
	memset(thread + m->capacity, 0, (capacity - m->capacity) * sizeof(*thread));
	m->thread = thread;
	m->capacity = capacity;
	return true;
}

static bool is_known(const struct comm_movers *m, uint32_t thread)
{
	uint32_t place = comm_thread_place(thread);

	return thread && place < m->capacity && m->thread[place] == thread;
}

void comm_movers_met(struct comm_movers *m, uint32_t thread)
{
	uint32_t place = comm_thread_place(thread);
	const struct comm_thread *t = comm_threads_at(m->threads, place);

	if (!thread || !t || is_known(m, thread) || !is_mover(m, t))
		return;
	/* Without room it is told as the writer. */
	if (reserve(m, place))
		m->thread[place] = thread;
}

bool comm_movers_moved(const struct comm_movers *m, uint32_t writer, uint32_t reader)
{
	return is_known(m, writer) && !is_known(m, reader);
}

void comm_movers_edge(void *ctx, const struct comm_edge *edge)
{
	struct comm_movers_sieve *sieve = ctx;

	if (!comm_movers_moved(sieve->movers, edge->src_thread, edge->dst_thread)) {
		sieve->emit(sieve->ctx, edge);
		return;
	}
	sieve->moved.bytes += edge->bytes;
	sieve->moved.first_bytes += edge->first_bytes;
}
