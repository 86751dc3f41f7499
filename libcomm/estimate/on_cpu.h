/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-CPU time: how long a thread ran between two instants, from scheduling
 * events.  Each thread keeps its latest switches; before the oldest one kept it
 * is assumed to have run at its mean share.  A thread without any switch is
 * taken to run all the time.
 */
#ifndef COMM_ON_CPU_H
#define COMM_ON_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct comm_on_cpu;

enum {
	COMM_ON_CPU_SWITCHES = 1024, /* most switches kept of one thread */
};

int comm_on_cpu_create(uint64_t memory_bytes, struct comm_on_cpu **ret);
void comm_on_cpu_destroy(struct comm_on_cpu *times);

/* In order of time.  -ENOMEM: not taken. */
int comm_on_cpu_switch(struct comm_on_cpu *times, uint64_t time_ns, uint32_t thread, bool on_cpu);
/*
 * Switches were missed: from time_ns on nothing is known of who runs.  The clocks
 * go on from where they are.
 */
void comm_on_cpu_forget(struct comm_on_cpu *times, uint64_t time_ns);
/* On-CPU ns of the thread from some fixed instant of its own up to time_ns. */
double comm_on_cpu_at(const struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns);
/*
 * The same, and for how long it ran or waited by then.  Times around this one
 * will be asked next: a hint, which changes no answer.
 */
double comm_on_cpu_now(struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns, bool *ret_on,
		       uint64_t *ret_since_ns);

#endif
