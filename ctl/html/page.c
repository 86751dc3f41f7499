// SPDX-License-Identifier: GPL-2.0-or-later
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <comm/version.h>

#include "asset.h"
#include "cacheline_words.h"
#include "changes.h"
#include "columns.h"
#include "data.h"
#include "number.h"
#include "overview.h"
#include "phases.h"
#include "utf8.h"
#include "views.h"

enum {
	PAGE_TOP_DEEP = 2500,
	PAGE_TOP_ASIDE =
		1000, /* below a view that is not cut in time: a run may have many of these */
	/* Flows that are told apart by time, too, in a step down: 300 bytes of memory each. */
	PAGE_TIMED = 1 << 18,
	PAGE_TOP_CELL = 300,
	PAGE_CELLS = 48,
	/* A report of fewer slices confirms nothing, one of twice as many is split finely. */
	PAGE_CELL_SLICES = 2 * COMM_RESOLVED_SLICES,
	PAGE_COURSE = 300, /* points of the course of all bytes */
	/* With more rows than this in the run, the course in time is made by thread alone. */
	PAGE_ROWS = 2000000,
	PAGE_CACHELINES = 40,
	PAGE_CACHELINES_OPEN = 10, /* of these, that are not stated */
};

struct page {
	FILE *out;
	struct comm_reader *reader;
	struct comm_query query; /* what all queries of the page have in common */
	struct ctl_nodes *nodes;
	const struct comm_report *whole; /* by thread */
	const struct ctl_page_ask *ask;
	struct ctl_views views;
	size_t n_flows
		[CTL_VIEW_STEPS]; /* of all: by thread, and by two of the steps down from there */
	size_t n_data;
	char **err;
};

static void open_data(struct page *page)
{
	fprintf(page->out, "<script type=\"application/json\" id=\"data-%zu\">", page->n_data++);
}

static void close_data(struct page *page)
{
	fputs("</script>\n", page->out);
}

static int report_by(struct page *page, const char *by, size_t top, struct comm_report **ret)
{
	return ctl_view_ask(page->reader, &page->query, by, top, ret, page->err);
}

static int print_view(struct page *page, const char *by, const struct comm_report *report)
{
	return ctl_columns_print(page->out, page->nodes, by, report);
}

/* ret_n: how many edges there are, with those that are not printed; may be NULL. */
static int ask_and_print(struct page *page, const char *by, size_t top, size_t *ret_n)
{
	struct comm_report *report;
	int code = report_by(page, by, top, &report);

	if (code)
		return code;
	if (ret_n)
		*ret_n = report->n_edges;
	code = print_view(page, by, report);
	comm_report_free(report);
	return code;
}

static void print_run(struct page *page)
{
	static const char *const states[] = {
		[COMM_RUN_RUNNING] = "running",
		[COMM_RUN_FINISHED] = "finished",
		[COMM_RUN_UNFINISHED] = "unfinished",
	};
	const struct comm_run *run = page->whole->run;
	char text[CTL_NUMBER];
	FILE *out = page->out;

	fputs("\"run\":{", out);
	ctl_data_member_text(out, "target", run->command);
	ctl_data_member_text(out, "label", run->label);
	ctl_data_member_text(out, "host", run->host);
	ctl_data_member_text(out, "source", run->source);
	ctl_data_member_text(out, "event", run->event);
	ctl_data_member_text(out, "estimator", run->estimator);
	ctl_data_member_text(out, "notes", run->notes);
	ctl_data_member_text(out, "how", run->how);
	ctl_data_member_text(out, "state", states[run->state]);
	ctl_data_member_text(out, "uuid", run->uuid);
	ctl_data_member_text(out, "start", ctl_time(text, run->start_unix_ns));
	ctl_data_member(out, "length_s", (run->end_ns - run->start_ns) / 1e9);
	ctl_data_member(out, "limit", run->overhead_limit);
	ctl_data_member(out, "least", run->overhead_least);
	ctl_data_member(out, "allowed", page->whole->overhead_allowed);
	ctl_data_member(out, "settled", page->whole->overhead_settled);
	ctl_data_member(out, "settling_s", COMM_SETTLING_NS / 1e9);
	ctl_data_member(out, "setup_s", run->setup_ns / 1e9);
	ctl_data_member(out, "deleted_s", run->deleted_ns / 1e9);
	ctl_data_member_count(out, "granularity", run->granularity_bytes);
	fprintf(out, "\"id\":%lld},\n", (long long)run->id);
}

static void print_range(struct page *page)
{
	const struct comm_report *whole = page->whole;
	FILE *out = page->out;

	fputs("\"range\":{", out);
	ctl_data_member(out, "from_s", whole->from_ns / 1e9);
	ctl_data_member(out, "to_s", whole->to_ns / 1e9);
	ctl_data_member(out, "cost", whole->target_ns ? whole->overhead : -1);
	ctl_data_member(out, "read", whole->read_bytes);
	ctl_data_member(out, "polled", whole->polled_bytes);
	ctl_data_member(out, "seen", whole->seen_bytes);
	ctl_data_member_count(out, "samples", whole->samples);
	ctl_data_member_count(out, "bursts", whole->bursts);
	ctl_data_member_count(out, "accesses", whole->accesses);
	ctl_data_member(out, "confidence", whole->confidence);
	ctl_data_member(out, "factor", whole->factor);
	ctl_data_member_count(out, "windows", whole->windows);
	fprintf(out, "\"first_read\":%s,\"fresh\":%s,\"exact\":%s},\n",
		page->query.first_read ? "true" : "false", whole->fresh ? "true" : "false",
		whole->exact ? "true" : "false");
}

static void print_account(struct page *page)
{
	const struct comm_report_part *part;
	FILE *out = page->out;

	fputs("\"account\":[", out);
	for (size_t i = 0; (part = comm_report_part_at(page->whole, i)); i++) {
		fputs(i ? ",{" : "{", out);
		ctl_data_member_text(out, "part", part->name);
		ctl_data_member(out, "bytes", part->bytes);
		ctl_data_member(out, "share", part->share);
		ctl_data_member(out, "low", part->share_low);
		ctl_data_member(out, "high", part->share_high);
		if (part->object)
			ctl_data_member_text(out, "object", part->object);
		fprintf(out, "\"stated\":%s}", part->resolved ? "true" : "false");
	}
	fputs("],\n\"loss\":[", out);
	for (size_t i = 0; i < page->whole->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(page->whole, i);
		char help[200];

		fputs(i ? ",{" : "{", out);
		ctl_data_member_text(out, "cause", loss->cause);
		snprintf(help, sizeof(help), "%s%s", loss->help,
			 loss->spared ? " (left out on purpose, to stay in the budget)" : "");
		ctl_data_member_text(out, "help", help);
		fprintf(out, "\"n\":%llu}", (unsigned long long)loss->n);
	}
	fputs("],\n", out);
}

/* Bytes between threads over time: neighbouring slices as one where there are too many. */
static void print_course(struct page *page)
{
	size_t n = page->whole->n_slices, step = n / PAGE_COURSE + 1;
	FILE *out = page->out;

	fputs("\"course\":[", out);
	for (size_t i = 0; i < n; i += step) {
		const struct comm_report_slice *slice = comm_report_slice_at(page->whole, i);
		uint64_t start_ns = slice->start_ns;
		double bytes = slice->bytes;

		for (size_t j = i + 1; j < n && j < i + step; j++) {
			slice = comm_report_slice_at(page->whole, j);
			bytes += slice->bytes;
		}
		fputs(i ? ",[" : "[", out);
		ctl_data_number(out, start_ns / 1e9);
		putc(',', out);
		ctl_data_number(out, slice->end_ns / 1e9);
		putc(',', out);
		ctl_data_number(out, bytes);
		putc(']', out);
	}
	fputs("],\n", out);
}

/* Bytes, thread, place in the program and shares of the accesses of each word: numbers alone. */
static int print_words(struct page *page, const struct comm_report_cacheline *line)
{
	struct ctl_word word[CTL_WORDS];
	size_t left, n = ctl_words(page->whole, line, false, word, &left);
	FILE *out = page->out;

	ctl_data_member_count(out, "left", left);
	fputs("\"words\":[", out);
	for (size_t i = 0; i < n; i++) {
		int thread = ctl_nodes_at(page->nodes, word[i].use->thread);
		int place = ctl_nodes_at(page->nodes, word[i].use->place);

		if (thread < 0 || place < 0)
			return -ENOMEM;
		fprintf(out, "%s[%u,%u,%d,%d,", i ? "," : "", word[i].byte, word[i].size_bytes,
			thread, place);
		ctl_data_number(out, word[i].reads / line->accesses);
		putc(',', out);
		ctl_data_number(out, word[i].writes / line->accesses);
		putc(']', out);
	}
	putc(']', out);
	return 0;
}

static int print_cacheline(struct page *page, const struct comm_report_cacheline *line)
{
	double seconds = ctl_cacheline_seconds(page->whole);
	int object = ctl_nodes_at(page->nodes, line->object);
	FILE *out = page->out;

	if (object < 0)
		return object;
	putc('{', out);
	ctl_data_member_text(out, "verdict", line->verdict);
	fprintf(out, "\"stated\":%s,\"object\":%d,", line->stated ? "true" : "false", object);
	if (line->offset != INT64_MIN)
		fprintf(out, "\"offset\":%lld,", (long long)line->offset);
	ctl_data_member_count(out, "bursts", line->bursts);
	ctl_data_member_count(out, "turns", line->turns);
	ctl_data_member(out, "contended", line->contended / seconds);
	ctl_data_member(out, "low", line->contended_low / seconds);
	ctl_data_member(out, "high", line->contended_high / seconds);
	ctl_data_member(out, "true_low", line->true_low);
	ctl_data_member(out, "true_high", line->true_high);
	object = print_words(page, line);
	putc('}', out);
	return object;
}

/* The worst cache lines, those that are stated first. */
static int print_cachelines(struct page *page)
{
	const struct comm_report_cacheline *line;
	size_t open = 0, n = 0;
	int code = 0;

	fputs("\"cachelines\":[", page->out);
	while (!code && n < PAGE_CACHELINES && (line = comm_report_cacheline_at(page->whole, n))) {
		if (!line->stated && open++ == PAGE_CACHELINES_OPEN)
			break;
		fputs(n++ ? ",\n" : "", page->out);
		code = print_cacheline(page, line);
	}
	fputs("],\n", page->out);
	ctl_data_member_count(page->out, "cachelines_left_out", page->whole->n_cachelines - n);
	return code;
}

/* The views, and the names of the reports that are the steps down from each. */
static void print_by(struct page *page)
{
	FILE *out = page->out;

	fputs("\"by\":[", out);
	for (size_t i = 0; i < page->views.n; i++) {
		const struct ctl_view *view = &page->views.view[i];
		char name[CTL_VIEW_NAME];

		fputs(i ? ",\n{" : "{", out);
		ctl_data_member_text(out, "by", view->by);
		fputs("\"steps\":[", out);
		for (size_t j = 0; j < CTL_VIEW_STEPS && view->step[j]; j++) {
			ctl_view_name(view, view->step[j], name);
			fputs(j ? "," : "", out);
			ctl_data_text(out, name);
		}
		fputs("]}", out);
	}
	fputs("],\n", out);
}

/* What commctl report says first; a page of first reads or fresh data alone is of something else. */
static int print_screen(struct page *page)
{
	struct ctl_overview *overview = calloc(1, sizeof(*overview));
	FILE *out = page->out;
	int code = overview ? 0 : -ENOMEM;

	if (!code && !page->query.first_read && !page->query.fresh)
		code = ctl_overview_make(page->reader, &page->query, overview, page->err);
	fputs("\"screen\":[", out);
	for (size_t i = 0; !code && i < overview->n; i++) {
		fputs(i ? ",[" : "[", out);
		ctl_data_text(out, overview->line[i].title);
		putc(',', out);
		ctl_data_text(out, overview->line[i].share);
		putc(',', out);
		ctl_data_text(out, overview->line[i].text);
		putc(']', out);
	}
	fputs("],\n", out);
	free(overview);
	return code;
}

static int print_first(struct page *page)
{
	FILE *out = page->out;
	int code;

	open_data(page);
	fputs("{", out);
	ctl_data_member_text(out, "version", COMM_VERSION);
	print_run(page);
	print_range(page);
	print_account(page);
	print_course(page);
	print_by(page);
	code = print_screen(page);
	if (!code)
		code = print_cachelines(page);
	if (!code && page->ask->against) {
		fputs("\"changes\":", out);
		ctl_changes_print(out, page->ask->against->comparison, page->ask->against->name);
		fputs(",\n", out);
	}
	fputs("\"view\":", out);
	if (!code)
		code = print_view(page, "thread", page->whole);
	fputs("}", out);
	close_data(page);
	return code;
}

static int print_views(struct page *page)
{
	int code = 0;

	open_data(page);
	putc('[', page->out);
	/* The one by thread stands before the script, so that there is a picture at once. */
	for (size_t i = 1; i < page->views.n && !code; i++) {
		fputs(i > 1 ? ",\n" : "", page->out);
		code = print_view(page, page->views.view[i].by, page->views.view[i].report);
	}
	putc(']', page->out);
	close_data(page);
	return code;
}

/* Views share steps: whether one of those before that one had a step of that name. */
static bool is_repeated(const struct page *page, size_t view, const char *step)
{
	char name[CTL_VIEW_NAME];

	for (size_t i = 0; i < view; i++)
		for (size_t j = 0; j < CTL_VIEW_STEPS && page->views.view[i].step[j]; j++) {
			ctl_view_name(&page->views.view[i], page->views.view[i].step[j], name);
			if (!strcmp(name, step))
				return true;
		}
	return false;
}

/* The first view is of threads: its steps say how many flows there are to be told apart by time. */
static int print_step(struct page *page, size_t i, size_t step)
{
	const struct ctl_view *view = &page->views.view[i];
	char by[CTL_VIEW_NAME];
	size_t n = 0;
	int code;

	ctl_view_name(view, view->step[step], by);
	if (is_repeated(page, i, by) ||
	    (view->timed && page->n_flows[step] * view->report->n_edges > PAGE_TIMED))
		return 0;
	fputs(i || step ? ",\n" : "", page->out);
	code = ask_and_print(page, by, view->parts ? PAGE_TOP_DEEP : PAGE_TOP_ASIDE, &n);
	if (i == 0 && step + 1 < CTL_VIEW_STEPS)
		page->n_flows[step + 1] = n;
	return code;
}

/* The types of what functions read, beside the objects that it is in. */
static int print_typed(struct page *page, const struct ctl_view *view)
{
	char by[CTL_VIEW_NAME];

	if (!view->typed)
		return 0;
	ctl_view_name(view, view->typed, by);
	fputs(",\n", page->out);
	return ask_and_print(page, by, PAGE_TOP_ASIDE, NULL);
}

/* The steps from an edge of a view down to lines. */
static int print_deep(struct page *page)
{
	bool has_types = ctl_views_have(&page->views, "type");
	int code = 0;

	open_data(page);
	putc('[', page->out);
	page->n_flows[0] = page->whole->n_edges;
	for (size_t i = 0; i < page->views.n && !code; i++) {
		const struct ctl_view *view = &page->views.view[i];

		for (size_t j = 0; j < CTL_VIEW_STEPS && view->step[j] && !code; j++)
			code = print_step(page, i, j);
		if (!code && has_types)
			code = print_typed(page, view);
	}
	putc(']', page->out);
	close_data(page);
	return code;
}

static int print_cell(struct page *page, uint64_t from_ns, uint64_t to_ns, size_t n_views)
{
	const struct comm_query saved = page->query;
	int code = 0;

	page->query.from_ns = from_ns;
	page->query.to_ns = to_ns;
	putc('[', page->out);
	for (size_t i = 0; i < n_views && !code; i++) {
		if (!page->views.view[i].parts)
			continue;
		fputs(i ? ",\n" : "", page->out);
		code = ask_and_print(page, page->views.view[i].by, PAGE_TOP_CELL, NULL);
	}
	/* Where in the reading thread it is consumed. */
	if (!code && n_views > 1) {
		fputs(",\n", page->out);
		code = ask_and_print(page, "thread,function", PAGE_TOP_CELL, NULL);
	}
	putc(']', page->out);
	page->query = saved;
	return code;
}

/* The range cut into cells, each a report of its own, with enough slices to check it. */
static int print_cells(struct page *page)
{
	const struct comm_report *whole = page->whole;
	size_t n_views = whole->run->edges > PAGE_ROWS ? 1 : page->views.n, n;
	struct ctl_phase *phase;
	int code = ctl_phases_cut(whole, (whole->to_ns - whole->from_ns) / PAGE_CELLS,
				  PAGE_CELL_SLICES, &phase, &n);

	if (code)
		return code;
	open_data(page);
	putc('[', page->out);
	for (size_t i = 0; i < n && !code; i++) {
		fputs(i ? ",\n" : "", page->out);
		code = print_cell(page, phase[i].from_ns, phase[i].to_ns, n_views);
	}
	putc(']', page->out);
	close_data(page);
	free(phase);
	return code;
}

struct excerpts {
	struct page *page;
	struct ctl_source *source;
	size_t n;
};

static void print_excerpt(void *arg, const char *id, const char *path, uint32_t line)
{
	struct excerpts *excerpts = arg;
	FILE *out = excerpts->page->out;
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	bool found;

	if (!memory)
		return;
	found = ctl_source_print(excerpts->source, path, line, memory);
	if (!fclose(memory) && found) {
		fputs(excerpts->n++ ? ",\n" : "", out);
		ctl_data_text(out, id);
		fprintf(out, ":%s", text);
	}
	free(text);
}

static void print_sources(struct page *page)
{
	struct ctl_source *source = page->ask->source;
	struct excerpts excerpts = {page, source, 0};

	source->run_unix_ns = page->whole->run->start_unix_ns;
	open_data(page);
	fprintf(page->out, "{\"asked\":%s,\"lines\":{", source->n_dirs ? "true" : "false");
	if (source->n_dirs)
		ctl_nodes_lines(page->nodes, print_excerpt, &excerpts);
	fputs("}}", page->out);
	close_data(page);
}

/* What keeps a page current, and its end. */
static void print_end(FILE *out, const struct ctl_page_live *live)
{
	if (live)
		fprintf(out,
			"<script type=\"application/json\" id=\"live\">{\"run\":%lld,"
			"\"seen\":\"%016llx\"}</script>\n<script>%s</script>\n",
			(long long)live->run, (unsigned long long)live->version, ctl_asset_live);
	fputs("</body>\n</html>\n", out);
}

static int print_all(struct page *page)
{
	int code;

	fprintf(page->out, "%s<style>%s</style>\n%s",
		page->ask->live ? ctl_asset_live_head : ctl_asset_head, ctl_asset_style,
		ctl_asset_body);
	code = print_first(page);
	fprintf(page->out, "<script>%s</script>\n", ctl_asset_script);
	if (!code)
		code = print_views(page);
	if (!code)
		code = print_deep(page);
	if (!code)
		code = print_cells(page);
	if (!code)
		print_sources(page);
	print_end(page->out, page->ask->live);
	return code;
}

int ctl_page_print(FILE *out, struct comm_reader *reader, const struct ctl_page_ask *ask,
		   char **err)
{
	struct page page = {
		.out = out, .reader = reader, .ask = ask, .query = *ask->query, .err = err};
	struct comm_report *whole;
	int code;

	*err = NULL;
	page.query.cachelines = 1;
	code = report_by(&page, "thread", CTL_VIEW_TOP, &whole);
	if (code)
		return code;
	/* All other reports are of the same slices, also when a daemon is writing more. */
	page.query.cachelines = 0;
	page.query.run = whole->run->id;
	page.query.from_ns = whole->from_ns;
	page.query.to_ns = whole->to_ns;
	page.whole = whole;
	page.nodes = ctl_nodes_create();
	code = page.nodes ? ctl_views_choose(&page.views, reader, &page.query, whole, err)
			  : -ENOMEM;
	if (!code)
		code = print_all(&page);
	ctl_views_free(&page.views);
	ctl_nodes_destroy(page.nodes);
	comm_report_free(whole);
	return code;
}

/* What would be markup is a reference, what is not to be shown is as elsewhere. */
static void print_text(FILE *out, const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (strchr("<>&", *shown))
			fprintf(out, "&#%d;", *shown);
		else
			fwrite(shown, 1, (size_t)n, out);
	}
}

void ctl_page_print_problem(FILE *out, const char *sentence, const struct ctl_page_live *live)
{
	fprintf(out,
		"%s<style>%s</style>\n<body>\n<header>\n<h1>commprof</h1>\n</header>\n"
		"<main id=\"main\">\n<p class=\"warn\" id=\"problem\">",
		ctl_asset_live_head, ctl_asset_style);
	print_text(out, sentence);
	fputs("</p>\n</main>\n", out);
	print_end(out, live);
}
