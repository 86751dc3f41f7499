/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events from BPF besides samples: fork, exec, exit, renaming, mappings and context
 * switches of the targets, for any sampler that has no such events itself.  Keeps the
 * filter by which bpf/capture.bpf.c knows the targets, and adds the children of fork
 * events to the target.
 *
 * The sampling programs are in the same object, because they share the filter and the
 * counters; they are loaded only for bpf.c, which owns them.
 *
 * One thread uses it.  Life: open, start, (drain | set_switches | stats)*, stop,
 * drain, close.  Errors: 0 or -errno; *err gets a sentence (malloc'ed).
 */
#ifndef COMM_BPF_LIFE_H
#define COMM_BPF_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler.h"

struct comm_bpf_life;
struct capture_bpf;  /* capture.skel.h */
struct comm_raw_cpu; /* sample_event.h */

struct comm_bpf_life_config {
	struct comm_target *target;
	bool switches;
	const struct comm_counter_list *counters; /* NULL: not wanted */
	/*
	 * Called before the object is loaded, to choose and configure its sampling
	 * programs; NULL: none.
	 */
	void (*with_samples)(void *ctx, struct capture_bpf *bpf);
	void *ctx;
};

struct comm_bpf_life_info {
	bool sees_switches, sees_maps;
	unsigned int n_cpus; /* possible CPUs: bound of a CPU number, plus 1 */
	const char *notes;   /* "" or a sentence that says what is missing */
};

int comm_bpf_life_probe(char **why);
int comm_bpf_life_open(const struct comm_bpf_life_config *config, struct comm_bpf_life **ret,
		       char **err);
void comm_bpf_life_close(struct comm_bpf_life *life);
void comm_bpf_life_info(const struct comm_bpf_life *life, struct comm_bpf_life_info *ret);

/* From then on no fork is missed; children forked before are found now. */
int comm_bpf_life_start(struct comm_bpf_life *life, char **err);
/* Detaches all programs, the sampling ones too. */
void comm_bpf_life_stop(struct comm_bpf_life *life);

/*
 * Pushes all events that are there, samples too; the caller pushes losses, from
 * comm_bpf_life_stats().  Returns how many events, or -errno.
 */
/*
 * Whether the next record is to make the descriptor readable that is returned, once: from the next drain
 * on, which takes what has come before.
 */
int comm_bpf_life_wake(struct comm_bpf_life *life, bool wanted);
int comm_bpf_life_drain(struct comm_bpf_life *life, comm_event_fn *push, void *ctx);
/*
 * Off: the programs for first writes of pages are detached, for 10 s at least; each time
 * COMM_LOSS_TOUCH grows by 1.
 */
void comm_bpf_life_set_touches(struct comm_bpf_life *life, bool on);
/* How many forks and execs of threads without a record are told in a second; UINT32_MAX: all. */
void comm_bpf_life_set_strangers(struct comm_bpf_life *life, uint32_t per_s);
/* Detaches the program of names where its bit is set (enum comm_hook); each time COMM_LOSS_NAMES grows by 1. */
void comm_bpf_life_set_hooks(struct comm_bpf_life *life, uint32_t off);
/* Off: the program is detached; each time it is turned off, COMM_LOSS_BUDGET grows by 1. */
int comm_bpf_life_set_switches(struct comm_bpf_life *life, bool on);
/* See struct comm_sampler. */
int comm_bpf_life_count(struct comm_bpf_life *life, uint64_t time_ns, comm_event_fn *push,
			void *ctx);
/* Adds this module's counters to *ret: switches, and losses by cause. */
void comm_bpf_life_stats(const struct comm_bpf_life *life, struct comm_sampler_stats *ret);
/* When a target was last seen on each CPU; n_cpus values. */
void comm_bpf_life_seen(const struct comm_bpf_life *life, uint64_t *ret_ns);

/* The BPF object, for bpf.c, which attaches the sampling programs. */
struct capture_bpf *comm_bpf_life_object(struct comm_bpf_life *life);
/* n_cpus structs, shared with the BPF programs. */
volatile struct comm_raw_cpu *comm_bpf_life_cpus(struct comm_bpf_life *life);
/* Makes the rings of an array of maps; drain() reads them, too: each record goes to fn. */
int comm_bpf_life_add_rings(struct comm_bpf_life *life, int array_fd,
			    int (*fn)(void *ctx, void *data, size_t size), void *ctx);

#endif
