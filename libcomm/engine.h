/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine: ordered events in, slices in the store out.  It joins the
 * decoder, the identities of threads, code and data, the estimator and the
 * store, and holds no policy of its own.  Live runs and replays go through the
 * same engine.  One thread uses an engine.
 */
#ifndef COMM_ENGINE_H
#define COMM_ENGINE_H

#include "access_log.h"
#include "burst.h"
#include "estimator.h"
#include "event.h"
#include "identity.h"
#include "inspect.h"
#include "slice_queue.h"
#include "store.h"

struct comm_engine;

struct comm_engine_config {
	const struct comm_inspect *inspect;
	struct comm_store *store; /* NULL: slices are only counted */
	/* To the store, for who must not wait for it; NULL: slices are written at once. */
	struct comm_slice_queue *queue;
	const struct comm_est_ops *estimator;
	struct comm_est_config est;
	uint32_t callers;     /* so many of the functions that called theirs stand with sites */
	const char *function; /* a pattern: what such functions read counts alone; NULL: all */
	uint64_t slice_ns;
	uint64_t start_ns; /* of the run: slices are aligned to this time */
	/* Called for each finished slice, before it is stored.  May be NULL. */
	void (*slice_done)(void *ctx, const struct comm_slice_info *info,
			   const struct comm_edge *edges, size_t n_edges);
	void *ctx;
	/* Called for each burst, with the sample that it was emulated from.  May be NULL. */
	void (*burst_done)(void *ctx, const struct comm_event *event,
			   const struct comm_burst *burst);
	void *burst_ctx;
	struct comm_access_log *accesses; /* NULL: nobody asked for them */
};

struct comm_engine_stats {
	uint64_t events, samples, bursts, accesses, slices;
	uint64_t insns;	   /* instructions emulated */
	uint64_t ends[16]; /* enum comm_burst_end: why bursts ended */
	uint64_t loss[COMM_LOSS_MAX];
};

int comm_engine_create(const struct comm_engine_config *config, struct comm_engine **ret);
void comm_engine_destroy(struct comm_engine *engine);

/* Takes the next event in order of time; a comm_event_fn with the engine as ctx. */
void comm_engine_event(void *engine, const struct comm_event *event);
/* No event came until now_ns: closes the slices that ended by then. */
void comm_engine_advance(struct comm_engine *engine, uint64_t now_ns);
/* Closes the last, shorter slice. */
void comm_engine_finish(struct comm_engine *engine, uint64_t end_ns);

void comm_engine_stats(const struct comm_engine *engine, struct comm_engine_stats *ret);
const struct comm_identity *comm_engine_identity(const struct comm_engine *engine);
/* May the memory at addr be other processes', too, as far as mappings are known? */
bool comm_engine_is_shared(const struct comm_engine *engine, uint32_t tgid, uint64_t addr);

#endif
