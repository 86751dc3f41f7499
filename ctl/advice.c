// SPDX-License-Identifier: GPL-2.0-or-later
#include "advice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "ctl.h"
#include "term.h"

enum { ADVICE_TEXT = 64 };

/* What takes less away is no matter. */
#define ADVICE_GAIN 0.01

/* The CPUs of a run of another machine say nothing about this one's topology. */
static int check_host(const struct ctl_advice *advise)
{
	const char *host = advise->report->run->host;
	char name[ADVICE_TEXT];
	struct utsname here;

	if (advise->topology_path || uname(&here) < 0 || !strcmp(here.nodename, host))
		return CTL_OK;
	fprintf(stderr,
		"commctl: run %lld was made on another machine, %s: name its topology by "
		"--topology, as \"lscpu -p=CPU,NODE,CACHE\" prints it there\n",
		(long long)advise->report->run->id, ctl_clean(name, sizeof(name), host, 40));
	return CTL_FAILURE;
}

const char *ctl_advice_level_title(enum ctl_level level, size_t n)
{
	static const char *const one[] = {"NUMA node", "last-level cache", "CPU"};
	static const char *const many[] = {"NUMA nodes", "last-level caches", "CPUs"};

	return n == 1 ? one[level] : many[level];
}

static int take_parts(struct ctl_advice *advise)
{
	enum ctl_level level = advise->level < 0 ? CTL_NODE : (enum ctl_level)advise->level;
	char *err;
	int code;

	code = ctl_topology_read(advise->topology_path, advise->only_cpus ? &advise->cpus : NULL,
				 &advise->topology, &err);
	if (code)
		return ctl_error(code, err);
	for (;; level++) {
		ctl_parts_deinit(&advise->parts);
		if (ctl_parts_init(&advise->parts, &advise->topology, level))
			return ctl_error(-ENOMEM, NULL);
		if (advise->parts.n > 1 || advise->level >= 0 || level + 1 == CTL_LEVELS)
			break;
	}
	if (advise->parts.n < 2) {
		fprintf(stderr, "commctl: nothing to advise: there is one %s alone%s\n",
			ctl_advice_level_title(level, 1),
			level == CTL_CPU ? "" : "; --over cache and --over cpu look closer");
		return CTL_NO_DATA;
	}
	if (advise->n_used > advise->parts.n) {
		fprintf(stderr, "commctl: --parts %llu: there are %zu %s\n",
			(unsigned long long)advise->n_used, advise->parts.n,
			ctl_advice_level_title(level, advise->parts.n));
		return CTL_USAGE;
	}
	return CTL_OK;
}

static int find_advice(struct ctl_advice *advise)
{
	enum ctl_placing_now now = CTL_NOW_RECORDED;
	char *err;
	int code;

	if (advise->placement)
		now = strcmp(advise->placement, "spread") ? CTL_NOW_FILE : CTL_NOW_SPREAD;
	code = ctl_placing_init(&advise->placing, advise->report, &advise->parts, now,
				advise->placement, &err);
	if (code)
		return ctl_error(code, err);
	code = ctl_cut_plan_init(&advise->plan, &advise->placing.graph, advise->n_used);
	if (!code)
		code = ctl_cut_judge(&advise->placing.graph, &advise->plan, &advise->advice);
	return code ? ctl_error(code, NULL) : CTL_OK;
}

static double stated_bytes(const struct ctl_advice *advise)
{
	const struct comm_report *report = advise->report;
	double sum = 0;

	for (size_t i = 0; i < report->n_edges; i++)
		if (comm_report_edge_at(report, i)->resolved)
			sum += comm_report_edge_at(report, i)->bytes;
	return sum;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

double ctl_advice_crosses_now(const struct ctl_advice *advise)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	double sum = 0;

	for (size_t e = 0; e < graph->n_stated; e++)
		sum += graph->edge[e].bytes;
	return share(advise->advice.now.value, sum);
}

double ctl_advice_covered(const struct ctl_advice *advise)
{
	return share(stated_bytes(advise), advise->report->total_bytes);
}

double ctl_advice_unseen(const struct ctl_advice *advise)
{
	const struct comm_report *report = advise->report;

	return share(report->unwritten_bytes - report->polled_bytes,
		     report->read_bytes - report->polled_bytes);
}

bool ctl_advice_is_now_unknown(const struct ctl_advice *advise)
{
	return advise->placing.n_unknown == advise->placing.graph.n_stated;
}

bool ctl_advice_is_planned(const struct ctl_advice *advise)
{
	const struct ctl_cut_advice *advice = &advise->advice;

	return advice->verdict == CTL_CUT_MOVE ||
	       (advice->verdict != CTL_CUT_STAY && advice->gain.value >= ADVICE_GAIN);
}

double ctl_advice_load(const struct ctl_advice *advise, size_t part)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	double sum = 0;

	for (size_t v = 0; v < graph->n_vertices; v++)
		if (advise->plan.part[v] == part)
			sum += graph->vertex[v].load;
	return sum;
}

int ctl_advice_make(struct ctl_advice *advise)
{
	int code = check_host(advise);

	if (!code)
		code = take_parts(advise);
	return code ? code : find_advice(advise);
}

void ctl_advice_deinit(struct ctl_advice *advise)
{
	ctl_cut_plan_deinit(&advise->plan);
	ctl_placing_deinit(&advise->placing);
	ctl_parts_deinit(&advise->parts);
	comm_report_free(advise->report);
}
