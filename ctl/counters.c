// SPDX-License-Identifier: GPL-2.0-or-later
#include "counters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv.h"
#include "json.h"
#include "number.h"
#include "term.h"

enum {
	NAME_WIDTH = 26,
	NAME_BYTES = 512,
};

static double per_s(const struct comm_report *report, const struct comm_report_count *count)
{
	return count->total * 1e9 / (double)report->enabled_ns;
}

/* Nobody counts by region: what a thread counted is shared out, as its samples were in regions. */
static bool is_apportioned(const struct comm_report *report)
{
	return !strcmp(report->by->name, "region");
}

/* Of an event that was counted in no part of the node's time nothing is. */
static bool is_known(const struct comm_report_count *count)
{
	return count->counted > 0;
}

static const struct comm_report_count *counter_of(const struct comm_report *report,
						  const struct comm_report_count *of,
						  const char *counter)
{
	for (size_t i = 0; i < report->n_counts; i++) {
		const struct comm_report_count *count = comm_report_count_at(report, i);

		if (!strcmp(count->node.id, of->node.id) && !strcmp(count->counter, counter))
			return count;
	}
	return NULL;
}

/*
 * Bytes that the node writes for others and reads of them, by what it does for them; *ret_unit:
 * "1000 instructions" where these are counted, else "ms of CPU time".  0: it is not known.
 */
static double bytes_per(const struct comm_report *report, const struct comm_report_count *of,
			const char **ret_unit)
{
	const struct comm_report_count *instructions = counter_of(report, of, "instructions");

	*ret_unit = instructions ? "1000 instructions" : "ms of CPU time";
	if (instructions)
		return instructions->total > 0 ? of->bytes * 1e3 / instructions->total : 0;
	return of->cpu_ns > 0 ? of->bytes * 1e6 / of->cpu_ns : 0;
}

static bool is_time(const char *counter)
{
	size_t len = strlen(counter);

	return len > 3 && !strcmp(counter + len - 3, "-ns");
}

/* Whole numbers have all of their digits; of others, as of rates, no more are known. */
static const char *amount(char text[CTL_NUMBER], const char *counter, double value)
{
	const char *unit = is_time(counter) ? " ms" : "";
	char number[CTL_NUMBER];

	if (is_time(counter))
		value /= 1e6;
	if (value >= 1000 && value < 1e15)
		snprintf(text, CTL_NUMBER, "%.20s%s", ctl_count(number, (uint64_t)(value + 0.5)),
			 unit);
	else
		snprintf(text, CTL_NUMBER, "%.4g%s", value, unit);
	return text;
}

static void print_text(const struct comm_report *report)
{
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER], d[CTL_NUMBER];
	const char *last = "", *unit;
	char name[NAME_BYTES];

	printf("%-28s %16s %16s %16s %16s\n", report->by->noun, "total", "per second",
	       "mean per slice", "deviation");
	for (size_t i = 0; i < report->n_counts; i++) {
		const struct comm_report_count *count = comm_report_count_at(report, i);
		double bytes = bytes_per(report, count, &unit);

		if (strcmp(last, count->node.id) != 0) {
			fputs(ctl_clean(name, sizeof(name), count->node.name, sizeof(name)),
			      stdout);
			if (count->node.tid)
				printf(" (%u)", count->node.tid);
			if (bytes > 0)
				printf(": %s per %s, written and read", ctl_bytes(a, bytes), unit);
			putchar('\n');
		}
		last = count->node.id;
		ctl_clean(name, sizeof(name), count->counter, sizeof(name));
		printf("  %-*s", ctl_field(name, NAME_WIDTH), name);
		if (is_known(count))
			printf(" %16s %16s %16s %16s", amount(a, count->counter, count->total),
			       amount(b, count->counter, per_s(report, count)),
			       amount(c, count->counter, count->mean),
			       amount(d, count->counter, count->deviation));
		else
			printf(" %16s %16s %16s %16s", "not known", "", "", "");
		if (count->counted < 0.995)
			printf("  counted in %.0f %% of its CPU time", 100 * count->counted);
		putchar('\n');
	}
	if (is_apportioned(report))
		puts("\nApportioned by CPU time: a thread's counts of each slice are shared out "
		     "as its samples were in regions.\n"
		     "Waits, switches and migrations have no region.");
}

static void print_csv(const struct comm_report *report)
{
	const char *unit;

	puts("id,kind,name,tgid,tid,counter,total,per_second,mean,deviation,slices,counted,bytes,"
	     "bytes_per,per");
	for (size_t i = 0; i < report->n_counts; i++) {
		const struct comm_report_count *count = comm_report_count_at(report, i);
		double bytes = bytes_per(report, count, &unit);

		ctl_csv_field(stdout, count->node.id);
		putchar(',');
		ctl_csv_field(stdout, count->node.kind_name);
		putchar(',');
		ctl_csv_field(stdout, count->node.name);
		printf(",%u,%u,", count->node.tgid, count->node.tid);
		ctl_csv_field(stdout, count->counter);
		if (is_known(count))
			printf(",%.10g,%.10g,%.10g,%.6g", count->total, per_s(report, count),
			       count->mean, count->deviation);
		else
			fputs(",,,,", stdout);
		printf(",%llu,%.6g,%.10g,%.6g,", (unsigned long long)count->slices, count->counted,
		       count->bytes, bytes);
		ctl_csv_field(stdout, unit);
		putchar('\n');
	}
}

static void print_json(const struct comm_report *report)
{
	struct ctl_json json = {0};
	const char *unit;

	ctl_json_begin(&json);
	ctl_json_int(&json, "run", report->run->id);
	ctl_json_string(&json, "by", report->by->name);
	ctl_json_double(&json, "seconds", (double)report->enabled_ns / 1e9);
	ctl_json_bool(&json, "apportioned", is_apportioned(report));
	ctl_json_open(&json, "counts", '[');
	for (size_t i = 0; i < report->n_counts; i++) {
		const struct comm_report_count *count = comm_report_count_at(report, i);
		double bytes = bytes_per(report, count, &unit);

		ctl_json_open(&json, NULL, '{');
		ctl_json_string(&json, "id", count->node.id);
		ctl_json_string(&json, "kind", count->node.kind_name);
		ctl_json_string(&json, "name", count->node.name);
		ctl_json_count(&json, "tgid", count->node.tgid);
		ctl_json_count(&json, "tid", count->node.tid);
		ctl_json_string(&json, "counter", count->counter);
		ctl_json_double(&json, "total", is_known(count) ? count->total : NAN);
		ctl_json_double(&json, "per_second", is_known(count) ? per_s(report, count) : NAN);
		ctl_json_double(&json, "mean", is_known(count) ? count->mean : NAN);
		ctl_json_double(&json, "deviation", is_known(count) ? count->deviation : NAN);
		ctl_json_count(&json, "slices", count->slices);
		ctl_json_double(&json, "counted", count->counted);
		ctl_json_double(&json, "bytes", count->bytes);
		ctl_json_double(&json, "bytes_per", bytes);
		ctl_json_string(&json, "per", unit);
		ctl_json_close(&json, '}');
	}
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
}

bool ctl_counters_print(const struct comm_report *report, const char *form)
{
	static const struct {
		const char *form;
		void (*print)(const struct comm_report *report);
	} forms[] = {{"text", print_text}, {"csv", print_csv}, {"json", print_json}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].form, form) != 0)
			continue;
		forms[i].print(report);
		return true;
	}
	return false;
}
