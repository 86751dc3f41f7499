// SPDX-License-Identifier: GPL-2.0-or-later
#include "view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "label.h"
#include "number.h"
#include "pairing.h"

enum {
	BY_MAX = 96,
	/* The least columns for an interval, and for a rate beside it. */
	WITH_INTERVAL = 48,
	WITH_RATE = 64,
	/* And for how much was read, beside a cost that is over its limit. */
	WITH_VOLUME = 90,
	/* The narrowest column of names that they are shortened for. */
	NAMES_MIN = 8,
};

/* What each grouping's edges are made of: a view goes from one to the next. */
static const struct {
	const char *by, *title;
} deeper[CTL_VIEW_DEPTH] = {
	{"process", "processes"},  {"role", "roles"},	       {"thread", "threads"},
	{"function", "functions"}, {"object", "data objects"}, {"line", "source lines"},
};

#define VIEW_ALARM 0.05
#define VIEW_MARGIN 1.5

/* The edges of one window, and of the one before it. */
struct reading {
	const struct comm_report *report, *before; /* before: NULL where there is none */
	struct ctl_labels labels;
	struct ctl_pairing pairing;
	const struct ctl_pair **pair; /* of each edge */
	double bytes;		      /* of all edges at this depth */
	size_t n_unstated;
};

static const char *sort_name(enum ctl_view_sort sort)
{
	static const char *const names[] = {
		[CTL_SORT_SHARE] = "share",
		[CTL_SORT_CHANGE] = "change",
		[CTL_SORT_NAME] = "name",
	};

	return names[sort];
}

static const char *by_of(const struct ctl_view *view)
{
	return view->by ? view->by : "thread";
}

/* Where in deeper a grouping is; CTL_VIEW_DEPTH: it is made of nothing deeper. */
static size_t place_of(const char *by)
{
	size_t at = 0;

	while (at < CTL_VIEW_DEPTH && strcmp(deeper[at].by, by) != 0)
		at++;
	return at;
}

const char *ctl_view_next_by(const char *by)
{
	size_t at = place_of(by ? by : "thread");

	return deeper[at < CTL_VIEW_DEPTH ? (at + 1) % CTL_VIEW_DEPTH : place_of("thread")].by;
}

static bool has_depth(const struct ctl_view *view, size_t depth)
{
	size_t at = place_of(by_of(view));

	return !depth || at + depth < CTL_VIEW_DEPTH;
}

/*
 * The depth at which the groupings of the view's edges begin.  A thread is of one process and one
 * role: below it they tell nothing more, and the library joins but four groupings.
 */
static size_t first_depth(const struct ctl_view *view)
{
	size_t at = place_of(by_of(view)), thread = place_of("thread");

	return at < thread && at + view->depth > thread ? thread - at : 0;
}

/* Those groupings, joined. */
static void join(const struct ctl_view *view, char text[BY_MAX])
{
	size_t at = place_of(by_of(view));

	snprintf(text, BY_MAX, "%s", by_of(view));
	if (at == CTL_VIEW_DEPTH)
		return;
	*text = '\0';
	for (size_t i = first_depth(view); i <= view->depth; i++)
		snprintf(text + strlen(text), BY_MAX - strlen(text), "%s%s", *text ? "," : "",
			 deeper[at + i].by);
}

/* A node's part at a depth: itself where there is one grouping alone. */
static const struct comm_node *part_of(const struct ctl_view *view, const struct comm_node *node,
				       size_t depth)
{
	size_t part = depth - first_depth(view);

	if (!node->n_parts)
		return node;
	return node->parts[part < node->n_parts ? part : node->n_parts - 1];
}

static bool is_inside(const struct ctl_view *view, const struct comm_report *report,
		      const struct comm_report_edge *edge)
{
	const struct comm_node *from = comm_report_node_at(report, edge->from);
	const struct comm_node *to = comm_report_node_at(report, edge->to);

	if (view->depth && (from->other || to->other))
		return false;
	for (size_t i = first_depth(view); i < view->depth; i++)
		if (strcmp(part_of(view, from, i)->key, view->step[i].key[0]) != 0 ||
		    strcmp(part_of(view, to, i)->key, view->step[i].key[1]) != 0)
			return false;
	return true;
}

static int take_report(const struct ctl_view *view, struct comm_reader *reader, int64_t from_ns,
		       int64_t to_ns, double confidence, struct comm_report **ret, char **err)
{
	char by[BY_MAX];
	struct comm_query query = COMM_QUERY_INIT;

	join(view, by);
	query.run = view->run;
	query.label = view->label;
	query.by = by;
	query.from_ns = from_ns;
	query.to_ns = to_ns;
	query.first_read = view->first_read && !view->fresh;
	query.fresh = view->fresh;
	query.confidence = confidence;
	/*
	 * Within a thread its functions communicate: not what the thread's edge is made of.  And of
	 * a process alone, what its threads hand over is all that there is.
	 */
	query.across = view->depth > 0 || !strcmp(by, "process");
	return comm_reader_report(reader, &query, ret, err);
}

static void name_of(const struct ctl_view *view, const struct reading *reading, size_t node,
		    char name[CTL_LABEL])
{
	const struct comm_node *of = comm_report_node_at(reading->report, node);
	const struct comm_node *part = part_of(view, of, view->depth);
	char raw[2 * CTL_LABEL];

	if (!of->n_parts) {
		ctl_clean(name, CTL_LABEL, reading->labels.text[node], CTL_LABEL - 1);
		return;
	}
	if (part->kind == COMM_NODE_LINE && *part->source)
		snprintf(raw, sizeof(raw), "%s:%u %s",
			 strrchr(part->source, '/') ? strrchr(part->source, '/') + 1 : part->source,
			 part->line, part->name);
	else if (part->kind == COMM_NODE_THREAD && part->tid && !strchr(part->name, '/'))
		snprintf(raw, sizeof(raw), "%s/%u", part->name, part->tid);
	else
		snprintf(raw, sizeof(raw), "%s", part->name);
	ctl_clean(name, CTL_LABEL, raw, CTL_LABEL - 1);
}

/* An arrow only where the change since the window before is certain. */
static const char *trend(const struct reading *reading, const struct ctl_term *term, size_t edge,
			 double *ret_size)
{
	const struct ctl_pair *pair = reading->pair[edge];
	struct ctl_flow flow[2];
	struct ctl_change change;

	*ret_size = 0;
	if (!reading->before || !pair)
		return " ";
	for (int s = 0; s < 2; s++)
		flow[s] = (struct ctl_flow){pair->share[s], pair->share_low[s], pair->share_high[s],
					    pair->resolved[s], pair->slices[s]};
	ctl_change_of(&flow[0], &flow[1],
		      (double)reading->report->bursts / fmax(reading->before->bursts, 1),
		      VIEW_ALARM, VIEW_MARGIN, &change);
	if (change.verdict < CTL_LESS)
		return " ";
	*ret_size = fabs(flow[1].value - flow[0].value);
	return change.verdict == CTL_MORE ? ctl_either(term, "▲", "^") : ctl_either(term, "▼", "v");
}

struct ordered {
	struct ctl_view_row row;
	double share, change;
};

static int order_by_share(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;

	return (a->share < b->share) - (a->share > b->share);
}

static int order_by_change(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;
	int order = (a->change < b->change) - (a->change > b->change);

	return order ? order : order_by_share(pa, pb);
}

static int order_by_name(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;

	return strcmp(a->row.step.name, b->row.step.name);
}

/* Writes "from > to", of which the longer name is shortened, or both, to room. */
static void write_names(char *out, size_t size, const char *from, const char *to, int capacity)
{
	int n_from = ctl_columns(from), n_to = ctl_columns(to), half;
	char a[CTL_LABEL], b[CTL_LABEL];

	capacity -= (int)strlen(" > ");
	half = capacity / 2;
	if (n_from + n_to <= capacity || capacity < NAMES_MIN) {
		snprintf(out, size, "%s > %s", from, to);
		return;
	}
	ctl_clean(a, sizeof(a), from, n_to < half ? capacity - n_to : half);
	ctl_clean(b, sizeof(b), to, capacity - ctl_columns(a));
	snprintf(out, size, "%s > %s", a, b);
}

/* Share, interval and rate, as many as a line has room for. */
static void write_figures(const struct ctl_term *term, const struct reading *reading,
			  const struct comm_report_edge *edge, double of_all,
			  char text[CTL_VIEW_LINE])
{
	const struct comm_report *report = reading->report;
	const char *mark = edge->resolved || report->exact ? " " : "?";
	double scale = edge->share > 0 ? of_all / edge->share : 0;
	char share[CTL_NUMBER], range[CTL_NUMBER], rate[CTL_NUMBER];

	if (term->width < WITH_INTERVAL) {
		snprintf(text, CTL_VIEW_LINE, "%3.0f %%%s", of_all * 100, mark);
		return;
	}
	snprintf(text, CTL_VIEW_LINE, "%7s%s %14s ", ctl_percent(share, of_all), mark,
		 report->exact ? ""
			       : ctl_percent_range(range, fmin(1, edge->share_low * scale),
						   fmin(1, edge->share_high * scale)));
	if (term->width >= WITH_RATE)
		snprintf(text + strlen(text), CTL_VIEW_LINE - strlen(text), "%10s/s ",
			 ctl_bytes(rate, edge->bytes / (report->enabled_ns / 1e9)));
}

static void write_row(const struct ctl_view *view, const struct ctl_term *term,
		      const struct reading *reading, size_t i, struct ordered *out)
{
	const struct comm_report *report = reading->report;
	const struct comm_report_edge *edge = comm_report_edge_at(report, i);
	const struct comm_node *part[2] = {
		part_of(view, comm_report_node_at(report, edge->from), view->depth),
		part_of(view, comm_report_node_at(report, edge->to), view->depth)};
	char from[CTL_LABEL], to[CTL_LABEL], *text = out->row.text;
	size_t n;

	name_of(view, reading, edge->from, from);
	name_of(view, reading, edge->to, to);
	for (int s = 0; s < 2; s++)
		snprintf(out->row.step.key[s], CTL_VIEW_KEY, "%s", part[s]->key);
	out->share = reading->bytes > 0 ? edge->bytes / reading->bytes : 0;
	write_figures(term, reading, edge, out->share, text);
	n = strlen(text);
	n += (size_t)snprintf(text + n, CTL_VIEW_LINE - n, "%s%s",
			      trend(reading, term, i, &out->change),
			      term->width < WITH_INTERVAL ? "" : "  ");
	/* What is written into an object is read there. */
	if (view->depth && part[0]->kind == COMM_NODE_OBJECT) {
		snprintf(out->row.step.name, CTL_VIEW_NAME, "%s", from);
		snprintf(text + n, CTL_VIEW_LINE - n, "%s", from);
		return;
	}
	snprintf(out->row.step.name, CTL_VIEW_NAME, "%s > %s", from, to);
	/* The last column stays free; an arrow is one column, however many bytes. */
	write_names(text + n, CTL_VIEW_LINE - n, from, to,
		    term->width - 1 - (int)n + (out->change > 0 && term->utf8 ? 2 : 0));
}

static int fill_rows(const struct ctl_view *view, const struct ctl_term *term,
		     struct reading *reading, struct ctl_frame *frame)
{
	static int (*const order[])(const void *, const void *) = {
		[CTL_SORT_SHARE] = order_by_share,
		[CTL_SORT_CHANGE] = order_by_change,
		[CTL_SORT_NAME] = order_by_name,
	};
	const struct comm_report *report = reading->report;
	struct ordered *all = calloc(report->n_edges + 1, sizeof(*all));
	size_t n = 0;

	frame->row = calloc(report->n_edges + 1, sizeof(*frame->row));
	if (!all || !frame->row) {
		free(all);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->n_edges; i++)
		if (is_inside(view, report, comm_report_edge_at(report, i)))
			reading->bytes += comm_report_edge_at(report, i)->bytes;
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (!is_inside(view, report, edge))
			continue;
		if (!edge->resolved && !report->exact && !view->all) {
			reading->n_unstated++;
			continue;
		}
		write_row(view, term, reading, i, &all[n]);
		n += !*view->filter || strstr(all[n].row.step.name, view->filter);
	}
	qsort(all, n, sizeof(*all), order[view->sort]);
	for (size_t i = 0; i < n; i++)
		frame->row[i] = all[i].row;
	frame->n_rows = n;
	free(all);
	return 0;
}

static int pair_windows(struct reading *reading)
{
	const struct comm_report *both[2] = {reading->before, reading->report};
	int code;

	reading->pair = calloc(reading->report->n_edges + 1, sizeof(*reading->pair));
	if (!reading->pair)
		return -ENOMEM;
	if (!reading->before)
		return 0;
	/* Of shares: free of the factor common to the volumes of a run. */
	code = ctl_pairing_init(&reading->pairing, both, NULL, 1);
	for (size_t i = 0; !code && i < reading->pairing.n; i++)
		if (reading->pairing.pair[i].edge[1] != SIZE_MAX)
			reading->pair[reading->pairing.pair[i].edge[1]] = &reading->pairing.pair[i];
	return code;
}

static void add_line(char lines[][CTL_VIEW_LINE], size_t *n, const char *text)
{
	snprintf(lines[(*n)++], CTL_VIEW_LINE, "%s", text);
}

static void write_cost(const struct ctl_term *term, const struct comm_report *report,
		       char line[CTL_VIEW_LINE])
{
	const struct comm_run *run = report->run;
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER];
	bool narrow = term->width < WITH_INTERVAL;
	double read = report->read_bytes - report->polled_bytes;
	uint64_t paused_ms = 0;
	size_t lost = 0;
	/* What setting up cost is no fault that lasts. */
	bool is_over = report->overhead > report->overhead_allowed &&
		       (report->overhead_settled < 0 ||
			report->overhead_settled > report->overhead_allowed);

	/* Kinds, for no sum of samples and pages means anything. */
	for (size_t i = 0; i < report->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(report, i);

		if (!strcmp(loss->cause, "paused_ms"))
			paused_ms += loss->n;
		else
			lost += !loss->spared;
	}
	snprintf(line, CTL_VIEW_LINE, "%s%s", narrow ? "" : "cost ",
		 report->exact ? "not limited, counted" : ctl_percent(a, report->overhead));
	snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), "%s%s",
		 narrow || report->exact ? "" : " of its time",
		 run->overhead_limit <= 0 || !is_over ? ""
		 : narrow			      ? " over"
						      : ": over the limit");
	if (lost)
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line),
			 narrow ? ", %zu kind%s lost" : ", losses of %zu kind%s", lost,
			 lost == 1 ? "" : "s");
	else
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), ", nothing lost");
	if (paused_ms)
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), ", paused %s",
			 ctl_duration(a, paused_ms * 1000000));
	if (!report->exact && read > 0)
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), ", writer seen for %s",
			 ctl_percent(b, report->seen_bytes / read));
	/* 80 columns have no room for both. */
	if (!report->exact && read > 0 && (!is_over || term->width > WITH_VOLUME))
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), " of %s",
			 ctl_bytes(c, read));
}

/* What the edges are between, and the steps into the flow, the last of them that have room. */
static void write_where(const struct ctl_view *view, const struct ctl_term *term,
			const struct comm_report *report, char line[CTL_VIEW_LINE])
{
	size_t first = view->depth, n;

	if (!view->depth) {
		snprintf(line, CTL_VIEW_LINE, "%s", report->by->title);
		return;
	}
	snprintf(line, CTL_VIEW_LINE, "%s: ", deeper[place_of(by_of(view)) + first].title);
	n = strlen(line) + strlen(".. / , by change");
	do
		n += strlen(view->step[--first].name) + strlen(" / ");
	while (first && (int)(n + strlen(view->step[first - 1].name)) < term->width);
	if (first)
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), ".. / ");
	for (size_t i = first; i < view->depth; i++)
		snprintf(line + strlen(line), CTL_VIEW_LINE - strlen(line), "%s%.*s",
			 i > first ? " / " : "", (int)ctl_bytes_in(view->step[i].name, 100),
			 view->step[i].name);
}

static void write_head(const struct ctl_view *view, const struct ctl_term *term,
		       const struct reading *reading, struct ctl_frame *frame)
{
	const struct comm_report *report = reading->report;
	const struct comm_run *run = report->run;
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER], line[CTL_VIEW_LINE];
	char name[CTL_VIEW_LINE / 2], filter[CTL_VIEW_FILTER + 1];

	snprintf(line, sizeof(line), "run %lld  %s  %s..%s of %s  ", (long long)run->id,
		 run->state == COMM_RUN_RUNNING && !view->end_ns ? "live" : "past",
		 ctl_duration(a, report->from_ns), ctl_duration(b, report->to_ns),
		 ctl_duration(c, run->end_ns - run->start_ns));
	ctl_clean(name, sizeof(name), run->command, term->width - 1 - (int)strlen(line));
	snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s", name);
	add_line(frame->head, &frame->n_head, line);
	write_cost(term, report, line);
	add_line(frame->head, &frame->n_head, line);
	write_where(view, term, report, line);
	if (view->fresh)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ", of fresh data");
	else if (view->first_read)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ", first reads");
	if (*view->filter)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ", with \"%s\"",
			 ctl_clean(filter, sizeof(filter), view->filter, CTL_VIEW_FILTER));
	snprintf(line + strlen(line), sizeof(line) - strlen(line), ", by %s",
		 sort_name(view->sort));
	add_line(frame->head, &frame->n_head, line);
	add_line(frame->head, &frame->n_head, "");
	if (term->width < WITH_INTERVAL)
		snprintf(line, sizeof(line), "share writer > reader");
	else
		snprintf(line, sizeof(line), "%7s  %14s %s   %s", "share",
			 report->exact ? "" : "90 % interval",
			 term->width < WITH_RATE ? "" : "        rate ", "writer > reader");
	add_line(frame->head, &frame->n_head, line);
}

static void write_foot(const struct ctl_view *view, const struct reading *reading,
		       struct ctl_frame *frame)
{
	const struct comm_report *report = reading->report;
	char line[CTL_VIEW_LINE], share[CTL_NUMBER];

	if (reading->n_unstated && !frame->n_rows)
		snprintf(line, sizeof(line),
			 "Nothing is confirmed, of %zu flows (a: show, w: longer).",
			 reading->n_unstated);
	else if (reading->n_unstated)
		snprintf(line, sizeof(line), "and %zu others, not confirmed (a: show)",
			 reading->n_unstated);
	else if (frame->n_rows)
		return;
	else if (*view->filter && reading->bytes > 0)
		snprintf(line, sizeof(line), "No flow has that text (Esc: all flows).");
	else if (!view->depth && report->self_bytes + report->within_bytes > 0)
		snprintf(line, sizeof(line),
			 "Nothing is handed over: what is read here, the reader wrote itself, as "
			 "far as writers were seen.");
	else
		snprintf(line, sizeof(line), "Nothing was seen: %s of bursts (w: a longer window).",
			 ctl_none_of(share, report->bursts));
	add_line(frame->foot, &frame->n_foot, line);
}

int ctl_view_read(const struct ctl_view *view, const struct ctl_term *term,
		  struct comm_reader *reader, struct ctl_frame *frame, char **err)
{
	struct comm_report *report = NULL, *before = NULL;
	struct reading reading = {0};
	int64_t from_ns = view->end_ns > view->window_ns ? view->end_ns - view->window_ns : 0;
	int code;

	*frame = (struct ctl_frame){0};
	*err = NULL;
	if (!view->end_ns)
		from_ns = -view->window_ns;
	code = take_report(view, reader, from_ns, view->end_ns, 0, &report, err);
	if (code)
		return code;
	/* Where the window begins with the run, there is none before. */
	if (report->from_ns && take_report(view, reader,
					   report->from_ns > (uint64_t)view->window_ns
						   ? (int64_t)report->from_ns - view->window_ns
						   : 0,
					   (int64_t)report->from_ns, 1 - VIEW_ALARM, &before, NULL))
		before = NULL;
	reading.report = report;
	reading.before = before;
	code = ctl_labels_init(&reading.labels, report);
	if (!code)
		code = pair_windows(&reading);
	if (!code)
		code = fill_rows(view, term, &reading, frame);
	if (!code) {
		frame->end_ns = report->to_ns;
		frame->run_ns = report->run->end_ns - report->run->start_ns;
		frame->has_deeper = !report->by->between && has_depth(view, view->depth + 1);
		write_head(view, term, &reading, frame);
		write_foot(view, &reading, frame);
	}
	ctl_pairing_deinit(&reading.pairing);
	ctl_labels_deinit(&reading.labels);
	free(reading.pair);
	comm_report_free(report);
	comm_report_free(before);
	return code;
}

void ctl_frame_deinit(struct ctl_frame *frame)
{
	free(frame->row);
	*frame = (struct ctl_frame){0};
}
