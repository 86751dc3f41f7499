// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perfetto's trace of track events (protos/perfetto/trace in https://github.com/google/perfetto):
 * a track for each thread with its phases, a counter for each pair of threads, and in each phase
 * an arrow for each edge, from an instant on the writer's track to one on the reader's, which
 * have its bytes and interval.  No write and no read has the time of such an instant: an edge is
 * known to lie within its phase, and its instants are spread over it so that they can be seen.
 */
#include <errno.h>
#include <stdlib.h>

#include "exporter.h"
#include "notes.h"
#include "panel.h"
#include "protobuf.h"

/* Numbers of fields, and of kinds of events. */
enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_DESCRIPTOR = 60,
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_DOUBLE_COUNTER = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	ANNOTATION_BOOL = 2,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,

	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	UNIT_BYTES = 3,
};

enum {
	PERFETTO_SEQUENCE = 1,
	PERFETTO_PHASES = 200,
	PERFETTO_FLOWS = 50, /* in a phase: beyond some thousands the user interface chokes */
	PERFETTO_COUNTERS = 200,
};

/* Kinds of tracks: the upper half of their uuid. */
enum track { TRACK_ABOUT = 1, TRACK_PROCESS, TRACK_THREAD, TRACK_COUNTER };

struct trace {
	struct ctl_message out;
	struct ctl_panels panels;
	const struct ctl_course *course;
	uint64_t n_flows;
};

static uint64_t uuid(enum track track, uint64_t number)
{
	return (uint64_t)track << 32 | number;
}

/* A thread's place among the nodes of the whole run, which phases number anew. */
static size_t number_of(const struct trace *trace, const struct comm_node *node)
{
	const struct comm_report *whole = trace->course->whole.report;
	size_t i = 0;

	while (i < whole->n_nodes && !ctl_panel_is_same(comm_report_node_at(whole, i), node))
		i++;
	return i;
}

static void put_packet(struct trace *trace, struct ctl_message *packet)
{
	ctl_message_number(packet, PACKET_SEQUENCE, PERFETTO_SEQUENCE);
	ctl_message_put(&trace->out, TRACE_PACKET, packet);
}

static void put_descriptor(struct trace *trace, struct ctl_message *descriptor)
{
	struct ctl_message packet = {0};

	ctl_message_put(&packet, PACKET_DESCRIPTOR, descriptor);
	put_packet(trace, &packet);
}

/* at_ns: since the run's start. */
static void put_event(struct trace *trace, uint64_t at_ns, int type, uint64_t track,
		      struct ctl_message *event)
{
	struct ctl_message packet = {0};

	ctl_message_number(event, EVENT_TYPE, type);
	ctl_message_number(event, EVENT_TRACK, track);
	ctl_message_number(&packet, PACKET_TIMESTAMP,
			   trace->course->whole.report->run->start_ns + at_ns);
	ctl_message_put(&packet, PACKET_EVENT, event);
	put_packet(trace, &packet);
}

static void annotate_text(struct ctl_message *event, const char *name, const char *text)
{
	struct ctl_message m = {0};

	ctl_message_text(&m, ANNOTATION_NAME, name);
	ctl_message_text(&m, ANNOTATION_STRING, text);
	ctl_message_put(event, EVENT_ANNOTATION, &m);
}

static void annotate(struct ctl_message *event, const char *name, double value)
{
	struct ctl_message m = {0};

	ctl_message_text(&m, ANNOTATION_NAME, name);
	ctl_message_double(&m, ANNOTATION_DOUBLE, value);
	ctl_message_put(event, EVENT_ANNOTATION, &m);
}

static void annotate_edge(struct ctl_message *event, const struct comm_report *report,
			  const struct comm_report_edge *edge)
{
	struct ctl_message resolved = {0};

	annotate(event, "bytes", edge->bytes);
	if (!report->exact) {
		annotate(event, "low", edge->low);
		annotate(event, "high", edge->high);
	}
	annotate(event, "share", edge->share);
	ctl_message_text(&resolved, ANNOTATION_NAME, "resolved");
	ctl_message_number(&resolved, ANNOTATION_BOOL, edge->resolved);
	ctl_message_put(event, EVENT_ANNOTATION, &resolved);
}

/* What the numbers are worth, as an event of a track by itself. */
static void put_about(struct trace *trace)
{
	struct ctl_message descriptor = {0}, event = {0};
	struct ctl_notes notes;

	ctl_message_number(&descriptor, DESCRIPTOR_UUID, uuid(TRACK_ABOUT, 0));
	ctl_message_text(&descriptor, DESCRIPTOR_NAME, "commprof");
	put_descriptor(trace, &descriptor);
	ctl_notes_write(&notes, &trace->panels, &trace->course->whole);
	ctl_message_text(&event, EVENT_NAME, "about this run");
	annotate_text(&event, "run", notes.line[0]);
	annotate_text(&event, "shown", notes.line[1]);
	annotate_text(&event, "known", notes.line[2]);
	annotate_text(&event, "price", notes.line[3]);
	put_event(trace, trace->course->whole.report->from_ns, TYPE_INSTANT, uuid(TRACK_ABOUT, 0),
		  &event);
}

/* Once for each process: at the first of its threads. */
static void put_process(struct trace *trace, size_t at)
{
	const struct comm_report *whole = trace->course->whole.report;
	const struct comm_node *node = comm_report_node_at(whole, at);
	struct ctl_message descriptor = {0}, process = {0};
	const char *name = node->name;

	for (size_t i = 0; i < whole->n_nodes; i++) {
		const struct comm_node *other = comm_report_node_at(whole, i);

		if (other->tgid != node->tgid)
			continue;
		if (i < at)
			return;
		if (other->tid == other->tgid)
			name = other->name;
	}
	ctl_message_number(&process, PROCESS_PID, node->tgid);
	ctl_message_text(&process, PROCESS_NAME, name);
	ctl_message_number(&descriptor, DESCRIPTOR_UUID, uuid(TRACK_PROCESS, node->tgid));
	ctl_message_put(&descriptor, DESCRIPTOR_PROCESS, &process);
	put_descriptor(trace, &descriptor);
}

static void put_threads(struct trace *trace)
{
	const struct comm_report *whole = trace->course->whole.report;

	for (size_t i = 0; i < whole->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(whole, i);
		struct ctl_message descriptor = {0}, thread = {0};

		ctl_message_number(&descriptor, DESCRIPTOR_UUID, uuid(TRACK_THREAD, i));
		if (node->tid) {
			put_process(trace, i);
			ctl_message_number(&thread, THREAD_PID, node->tgid);
			ctl_message_number(&thread, THREAD_TID, node->tid);
			ctl_message_text(&thread, THREAD_NAME, node->name);
			ctl_message_put(&descriptor, DESCRIPTOR_THREAD, &thread);
		} else {
			ctl_message_text(&descriptor, DESCRIPTOR_NAME, node->name);
		}
		put_descriptor(trace, &descriptor);
	}
}

static size_t n_counters(const struct trace *trace)
{
	size_t n = trace->course->whole.report->n_shown;

	return n < PERFETTO_COUNTERS ? n : PERFETTO_COUNTERS;
}

static void put_counters(struct trace *trace)
{
	const struct ctl_panel *whole = &trace->course->whole;

	for (size_t i = 0; i < n_counters(trace); i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(whole->report, i);
		const struct comm_node *to = comm_report_node_at(whole->report, edge->to);
		struct ctl_message descriptor = {0}, counter = {0};
		char name[2 * CTL_LABEL + 16];

		snprintf(name, sizeof(name), "%s > %s bytes/s", whole->labels.text[edge->from],
			 whole->labels.text[edge->to]);
		ctl_message_number(&counter, COUNTER_UNIT, UNIT_BYTES);
		ctl_message_number(&descriptor, DESCRIPTOR_UUID, uuid(TRACK_COUNTER, i));
		ctl_message_text(&descriptor, DESCRIPTOR_NAME, name);
		if (to->tgid)
			ctl_message_number(&descriptor, DESCRIPTOR_PARENT,
					   uuid(TRACK_PROCESS, to->tgid));
		ctl_message_put(&descriptor, DESCRIPTOR_COUNTER, &counter);
		put_descriptor(trace, &descriptor);
	}
}

static void put_value(struct trace *trace, uint64_t at_ns, size_t counter, double value)
{
	struct ctl_message event = {0};

	ctl_message_double(&event, EVENT_DOUBLE_COUNTER, value);
	put_event(trace, at_ns, TYPE_COUNTER, uuid(TRACK_COUNTER, counter), &event);
}

/* Of edges that the whole run shows; 0 where the phase has none. */
static void put_values(struct trace *trace, const struct ctl_panel *phase)
{
	const struct comm_report *whole = trace->course->whole.report, *report = phase->report;
	double seconds = report->enabled_ns / 1e9;

	for (size_t i = 0; i < n_counters(trace); i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(whole, i);
		double bytes = 0;

		for (size_t j = 0; j < report->n_edges; j++) {
			const struct comm_report_edge *part = comm_report_edge_at(report, j);

			if (ctl_panel_is_same(comm_report_node_at(report, part->from),
					      comm_report_node_at(whole, edge->from)) &&
			    ctl_panel_is_same(comm_report_node_at(report, part->to),
					      comm_report_node_at(whole, edge->to)))
				bytes = part->bytes;
		}
		put_value(trace, report->from_ns, i, bytes / seconds);
	}
}

/* Begins or ends the phase on the track of each thread that takes part. */
static void put_phase(struct trace *trace, const struct ctl_panel *phase, bool begins)
{
	const struct comm_report *report = phase->report;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);
		struct ctl_message event = {0};

		if (begins) {
			ctl_message_text(&event, EVENT_NAME, phase->title);
			annotate(&event, "written_bytes", node->written_bytes);
			annotate(&event, "read_bytes", node->read_bytes);
		}
		put_event(trace, begins ? report->from_ns : report->to_ns,
			  begins ? TYPE_BEGIN : TYPE_END,
			  uuid(TRACK_THREAD, number_of(trace, node)), &event);
	}
}

static void put_flow(struct trace *trace, const struct ctl_panel *phase, size_t i, size_t n)
{
	const struct comm_report *report = phase->report;
	const struct comm_report_edge *edge = comm_report_edge_at(report, i);
	uint64_t length_ns = report->to_ns - report->from_ns, flow = ++trace->n_flows;
	uint64_t step_ns = length_ns / (n + 1), at_ns = report->from_ns + (i + 1) * step_ns;

	for (int end = 0; end < 2; end++) {
		const size_t here = end ? edge->to : edge->from,
			     there = end ? edge->from : edge->to;
		struct ctl_message event = {0};
		char name[CTL_LABEL + 16];

		snprintf(name, sizeof(name), "%s %s%s", end ? "read from" : "written for",
			 phase->labels.text[there], edge->resolved ? "" : " ?");
		ctl_message_text(&event, EVENT_NAME, name);
		annotate_edge(&event, report, edge);
		ctl_message_fixed64(&event, end ? EVENT_FLOW_END : EVENT_FLOW, flow);
		/* The earlier end of a flow is where it comes from. */
		put_event(trace, at_ns + end * (step_ns / 4), TYPE_INSTANT,
			  uuid(TRACK_THREAD, number_of(trace, comm_report_node_at(report, here))),
			  &event);
	}
}

static void put_all(struct trace *trace)
{
	const struct ctl_course *course = trace->course;
	const struct ctl_panel *phase;

	put_about(trace);
	put_threads(trace);
	put_counters(trace);
	for (size_t i = 0; (phase = ctl_panels_at(&trace->panels, i)); i++) {
		size_t n = phase->report->n_shown;

		n = n < PERFETTO_FLOWS ? n : PERFETTO_FLOWS;
		put_phase(trace, phase, true);
		put_values(trace, phase);
		for (size_t j = 0; j < n; j++)
			put_flow(trace, phase, j, n);
		put_phase(trace, phase, false);
	}
	for (size_t i = 0; i < n_counters(trace); i++)
		put_value(trace, course->whole.report->to_ns, i, 0);
}

int ctl_export_perfetto(const struct ctl_export *export, FILE *out, char **err)
{
	struct trace trace = {.panels.query = export->query};
	const struct ctl_panels_cut cut = {.most = PERFETTO_PHASES};
	struct comm_query query = *export->query;
	int code;

	/* Of the same run and slices as the report, whatever is written meanwhile. */
	query.run = export->report->run->id;
	query.from_ns = export->report->from_ns;
	query.to_ns = export->report->to_ns;
	code = ctl_panels_add(&trace.panels, export->reader, &query, &cut, err);
	if (!code) {
		trace.course = trace.panels.course;
		put_all(&trace);
		if (trace.out.failed)
			code = -ENOMEM;
		else
			fwrite(trace.out.bytes, 1, trace.out.n, out);
	}
	free(trace.out.bytes);
	ctl_panels_deinit(&trace.panels);
	return code;
}
