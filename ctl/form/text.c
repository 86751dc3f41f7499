// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	TEXT_FEW_BURSTS = 1000, /* with fewer bursts, a report without edges says little */
};

static void print_head(const struct ctl_term *term, const struct comm_report *report)
{
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER], line[TEXT_LINE];
	const struct comm_run *run = report->run;

	ctl_clean(line, sizeof(line), run->command, term->width - 12);
	printf("%srun %lld  %s%s\n", ctl_style(term, CTL_BOLD), (long long)run->id, line,
	       ctl_style(term, CTL_PLAIN));
	snprintf(line, sizeof(line), "%s, %s on %s%s%s", ctl_time(a, run->start_unix_ns),
		 ctl_duration(b, run->end_ns - run->start_ns), run->host,
		 run->state == COMM_RUN_FINISHED ? ", ended: " : ", ", run->how);
	ctl_wrap(term, 0, TEXT_INDENT, line);
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
	if (report->exact)
		snprintf(line, sizeof(line),
			 "cost not limited: the program ran slower to be counted");
	else if (report->target_ns)
		snprintf(line, sizeof(line), "cost %s of the target's CPU time",
			 ctl_percent(a, report->overhead));
	else
		snprintf(line, sizeof(line), "cost unknown");
	if (run->overhead_limit > 0)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ", limit %s%s",
			 ctl_percent(b, run->overhead_limit),
			 report->overhead > run->overhead_limit ? ": over the limit" : "");
	if (run->setup_ns)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; %s of CPU once, to set up", ctl_duration(c, run->setup_ns));
	ctl_wrap(term, 0, TEXT_INDENT, line);
	if (*run->notes) {
		printf("%s", ctl_style(term, CTL_WARN));
		snprintf(line, sizeof(line), "note: %s", run->notes);
		ctl_wrap(term, 0, TEXT_INDENT, line);
		printf("%s", ctl_style(term, CTL_PLAIN));
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

static void print_course(const struct ctl_term *term, const struct comm_report *report)
{
	char a[CTL_NUMBER], b[CTL_NUMBER], c[CTL_NUMBER];
	double rate[TEXT_COURSE_MAX] = {0}, largest;
	size_t n = report->n_slices;

	if (n > (size_t)term->width - 44)
		n = term->width - 44;
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
	printf(" %s, peak %s/s\n", ctl_duration(b, report->to_ns), ctl_bytes(c, largest));
}

/* One line of the sums that the table leaves out. */
static void left_out(const struct ctl_term *term, double bytes, double whole, const char *what)
{
	char share[CTL_NUMBER];

	if (!(bytes > 0) || !(whole > 0))
		return;
	printf("%9s  ", ctl_percent(share, bytes / whole));
	ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT, what);
}

static void print_account(const struct ctl_term *term, const struct comm_query *query,
			  const struct comm_report *report)
{
	double whole = report->read_bytes;
	char a[CTL_NUMBER], line[TEXT_LINE];

	printf("\n%sOf %s %s%s\n", ctl_style(term, CTL_BOLD), ctl_bytes(a, whole),
	       query->first_read ? "read for the first time since written" : "read in all",
	       ctl_style(term, CTL_PLAIN));
	if (query->self)
		snprintf(line, sizeof(line), "with a known writer, as above");
	else
		snprintf(line, sizeof(line), "written by another %s, as above", report->by->noun);
	left_out(term, report->total_bytes, whole, line);
	snprintf(line, sizeof(line), "written by the same %s (--self shows it)", report->by->noun);
	left_out(term, report->self_bytes, whole, line);
	left_out(term, report->within_bytes, whole,
		 "written by the same thread (shown without --across)");
	if (query->thread)
		left_out(term,
			 whole - report->total_bytes - report->self_bytes - report->within_bytes -
				 report->unwritten_bytes - report->folded_bytes,
			 whole, "without the thread asked for");
	left_out(term, report->unwritten_bytes, whole,
		 report->exact ? "never written by the program: constants, files"
		 : query->first_read
			 ? "never seen to be written"
			 : "never seen to be written: constants, files, data older than "
			   "the run, other writers, and flags polled often but written "
			   "too rarely for a sample to meet it");
	left_out(term, report->folded_bytes, whole, "folded into (other): too many small edges");
	if (!query->first_read && whole > 0) {
		printf("%*s", TEXT_ACCOUNT, "");
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT,
			 "Every read counts, a repeated one too; --first-read counts what was "
			 "handed over.");
	}
}

/* Prints how to get better names and narrower intervals. */
static void print_advice(const struct ctl_term *term, const struct comm_report *report)
{
	double nameless = 0, named = 0, resolved = 0, shown = 0;
	bool few, coarse;
	char share[CTL_NUMBER], line[TEXT_LINE];

	for (size_t i = 0; i < report->n_shown; i++) {
		shown += comm_report_edge_at(report, i)->share;
		resolved += comm_report_edge_at(report, i)->resolved
				    ? comm_report_edge_at(report, i)->share
				    : 0;
	}
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		*(strcmp(node->name, "[jit]") ? &named : &nameless) +=
			node->written_bytes + node->read_bytes;
	}
	if (nameless > named / 10) {
		printf("\n");
		ctl_wrap(
			term, 0, 0,
			"[jit] is generated code without names. A perf map, /tmp/perf-PID.map, has "
			"them: jcmd PID Compiler.perfmap for Java 17, --perf-basic-prof for "
			"Node.js, "
			"-X perf for Python 3.12; then run commd again.");
	}
	if (shown > 0)
		few = resolved < shown / 2;
	else
		few = report->bursts < TEXT_FEW_BURSTS;
	coarse = report->coarse_bytes > report->total_bytes / 4;
	if (!few && !coarse)
		return;
	*line = '\0';
	if (coarse)
		snprintf(
			line, sizeof(line),
			"%s of this rests on the object alone: the writer wrote somewhere into the "
			"heap or mapping that the reader read from, perhaps elsewhere. ",
			ctl_percent(share, report->coarse_bytes / report->total_bytes));
	snprintf(line + strlen(line), sizeof(line) - strlen(line),
		 "%sA longer run or a higher --overhead tells more%s.",
		 few ? "Too few samples to tell much. " : "", few ? "" : " places apart");
	printf("\n%s", ctl_style(term, CTL_WARN));
	ctl_wrap(term, 0, 0, line);
	printf("%s", ctl_style(term, CTL_PLAIN));
}

static void print_losses(const struct ctl_term *term, const struct comm_report *report)
{
	char a[CTL_NUMBER];

	printf("\n%sLost%s\n", ctl_style(term, CTL_BOLD), ctl_style(term, CTL_PLAIN));
	if (!report->n_losses)
		printf("  nothing that was counted\n");
	for (size_t i = 0; i < report->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(report, i);

		printf("%9s  ", ctl_count(a, loss->n));
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT, *loss->help ? loss->help : loss->cause);
	}
	if (report->run->deleted_ns) {
		printf("%9s  ", ctl_duration(a, report->run->deleted_ns));
		ctl_wrap(term, TEXT_ACCOUNT, TEXT_ACCOUNT,
			 "of the run's oldest time, deleted to stay within the quota or the disk");
	}
}

static void print_reading(const struct ctl_term *term, const struct comm_report *report,
			  bool has_unresolved)
{
	char line[TEXT_LINE];

	printf("\n");
	if (report->exact) {
		ctl_wrap(term, 0, 0,
			 "Counted, not estimated. Times and rates are those of the slowed program, "
			 "and so is the order in which threads took turns.");
		return;
	}
	snprintf(line, sizeof(line),
		 "Estimates from samples. Intervals of %.0f %% hold sampling noise, a factor of "
		 "%.2f that "
		 "volumes may be wrong by, and what else is read at the same place; small or rare "
		 "flows "
		 "may be missing altogether.%s",
		 report->confidence * 100, report->factor,
		 has_unresolved ? " A ? marks what is not resolved: fewer than 5 bursts behind it, "
				  "an interval wider than 10 to 1, or a writer guessed from who "
				  "else writes to the same object."
				: "");
	ctl_wrap(term, 0, 0, line);
}

static void print_title(const struct ctl_term *term, const struct comm_query *query,
			const struct comm_report *report)
{
	double seconds = (report->to_ns - report->from_ns) / 1e9;
	char a[CTL_NUMBER], b[CTL_NUMBER], name[64] = "";

	if (query->thread)
		ctl_clean(name, sizeof(name), query->thread, sizeof(name) - 1);
	printf("\n%s%s between %s%s%s%s:%s %s, %s/s\n", ctl_style(term, CTL_BOLD),
	       query->first_read ? "First reads" : "Communication", report->by->title,
	       query->across	    ? ", across threads"
	       : report->by->within ? ", also within a thread"
				    : "",
	       query->thread ? ", to or from " : "", name, ctl_style(term, CTL_PLAIN),
	       ctl_bytes(a, report->total_bytes), ctl_bytes(b, report->total_bytes / seconds));
}

void ctl_form_text(const struct comm_query *query, const struct comm_report *report)
{
	struct ctl_labels labels;
	struct ctl_term term;
	bool has_unresolved = false;

	ctl_term_init(&term);
	print_head(&term, report);
	if (ctl_labels_init(&labels, report)) {
		fprintf(stderr, "commctl: out of memory\n");
		exit(EXIT_FAILURE);
	}
	print_title(&term, query, report);
	print_course(&term, report);
	if (!report->n_edges) {
		printf("\nNone was seen.\n");
	} else {
		printf("\n");
		if (report->by->matrix && report->n_nodes > 2) {
			printf("Share of the bytes in %%: rows write, columns read\n");
			ctl_heatmap(&term, &labels);
			printf("\n");
		}
		has_unresolved = report->by->between ? ctl_table_objects(&term, query, &labels)
						     : ctl_table_edges(&term, &labels);
	}
	if (!report->exact)
		print_advice(&term, report);
	print_account(&term, query, report);
	print_losses(&term, report);
	print_reading(&term, report, has_unresolved);
	ctl_labels_deinit(&labels);
}
