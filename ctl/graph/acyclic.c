// SPDX-License-Identifier: GPL-2.0-or-later
#include "acyclic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dot.h"
#include "json.h"
#include "number.h"
#include "term.h"

enum { COPY_ID = 80, COPY_NAME = 44 };

/* A node at a moment. */
struct copy {
	char id[COPY_ID];
	const struct comm_node *node; /* of the report; the last of its parts is a phase */
	bool dated;		      /* false: before all, its time is not known */
	uint64_t at_ns;
};

/* The copies that the edges which are shown have: n_copies in order of time, each once. */
struct course {
	const struct comm_report *report;
	struct copy *copy;
	size_t n_copies;
};

static struct copy copy_of(const struct comm_report *report, size_t i, bool writes)
{
	const struct comm_node *node = comm_report_node_at(report, i);
	struct copy copy = {.node = node,
			    .dated = node->to_ns > 0,
			    .at_ns = writes ? node->from_ns : node->to_ns};
	size_t at = 0;

	for (size_t k = 0; k + 1 < node->n_parts; k++)
		at += (size_t)snprintf(copy.id + at, COPY_ID - at, "%s%s", k ? "." : "",
				       node->parts[k]->id);
	if (copy.dated)
		snprintf(copy.id + at, COPY_ID - at, "@%" PRIu64, copy.at_ns);
	else
		snprintf(copy.id + at, COPY_ID - at, "@?");
	return copy;
}

static int order(const void *pa, const void *pb)
{
	const struct copy *a = pa, *b = pb;

	if (a->dated != b->dated)
		return a->dated ? 1 : -1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return strcmp(a->id, b->id);
}

static int course_init(struct course *course, const struct comm_report *report)
{
	size_t n = 0;

	course->report = report;
	course->n_copies = 0;
	course->copy = calloc(2 * report->n_shown + 1, sizeof(*course->copy));
	if (!course->copy)
		return -ENOMEM;
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		course->copy[n++] = copy_of(report, edge->from, true);
		course->copy[n++] = copy_of(report, edge->to, false);
	}
	qsort(course->copy, n, sizeof(*course->copy), order);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(course->copy[i].id, course->copy[course->n_copies - 1].id) != 0)
			course->copy[course->n_copies++] = course->copy[i];
	return 0;
}

/* What a node is called without its phase. */
static void name_of(const struct comm_node *node, char ret[2 * COPY_NAME])
{
	char clean[COPY_NAME + 1];
	size_t at = 0;

	*ret = '\0';
	for (size_t k = 0; k + 1 < node->n_parts && at < 2 * COPY_NAME; k++) {
		const struct comm_node *part = node->parts[k];

		at += (size_t)snprintf(ret + at, 2 * COPY_NAME - at, "%s%s", k ? " " : "",
				       ctl_shown(clean, sizeof(clean), part->name));
		if (part->kind == COMM_NODE_THREAD && !part->other && at < 2 * COPY_NAME)
			at += (size_t)snprintf(ret + at, 2 * COPY_NAME - at, "/%u", part->tid);
	}
}

static void print_copies(FILE *out, const struct course *course, size_t number)
{
	char name[2 * COPY_NAME], time[CTL_NUMBER];

	for (size_t i = 0; i < course->n_copies; i++) {
		const struct copy *copy = &course->copy[i];
		bool first = !i || course->copy[i - 1].dated != copy->dated ||
			     course->copy[i - 1].at_ns != copy->at_ns;

		if (first && i)
			fputs("  }\n", out);
		if (first)
			fprintf(out,
				"  subgraph { rank=same;\n"
				"    \"m%zu@%s%" PRIu64 "\" [shape=plaintext, label=\"%s\"];\n",
				number, copy->dated ? "" : "?", copy->at_ns,
				copy->dated ? ctl_duration(time, copy->at_ns) : "not known when");
		name_of(copy->node, name);
		fprintf(out, "    \"p%zu.%s\" [shape=%s, label=\"", number, copy->id,
			ctl_dot_shape(copy->node->parts[0]));
		ctl_dot_text(out, name);
		fputs("\"];\n", out);
	}
	if (course->n_copies)
		fputs("  }\n", out);
	/* The moments in a row, which is what puts the copies in order. */
	for (size_t i = 1; i < course->n_copies; i++) {
		const struct copy *a = &course->copy[i - 1], *b = a + 1;

		if (a->dated == b->dated && a->at_ns == b->at_ns)
			continue;
		fprintf(out, "  \"m%zu@%s%" PRIu64 "\" -> \"m%zu@%" PRIu64 "\" [style=invis];\n",
			number, a->dated ? "" : "?", a->at_ns, number, b->at_ns);
	}
}

static int print_course(FILE *out, const struct comm_report *report, size_t number, double largest)
{
	struct course course;
	int code = course_init(&course, report);

	if (code)
		return code;
	print_copies(out, &course, number);
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		struct copy from = copy_of(report, edge->from, true);
		struct copy to = copy_of(report, edge->to, false);

		fprintf(out, "  \"p%zu.%s\" -> \"p%zu.%s\"", number, from.id, number, to.id);
		ctl_dot_edge(out, report, edge, largest);
	}
	free(course.copy);
	return 0;
}

int ctl_acyclic_dot(const struct ctl_panels *panels, FILE *out)
{
	double largest = ctl_panels_largest(panels);
	int code = 0;

	ctl_dot_begin(out, panels,
		      "left to right are the moments between phases: from the beginning of the "
		      "phase of writing to the end of that of reading");
	fputs("  rankdir=LR;\n", out);
	for (size_t i = 0; i < panels->n_courses && !code; i++)
		code = print_course(out, panels->course[i].whole.report, i, largest);
	fputs("}\n", out);
	return code;
}

static int print_json(struct ctl_json *json, const struct ctl_panel *panel)
{
	const struct comm_report *report = panel->report;
	char name[2 * COPY_NAME];
	struct course course;
	int code = course_init(&course, report);

	if (code)
		return code;
	ctl_json_open(json, NULL, '{');
	ctl_json_string(json, "title", panel->title);
	ctl_json_count(json, "run", (uint64_t)report->run->id);
	ctl_json_double(json, "total_bytes", report->total_bytes);
	ctl_json_double(json, "confidence", report->confidence);
	ctl_json_open(json, "nodes", '[');
	for (size_t i = 0; i < course.n_copies; i++) {
		const struct copy *copy = &course.copy[i];

		name_of(copy->node, name);
		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "id", copy->id);
		ctl_json_string(json, "kind", copy->node->parts[0]->kind_name);
		ctl_json_string(json, "name", name);
		if (copy->dated)
			ctl_json_count(json, "at_ns", copy->at_ns);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
	ctl_json_open(json, "edges", '[');
	for (size_t i = 0; i < report->n_shown; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "from", copy_of(report, edge->from, true).id);
		ctl_json_string(json, "to", copy_of(report, edge->to, false).id);
		ctl_json_double(json, "bytes", edge->bytes);
		ctl_json_double(json, "low", edge->low);
		ctl_json_double(json, "high", edge->high);
		ctl_json_count(json, "samples", edge->samples);
		ctl_json_bool(json, "resolved", edge->resolved);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
	ctl_json_close(json, '}');
	free(course.copy);
	return 0;
}

int ctl_acyclic_json(const struct ctl_panels *panels, FILE *out)
{
	struct ctl_json json = {.out = out};
	int code = 0;

	ctl_json_begin(&json);
	ctl_json_open(&json, "graphs", '[');
	for (size_t i = 0; i < panels->n_courses && !code; i++)
		code = print_json(&json, &panels->course[i].whole);
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
	return code;
}
