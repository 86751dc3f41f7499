// SPDX-License-Identifier: GPL-2.0-or-later
#include "live_events.h"

#include "clock.h"
#include "stop.h"

static void deliver(void *ctx, const struct comm_event *event)
{
	struct comm_live_events *events = ctx;

	comm_engine_event(events->session->engine, event);
	if (event->kind == COMM_EV_EXEC ||
	    (event->kind == COMM_EV_EXIT && event->tid == event->tgid))
		comm_companions_gone(events->companions, event->tgid);
	if (events->record)
		comm_record_event(events->record, event);
}

static bool is_over(void *ctx)
{
	const struct comm_live_events *events = ctx;
	uint64_t told_ns = comm_stop_told_ns();
	uint64_t over_ns = told_ns < events->end_ns ? told_ns : events->end_ns;

	return over_ns != UINT64_MAX && comm_clock_now_ns() > over_ns + COMM_LIVE_LAST_NS;
}

int comm_live_events_open(struct comm_live_events *events)
{
	int err = comm_merge_create(deliver, events, &events->merge);

	if (!err)
		comm_merge_until(events->merge, is_over);
	return err;
}

void comm_live_events_close(struct comm_live_events *events)
{
	comm_merge_destroy(events->merge);
}

/* A thread that a window meets and no sample did may have ended since: its name comes before it. */
static void push_name(struct comm_live_events *events, uint64_t now_ns, uint32_t tgid, uint32_t tid,
		      uint64_t time_ns)
{
	const struct comm_live_source *source = events->source;
	struct comm_event event = {
		.kind = COMM_EV_RENAME, .time_ns = now_ns - 1, .tgid = tgid, .tid = tid};

	if (source->sampler->ended_name(source->handle, tgid, tid, time_ns, event.name) &&
	    comm_gate_passes(&events->gate, &event))
		comm_merge_push(events->merge, &event);
}

void comm_live_events_push(void *ctx, const struct comm_event *event)
{
	struct comm_live_events *events = ctx;

	if (!comm_gate_passes(&events->gate, event))
		return;
	if (event->kind == COMM_EV_FED && events->source->sampler->ended_name) {
		push_name(events, event->time_ns, event->fed.read_tgid, event->fed.read_tid,
			  event->fed.read_ns);
		push_name(events, event->time_ns, event->tgid, event->tid, event->fed.write_ns);
	}
	comm_merge_push(events->merge, event);
}

void comm_live_events_lost(struct comm_live_events *events, uint64_t now_ns, enum comm_loss cause,
			   uint64_t total)
{
	const struct comm_event event = {.time_ns = now_ns,
					 .kind = COMM_EV_LOSS,
					 .cause = cause,
					 .count = total - events->told[cause]};

	if (event.count)
		comm_live_events_push(events, &event);
	events->told[cause] = total;
}

void comm_live_events_cut(struct comm_live_events *events, uint64_t cut_ns)
{
	comm_live_events_lost(events, cut_ns, COMM_LOSS_LATE, comm_merge_late(events->merge));
	comm_merge_cut(events->merge, cut_ns);
	comm_live_events_lost(events, cut_ns, COMM_LOSS_UNFINISHED,
			      comm_merge_unfinished(events->merge));
	comm_engine_advance(events->session->engine, comm_merge_passed_ns(events->merge));
}

uint64_t comm_live_events_finish(struct comm_live_events *events)
{
	uint64_t end_ns;

	comm_merge_flush(events->merge);
	end_ns = comm_clock_now_ns();
	comm_live_events_lost(events, end_ns, COMM_LOSS_UNFINISHED,
			      comm_merge_unfinished(events->merge));
	comm_merge_flush(events->merge);
	return end_ns;
}
