// SPDX-License-Identifier: GPL-2.0-or-later
#include "panel.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "phases.h"
#include "term.h"

enum { PANEL_NAME = 60, PANEL_PART = 64 };

static void deinit(struct ctl_panel *panel)
{
	if (panel->report)
		ctl_labels_deinit(&panel->labels);
	free(panel->length);
	comm_report_free(panel->report);
}

static void course_deinit(struct ctl_course *course)
{
	deinit(&course->whole);
	for (size_t i = 0; i < course->n_phases; i++)
		deinit(&course->phase[i]);
	free(course->phase);
}

void ctl_panels_deinit(struct ctl_panels *panels)
{
	for (size_t i = 0; i < panels->n_courses; i++)
		course_deinit(&panels->course[i]);
	free(panels->course);
	*panels = (struct ctl_panels){0};
}

static int order(const void *a, const void *b)
{
	return strcmp((*(const struct comm_report_total *const *)a)->node.id,
		      (*(const struct comm_report_total *const *)b)->node.id);
}

/* Totals are of the nodes, in another order. */
static int find_lengths(struct ctl_panel *panel)
{
	const struct comm_report *report = panel->report;
	const struct comm_report_total **by_id, *const *at;

	if (!report->length_unit || !report->n_totals)
		return 0;
	panel->length = calloc(report->n_nodes + 1, sizeof(*panel->length));
	by_id = calloc(report->n_totals, sizeof(*by_id));
	if (!panel->length || !by_id) {
		free(by_id);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->n_totals; i++)
		by_id[i] = comm_report_total_at(report, i);
	qsort(by_id, report->n_totals, sizeof(*by_id), order);
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_report_total wanted = {.node = *comm_report_node_at(report, i)},
					       *key = &wanted;

		at = bsearch(&key, by_id, report->n_totals, sizeof(*by_id), order);
		panel->length[i] = at ? fmax(0, (*at)->length) : 0;
	}
	free(by_id);
	return 0;
}

/* Regions are drawn with their length, which totals have. */
static int take(struct ctl_panel *panel, struct comm_reader *reader, const struct comm_query *query,
		char **err)
{
	struct comm_query asked = *query;
	int code;

	asked.totals |= query->by && !strcmp(query->by, "region") && !query->objects;
	code = comm_reader_report(reader, &asked, &panel->report, err);
	if (!code)
		code = ctl_labels_init(&panel->labels, panel->report);
	return code ? code : find_lengths(panel);
}

double ctl_panel_length(const struct ctl_panel *panel, size_t node)
{
	return panel->length ? panel->length[node] : 0;
}

/* What is outside of all regions, as the library calls it, is none. */
static bool is_region(const struct ctl_panel *panel, size_t node)
{
	return strcmp(comm_report_node_at(panel->report, node)->name, "(no region)") != 0;
}

static bool is_in(const struct ctl_panel *panel, const char *unit)
{
	return panel->length && unit && !strcmp(panel->report->length_unit, unit);
}

double ctl_panels_longest(const struct ctl_panels *panels, const char *unit)
{
	const struct ctl_panel *panel;
	double longest = 0;

	for (size_t i = 0; (panel = ctl_panels_at(panels, i)); i++)
		for (size_t j = 0; is_in(panel, unit) && j < panel->report->n_nodes; j++)
			if (is_region(panel, j))
				longest = fmax(longest, ctl_panel_length(panel, j));
	return longest;
}

static int find_phases(const struct comm_report *whole, struct comm_reader *reader,
		       const struct ctl_panels_cut *cut, struct ctl_phase **ret, size_t *ret_n,
		       char **err)
{
	uint64_t least_ns =
		cut->phase_ns ? cut->phase_ns : (whole->to_ns - whole->from_ns) / cut->most;
	bool is_given = cut->frames ? cut->n_frames : cut->phase_ns;
	size_t least_slices = is_given ? 1 : COMM_RESOLVED_SLICES;
	int code;

	if (cut->frames)
		return ctl_phases_of_frames(reader, whole, cut->n_frames, cut->most, least_slices,
					    ret, ret_n, err);
	if (cut->find) {
		code = ctl_phases_find(reader, whole, ret, ret_n, err);
		if (code || *ret_n)
			return code;
		free(*ret);
	}
	return ctl_phases_cut(whole, least_ns, least_slices, ret, ret_n);
}

static void write_title(struct ctl_panel *panel, int64_t run, const struct ctl_phase *phase)
{
	unsigned long long first = phase->first_frame, last = first + phase->n_frames - 1;
	char from[CTL_NUMBER], to[CTL_NUMBER], part[PANEL_PART];

	if (!first)
		snprintf(part, sizeof(part), "%s to %s", ctl_duration(from, phase->from_ns),
			 ctl_duration(to, phase->to_ns));
	else if (last > first)
		snprintf(part, sizeof(part), "frames %llu to %llu", first, last);
	else if (last == first)
		snprintf(part, sizeof(part), "frame %llu", first);
	else if (last)
		snprintf(part, sizeof(part), "within frame %llu", last);
	else
		snprintf(part, sizeof(part), "before the first frame");
	snprintf(panel->title, sizeof(panel->title), "run %lld, %s", (long long)run, part);
}

static int take_phases(struct ctl_course *course, struct comm_reader *reader,
		       const struct comm_query *asked, const struct ctl_panels_cut *cut, char **err)
{
	const struct comm_report *whole = course->whole.report;
	struct comm_query query = *asked;
	struct ctl_phase *phase = NULL;
	size_t n = 0;
	int code = find_phases(whole, reader, cut, &phase, &n, err);

	if (code)
		return code;
	course->phase = calloc(n + 1, sizeof(*course->phase));
	if (!course->phase)
		code = -ENOMEM;
	query.run = whole->run->id;
	for (size_t i = 0; i < n && !code; i++) {
		struct ctl_panel *panel = &course->phase[course->n_phases++];

		query.from_ns = phase[i].from_ns;
		query.to_ns = phase[i].to_ns;
		panel->first_frame = phase[i].first_frame;
		panel->n_frames = phase[i].n_frames;
		write_title(panel, query.run, &phase[i]);
		code = take(panel, reader, &query, err);
	}
	free(phase);
	return code;
}

int ctl_panels_add(struct ctl_panels *panels, struct comm_reader *reader,
		   const struct comm_query *query, const struct ctl_panels_cut *cut, char **err)
{
	struct ctl_course *grown =
		reallocarray(panels->course, panels->n_courses + 1, sizeof(*grown));
	struct ctl_course *course;
	const struct comm_run *run;
	char name[PANEL_NAME];
	int code;

	*err = NULL;
	if (!grown)
		return -ENOMEM;
	panels->course = grown;
	course = &grown[panels->n_courses++];
	*course = (struct ctl_course){0};
	code = take(&course->whole, reader, query, err);
	if (code)
		return code;
	run = course->whole.report->run;
	snprintf(course->whole.title, sizeof(course->whole.title), "run %lld: %s",
		 (long long)run->id,
		 ctl_shown(name, sizeof(name), *run->label ? run->label : run->command));
	if (cut->most)
		code = take_phases(course, reader, query, cut, err);
	return code;
}

const struct ctl_panel *ctl_panels_at(const struct ctl_panels *panels, size_t i)
{
	for (size_t j = 0; j < panels->n_courses; j++) {
		const struct ctl_course *course = &panels->course[j];

		if (!course->n_phases && !i--)
			return &course->whole;
		if (course->n_phases && i < course->n_phases)
			return &course->phase[i];
		i -= course->n_phases;
	}
	return NULL;
}

size_t ctl_panels_count(const struct ctl_panels *panels)
{
	size_t n = 0;

	while (ctl_panels_at(panels, n))
		n++;
	return n;
}

double ctl_panels_largest(const struct ctl_panels *panels)
{
	const struct ctl_panel *panel;
	double largest = 0;

	for (size_t i = 0; (panel = ctl_panels_at(panels, i)); i++)
		for (size_t j = 0; j < panel->report->n_shown; j++)
			largest = fmax(largest, comm_report_edge_at(panel->report, j)->bytes);
	return largest;
}

bool ctl_panel_is_same(const struct comm_node *a, const struct comm_node *b)
{
	/* A node of several groupings is numbered by each report anew. */
	return a->n_parts ? !strcmp(a->key, b->key) : !strcmp(a->id, b->id);
}
