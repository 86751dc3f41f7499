/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions between probes and frames that begin at one (region_probe.h), attached by BPF in all processes that have the file
 * mapped, now or later, and switched on there if they have a semaphore.  From then on each costs its
 * thread a trap, which no budget holds.  One thread uses it.
 */
#ifndef COMM_BPF_PROBES_H
#define COMM_BPF_PROBES_H

#include "region_probe.h"

struct comm_bpf_probes;

/* The maps of threads in regions and of processes' frames, which bpf/capture.bpf.c reads. */
int comm_bpf_probes_open(const struct comm_region_probe_list *list, int regions_fd, int frames_fd,
			 struct comm_bpf_probes **ret, char **err);
/* Detaches all of them. */
void comm_bpf_probes_close(struct comm_bpf_probes *probes);

#endif
