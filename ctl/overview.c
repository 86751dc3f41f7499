// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cacheline_words.h"
#include "number.h"
#include "overview_survey.h"
#include "overview_words.h"
#include "table.h"
#include "term.h"

enum {
	OVERVIEW_FLOWS = 6,
	OVERVIEW_LEAD_FLOWS = 3,
	OVERVIEW_OLDER = 3,
	OVERVIEW_OBJECTS = 3,
	OVERVIEW_THREADS = 64, /* more of them are told of by role */
};

/* Nor is a flow of so little. */
static const double least_flow = 0.001;

/* Stated so much of what crosses, a report has no need of a coarser one. */
static const double well_stated = 0.8;

struct overview {
	bool is_lead;	    /* nothing behind who feeds whom */
	const char *listed; /* below a lead, as of ctl_overview_lead() */
	struct comm_reader *reader;
	const struct comm_query *query;
	struct ctl_overview *to;
	/* Survey by role; by role, function and object; flows of fresh data by these. */
	struct comm_report *roles, *places, *threads, *functions, *within;
	struct comm_report *older;   /* what the estimator says, by thread or by role */
	struct comm_report *objects; /* and by object */
};

struct comm_query ctl_overview_query(const struct comm_query *of, const char *by)
{
	struct comm_query query = COMM_QUERY_INIT;

	query.run = of->run;
	query.label = of->label;
	query.from_ns = of->from_ns;
	query.to_ns = of->to_ns;
	query.confidence = of->confidence;
	query.by = by;
	return query;
}

static int make(struct overview *o, const char *by, bool fresh, bool across,
		struct comm_report **ret, char **err)
{
	struct comm_query query = ctl_overview_query(o->query, by);

	query.fresh = fresh;
	query.census = fresh;
	query.across = across;
	query.cachelines = !fresh && !across && !o->is_lead;
	return comm_reader_report(o->reader, &query, ret, err);
}

/* What is to be known before any figure. */
static void tell_notes(struct overview *o, const struct comm_report *report)
{
	uint64_t range_ns = report->to_ns - report->from_ns;
	char on[CTL_NUMBER], all[CTL_NUMBER], line[CTL_OVERVIEW_LINE];
	const char *only = strstr(report->run->notes, COMM_NOTE_ONLY);

	if (only) {
		ctl_overview_title(o->to, "NOTE");
		ctl_overview_say(o->to, ctl_clean(line, sizeof(line), only, sizeof(line) - 1));
	}
	if (report->enabled_ns < range_ns) {
		snprintf(line, sizeof(line), "sampling was enabled for %s of these %s",
			 ctl_duration(on, report->enabled_ns), ctl_duration(all, range_ns));
		ctl_overview_title(o->to, "NOTE");
		ctl_overview_say(o->to, line);
	}
	if (report->run->state == COMM_RUN_UNFINISHED) {
		ctl_overview_title(o->to, "NOTE");
		ctl_overview_say(o->to, "its daemon was killed: the last slice is missing");
	}
}

static void tell_head(struct overview *o)
{
	const struct comm_report *report = o->older;
	const struct comm_run *run = report->run;
	char all[CTL_NUMBER], number[CTL_NUMBER], name[CTL_OVERVIEW_NAME];
	bool has_limit = run->overhead_limit > 0 && !report->exact;

	ctl_clean(name, sizeof(name), *run->label ? run->label : run->command, sizeof(name) - 1);
	snprintf(o->to->run, sizeof(o->to->run), "run %" PRId64 "  %s, %s%s%s", run->id, name,
		 ctl_duration(all, report->to_ns - report->from_ns), has_limit ? " at " : "",
		 has_limit ? ctl_limit(number, run) : "");
	if (report->exact)
		snprintf(o->to->cost, sizeof(o->to->cost), "counted, not sampled: it ran slower");
	else if (report->target_ns)
		snprintf(o->to->cost, sizeof(o->to->cost), "cost %s of its time%s",
			 ctl_percent(number, report->overhead), ctl_overview_over_text(report));
	else
		snprintf(o->to->cost, sizeof(o->to->cost), "cost unknown");
	tell_notes(o, report);
}

const struct comm_report_part *ctl_overview_part(const struct comm_report *report, const char *name)
{
	const struct comm_report_part *part = NULL;

	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++)
		if (!strcmp(part->name, name))
			break;
	return part;
}

/*
 * Of what windows stand for, the share that another thread wrote last: at least what was seen to be, and at
 * most that and what is not known.
 */
void ctl_overview_crossing(const struct comm_report *threads, double *ret_low, double *ret_high)
{
	const struct comm_report_part *others = ctl_overview_part(threads, "others");
	const struct comm_report_part *unseen = ctl_overview_part(threads, "unseen");

	*ret_low = others->share_low;
	*ret_high = fmin(1, others->share_high + unseen->share);
}

/*
 * The largest flows that the estimator states, under a title that is said already; how many.
 * across: not what threads of one role hand to each other.
 */
static size_t add_flows(struct overview *o, size_t most, bool across)
{
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE], from[CTL_OVERVIEW_NAME],
		to[CTL_OVERVIEW_NAME];
	size_t shown = 0;

	for (size_t i = 0; i < o->older->n_edges && shown < most; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(o->older, i);
		bool is_own = edge->from == edge->to;

		if (!edge->resolved || edge->share < least_flow || (across && is_own))
			continue;
		ctl_overview_node_name(from, o->older, edge->from);
		ctl_overview_node_name(to, o->older, edge->to);
		if (is_own)
			snprintf(line, sizeof(line), "threads of %s, from one to another", from);
		else
			snprintf(line, sizeof(line), "%s > %s", from, to);
		ctl_overview_add(o->to,
				 ctl_overview_share_text(share, edge->share, edge->share_low,
							 edge->share_high),
				 line);
		shown++;
	}
	return shown;
}

static void title_older(struct overview *o)
{
	ctl_overview_title(o->to, "OLDER");
	ctl_overview_say(o->to, "of all data that crosses threads, older included, as estimated:");
}

/* What a survey does not see. */
static void tell_older(struct overview *o)
{
	for (size_t i = 0; i < o->older->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(o->older, i);

		if (!edge->resolved || edge->from == edge->to || edge->share < least_flow)
			continue;
		title_older(o);
		add_flows(o, OVERVIEW_OLDER, true);
		return;
	}
}

static void tell_polled(struct overview *o)
{
	const struct comm_report_part *polled = ctl_overview_part(o->older, "polled");
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE];

	if (polled->share_low < CTL_OVERVIEW_LEAST)
		return;
	ctl_overview_title(o->to, "WAITING");
	snprintf(line, sizeof(line), "%s of what is read is read in loops that wait",
		 ctl_overview_share_text(share, polled->share, polled->share_low,
					 polled->share_high));
	ctl_overview_say(o->to, line);
}

/* Too little runs for any sampling to meet it. */
static bool is_idle(const struct comm_report *report)
{
	return report->target_ns && report->target_ns < 0.02 * report->enabled_ns;
}

/* That no flow is confirmed, and why. */
static void say_none(struct overview *o)
{
	const struct comm_report *report = o->older;
	double unseen = report->unwritten_bytes - report->polled_bytes;
	char length[CTL_NUMBER], number[CTL_NUMBER], share[CTL_NUMBER], line[CTL_OVERVIEW_LINE];

	ctl_duration(length, report->to_ns - report->from_ns);
	if (report->exact)
		snprintf(line, sizeof(line), "nothing that one %s wrote is read by another",
			 report->by->noun);
	else if (!report->n_edges && is_idle(report))
		snprintf(line, sizeof(line), "nothing was seen: it used %s of one CPU in %s",
			 ctl_percent(share, (double)report->target_ns / report->enabled_ns),
			 length);
	else if (!report->n_edges && report->bursts > 3)
		snprintf(line, sizeof(line),
			 "no %s was seen to read what another wrote: %s of %s bursts do",
			 report->by->noun, ctl_none_of(share, report->bursts),
			 ctl_count(number, report->bursts));
	else if (!report->n_edges)
		snprintf(line, sizeof(line), "nothing was seen in %s", length);
	else
		snprintf(line, sizeof(line),
			 "nothing is confirmed: %s %s of what is read, and of %s nobody saw the "
			 "writer (--all)",
			 report->n_edges == 1 ? "the only flow is" : "all flows together are",
			 ctl_percent(share, report->total_bytes / fmax(report->read_bytes, 1)),
			 ctl_percent(number, unseen / fmax(report->read_bytes, 1)));
	ctl_overview_say(o->to, line);
}

/* Who feeds whom, where nothing but the estimator can say it.  Whether anything is confirmed. */
static bool tell_estimated(struct overview *o)
{
	const struct comm_report *report = o->older;
	const struct comm_report_part *others = ctl_overview_part(report, "others");
	const char *noun = report->by->across ? "thread" : report->by->noun;
	char share[CTL_OVERVIEW_SHARE + 1], bytes[CTL_NUMBER], line[CTL_OVERVIEW_LINE];
	size_t stated = 0, open = 0, shown;
	double open_share = 0;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		stated += edge->resolved;
		open += !edge->resolved;
		open_share += edge->resolved ? 0 : edge->share;
	}
	ctl_overview_title(o->to, "FEEDS");
	if (!stated) {
		say_none(o);
		return false;
	}
	ctl_bytes(bytes, report->read_bytes);
	if (others->resolved || report->exact)
		snprintf(line, sizeof(line),
			 "of %s read, %s comes from another %s; of that:", bytes,
			 ctl_overview_share_text(share, others->share, others->share_low,
						 others->share_high),
			 noun);
	else
		snprintf(line, sizeof(line),
			 "how much of %s read comes from another %s is not known; of what does:",
			 bytes, noun);
	ctl_overview_say(o->to, line);
	if (o->listed && !strcmp(o->listed, report->by->name))
		return true;
	shown = add_flows(o, o->is_lead ? OVERVIEW_LEAD_FLOWS : OVERVIEW_FLOWS, false);
	if (o->is_lead)
		return true;
	if (stated > shown) {
		snprintf(line, sizeof(line), "and %zu smaller: --by %s", stated - shown,
			 report->by->name);
		ctl_overview_say(o->to, line);
	}
	if (open) {
		snprintf(line, sizeof(line), "%zu more, together %.0f %%, %s not confirmed (--all)",
			 open, 100 * open_share, open == 1 ? "is" : "are");
		ctl_overview_say(o->to, line);
	}
	return true;
}

static void tell_objects(struct overview *o)
{
	const struct comm_query query = {.resolved = true};
	struct ctl_table_object *object = calloc(o->objects->n_nodes + 1, sizeof(*object));
	char share[CTL_OVERVIEW_SHARE + 1], name[CTL_OVERVIEW_NAME];
	size_t n = object ? ctl_table_objects_collect(&query, o->objects, object) : 0;

	ctl_overview_title(o->to, "THROUGH");
	for (size_t i = 0; i < n && i < OVERVIEW_OBJECTS; i++) {
		if (!object[i].resolved || object[i].share < CTL_OVERVIEW_LEAST)
			break;
		snprintf(share, sizeof(share), "%.0f %%", 100 * object[i].share);
		ctl_overview_add(
			o->to, share,
			ctl_overview_name(name, comm_report_node_at(o->objects, object[i].node)));
	}
	free(object);
}

/* How many lines are stated to be shared falsely. */
static size_t tell_lines(struct overview *o)
{
	const struct comm_report_cacheline *worst = NULL;
	char line[CTL_OVERVIEW_LINE], name[CTL_CACHELINE_TEXT], where[CTL_OVERVIEW_LINE] = "";
	size_t stated = 0, falsely = 0;

	for (size_t i = 0; i < o->older->n_cachelines; i++) {
		const struct comm_report_cacheline *c = comm_report_cacheline_at(o->older, i);

		stated += c->stated;
		falsely += ctl_cacheline_is_false(c);
		if (!worst && ctl_cacheline_is_false(c))
			worst = c;
	}
	if (!stated)
		return 0;
	if (worst)
		snprintf(where, sizeof(where), " (most in %s)", ctl_cacheline_name(name, worst));
	ctl_overview_title(o->to, "LINES");
	snprintf(line, sizeof(line),
		 "%zu cache line%s from thread to thread, %zu by false sharing%s: commctl sharing",
		 stated, stated == 1 ? " goes" : "s go", falsely, where);
	ctl_overview_say(o->to, line);
	return falsely;
}

static void tell_unknown(struct overview *o)
{
	const struct comm_report_part *unseen = ctl_overview_part(o->older, "unseen");
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE];

	ctl_overview_title(o->to, "UNKNOWN");
	if (unseen->share >= CTL_OVERVIEW_LEAST) {
		snprintf(line, sizeof(line), "%s of what is read %s",
			 ctl_overview_share_text(share, unseen->share, unseen->share_low,
						 unseen->share_high),
			 o->older->exact
				 ? "the program never wrote: constants, files"
				 : "nobody was seen to write: constants, files, older data");
		ctl_overview_say(o->to, line);
	}
	for (size_t i = 0; i < o->older->n_losses; i++) {
		const struct comm_report_loss *loss = comm_report_loss_at(o->older, i);
		double part = loss->n / fmax(o->older->samples, 1);

		if (strcmp(loss->cause, "mode32") || part < 0.1)
			continue;
		snprintf(line, sizeof(line),
			 "%.0f %% of the samples met 32-bit code, which is not decoded",
			 100 * fmin(part, 1));
		ctl_overview_say(o->to, line);
	}
}

static void tell_next(struct overview *o, bool stated, size_t falsely)
{
	ctl_overview_title(o->to, "NEXT");
	if (falsely)
		ctl_overview_say(
			o->to,
			"commctl sharing says who uses which bytes of the lines shared falsely");
	else if (stated)
		ctl_overview_say(o->to,
				 "commctl report --by function,object shows what they go through");
	else if (o->older->exact)
		ctl_overview_say(o->to,
				 "commctl report --self shows what threads wrote themselves");
	else if (is_idle(o->older))
		ctl_overview_say(o->to, "put it under its usual load, or run for longer");
	else if (o->older->n_blocks < COMM_RESOLVED_SLICES)
		ctl_overview_say_more(o->to, "run for longer, or with a shorter --slice");
	else
		ctl_overview_say_more(o->to, "run for longer, or with a higher --overhead");
}

double ctl_overview_stated(const struct comm_report *report)
{
	double bytes = 0;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		bytes += edge->resolved ? edge->bytes : 0;
	}
	return report->total_bytes > 0 ? bytes / report->total_bytes : 0;
}

bool ctl_overview_tells_more(const struct comm_report *roles, const struct comm_report *threads)
{
	return roles->n_nodes > 1 &&
	       ctl_overview_stated(roles) > ctl_overview_stated(threads) + 1 - well_stated;
}

/* By thread, or by role where there are pages of threads, or where roles tell more. */
static int make_estimated(struct overview *o, char **err)
{
	struct comm_report *roles = NULL;
	int code = make(o, "thread", false, false, &o->older, err);

	if (code || o->older->exact || !o->older->n_edges)
		return code;
	code = make(o, "role", false, false, &roles, err);
	if (code)
		return code;
	if (o->older->n_nodes > OVERVIEW_THREADS || ctl_overview_tells_more(roles, o->older)) {
		comm_report_free(o->older);
		o->older = roles;
	} else {
		comm_report_free(roles);
	}
	return 0;
}

static void deinit(struct overview *o)
{
	comm_report_free(o->roles);
	comm_report_free(o->places);
	comm_report_free(o->threads);
	comm_report_free(o->functions);
	comm_report_free(o->within);
	comm_report_free(o->older);
	comm_report_free(o->objects);
}

/* The reports that a survey is told of. */
static int make_survey(struct overview *o, char **err)
{
	int code = make(o, "role,function,object", true, false, &o->places, err);

	if (!code)
		code = make(o, "thread", true, false, &o->threads, err);
	if (!code)
		code = make(o, "role,function", true, true, &o->functions, err);
	if (!code && !o->is_lead)
		code = make(o, "role,function", true, false, &o->within, err);
	return code;
}

static int find_survey(struct overview *o, bool *ret_has, char **err)
{
	int code = make(o, "role", true, false, &o->roles, err);

	*ret_has = false;
	/* What was counted may have no ages. */
	if (code == -ENODATA) {
		free(*err);
		*err = NULL;
		return make(o, "role", false, false, &o->roles, err);
	}
	/* And it has no windows to tell of. */
	*ret_has = !code && o->roles->n_census && !o->roles->exact;
	return code;
}

static int tell_survey(struct overview *o, char **err)
{
	struct ctl_overview_survey survey = {.to = o->to, .is_lead = o->is_lead};
	int code = make_survey(o, err);

	if (!code && !o->is_lead)
		code = make(o, "role", false, false, &o->older, err);
	if (code)
		return code;
	survey.places = o->places;
	survey.threads = o->threads;
	survey.functions = o->functions;
	survey.within = o->within;
	if (o->is_lead)
		tell_notes(o, o->places);
	else
		tell_head(o);
	ctl_overview_survey_waiting(&survey);
	ctl_overview_survey_fresh(&survey);
	ctl_overview_survey_flows(&survey);
	if (o->is_lead && o->listed)
		title_older(o);
	o->to->n_lead = o->to->n;
	if (o->is_lead)
		return 0;
	tell_older(o);
	ctl_overview_survey_next(&survey, tell_lines(o));
	return 0;
}

static int tell_estimate(struct overview *o, char **err)
{
	bool stated;
	size_t falsely;
	int code = make_estimated(o, err);

	if (!code && !o->is_lead)
		code = make(o, "object", false, false, &o->objects, err);
	if (code)
		return code;
	if (o->is_lead)
		tell_notes(o, o->older);
	else
		tell_head(o);
	tell_polled(o);
	stated = tell_estimated(o);
	o->to->n_lead = o->to->n;
	if (o->is_lead)
		return 0;
	tell_objects(o);
	falsely = tell_lines(o);
	tell_unknown(o);
	tell_next(o, stated, falsely);
	return 0;
}

static int tell(struct overview *o, char **err)
{
	bool survey;
	int code;

	*o->to = (struct ctl_overview){.title = ""};
	*err = NULL;
	code = find_survey(o, &survey, err);
	if (!code)
		code = survey ? tell_survey(o, err) : tell_estimate(o, err);
	deinit(o);
	return code;
}

int ctl_overview_make(struct comm_reader *reader, const struct comm_query *query,
		      struct ctl_overview *ret, char **err)
{
	struct overview o = {.reader = reader, .query = query, .to = ret};

	return tell(&o, err);
}

int ctl_overview_lead(struct comm_reader *reader, const struct comm_query *query,
		      const char *listed, struct ctl_overview *ret, char **err)
{
	struct overview o = {
		.reader = reader, .query = query, .to = ret, .is_lead = true, .listed = listed};

	return tell(&o, err);
}

int ctl_overview_choice(struct comm_reader *reader, const struct comm_query *query,
			bool *ret_survey, bool *ret_roles, char **err)
{
	struct overview o = {.reader = reader, .query = query};
	int code;

	*err = NULL;
	*ret_roles = true;
	code = find_survey(&o, ret_survey, err);
	if (!code && !*ret_survey) {
		code = make_estimated(&o, err);
		*ret_roles = !code && !strcmp(o.older->by->name, "role");
	}
	deinit(&o);
	return code;
}
