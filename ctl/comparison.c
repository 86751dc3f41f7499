// SPDX-License-Identifier: GPL-2.0-or-later
#include "comparison.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "label.h"
#include "number.h"
#include "survey_shares.h"

/* A share that changed by less is the same: points of a hundred. */
static const double share_margin = 0.05;

static int fail(char **err, int code, const char *text)
{
	*err = strdup(text);
	return code;
}

/* Of a run whose budget was changed it is not known which was in force in the range. */
static bool has_one_budget(const struct comm_run *a, const struct comm_run *b)
{
	return a->overhead_limit == b->overhead_limit && !(a->overhead_least > 0) &&
	       !(b->overhead_least > 0);
}

bool ctl_comparison_is_alike(const struct ctl_comparison *c)
{
	const struct comm_run *a = c->report[0]->run, *b = c->report[1]->run;

	return !strcmp(a->estimator, b->estimator) && !strcmp(a->source, b->source) &&
	       !strcmp(a->event, b->event) && a->granularity_bytes == b->granularity_bytes &&
	       has_one_budget(a, b);
}

/* Rates differ by what the estimator gets wrong at either rate of samples; counts by nothing. */
static bool are_budgets_alike(const struct ctl_comparison *c)
{
	const struct comm_report *a = c->report[0], *b = c->report[1];

	return a->exact || b->exact || has_one_budget(a->run, b->run);
}

/* Rates of different programs or targets differ by their loads. */
static bool are_programs_alike(const struct ctl_comparison *c)
{
	const char *a = c->report[0]->run->command, *b = c->report[1]->run->command;

	return ctl_target_length(a) == ctl_target_length(b) && !strncmp(a, b, ctl_target_length(a));
}

/* CPUs that the target keeps busy; 0: not known. */
static double busy(const struct comm_report *report)
{
	return report->enabled_ns ? (double)report->target_ns / (double)report->enabled_ns : 0;
}

/* All flows grow with the load.  What an exact run counts is slowed down, and tells nothing of it. */
static bool are_loads_alike(const struct ctl_comparison *c)
{
	double a = busy(c->report[0]), b = busy(c->report[1]);

	return c->report[0]->exact || c->report[1]->exact || !(a > 0) || !(b > 0) ||
	       fmax(a, b) <= c->margin * fmin(a, b);
}

static int choose_unit(struct ctl_comparison *c, char **err)
{
	bool budgets = are_budgets_alike(c);

	if (c->of == CTL_OF_ALIKE)
		c->shares_for = !budgets		 ? CTL_SHARES_FOR_BUDGETS
				: !are_programs_alike(c) ? CTL_SHARES_FOR_PROGRAMS
				: !are_loads_alike(c)	 ? CTL_SHARES_FOR_LOADS
							 : CTL_SHARES_FOR_NOTHING;
	c->of_share = c->of == CTL_OF_SHARE || c->shares_for;
	if (c->of_share || budgets)
		return 0;
	return fail(err, -EDOM,
		    "rates of runs under different --overhead tell nothing of the program: "
		    "--of share compares them");
}

/* Standard normal quantile for a central interval: 1.645 for 0.9. */
static double normal(double confidence)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* See ctl_pairing_init(). */
static double common_of(const struct ctl_comparison *c, double confidence)
{
	if (!ctl_comparison_is_alike(c))
		return 0;
	return exp(normal(confidence) * log(fmax(c->report[0]->factor, c->report[1]->factor)));
}

/* The edges of both reports in pairs, with intervals of a confidence. */
static int take_pairs(struct ctl_comparison *c, double confidence)
{
	const struct comm_report *report[2] = {c->report[0], c->report[1]};
	struct comm_interval *interval[2];
	int code = -ENOMEM;

	for (int s = 0; s < 2; s++)
		interval[s] = calloc(report[s]->n_edges + 1, sizeof(*interval[s]));
	ctl_pairing_deinit(&c->pairing);
	for (int s = 0; s < 2 && interval[s]; s++)
		comm_report_intervals(report[s], confidence, interval[s]);
	if (interval[0] && interval[1])
		code = ctl_pairing_init(&c->pairing, report, interval, common_of(c, confidence));
	free(interval[0]);
	free(interval[1]);
	return code;
}

static struct ctl_flow flow_of(const struct ctl_comparison *c, const struct ctl_pair *pair, int s)
{
	double seconds = c->report[s]->enabled_ns / 1e9;

	if (pair->edge[s] == SIZE_MAX)
		return (struct ctl_flow){0};
	if (c->of_share)
		return (struct ctl_flow){pair->share[s], pair->share_low[s], pair->share_high[s],
					 pair->resolved[s], pair->slices[s]};
	return (struct ctl_flow){pair->bytes[s] / seconds, pair->low[s] / seconds,
				 pair->high[s] / seconds, pair->resolved[s], pair->slices[s]};
}

/* See ctl_change_of(). */
static double exposure(const struct ctl_comparison *c)
{
	const struct comm_report *a = c->report[0], *b = c->report[1];

	if (a->exact || b->exact)
		return b->exact ? INFINITY : 0;
	return a->bursts && b->bursts ? (double)b->bursts / a->bursts : 1;
}

static int order_flows(const void *pa, const void *pb)
{
	const struct ctl_compared_flow *a = pa, *b = pb;
	double x = fabs(a->flow[1].value - a->flow[0].value);
	double y = fabs(b->flow[1].value - b->flow[0].value);

	if ((a->change.verdict >= CTL_LESS) != (b->change.verdict >= CTL_LESS))
		return a->change.verdict >= CTL_LESS ? -1 : 1;
	if (a->change.verdict < CTL_LESS && a->change.verdict != b->change.verdict)
		return a->change.verdict == CTL_SAME ? -1 : 1;
	return (x < y) - (x > y);
}

static int compare_flows(struct ctl_comparison *c, double alarm)
{
	int code = take_pairs(c, 1 - alarm);

	if (code)
		return code;
	c->flow = calloc(c->pairing.n + 1, sizeof(*c->flow));
	if (!c->flow)
		return -ENOMEM;
	for (size_t i = 0; i < c->pairing.n; i++) {
		struct ctl_compared_flow *flow = &c->flow[c->n_flows++];

		flow->pair = &c->pairing.pair[i];
		for (int s = 0; s < 2; s++)
			flow->flow[s] = flow_of(c, flow->pair, s);
		ctl_change_of(&flow->flow[0], &flow->flow[1], exposure(c), alarm, c->margin,
			      &flow->change);
		/* A run is as it is. */
		if (c->is_one_run)
			flow->change.verdict = CTL_SAME;
		c->count[flow->change.verdict]++;
	}
	qsort(c->flow, c->n_flows, sizeof(*c->flow), order_flows);
	return 0;
}

/* What a run's survey says, in the order of the first screen. */
struct shares {
	struct ctl_compared_share *share;
	size_t n, capacity;
};

/* The share of that title and text; a new one is at the end of its title's.  NULL: no memory. */
static struct ctl_compared_share *share_at(struct shares *shares, const char *title,
					   const char *text)
{
	struct ctl_compared_share *share;
	size_t end = shares->n;

	for (size_t i = 0; i < shares->n; i++) {
		share = &shares->share[i];
		if (!strcmp(share->title, title) && !strcmp(share->text, text))
			return share;
		if (!strcmp(share->title, title))
			end = i + 1;
	}
	if (shares->n == shares->capacity) {
		size_t capacity = 2 * shares->capacity + 16;

		share = reallocarray(shares->share, capacity, sizeof(*share));
		if (!share)
			return NULL;
		shares->share = share;
		shares->capacity = capacity;
	}
	share = &shares->share[end];
	memmove(share + 1, share, (shares->n++ - end) * sizeof(*share));
	*share = (struct ctl_compared_share){.title = title};
	snprintf(share->text, sizeof(share->text), "%s", text);
	return share;
}

struct adding {
	struct shares *shares;
	int side;
};

/* Nodes of one name, as two blocks of the heap have it, are one: their intervals add as squares. */
static int add_share(void *data, const char *text, const struct ctl_survey_share *of)
{
	const struct adding *adding = data;
	struct ctl_compared_share *share = share_at(adding->shares, of->title, text);
	int s = adding->side;
	double value;

	if (!share)
		return -ENOMEM;
	value = share->value[s] + of->value;
	share->low[s] =
		fmax(0, value - hypot(share->value[s] - share->low[s], of->value - of->low));
	share->high[s] =
		fmin(1, value + hypot(share->high[s] - share->value[s], of->high - of->value));
	if (of->is_bound) {
		share->low[s] = of->low;
		share->high[s] = of->high;
	}
	share->value[s] = value;
	share->has[s] = true;
	share->is_bound |= of->is_bound;
	share->is_large |= of->is_large;
	return 0;
}

/* What neither screen would have is left out. */
static void drop_small(struct shares *shares)
{
	size_t n = 0;

	for (size_t i = 0; i < shares->n; i++)
		if (shares->share[i].is_large)
			shares->share[n++] = shares->share[i];
	shares->n = n;
}

/* Both surveys, with one confidence. */
static int take_shares(const struct ctl_comparison *c, struct comm_reader *const reader[2],
		       double confidence, struct shares *ret, char **err)
{
	int code = 0;

	for (int s = 0; s < 2 && !code; s++) {
		struct comm_query query = c->query;
		struct adding adding = {ret, s};

		query.run = c->report[s]->run->id;
		query.confidence = confidence;
		code = ctl_survey_shares(reader[s], &query, add_share, &adding, err);
	}
	return code;
}

static enum ctl_verdict verdict_of(const struct ctl_comparison *c,
				   const struct ctl_compared_share *share)
{
	double change = share->value[1] - share->value[0], low, high;

	if (c->is_one_run)
		return CTL_SAME;
	if (share->is_bound) {
		low = share->low[1] - share->high[0];
		high = share->high[1] - share->low[0];
	} else {
		low = change -
		      hypot(share->value[1] - share->low[1], share->high[0] - share->value[0]);
		high = change +
		       hypot(share->high[1] - share->value[1], share->value[0] - share->low[0]);
	}
	if (low >= -share_margin && high <= share_margin)
		return CTL_SAME;
	/* Of what a survey did not meet no interval is known. */
	if (!share->has[0] || !share->has[1])
		return CTL_CANNOT_TELL;
	return low > 0 ? CTL_MORE : high < 0 ? CTL_LESS : CTL_CANNOT_TELL;
}

static int compare_shares(struct ctl_comparison *c, struct comm_reader *const reader[2],
			  double alarm, char **err)
{
	struct shares shown = {0}, strict = {0};
	int code = take_shares(c, reader, c->report[0]->confidence, &shown, err);

	if (!code)
		code = take_shares(c, reader, 1 - alarm, &strict, err);
	drop_small(&shown);
	for (size_t i = 0; i < shown.n && !code; i++) {
		struct ctl_compared_share *share = &shown.share[i];
		struct ctl_compared_share *other = share_at(&strict, share->title, share->text);

		if (!other) {
			code = -ENOMEM;
			break;
		}
		share->verdict = verdict_of(c, other);
		c->share_count[share->verdict]++;
	}
	free(strict.share);
	c->share = shown.share;
	c->n_shares = shown.n;
	return code;
}

/* By thread, or by role where the first screens of both take that. */
static int take_reports(struct ctl_comparison *c, struct comm_reader *const reader[2],
			const int64_t run[2], bool with_screen, bool *ret_surveys, char **err)
{
	bool all_roles = true, has[2] = {false, false};
	int code = 0;

	for (int s = 0; s < 2 && !code; s++) {
		struct comm_query query = c->query;
		bool roles = false;

		query.run = run[s];
		if (!c->query.by)
			code = ctl_overview_choice(reader[s], &query, &has[s], &roles, err);
		all_roles &= roles;
	}
	*ret_surveys = with_screen && has[0] && has[1];
	c->lone_survey = with_screen && has[0] != has[1] ? has[0] ? 'A' : 'B' : 0;
	if (!c->query.by)
		c->query.by = all_roles ? "role" : "thread";
	for (int s = 0; s < 2 && !code; s++) {
		struct comm_query query = c->query;

		query.run = run[s];
		code = comm_reader_report(reader[s], &query, &c->report[s], err);
	}
	return code;
}

int ctl_comparison_init(struct ctl_comparison *c, struct comm_reader *const reader[2],
			const int64_t run[2], bool with_screen, char **err)
{
	bool surveys;
	double alarm;
	size_t n;
	int code;

	*err = NULL;
	code = take_reports(c, reader, run, with_screen, &surveys, err);
	if (!code)
		code = choose_unit(c, err);
	if (!code)
		code = take_pairs(c, c->report[0]->confidence);
	if (code)
		return code;
	/* A store of an old commd may have runs without one. */
	c->is_one_run = *c->report[0]->run->uuid &&
			!strcmp(c->report[0]->run->uuid, c->report[1]->run->uuid);
	for (size_t i = 0; i < c->pairing.n; i++)
		c->n_compared += c->pairing.pair[i].resolved[0] || c->pairing.pair[i].resolved[1];
	if (surveys) {
		struct shares all = {0};

		code = take_shares(c, reader, c->report[0]->confidence, &all, err);
		drop_small(&all);
		c->n_shares = all.n;
		free(all.share);
	}
	/* The chance of a false alarm is shared out evenly over all that is compared (Bonferroni). */
	n = c->n_compared + c->n_shares;
	alarm = c->alarm / (n ? (double)n : 1);
	if (!code && surveys)
		code = compare_shares(c, reader, alarm, err);
	if (!code)
		code = compare_flows(c, alarm);
	return code;
}

void ctl_comparison_deinit(struct ctl_comparison *c)
{
	for (int s = 0; s < 2; s++)
		comm_report_free(c->report[s]);
	ctl_pairing_deinit(&c->pairing);
	free(c->flow);
	free(c->share);
	*c = (struct ctl_comparison){0};
}

bool ctl_comparison_has_changes(const struct ctl_comparison *c)
{
	return c->count[CTL_MORE] + c->count[CTL_LESS] + c->share_count[CTL_MORE] +
	       c->share_count[CTL_LESS];
}

int ctl_comparison_named_by(const struct ctl_comparison *c, const struct ctl_compared_flow *flow,
			    const struct comm_report_edge **ret)
{
	int s = flow->pair->edge[1] == SIZE_MAX ? 0 : 1;

	*ret = comm_report_edge_at(c->report[s], flow->pair->edge[s]);
	return s;
}

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

const char *ctl_comparison_unlike(const struct ctl_comparison *c, char *text, size_t size)
{
	const struct comm_run *a = c->report[0]->run, *b = c->report[1]->run;
	static const char shares[] =
		"flows are compared by their share of all that is communicated.";
	char one[CTL_NUMBER], other[CTL_NUMBER];

	*text = '\0';
	if (c->is_one_run) {
		snprintf(text, size, "A and B are the same run: nothing can differ.");
		return text;
	}
	if (c->shares_for == CTL_SHARES_FOR_PROGRAMS)
		append(text, size, "The runs are of different programs or targets: %s ", shares);
	else if (c->shares_for == CTL_SHARES_FOR_BUDGETS)
		append(text, size, "The runs had different budgets: %s ", shares);
	else if (c->shares_for == CTL_SHARES_FOR_LOADS)
		append(text, size, "The runs were under different loads (%s and %s of a CPU): %s ",
		       ctl_percent(one, busy(c->report[0])), ctl_percent(other, busy(c->report[1])),
		       shares);
	if (c->lone_survey)
		append(text, size,
		       "Only %c has a survey: waiting and what is fresh are not compared. ",
		       c->lone_survey);
	if (!ctl_comparison_is_alike(c)) {
		append(text, size, "The runs were not made alike (");
		if (strcmp(a->source, b->source) != 0 || strcmp(a->event, b->event) != 0)
			append(text, size, "source %s, %s; ", a->source, b->source);
		if (strcmp(a->estimator, b->estimator) != 0)
			append(text, size, "estimator %s, %s; ", a->estimator, b->estimator);
		if (a->granularity_bytes != b->granularity_bytes)
			append(text, size, "granularity %llu, %llu bytes; ",
			       (unsigned long long)a->granularity_bytes,
			       (unsigned long long)b->granularity_bytes);
		if (!has_one_budget(a, b))
			append(text, size, "--overhead %s, %s; ",
			       a->overhead_limit > 0 ? ctl_limit(one, a) : "none",
			       b->overhead_limit > 0 ? ctl_limit(other, b) : "none");
		text[strlen(text) - 2] = '\0';
		append(text, size,
		       "): intervals of flows hold all that the estimators may get wrong.");
	}
	return text;
}

const char *ctl_comparison_share(const struct ctl_compared_share *share, int side,
				 char text[CTL_OVERVIEW_SHARE + 3])
{
	if (!share->has[side])
		return "-";
	if (share->is_bound)
		snprintf(text, CTL_OVERVIEW_SHARE + 3, "%.0f to %.0f %%",
			 floor(100 * share->low[side]), ceil(100 * share->high[side]));
	else
		ctl_overview_share_text(text, share->value[side], share->low[side],
					share->high[side]);
	return text;
}
