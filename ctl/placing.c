// SPDX-License-Identifier: GPL-2.0-or-later
#include "placing.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum { PLACING_LINE = 8192 };

/* A thread on a part, in a slice. */
struct row {
	uint64_t from_ns;
	size_t thread, part;
	double samples;
};

/* What the making of a placing needs beside it. */
struct work {
	struct ctl_placing *placing;
	const struct comm_report *report;
	const struct ctl_parts *parts;
	struct ctl_cut_vertex *vertex;
	struct ctl_cut_edge *edge;
	double *home, *capacity;
	const struct comm_report_place **place; /* those of vertices, by thread */
	size_t *vertex_of_place;
	size_t n_places;
	struct row *row;
	size_t n_rows;
	char **err;
};

static int fail(struct work *work, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct work *work, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(work->err, format, args) < 0)
		*work->err = NULL;
	va_end(args);
	return code;
}

static bool is_usable(const struct comm_report *report, const struct comm_report_edge *edge)
{
	return isfinite(edge->bytes) && edge->bytes > 0 &&
	       !comm_report_node_at(report, edge->from)->other &&
	       !comm_report_node_at(report, edge->to)->other;
}

static int order_nodes(const void *pa, const void *pb, void *report)
{
	const struct comm_node *a = comm_report_node_at(report, *(const size_t *)pa);
	const struct comm_node *b = comm_report_node_at(report, *(const size_t *)pb);
	int order = strverscmp(a->name, b->name);

	if (order)
		return order;
	return a->tid != b->tid ? (a->tid < b->tid ? -1 : 1) : strcmp(a->id, b->id);
}

/* Vertices, ordered by name: in vertex the number of each node, or SIZE_MAX. */
static int find_vertices(struct work *work, size_t *vertex)
{
	const struct comm_report *report = work->report;
	struct ctl_placing *placing = work->placing;
	size_t n = 0;

	for (size_t i = 0; i < report->n_nodes; i++)
		vertex[i] = SIZE_MAX;
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		const size_t end[] = {edge->from, edge->to};

		for (int k = 0; k < 2 && edge->resolved && is_usable(report, edge); k++) {
			if (vertex[end[k]] != SIZE_MAX)
				continue;
			vertex[end[k]] = 0;
			placing->node[n++] = end[k];
		}
	}
	qsort_r(placing->node, n, sizeof(*placing->node), order_nodes, (void *)report);
	for (size_t v = 0; v < n; v++)
		vertex[placing->node[v]] = v;
	placing->graph.n_vertices = n;
	/* Only a store that no daemon wrote has slices without length. */
	if (!n || report->to_ns <= report->from_ns)
		return fail(
			work, -ENODATA,
			"nothing to advise: run %lld has no confirmed flow between %s of data "
			"of any age, and a placement rests on these; see what \"commctl report\" "
			"says of the rest",
			(long long)report->run->id, report->by->title);
	if (n > CTL_PLACING_VERTICES)
		return fail(work, -E2BIG, "%zu %s are too many to place: try --by role", n,
			    report->by->title);
	return 0;
}

static void take_edges(struct work *work, const size_t *vertex)
{
	const struct comm_report *report = work->report;
	double seconds = (double)report->enabled_ns / 1e9;
	struct ctl_cut_graph *graph = &work->placing->graph;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < report->n_edges; i++) {
			const struct comm_report_edge *edge = comm_report_edge_at(report, i);
			struct ctl_cut_edge *out = &work->edge[graph->n_edges];
			double rate = edge->bytes / seconds;

			if (edge->resolved != !pass || !is_usable(report, edge) ||
			    vertex[edge->from] == SIZE_MAX || vertex[edge->to] == SIZE_MAX)
				continue;
			*out = (struct ctl_cut_edge){vertex[edge->from],
						     vertex[edge->to],
						     rate,
						     rate * edge->share_low / edge->share,
						     rate * edge->share_high / edge->share,
						     0};
			/* Shares end at 1, so the upper end may not have been reached. */
			if (!report->exact)
				out->high = rate * rate / out->low;
			else
				out->low = out->high = rate;
			work->placing->edge[graph->n_edges++] = i;
		}
		if (!pass)
			graph->n_stated = graph->n_edges;
	}
}

struct named {
	const char *id;
	size_t vertex;
};

static int order_named(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;

	return strcmp(a->id, b->id);
}

static int order_places(const void *pa, const void *pb)
{
	const struct comm_report_place *a = *(const struct comm_report_place *const *)pa;
	const struct comm_report_place *b = *(const struct comm_report_place *const *)pb;
	int order = strcmp(a->node, b->node);

	if (order)
		return order;
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The places of vertices, ordered by thread. */
static int find_places(struct work *work)
{
	const struct comm_report *report = work->report;
	size_t n = work->placing->graph.n_vertices;
	struct named *named = calloc(n + 1, sizeof(*named));

	work->place = calloc(report->n_places + 1, sizeof(*work->place));
	work->vertex_of_place = calloc(report->n_places + 1, sizeof(*work->vertex_of_place));
	if (!named || !work->place || !work->vertex_of_place) {
		free(named);
		return -ENOMEM;
	}
	for (size_t v = 0; v < n; v++)
		named[v] =
			(struct named){comm_report_node_at(report, work->placing->node[v])->id, v};
	qsort(named, n, sizeof(*named), order_named);
	for (size_t i = 0; i < report->n_places; i++) {
		const struct comm_report_place *place = comm_report_place_at(report, i);

		if (bsearch(&(struct named){place->node, 0}, named, n, sizeof(*named), order_named))
			work->place[work->n_places++] = place;
	}
	qsort(work->place, work->n_places, sizeof(*work->place), order_places);
	for (size_t i = 0; i < work->n_places; i++) {
		const struct named *found = bsearch(&(struct named){work->place[i]->node, 0}, named,
						    n, sizeof(*named), order_named);

		work->vertex_of_place[i] = found->vertex;
	}
	free(named);
	return 0;
}

static int order_threads(const void *pa, const void *pb)
{
	const struct ctl_placed_thread *a = pa, *b = pb;

	if (a->vertex != b->vertex)
		return a->vertex < b->vertex ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Threads, and a row for each place on a CPU of the parts. */
static int take_threads(struct work *work)
{
	struct ctl_placing *placing = work->placing;
	struct ctl_placed_thread *thread = NULL;

	placing->thread = calloc(work->n_places + 1, sizeof(*placing->thread));
	work->row = calloc(work->n_places + 1, sizeof(*work->row));
	if (!placing->thread || !work->row)
		return -ENOMEM;
	for (size_t i = 0; i < work->n_places; i++) {
		const struct comm_report_place *place = work->place[i];
		size_t part = ctl_parts_of(work->parts, place->cpu);

		if (!i || order_places(&work->place[i - 1], &work->place[i])) {
			thread = &placing->thread[placing->n_threads++];
			*thread = (struct ctl_placed_thread){work->vertex_of_place[i], place->tgid,
							     place->tid, place->name, 0};
		}
		thread->samples += (double)place->samples;
		if (part < work->parts->n)
			work->row[work->n_rows++] =
				(struct row){place->from_ns, placing->n_threads - 1, part,
					     (double)place->samples};
	}
	return 0;
}

/* Loads in CPUs, where the threads' samples and the CPU time of all are known. */
static void set_loads(struct work *work)
{
	const struct comm_report *report = work->report;
	struct ctl_placing *placing = work->placing;
	double samples = 0, seen = 0;

	for (size_t i = 0; i < report->n_places; i++)
		samples += (double)comm_report_place_at(report, i)->samples;
	for (size_t t = 0; t < placing->n_threads; t++)
		seen += placing->thread[t].samples;
	placing->loads = seen > 0 && report->target_ns;
	for (size_t t = 0; t < placing->n_threads; t++) {
		const struct ctl_placed_thread *thread = &placing->thread[t];
		struct ctl_cut_vertex *vertex = &work->vertex[thread->vertex];

		vertex->pool = t && placing->thread[t - 1].vertex == thread->vertex;
		vertex->load += placing->loads
					? thread->samples / samples * (double)report->target_ns /
						  (double)report->enabled_ns
					: 1;
	}
}

/* The thread that a line of a file names; several may have one name. */
static bool is_named(const struct ctl_placed_thread *thread, const char *name)
{
	char tid[16];

	snprintf(tid, sizeof(tid), "%u", thread->tid);
	return !strcmp(tid, name) || (thread->name && !strcmp(thread->name, name));
}

/* A row for each part of a list of CPUs: as if the thread ran on each CPU as much. */
static int add_rows(struct work *work, size_t *capacity, size_t thread, const struct ctl_cpus *cpus)
{
	for (size_t p = 0; p < work->parts->n; p++) {
		struct ctl_cpus both = work->parts->part[p].cpus;

		for (size_t i = 0; i < CTL_CPUS_MAX / 64; i++)
			both.word[i] &= cpus->word[i];
		if (!ctl_cpus_count(&both))
			continue;
		if (work->n_rows == *capacity) {
			struct row *grown =
				reallocarray(work->row, 2 * *capacity + 64, sizeof(*work->row));

			if (!grown)
				return -ENOMEM;
			work->row = grown;
			*capacity = 2 * *capacity + 64;
		}
		work->row[work->n_rows++] = (struct row){
			0, thread, p, (double)ctl_cpus_count(&both) / (double)ctl_cpus_count(cpus)};
	}
	return 0;
}

/* Splits "LIST THREAD", what taskset takes, or what it prints; false: it is none of these. */
static bool split_line(char *line, char **ret_list, char **ret_thread)
{
	static const char command[] = "taskset -pc ", prints[] = "'s current affinity list: ";
	char *comment = strstr(line, "  # "), *middle = strstr(line, prints);

	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "pid ", 4) && middle) {
		*middle = '\0';
		*ret_thread = line + 4;
		*ret_list = middle + strlen(prints);
		return true;
	}
	if (!strncmp(line, command, strlen(command))) {
		line += strlen(command);
		if (comment)
			*comment = '\0';
	}
	*ret_list = line;
	line += strcspn(line, " ");
	if (!*line)
		return false;
	*line++ = '\0';
	*ret_thread = line;
	return *line;
}

static int read_file(struct work *work, const char *path)
{
	struct ctl_placing *placing = work->placing;
	size_t capacity = work->n_places + 1, placed = 0;
	char line[PLACING_LINE], *list, *name = line;
	FILE *file = fopen(path, "re");
	int number = 0, code = 0;

	if (!file)
		return fail(work, -errno, "cannot read %s: %s", path, strerror(errno));
	while (!code && fgets(line, sizeof(line), file)) {
		struct ctl_cpus cpus;

		number++;
		if (*line == '#' || *line == '\n')
			continue;
		if (!split_line(line, &list, &name) || ctl_cpus_parse(list, &cpus))
			code = fail(work, -EINVAL,
				    "%s, line %d: it wants a list of CPUs and a thread, as in "
				    "\"0-3,8 4242\"",
				    path, number);
		for (size_t t = 0; t < placing->n_threads && !code; t++) {
			if (!is_named(&placing->thread[t], name))
				continue;
			placed++;
			code = add_rows(work, &capacity, t, &cpus);
		}
	}
	if (!code && ferror(file))
		code = fail(work, -EIO, "cannot read %s: %s", path, strerror(errno));
	fclose(file);
	if (!code && !placed)
		code = fail(work, -EINVAL, "%s places no thread that the run confirms a flow of",
			    path);
	return code;
}

static int order_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

/* Sums of samples, of a slice or of the whole range. */
struct sums {
	double *at;	      /* of vertex v in part p: [v * n_parts + p] */
	double *all;	      /* of each vertex */
	double *same;	      /* sum of squares of each thread's samples */
	double *same_at;      /* the same of each thread's samples in a part */
	double *apart, *seen; /* of each edge: what crosses, and what it is a share of */
};

/* Adds the rows from first up to end, a slice's or all, to sums that are cleared before. */
static void sum_rows(const struct work *work, size_t first, size_t end, struct sums *sums)
{
	const struct ctl_cut_graph *graph = &work->placing->graph;
	double thread = 0, part = 0;

	memset(sums->at, 0, graph->n_vertices * graph->n_parts * sizeof(*sums->at));
	memset(sums->all, 0, graph->n_vertices * sizeof(*sums->all));
	memset(sums->same, 0, graph->n_vertices * sizeof(*sums->same));
	memset(sums->same_at, 0, graph->n_vertices * sizeof(*sums->same_at));
	for (size_t i = first; i < end; i++) {
		const struct row *row = &work->row[i];
		bool more = i + 1 < end && row[1].thread == row->thread;
		size_t v = work->placing->thread[row->thread].vertex;

		thread += row->samples;
		part += row->samples;
		sums->at[v * graph->n_parts + row->part] += row->samples;
		sums->all[v] += row->samples;
		if (!more || row[1].part != row->part) {
			sums->same_at[v] += part * part;
			part = 0;
		}
		if (!more) {
			sums->same[v] += thread * thread;
			thread = 0;
		}
	}
}

/* Adds what an edge's ends have in different parts. */
static void add_apart(const struct ctl_cut_graph *graph, const struct ctl_cut_edge *edge,
		      struct sums *sums, size_t e)
{
	size_t u = edge->from, w = edge->to;
	double pairs = sums->all[u] * sums->all[w] - (u == w ? sums->same[u] : 0);
	double together = u == w ? -sums->same_at[u] : 0;

	for (size_t p = 0; p < graph->n_parts; p++)
		together += sums->at[u * graph->n_parts + p] * sums->at[w * graph->n_parts + p];
	/* A pool of which one thread alone was seen says nothing about pairs. */
	if (!(pairs > 1e-9 * sums->all[u] * sums->all[w]))
		return;
	sums->apart[e] += sums->all[w] * (1 - fmin(1, fmax(0, together / pairs)));
	sums->seen[e] += sums->all[w];
}

/* Two threads of which nothing is known are together as often as chance has it. */
static double chance_apart(const struct ctl_cut_graph *graph)
{
	double all = 0, squares = 0;

	for (size_t p = 0; p < graph->n_parts; p++) {
		all += graph->capacity[p];
		squares += graph->capacity[p] * graph->capacity[p];
	}
	return 1 - squares / (all * all);
}

static int set_now(struct work *work)
{
	struct ctl_cut_graph *graph = &work->placing->graph;
	size_t cells = graph->n_vertices * graph->n_parts + 1;
	struct sums sums = {.at = calloc(cells, sizeof(double)),
			    .all = calloc(cells, sizeof(double)),
			    .same = calloc(cells, sizeof(double)),
			    .same_at = calloc(cells, sizeof(double)),
			    .apart = calloc(graph->n_edges + 1, sizeof(double)),
			    .seen = calloc(graph->n_edges + 1, sizeof(double))};
	int code = sums.at && sums.all && sums.same && sums.same_at && sums.apart && sums.seen
			   ? 0
			   : -ENOMEM;

	if (work->n_rows)
		qsort(work->row, work->n_rows, sizeof(*work->row), order_rows);
	for (size_t i = 0, end; i < work->n_rows && !code; i = end) {
		for (end = i; end < work->n_rows && work->row[end].from_ns == work->row[i].from_ns;)
			end++;
		sum_rows(work, i, end, &sums);
		for (size_t e = 0; e < graph->n_edges; e++)
			add_apart(graph, &work->edge[e], &sums, e);
	}
	/* Ends that ran in no slice together: in all of the range, if there. */
	for (size_t i = 0; i < work->n_rows; i++)
		work->row[i].from_ns = 0;
	if (work->n_rows)
		qsort(work->row, work->n_rows, sizeof(*work->row), order_rows);
	if (!code)
		sum_rows(work, 0, work->n_rows, &sums);
	for (size_t e = 0; e < graph->n_edges && !code; e++) {
		if (!(sums.seen[e] > 0))
			add_apart(graph, &work->edge[e], &sums, e);
		if (!(sums.seen[e] > 0))
			work->placing->n_unknown += e < graph->n_stated;
		work->edge[e].now =
			sums.seen[e] > 0 ? sums.apart[e] / sums.seen[e] : chance_apart(graph);
	}
	for (size_t v = 0; v < graph->n_vertices && !code; v++)
		for (size_t p = 0; p < graph->n_parts && sums.all[v] > 0; p++)
			work->home[v * graph->n_parts + p] = work->vertex[v].load *
							     sums.at[v * graph->n_parts + p] /
							     sums.all[v];
	free(sums.at);
	free(sums.all);
	free(sums.same);
	free(sums.same_at);
	free(sums.apart);
	free(sums.seen);
	return code;
}

static int make(struct work *work, enum ctl_placing_now now, const char *path)
{
	struct ctl_placing *placing = work->placing;
	const struct comm_report *report = work->report;
	struct ctl_cut_graph *graph = &placing->graph;
	size_t *vertex = calloc(report->n_nodes + 1, sizeof(*vertex));
	int code = -ENOMEM;

	placing->node = calloc(report->n_nodes + 1, sizeof(*placing->node));
	placing->edge = calloc(report->n_edges + 1, sizeof(*placing->edge));
	work->vertex = calloc(report->n_nodes + 1, sizeof(*work->vertex));
	work->edge = calloc(report->n_edges + 1, sizeof(*work->edge));
	work->capacity = calloc(work->parts->n + 1, sizeof(*work->capacity));
	graph->vertex = work->vertex;
	graph->edge = work->edge;
	graph->capacity = work->capacity;
	graph->n_parts = work->parts->n;
	graph->z = 1.6449; /* reports have intervals of 90 % */
	graph->factor_sd = log(report->factor);
	if (vertex && placing->node && placing->edge && work->vertex && work->edge &&
	    work->capacity)
		code = find_vertices(work, vertex);
	if (!code)
		take_edges(work, vertex);
	free(vertex);
	for (size_t p = 0; p < graph->n_parts && !code; p++)
		work->capacity[p] = (double)ctl_cpus_count(&work->parts->part[p].cpus);
	if (!code) {
		work->home = calloc(graph->n_vertices * graph->n_parts + 1, sizeof(*work->home));
		graph->home = work->home;
		code = work->home ? find_places(work) : -ENOMEM;
	}
	if (!code)
		code = take_threads(work);
	if (code)
		return code;
	set_loads(work);
	if (now != CTL_NOW_RECORDED)
		work->n_rows = 0;
	if (now == CTL_NOW_FILE)
		code = read_file(work, path);
	return code ? code : set_now(work);
}

int ctl_placing_init(struct ctl_placing *placing, const struct comm_report *report,
		     const struct ctl_parts *parts, enum ctl_placing_now now, const char *path,
		     char **err)
{
	struct work work = {.placing = placing, .report = report, .parts = parts, .err = err};
	int code;

	*err = NULL;
	memset(placing, 0, sizeof(*placing));
	code = make(&work, now, path);
	/* Rows name threads by their number, so this comes last. */
	if (!code && placing->n_threads)
		qsort(placing->thread, placing->n_threads, sizeof(*placing->thread), order_threads);
	free(work.place);
	free(work.vertex_of_place);
	free(work.row);
	return code;
}

void ctl_placing_deinit(struct ctl_placing *placing)
{
	free((void *)placing->graph.vertex);
	free((void *)placing->graph.edge);
	free((void *)placing->graph.capacity);
	free((void *)placing->graph.home);
	free(placing->node);
	free(placing->edge);
	free(placing->thread);
	memset(placing, 0, sizeof(*placing));
}
