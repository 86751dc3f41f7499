/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs could not note of the threads whose records the daemon has: until that is made
 * good, they tell of all strangers' lives (struct comm_raw_ctl, tell_all).
 *
 * One thread uses it, beside BPF programs on all CPUs.
 */
#ifndef COMM_BPF_UNTOLD_H
#define COMM_BPF_UNTOLD_H

#include <stdint.h>

struct comm_raw_ctl; /* sample_event.h */

/*
 * Tries note() on each, and ends tell_all where all are noted.  note: 0, or -errno: again at the next call.
 */
void comm_bpf_untold_note(struct comm_raw_ctl *ctl, int (*note)(void *ctx, uint32_t id), void *ctx);

#endif
