/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimators: accesses and scheduling in; edges (edge.h) out.
 * One is pure (no clock, no file, no global) and deterministic: the same calls
 * give the same edges, bit for bit.  Baselines to compare it with are tests/truth/baseline/.
 */
#ifndef COMM_ESTIMATOR_H
#define COMM_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "edge.h"
#include "error_model.h"
#include "unwritten.h"

/* One access of a burst, resolved.  Accesses of a burst come together. */
struct comm_access {
	uint64_t datum; /* object.h */
	uint32_t size_bytes;
	uint32_t object;
	uint32_t large;	 /* number of the large block (block.h) in the object; 0: none */
	uint32_t block;	 /* the object that edges name in its place; COMM_ID_OTHER: none */
	uint32_t site;	 /* ids.h; COMM_SITE_KERNEL for kernel copies */
	uint16_t flags;	 /* enum comm_access_flags */
	uint16_t insn;	 /* position in the burst; in accesses where these are sampled */
	float cycle;	 /* position in time, cycles after the sample */
	float known;	 /* share of this instruction's accesses whose address
			     was known so far, (0, 1] */
	uint64_t ip_key; /* names the static instruction */
};

static inline uint32_t comm_access_shown(const struct comm_access *access)
{
	return access->block ? access->block : access->object;
}

/*
 * What estimators take for one object: the large block, by a number that no object has, or the
 * object.
 */
#define COMM_WHOLE_LARGE (1U << 31)

static inline uint32_t comm_access_whole(const struct comm_access *access)
{
	return access->large ? COMM_WHOLE_LARGE | access->large : access->object;
}

struct comm_access_burst {
	uint64_t time_ns;
	uint32_t thread;  /* ids.h */
	uint32_t creator; /* of the thread; COMM_ID_OTHER: not known */
	uint32_t initial; /* the first thread of its process; COMM_ID_OTHER: not known */
	uint32_t role;	  /* threads of one are alike, as those of a pool; 0: not known */
	uint16_t cpu;
	bool exact;	    /* stands for .period accesses, no position to correct for */
	uint32_t trigger;   /* enum comm_trigger: unit of .period */
	uint64_t period;    /* what one sample stands for */
	uint32_t n_insns;   /* accesses, where these are sampled */
	uint32_t n_unknown; /* accesses whose address is not known, besides these */
	bool yields;	    /* it ends as the thread leaves the CPU to others (burst.h) */
	float cycles;	    /* of the whole burst; 0 for precise accesses */
	uint32_t n;
	const struct comm_access *access;
	struct comm_frame_at frame; /* where the process was in its frames */
};

/* A word that was read, and what the census saw become of it (census.h). */
struct comm_word {
	uint32_t object, site; /* comm_access_whole() of the read, and its site */
	uint32_t class;	       /* enum comm_census_class */
	double bytes;	       /* read, that the word stands for */
};

/*
 * A thread was the first to write these pages since they were mapped, some time before
 * time_ns.  Of what is written once this is the writing thread; site is the code that
 * filled them, or COMM_SITE_FIRST_WRITE: what touches a single page is mostly the allocator.
 * What the loader wrote in pages of a file it has relocated if it has made them constant since, and
 * else it is no more than some of their data.
 */
struct comm_touch {
	uint64_t time_ns;
	uint64_t datum, size_bytes;
	uint32_t thread, site;
	bool of_file; /* in pages of a file, */
	bool loads;   /* by the loader */
};

/* The function (ids.h) that a site is in. */
typedef uint32_t comm_function_of_fn(const void *ctx, uint32_t site);

struct comm_est_config {
	uint32_t granularity_bytes; /* 8 by default; a power of two, 1..4096 */
	double cycles_per_ns;	    /* for COMM_TRIGGER_TIME; the nominal clock */
	/*
	 * Bound of the estimator's own tables, of which pages are touched as they
	 * fill; one of less than 4 MiB counts as 4 MiB.  0: create() says -EINVAL.
	 */
	uint64_t memory_bytes;
	comm_function_of_fn *function_of; /* NULL: each site counts as a function */
	const void *sites;		  /* its ctx; outlives the estimator */
};

struct comm_est_ops {
	const char *name;
	/* What its edges err by besides their variance; stored with each run. */
	struct comm_error_model error_model;
	int (*create)(const struct comm_est_config *config, void **ret);
	void (*destroy)(void *est);
	/*
	 * In order of time, as the merge delivers.  An error of this or of the
	 * next three says that what was handed over is not taken.
	 */
	int (*burst)(void *est, const struct comm_access_burst *burst);
	/*
	 * A process has begun a program, of which thread is the initial one: what it reads
	 * is written in this run.  Optional.
	 */
	void (*began)(void *est, uint64_t time_ns, uint32_t thread);
	/* A thread has ended: it has no burst any more; COMM_ID_OTHER: one that had none.  Optional. */
	void (*ended)(void *est, uint32_t thread);
	/* In order of time, of when it was told.  Optional: absent means unknown. */
	void (*touch)(void *est, const struct comm_touch *touch);
	/* In order of time, of when the word was settled.  Optional. */
	void (*word)(void *est, const struct comm_word *word);
	/* Thread went on or off a CPU.  Optional: absent means unknown. */
	int (*sched)(void *est, uint64_t time_ns, uint32_t thread, bool on_cpu);
	/* Switches were missed: nothing is known any more of who runs.  Optional. */
	void (*sched_lost)(void *est, uint64_t time_ns);
	/*
	 * Estimates the reads of [start_ns, end_ns) and emits each edge once.
	 * What it needs of older accesses it has kept, within its bound.  An error:
	 * edges are missing.  What *ret_unwritten points to is valid until the next call.
	 */
	int (*slice)(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit, void *ctx,
		     struct comm_unwritten *ret_unwritten);
	/* Both from the start on, and optional: accesses dropped for memory ... */
	uint64_t (*thinned)(const void *est);
	/* ... and how often bytes went to an edge of "(other)" for memory. */
	uint64_t (*folded)(const void *est);
};

extern const struct comm_est_ops comm_est_hazard;

/* The one that this program has. */
const struct comm_est_ops *comm_estimator(void);

/* The bound that an estimator made from config keeps to; 0: none was set. */
uint64_t comm_est_memory(const struct comm_est_config *config);

#endif
