// SPDX-License-Identifier: GPL-2.0-or-later
#include "heatmap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEATMAP_MAX = 40,
	HEATMAP_NAME = 28, /* "name-of-fifteen/4194304 main" */
	HEATMAP_CELL = 6,  /* " ## 12" */
	HEATMAP_SLIM = 2,
	HEATMAP_NARROW_MIN = 8, /* with fewer columns a table tells as much */
	HEATMAP_NODES_MIN = 3,
};

struct heatmap {
	size_t n;	 /* rows and columns, the last for the rest if any */
	size_t n_all;	 /* nodes that the matrix is of */
	size_t *node;	 /* node at each row */
	size_t *row;	 /* row of each node */
	double *traffic; /* of each node */
	double *cell;
	bool rest;
};

static const struct comm_report *sorting;
static const double *sorting_by; /* a node's share of what is shown */

static int order_traffic(const void *pa, const void *pb)
{
	double a = sorting_by[*(const size_t *)pa], b = sorting_by[*(const size_t *)pb];

	return (a < b) - (a > b);
}

/*
 * Sorts by process, its main thread first, then by tid: about the order of creation,
 * so that a pool's threads stand together and patterns show.
 */
static int order_threads(const void *pa, const void *pb)
{
	const struct comm_node *a = comm_report_node_at(sorting, *(const size_t *)pa);
	const struct comm_node *b = comm_report_node_at(sorting, *(const size_t *)pb);
	bool main_a = a->tid == a->tgid, main_b = b->tid == b->tgid;

	/* Folded nodes, "(other)", come last. */
	if (a->other != b->other)
		return a->other ? 1 : -1;
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	if (main_a != main_b)
		return main_a ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Whether the edge has a place in the matrix; what falls to --top and --min-share has. */
static bool counts(const struct comm_query *query, const struct comm_report_edge *edge)
{
	return edge->resolved || !query->resolved;
}

/* Collects the nodes of the edges that count. */
static void collect(struct heatmap *map, const struct comm_query *query,
		    const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (!counts(query, edge))
			continue;
		map->traffic[edge->from] += edge->share;
		map->traffic[edge->to] += edge->share;
	}
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (map->traffic[i] > 0)
			map->node[map->n++] = i;
	}
	map->n_all = map->n;
}

static bool fill(struct heatmap *map, const struct comm_query *query,
		 const struct comm_report *report, size_t capacity)
{
	map->node = calloc(report->n_nodes, sizeof(*map->node));
	map->row = calloc(report->n_nodes, sizeof(*map->row));
	map->traffic = calloc(report->n_nodes, sizeof(*map->traffic));
	map->cell = calloc(capacity * capacity, sizeof(*map->cell));
	if (!map->node || !map->row || !map->traffic || !map->cell)
		return false;
	collect(map, query, report);
	/* Of two nodes a table tells as much. */
	if (map->n < HEATMAP_NODES_MIN)
		return false;
	sorting = report;
	sorting_by = map->traffic;
	if (map->n > capacity) {
		qsort(map->node, map->n, sizeof(*map->node), order_traffic);
		map->n = capacity;
		map->rest = true;
	}
	qsort(map->node, map->n - map->rest, sizeof(*map->node), order_threads);
	for (size_t i = 0; i < report->n_nodes; i++)
		map->row[i] = map->n - 1;
	for (size_t i = 0; i < map->n - map->rest; i++)
		map->row[map->node[i]] = i;
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (counts(query, edge))
			map->cell[map->row[edge->from] * map->n + map->row[edge->to]] +=
				edge->share;
	}
	return true;
}

static void print_cell(const struct ctl_term *term, double share, double largest, int width)
{
	/* Heat goes by the square root of the share, or all but the largest would look alike. */
	int heat = share > 0 ? (int)ceil(7 * sqrt(fmin(share / largest, 1))) : 0;
	const char *block = ctl_heat(term, heat);

	if (!heat) {
		printf("%*s%s%s%s", width - 1, "", ctl_heat_style(term, 0), block,
		       ctl_style(term, CTL_PLAIN));
		return;
	}
	printf("%s%s%s%s%s", width == HEATMAP_SLIM ? "" : " ", ctl_heat_style(term, heat), block,
	       block, ctl_style(term, CTL_PLAIN));
	if (width == HEATMAP_SLIM)
		return;
	if (share < 0.005)
		printf(" <1");
	else
		printf("%3.0f", share * 100);
}

static void print(const struct ctl_term *term, const struct ctl_labels *labels,
		  const struct heatmap *map, int name_width, int width)
{
	char name[CTL_LABEL], rest[HEATMAP_NAME + 1];
	size_t n_single = map->n - map->rest;
	double largest = 0;

	/*
	 * The largest cell without the last row and column: their sums would make all
	 * other cells pale.
	 */
	for (size_t i = 0; i < n_single; i++) {
		for (size_t j = 0; j < n_single; j++)
			largest = fmax(largest, map->cell[i * map->n + j]);
	}
	for (size_t i = 0; i < map->n * map->n && !(largest > 0); i++)
		largest = fmax(largest, map->cell[i]);
	snprintf(rest, sizeof(rest), "(%zu others)", map->n_all - map->n + 1);
	printf("%s%*s", ctl_style(term, CTL_DIM), name_width + 3, "");
	for (size_t i = 0; i < map->n; i++) {
		/* Two digits leave no gap between slim columns. */
		if (width == HEATMAP_SLIM && i >= 5 && (i + 1) % 5)
			printf("%*s", width, "");
		else
			printf("%*zu", width, i + 1);
	}
	printf("%s\n", ctl_style(term, CTL_PLAIN));
	for (size_t i = 0; i < map->n; i++) {
		const char *label =
			map->rest && i == map->n - 1 ? rest : labels->text[map->node[i]];

		ctl_clean(name, sizeof(name), label, name_width);
		printf("%-*s %s%2zu%s", ctl_field(name, name_width), name, ctl_style(term, CTL_DIM),
		       i + 1, ctl_style(term, CTL_PLAIN));
		for (size_t j = 0; j < map->n; j++)
			print_cell(term, map->cell[i * map->n + j], largest, width);
		printf("\n");
	}
}

void ctl_heatmap(const struct ctl_term *term, const struct comm_query *query,
		 const struct ctl_labels *labels)
{
	const struct comm_report *report = labels->report;
	/* 12 columns at least, for "(32 others)". */
	int name_width = 12, capacity, width = HEATMAP_CELL;
	struct heatmap map = {0};

	if (!report->n_edges || !report->n_nodes)
		return;
	for (size_t i = 0; i < report->n_nodes; i++) {
		int len = ctl_columns(labels->text[i]);

		name_width = len > name_width ? len : name_width;
	}
	if (name_width > HEATMAP_NAME)
		name_width = HEATMAP_NAME;
	capacity = term->width - name_width - 4;
	if ((int)report->n_nodes * width > capacity)
		width = HEATMAP_SLIM;
	capacity /= width;
	if (capacity < HEATMAP_NARROW_MIN)
		return;
	if (fill(&map, query, report, capacity < HEATMAP_MAX ? capacity : HEATMAP_MAX)) {
		printf("Share of the bytes in %%: rows write, columns read\n");
		print(term, labels, &map, name_width, width);
		printf("\n");
	}
	free(map.node);
	free(map.traffic);
	free(map.row);
	free(map.cell);
}
