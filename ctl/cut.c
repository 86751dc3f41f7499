// SPDX-License-Identifier: GPL-2.0-or-later
#include "cut.h"

#include <errno.h>
#include <math.h>
#include <metis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	STARTS = 32,	      /* random beginnings for a graph that is not large */
	WORK = 1 << 26,	      /* steps that all beginnings may take together, about */
	DRAWS = 2000,	      /* of edges, for intervals */
	PLANS = 60,	      /* placements chosen for draws, for optimism */
	PLAN_WORK = 1 << 19,  /* for each of those */
	SWAPS_VERTICES = 512, /* larger graphs are improved by moves alone */
	METIS_SCALE = 100000000,
};

/* Parts may be loaded so much beyond their share of all. */
static const double imbalance = 0.1;
/* Fewer parts than there are must have so much room left. */
static const double headroom = 0.7;
/* Less than this of all that is exchanged is not worth using fewer parts. */
static const double slight = 0.05;

static double uniform(uint64_t *state)
{
	/* splitmix64: Steele, Lea, Flood, OOPSLA 2014. */
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return ((double)((x ^ (x >> 31)) >> 12) + 0.5) / 4503599627370496.;
}

static double gauss(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * M_PI * uniform(state));
}

/* The graph for a number of parts to use, with its edges' bytes or a draw of them. */
struct problem {
	const struct ctl_cut_graph *graph;
	const double *bytes; /* of each stated edge */
	size_t n_parts;	     /* used, the first of slot */
	size_t *slot;	     /* parts of the graph, those with most capacity first */
	double *allowed;     /* load of each slot */
	double *share;	     /* of the capacity that is used */
	size_t *vertex;	     /* those that are placed: the others are free */
	size_t n;
	double *weight; /* between placed vertices: [i * n + j] */
};

static double total_load(const struct ctl_cut_graph *graph)
{
	double sum = 0;

	for (size_t v = 0; v < graph->n_vertices; v++)
		sum += graph->vertex[v].load;
	return sum;
}

static void problem_deinit(struct problem *p)
{
	free(p->slot);
	free(p->allowed);
	free(p->share);
	free(p->vertex);
	free(p->weight);
}

/* Slots, and what each may be loaded with: its share, or one thread that is more than that. */
static void set_slots(struct problem *p, size_t n_parts)
{
	const struct ctl_cut_graph *graph = p->graph;
	double capacity = 0, load = total_load(graph), most = 0;

	p->n_parts = n_parts;
	for (size_t i = 0; i < graph->n_parts; i++) {
		size_t at = i;

		for (; at && graph->capacity[p->slot[at - 1]] < graph->capacity[i]; at--)
			p->slot[at] = p->slot[at - 1];
		p->slot[at] = i;
	}
	for (size_t i = 0; i < n_parts; i++)
		capacity += graph->capacity[p->slot[i]];
	for (size_t v = 0; v < graph->n_vertices; v++)
		if (!graph->vertex[v].pool)
			most = fmax(most, graph->vertex[v].load);
	for (size_t i = 0; i < n_parts; i++) {
		p->share[i] = graph->capacity[p->slot[i]] / capacity;
		p->allowed[i] = fmax(most, (1 + imbalance) * p->share[i] * load) * (1 + 1e-9);
	}
}

/* A pool that does not fit into a part is not placed. */
static void choose_vertices(struct problem *p)
{
	double most = 0;

	for (size_t i = 0; i < p->n_parts; i++)
		most = fmax(most, p->allowed[i]);
	p->n = 0;
	for (size_t v = 0; v < p->graph->n_vertices; v++)
		if (!p->graph->vertex[v].pool || p->graph->vertex[v].load <= most)
			p->vertex[p->n++] = v;
}

static int set_weights(struct problem *p)
{
	const struct ctl_cut_graph *graph = p->graph;
	size_t *index = malloc((graph->n_vertices + 1) * sizeof(*index));

	p->weight = calloc(p->n * p->n + 1, sizeof(*p->weight));
	if (!index || !p->weight) {
		free(index);
		return -ENOMEM;
	}
	for (size_t v = 0; v < graph->n_vertices; v++)
		index[v] = CTL_CUT_FREE;
	for (size_t i = 0; i < p->n; i++)
		index[p->vertex[i]] = i;
	for (size_t e = 0; e < graph->n_stated; e++) {
		size_t i = index[graph->edge[e].from], j = index[graph->edge[e].to];

		if (i == CTL_CUT_FREE || j == CTL_CUT_FREE || i == j)
			continue;
		p->weight[i * p->n + j] += p->bytes[e];
		p->weight[j * p->n + i] += p->bytes[e];
	}
	free(index);
	return 0;
}

static int problem_init(struct problem *p, const struct ctl_cut_graph *graph, const double *bytes,
			size_t n_parts)
{
	memset(p, 0, sizeof(*p));
	p->graph = graph;
	p->bytes = bytes;
	p->slot = calloc(graph->n_parts + 1, sizeof(*p->slot));
	p->allowed = calloc(graph->n_parts + 1, sizeof(*p->allowed));
	p->share = calloc(graph->n_parts + 1, sizeof(*p->share));
	p->vertex = calloc(graph->n_vertices + 1, sizeof(*p->vertex));
	if (!p->slot || !p->allowed || !p->share || !p->vertex)
		return -ENOMEM;
	set_slots(p, n_parts);
	choose_vertices(p);
	return set_weights(p);
}

/* An assignment of a problem's vertices to slots, in the making. */
struct assignment {
	size_t *slot;
	double *load; /* of each slot */
	double *to;   /* what vertex i exchanges with slot k: [i * n_parts + k] */
};

static void assignment_deinit(struct assignment *a)
{
	free(a->slot);
	free(a->load);
	free(a->to);
}

/* Call deinit() also after a failure. */
static int assignment_init(struct assignment *a, const struct problem *p)
{
	a->slot = calloc(p->n + 1, sizeof(*a->slot));
	a->load = calloc(p->n_parts + 1, sizeof(*a->load));
	a->to = calloc(p->n * p->n_parts + 1, sizeof(*a->to));
	return a->slot && a->load && a->to ? 0 : -ENOMEM;
}

static double load_of(const struct problem *p, size_t i)
{
	return p->graph->vertex[p->vertex[i]].load;
}

/* Sets the sums that slot implies. */
static void add_up(const struct problem *p, struct assignment *a)
{
	memset(a->load, 0, p->n_parts * sizeof(*a->load));
	memset(a->to, 0, p->n * p->n_parts * sizeof(*a->to));
	for (size_t i = 0; i < p->n; i++) {
		a->load[a->slot[i]] += load_of(p, i);
		for (size_t j = 0; j < p->n; j++)
			a->to[i * p->n_parts + a->slot[j]] += p->weight[i * p->n + j];
	}
}

static double excess(const struct problem *p, size_t slot, double load)
{
	return fmax(0, load - p->allowed[slot]);
}

/* How good an assignment is: what is too much in its parts, and then what it cuts. */
struct score {
	double excess, cut;
};

static bool is_less(struct score a, struct score b, double tiny)
{
	if (fabs(a.excess - b.excess) > 1e-9)
		return a.excess < b.excess;
	return a.cut < b.cut - tiny;
}

static struct score score_of(const struct problem *p, const struct assignment *a)
{
	struct score score = {0};

	for (size_t k = 0; k < p->n_parts; k++)
		score.excess += excess(p, k, a->load[k]);
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->n_parts; k++)
			if (k != a->slot[i])
				score.cut += a->to[i * p->n_parts + k] / 2;
	return score;
}

/* What changes when vertex i goes to slot k, and vertex j, unless that is i, the other way. */
static struct score change_of(const struct problem *p, const struct assignment *a, size_t i,
			      size_t k, size_t j)
{
	size_t from = a->slot[i];
	double moved = load_of(p, i) - (j == i ? 0 : load_of(p, j));
	struct score change = {
		.excess = excess(p, from, a->load[from] - moved) - excess(p, from, a->load[from]) +
			  excess(p, k, a->load[k] + moved) - excess(p, k, a->load[k]),
		.cut = a->to[i * p->n_parts + from] - a->to[i * p->n_parts + k],
	};

	if (j != i)
		change.cut += a->to[j * p->n_parts + k] - a->to[j * p->n_parts + from] +
			      2 * p->weight[i * p->n + j];
	return change;
}

static void move(const struct problem *p, struct assignment *a, size_t i, size_t k)
{
	size_t from = a->slot[i];

	a->slot[i] = k;
	a->load[from] -= load_of(p, i);
	a->load[k] += load_of(p, i);
	for (size_t j = 0; j < p->n; j++) {
		a->to[j * p->n_parts + from] -= p->weight[i * p->n + j];
		a->to[j * p->n_parts + k] += p->weight[i * p->n + j];
	}
}

/* The best of all moves and swaps, as long as one makes the score less. */
static void improve(const struct problem *p, struct assignment *a, double tiny)
{
	bool swaps = p->n <= SWAPS_VERTICES;
	size_t best_i, best_j = 0, best_k = 0;

	/* Rounding could make a circle of changes. */
	for (size_t step = 0; step < 8 * p->n + 64; step++) {
		struct score best = {0}, change;

		best_i = p->n;
		for (size_t i = 0; i < p->n; i++) {
			for (size_t k = 0; k < p->n_parts; k++) {
				change = change_of(p, a, i, k, i);
				if (k == a->slot[i] || !is_less(change, best, tiny))
					continue;
				best = change;
				best_i = best_j = i;
				best_k = k;
			}
			for (size_t j = 0; j < i && swaps; j++) {
				if (a->slot[i] == a->slot[j])
					continue;
				change = change_of(p, a, i, a->slot[j], j);
				if (!is_less(change, best, tiny))
					continue;
				best = change;
				best_i = i;
				best_j = j;
				best_k = a->slot[j];
			}
		}
		if (best_i == p->n)
			break;
		if (best_j != best_i)
			move(p, a, best_j, a->slot[best_i]);
		move(p, a, best_i, best_k);
	}
}

/* METIS' answer, as a beginning.  Where it has none, vertices stay where they are. */
static int begin_metis(const struct problem *p, struct assignment *a)
{
	idx_t n = (idx_t)p->n, constraints = 1, parts = (idx_t)p->n_parts, cut;
	idx_t options[METIS_NOPTIONS];
	real_t tolerance = 1 + imbalance, *share = calloc(p->n_parts + 1, sizeof(*share));
	idx_t *vwgt = calloc(p->n + 1, sizeof(*vwgt)), *part = calloc(p->n + 1, sizeof(*part));
	idx_t *xadj = calloc(p->n + 1, sizeof(*xadj)), *adjncy = NULL, *adjwgt = NULL;
	double load = 0, bytes = 0;
	size_t m = 0;
	int code = -ENOMEM;

	for (size_t i = 0; i < p->n * p->n; i++) {
		bytes += p->weight[i];
		m += p->weight[i] > 0;
	}
	adjncy = calloc(m + 1, sizeof(*adjncy));
	adjwgt = calloc(m + 1, sizeof(*adjwgt));
	if (!share || !vwgt || !part || !xadj || !adjncy || !adjwgt)
		goto out;
	code = 0;
	/* METIS takes neither one part nor more parts than vertices. */
	if (p->n_parts < 2 || p->n <= p->n_parts || m > METIS_SCALE)
		goto out;
	for (size_t i = 0; i < p->n; i++)
		load += load_of(p, i);
	for (size_t k = 0; k < p->n_parts; k++)
		share[k] = (real_t)p->share[k];
	m = 0;
	for (size_t i = 0; i < p->n; i++) {
		vwgt[i] = 1 + (idx_t)(METIS_SCALE * load_of(p, i) / (load > 0 ? load : 1));
		for (size_t j = 0; j < p->n; j++) {
			if (!(p->weight[i * p->n + j] > 0))
				continue;
			adjncy[m] = (idx_t)j;
			adjwgt[m++] = 1 + (idx_t)(METIS_SCALE * p->weight[i * p->n + j] / bytes);
		}
		xadj[i + 1] = (idx_t)m;
	}
	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = 1;
	code = METIS_PartGraphRecursive(&n, &constraints, xadj, adjncy, vwgt, NULL, adjwgt, &parts,
					share, &tolerance, options, &cut, part);
	for (size_t i = 0; i < p->n && code == METIS_OK; i++)
		a->slot[i] = (size_t)part[i];
	code = code == METIS_ERROR_MEMORY ? -ENOMEM : 0;
out:
	free(share);
	free(vwgt);
	free(part);
	free(xadj);
	free(adjncy);
	free(adjwgt);
	return code;
}

/* As vertices are now: each where most of it runs. */
static void begin_now(const struct problem *p, struct assignment *a)
{
	const struct ctl_cut_graph *graph = p->graph;

	for (size_t i = 0; i < p->n; i++) {
		const double *home = graph->home + p->vertex[i] * graph->n_parts;

		a->slot[i] = 0;
		for (size_t k = 1; k < p->n_parts; k++)
			if (home[p->slot[k]] > home[p->slot[a->slot[i]]])
				a->slot[i] = k;
	}
}

static void begin_random(const struct problem *p, struct assignment *a, uint64_t *random)
{
	for (size_t i = 0; i < p->n; i++)
		a->slot[i] = (size_t)(uniform(random) * (double)p->n_parts);
}

/* The best assignment of all beginnings, as many as work allows. */
static int solve(const struct problem *p, double work, struct assignment *best, struct score *ret)
{
	double n = (double)p->n, steps = n * n * (n + 8);
	size_t starts = 2 + (size_t)fmin(STARTS, work / (steps + 1));
	uint64_t random = 1;
	struct assignment a;
	double tiny = 0;
	int code = assignment_init(&a, p);

	for (size_t e = 0; e < p->graph->n_stated; e++)
		tiny += 1e-9 * p->bytes[e];
	*ret = (struct score){INFINITY, INFINITY};
	for (size_t s = 0; s < starts && !code; s++) {
		struct score score;

		if (s == 1)
			code = begin_metis(p, &a);
		else if (s)
			begin_random(p, &a, &random);
		else
			begin_now(p, &a);
		if (code)
			break;
		add_up(p, &a);
		improve(p, &a, tiny);
		score = score_of(p, &a);
		if (!is_less(score, *ret, tiny))
			continue;
		*ret = score;
		memcpy(best->slot, a.slot, p->n * sizeof(*a.slot));
	}
	assignment_deinit(&a);
	return code;
}

/*
 * Slots of equal capacity can change places: of these, each gets the part where most of its
 * vertices run already, so that as little as possible has to move.
 */
static void stay_at_home(const struct problem *p, const struct assignment *a,
			 struct ctl_cut_plan *plan)
{
	const struct ctl_cut_graph *graph = p->graph;

	for (size_t v = 0; v < graph->n_vertices; v++)
		plan->part[v] = CTL_CUT_FREE;
	for (size_t k = 0; k < p->n_parts; k++) {
		size_t best = graph->n_parts;
		double most = -1;

		for (size_t part = 0; part < graph->n_parts; part++) {
			double home = 0;

			if (plan->used[part] ||
			    graph->capacity[part] != graph->capacity[p->slot[k]])
				continue;
			for (size_t i = 0; i < p->n; i++)
				if (a->slot[i] == k)
					home += graph->home[p->vertex[i] * graph->n_parts + part];
			if (best == graph->n_parts || home > most) {
				most = home;
				best = part;
			}
		}
		plan->used[best] = true;
		for (size_t i = 0; i < p->n; i++)
			if (a->slot[i] == k)
				plan->part[p->vertex[i]] = best;
	}
}

void ctl_cut_plan_deinit(struct ctl_cut_plan *plan)
{
	free(plan->part);
	free(plan->used);
	memset(plan, 0, sizeof(*plan));
}

/* The plan for some edges' bytes and so many parts. */
static int plan_for(const struct ctl_cut_graph *graph, const double *bytes, size_t n_used,
		    double work, struct ctl_cut_plan *plan)
{
	struct assignment best = {0};
	struct score score;
	struct problem p;
	int code = problem_init(&p, graph, bytes, n_used);

	memset(plan, 0, sizeof(*plan));
	plan->n_used = n_used;
	plan->part = calloc(graph->n_vertices + 1, sizeof(*plan->part));
	plan->used = calloc(graph->n_parts + 1, sizeof(*plan->used));
	if (!code)
		code = plan->part && plan->used ? assignment_init(&best, &p) : -ENOMEM;
	if (!code)
		code = solve(&p, work, &best, &score);
	if (!code)
		stay_at_home(&p, &best, plan);
	else
		ctl_cut_plan_deinit(plan);
	assignment_deinit(&best);
	problem_deinit(&p);
	return code;
}

double ctl_cut_crosses(const struct ctl_cut_graph *graph, const struct ctl_cut_plan *plan,
		       const struct ctl_cut_edge *edge)
{
	size_t from = plan->part[edge->from], to = plan->part[edge->to];
	double capacity = 0, together = 0;

	if (from != CTL_CUT_FREE && to != CTL_CUT_FREE)
		return from != to;
	for (size_t k = 0; k < graph->n_parts; k++)
		capacity += plan->used[k] ? graph->capacity[k] : 0;
	for (size_t k = 0; k < graph->n_parts; k++) {
		double share = plan->used[k] ? graph->capacity[k] / capacity : 0;

		together += (from == CTL_CUT_FREE ? share : from == k) *
			    (to == CTL_CUT_FREE ? share : to == k);
	}
	return 1 - together;
}

/* What crosses of n edges from first on, with their bytes; plan NULL: now. */
static double cost(const struct ctl_cut_graph *graph, const struct ctl_cut_plan *plan, size_t first,
		   size_t n, const double *bytes)
{
	double sum = 0;

	for (size_t e = first; e < first + n; e++)
		sum += bytes[e] *
		       (plan ? ctl_cut_crosses(graph, plan, &graph->edge[e]) : graph->edge[e].now);
	return sum;
}

static double *all_bytes(const struct ctl_cut_graph *graph)
{
	double *bytes = calloc(graph->n_edges + 1, sizeof(*bytes));

	for (size_t e = 0; e < graph->n_edges && bytes; e++)
		bytes[e] = graph->edge[e].bytes;
	return bytes;
}

/* Whether all that runs leaves headroom in the n largest parts. */
static bool fits(const struct ctl_cut_graph *graph, size_t n)
{
	double *capacity = calloc(graph->n_parts + 1, sizeof(*capacity)), sum = 0;

	if (!capacity)
		return false;
	for (size_t i = 0; i < graph->n_parts; i++) {
		size_t at = i;

		for (; at && capacity[at - 1] < graph->capacity[i]; at--)
			capacity[at] = capacity[at - 1];
		capacity[at] = graph->capacity[i];
	}
	for (size_t i = 0; i < n; i++)
		sum += capacity[i];
	free(capacity);
	return total_load(graph) <= headroom * sum;
}

int ctl_cut_plan_init(struct ctl_cut_plan *plan, const struct ctl_cut_graph *graph, size_t n_used)
{
	double *bytes = all_bytes(graph), all = 0, least;
	int code = bytes ? 0 : -ENOMEM;

	memset(plan, 0, sizeof(*plan));
	if (!code)
		code = plan_for(graph, bytes, n_used ? n_used : graph->n_parts, WORK, plan);
	if (code || n_used) {
		free(bytes);
		return code;
	}
	for (size_t e = 0; e < graph->n_stated; e++)
		all += bytes[e];
	least = cost(graph, plan, 0, graph->n_stated, bytes);
	for (size_t n = graph->n_parts / 2; n && !code && fits(graph, n); n /= 2) {
		struct ctl_cut_plan fewer;
		double less;

		code = plan_for(graph, bytes, n, WORK, &fewer);
		if (code)
			break;
		less = cost(graph, &fewer, 0, graph->n_stated, bytes);
		if (less < least - slight * all) {
			ctl_cut_plan_deinit(plan);
			*plan = fewer;
			least = less;
		} else {
			ctl_cut_plan_deinit(&fewer);
		}
	}
	free(bytes);
	if (code)
		ctl_cut_plan_deinit(plan);
	return code;
}

/* One draw of each stated edge from its interval. */
static void draw(const struct ctl_cut_graph *graph, uint64_t *random, double *bytes)
{
	for (size_t e = 0; e < graph->n_stated; e++) {
		const struct ctl_cut_edge *edge = &graph->edge[e];
		double x = gauss(random) / graph->z;
		double factor = x > 0 ? edge->high / edge->bytes : edge->bytes / edge->low;

		bytes[e] = edge->bytes * (isfinite(factor) && factor > 1 ? pow(factor, x) : 1);
	}
}

static double gain_of(double now, double planned)
{
	return now > 0 ? 1 - planned / now : 0;
}

/* By how much more a plan gains on what it was chosen for than on what is to be judged. */
static int find_optimism(const struct ctl_cut_graph *graph, size_t n_used, const double *bytes,
			 double *drawn, double *ret)
{
	double sum = 0, now = cost(graph, NULL, 0, graph->n_stated, bytes);
	uint64_t random = 2;

	for (int i = 0; i < PLANS; i++) {
		struct ctl_cut_plan plan;
		int code;

		draw(graph, &random, drawn);
		code = plan_for(graph, drawn, n_used, PLAN_WORK, &plan);
		if (code)
			return code;
		sum += gain_of(cost(graph, NULL, 0, graph->n_stated, drawn),
			       cost(graph, &plan, 0, graph->n_stated, drawn)) -
		       gain_of(now, cost(graph, &plan, 0, graph->n_stated, bytes));
		ctl_cut_plan_deinit(&plan);
	}
	*ret = fmax(0, sum / PLANS);
	return 0;
}

static int order_doubles(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* Sorts the draws. */
static struct ctl_cut_range range_of(double value, double *drawn)
{
	qsort(drawn, DRAWS, sizeof(*drawn), order_doubles);
	return (struct ctl_cut_range){value, drawn[DRAWS / 20], drawn[DRAWS - 1 - DRAWS / 20]};
}

/* stated: all that is exchanged, whether it crosses or not. */
static enum ctl_cut_verdict verdict_of(const struct ctl_cut_advice *advice, double stated)
{
	double least = CTL_CUT_WORTH_PCT / 100.;
	double undone = advice->unstated_planned - advice->unstated_now;

	if (advice->gain.high < least || advice->now.value < least * stated)
		return CTL_CUT_STAY;
	if (advice->gain.value < least || !(advice->gain.low > 0))
		return CTL_CUT_CANNOT_TELL;
	/* What is not stated may well be so: a gain must outweigh what it would cost there. */
	return undone < advice->now.value - advice->planned.value ? CTL_CUT_MOVE
								  : CTL_CUT_CANNOT_TELL;
}

int ctl_cut_judge(const struct ctl_cut_graph *graph, const struct ctl_cut_plan *plan,
		  struct ctl_cut_advice *ret)
{
	double *bytes = all_bytes(graph), *drawn = all_bytes(graph);
	double *now = calloc(DRAWS, sizeof(*now)), *planned = calloc(DRAWS, sizeof(*planned));
	double *gain = calloc(DRAWS, sizeof(*gain)), optimism = 0, value, stated = 0;
	int code = bytes && drawn && now && planned && gain ? 0 : -ENOMEM, better = 0;
	size_t others = graph->n_edges - graph->n_stated;
	uint64_t random = 3;

	memset(ret, 0, sizeof(*ret));
	if (!code)
		code = find_optimism(graph, plan->n_used, bytes, drawn, &optimism);
	for (int i = 0; i < DRAWS && !code; i++) {
		double factor = exp(graph->factor_sd * gauss(&random));

		draw(graph, &random, drawn);
		now[i] = factor * cost(graph, NULL, 0, graph->n_stated, drawn);
		planned[i] =
			factor * cost(graph, plan, 0, graph->n_stated, drawn) + optimism * now[i];
		gain[i] = gain_of(now[i], planned[i]);
		better += gain[i] > 0;
	}
	if (!code) {
		value = cost(graph, NULL, 0, graph->n_stated, bytes);
		ret->now = range_of(value, now);
		value = cost(graph, plan, 0, graph->n_stated, bytes) + optimism * value;
		ret->planned = range_of(value, planned);
		ret->gain = range_of(gain_of(ret->now.value, value), gain);
		ret->better = (double)better / DRAWS;
		ret->unstated_now = cost(graph, NULL, graph->n_stated, others, bytes);
		ret->unstated_planned = cost(graph, plan, graph->n_stated, others, bytes);
		for (size_t e = 0; e < graph->n_stated; e++)
			stated += bytes[e];
		ret->verdict = verdict_of(ret, stated);
	}
	free(bytes);
	free(drawn);
	free(now);
	free(planned);
	free(gain);
	return code;
}

const char *ctl_cut_verdict_name(enum ctl_cut_verdict verdict)
{
	static const char *const names[] = {
		[CTL_CUT_CANNOT_TELL] = "cannot tell",
		[CTL_CUT_STAY] = "stay",
		[CTL_CUT_MOVE] = "move",
	};

	return names[verdict];
}
