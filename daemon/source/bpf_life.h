/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What BPF tells besides samples: fork, exec, exit, renaming, mappings and context
 * switches of the targets, for any sampler that cannot tell them itself.  Keeps the
 * filter by which bpf/capture.bpf.c knows the targets, and adds the children that
 * it hears of to the target.
 *
 * The sampling programs are in the same object, because they share the filter and
 * the counters; they are left out unless bpf.c, whose they are, asks for them.
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
	/* Chooses and readies the sampling programs before all is loaded; NULL: none. */
	void (*with_samples)(void *ctx, struct capture_bpf *bpf);
	void *ctx;
};

struct comm_bpf_life_info {
	bool sees_switches, sees_maps;
	unsigned int n_cpus; /* possible CPUs: bound of a CPU number, plus 1 */
};

int comm_bpf_life_probe(char **why);
int comm_bpf_life_open(const struct comm_bpf_life_config *config, struct comm_bpf_life **ret,
		       char **err);
void comm_bpf_life_close(struct comm_bpf_life *life);
void comm_bpf_life_info(const struct comm_bpf_life *life, struct comm_bpf_life_info *ret);

/* From then on no fork is missed; what came before is found now. */
int comm_bpf_life_start(struct comm_bpf_life *life, char **err);
/* Detaches all programs, the sampling ones too. */
void comm_bpf_life_stop(struct comm_bpf_life *life);

/*
 * Pushes all that is there, of samples too; what was lost is for the caller to tell,
 * of the statistics.  Returns how many events, or -errno.
 */
int comm_bpf_life_drain(struct comm_bpf_life *life, comm_event_fn *push, void *ctx);
/* Off: not even called; each time it is, COMM_LOSS_BUDGET grows by 1. */
int comm_bpf_life_set_switches(struct comm_bpf_life *life, bool on);
/* Adds its own: switches, and losses by cause. */
void comm_bpf_life_stats(const struct comm_bpf_life *life, struct comm_sampler_stats *ret);
/* When a target was last seen on each CPU; n_cpus values. */
void comm_bpf_life_seen(const struct comm_bpf_life *life, uint64_t *ret_ns);

/* For the sampling programs. */
struct capture_bpf *comm_bpf_life_object(struct comm_bpf_life *life);
/* n_cpus of them, shared with the programs. */
volatile struct comm_raw_cpu *comm_bpf_life_cpus(struct comm_bpf_life *life);
/* Drained with the others, in drain(): each record goes to fn. */
int comm_bpf_life_add_ring(struct comm_bpf_life *life, int map_fd,
			   int (*fn)(void *ctx, void *data, size_t size), void *ctx);

#endif
