// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs every pattern at three sampling rates and prints how far each estimator
 * is from the truth.  usage: report [-s SECONDS] [-l SLICE_MS] [-n] [PATTERN]...
 * -n leaves the scheduling events out.
 */
#include "sim/patterns.c"
#include "sim/sim.c"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct matrix {
	double all[SIM_THREADS][SIM_THREADS];
	double first[SIM_THREADS][SIM_THREADS];
	double variance[SIM_THREADS][SIM_THREADS];
};

struct score {
	double error, ratio, first_error, first_ratio, recall, covered, false_share;
};

static void collect(void *ctx, const struct comm_edge *e)
{
	struct matrix *m = ctx;

	if (!e->src_thread || !e->dst_thread || e->src_thread > SIM_THREADS ||
	    e->dst_thread > SIM_THREADS)
		return;
	m->all[e->src_thread - 1][e->dst_thread - 1] += e->bytes;
	m->first[e->src_thread - 1][e->dst_thread - 1] += e->first_bytes;
	m->variance[e->src_thread - 1][e->dst_thread - 1] += e->variance;
}

static double off_diagonal(double m[SIM_THREADS][SIM_THREADS])
{
	double sum = 0;

	for (int i = 0; i < SIM_THREADS; i++)
		for (int j = 0; j < SIM_THREADS; j++)
			sum += i == j ? 0 : m[i][j];
	return sum;
}

static double distance(double a[SIM_THREADS][SIM_THREADS], double b[SIM_THREADS][SIM_THREADS],
		       double *ret_ratio)
{
	double sa = off_diagonal(a), sb = off_diagonal(b), sum = 0;

	*ret_ratio = sa > 0 && sb > 0 ? log2(sa / sb) : sb > 0 ? -9 : 0;
	if (sa <= 0 || sb <= 0)
		return sb > 0 ? 2 : 0;
	for (int i = 0; i < SIM_THREADS; i++)
		for (int j = 0; j < SIM_THREADS; j++)
			sum += i == j ? 0 : fabs(a[i][j] / sa - b[i][j] / sb);
	return sum;
}

/* The share of the true edges of at least 2 % that are among as many largest estimated edges. */
static double recall(double est[SIM_THREADS][SIM_THREADS], double truth[SIM_THREADS][SIM_THREADS])
{
	double sum = off_diagonal(truth);
	int k = 0, found = 0;

	for (int i = 0; i < SIM_THREADS; i++)
		for (int j = 0; j < SIM_THREADS; j++)
			k += i != j && truth[i][j] > 0.02 * sum;
	for (int i = 0; i < SIM_THREADS; i++) {
		for (int j = 0; j < SIM_THREADS; j++) {
			int before = 0;

			if (i == j || truth[i][j] <= 0.02 * sum)
				continue;
			for (int x = 0; x < SIM_THREADS; x++)
				for (int y = 0; y < SIM_THREADS; y++)
					before += x != y && est[x][y] > est[i][j];
			found += before < k;
		}
	}
	return k ? (double)found / k : 1;
}

static struct score score(struct matrix *m, struct sim_truth *truth)
{
	struct score s = {0};
	double all = 0, scale = off_diagonal(m->all) / off_diagonal(truth->all);
	int edges = 0;

	s.error = distance(m->all, truth->all, &s.ratio);
	s.first_error = distance(m->first, truth->first, &s.first_ratio);
	s.recall = recall(m->all, truth->all);
	for (int i = 0; i < SIM_THREADS; i++) {
		for (int j = 0; j < SIM_THREADS; j++) {
			double d = m->all[i][j] - truth->all[i][j] * scale;

			all += m->all[i][j];
			if (i == j || truth->all[i][j] <= 0.01 * off_diagonal(truth->all))
				continue;
			edges++;
			s.covered += d * d <= 1.645 * 1.645 * m->variance[i][j];
		}
	}
	s.covered = edges ? s.covered / edges : 1;
	s.false_share = all > 0 ? off_diagonal(m->all) / all : 0;
	return s;
}

static const uint64_t periods_ns[SIM_SAMPLERS] = {1000000, 200000, 100000};
static struct matrix matrices[SIM_SAMPLERS][2];
static struct sim sim;

static void dump(double m[SIM_THREADS][SIM_THREADS], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < n; j++)
			printf(" %9.0f", m[i][j] / 1000);
		printf("\n");
	}
}

static int run(const struct sim_pattern *p, uint64_t duration_ns, uint64_t slice_ns, bool sched,
	       bool verbose, struct score ret[SIM_SAMPLERS][2])
{
	const struct comm_est_config config = {.granularity_bytes = 8,
					       .cycles_per_ns = sim_cycles_per_ns,
					       .memory_bytes = 64 << 20};
	void *ctx[SIM_SAMPLERS][2];
	int err;

	memset(&sim, 0, sizeof(sim));
	memset(matrices, 0, sizeof(matrices));
	sim.n_samplers = SIM_SAMPLERS;
	sim.sched_events = sched;
	for (int s = 0; s < SIM_SAMPLERS; s++) {
		sim.sampler[s].period_ns = periods_ns[s];
		for (int e = 0; e < 2; e++) {
			ctx[s][e] = &matrices[s][e];
			sim.sampler[s].ops[e] = comm_estimators[e];
			err = comm_estimators[e]->create(&config, &sim.sampler[s].est[e]);
			if (err)
				return err;
		}
	}
	err = sim_run(&sim, p, duration_ns, slice_ns, collect, ctx);
	for (int s = 0; s < SIM_SAMPLERS; s++)
		for (int e = 0; e < 2; e++) {
			sim.sampler[s].ops[e]->destroy(sim.sampler[s].est[e]);
			ret[s][e] = score(&matrices[s][e], &sim.truth);
		}
	if (verbose) {
		printf("truth, kB [writer][reader]; never written %.0f\n",
		       sim.truth.unwritten / 1000);
		dump(sim.truth.all, p->n_threads);
		printf("first reads\n");
		dump(sim.truth.first, p->n_threads);
		for (int s = 0; s < SIM_SAMPLERS; s++) {
			printf("hazard, %.0f bursts of %.1f\n", (double)sim.sampler[s].bursts,
			       (double)sim.sampler[s].accesses / (double)sim.sampler[s].bursts);
			dump(matrices[s][0].all, p->n_threads);
			printf("first reads\n");
			dump(matrices[s][0].first, p->n_threads);
		}
	}
	return err;
}

static void print(const struct score *s)
{
	printf(" |%5.2f %5.2f %4.2f %4.2f %5.2f %5.2f", s->error, s->ratio, s->recall, s->covered,
	       s->first_error, s->first_ratio);
}

int main(int argc, char **argv)
{
	struct score total[SIM_SAMPLERS][2] = {0}, held[SIM_SAMPLERS][2] = {0};
	double duration = 4, slice_ms = 1000;
	int opt, n = 0, n_held = 0;
	bool sched = true, verbose = false;

	while ((opt = getopt(argc, argv, "s:l:nv")) != -1) {
		if (opt == 's')
			duration = atof(optarg);
		else if (opt == 'l')
			slice_ms = atof(optarg);
		else if (opt == 'n')
			sched = false;
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	printf("%-12s %-7s |%*s\n%-20s", "", "", 3 * 34,
	       "1, 5, 10 kHz: error, log2 volume, recall, covered, first: error, volume", "");
	printf("\n");
	for (uint32_t i = 0; i < sim_n_patterns; i++) {
		const struct sim_pattern *p = &sim_patterns[i];
		struct score s[SIM_SAMPLERS][2];
		bool wanted = optind >= argc;

		for (int j = optind; j < argc; j++)
			wanted |= !strcmp(argv[j], p->name);
		if (!wanted)
			continue;
		if (run(p, (uint64_t)(duration * 1e9), (uint64_t)(slice_ms * 1e6), sched, verbose,
			s))
			return 1;
		for (int e = 0; e < 2; e++) {
			printf("%-12s%c%-7s", p->name, p->held_out ? '*' : ' ',
			       comm_estimators[e]->name);
			for (int r = 0; r < SIM_SAMPLERS; r++) {
				struct score *sum = p->held_out ? &held[r][e] : &total[r][e];

				if (!p->communicates) {
					printf(" | false %-26.6f", s[r][e].false_share);
					continue;
				}
				print(&s[r][e]);
				sum->error += s[r][e].error;
				sum->ratio += fabs(s[r][e].ratio);
				sum->recall += s[r][e].recall;
				sum->covered += s[r][e].covered;
				sum->first_error += s[r][e].first_error;
				sum->first_ratio += fabs(s[r][e].first_ratio);
			}
			printf("\n");
		}
		fflush(stdout);
		n += p->communicates && !p->held_out;
		n_held += p->communicates && p->held_out;
	}
	for (int h = 0; h < 2; h++) {
		int count = h ? n_held : n;

		for (int e = 0; e < 2 && count; e++) {
			printf("%-12s %-7s", h ? "mean, held*" : "mean, tuned",
			       comm_estimators[e]->name);
			for (int r = 0; r < SIM_SAMPLERS; r++) {
				struct score *sum = h ? &held[r][e] : &total[r][e];
				struct score mean = {sum->error / count,
						     sum->ratio / count,
						     sum->first_error / count,
						     sum->first_ratio / count,
						     sum->recall / count,
						     sum->covered / count,
						     0};

				print(&mean);
			}
			printf("\n");
		}
	}
	return 0;
}
