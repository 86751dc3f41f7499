/* SPDX-License-Identifier: MIT */
/*
 * manager STORE SECONDS CPUS CPUS...: every so many seconds puts the threads of a live run that hand each other most onto
 * the same CPUs, such as 0-3; see manager.md.
 */
#define _GNU_SOURCE
#include <comm/comm.h>

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GROUPS = 64, MANY = 4096 };

static cpu_set_t cpus[GROUPS];
static size_t load[GROUPS];   /* threads that are there */
static size_t cluster[MANY];  /* of each node: the first of those that it stays with */
static size_t members[MANY];  /* of a cluster */
static size_t group_of[MANY]; /* of a cluster: 1 and its place, 0: none yet */

static int parse_cpus(const char *text, cpu_set_t *ret)
{
	unsigned long from, to;
	char *end;

	CPU_ZERO(ret);
	for (;; text = end + 1) {
		from = to = strtoul(text, &end, 10);
		if (end != text && *end == '-')
			to = strtoul(end + 1, &end, 10);
		if (end == text || from > to || to >= CPU_SETSIZE)
			return -1;
		while (from <= to)
			CPU_SET(from++, ret);
		if (*end != ',')
			return *end ? -1 : 0;
	}
}

/* Two clusters become one, unless that would be more than a fair share of the threads. */
static void join(size_t a, size_t b, size_t n, size_t fair)
{
	a = cluster[a];
	b = cluster[b];
	if (a == b || members[a] + members[b] > fair)
		return;
	for (size_t i = 0; i < n; i++)
		if (cluster[i] == b)
			cluster[i] = a;
	members[a] += members[b];
}

static void place(const struct comm_report *report, size_t groups)
{
	char task[64];
	size_t n = report->n_nodes < MANY ? report->n_nodes : MANY,
	       fair = (n + groups - 1) / groups;

	for (size_t i = 0; i < n; i++) {
		cluster[i] = i;
		members[i] = 1;
		group_of[i] = 0;
	}
	for (size_t i = 0; i < groups; i++)
		load[i] = 0;
	/* Those that the run confirms come first, and of these the largest. */
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		if (edge->from < n && edge->to < n)
			join(edge->from, edge->to, n, fair);
	}
	for (size_t i = 0; i < n; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);
		size_t of = cluster[i], least = 0;

		for (size_t g = 1; g < groups; g++)
			if (load[g] < load[least])
				least = g;
		if (!group_of[of]) {
			group_of[of] = least + 1;
			load[least] += members[of];
		}
		/* The number of one that has ended is nobody's, or another process's by now. */
		snprintf(task, sizeof(task), "/proc/%u/task/%u", node->tgid, node->tid);
		if (node->kind == COMM_NODE_THREAD && !node->other && !access(task, F_OK))
			sched_setaffinity(node->tid, sizeof(cpu_set_t), &cpus[group_of[of] - 1]);
	}
}

int main(int argc, char **argv)
{
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_reader *reader;
	struct comm_report *report;
	size_t groups = 0;
	char *err = NULL;
	bool is_running, was_running = false;
	int code = 0, seconds = argc > 2 ? atoi(argv[2]) : 0;

	while (groups < GROUPS && 3 + (int)groups < argc &&
	       !parse_cpus(argv[3 + groups], &cpus[groups]))
		groups++;
	if (argc < 5 || seconds < 1 || 3 + (int)groups != argc) {
		fprintf(stderr, "usage: manager STORE SECONDS CPUS CPUS...\n");
		return 2;
	}
	query.by = "thread";
	query.from_ns = -10000000000; /* the last 10 s */
	if (comm_reader_open(argv[1], &reader, &err)) {
		fprintf(stderr, "manager: %s\n", err ? err : "no memory");
		return 1;
	}
	while (!code || code == -ENODATA) {
		free(err);
		err = NULL;
		code = comm_reader_report(reader, &query, &report, &err);
		if (!code) {
			is_running = report->run->state == COMM_RUN_RUNNING;
			if (is_running)
				place(report, groups);
			comm_report_free(report);
			if (was_running && !is_running)
				break;
			was_running = is_running;
		}
		sleep(seconds);
	}
	if (code)
		fprintf(stderr, "manager: %s\n", err ? err : "no memory");
	return code != 0;
}
