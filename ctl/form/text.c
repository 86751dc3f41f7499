// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter_text.h"
#include "form.h"
#include "heatmap.h"
#include "label.h"
#include "number.h"
#include "table.h"
#include "term.h"

enum {
	TEXT_COURSE_MAX = 60,
	TEXT_INDENT = 2,
	TEXT_ACCOUNT = 11,
	TEXT_LINE = 1024,
};

/* Of what is read, from which on loops that wait are no detail. */
static const double polled_share = 0.01;

/* How much of all this the report can speak of. */
static void print_seen(const struct ctl_term *term, const struct comm_query *query,
		       const struct comm_report *report)
{
	char share[CTL_NUMBER], bytes[CTL_NUMBER], polled[CTL_NUMBER], line[TEXT_LINE];
	double read = report->read_bytes - report->polled_bytes;

	if (report->exact || !(read > 0))
		return;
	if (query->fresh)
		snprintf(line, sizeof(line),
			 "%s windows on fresh data, which stand for %s; a write was seen of %s",
			 ctl_count(polled, report->windows), ctl_bytes(bytes, read),
			 ctl_percent(share, report->seen_bytes / read));
	else
		snprintf(line, sizeof(line), "writer seen for %s of the %s read",
			 ctl_percent(share, report->seen_bytes / read), ctl_bytes(bytes, read));
	if (report->polled_bytes > polled_share * report->read_bytes)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 ", besides %s in loops that wait",
			 ctl_bytes(polled, report->polled_bytes));
	snprintf(line + strlen(line), sizeof(line) - strlen(line), "; shares are of what is seen");
	ctl_wrap(term, 0, TEXT_INDENT, line);
}

/* A share of what an idle target uses would say nothing: of one CPU then. */
static void write_cost(char *line, size_t size, const struct comm_report *report)
{
	double range_ns = report->enabled_ns;
	double spent_ns = report->handler_ns + report->daemon_ns;
	const struct comm_run *run = report->run;
	char cost[CTL_NUMBER], limit[CTL_NUMBER], used[CTL_NUMBER], settled[CTL_NUMBER];
	bool is_idle = run->overhead_limit > 0 && report->overhead_allowed > run->overhead_limit;
	bool is_over = report->overhead > report->overhead_allowed;

	if (is_idle)
		snprintf(line, size,
			 "cost %s of one CPU, %s %s allowed however little the target does; it "
			 "used %s",
			 ctl_percent(cost, spent_ns / range_ns), is_over ? "over the" : "of",
			 ctl_percent(limit, run->floor),
			 ctl_percent(used, report->target_ns / range_ns));
	else if (report->target_ns)
		snprintf(line, size, "cost %s of the target's CPU time",
			 ctl_percent(cost, report->overhead));
	else
		snprintf(line, size, "cost unknown");
	if (run->overhead_limit > 0 && !is_idle)
		snprintf(line + strlen(line), size - strlen(line), ", limit %s%s",
			 ctl_limit(limit, run), is_over ? ": over the limit" : "");
	if (run->overhead_limit > 0 && !is_idle && is_over && report->overhead_settled >= 0)
		snprintf(line + strlen(line), size - strlen(line), "%s, %s after the first %llu s",
			 report->overhead_settled > report->overhead_allowed ? "" : " as it set up",
			 ctl_percent(settled, report->overhead_settled),
			 COMM_SETTLING_NS / 1000000000);
}

/* Of what is shown, when sampling was disabled for a part of it. */
static void print_enabled(const struct ctl_term *term, const struct comm_report *report)
{
	uint64_t range_ns = report->to_ns - report->from_ns;
	char on[CTL_NUMBER], all[CTL_NUMBER], line[TEXT_LINE];

	if (report->enabled_ns >= range_ns)
		return;
	snprintf(line, sizeof(line),
		 "sampling was enabled for %s of these %s: rates and the cost are of that time",
		 ctl_duration(on, report->enabled_ns), ctl_duration(all, range_ns));
	ctl_wrap(term, 0, TEXT_INDENT, line);
}

static void print_cost(const struct ctl_term *term, const struct comm_report *report)
{
	char line[TEXT_LINE], setup[CTL_NUMBER], idle[CTL_NUMBER];

	if (report->exact)
		snprintf(line, sizeof(line),
			 "cost not limited: the program ran slower to be counted");
	else
		write_cost(line, sizeof(line), report);
	if (report->daemon_idle_ns)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; commd used %s of one CPU besides, while CPUs were idle",
			 ctl_percent(idle, report->daemon_idle_ns / (double)report->enabled_ns));
	if (report->run->setup_ns)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; %s of CPU once, to set up", ctl_duration(setup, report->run->setup_ns));
	ctl_wrap(term, 0, TEXT_INDENT, line);
}

static void print_head(const struct ctl_term *term, const struct comm_query *query,
		       const struct comm_report *report, bool brief)
{
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER], line[TEXT_LINE];
	const struct comm_run *run = report->run;
	const char *only = strstr(run->notes, COMM_NOTE_ONLY);
	char target[TEXT_LINE];

	snprintf(target, sizeof(target), "%s%s%s", run->label, *run->label ? ": " : "",
		 run->command);
	ctl_clean(line, sizeof(line), target, term->width - 12);
	printf("%srun %lld  %s%s\n", ctl_style(term, CTL_BOLD), (long long)run->id, line,
	       ctl_style(term, CTL_PLAIN));
	if (brief) {
		print_enabled(term, report);
		print_cost(term, report);
		if (only) {
			/* A function's name is foreign text. */
			ctl_clean(line, sizeof(line), only, TEXT_LINE);
			ctl_wrap_styled(term, CTL_WARN, 0, TEXT_INDENT, line);
		}
		print_seen(term, query, report);
		return;
	}
	snprintf(line, sizeof(line), "%s, %s on %s%s%s", ctl_time(a, run->start_unix_ns),
		 ctl_duration(b, run->end_ns - run->start_ns), run->host,
		 run->state == COMM_RUN_FINISHED ? ", ended: " : ", ", run->how);
	ctl_wrap(term, 0, TEXT_INDENT, line);
	print_enabled(term, report);
	snprintf(line, sizeof(line), "source %s (%s), estimator %s, %llu-byte granularity",
		 run->source, run->event, run->estimator,
		 (unsigned long long)run->granularity_bytes);
	ctl_wrap(term, 0, TEXT_INDENT, line);
	if (report->exact && report->accesses)
		snprintf(line, sizeof(line), "%s accesses, all of them counted",
			 ctl_count(c, report->accesses));
	else if (report->exact)
		snprintf(line, sizeof(line), "all accesses counted");
	else if (report->samples == report->bursts)
		snprintf(line, sizeof(line), "%s samples, %s accesses",
			 ctl_count(a, report->samples), ctl_count(c, report->accesses));
	else
		snprintf(line, sizeof(line), "%s samples, %s bursts, %s accesses",
			 ctl_count(a, report->samples), ctl_count(b, report->bursts),
			 ctl_count(c, report->accesses));
	ctl_wrap(term, 0, TEXT_INDENT, line);
	print_cost(term, report);
	print_seen(term, query, report);
	if (*run->notes) {
		snprintf(line, sizeof(line), "note: %s", run->notes);
		ctl_wrap_styled(term, CTL_WARN, 0, TEXT_INDENT, line);
	}
}

/* Bytes per second over time, in at most n columns; returns the largest rate. */
static double course(const struct comm_report *report, double *rate, size_t n)
{
	double from = report->from_ns, width = (report->to_ns - from) / n, largest = 0;

	for (size_t i = 0; i < report->n_slices; i++) {
		const struct comm_report_slice *s = comm_report_slice_at(report, i);

		/* A slice over several columns is spread evenly. */
		for (size_t j = 0; j < n; j++) {
			double start = fmax(s->start_ns, from + j * width);
			double end = fmin(s->end_ns, from + (j + 1) * width);

			if (end > start)
				rate[j] += s->bytes * (end - start) / (s->end_ns - s->start_ns) /
					   width * 1e9;
		}
	}
	for (size_t j = 0; j < n; j++)
		largest = fmax(largest, rate[j]);
	return largest;
}

/* Whether the nodes of a report are threads, so that all of it goes from one to another. */
static bool is_of_threads(const struct comm_report *report)
{
	return report->by->between || !strcmp(report->by->name, "thread");
}

/* A slice's bytes are those between all threads: says so, where the report tells of others. */
static void print_course(const struct ctl_term *term, const struct comm_query *query,
			 const struct comm_report *report)
{
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER], filter[CTL_FILTER_TEXT];
	double rate[TEXT_COURSE_MAX] = {0}, largest;
	size_t n = report->n_slices, capacity = term->width - 44;
	const char *what = "";

	if (*ctl_filter_text(filter, query))
		what = " between all threads";
	else if (!is_of_threads(report) && !query->across && !report->by->across)
		what = " between threads";
	capacity = capacity > strlen(what) ? capacity - strlen(what) : 0;
	if (n > capacity)
		n = capacity;
	if (n > TEXT_COURSE_MAX)
		n = TEXT_COURSE_MAX;
	if (n < 4 || report->n_slices < 4)
		return;
	largest = course(report, rate, n);
	if (!(largest > 0))
		return;
	printf("%s ", ctl_duration(a, report->from_ns));
	for (size_t i = 0; i < n; i++)
		fputs(ctl_level(term, (int)ceil(8 * rate[i] / largest)), stdout);
	printf(" %s, peak %s/s%s\n", ctl_duration(b, report->to_ns), ctl_bytes(c, largest), what);
}

/*
 * One line of the account.  A share that the run does not confirm is not known, but for its
 * interval, and what stands in the way.
 */
static void print_part(const struct ctl_term *term, const struct comm_report *report,
		       const char *name, const char *what)
{
	char text[CTL_NUMBER], range[CTL_NUMBER], object[64], line[TEXT_LINE];
	const struct comm_report_part *part = NULL;

	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++)
		if (!strcmp(part->name, name))
			break;
	if (!part || !(part->bytes > 0) || !(report->read_bytes > 0))
		return;
	ctl_percent_range(range, part->share_low, part->share_high);
	if (part->resolved)
		ctl_percent(text, part->share);
	else
		snprintf(text, sizeof(text), "not known");
	if (report->exact)
		snprintf(line, sizeof(line), "%s", what);
	else if (part->resolved)
		snprintf(line, sizeof(line), "(%s) %s", range, what);
	else if (part->object)
		snprintf(line, sizeof(line), "%s: most of it is in one object, %s", what,
			 ctl_clean(object, sizeof(object), part->object, sizeof(object) - 1));
	else if (report->n_blocks < COMM_RESOLVED_SLICES)
		snprintf(line, sizeof(line), "%s", what);
	else {
		/* Within these bounds, no value is better than another. */
		snprintf(text, sizeof(text), "%s", range);
		snprintf(line, sizeof(line), "%s", what);
	}
	printf("%9s  ", text);
	ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT, line);
}

static void print_unseen(const struct ctl_term *term, const struct comm_query *query,
			 const struct comm_report *report)
{
	char line[TEXT_LINE];

	if (report->exact) {
		print_part(term, report, "unseen",
			   "never written by the program: constants, files");
		return;
	}
	if (query->fresh) {
		print_part(term, report, "unseen",
			   "not written during its window, or it is not known by whom");
		return;
	}
	snprintf(line, sizeof(line),
		 "writer not seen%s: constants, files, data older than the run, the kernel, other "
		 "processes, and what is written too rarely for a sample to meet it",
		 query->first_read ? ", read for the first time" : "");
	print_part(term, report, "unseen", line);
}

static void print_account(const struct ctl_term *term, const struct comm_query *query,
			  const struct comm_report *report)
{
	char a[CTL_NUMBER], line[TEXT_LINE];

	printf("\n%sOf %s %s%s\n", ctl_style(term, CTL_BOLD), ctl_bytes(a, report->read_bytes),
	       query->first_read ? "read for the first time since written"
	       : query->fresh	 ? report->exact ? "read less than 1 s after it was written"
						 : "read of data that changes within 1 s"
				 : "read in all",
	       ctl_style(term, CTL_PLAIN));
	snprintf(line, sizeof(line), "written by another %s",
		 query->across || report->by->across ? "thread" : report->by->noun);
	print_part(term, report, "others", query->self ? "with a known writer, as above" : line);
	snprintf(line, sizeof(line), "written by the same %s (--self shows it)", report->by->noun);
	print_part(term, report, "self", line);
	print_part(term, report, "within",
		   query->across && !report->by->across
			   ? "written by the same thread (shown without --across)"
			   : "written by the same thread (--self shows it)");
	print_part(term, report, "unasked", "without the thread asked for");
	print_part(term, report, "polled",
		   "read over and over in loops that write nothing, as threads do that wait for "
		   "another's write");
	print_unseen(term, query, report);
	print_part(term, report, "folded", "folded into (other): too many small edges");
	if (!query->first_read && !query->fresh && report->read_bytes > 0) {
		printf("%*s", TEXT_ACCOUNT, "");
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT,
			 "Every read counts, a repeated one too; --first-read counts what was "
			 "handed over.");
	}
}

/* Of a file without symbols, functions have the file and an address for their names. */
static bool is_bare(const struct comm_node *node)
{
	const char *module = strrchr(node->module, '/');

	module = module ? module + 1 : node->module;
	return *module && !strncmp(node->name, module, strlen(module)) &&
	       !strncmp(node->name + strlen(module), "+0x", 3);
}

/* The file without symbols whose functions move most bytes; NULL: names are no want. */
static const struct comm_node *most_bare(const struct comm_report *report, double *ret_share)
{
	const struct comm_node *ret = NULL;
	double most = 0, all = 0;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);
		double bytes = 0;

		all += node->written_bytes + node->read_bytes;
		for (size_t j = 0; j < report->n_nodes && is_bare(node); j++) {
			const struct comm_node *other = comm_report_node_at(report, j);

			if (is_bare(other) && !strcmp(other->module, node->module))
				bytes += other->written_bytes + other->read_bytes;
		}
		if (bytes > most) {
			most = bytes;
			ret = node;
		}
	}
	*ret_share = all > 0 ? most / all : 0;
	return ret;
}

/* That of the file of a node without a name; "": no function of it has one. */
static const char *build_id_of(const struct comm_report *report, const struct comm_node *bare)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		if (!strcmp(node->module, bare->module) && *node->build_id)
			return node->build_id;
	}
	return "";
}

static void print_bare(const struct ctl_term *term, const struct comm_report *report)
{
	char line[TEXT_LINE], module[64], share[CTL_NUMBER];
	const struct comm_node *node;
	const char *build_id;
	double part;

	node = most_bare(report, &part);
	if (!node || part < 0.1)
		return;
	build_id = build_id_of(report, node);
	ctl_clean(module, sizeof(module), node->module, sizeof(module) - 1);
	ctl_percent(share, part);
	if (*build_id)
		snprintf(
			line, sizeof(line),
			"%s has no names for functions with %s of the bytes. Its debug package has "
			"them (on Debian: find-dbgsym-packages %.40s); install that and run commd "
			"again.",
			module, share, build_id);
	else
		snprintf(line, sizeof(line),
			 "There are no names for functions of %s, with %s of the bytes: commd did "
			 "not "
			 "come to read that file (a longer run does, or a higher --overhead), or "
			 "it has no "
			 "build-id and no symbols.",
			 module, share);
	printf("\n");
	ctl_wrap(term, 0, 0, line);
}

/* Code whose accesses nobody can tell. */
static void print_mode32(const struct ctl_term *term, const struct comm_report *report)
{
	char line[TEXT_LINE], share[CTL_NUMBER];

	for (size_t i = 0; i < report->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(report, i);
		double part = loss->n / fmax(report->samples, 1);

		if (strcmp(loss->cause, "mode32") || part < 0.1)
			continue;
		snprintf(line, sizeof(line),
			 "%s of the samples are of 32-bit code, which is not decoded: what it "
			 "reads and writes is missing.",
			 ctl_percent(share, fmin(part, 1)));
		printf("\n");
		ctl_wrap_styled(term, CTL_WARN, 0, 0, line);
	}
}

static void print_nameless(const struct ctl_term *term, const struct comm_report *report)
{
	double nameless = 0, named = 0;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		*(strcmp(node->name, "[jit]") ? &named : &nameless) +=
			node->written_bytes + node->read_bytes;
	}
	if (!(nameless > named / 10))
		return;
	printf("\n");
	ctl_wrap(term, 0, 0,
		 "[jit] is generated code without names. A perf map, /tmp/perf-PID.map, has "
		 "them: jcmd PID Compiler.perfmap for Java 17, --perf-basic-prof for Node.js, "
		 "-X perf for Python 3.12; then run commd again.");
}

static const char advice[] = "A longer run or a higher --overhead may tell more.";

/* What to do where something is not resolved. */
static void print_advice(const struct ctl_term *term, const struct comm_report *report)
{
	if (report->n_unresolved)
		ctl_wrap_styled(term, CTL_WARN, 0, 0, advice);
}

/* Code that reads what the same code wrote, maybe in another thread, is in no row: where that is most, silence would mislead. */
static void print_left_out(const struct ctl_term *term, const struct comm_query *query,
			   const struct comm_report *report)
{
	char share[CTL_NUMBER], line[TEXT_LINE];
	bool is_shown = query->self || query->across || !report->by->within || report->by->across;

	if (is_shown || report->self_bytes <= report->total_bytes)
		return;
	ctl_percent(share, report->self_bytes / (report->self_bytes + report->total_bytes));
	snprintf(line, sizeof(line),
		 "%s goes from a %s to itself and is left out: --self lists it, --across what of "
		 "it crosses threads.",
		 share, report->by->noun);
	ctl_wrap(term, 0, 0, line);
}

/* Too little runs for any sampling to meet it. */
static bool is_idle(const struct comm_report *report)
{
	return report->target_ns && report->target_ns < 0.02 * report->enabled_ns;
}

/* None of so many tells how seldom it is, if all were asked about. */
static void print_none(char line[TEXT_LINE], const struct comm_query *query,
		       const struct comm_report *report, const char *length, const char *evidence)
{
	char filter[CTL_FILTER_TEXT], share[CTL_NUMBER];
	uint64_t n = query->fresh ? report->windows : report->bursts;

	if (*ctl_filter_text(filter, query) || n <= 3)
		snprintf(line, TEXT_LINE, "None was seen in %s and %s.", length, evidence);
	else
		snprintf(line, TEXT_LINE,
			 "None of %s in %s read what another %s was seen to write: %s of %s do.",
			 evidence, length, report->by->noun, ctl_none_of(share, n),
			 query->fresh ? "windows" : "bursts");
}

/* Nothing is stated: that is an answer, too. */
static void print_nothing(const struct ctl_term *term, const struct comm_query *query,
			  const struct comm_report *report)
{
	char length[CTL_NUMBER], bursts[CTL_NUMBER], share[CTL_NUMBER], line[TEXT_LINE];
	char evidence[2 * CTL_NUMBER];
	const char *confirmed = query->fresh
					? "surely 2 % or more by 10 windows, or in both halves of"
					: "in both halves of";
	size_t n;

	printf("\n");
	if (report->exact) {
		printf("There is none.\n");
		return;
	}
	ctl_duration(length, report->to_ns - report->from_ns);
	if (query->fresh)
		snprintf(evidence, sizeof(evidence), "%s windows",
			 ctl_count(bursts, report->windows));
	else
		snprintf(evidence, sizeof(evidence), "%s bursts of samples",
			 ctl_count(bursts, report->bursts));
	if (!report->n_edges && is_idle(report)) {
		snprintf(line, sizeof(line),
			 "None was seen: the target was idle. It used %s of one CPU in %s, in "
			 "which %s saw it. Put it under its usual load, or run "
			 "for longer.",
			 ctl_percent(share, (double)report->target_ns / report->enabled_ns), length,
			 evidence);
		ctl_wrap(term, 0, 0, line);
		return;
	}
	if (!report->n_edges)
		print_none(line, query, report, length, evidence);
	else if (report->n_edges == 1)
		snprintf(line, sizeof(line),
			 "Nothing is confirmed: the only flow, %s of all that was read, is not "
			 "%s the %s and %s (--all: list).",
			 ctl_percent(share, report->total_bytes / fmax(report->read_bytes, 1)),
			 confirmed, length, evidence);
	else
		snprintf(line, sizeof(line),
			 "Nothing is confirmed: none of %zu flows, together %s of all that was "
			 "read, is %s the %s and %s (--all: list).",
			 report->n_edges,
			 ctl_percent(share, report->total_bytes / fmax(report->read_bytes, 1)),
			 confirmed, length, evidence);
	ctl_wrap(term, 0, 0, line);
	*line = '\0';
	if (!query->fresh && report->n_blocks < COMM_RESOLVED_SLICES) {
		snprintf(line, sizeof(line),
			 "It takes %d slices of time to check a run against itself, here are %zu: "
			 "run longer, or with a shorter --slice. ",
			 COMM_RESOLVED_SLICES, report->n_blocks);
	}
	n = strlen(line);
	snprintf(line + n, sizeof(line) - n, "%s", advice);
	ctl_wrap_styled(term, CTL_WARN, 0, 0, line);
}

static void print_losses(const struct ctl_term *term, const struct comm_report *report)
{
	char a[CTL_NUMBER], spared[TEXT_LINE] = "";
	size_t n = 0, used = 0;

	printf("\n%sLost%s\n", ctl_style(term, CTL_BOLD), ctl_style(term, CTL_PLAIN));
	for (size_t i = 0; i < report->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(report, i);

		if (loss->spared) {
			used = strlen(spared);
			snprintf(spared + used, sizeof(spared) - used, "%s%s %s", used ? ", " : "",
				 ctl_count(a, loss->n), loss->help);
			continue;
		}
		n++;
		printf("%9s  ", ctl_count(a, loss->n));
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT, *loss->help ? loss->help : loss->cause);
	}
	if (!n && !report->run->deleted_ns)
		printf("  nothing that was counted\n");
	if (report->run->deleted_ns) {
		printf("%9s  ", ctl_duration(a, report->run->deleted_ns));
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT,
			 "of the run's oldest time, deleted to stay within the quota or the disk");
	}
	if (*spared) {
		char line[TEXT_LINE + 64];

		snprintf(line, sizeof(line), "Left out on purpose, to stay in the budget: %s.",
			 spared);
		printf("  ");
		ctl_wrap(term, TEXT_INDENT, TEXT_INDENT, line);
	}
}

static void print_reading(const struct ctl_term *term, const struct comm_query *query,
			  const struct comm_report *report, bool has_unresolved)
{
	static const char *const is_confirmed[] = {
		"Confirmed is what both halves of the run agree on, and whose share or bytes are "
		"known to 3 to 1. ",
		"Confirmed is what 10 windows saw and is surely 2 % or more, or what both halves "
		"of the run agree on, known to 3 to 1. "};
	static const char *const is_not[] = {
		" A ? marks what is not confirmed: fewer than 5 bursts in 4 slices behind it, "
		"halves of the run that differ, or neither its share nor its bytes known to 3 to "
		"1.",
		" A ? marks what is not confirmed: fewer than 10 windows saw it, or it may be "
		"under 2 %."};
	char line[TEXT_LINE];

	printf("\n");
	if (report->exact) {
		ctl_wrap(term, 0, 0,
			 "Counted, not estimated. Times and rates are those of the slowed program, "
			 "and so is the order in which threads took turns.");
		return;
	}
	snprintf(line, sizeof(line),
		 "%s %sIntervals of %.0f %% hold sampling noise, what the "
		 "run's own parts differ by, and %s. All rates may be wrong by one and the same "
		 "factor, "
		 "%.2f, which shares do not have; small or rare flows may be missing "
		 "altogether.%s",
		 query->fresh
			 ? "Seen in windows on words that change within 1 s, drawn at random: who "
			   "writes them last before they are read."
			 : "Estimates from samples.",
		 query->resolved ? is_confirmed[query->fresh] : "", report->confidence * 100,
		 query->fresh ? "how long code takes for what it reads"
			      : "doubts about who wrote what was read",
		 report->factor, has_unresolved ? is_not[query->fresh] : "");
	ctl_wrap(term, 0, 0, line);
	if (ctl_table_has_origins(report))
		ctl_wrap(term, 0, 0,
			 "HITM, remote, local: where loads like the reader's of that edge, at the "
			 "same place and object, found their line: in another core, which had "
			 "written it; else in another socket; else in this one. Intervals of "
			 "sampled loads; - where it is not known.");
}

/* Whether the run confirms how much goes between different nodes. */
static bool is_total_known(const struct comm_report *report)
{
	const struct comm_report_part *part = comm_report_part_at(report, 0);

	/* A share may be known for being small; an amount that may be anything is not. */
	return part->resolved && part->share_high <= COMM_RESOLVED_RATIO * part->share_low;
}

static void print_title(const struct ctl_term *term, const struct comm_query *query,
			const struct comm_report *report)
{
	double seconds = report->enabled_ns / 1e9;
	char a[CTL_NUMBER], b[CTL_NUMBER], filter[CTL_FILTER_TEXT], total[3 * CTL_NUMBER];

	snprintf(total, sizeof(total), ": %s, %s/s", ctl_bytes(a, report->total_bytes),
		 ctl_bytes(b, report->total_bytes / seconds));
	printf("\n%s%s between %s%s%s%s%s\n", ctl_style(term, CTL_BOLD),
	       query->first_read ? "First reads"
	       : query->fresh	 ? "Communication by fresh data"
				 : "Communication",
	       report->by->title,
	       query->across && !is_of_threads(report)	   ? ", across threads"
	       : report->by->within && !report->by->across ? ", also within a thread"
							   : "",
	       ctl_filter_text(filter, query), ctl_style(term, CTL_PLAIN),
	       report->n_edges && (is_total_known(report) || !query->resolved) ? total : "");
}

/* How many edges a report has to tell of. */
static size_t n_stated(const struct comm_query *query, const struct comm_report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->n_edges; i++)
		n += comm_report_edge_at(report, i)->resolved || !query->resolved;
	return n;
}

static void print_text(const struct comm_query *query, const struct comm_report *report, bool brief)
{
	struct ctl_labels labels;
	struct ctl_term term;
	bool has_unresolved = false;
	size_t stated;

	ctl_term_init(&term);
	print_head(&term, query, report, brief);
	if (ctl_labels_init(&labels, report)) {
		fprintf(stderr, "commctl: out of memory\n");
		exit(EXIT_FAILURE);
	}
	print_title(&term, query, report);
	if (!query->fresh && (is_total_known(report) || !query->resolved))
		print_course(&term, query, report);
	stated = report->by->between ? ctl_table_objects_count(query, report)
				     : n_stated(query, report);
	if (!stated) {
		print_nothing(&term, query, report);
	} else {
		printf("\n");
		if (report->by->matrix)
			ctl_heatmap(&term, query, &labels);
		has_unresolved = report->by->between ? ctl_table_objects(&term, query, &labels)
						     : ctl_table_edges(&term, query, &labels);
		if (!report->exact)
			print_advice(&term, report);
	}
	print_left_out(&term, query, report);
	print_nameless(&term, report);
	print_bare(&term, report);
	print_mode32(&term, report);
	if (!brief) {
		print_account(&term, query, report);
		print_losses(&term, report);
	}
	if (stated && !brief)
		print_reading(&term, query, report, has_unresolved);
	ctl_labels_deinit(&labels);
}

void ctl_form_text(const struct comm_query *query, const struct comm_report *report)
{
	print_text(query, report, false);
}

void ctl_form_text_brief(const struct comm_query *query, const struct comm_report *report)
{
	print_text(query, report, true);
}
