// SPDX-License-Identifier: GPL-2.0-or-later
#include "totals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "filter_text.h"
#include "json.h"
#include "number.h"
#include "term.h"

const char *const ctl_totals_orders[CTL_TOTALS_ORDERS] = {"both", "written", "read", "ratio"};

enum {
	NAME_COLUMNS = 36, /* of a table; a tree's names come last and are not cut */
	NAME_BYTES = 512,
	VOLUME_COLUMNS = 19,
	LENGTH_COLUMNS = 16,
	INDENT = 2,
};

struct chosen {
	const struct comm_report_total **total;
	size_t n, left_out;
	bool is_tree;
};

static double both(const struct comm_report_total *total)
{
	return total->all_written.bytes + total->all_read.bytes;
}

/* Whether lengths are CPU time of code, which nobody counts. */
static bool is_sampled_time(const struct comm_report *report)
{
	return report->length_unit && !strcmp(report->length_unit, "cpu-time-ns") &&
	       !report->exact && report->by->within && strcmp(report->by->name, "region") != 0;
}

/* Bytes read for each one written, by whom ever; without end where nothing is; NAN: it is not known. */
static double ratio(const struct comm_report_total *total)
{
	return total->wrote_bytes < 0 ? NAN : total->reads_bytes / total->wrote_bytes;
}

static double per_s(const struct comm_report *report, const struct comm_report_total *total)
{
	return both(total) * 1e9 / (double)report->enabled_ns;
}

/* What is not known comes last. */
static double key(const struct comm_report_total *total, enum ctl_totals_order order)
{
	switch (order) {
	case CTL_TOTALS_BY_WRITTEN:
		return total->all_wrote_bytes < 0 ? total->all_written.bytes
						  : total->all_wrote_bytes;
	case CTL_TOTALS_BY_READ:
		return total->all_read.bytes;
	case CTL_TOTALS_BY_RATIO:
		return isnan(ratio(total)) ? -1 : ratio(total);
	default:
		return both(total);
	}
}

/* The order of a report: what is within a node comes behind it. */
static int compare_place(const void *pa, const void *pb)
{
	const struct comm_report_total *a = *(const struct comm_report_total *const *)pa,
				       *b = *(const struct comm_report_total *const *)pb;

	return (a > b) - (a < b);
}

static int compare(const void *pa, const void *pb, void *order)
{
	const struct comm_report_total *a = *(const struct comm_report_total *const *)pa,
				       *b = *(const struct comm_report_total *const *)pb;
	double x = key(a, *(enum ctl_totals_order *)order),
	       y = key(b, *(enum ctl_totals_order *)order);

	if (x != y)
		return x > y ? -1 : 1;
	return compare_place(pa, pb);
}

/* What it read whose writer was not seen. */
static const char *not_seen(char text[CTL_NUMBER], const struct comm_report_total *total)
{
	double bytes = total->node.unwritten_bytes;

	return bytes > 0 ? ctl_bytes(text, bytes) : "-";
}

static bool is_shown(const struct comm_query *query, const struct comm_report *report,
		     const struct comm_report_total *total)
{
	double most = fmax(total->all_written.share, total->all_read.share);
	double least = query->min_share * report->read_bytes;

	if (total->all_wrote_bytes > 0 && total->all_wrote_bytes >= least)
		return true;
	if (query->resolved)
		return most >= query->min_share &&
		       (total->all_written.resolved || total->all_read.resolved);
	return most >= query->min_share ||
	       (total->all_unwritten_bytes > 0 && total->all_unwritten_bytes >= least);
}

/*
 * A node has no more bytes than what it is within, and comes behind it: so the largest ones are a
 * tree, too.
 */
static int choose(const struct comm_query *query, const struct comm_report *report,
		  enum ctl_totals_order order, struct chosen *ret)
{
	enum ctl_totals_order largest = CTL_TOTALS_BY_BOTH;

	bool *shown = calloc(report->n_totals + 1, sizeof(*shown));

	*ret = (struct chosen){.total = calloc(report->n_totals + 1, sizeof(*ret->total))};
	if (!ret->total || !shown) {
		free(ret->total);
		free(shown);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		ret->is_tree |= total->around != SIZE_MAX;
		shown[i] = is_shown(query, report, total) &&
			   (total->around == SIZE_MAX || shown[total->around]);
		if (shown[i])
			ret->total[ret->n++] = total;
	}
	free(shown);
	if (!ret->is_tree)
		qsort_r(ret->total, ret->n, sizeof(*ret->total), compare, &order);
	else if (query->top && ret->n > query->top)
		qsort_r(ret->total, ret->n, sizeof(*ret->total), compare, &largest);
	if (query->top && ret->n > query->top)
		ret->n = query->top;
	if (ret->is_tree)
		qsort(ret->total, ret->n, sizeof(*ret->total), compare_place);
	ret->left_out = report->n_totals - ret->n;
	return 0;
}

/* Of a path the innermost function: the others are the lines above. */
static const char *name_of(const struct chosen *chosen, const struct comm_report_total *total)
{
	const struct comm_node *node = &total->node;

	while (chosen->is_tree && total->depth && node->n_parts)
		node = node->parts[node->n_parts - 1];
	return node->name;
}

static const char *volume(char text[CTL_NUMBER + 2], const struct comm_report_volume *volume)
{
	char number[CTL_NUMBER];

	if (!(volume->bytes > 0))
		return "-";
	snprintf(text, CTL_NUMBER + 2, "%s%s", volume->resolved ? "" : "? ",
		 volume->low < volume->high ? ctl_range(number, volume->low, volume->high)
					    : ctl_bytes(number, volume->bytes));
	return text;
}

static const char *counted(char text[CTL_NUMBER], double bytes)
{
	return bytes < 0 ? "not known" : bytes > 0 ? ctl_bytes(text, bytes) : "-";
}

static const char *length(char text[CTL_NUMBER], const struct comm_report *report, double length)
{
	return length < 0   ? "not known"
	       : length > 0 ? ctl_length(text, length, report->length_unit)
			    : "-";
}

/* The counter's name is foreign text. */
static const char *length_head(char name[NAME_BYTES], const struct comm_report *report)
{
	return ctl_clean(name, NAME_BYTES, ctl_length_noun(report->length_unit), LENGTH_COLUMNS);
}

static void print_partner(const char *what, const struct comm_node *node)
{
	char name[NAME_BYTES];

	if (node)
		printf("  %s %s", what, ctl_clean(name, sizeof(name), node->name, NAME_COLUMNS));
}

static void print_table(const struct comm_report *report, const struct chosen *chosen)
{
	bool between = report->by->between;
	char raw[NAME_BYTES], name[NAME_BYTES], a[CTL_NUMBER + 2], b[CTL_NUMBER + 2], c[CTL_NUMBER],
		d[CTL_NUMBER];
	char e[CTL_NUMBER], f[CTL_NUMBER], g[CTL_NUMBER], per_written[CTL_NUMBER];

	printf("%*s", NAME_COLUMNS + INDENT, "");
	if (!between)
		printf("%*s ", VOLUME_COLUMNS, "others read of it");
	printf("%*s %12s %8s %12s", VOLUME_COLUMNS, between ? "read from it" : "read of others",
	       between ? "written to it" : "written", "ratio", "per second");
	if (!between)
		printf(" %12s", "of itself");
	printf(" %12s", "not seen");
	if (report->length_unit)
		printf(" %*s", LENGTH_COLUMNS, length_head(name, report));
	putchar('\n');
	for (size_t i = 0; i < chosen->n; i++) {
		const struct comm_report_total *total = chosen->total[i];
		const struct comm_node *node = &total->node;

		if (node->tid && node->kind == COMM_NODE_THREAD)
			snprintf(raw, sizeof(raw), "%s (%u)", node->name, node->tid);
		else
			snprintf(raw, sizeof(raw), "%s", node->name);
		snprintf(per_written, sizeof(per_written), "%.2g", ratio(total));
		ctl_clean(name, sizeof(name), raw, NAME_COLUMNS);
		printf("%s %-*s", total->intensive ? "*" : " ", ctl_field(name, NAME_COLUMNS),
		       name);
		if (!between)
			printf("%*s ", VOLUME_COLUMNS, volume(a, &total->written));
		printf("%*s %12s %8s %10s/s", VOLUME_COLUMNS, volume(b, &total->read),
		       counted(f, total->wrote_bytes), total->wrote_bytes > 0 ? per_written : "-",
		       ctl_bytes(c, per_s(report, total)));
		if (!between)
			printf(" %12s", counted(d, total->own_bytes));
		printf(" %12s",
		       node->unwritten_bytes > 0 ? ctl_bytes(e, node->unwritten_bytes) : "-");
		if (report->length_unit)
			printf(" %*s", LENGTH_COLUMNS, length(g, report, total->length));
		print_partner("->", total->reader);
		print_partner("<-", total->writer);
		putchar('\n');
	}
}

static void print_tree(const struct comm_report *report, const struct chosen *chosen)
{
	char name[NAME_BYTES], a[CTL_NUMBER + 2], b[CTL_NUMBER + 2], c[CTL_NUMBER + 2],
		d[CTL_NUMBER + 2], e[CTL_NUMBER], f[CTL_NUMBER], g[CTL_NUMBER];

	if (report->length_unit)
		printf("%*s %*s ", LENGTH_COLUMNS, length_head(name, report), LENGTH_COLUMNS,
		       "by itself");
	printf("%*s %*s %*s %*s %12s\n", VOLUME_COLUMNS, "others read of it", VOLUME_COLUMNS,
	       "of it alone", VOLUME_COLUMNS, "read, with all", VOLUME_COLUMNS, "by itself",
	       "not seen");
	for (size_t i = 0; i < chosen->n; i++) {
		const struct comm_report_total *total = chosen->total[i];

		if (report->length_unit)
			printf("%*s %*s ", LENGTH_COLUMNS, length(f, report, total->all_length),
			       LENGTH_COLUMNS, length(g, report, total->length));
		printf("%*s %*s %*s %*s %12s %*s%s%s\n", VOLUME_COLUMNS,
		       volume(a, &total->all_written), VOLUME_COLUMNS, volume(b, &total->written),
		       VOLUME_COLUMNS, volume(c, &total->all_read), VOLUME_COLUMNS,
		       volume(d, &total->read), not_seen(e, total),
		       (int)(1 + INDENT * total->depth), "", total->intensive ? "*" : "",
		       ctl_clean(name, sizeof(name), name_of(chosen, total), NAME_BYTES));
	}
}

static void none_of(char line[NAME_BYTES], const struct comm_report *report, bool of_all)
{
	char bursts[CTL_NUMBER], share[CTL_NUMBER];

	if (report->exact || report->fresh || !of_all)
		snprintf(line, NAME_BYTES, "None was seen to write or read what another one did.");
	else
		snprintf(line, NAME_BYTES,
			 "In none of %s bursts of samples one was seen to read what another one "
			 "wrote: %s of bursts do.",
			 ctl_count(bursts, report->bursts), ctl_none_of(share, report->bursts));
}

static void print_text(const struct comm_query *query, const struct comm_report *report,
		       const struct chosen *chosen)
{
	char bytes[CTL_NUMBER], filter[CTL_FILTER_TEXT], line[NAME_BYTES], none[NAME_BYTES];
	struct ctl_term term;

	ctl_term_init(&term);
	printf("%sWritten and read by %s%s%s%s: %s in all\n\n", ctl_style(&term, CTL_BOLD),
	       report->by->title,
	       query->across || (report->by->across && !query->self) ? ", across threads" : "",
	       ctl_filter_text(filter, query), ctl_style(&term, CTL_PLAIN),
	       ctl_bytes(bytes, report->total_bytes));
	if (!chosen->n) {
		none_of(none, report, !*filter);
		ctl_wrap(&term, 0, 0,
			 !chosen->left_out ? none
			 : query->resolved ? "Nothing is confirmed of any (--all: list)."
					   : "All are smaller than --min-share.");
		return;
	}
	if (chosen->is_tree)
		print_tree(report, chosen);
	else
		print_table(report, chosen);
	snprintf(line, sizeof(line),
		 "\n* marks the intensive ones: at least 5 %% of all, for sure.%s%s",
		 report->exact ? "" : " ? marks what is not confirmed.",
		 report->exact ? "" : " Intervals are those of edges.");
	puts(line);
	if (!chosen->is_tree)
		puts("Written is what was counted when it was written, the ratio all that is read "
		     "for each "
		     "byte of it. Runs that sample do not count writes.");
	if (is_sampled_time(report))
		puts("CPU time of code is what its samples stand for; that of threads and regions "
		     "is counted where commd had --counters.");
	puts(report->exact ? "Not seen is what was read and never written by the program: "
			     "constants, files."
			   : "Not seen is what was read without its writer being seen; it has no "
			     "interval.");
	if (chosen->left_out)
		printf("%zu more are left out: smaller%s (--top 0, --min-share 0%s)\n",
		       chosen->left_out, query->resolved ? ", or not confirmed" : "",
		       query->resolved ? ", --all" : "");
}

#define CSV_VOLUME(name)                                                                 \
	name "_bytes," name "_low," name "_high," name "_share," name "_share_low," name \
	     "_share_high," name "_samples," name "_resolved"

#define CSV_REST                                                                                \
	",own_bytes,per_second,ratio,reader,reader_bytes,writer,writer_bytes,intensive,"        \
	"unwritten_bytes,all_unwritten_bytes,wrote_bytes,reads_bytes,length,all_length,length_" \
	"unit"

static void csv_volume(const struct comm_report_volume *volume)
{
	printf(",%.10g,%.10g,%.10g,%.6g,%.6g,%.6g,%llu,%d", volume->bytes, volume->low,
	       volume->high, volume->share, volume->share_low, volume->share_high,
	       (unsigned long long)volume->samples, volume->resolved);
}

/* Of an object what was written to it, as far as it was counted. */
static void csv_wrote(double bytes)
{
	if (bytes < 0)
		fputs(",,,,,,,,0", stdout);
	else
		printf(",%.10g,%.10g,%.10g,,,,,1", bytes, bytes, bytes);
}

static void print_csv(const struct comm_query *query, const struct comm_report *report,
		      const struct chosen *chosen)
{
	(void)query;
	puts("id,within,depth,kind,name,module,tid," CSV_VOLUME("written") "," CSV_VOLUME(
		"read") "," CSV_VOLUME("all_written") "," CSV_VOLUME("all_read") CSV_REST);
	for (size_t i = 0; i < chosen->n; i++) {
		const struct comm_report_total *total = chosen->total[i];
		const struct comm_node *node = &total->node;

		ctl_csv_field(stdout, node->id);
		putchar(',');
		ctl_csv_field(stdout,
			      total->around == SIZE_MAX
				      ? ""
				      : comm_report_total_at(report, total->around)->node.id);
		printf(",%zu,", total->depth);
		ctl_csv_field(stdout, node->kind_name);
		putchar(',');
		ctl_csv_field(stdout, name_of(chosen, total));
		putchar(',');
		ctl_csv_field(stdout, node->module);
		printf(",%u", node->tid);
		if (report->by->between)
			csv_wrote(total->wrote_bytes);
		else
			csv_volume(&total->written);
		csv_volume(&total->read);
		if (report->by->between)
			csv_wrote(total->all_wrote_bytes);
		else
			csv_volume(&total->all_written);
		csv_volume(&total->all_read);
		printf(",%.10g,%.10g,", total->own_bytes, per_s(report, total));
		if (total->wrote_bytes > 0)
			printf("%.6g", ratio(total));
		putchar(',');
		ctl_csv_field(stdout, total->reader ? total->reader->name : "");
		printf(",%.10g,", total->reader_bytes);
		ctl_csv_field(stdout, total->writer ? total->writer->name : "");
		printf(",%.10g,%d,%.10g,%.10g,", total->writer_bytes, total->intensive,
		       node->unwritten_bytes, total->all_unwritten_bytes);
		if (total->wrote_bytes >= 0)
			printf("%.10g", total->wrote_bytes);
		printf(",%.10g", total->reads_bytes);
		if (total->length >= 0)
			printf(",%.17g,%.17g,", total->length, total->all_length);
		else
			fputs(",,,", stdout);
		ctl_csv_field(stdout, report->length_unit ? report->length_unit : "");
		putchar('\n');
	}
}

static void json_volume(struct ctl_json *json, const char *name,
			const struct comm_report_volume *volume)
{
	ctl_json_open(json, name, '{');
	ctl_json_double(json, "bytes", volume->bytes);
	ctl_json_double(json, "low", volume->low);
	ctl_json_double(json, "high", volume->high);
	ctl_json_double(json, "share", volume->share);
	ctl_json_double(json, "share_low", volume->share_low);
	ctl_json_double(json, "share_high", volume->share_high);
	ctl_json_count(json, "samples", volume->samples);
	ctl_json_count(json, "slices", volume->slices);
	ctl_json_bool(json, "resolved", volume->resolved);
	ctl_json_close(json, '}');
}

/* Likewise. */
static void json_wrote(struct ctl_json *json, double bytes)
{
	if (bytes < 0) {
		ctl_json_double(json, "written", NAN);
		return;
	}
	ctl_json_open(json, "written", '{');
	ctl_json_double(json, "bytes", bytes);
	ctl_json_double(json, "low", bytes);
	ctl_json_double(json, "high", bytes);
	ctl_json_bool(json, "resolved", true);
	ctl_json_close(json, '}');
}

static void json_partner(struct ctl_json *json, const char *name, const struct comm_node *node,
			 double bytes)
{
	if (!node)
		return;
	ctl_json_open(json, name, '{');
	ctl_json_string(json, "id", node->id);
	ctl_json_string(json, "name", node->name);
	ctl_json_double(json, "bytes", bytes);
	ctl_json_close(json, '}');
}

/* Of a tree the object stays open, for those within it. */
static void json_total(struct ctl_json *json, const struct comm_report *report,
		       const struct chosen *chosen, const struct comm_report_total *total)
{
	const struct comm_node *node = &total->node;

	ctl_json_open(json, NULL, '{');
	ctl_json_string(json, "id", node->id);
	ctl_json_string(json, "kind", node->kind_name);
	ctl_json_string(json, "name", name_of(chosen, total));
	if (node->other)
		ctl_json_bool(json, "other", true);
	ctl_json_string(json, "module", node->module);
	if (node->tid)
		ctl_json_count(json, "tid", node->tid);
	if (report->by->between)
		json_wrote(json, total->wrote_bytes);
	else
		json_volume(json, "written", &total->written);
	json_volume(json, "read", &total->read);
	if (chosen->is_tree) {
		json_volume(json, "all_written", &total->all_written);
		json_volume(json, "all_read", &total->all_read);
	}
	ctl_json_double(json, "wrote_bytes", total->wrote_bytes < 0 ? NAN : total->wrote_bytes);
	ctl_json_double(json, "reads_bytes", total->reads_bytes);
	ctl_json_double(json, "own_bytes", total->own_bytes);
	ctl_json_double(json, "unwritten_bytes", node->unwritten_bytes);
	if (chosen->is_tree)
		ctl_json_double(json, "all_unwritten_bytes", total->all_unwritten_bytes);
	ctl_json_double(json, "length", total->length < 0 ? NAN : total->length);
	if (chosen->is_tree)
		ctl_json_double(json, "all_length",
				total->all_length < 0 ? NAN : total->all_length);
	ctl_json_double(json, "per_second", per_s(report, total));
	ctl_json_double(json, "ratio", ratio(total));
	json_partner(json, "reader", total->reader, total->reader_bytes);
	json_partner(json, "writer", total->writer, total->writer_bytes);
	ctl_json_bool(json, "intensive", total->intensive);
	if (chosen->is_tree)
		ctl_json_open(json, "calls", '[');
	else
		ctl_json_close(json, '}');
}

static void json_end(struct ctl_json *json)
{
	ctl_json_close(json, ']');
	ctl_json_close(json, '}');
}

static void print_json(const struct comm_query *query, const struct comm_report *report,
		       const struct chosen *chosen)
{
	struct ctl_json json = {0};
	size_t open = 0;

	(void)query;
	ctl_json_begin(&json);
	ctl_json_int(&json, "run", report->run->id);
	ctl_json_string(&json, "by", report->by->name);
	ctl_json_double(&json, "seconds", (double)report->enabled_ns / 1e9);
	ctl_json_double(&json, "total_bytes", report->total_bytes);
	ctl_json_double(&json, "confidence", report->confidence);
	ctl_json_string(&json, "length_unit", report->length_unit ? report->length_unit : "");
	ctl_json_count(&json, "left_out", chosen->left_out);
	ctl_json_open(&json, "totals", '[');
	for (size_t i = 0; i < chosen->n; i++) {
		for (; open > chosen->total[i]->depth; open--)
			json_end(&json);
		json_total(&json, report, chosen, chosen->total[i]);
		open += chosen->is_tree;
	}
	while (open--)
		json_end(&json);
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
}

int ctl_totals_print(const struct comm_query *query, const struct comm_report *report,
		     const char *form, enum ctl_totals_order order)
{
	static const struct {
		const char *form;
		void (*print)(const struct comm_query *query, const struct comm_report *report,
			      const struct chosen *chosen);
	} forms[] = {{"text", print_text}, {"csv", print_csv}, {"json", print_json}};
	struct chosen chosen;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].form, form) != 0)
			continue;
		if (choose(query, report, order, &chosen))
			return -ENOMEM;
		forms[i].print(query, report, &chosen);
		free(chosen.total);
		return 0;
	}
	return -EINVAL;
}
