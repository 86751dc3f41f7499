/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sampler: the part of a source that samples a live target, driven by live.c.  It
 * turns what happens to the target into events; it knows neither the budget
 * (governor.h) nor the consumers of its events.
 *
 * One thread uses a sampler.  Life: open, start, (drain | set_rate | stats)*, stop,
 * drain once more to empty the rings, close.
 *
 * Errors: 0 or -errno; where there is a char **err, it gets a sentence for the user
 * on failure (malloc'ed, the caller frees).
 */
#ifndef COMM_SAMPLER_H
#define COMM_SAMPLER_H

#include <stdbool.h>

#include "burst.h"
#include "event.h"
#include "hook.h"
#include "inspect.h"
#include "marks.h"
#include "merge.h"
#include "region_probe.h"
#include "target.h"

enum comm_want_trigger {
	COMM_WANT_ANY, /* instructions where the machine counts them, else time */
	COMM_WANT_TIME,
	COMM_WANT_INSTRUCTIONS,
};

enum {
	COMM_SAMPLER_STACK_MAX = 2048,
	COMM_SAMPLER_LINES_MAX = 40,
	COMM_DEBUG_REGISTERS = 4, /* that an x86 CPU has for breakpoints */
};

enum { COMM_COUNTER_LIST_MAX = 8 };

/* Perf events to be counted for each thread, by name (counter_event.h). */
struct comm_counter_list {
	bool wanted; /* threads are to be counted, if by the kernel's own totals alone */
	unsigned int n;
	char name[COMM_COUNTER_LIST_MAX][COMM_COUNTER_BYTES];
};

struct comm_sampler_config {
	struct comm_target *target; /* the sampler adds children to it */
	enum comm_want_trigger trigger;
	uint64_t period;      /* at the start; 0: 1 ms or 3 million instructions */
	uint32_t stack_bytes; /* a multiple of 64, 64 to COMM_SAMPLER_STACK_MAX */
	uint32_t max_lines;   /* 64-byte lines at pointers, at most COMM_SAMPLER_LINES_MAX */
	bool switches;	      /* scheduling events */
	/* Some functions' reads alone count (struct comm_burst_access): a sampler may take fewer samples elsewhere. */
	bool chooses;
	const char *arg;	  /* text behind the colon of the source's name; NULL: nothing */
	uint32_t watch_per_s;	  /* windows opened per second, by a sampler that watches */
	uint32_t debug_registers; /* of each CPU, that its windows may take */
	const struct comm_region_probe_list *probes; /* regions; NULL: none */
	struct comm_inspect
		*inspect; /* live, to read memory of targets with; NULL: nothing is read */
	const struct comm_counter_list
		*counters; /* NULL: not wanted; used by samplers that count */
	uint32_t
		interrupt_ns; /* what a sampling interrupt costs beside its handler; 0: not known */
};

/* Sensible values; target is left NULL. */
extern const struct comm_sampler_config comm_sampler_defaults;

struct comm_sampler_info {
	const char *event; /* name of the chosen trigger event: "cpu-clock" */
	enum comm_trigger trigger;
	bool per_cpu; /* every CPU is sampled: period can be set per CPU */
	bool ticks;   /* can take samples at the scheduler's ticks, too */
	bool sees_kernel_copies, sees_switches, sees_maps;
	unsigned int n_cpus; /* possible CPUs: bound of a CPU number, plus 1 */
	unsigned int n_fds;
	const char *notes; /* "" or a sentence that says what is missing */
};

/* Counters since start. */
struct comm_sampler_stats {
	uint64_t interrupts; /* of our events; not on idle CPUs where they are told apart */
	uint64_t drained;    /* of the interrupts: none, but records that came with another's */
	uint64_t hits;	     /* interrupts and ticks that met a target */
	uint64_t tick_hits;
	uint64_t samples, kcopies;
	uint64_t handler_ns; /* time in our code, without the interrupt's own */
	uint64_t lines, failed_reads;
	uint64_t switches;	      /* of targets' threads, reported or not */
	uint64_t switches_out;	      /* reported */
	uint64_t switch_ns;	      /* time spent on reported switches, 0: not measured */
	uint64_t life_ns;	      /* time spent on forks, execs, exits and mappings */
	uint64_t hook_ns[COMM_HOOKS]; /* and on what can be taken away */
	uint64_t loss[COMM_LOSS_MAX];
	uint64_t period; /* in effect; a sampler may be slow to take a new one */
};

struct comm_sampler_rate {
	uint64_t period;
	bool switches; /* false: not traced at all; COMM_LOSS_BUDGET grows by 1 */
	bool lines;
	unsigned int tick_every; /* one in so many ticks is a sample besides; 0: none */
	/*
	 * So many forks and execs of threads that no sample met are told in a second;
	 * UINT32_MAX: all.  COMM_LOSS_STRANGERS counts the rest.
	 */
	uint32_t strangers_per_s;
	uint32_t hooks_off; /* bits by enum comm_hook: their programs are detached */
	/*
	 * n_cpus shifts: the period of a CPU on which no target runs is longer by its
	 * shift; NULL: all 0.  Samples carry their own period.
	 */
	const uint8_t *park;
};

struct comm_sampler {
	bool watches;	 /* opens windows itself: uses watch_per_s */
	bool probes;	 /* sees regions between probes: uses probes */
	bool late_marks; /* reads marks a while after its samples (late_marks.h) */
	int (*open)(const struct comm_sampler_config *config, void **ret, char **err);
	void (*info)(const void *sampler, struct comm_sampler_info *ret);
	int (*start)(void *sampler, char **err);
	/*
	 * A file descriptor that is readable when there is much to drain; -1: poll
	 * every 10..100 ms.
	 */
	int (*fd)(const void *sampler);
	/*
	 * Call before a drain.  If that gives nothing, the next event makes the descriptor readable that is returned,
	 * if wanted, so that nobody has to look for it meanwhile.  NULL: nothing tells of one.
	 */
	int (*wake)(void *sampler, bool wanted);
	/* Pushes all events that are there, then losses.  Returns how many events, or -errno. */
	int (*drain)(void *sampler, comm_event_fn *push, void *ctx);
	int (*set_rate)(void *sampler, const struct comm_sampler_rate *rate);
	void (*stats)(void *sampler, struct comm_sampler_stats *ret);
	/* When a target was last seen on each CPU; n_cpus values.  May be NULL. */
	void (*seen)(const void *sampler, uint64_t *ret_ns);
	/* Process tgid has marks, and there. */
	void (*marks)(void *sampler, uint32_t tgid, const struct comm_marks_place *place);
	/* The engine has computed this burst from event, a sample.  NULL: of no use to the sampler. */
	void (*burst)(void *sampler, const struct comm_event *event,
		      const struct comm_burst *burst);
	/*
	 * Time that all CPUs have spent in string instructions (rep movs, rep stos) while this was watched for, by
	 * samples, ns; watch: from now on.  UINT64_MAX: this sampler cannot tell.  NULL: none ever can.
	 */
	uint64_t (*strings_ns)(void *sampler, bool watch);
	/*
	 * Pushes by how much the counters of each thread have grown since the last call, as of
	 * time_ns; returns how many events.  NULL: the sampler does not count.
	 */
	int (*count)(void *sampler, uint64_t time_ns, comm_event_fn *push, void *ctx);
	/*
	 * The name of a thread that had tid at time_ns, has ended since, and of which no event came; false: not known.
	 * NULL: none ever is.
	 */
	bool (*ended_name)(void *sampler, uint32_t tgid, uint32_t tid, uint64_t time_ns,
			   char ret_name[16]);
	void (*stop)(void *sampler);
	void (*close)(void *sampler);
};

/* For open: is the config within the bounds above?  -EINVAL. */
int comm_sampler_check(const struct comm_sampler_config *config, char **err);

#endif
