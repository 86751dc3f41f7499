/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of the targets' threads, as BPF programs keep them (bpf/counts.h): reads them, and pushes
 * by how much each has grown.  Part of bpf_life.c, which attaches the program at the scheduler's
 * switches, without which no perf events are counted.
 *
 * One thread uses it.  Life: create before privileges go, start, (attached | detach | read)*, destroy.
 */
#ifndef COMM_BPF_COUNTS_H
#define COMM_BPF_COUNTS_H

#include <stdint.h>

#include "merge.h"
#include "sampler.h"

struct capture_bpf;
struct comm_bpf_counts;

/*
 * The object is loaded; there are n_cpus possible CPUs.  Opens the events of the list, on all
 * CPUs that have them.  -ENODEV, ...: *err is a sentence; no CPU has one of them.
 */
int comm_bpf_counts_create(struct capture_bpf *bpf, unsigned int n_cpus,
			   const struct comm_counter_list *events, struct comm_bpf_counts **ret,
			   char **err);
void comm_bpf_counts_destroy(struct comm_bpf_counts *counts);

/* The targets are set: from now on their threads are counted. */
int comm_bpf_counts_start(struct comm_bpf_counts *counts, char **err);
/*
 * Just before the program at switches is attached: what was noted before says nothing of then, nor what it notes while it
 * is being detached.
 */
void comm_bpf_counts_attaching(struct comm_bpf_counts *counts);
/* Just after it was. */
void comm_bpf_counts_attached(struct comm_bpf_counts *counts);
/* Just before it is detached: who runs gets what the events have counted, and from then on nobody does. */
void comm_bpf_counts_detach(struct comm_bpf_counts *counts);
/* Pushes COMM_EV_COUNT events of time_ns; returns how many. */
int comm_bpf_counts_read(struct comm_bpf_counts *counts, uint64_t time_ns, comm_event_fn *push,
			 void *ctx);

#endif
