/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources: where events come from while the target runs.  Each is one file and
 * one line in comm_sources[].  A source knows neither the budget (governor.h)
 * nor what becomes of its events.
 *
 * One thread uses a source.  Life: open, start, (drain | set_rate | stats)*,
 * stop, drain once more for what stood in the rings, close.
 *
 * Errors: 0 or -errno; where there is a char **err, it gets a sentence for the
 * user on failure (malloc'ed, the caller frees).
 */
#ifndef COMM_SOURCE_H
#define COMM_SOURCE_H

#include <stdbool.h>

#include "event.h"
#include "merge.h"
#include "target.h"

enum comm_want_trigger {
	COMM_WANT_ANY, /* instructions where they are counted, else time */
	COMM_WANT_TIME,
	COMM_WANT_INSTRUCTIONS,
};

struct comm_source_config {
	struct comm_target *target; /* the source adds children to it */
	enum comm_want_trigger trigger;
	uint64_t period;      /* to begin with; 0: 1 ms or 3 million instructions */
	uint32_t stack_bytes; /* a multiple of 64, at most 2048; 0: none */
	uint32_t max_lines;   /* 64-byte lines at pointers, at most 16 */
	bool switches;	      /* scheduling events */
	bool no_samples;      /* bpf: only what else it gives, for another source */
	const char *arg;      /* what stood behind the name's colon; "" or NULL: nothing */
	uint32_t watch_per_s; /* watchpoints armed per second, of a source that watches */
};

/* Sensible values; target is left NULL. */
extern const struct comm_source_config comm_source_defaults;

struct comm_source_info {
	const char *event; /* what really triggers: "cpu-clock" */
	enum comm_trigger trigger;
	bool per_cpu; /* every CPU is sampled: period can be set per CPU */
	bool ticks;   /* can take samples at the scheduler's ticks, too */
	bool sees_kernel_copies, sees_switches, sees_maps;
	unsigned int n_cpus; /* possible CPUs: bound of a CPU number, plus 1 */
	unsigned int n_fds;
	const char *notes; /* "" or what is missing, a sentence */
};

/* All grow from start on. */
struct comm_source_stats {
	uint64_t interrupts; /* of ours that fired; where idle CPUs are told apart, on the others */
	uint64_t hits;	     /* that met a target, and ticks that did */
	uint64_t tick_hits;
	uint64_t samples, kcopies;
	uint64_t handler_ns; /* time in our code, without the interrupt's own */
	uint64_t lines, failed_reads;
	uint64_t switches;     /* of targets, reported or not */
	uint64_t switches_out; /* reported */
	uint64_t switch_ns;    /* time spent on them, 0: not measured */
	uint64_t loss[COMM_LOSS_MAX];
	uint64_t period; /* in effect; a source may be slow to take a new one */
};

struct comm_source_rate {
	uint64_t period;
	bool switches; /* false: not even called; COMM_LOSS_BUDGET grows by 1 */
	bool lines;
	unsigned int tick_every; /* one in so many ticks is a sample besides; 0: none */
	/*
	 * Shift by which a CPU's period is longer, n_cpus of them, for CPUs that
	 * no target runs on; NULL: none.  Samples carry their own period.
	 */
	const uint8_t *park;
};

struct comm_source {
	const char *name;
	const char *help; /* one line */
	bool watches;	  /* takes watch_per_s */
	/* Could it be used by this process, here and now? */
	int (*probe)(char **why);
	int (*open)(const struct comm_source_config *config, void **ret, char **err);
	void (*info)(const void *source, struct comm_source_info *ret);
	int (*start)(void *source, char **err);
	/* Readable when there is much to drain; -1: poll every 10..100 ms. */
	int (*fd)(const void *source);
	/*
	 * Pushes all that is there and then what was lost.  Returns how many
	 * events, or -errno.
	 */
	int (*drain)(void *source, comm_event_fn *push, void *ctx);
	int (*set_rate)(void *source, const struct comm_source_rate *rate);
	void (*stats)(void *source, struct comm_source_stats *ret);
	/* When a target was last seen on each CPU; n_cpus values.  May be NULL. */
	void (*seen)(const void *source, uint64_t *ret_ns);
	void (*stop)(void *source);
	void (*close)(void *source);
};

extern const struct comm_source comm_source_kmod; /* kmod.c */
extern const struct comm_source comm_source_bpf;  /* bpf.c */
extern const struct comm_source comm_source_perf; /* perf.c */

/* NULL-terminated, best first. */
extern const struct comm_source *const comm_sources[];
/* NULL or "auto": the first that probe() accepts; *err says why none. */
const struct comm_source *comm_source_find(const char *name, char **err);

/* Readies *err with a formatted sentence; returns error for `return` lines. */
__attribute__((format(printf, 3, 4))) int comm_source_fail(char **err, int error, const char *fmt,
							   ...);

#endif
