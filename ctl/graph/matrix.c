// SPDX-License-Identifier: GPL-2.0-or-later
/* Matrices side by side: of the phases of a run, or of a program with 2, 4 and 8 threads. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "number.h"
#include "picture.h"

enum {
	MATRIX_NODES = 64,
	MATRIX_IN_ROW = 4,
	MATRIX_NAME = 170, /* the most room for names, in width or height */
	MATRIX_TITLE = 60,
	MATRIX_GAP = 28,
	MATRIX_SIDE = 260,
	MATRIX_CELL_MIN = 9,
	MATRIX_CELL_MAX = 34,
	MATRIX_SHARE_MIN = 24, /* the least size of a cell that has its share written into it */
	MATRIX_FONT = 12,
};

/* The nodes of a course in their order, alike in all its phases. */
struct order {
	const struct comm_node *node[MATRIX_NODES];
	const char *name[MATRIX_NODES];
	size_t n, n_all;
	double name_width;
};

struct entry {
	const struct comm_node *node;
	const char *name;
};

static double traffic(const struct comm_node *node)
{
	return node->written_bytes + node->read_bytes;
}

static int by_traffic(const void *pa, const void *pb)
{
	double a = traffic(((const struct entry *)pa)->node);
	double b = traffic(((const struct entry *)pb)->node);

	return (a < b) - (a > b);
}

/* Threads as they were made, about, so that patterns show; all others by traffic. */
static int by_place(const void *pa, const void *pb)
{
	const struct comm_node *a = ((const struct entry *)pa)->node;
	const struct comm_node *b = ((const struct entry *)pb)->node;
	bool main_a = a->tid == a->tgid, main_b = b->tid == b->tgid;

	if (a->other != b->other)
		return a->other ? 1 : -1;
	if (a->kind != COMM_NODE_THREAD || b->kind != COMM_NODE_THREAD)
		return by_traffic(pa, pb);
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	if (main_a != main_b)
		return main_a ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int fill(struct order *order, const struct ctl_panel *whole)
{
	const struct comm_report *report = whole->report;
	struct entry *all = calloc(report->n_nodes + 1, sizeof(*all));
	bool *used = calloc(report->n_nodes + 1, sizeof(*used));

	*order = (struct order){0};
	if (!all || !used) {
		free(all);
		free(used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < report->n_shown; i++)
		used[comm_report_edge_at(report, i)->from] =
			used[comm_report_edge_at(report, i)->to] = true;
	for (size_t i = 0; i < report->n_nodes; i++)
		if (used[i])
			all[order->n_all++] = (struct entry){comm_report_node_at(report, i),
							     whole->labels.text[i]};
	qsort(all, order->n_all, sizeof(*all), by_traffic);
	order->n = order->n_all < MATRIX_NODES ? order->n_all : MATRIX_NODES;
	qsort(all, order->n, sizeof(*all), by_place);
	for (size_t i = 0; i < order->n; i++) {
		order->node[i] = all[i].node;
		order->name[i] = all[i].name;
		order->name_width =
			fmax(order->name_width, CTL_PICTURE_CHAR * (double)strlen(all[i].name));
	}
	order->name_width = fmin(order->name_width, MATRIX_NAME);
	free(all);
	free(used);
	return 0;
}

/* Where the node stands; order->n: nowhere. */
static size_t find(const struct order *order, const struct comm_node *node)
{
	size_t i = 0;

	while (i < order->n && !ctl_panel_is_same(order->node[i], node))
		i++;
	return i;
}

/* Matrices of few and of many nodes are about as large as each other, down to what can be read. */
static double size_of_cells(const struct order *order)
{
	return fmax(MATRIX_CELL_MIN, fmin(MATRIX_CELL_MAX, MATRIX_SIDE / fmax(order->n, 1)));
}

static double width_of(const struct order *order)
{
	return fmax(order->name_width + 6 + order->n * size_of_cells(order), MATRIX_SIDE);
}

static double height_of(const struct order *order)
{
	return MATRIX_TITLE + order->name_width + order->n * size_of_cells(order);
}

static void write_share(FILE *out, double x, double y, double size,
			const struct comm_report_edge *edge, double largest)
{
	/* The ramp's lower half is light, and what is hatched gets a ground to be read on. */
	bool is_light = !edge->resolved || edge->bytes < largest / 100;

	if (size < MATRIX_SHARE_MIN)
		return;
	if (!edge->resolved)
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"12\" fill=\"#fff\" "
			"fill-opacity=\"0.85\" pointer-events=\"none\"/>",
			x + size / 2 - 10, y + size / 2 - 6);
	fprintf(out,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"10\" "
		"fill=\"%s\" pointer-events=\"none\">",
		x + size / 2, y + size / 2 + 4, is_light ? "#000" : "#fff");
	if (edge->share < 0.005)
		fputs("&lt;1</text>\n", out);
	else
		fprintf(out, "%.0f%s</text>\n", 100 * edge->share, edge->resolved ? "" : "?");
}

static void draw_panel(FILE *out, double x, double y, const struct order *order,
		       const struct ctl_panel *panel, double largest)
{
	const struct comm_report_edge **cell = calloc(order->n * order->n + 1, sizeof(*cell));
	double left = x + order->name_width + 6, top = y + MATRIX_TITLE + order->name_width;
	char text[CTL_LABEL], bytes[CTL_NUMBER], a[CTL_NUMBER], line[CTL_LABEL];
	double size = size_of_cells(order);

	ctl_picture_text(out, x, y + 14, CTL_START,
			 ctl_picture_fit(text, panel->title, width_of(order)));
	snprintf(line, sizeof(line), "%s, %s not confirmed",
		 ctl_bytes(bytes, panel->report->total_bytes),
		 ctl_percent(a, panel->report->unresolved_bytes /
					fmax(panel->report->total_bytes, 1)));
	ctl_picture_text(out, x, y + 14 + CTL_PICTURE_LINE, CTL_START, line);
	for (size_t i = 0; i < panel->report->n_shown && cell; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(panel->report, i);
		size_t row = find(order, comm_report_node_at(panel->report, edge->from));
		size_t column = find(order, comm_report_node_at(panel->report, edge->to));

		if (row < order->n && column < order->n)
			cell[row * order->n + column] = edge;
	}
	fprintf(out, "<g font-size=\"%.1f\">\n", fmin(size, MATRIX_FONT));
	for (size_t i = 0; i < order->n; i++) {
		ctl_picture_fit(text, order->name[i], order->name_width);
		ctl_picture_text(out, left - 4, top + (i + 0.5) * size + 4, CTL_END, text);
		ctl_picture_upward(out, left + (i + 0.5) * size + 4, top - 4, text);
		for (size_t j = 0; j < order->n; j++) {
			const struct comm_report_edge *edge = cell ? cell[i * order->n + j] : NULL;

			ctl_picture_cell(out, left + j * size, top + i * size, size - 1, size - 1,
					 panel, edge, edge ? edge->bytes : 0, largest);
			if (edge)
				write_share(out, left + j * size, top + i * size, size - 1, edge,
					    largest);
		}
	}
	fputs("</g>\n", out);
	free(cell);
}

struct flow {
	double x, y, row_height, width;
	size_t in_row;
};

/* Where the next panel stands: to the right, or below. */
static void place(struct flow *flow, double width, double height, double *ret_x, double *ret_y)
{
	if (flow->in_row == MATRIX_IN_ROW) {
		flow->x = CTL_PICTURE_EDGE;
		flow->y += flow->row_height + MATRIX_GAP;
		flow->in_row = 0;
		flow->row_height = 0;
	}
	*ret_x = flow->x;
	*ret_y = flow->y;
	flow->in_row++;
	flow->x += width + MATRIX_GAP;
	flow->row_height = fmax(flow->row_height, height);
	flow->width = fmax(flow->width, flow->x);
}

/* Draws all panels, or with out NULL says how much room they take. */
static void draw(FILE *out, const struct ctl_panels *panels, const struct order *order,
		 struct flow *flow)
{
	double largest = ctl_panels_largest(panels), x, y;

	for (size_t i = 0; i < panels->n_courses; i++) {
		const struct ctl_course *course = &panels->course[i];
		const struct ctl_panel *panel = course->n_phases ? course->phase : &course->whole;
		size_t n = course->n_phases ? course->n_phases : 1;

		for (size_t j = 0; j < n; j++) {
			place(flow, width_of(&order[i]), height_of(&order[i]), &x, &y);
			if (out)
				draw_panel(out, x, y, &order[i], &panel[j], largest);
		}
	}
}

static void draw_all(FILE *out, const struct ctl_panels *panels, const struct order *order)
{
	struct flow measure = {.x = CTL_PICTURE_EDGE}, flow = measure;
	double notes_width, y = ctl_picture_notes(NULL, 0, panels, &notes_width), height;
	size_t left_out = 0;
	char line[CTL_LABEL];

	draw(NULL, panels, order, &measure);
	flow.y = y + 4 * CTL_PICTURE_LINE;
	height = flow.y + measure.y + measure.row_height + CTL_PICTURE_EDGE;
	ctl_picture_begin(out, fmax(fmax(measure.width, notes_width + 2 * CTL_PICTURE_EDGE), 560),
			  height, "Who writes, in rows, what others read, in columns");
	ctl_picture_notes(out, 0, panels, &notes_width);
	for (size_t i = 0; i < panels->n_courses; i++)
		left_out += order[i].n_all - order[i].n;
	snprintf(line, sizeof(line),
		 "rows write, columns read; numbers are %% of a matrix's bytes");
	if (left_out)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "; %zu nodes with the least are left out", left_out);
	ctl_picture_text(out, CTL_PICTURE_EDGE, y + CTL_PICTURE_LINE, CTL_START, line);
	ctl_picture_legend(out, CTL_PICTURE_EDGE, y + 2.5 * CTL_PICTURE_LINE,
			   ctl_panels_largest(panels), "");
	draw(out, panels, order, &flow);
	ctl_picture_end(out);
}

int ctl_draw_matrix(const struct ctl_panels *panels, FILE *out)
{
	struct order *order = calloc(panels->n_courses + 1, sizeof(*order));
	int code = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < panels->n_courses && !code; i++)
		code = fill(&order[i], &panels->course[i].whole);
	if (!code)
		draw_all(out, panels, order);
	free(order);
	return code;
}
