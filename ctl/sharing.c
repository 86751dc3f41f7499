// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl sharing: cache lines that threads take from each other, and whether they need to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cacheline_words.h"
#include "csv.h"
#include "ctl.h"
#include "json.h"
#include "number.h"
#include "open.h"
#include "options.h"

enum {
	SHARING_TOP = 10,
	SHARING_NAME = 1024,
	SHARING_INDENT = 9,
};

static const struct argp_option argp_options[] = {
	CTL_RANGE_OPTIONS,
	{.key = CTL_ALL, .doc = "Also lines of which the run does not tell how they are shared"},
	{.key = CTL_VERBOSE, .doc = "Text with each field, who uses it most and where"},
	{.key = CTL_TOP, .doc = "At most so many lines; 0: all; default 10, for programs all"},
	{.key = CTL_CONFIDENCE},
	{.key = CTL_AS, .doc = "A form: text, the default; csv; json"},
	{.key = CTL_CSV},
	{.key = CTL_JSON},
	{0},
};

static bool is_text(const struct ctl_options *options)
{
	return !options->form || !strcmp(options->form, "text");
}

/* The first so many lines, which is all that there are of those wanted. */
static size_t n_shown(const struct ctl_options *options, const struct comm_report *report)
{
	size_t top = options->query.top, n = 0;

	if (!options->has_top)
		top = is_text(options) ? SHARING_TOP : 0;
	while (n < report->n_cachelines && (!top || n < top) &&
	       (options->all || comm_report_cacheline_at(report, n)->stated))
		n++;
	return n;
}

/* A row, and who uses what of it. */
static void print_row(const struct ctl_term *term, const struct comm_report *report,
		      const struct comm_report_cacheline *line)
{
	double seconds = ctl_cacheline_seconds(report);
	char name[CTL_CACHELINE_TEXT], high[CTL_NUMBER], summary[CTL_CACHELINE_SUMMARY];
	char same[CTL_NUMBER];
	bool is_open = !strcmp(line->verdict, "unclear");

	ctl_percent_range(same, line->true_low, line->true_high);
	printf("%-8s %13s %13s  %s\n", is_open ? "?" : line->verdict,
	       ctl_two_digits(high, line->contended_high / seconds), same,
	       ctl_cacheline_name(name, line));
	printf("%*s", SHARING_INDENT, "");
	ctl_wrap(term, SHARING_INDENT, SHARING_INDENT,
		 ctl_cacheline_summary(summary, report, line));
}

static void print_line(const struct ctl_term *term, const struct comm_report *report,
		       const struct comm_report_cacheline *line)
{
	static const struct {
		const char *verdict, *text;
	} titles[] = {
		{"false", "false sharing"},
		{"true", "true sharing"},
		{"both", "false and true sharing"},
		{"unclear", "cannot tell"},
	};
	double seconds = ctl_cacheline_seconds(report);
	char name[CTL_CACHELINE_TEXT], high[CTL_NUMBER], shares[CTL_NUMBER], text[SHARING_NAME];
	size_t i = 0;

	while (strcmp(titles[i].verdict, line->verdict) != 0)
		i++;
	printf("%s%s: %s%s\n", ctl_style(term, CTL_BOLD), ctl_cacheline_name(name, line),
	       titles[i].text, ctl_style(term, CTL_PLAIN));
	printf("  ");
	snprintf(text, sizeof(text),
		 "%s of what may be contended is for the same bytes; %" PRIu64
		 " bursts saw it, %" PRIu64
		 " of them just behind another thread; at most %s contended accesses a second",
		 ctl_percent_range(shares, line->true_low, line->true_high), line->bursts,
		 line->turns, ctl_two_digits(high, line->contended_high / seconds));
	ctl_wrap(term, 2, 2, text);
	ctl_cacheline_print(term, report, line);
	printf("\n");
}

static void print_text(const struct ctl_options *options, const struct comm_report *report)
{
	size_t shown = n_shown(options, report), stated = 0;
	char length[CTL_NUMBER], name[SHARING_NAME], text[SHARING_NAME];
	struct ctl_term term;

	ctl_term_init(&term);
	while (stated < report->n_cachelines && comm_report_cacheline_at(report, stated)->stated)
		stated++;
	ctl_clean(name, sizeof(name), report->run->command, term.width > 60 ? term.width - 30 : 30);
	printf("run %" PRId64 "  %s, %s by %s\n\n", report->run->id, name,
	       ctl_duration(length, report->to_ns - report->from_ns), report->run->source);
	if (shown && !options->verbose)
		printf("%s%-8s %13s %13s  line%s\n", ctl_style(&term, CTL_BOLD), "sharing",
		       "contended/s <", "same bytes", ctl_style(&term, CTL_PLAIN));
	for (size_t i = 0; i < shown; i++)
		(options->verbose ? print_line : print_row)(&term, report,
							    comm_report_cacheline_at(report, i));
	if (shown && !options->verbose)
		printf("\n");
	if (report->exact)
		snprintf(text, sizeof(text),
			 "The exact source does not count which cache lines threads take from each "
			 "other. A run of another source samples that.");
	else if (!report->n_cachelines)
		snprintf(text, sizeof(text),
			 "No cache line is confirmed to be shared: none was seen twice that one "
			 "thread wrote and another used.");
	else if (!stated)
		snprintf(text, sizeof(text),
			 "No cache line is confirmed to be shared. Of %zu that one thread wrote "
			 "and another used the run does not tell how%s.",
			 report->n_cachelines, options->all ? "" : "; --all lists them");
	else if (!options->verbose)
		snprintf(
			text, sizeof(text),
			report->n_cachelines == stated
				? "%zu of %zu confirmed lines. -v shows each field and where it is "
				  "used."
				: "%zu of %zu confirmed lines; of %zu more the run does not "
				  "tell%s. -v "
				  "shows each field and where it is used.",
			shown < stated ? shown : stated, stated, report->n_cachelines - stated,
			options->all ? "" : " (--all)");
	else
		snprintf(text, sizeof(text),
			 "%zu of %zu confirmed lines; of %zu more the run does not tell%s. An "
			 "access may be contended when another thread writes in the line, or when "
			 "it writes and another uses the line. How many waited samples do not "
			 "tell: one that waits looks like many that do not, and who uses the same "
			 "bytes of a heap may have been given them one after the other.",
			 shown < stated ? shown : stated, stated, report->n_cachelines - stated,
			 options->all || report->n_cachelines == stated ? ""
									: ", --all lists them");
	ctl_wrap(&term, 0, 0, text);
}

static void csv_field(const char *text)
{
	ctl_csv_field(stdout, text);
	putchar(',');
}

static void print_csv(const struct ctl_options *options, const struct comm_report *report)
{
	size_t shown = n_shown(options, report);

	puts("line,verdict,stated,line_object,line_offset,contended,contended_low,contended_high,"
	     "true_share,true_low,true_high,line_bursts,turns,byte,size_bytes,object,offset,thread,"
	     "tid,writes,accesses,bursts,function,module,source,source_line");
	for (size_t i = 0; i < shown; i++) {
		const struct comm_report_cacheline *line = comm_report_cacheline_at(report, i);

		for (size_t j = 0; j < line->n_uses; j++) {
			const struct comm_report_cacheline_use *use =
				comm_report_cacheline_use_at(report, line->first_use + j);

			printf("%zu,%s,%d,", i, line->verdict, line->stated);
			csv_field(line->object->name);
			if (line->offset != INT64_MIN)
				printf("%" PRId64, line->offset);
			printf(",%.0f,%.0f,%.0f,%.4f,%.4f,%.4f,%" PRIu64 ",%" PRIu64 ",%u,%u,",
			       line->contended, line->contended_low, line->contended_high,
			       line->true_share, line->true_low, line->true_high, line->bursts,
			       line->turns, use->byte, use->size_bytes);
			csv_field(use->object->name);
			if (use->offset >= 0)
				printf("%" PRId64, use->offset);
			putchar(',');
			csv_field(use->thread->name);
			printf("%u,%d,%.0f,%" PRIu64 ",", use->thread->tid, use->writes,
			       use->accesses, use->bursts);
			csv_field(use->place->name);
			csv_field(use->place->module);
			csv_field(use->place->source);
			printf("%u\n", use->place->line);
		}
	}
}

static void json_object(struct ctl_json *json, const struct comm_node *object)
{
	ctl_json_open(json, "object", '{');
	ctl_json_string(json, "id", object->id);
	ctl_json_string(json, "key", object->key);
	ctl_json_string(json, "name", object->name);
	ctl_json_string(json, "kind", object->object_kind);
	ctl_json_string(json, "module", object->module);
	ctl_json_string(json, "build_id", object->build_id);
	ctl_json_count(json, "size_bytes", object->size_bytes);
	ctl_json_close(json, '}');
}

static void json_use(struct ctl_json *json, const struct comm_report_cacheline_use *use)
{
	ctl_json_open(json, NULL, '{');
	ctl_json_count(json, "byte", use->byte);
	ctl_json_count(json, "size_bytes", use->size_bytes);
	json_object(json, use->object);
	if (use->offset >= 0)
		ctl_json_int(json, "offset", use->offset);
	ctl_json_open(json, "thread", '{');
	ctl_json_string(json, "id", use->thread->id);
	ctl_json_string(json, "name", use->thread->name);
	ctl_json_count(json, "tgid", use->thread->tgid);
	ctl_json_count(json, "tid", use->thread->tid);
	ctl_json_count(json, "start_ns", use->thread->start_ns);
	ctl_json_string(json, "role", use->role->name);
	ctl_json_close(json, '}');
	ctl_json_bool(json, "writes", use->writes);
	ctl_json_double(json, "accesses", use->accesses);
	ctl_json_count(json, "bursts", use->bursts);
	ctl_json_string(json, "function", use->place->name);
	ctl_json_string(json, "inlined", use->place->inlined);
	ctl_json_string(json, "module", use->place->module);
	ctl_json_string(json, "build_id", use->place->build_id);
	ctl_json_string(json, "source", use->place->source);
	ctl_json_count(json, "line", use->place->line);
	ctl_json_close(json, '}');
}

static void print_json(const struct ctl_options *options, const struct comm_report *report)
{
	size_t shown = n_shown(options, report);
	struct ctl_json json = {0};

	ctl_json_begin(&json);
	ctl_json_open(&json, "run", '{');
	ctl_json_int(&json, "id", report->run->id);
	ctl_json_string(&json, "uuid", report->run->uuid);
	ctl_json_string(&json, "target", report->run->command);
	ctl_json_string(&json, "host", report->run->host);
	ctl_json_string(&json, "source", report->run->source);
	ctl_json_close(&json, '}');
	ctl_json_double(&json, "seconds", ctl_cacheline_seconds(report));
	ctl_json_double(&json, "confidence", report->confidence);
	ctl_json_count(&json, "lines_in_all", report->n_cachelines);
	ctl_json_open(&json, "lines", '[');
	for (size_t i = 0; i < shown; i++) {
		const struct comm_report_cacheline *line = comm_report_cacheline_at(report, i);

		ctl_json_open(&json, NULL, '{');
		ctl_json_string(&json, "verdict", line->verdict);
		ctl_json_bool(&json, "stated", line->stated);
		json_object(&json, line->object);
		if (line->offset != INT64_MIN)
			ctl_json_int(&json, "offset", line->offset);
		ctl_json_count(&json, "bursts", line->bursts);
		ctl_json_count(&json, "turns", line->turns);
		ctl_json_double(&json, "accesses", line->accesses);
		ctl_json_double(&json, "contended", line->contended);
		ctl_json_double(&json, "contended_low", line->contended_low);
		ctl_json_double(&json, "contended_high", line->contended_high);
		ctl_json_double(&json, "true_share", line->true_share);
		ctl_json_double(&json, "true_low", line->true_low);
		ctl_json_double(&json, "true_high", line->true_high);
		ctl_json_open(&json, "uses", '[');
		for (size_t j = 0; j < line->n_uses; j++)
			json_use(&json, comm_report_cacheline_use_at(report, line->first_use + j));
		ctl_json_close(&json, ']');
		ctl_json_close(&json, '}');
	}
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
}

int ctl_sharing(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.doc = "Cache lines that threads take from each other, who uses which bytes of "
		       "them, and whether they are shared truly or falsely.",
	};
	struct ctl_options options = {.query = COMM_QUERY_INIT};
	struct comm_report *report;
	struct comm_reader *reader;
	char *err;
	int code;

	options.query.cachelines = 1;
	ctl_options_parse(&argp, "text csv json", argc, argv, &options);
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	code = comm_reader_report(reader, &options.query, &report, &err);
	comm_reader_close(reader);
	if (code)
		return ctl_error(code, err);
	if (is_text(&options))
		print_text(&options, report);
	else if (!strcmp(options.form, "csv"))
		print_csv(&options, report);
	else
		print_json(&options, report);
	comm_report_free(report);
	return CTL_OK;
}
