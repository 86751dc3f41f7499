/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cap over the whole module: what its interrupts, IPIs and traps may take of a
 * CPU, those of all sessions and of commprof/mem/ together.  A session's own budget
 * (budget.h) lies below it and asks it; nobody else needs to.  All functions but
 * cp_cap_init() are for handlers: any context with interrupts off.
 */
#ifndef CP_CAP_H
#define CP_CAP_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "budget_user.h"
#endif

/* Measures what an interrupt costs beside the handler. */
void cp_cap_init(void);
/* False: this CPU's time for us is spent until the window ends. */
bool cp_cap_allows(u64 now_ns);
void cp_cap_charge(u64 ns);
/* The module parameter, and what cp_cap_init() has measured. */
u32 cp_cap_ppm(void);
u32 cp_cap_entry_ns(void);

#endif
