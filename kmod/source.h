/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources are a table: each says how to fill a perf_event_attr, and what a
 * sample of it means.  Everything else (opening per CPU, budget, filters, rings)
 * is the same for all and lives in source.c.
 */
#ifndef CP_SOURCE_H
#define CP_SOURCE_H

#include <linux/perf_event.h>

#include "capture.h"
#include "commprof.h"

struct cp_session;
struct cp_percpu;
struct cp_ring;
struct cp_mark_place;
struct cp_source_ops;

struct cp_src {
	struct cp_session *session;
	const struct cp_source_ops *ops;
	struct cp_source config;
	struct cp_capture capture;
	bool pointees;		     /* take what registers point to, now */
	struct perf_event_attr attr; /* what the probe found to work */
	u16 id;
};

/* One interrupt on its way through the handler. */
struct cp_hit {
	struct cp_src *src;
	struct perf_event *event; /* NULL: a watchpoint's trap, which stands for itself alone */
	struct cp_percpu *percpu;
	struct cp_ring *ring;
	struct perf_sample_data *data;
	struct pt_regs *regs;
	u64 time_ns;
	u64 period;
	struct cp_mark_place *mark; /* NULL: no marks are to be told */
	u64 frame;		    /* in which the process is, 0: it tells none */
	u8 context;
};

struct cp_source_ops {
	const char *name;
	u32 period_step; /* periods are multiples of it */
	u32 flags;	 /* of enum cp_source_flags: those that make sense */
	u32 attempts;	 /* ways to open it, best first */
	/* -EINVAL: this attempt does not apply. */
	int (*fill_attr)(const struct cp_source *config, u32 attempt, struct perf_event_attr *attr);
	/* -EINVAL: a field that makes no sense for this source. */
	int (*probe)(const struct cp_source *config);
	/* The sample is a target's; in user mode unless KERNEL or COPIES was asked for. */
	void (*decode)(struct cp_hit *hit);
};

extern const struct cp_source_ops cp_source_soft;
extern const struct cp_source_ops cp_source_pebs;
extern const struct cp_source_ops cp_source_ibs;

/* Checks the request and finds, by opening it, how to open it. */
int cp_source_init(struct cp_src *src, struct cp_session *session, struct cp_source *config);
/* Under the session's mutex; -ENOENT: this PMU does not serve that CPU, -ENODEV: it is away. */
int cp_source_open(struct cp_src *src, unsigned int cpu);
void cp_source_close(struct cp_src *src, unsigned int cpu);
/* Under the session's mutex, at any time; cpu may be CP_RATE_EVERY_CPU. */
int cp_source_rate(struct cp_src *src, u32 cpu, u64 period);
int cp_source_pointees(struct cp_src *src, u32 on);

/* For the decoders. */
void cp_hit_head(const struct cp_hit *hit, struct cp_record *head, u16 type);
/* type: CP_REC_ACCESS or CP_REC_COPY */
void cp_hit_access(const struct cp_hit *hit, const struct cp_access *access, u16 type);
/* A precise sample: address, direction, latency and data source are in data. */
void cp_hit_precise(struct cp_hit *hit);
/* Is it user code of 64 bits?  Of regs, the code segment cannot tell. */
bool cp_hit_is_64bit(void);

#endif
