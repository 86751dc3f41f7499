// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A run as metrics, in the text format of OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics), which the text format
 * of Prometheus takes as well: all are gauges, of the range that was asked for.  Labels are few: the target, causes of
 * loss, and at most ROLES_MAX roles and FLOWS_MAX flows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "label.h"
#include "utf8.h"

enum { ROLES_MAX = 10, FLOWS_MAX = 20, LABEL_BYTES = CTL_LABEL };

struct metrics {
	FILE *out;
	const char *target;
};

static const char *const freshness[COMM_CENSUS_FRESH] = {"0.01", "1", "10"};

/* name="TEXT": what has a meaning there is escaped, what is not to be shown is as elsewhere. */
static void label(const struct metrics *m, const char *name, const char *text)
{
	size_t left = LABEL_BYTES;

	fprintf(m->out, "%s=\"", name);
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (left < (size_t)n)
			break;
		left -= (size_t)n;
		if (*shown == '"' || *shown == '\\')
			putc('\\', m->out);
		fwrite(shown, 1, (size_t)n, m->out);
	}
	putc('"', m->out);
}

static void family(const struct metrics *m, const char *name, const char *unit, const char *help)
{
	fprintf(m->out, "# TYPE commprof_%s gauge\n", name);
	if (*unit)
		fprintf(m->out, "# UNIT commprof_%s %s\n", name, unit);
	fprintf(m->out, "# HELP commprof_%s %s\n", name, help);
}

/* Labels besides the target's, name and text in turn, NULL behind the last; and which end of an interval, or NULL. */
static void sample(const struct metrics *m, const char *name, const char *const *labels,
		   const char *bound, double value)
{
	fprintf(m->out, "commprof_%s{", name);
	label(m, "target", m->target);
	for (; labels && *labels; labels += 2) {
		putc(',', m->out);
		label(m, labels[0], labels[1]);
	}
	if (bound)
		fprintf(m->out, ",bound=\"%s\"", bound);
	fprintf(m->out, "} %.10g\n", value);
}

static void one(const struct metrics *m, const char *name, const char *unit, const char *help,
		double value)
{
	family(m, name, unit, help);
	sample(m, name, NULL, NULL, value);
}

/* Both ends: a gauge that has no interval would be taken for exact. */
static void interval(const struct metrics *m, const char *name, const char *const *labels,
		     double low, double high)
{
	sample(m, name, labels, "low", low);
	sample(m, name, labels, "high", high);
}

static void cost(const struct metrics *m, const struct comm_report *report)
{
	const struct comm_run *run = report->run;

	one(m, "run_running", "", "Whether the run goes on.", run->state == COMM_RUN_RUNNING);
	one(m, "range_seconds", "seconds", "How long the range of these metrics is.",
	    (double)(report->to_ns - report->from_ns) / 1e9);
	one(m, "range_end_timestamp_seconds", "seconds", "When the range ends, since the epoch.",
	    (double)(run->start_unix_ns + report->to_ns) / 1e9);
	one(m, "overhead_ratio", "ratio",
	    "What sampling costs, as a share of the target's CPU time.", report->overhead);
	one(m, "overhead_limit_ratio", "ratio", "What it may cost; 0: there is no limit.",
	    report->overhead_allowed);
	one(m, "samples", "", "Samples that were taken.", (double)report->samples);
	family(m, "lost", "", "What was lost, by cause; spared: left out on purpose.");
	for (size_t i = 0; i < report->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(report, i);
		const char *labels[] = {"cause", loss->cause, "spared", loss->spared ? "yes" : "no",
					NULL};

		sample(m, "lost", labels, NULL, (double)loss->n);
	}
}

static const char *role(const struct ctl_labels *roles, const struct comm_report_census *row)
{
	return row->node == SIZE_MAX ? "" : roles->text[row->node];
}

static void census(const struct metrics *m, const struct comm_report *report,
		   const struct ctl_labels *roles)
{
	size_t n = report->n_census < ROLES_MAX + 1 ? report->n_census : ROLES_MAX + 1;

	family(m, "waiting_ratio", "ratio",
	       "What a role reads in loops that wait, of all reads; without a role: all roles.");
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_census *row = comm_report_census_at(report, i);
		const char *labels[] = {"role", role(roles, row), NULL};

		interval(m, "waiting_ratio", labels, row->waiting_low, row->waiting_high);
	}
	family(m, "fresh_ratio", "ratio",
	       "Of what a role reads besides, what changes within so many seconds.");
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_census *row = comm_report_census_at(report, i);

		for (int k = 0; k < COMM_CENSUS_FRESH; k++) {
			const char *labels[] = {"role", role(roles, row), "within", freshness[k],
						NULL};

			interval(m, "fresh_ratio", labels, row->fresh_low[k], row->fresh_high[k]);
		}
	}
}

static void flows(const struct metrics *m, const struct comm_report *report,
		  const struct ctl_labels *roles)
{
	double seconds = (double)report->enabled_ns / 1e9;

	family(m, "flow_bytes_per_second", "bytes_per_second",
	       "What the writer wrote and the reader reads, confirmed flows.");
	for (size_t i = 0; i < report->n_shown && i < FLOWS_MAX; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		const char *labels[] = {"writer", roles->text[edge->from], "reader",
					roles->text[edge->to], NULL};

		interval(m, "flow_bytes_per_second", labels, edge->low / seconds,
			 edge->high / seconds);
	}
}

/* What the run is of, whichever process that was. */
static char *target_of(const struct comm_run *run)
{
	size_t n = ctl_target_length(run->command);

	return *run->label ? strdup(run->label) : strndup(run->command, n);
}

/* 0, or -errno and *err as of comm_reader_report(). */
static int write_census(const struct metrics *m, const struct ctl_export *export, char **err)
{
	struct comm_query query = *export->query;
	struct comm_report *report;
	struct ctl_labels roles;
	int code;

	query.census = 1;
	query.resolved = 0;
	code = comm_reader_report(export->reader, &query, &report, err);
	if (code)
		return code;
	code = ctl_labels_init(&roles, report);
	if (!code)
		census(m, report, &roles);
	ctl_labels_deinit(&roles);
	comm_report_free(report);
	return code;
}

int ctl_export_openmetrics(const struct ctl_export *export, FILE *out, char **err)
{
	char *target = target_of(export->report->run);
	const struct metrics m = {out, target};
	struct ctl_labels roles = {0};
	int code = target ? ctl_labels_init(&roles, export->report) : -ENOMEM;

	if (!code) {
		cost(&m, export->report);
		one(&m, "store_bytes", "bytes", "Size on disk of the store.",
		    (double)comm_reader_bytes(export->reader));
		code = write_census(&m, export, err);
	}
	if (!code) {
		flows(&m, export->report, &roles);
		fputs("# EOF\n", out);
	}
	ctl_labels_deinit(&roles);
	free(target);
	return code;
}
