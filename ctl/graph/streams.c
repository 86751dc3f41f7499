// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the data of each edge was read: a row for each of the largest, a column for each phase.  Phases
 * of frames stand over the frames' numbers, whatever time these took, and tell bytes a frame (PinComm's
 * figure 2).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "number.h"
#include "picture.h"

enum {
	STREAMS_NAME = 340, /* the most room for names */
	STREAMS_TIME = 560,
	STREAMS_SHARE = 170,
	STREAMS_RANGE = 230, /* more, over frames */
	STREAMS_ROW = 18,
	STREAMS_TICKS = 4,
	STREAMS_HEAD = 24,
	STREAMS_FOOT = 40,
};

/* A run's phases; of one too short to have any, all of it is one. */
static const struct ctl_panel *phases_of(const struct ctl_course *course, size_t *ret_n)
{
	*ret_n = course->n_phases ? course->n_phases : 1;
	return course->n_phases ? course->phase : &course->whole;
}

static const struct comm_report_edge *find(const struct ctl_panel *phase,
					   const struct comm_node *from, const struct comm_node *to)
{
	const struct comm_report *report = phase->report;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (ctl_panel_is_same(comm_report_node_at(report, edge->from), from) &&
		    ctl_panel_is_same(comm_report_node_at(report, edge->to), to))
			return edge;
	}
	return NULL;
}

/* How many frames began in all phases of a course; 0: they are of time. */
static uint64_t frames_of(const struct ctl_course *course)
{
	const struct ctl_panel *last;

	if (!course->n_phases || !course->phase->first_frame)
		return 0;
	last = &course->phase[course->n_phases - 1];
	return last->first_frame + last->n_frames - course->phase->first_frame;
}

/* Bytes a frame, or a second. */
static double rate(const struct ctl_panel *phase, const struct comm_report_edge *edge)
{
	if (phase->first_frame)
		return edge->bytes / fmax((double)phase->n_frames, 1);
	return edge->bytes / (phase->report->enabled_ns / 1e9);
}

static const struct comm_report_edge *edge_in(const struct ctl_course *course, size_t row,
					      const struct ctl_panel *phase)
{
	const struct comm_report *whole = course->whole.report;
	const struct comm_report_edge *edge = comm_report_edge_at(whole, row);

	return find(phase, comm_report_node_at(whole, edge->from),
		    comm_report_node_at(whole, edge->to));
}

static double largest_rate(const struct ctl_panels *panels)
{
	double largest = 0;

	for (size_t i = 0; i < panels->n_courses; i++) {
		const struct ctl_course *course = &panels->course[i];
		size_t n;
		const struct ctl_panel *phase = phases_of(course, &n);

		for (size_t row = 0; row < course->whole.report->n_shown; row++)
			for (size_t j = 0; j < n; j++) {
				const struct comm_report_edge *edge =
					edge_in(course, row, &phase[j]);

				if (edge)
					largest = fmax(largest, rate(&phase[j], edge));
			}
	}
	return largest;
}

static void write_name(char text[CTL_LABEL], const struct ctl_panel *whole,
		       const struct comm_report_edge *edge)
{
	char from[CTL_LABEL], to[CTL_LABEL];

	snprintf(text, CTL_LABEL, "%s > %s",
		 ctl_picture_fit(from, whole->labels.text[edge->from], STREAMS_NAME / 2.2),
		 ctl_picture_fit(to, whole->labels.text[edge->to], STREAMS_NAME / 2.2));
}

/* As wide as the longest name of all runs, so that their times stand below each other. */
static double name_width(const struct ctl_panels *panels)
{
	double width = 0;
	char text[CTL_LABEL];

	for (size_t i = 0; i < panels->n_courses; i++) {
		const struct ctl_panel *whole = &panels->course[i].whole;

		for (size_t row = 0; row < whole->report->n_shown; row++) {
			write_name(text, whole, comm_report_edge_at(whole->report, row));
			width = fmax(width, CTL_PICTURE_CHAR * (double)strlen(text));
		}
	}
	return fmin(width, STREAMS_NAME);
}

/* How far to the right a phase begins. */
static double x_of(const struct ctl_course *course, const struct ctl_panel *phase)
{
	const struct comm_report *whole = course->whole.report;
	uint64_t frames = frames_of(course);

	if (frames)
		return STREAMS_TIME * (double)(phase->first_frame - course->phase->first_frame) /
		       (double)frames;
	return STREAMS_TIME * (double)(phase->report->from_ns - whole->from_ns) /
	       (double)(whole->to_ns - whole->from_ns);
}

static double width_of(const struct ctl_course *course, const struct ctl_panel *phase)
{
	const struct comm_report *whole = course->whole.report;
	uint64_t frames = frames_of(course);

	if (frames)
		return STREAMS_TIME * (double)phase->n_frames / (double)frames;
	return STREAMS_TIME * (double)(phase->report->to_ns - phase->report->from_ns) /
	       (double)(whole->to_ns - whole->from_ns);
}

/* What stands at a part i of STREAMS_TICKS of the way to the right. */
static const char *tick_of(char text[CTL_NUMBER], const struct ctl_course *course, int i)
{
	const struct comm_report *whole = course->whole.report;
	uint64_t frames = frames_of(course), frame;

	if (!frames)
		return ctl_duration(text, whole->from_ns + (whole->to_ns - whole->from_ns) * i /
								   STREAMS_TICKS);
	frame = course->phase->first_frame + frames * i / STREAMS_TICKS - (i == STREAMS_TICKS);
	snprintf(text, CTL_NUMBER, "%s%llu", i ? "" : "frame ", (unsigned long long)frame);
	return text;
}

struct some_frames {
	double rate;
	uint64_t n;
};

static int by_rate(const void *pa, const void *pb)
{
	const struct some_frames *a = pa, *b = pb;

	return (a->rate > b->rate) - (a->rate < b->rate);
}

/* The rate that the part of all frames has at most, as if those of a phase were alike. */
static double quantile(const struct some_frames *some, size_t n, double part)
{
	double all = 0, before = 0;

	for (size_t i = 0; i < n; i++)
		all += (double)some[i].n;
	for (size_t i = 0; i < n; i++) {
		before += (double)some[i].n;
		if (before >= part * all)
			return some[i].rate;
	}
	return 0;
}

/* How much the frames differ. */
static void write_range(char text[CTL_LABEL], const struct ctl_course *course, size_t row)
{
	struct some_frames *some = calloc(course->n_phases + 1, sizeof(*some));
	char range[CTL_NUMBER];
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; some && i < course->n_phases; i++) {
		const struct ctl_panel *phase = &course->phase[i];
		const struct comm_report_edge *edge = edge_in(course, row, phase);

		if (phase->n_frames)
			some[n++] =
				(struct some_frames){edge ? rate(phase, edge) : 0, phase->n_frames};
	}
	if (n > 1) {
		qsort(some, n, sizeof(*some), by_rate);
		snprintf(text, CTL_LABEL, "; 8 of 10 frames %s",
			 ctl_range(range, quantile(some, n, 0.1), quantile(some, n, 0.9)));
	}
	free(some);
}

static void draw_row(FILE *out, double left, double y, const struct ctl_course *course, size_t row,
		     double largest)
{
	const struct comm_report *whole = course->whole.report;
	const struct comm_report_edge *edge = comm_report_edge_at(whole, row);
	char text[CTL_LABEL], share[CTL_NUMBER], range[CTL_NUMBER], of_frames[CTL_LABEL];
	size_t n;
	const struct ctl_panel *phase = phases_of(course, &n);

	write_name(text, &course->whole, edge);
	ctl_picture_text(out, left - 6, y + 13, CTL_END, text);
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_edge *part = edge_in(course, row, &phase[i]);
		double width = width_of(course, &phase[i]);

		ctl_picture_cell(out, left + x_of(course, &phase[i]), y, fmax(width - 0.6, 0.4),
				 STREAMS_ROW - 2, &phase[i], part, part ? rate(&phase[i], part) : 0,
				 largest);
	}
	write_range(of_frames, course, row);
	if (whole->exact)
		snprintf(text, sizeof(text), "%s", ctl_percent(share, edge->share));
	else
		snprintf(text, sizeof(text), "%s%s (%s)%s", ctl_percent(share, edge->share),
			 edge->resolved ? "" : " ?",
			 ctl_percent_range(range, edge->share_low, edge->share_high), of_frames);
	ctl_picture_text(out, left + STREAMS_TIME + 8, y + 13, CTL_START, text);
}

static double height_of(const struct ctl_course *course)
{
	return STREAMS_HEAD + STREAMS_ROW * (double)course->whole.report->n_shown + STREAMS_FOOT;
}

static void draw_course(FILE *out, double left, double y, const struct ctl_course *course,
			double largest)
{
	const struct comm_report *whole = course->whole.report;
	char text[CTL_NUMBER];

	ctl_picture_text(out, left, y + 14, CTL_START, course->whole.title);
	ctl_picture_text(out, left + STREAMS_TIME + 8, y + 14, CTL_START, "share of all");
	y += STREAMS_HEAD;
	for (size_t row = 0; row < whole->n_shown; row++, y += STREAMS_ROW)
		draw_row(out, left, y, course, row, largest);
	for (int i = 0; i <= STREAMS_TICKS; i++)
		ctl_picture_text(out, left + (double)STREAMS_TIME * i / STREAMS_TICKS, y + 14,
				 !i		      ? CTL_START
				 : i == STREAMS_TICKS ? CTL_END
						      : CTL_MIDDLE,
				 tick_of(text, course, i));
}

int ctl_draw_streams(const struct ctl_panels *panels, FILE *out)
{
	double notes_width, y = ctl_picture_notes(NULL, 0, panels, &notes_width) + 20;
	double left = CTL_PICTURE_EDGE + name_width(panels) + 6, height = y + 30;
	double width = left + STREAMS_TIME + STREAMS_SHARE, largest = largest_rate(panels);
	bool are_frames = panels->n_courses && frames_of(panels->course);

	if (are_frames)
		width += STREAMS_RANGE;
	for (size_t i = 0; i < panels->n_courses; i++)
		height += height_of(&panels->course[i]);
	ctl_picture_begin(out, fmax(width, notes_width + 2 * CTL_PICTURE_EDGE), height,
			  "Who reads when what others wrote");
	ctl_picture_notes(out, 0, panels, &notes_width);
	ctl_picture_legend(out, CTL_PICTURE_EDGE, y + 10, largest, are_frames ? "/frame" : "/s");
	y += 30;
	for (size_t i = 0; i < panels->n_courses; i++) {
		draw_course(out, left, y, &panels->course[i], largest);
		y += height_of(&panels->course[i]);
	}
	ctl_picture_end(out);
	return 0;
}
