/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session of a source with one target, driven by a test, and sums of what was seen of it, compared
 * with what live_targets.h does.  To be included once by a test program.
 */
#ifndef TESTS_LIVE_SESSION_H
#define TESTS_LIVE_SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "live_targets.h"
#include "pace.h"
#include "source.h"

static int n_tests, n_failed;

struct seen {
	uint32_t tgid; /* 0: not checked */
	uint64_t n[32], loss[COMM_LOSS_MAX], kcopy_right, touched_pages, filled_pages,
		named_wrongly, touched_elsewhere, foreign, no_stack, no_code, wrong_code,
		behind_syscall;
	double period_ns, samples, passed_bytes;
	double handler_ns, daemon_ns, target_ns;
};

static inline void check(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++n_tests, name);
	n_failed += !ok;
}

static inline void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++n_tests, name, why);
}

static inline const struct comm_chunk *chunk_of(const struct comm_sample *s, uint64_t addr)
{
	int i;

	for (i = 0; i < s->n_chunks; i++)
		if (addr >= s->chunk[i].addr && addr < s->chunk[i].addr + s->chunk[i].len_bytes)
			return &s->chunk[i];
	return NULL;
}

/* Pages that were filled, and those of them that are told to be by other code than filled them. */
static inline void see_filled(struct seen *seen, const struct comm_precise *pages)
{
	uint64_t first = (pages->addr - (uint64_t)touched) / 4096, n = pages->size_bytes / 4096;

	seen->filled_pages += n;
	for (uint64_t i = first; turn_pages && i < first + n; i++)
		seen->named_wrongly += pages->ip - (uint64_t)filler((long)i) >= 64;
}

static inline void see(void *ctx, const struct comm_event *e)
{
	struct seen *seen = ctx;

	seen->n[e->kind]++;
	switch (e->kind) {
	case COMM_EV_SAMPLE: {
		const struct comm_sample *s = e->sample;
		const struct comm_chunk *code = chunk_of(s, s->ip);

		seen->foreign += seen->tgid && e->tgid != seen->tgid;
		seen->period_ns += (double)s->period;
		seen->no_stack += !chunk_of(s, s->reg[COMM_RSP]);
		seen->no_code += !code;
		seen->behind_syscall += comm_sample_is_behind_syscall(s);
		/* The child is a fork of ours: its text is at the same place. */
		if (code && s->ip > (uint64_t)&see - 0x100000 &&
		    s->ip < (uint64_t)&see + 0x100000 && seen->tgid)
			seen->wrong_code +=
				memcmp((const void *)s->ip,
				       s->data + code->offset + (s->ip - code->addr), 4) != 0 &&
				code->addr + code->len_bytes - s->ip >= 4;
		break;
	}
	case COMM_EV_KCOPY:
		if (e->access.flags & COMM_ACCESS_READ) {
			seen->kcopy_right += e->access.addr - (uint64_t)buffer < BUFFER_BYTES;
			seen->passed_bytes +=
				(double)e->access.period * (double)e->access.size_bytes;
			break;
		}
		seen->kcopy_right +=
			e->access.addr == (uint64_t)buffer && e->access.size_bytes == BUFFER_BYTES;
		break;
	case COMM_EV_TOUCH:
		if (e->access.addr - (uint64_t)touched < TOUCHED_BYTES && e->access.ip)
			seen->touched_pages += e->access.size_bytes / 4096;
		else
			seen->touched_elsewhere++;
		if (e->access.addr - (uint64_t)touched < TOUCHED_BYTES &&
		    e->access.flags & COMM_ACCESS_REP)
			see_filled(seen, &e->access);
		break;
	case COMM_EV_LOSS:
		seen->loss[e->cause] += e->count;
		break;
	case COMM_EV_COST:
		seen->handler_ns += (double)e->cost.handler_ns;
		seen->daemon_ns += (double)e->cost.daemon_ns;
		seen->target_ns += (double)e->cost.target_ns;
		break;
	default:
		break;
	}
}

/* Called once a process is a target and nothing is open; or NULL. */
static void (*attached)(pid_t pid);

struct session {
	const struct comm_sampler *sampler;
	void *handle;
	struct comm_target *target;
	struct comm_pace *pace;
};

static inline int begin(struct session *s, const struct comm_source *source, pid_t pid,
			double overhead, double hz, char **err)
{
	struct comm_sampler_config config = comm_sampler_defaults;
	int rc;

	memset(s, 0, sizeof(*s));
	s->sampler = source->sampler;
	comm_target_create(COMM_TARGET_PIDS, true, &s->target);
	rc = comm_target_add_pid(s->target, (uint32_t)pid, err);
	config.target = s->target;
	if (attached)
		attached(pid);
	if (!rc)
		rc = s->sampler->open(&config, &s->handle, err);
	if (!rc)
		rc = comm_pace_create(&(struct comm_pace_config){.sampler = s->sampler,
								 .handle = s->handle,
								 .target = s->target,
								 .overhead = overhead,
								 .rate_hz = hz,
								 .interrupt_ns = 15000},
				      &s->pace);
	return rc ? rc : s->sampler->start(s->handle, err);
}

static inline void end(struct session *s)
{
	comm_pace_destroy(s->pace);
	if (s->handle)
		s->sampler->close(s->handle);
	comm_target_destroy(s->target);
}

/* Drains for at least seconds, and for up to ten times that until enough samples came. */
static inline void watch(struct session *s, struct seen *seen, double seconds, uint64_t samples)
{
	uint64_t from = comm_clock_now_ns(), least = (uint64_t)(seconds * 1e9);

	while (comm_clock_now_ns() - from < least ||
	       (seen->n[COMM_EV_SAMPLE] < samples && comm_clock_now_ns() - from < 10 * least)) {
		usleep(50000);
		s->sampler->drain(s->handle, see, seen);
		comm_pace_tick(s->pace, comm_clock_now_ns(), see, seen);
	}
	s->sampler->stop(s->handle);
	s->sampler->drain(s->handle, see, seen);
}

static inline bool started(struct session *s, const struct comm_source *source, pid_t pid,
			   double overhead, double hz)
{
	char *err = NULL;
	int rc = begin(s, source, pid, overhead, hz, &err);

	if (rc)
		printf("# %s: %s (%s)\n", source->name, err ? err : "?", strerror(-rc));
	free(err);
	return !rc;
}

#endif
