// SPDX-License-Identifier: GPL-2.0-or-later
#include "pairing.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A node of one of the reports, and what it is called over both. */
struct named {
	const struct comm_node *node;
	int side;
	size_t index, id;
	bool paired;
};

struct ended {
	size_t from, to; /* ids of nodes */
	int side;
	size_t index;
	const struct comm_report_edge *edge;
	struct comm_interval interval;
};

static int order_keys(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;

	return strcmp(a->node->key, b->node->key);
}

/* What a node is called without the build that it is of; paired ones come last. */
static int order_names(const void *pa, const void *pb)
{
	const struct comm_node *a = ((const struct named *)pa)->node;
	const struct comm_node *b = ((const struct named *)pb)->node;
	int order = ((const struct named *)pa)->paired - ((const struct named *)pb)->paired;

	order = order ? order : strcmp(a->kind_name, b->kind_name);
	order = order ? order : strcmp(a->module, b->module);
	order = order ? order : strcmp(a->name, b->name);
	order = order ? order : strcmp(a->source, b->source);
	order = order ? order : strcmp(a->inlined, b->inlined);
	order = order ? order : strcmp(a->call_source, b->call_source);
	order = order ? order : (a->line > b->line) - (a->line < b->line);
	return order ? order : (a->call_line > b->call_line) - (a->call_line < b->call_line);
}

/* One id for all nodes of one key. */
static void pair_by_key(struct named *named, size_t n)
{
	size_t first, end;

	qsort(named, n, sizeof(*named), order_keys);
	for (first = 0; first < n; first = end) {
		bool has[2] = {false, false};

		for (end = first; end < n && !order_keys(&named[first], &named[end]); end++)
			has[named[end].side] = true;
		for (size_t i = first; i < end; i++) {
			named[i].id = first;
			named[i].paired = has[0] && has[1];
		}
	}
}

static void pair_by_name(struct named *named, size_t n)
{
	qsort(named, n, sizeof(*named), order_names);
	for (size_t i = 0; i + 1 < n && !named[i + 1].paired; i++) {
		bool alone = !i || order_names(&named[i - 1], &named[i]);

		if (alone && !order_names(&named[i], &named[i + 1]) &&
		    named[i].side != named[i + 1].side &&
		    (i + 2 == n || order_names(&named[i + 1], &named[i + 2])))
			named[i + 1].id = named[i].id;
	}
}

static int order_ends(const void *pa, const void *pb)
{
	const struct ended *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Adds an interval about b to one about a: the distances to the ends add as squares. */
static void widen(double *low, double *high, double a, double b, double b_low, double b_high)
{
	*low = a + b - hypot(a - *low, b - b_low);
	*high = a + b + hypot(*high - a, b_high - b);
}

static void add(struct ctl_pair *pair, const struct ended *ended, double common)
{
	const struct comm_report_edge *edge = ended->edge;
	struct comm_interval interval = ended->interval;
	int s = ended->side;

	if (common > 0) {
		double volume = exp(hypot(log(interval.noise), log(common)));

		interval.low = edge->bytes / volume;
		interval.high = edge->bytes * volume;
		interval.share_low = edge->share / interval.noise;
		interval.share_high = edge->share * interval.noise;
	}

	if (pair->edge[s] == SIZE_MAX) {
		pair->edge[s] = ended->index; /* a report's edges are in order of size */
		pair->resolved[s] = true;
	} else if (ended->index < pair->edge[s]) {
		pair->edge[s] = ended->index;
	}
	widen(&pair->low[s], &pair->high[s], pair->bytes[s], edge->bytes, interval.low,
	      interval.high);
	widen(&pair->share_low[s], &pair->share_high[s], pair->share[s], edge->share,
	      interval.share_low, interval.share_high);
	pair->bytes[s] += edge->bytes;
	pair->share[s] += edge->share;
	pair->slices[s] = edge->slices > pair->slices[s] ? edge->slices : pair->slices[s];
	pair->resolved[s] &= edge->resolved;
}

static size_t take_nodes(struct named *named, const struct comm_report *const report[2])
{
	size_t n = 0;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < report[s]->n_nodes; i++)
			named[n++] = (struct named){
				.node = comm_report_node_at(report[s], i), .side = s, .index = i};
	return n;
}

static struct comm_interval interval_of(const struct comm_report_edge *edge)
{
	return (struct comm_interval){edge->low, edge->high, edge->share_low, edge->share_high,
				      edge->noise};
}

static size_t take_edges(struct ended *ended, const struct comm_report *const report[2],
			 struct comm_interval *const interval[2], size_t *const id[2])
{
	size_t n = 0;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < report[s]->n_edges; i++) {
			const struct comm_report_edge *edge = comm_report_edge_at(report[s], i);

			if (comm_report_node_at(report[s], edge->from)->other ||
			    comm_report_node_at(report[s], edge->to)->other)
				continue;
			ended[n++] = (struct ended){
				id[s][edge->from],
				id[s][edge->to],
				s,
				i,
				edge,
				interval ? interval[s][i] : interval_of(edge),
			};
		}
	}
	return n;
}

int ctl_pairing_init(struct ctl_pairing *pairing, const struct comm_report *const report[2],
		     struct comm_interval *const interval[2], double common)
{
	size_t n_nodes = report[0]->n_nodes + report[1]->n_nodes, n;
	size_t n_edges = report[0]->n_edges + report[1]->n_edges;
	struct named *named = calloc(n_nodes + 1, sizeof(*named));
	struct ended *ended = calloc(n_edges + 1, sizeof(*ended));
	size_t *ids = calloc(n_nodes + 1, sizeof(*ids));
	size_t *id[2];
	int code = -ENOMEM;

	pairing->n = 0;
	pairing->pair = calloc(n_edges + 1, sizeof(*pairing->pair));
	if (!named || !ended || !ids || !pairing->pair)
		goto out;
	id[0] = ids;
	id[1] = ids + report[0]->n_nodes;
	n = take_nodes(named, report);
	pair_by_key(named, n);
	pair_by_name(named, n);
	for (size_t i = 0; i < n; i++)
		id[named[i].side][named[i].index] = named[i].id;
	n = take_edges(ended, report, interval, id);
	qsort(ended, n, sizeof(*ended), order_ends);
	for (size_t i = 0; i < n; i++) {
		if (!i || order_ends(&ended[i - 1], &ended[i]))
			pairing->pair[pairing->n++] =
				(struct ctl_pair){.edge = {SIZE_MAX, SIZE_MAX}};
		add(&pairing->pair[pairing->n - 1], &ended[i], common);
	}
	code = 0;
out:
	free(named);
	free(ended);
	free(ids);
	if (code)
		ctl_pairing_deinit(pairing);
	return code;
}

void ctl_pairing_deinit(struct ctl_pairing *pairing)
{
	free(pairing->pair);
	*pairing = (struct ctl_pairing){0};
}
