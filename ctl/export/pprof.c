// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile.proto of https://github.com/google/pprof (proto/profile.proto), gzip'ed.  The
 * format has no place for intervals: a comment says so, and each sample is labelled with
 * whether its edge is resolved.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "exporter.h"
#include "protobuf.h"

/* Numbers of fields. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	LABEL_UNIT = 4,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
};

/* Roles of a node in a stack: one function of the program is two of the profile. */
static const struct role {
	enum ctl_export_part part;
	const char *prefix;
} roles[] = {
	{CTL_PART_FUNCTION, "reader: "},
	{CTL_PART_OBJECT, "object: "},
	{CTL_PART_FUNCTION, "writer: "},
};

enum { READER, OBJECT, WRITER, ROLES };

struct place {
	const struct comm_node *node;
	int role;
};

struct profile {
	struct ctl_message out;
	uint64_t n_strings;
	struct place *place; /* of each location */
	size_t n_places, n_samples;
	const struct comm_node **mapping; /* of each mapping, a node in it */
	size_t n_mappings;
};

/* Adds a string, which must be UTF-8, to the table; returns its index. */
static uint64_t string_of(struct profile *p, const char *prefix, const char *text)
{
	struct ctl_message clean = {0};

	ctl_message_append(&clean, prefix, strlen(prefix));
	ctl_message_append_text(&clean, text);
	ctl_message_put(&p->out, PROFILE_STRING, &clean);
	return p->n_strings++;
}

static void put_type(struct profile *p, int field, const char *type, const char *unit)
{
	struct ctl_message m = {0};

	ctl_message_number(&m, TYPE_TYPE, string_of(p, "", type));
	ctl_message_number(&m, TYPE_UNIT, string_of(p, "", unit));
	ctl_message_put(&p->out, field, &m);
}

/* The mapping that a function lies in; ids start at 1. */
static uint64_t mapping_of(struct profile *p, const struct comm_node *node)
{
	struct ctl_message m = {0};
	size_t i = 0;

	while (i < p->n_mappings && (strcmp(p->mapping[i]->module, node->module) ||
				     strcmp(p->mapping[i]->build_id, node->build_id)))
		i++;
	if (i < p->n_mappings)
		return i + 1;
	p->mapping[p->n_mappings++] = node;
	ctl_message_number(&m, MAPPING_ID, i + 1);
	ctl_message_number(&m, MAPPING_FILE, string_of(p, "", node->module));
	ctl_message_number(&m, MAPPING_BUILD_ID, string_of(p, "", node->build_id));
	ctl_message_number(&m, MAPPING_HAS_FUNCTIONS, 1); /* nobody need look for symbols */
	ctl_message_put(&p->out, PROFILE_MAPPING, &m);
	return i + 1;
}

/* The location of a node in a role, with a function of its own. */
static uint64_t location_of(struct profile *p, const struct comm_node *node, int role)
{
	struct ctl_message m = {0}, line = {0};
	size_t i = 0;

	while (i < p->n_places && (p->place[i].node != node || p->place[i].role != role))
		i++;
	if (i < p->n_places)
		return i + 1;
	p->place[p->n_places++] = (struct place){node, role};
	ctl_message_number(&m, FUNCTION_ID, i + 1);
	ctl_message_number(&m, FUNCTION_NAME, string_of(p, roles[role].prefix, node->name));
	ctl_message_put(&p->out, PROFILE_FUNCTION, &m);
	ctl_message_number(&m, LOCATION_ID, i + 1);
	if (node->kind == COMM_NODE_FUNCTION && *node->module) {
		ctl_message_number(&m, LOCATION_MAPPING, mapping_of(p, node));
		ctl_message_number(&m, LOCATION_ADDRESS, node->start);
	}
	ctl_message_number(&line, LINE_FUNCTION, i + 1);
	ctl_message_put(&m, LOCATION_LINE, &line);
	ctl_message_put(&p->out, PROFILE_LOCATION, &m);
	return i + 1;
}

static void label(struct profile *p, struct ctl_message *sample, const char *key, const char *text)
{
	struct ctl_message m = {0};

	ctl_message_number(&m, LABEL_KEY, string_of(p, "", key));
	ctl_message_number(&m, LABEL_STRING, string_of(p, "", text));
	ctl_message_put(sample, SAMPLE_LABEL, &m);
}

static void label_number(struct profile *p, struct ctl_message *sample, const char *key,
			 uint64_t number)
{
	struct ctl_message m = {0};

	ctl_message_number(&m, LABEL_KEY, string_of(p, "", key));
	ctl_message_number(&m, LABEL_NUMBER, number);
	ctl_message_number(&m, LABEL_UNIT, string_of(p, "", "id"));
	ctl_message_put(sample, SAMPLE_LABEL, &m);
}

/* A row of which less is sure is no matter. */
static const double least_share = 0.01;

/*
 * How sure a row is, and the bytes that it says: as on the first screen of a report.  Of fresh data a row is confirmed for
 * what it is at least.
 */
static const char *grade_of(const struct comm_report *report, const struct comm_report_edge *edge,
			    bool all, double *ret_bytes)
{
	bool is_wide = report->fresh && edge->share_high > COMM_RESOLVED_RATIO * edge->share_low;

	*ret_bytes = edge->bytes;
	if (edge->resolved && (all || !is_wide))
		return "confirmed";
	if (all)
		return "not confirmed";
	*ret_bytes = edge->low;
	return edge->share_low >= least_share ? "at least" : NULL;
}

static void put_edge(struct profile *p, const struct ctl_export *export,
		     const struct comm_report_edge *edge)
{
	const struct comm_report *report = export->report;
	const struct comm_node *from = comm_report_node_at(report, edge->from);
	const struct comm_node *to = comm_report_node_at(report, edge->to);
	struct ctl_message sample = {0}, ids = {0}, values = {0};
	const char *grade;
	double bytes;

	grade = grade_of(report, edge, export->all, &bytes);
	if (!grade || from->other || to->other || bytes < 1)
		return;
	p->n_samples++;
	for (int role = 0; role < ROLES; role++) {
		const struct comm_node *end = (role == WRITER ? from : to)->parts[roles[role].part];

		for (size_t i = ctl_export_frames(end); i-- > 0;)
			ctl_message_append_varint(&ids,
						  location_of(p, ctl_export_frame(end, i), role));
	}
	ctl_message_put(&sample, SAMPLE_LOCATION, &ids);
	ctl_message_append_varint(&values, (uint64_t)llround(fmin(bytes, 9e18)));
	ctl_message_append_varint(&values, edge->samples);
	ctl_message_put(&sample, SAMPLE_VALUE, &values);
	label(p, &sample, "writer", from->parts[CTL_PART_THREAD]->name);
	label(p, &sample, "reader", to->parts[CTL_PART_THREAD]->name);
	if (!export->added_up) {
		label_number(p, &sample, "writer_tid", from->parts[CTL_PART_THREAD]->tid);
		label_number(p, &sample, "reader_tid", to->parts[CTL_PART_THREAD]->tid);
		label(p, &sample, "resolved", edge->resolved ? "yes" : "no");
		label(p, &sample, "grade", grade);
	}
	ctl_message_put(&p->out, PROFILE_SAMPLE, &sample);
}

static int write_gzip(const struct ctl_message *m, FILE *out)
{
	enum { GZIP = 16 + MAX_WBITS };
	z_stream stream = {.next_in = (Bytef *)m->bytes, .avail_in = (uInt)m->n};
	uLong bound;
	Bytef *zipped;
	int code = -ENOMEM;

	if (m->n > UINT32_MAX / 2)
		return -EFBIG;
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	bound = deflateBound(&stream, m->n);
	zipped = malloc(bound);
	stream.next_out = zipped;
	stream.avail_out = (uInt)bound;
	if (zipped && deflate(&stream, Z_FINISH) == Z_STREAM_END) {
		fwrite(zipped, 1, stream.total_out, out);
		code = 0;
	}
	deflateEnd(&stream);
	free(zipped);
	return code;
}

static const char *how_sure(const struct ctl_export *export)
{
	if (export->report->exact)
		return "Counted, not estimated.";
	if (export->added_up)
		return "Estimates from samples.";
	return "Estimates from samples; their intervals are in commctl report. "
	       "What the run does not confirm has the tag resolved:no; "
	       "by its tag grade it is the least that it surely is, or with --all an estimate.";
}

static void put_head(struct profile *p, const struct ctl_export *export)
{
	const struct comm_report *report = export->report;
	const char *of = export->query->first_read ? "first_read" : "communicated";

	string_of(p, "", "");
	put_type(p, PROFILE_SAMPLE_TYPE, of, "bytes");
	put_type(p, PROFILE_SAMPLE_TYPE, "bursts", "count");
	/* Pyroscope and Parca name a profile by it, too. */
	put_type(p, PROFILE_PERIOD_TYPE, "bursts", "count");
	ctl_message_number(&p->out, PROFILE_PERIOD, 1);
	ctl_message_number(&p->out, PROFILE_DEFAULT_TYPE, string_of(p, "", of));
	ctl_message_number(&p->out, PROFILE_TIME_NS, report->run->start_unix_ns + report->from_ns);
	ctl_message_number(&p->out, PROFILE_DURATION_NS, report->to_ns - report->from_ns);
	ctl_message_number(&p->out, PROFILE_COMMENT,
			   string_of(p, "commprof: ", report->run->command));
	ctl_message_number(&p->out, PROFILE_COMMENT, string_of(p, "", how_sure(export)));
}

/* More than the locations of all nodes can be. */
static size_t most_places(const struct comm_report *report)
{
	size_t n = 1;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		if (node->n_parts > CTL_PART_FUNCTION)
			n += ROLES * ctl_export_frames(node->parts[CTL_PART_FUNCTION]);
	}
	return n;
}

int ctl_export_pprof(const struct ctl_export *export, FILE *out, char **err)
{
	const struct comm_report *report = export->report;
	size_t most = most_places(report);
	struct profile p = {0};
	int code = -ENOMEM;

	/* No place has more than one mapping. */
	p.place = calloc(most, sizeof(*p.place));
	p.mapping = calloc(most, sizeof(*p.mapping));
	if (!p.place || !p.mapping)
		goto out;
	put_head(&p, export);
	for (size_t i = 0; i < report->n_shown; i++)
		put_edge(&p, export, comm_report_edge_at(report, i));
	if (!p.n_samples && !p.out.failed) {
		*err = strdup("nothing to export: of no flow the run says how much it is at least, "
			      "see what \"commctl report\" says; --all exports them all the same");
		code = -ENODATA;
	} else if (!p.out.failed)
		code = write_gzip(&p.out, out);
out:
	free(p.out.bytes);
	free(p.place);
	free(p.mapping);
	return code;
}
