// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum {
	TABLE_NAME_MIN = 10,
	TABLE_NAME_MAX = 60,
	/* width of share, mark and rate, with their gaps */
	TABLE_FIGURES = 8 + 1 + 13,
	TABLE_INTERVAL = 17,
	/* width of a range of loads' origins; in two lines an edge has one for each sum */
	TABLE_ORIGIN = 13,
	TABLE_ORIGINS = 3,
	TABLE_BAR_MIN = 12,
	TABLE_BAR_MAX = 40,
	TABLE_BURSTS = 10,
	TABLE_KIND = 11,	/* width of an object's kind, with its gap */
	TABLE_OBJECT_NAME = 16, /* least width of an object's name in a column */
	TABLE_OBJECT = 48,	/* width of an object's columns without its name */
	TABLE_ENDS = 3,		/* writers and readers that an object's row names */
	TABLE_END = 24,		/* width of such a name */
	TABLE_FLOW_INDENT = 4,
	TABLE_LINE = 512,
};

static bool has_origins(const struct comm_report_edge *edge)
{
	return edge->n_origins && edge->origin_loads >= COMM_RESOLVED_SAMPLES;
}

bool ctl_table_has_origins(const struct comm_report *report)
{
	size_t n = report->by->between ? report->n_edges : report->n_shown;

	for (size_t i = 0; i < n; i++)
		if (has_origins(comm_report_edge_at(report, i)))
			return true;
	return false;
}

/* Layout of a table of edges: width that is left over goes to a bar and a count of bursts. */
struct layout {
	int from, to;
	int figures; /* width of all columns of numbers but the bursts and origins */
	int bar;
	double high;	       /* value at the right end of bars */
	bool interval, bursts; /* false for exact runs, which have neither */
	bool origins;	       /* where loads found their data, if a PMU told */
	bool stacked;	       /* names are too long for one line: two lines per edge */
	bool above;	       /* so narrow that the names have lines of their own */
};

static void lay_out(const struct ctl_term *term, const struct ctl_labels *labels,
		    struct layout *layout)
{
	const struct comm_report *report = labels->report;
	int capacity, left;

	layout->high = 0;
	layout->above = false;
	layout->interval = !report->exact;
	layout->figures = TABLE_FIGURES + (layout->interval ? TABLE_INTERVAL : 0);
	layout->origins = ctl_table_has_origins(report);
	capacity = term->width - layout->figures - 4;
	if (layout->origins)
		capacity -= TABLE_ORIGINS * TABLE_ORIGIN;
	layout->from = layout->to = TABLE_NAME_MIN;
	for (size_t i = 0; i < report->n_shown; i++) {
		int from = ctl_columns(labels->text[comm_report_edge_at(report, i)->from]);
		int to = ctl_columns(labels->text[comm_report_edge_at(report, i)->to]);

		layout->from = from > layout->from ? from : layout->from;
		layout->to = to > layout->to ? to : layout->to;
		if (comm_report_edge_at(report, i)->share_high > layout->high)
			layout->high = comm_report_edge_at(report, i)->share_high;
	}
	layout->from = layout->from < TABLE_NAME_MAX ? layout->from : TABLE_NAME_MAX;
	layout->to = layout->to < TABLE_NAME_MAX ? layout->to : TABLE_NAME_MAX;
	layout->stacked = layout->from + layout->to > capacity;
	if (layout->stacked) {
		layout->above = term->width - layout->figures - 4 < TABLE_NAME_MIN;
		layout->from = layout->to =
			layout->above ? term->width - 2 : term->width - layout->figures - 2;
		layout->bar = 0;
		layout->bursts = false;
		return;
	}
	left = capacity - layout->from - layout->to;
	layout->bursts = !report->exact && left >= TABLE_BURSTS + TABLE_BAR_MIN;
	if (layout->bursts)
		left -= TABLE_BURSTS;
	layout->bar = left - 2 >= TABLE_BAR_MIN ? left - 2 : 0;
	if (layout->bar > TABLE_BAR_MAX)
		layout->bar = TABLE_BAR_MAX;
}

/*
 * A bar: a thick line up to the interval's lower end, a thin one to its upper end, a
 * knob at the estimate.
 */
static void print_bar(const struct ctl_term *term, const struct comm_report_edge *edge,
		      double largest, int width)
{
	int low = lround(edge->share_low / largest * (width - 1));
	int at = lround(edge->share / largest * (width - 1));
	int high = lround(edge->share_high / largest * (width - 1));

	printf("  ");
	for (int i = 0; i < width; i++) {
		if (i == at)
			fputs(ctl_either(term, "●", "o"), stdout);
		else if (i < low)
			fputs(ctl_either(term, "━", "="), stdout);
		else if (i <= high)
			fputs(ctl_either(term, "─", "-"), stdout);
	}
}

/* The sums, which the library gives first. */
static const char *const origins[TABLE_ORIGINS] = {"HITM", "remote", "local"};

static void print_origins_title(void)
{
	for (size_t i = 0; i < TABLE_ORIGINS; i++)
		printf("%*s", TABLE_ORIGIN, origins[i]);
}

/* An interval says what is known, where a share of few loads would say too much. */
static const char *origin_range(char text[CTL_NUMBER], const struct comm_report *report,
				const struct comm_report_edge *edge, size_t i)
{
	const struct comm_report_origin *origin =
		comm_report_origin_at(report, edge->first_origin + i);

	return has_origins(edge) ? ctl_percent_range(text, origin->share_low, origin->share_high)
				 : "-";
}

static void print_origins(const struct comm_report *report, const struct comm_report_edge *edge)
{
	char range[CTL_NUMBER];

	for (size_t i = 0; i < TABLE_ORIGINS; i++)
		printf("%*s", TABLE_ORIGIN, origin_range(range, report, edge, i));
}

static void print_edge(const struct ctl_term *term, const struct ctl_labels *labels,
		       const struct layout *layout, const struct comm_report_edge *edge)
{
	const struct comm_report *report = labels->report;
	double seconds = report->enabled_ns / 1e9;
	char from[CTL_LABEL], to[CTL_LABEL], share[CTL_NUMBER], rate[CTL_NUMBER];
	char range[CTL_NUMBER], count[CTL_NUMBER];

	ctl_clean(from, sizeof(from), labels->text[edge->from], layout->from);
	ctl_clean(to, sizeof(to), labels->text[edge->to], layout->to);
	if (!layout->stacked)
		printf("%-*s  %-*s  ", ctl_field(from, layout->from), from,
		       ctl_field(to, layout->to), to);
	else if (layout->above)
		printf("%s\n> %s\n", from, to);
	printf("%8s%s", ctl_percent(share, edge->share), edge->resolved ? " " : "?");
	if (layout->interval)
		printf(" %16s", ctl_percent_range(range, edge->share_low, edge->share_high));
	printf(" %10s/s", ctl_bytes(rate, edge->bytes / seconds));
	if (layout->stacked && !layout->above)
		printf("  %s\n", from);
	if (layout->origins)
		print_origins(report, edge);
	if (layout->stacked && !layout->above)
		printf("%*s> %s", layout->origins ? 0 : layout->figures, "", to);
	if (layout->bursts)
		printf("%*s", TABLE_BURSTS, ctl_count(count, edge->samples));
	if (layout->bar)
		print_bar(term, edge, layout->high, layout->bar);
	printf("\n");
}

/* Prints a line about n edges or objects that are not in the table. */
static void print_rest(const struct ctl_term *term, size_t n, double rest, const char *what)
{
	char share[CTL_NUMBER], line[CTL_LABEL];

	if (!n)
		return;
	snprintf(line, sizeof(line), "and %zu other%s, together %s%s", n, n == 1 ? "" : "s",
		 ctl_percent(share, fmax(0, fmin(rest, 1))), what);
	ctl_wrap(term, 0, 0, line);
}

static const char unresolved_rest[] = ", not confirmed at this length and budget (--all: list)";

static void print_rest_of_edges(const struct ctl_term *term, const struct comm_query *query,
				const struct comm_report *report)
{
	size_t n[2] = {0};
	double rest[2] = {0};

	for (size_t i = report->n_shown; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		bool unresolved = query->resolved && !edge->resolved;

		n[unresolved]++;
		rest[unresolved] += edge->share;
	}
	print_rest(term, n[0], rest[0], "");
	print_rest(term, n[1], rest[1], unresolved_rest);
}

bool ctl_table_edges(const struct ctl_term *term, const struct comm_query *query,
		     const struct ctl_labels *labels)
{
	const struct comm_report *report = labels->report;
	bool has_unresolved = false;
	struct layout layout;
	char title[32], module[CTL_LABEL];
	const char *usual;

	lay_out(term, labels, &layout);
	snprintf(title, sizeof(title), "%.4g %% interval", report->confidence * 100);
	fputs(ctl_style(term, CTL_BOLD), stdout);
	if (layout.above)
		printf("writer\n> reader\n");
	if (!layout.stacked)
		printf("%-*s  %-*s  ", layout.from, "writer", layout.to, "reader");
	printf("%8s ", "share");
	if (layout.interval)
		printf(" %16s", title);
	printf(" %12s", "rate");
	if (layout.stacked && !layout.above)
		printf("  writer > reader");
	if (layout.stacked && layout.origins)
		printf("\n");
	if (layout.origins)
		print_origins_title();
	if (layout.bursts)
		printf("%*s", TABLE_BURSTS, "bursts");
	printf("%s\n", ctl_style(term, CTL_PLAIN));
	for (size_t i = 0; i < report->n_shown; i++) {
		/* Resolved edges come first, even before larger ones. */
		if (i && comm_report_edge_at(report, i - 1)->resolved &&
		    !comm_report_edge_at(report, i)->resolved)
			printf("%snot confirmed:%s\n", ctl_style(term, CTL_DIM),
			       ctl_style(term, CTL_PLAIN));
		print_edge(term, labels, &layout, comm_report_edge_at(report, i));
		has_unresolved |= !comm_report_edge_at(report, i)->resolved;
	}
	print_rest_of_edges(term, query, report);
	usual = strrchr(labels->module, '/');
	usual = usual && usual[1] ? usual + 1 : labels->module;
	if (*labels->module && report->n_nodes &&
	    comm_report_node_at(report, 0)->kind != COMM_NODE_THREAD)
		printf("%sNames without [module] are of %s.%s\n", ctl_style(term, CTL_DIM),
		       strcmp(labels->module, "[jit]")
			       ? ctl_clean(module, sizeof(module), usual, 60)
			       : "generated code",
		       ctl_style(term, CTL_PLAIN));
	return has_unresolved;
}

/* As the library orders edges. */
static int order_objects(const void *pa, const void *pb, void *ctx)
{
	const struct ctl_table_object *a = pa, *b = pb;
	double min_share = *(const double *)ctx;

	if ((a->share >= min_share) != (b->share >= min_share))
		return a->share >= min_share ? -1 : 1;

	if (a->resolved != b->resolved)
		return a->resolved ? -1 : 1;
	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/*
 * Sums up the pairs of an object, which is resolved when some flow into it and some
 * out of it are.  Of a resolved one only those count, when asked for.
 */
size_t ctl_table_objects_collect(const struct comm_query *query, const struct comm_report *report,
				 struct ctl_table_object *object)
{
	bool *out = calloc(report->n_nodes + 1, sizeof(*out));
	size_t n = 0;

	for (size_t i = 0; i < report->n_nodes; i++)
		object[i].node = i;
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (comm_report_node_at(report, edge->to)->kind == COMM_NODE_OBJECT) {
			object[edge->to].resolved |= edge->resolved;
		} else {
			object[edge->from].share += edge->share;
			object[edge->from].share_resolved += edge->resolved ? edge->share : 0;
			if (out)
				out[edge->from] |= edge->resolved;
		}
	}
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (out)
			object[i].resolved &= out[i];
		if (query->resolved && object[i].resolved)
			object[i].share = object[i].share_resolved;
		if (comm_report_node_at(report, i)->kind == COMM_NODE_OBJECT)
			object[n++] = object[i];
	}
	free(out);
	qsort_r(object, n, sizeof(*object), order_objects, (void *)&query->min_share);
	return n;
}

/* NULL: there is none. */
static const struct comm_report_edge *find_edge(const struct comm_report *report, size_t from,
						size_t to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (edge->from == from && edge->to == to)
			return edge;
	}
	return NULL;
}

/* Where the largest reader finds the object's data, a line of its own. */
static void print_main_origins(const struct comm_query *query, const struct comm_report *report,
			       size_t node)
{
	const struct comm_report_edge *edge =
		find_edge(report, node, comm_report_node_at(report, node)->main_reader);
	char range[CTL_NUMBER];

	if (!edge || !has_origins(edge) || (query->resolved && !edge->resolved))
		return;
	printf("    main reader's loads:");
	for (size_t i = 0; i < TABLE_ORIGINS; i++)
		printf("%s %s %s", i ? "," : "", origins[i], origin_range(range, report, edge, i));
	printf("\n");
}

/* The nodes that write an object, or that read it, as far as the query asks for them. */
static void append_ends(const struct comm_query *query, const struct ctl_labels *labels,
			size_t object, bool writers, char line[TABLE_LINE])
{
	const struct comm_report *report = labels->report;
	size_t n = 0, used;
	double all = 0;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if ((writers ? edge->to : edge->from) == object)
			all += edge->bytes;
	}
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		char name[CTL_LABEL];

		if ((writers ? edge->to : edge->from) != object ||
		    (query->resolved && !edge->resolved) || n++ >= TABLE_ENDS)
			continue;
		used = strlen(line);
		snprintf(line + used, TABLE_LINE - used, "%s%s %.0f%%", n > 1 ? ", " : "",
			 ctl_clean(name, sizeof(name),
				   labels->text[writers ? edge->from : edge->to], TABLE_END),
			 100 * edge->bytes / all);
	}
	used = strlen(line);
	if (n > TABLE_ENDS)
		snprintf(line + used, TABLE_LINE - used, ", %zu more", n - TABLE_ENDS);
	else if (!n)
		snprintf(line + used, TABLE_LINE - used, "?");
}

/* Who writes an object and who reads it, largest first. */
static void print_flow(const struct ctl_term *term, const struct comm_query *query,
		       const struct ctl_labels *labels, const struct ctl_table_object *object)
{
	char line[TABLE_LINE] = "";

	append_ends(query, labels, object->node, true, line);
	strcat(line, " > ");
	append_ends(query, labels, object->node, false, line);
	printf("\n    ");
	ctl_wrap(term, TABLE_FLOW_INDENT, TABLE_FLOW_INDENT, line);
}

static void print_object(const struct ctl_term *term, const struct comm_query *query,
			 const struct ctl_labels *labels, const struct ctl_table_object *object,
			 int width)
{
	const struct comm_report *report = labels->report;
	const struct comm_node *node = comm_report_node_at(report, object->node);
	double seconds = report->enabled_ns / 1e9;
	char name[CTL_LABEL], share[CTL_NUMBER], size[CTL_NUMBER], rate[CTL_NUMBER];

	ctl_clean(name, sizeof(name), labels->text[object->node],
		  width ? width : term->width - TABLE_KIND);
	if (width)
		printf("%-*s  %-9s  ", ctl_field(name, width), name, node->object_kind);
	else
		printf("%s  %s\n", name, node->object_kind);
	printf("%8s  %8s%s %10s/s", node->size_bytes ? ctl_bytes(size, node->size_bytes) : "",
	       ctl_percent(share, object->share), object->resolved ? " " : "?",
	       ctl_bytes(rate, object->share * report->total_bytes / seconds));
	print_flow(term, query, labels, object);
	print_main_origins(query, report, object->node);
}

bool ctl_table_objects(const struct ctl_term *term, const struct comm_query *query,
		       const struct ctl_labels *labels)
{
	const struct comm_report *report = labels->report;
	struct ctl_table_object *object = calloc(report->n_nodes + 1, sizeof(*object));
	bool has_unresolved = false;
	int width = TABLE_NAME_MIN, most = term->width - TABLE_OBJECT;
	size_t n, shown = 0, n_rest[2] = {0};
	double rest[2] = {0};

	if (!object) {
		fprintf(stderr, "commctl: out of memory\n");
		exit(EXIT_FAILURE);
	}
	n = ctl_table_objects_collect(query, report, object);
	while (shown < n && object[shown].share >= query->min_share &&
	       (object[shown].resolved || !query->resolved) &&
	       (!query->top || shown < query->top)) {
		int len = ctl_columns(labels->text[object[shown++].node]);

		width = len > width ? len : width;
	}
	/* Where they would be cut to a few letters, names have lines of their own. */
	if (width > most)
		width = most >= TABLE_OBJECT_NAME ? most : 0;
	fputs(ctl_style(term, CTL_BOLD), stdout);
	if (width)
		printf("%-*s  %-9s  ", width, "object", "kind");
	else
		printf("object  kind\n");
	printf("%8s  %8s  %12s%s\n", "size", "share", "rate", ctl_style(term, CTL_PLAIN));
	for (size_t i = 0; i < shown; i++) {
		print_object(term, query, labels, &object[i], width);
		has_unresolved |= !object[i].resolved;
	}
	for (size_t i = shown; i < n; i++) {
		bool unresolved = query->resolved && !object[i].resolved;

		n_rest[unresolved]++;
		rest[unresolved] += object[i].share;
	}
	print_rest(term, n_rest[0], rest[0], "");
	print_rest(term, n_rest[1], rest[1], unresolved_rest);
	free(object);
	return has_unresolved;
}

size_t ctl_table_objects_count(const struct comm_query *query, const struct comm_report *report)
{
	struct ctl_table_object *object = calloc(report->n_nodes + 1, sizeof(*object));
	size_t n, count = 0;

	if (!object)
		return 0;
	n = ctl_table_objects_collect(query, report, object);
	for (size_t i = 0; i < n; i++)
		count += object[i].resolved || !query->resolved;
	free(object);
	return count;
}
