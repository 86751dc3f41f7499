/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A memory PMU in software: perf record -e commprof/mem/ -d works on a machine
 * whose hardware has none.  The period is nanoseconds.  It knows addresses and
 * directions, never cache levels: it says so instead of guessing.
 */
#ifndef CP_SOFTPMU_H
#define CP_SOFTPMU_H

#include <linux/types.h>

int cp_softpmu_init(void);
void cp_softpmu_exit(void);
/* perf_event_attr.type of it; 0: not registered. */
u32 cp_softpmu_type(void);

#endif
