/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-CPU time: how long a thread ran between two instants, from scheduling events.  Each thread keeps its latest
 * switches; before the oldest one kept it is assumed to have run at its mean share.
 *
 * Where switches are not told, to stay in a budget or at all, a thread's bursts tell: it ran around each of them,
 * and else it did not.  A thread that has fallen silent is not taken to go on.  One of which neither was ever seen
 * is taken to run all the time.
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
 * A burst met the thread; period_ns is the mean CPU time of a thread between two.  Where its switches are not
 * told, it is taken to have run for two of these before and after: of one that runs all the time a gap in e^4 is
 * longer than that.  In order of time.  -ENOMEM: not taken.
 */
int comm_on_cpu_met(struct comm_on_cpu *times, uint64_t time_ns, uint32_t thread,
		    uint64_t period_ns);
/* Switches were missed: from time_ns on nothing but bursts tells who runs.  The clocks go on from where they are. */
void comm_on_cpu_forget(struct comm_on_cpu *times, uint64_t time_ns);
/* On-CPU ns of the thread from some fixed instant of its own up to time_ns. */
double comm_on_cpu_at(const struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns);
/*
 * The same, and for how long it ran or waited by then.  Times around this one
 * will be asked next: a hint, which changes no answer.
 */
double comm_on_cpu_now(struct comm_on_cpu *times, uint32_t thread, uint64_t time_ns, bool *ret_on,
		       uint64_t *ret_since_ns);

/*
 * The chance that a thread which was not met for off_ns, after it was taken to run, has run no more, rather than that its
 * bursts happened to stay away: 1 where switches tell.
 */
double comm_on_cpu_silent(const struct comm_on_cpu *times, uint32_t thread, uint64_t off_ns);

#endif
