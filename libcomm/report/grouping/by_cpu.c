// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-cpu: the CPUs that writers and readers ran on.  A store does not tell on which
 * CPU a given byte was written or read: a thread's bytes of a slice are split over the
 * CPUs that its samples of that slice were taken on, as many to each as samples,
 * and writer and reader are taken to be independent.  The split is as coarse in
 * time as the slices are.
 *
 * --by-node: the NUMA nodes of these CPUs, as the run has them from the machine where it was made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grouping.h"
#include "ids.h"
#include "schema.h"

enum { CPUS_FIRST = 64, CPUS_MAX = 8192, NODES_MAX = 1024 };

/* The CPUs that a thread ran on in the slice. */
struct placed {
	uint32_t thread;
	size_t first, n; /* its range of by_cpu.share */
};

struct by_cpu {
	sqlite3_stmt *ask;
	struct comm_share *share;
	struct placed *placed; /* in order of threads */
	size_t n_shares, shares_capacity, n_placed, placed_capacity;
	uint32_t *node; /* of each of CPUS_MAX, 1 and more, 0: not known; NULL: nodes are CPUs */
};

static const char no_record[] = "has no record of which CPU its threads ran on";
static const char not_counted[] =
	"has no record of which CPU its threads ran on: under Valgrind one runs at a time, "
	"wherever that is, and "
	"libcomm-exact looks where they are if there are slices (commd --slice)";

static int cpu_open(struct comm_grouping_use *use, char **err)
{
	sqlite3 *db = use->reader->db;
	struct by_cpu *by = calloc(1, sizeof(*by));
	int code;

	use->state = by;
	if (!by)
		return -ENOMEM;
	code = comm_grouping_need(use, "SELECT 1 FROM placement WHERE run = ?1 LIMIT 1",
				  strcmp(use->run->source, "exact") != 0 ? no_record : not_counted,
				  err);
	if (code)
		return code;
	if (sqlite3_prepare_v2(db,
			       "SELECT thread, cpu + 1, samples FROM placement"
			       " WHERE run = ?1 AND slice = ?2 ORDER BY thread",
			       -1, &by->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(by->ask, 1, use->run->id);
	return 0;
}

/* A number at *text, less than max, which *text is moved behind; -1: there is none. */
static long take_number(const char **text, long max)
{
	char *end;
	long n = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : -1;

	if (n < 0 || n >= max)
		return -1;
	*text = end;
	return n;
}

/* Takes "0:0-3,8;1:4-7"; what is none ends it.  Returns how many nodes have CPUs. */
static int take_nodes(const char *text, uint32_t node_of[CPUS_MAX])
{
	bool has_cpus[NODES_MAX] = {false};
	int n = 0;

	do {
		long node = take_number(&text, NODES_MAX);

		if (node < 0 || *text != ':')
			break;
		do {
			long first, last;

			text++;
			first = last = take_number(&text, CPUS_MAX);
			if (*text == '-') {
				text++;
				last = take_number(&text, CPUS_MAX);
			}
			for (long cpu = first; cpu >= 0 && cpu <= last; cpu++)
				node_of[cpu] = (uint32_t)node + 1;
			n += first >= 0 && first <= last && !has_cpus[node];
			has_cpus[node] |= first >= 0 && first <= last;
		} while (*text == ',');
	} while (*text++ == ';');
	return n;
}

static int node_open(struct comm_grouping_use *use, char **err)
{
	sqlite3 *db = use->reader->db;
	int code = cpu_open(use, err), n = 0;
	struct by_cpu *by = use->state;
	sqlite3_stmt *stmt;

	if (code)
		return code;
	by->node = calloc(CPUS_MAX, sizeof(*by->node));
	if (!by->node)
		return -ENOMEM;
	if (sqlite3_prepare_v2(db, "SELECT numa FROM run WHERE id = ?1", -1, &stmt, NULL) !=
	    SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, use->run->id);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		n = take_nodes(text ? text : "", by->node);
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK)
		return comm_schema_errno(db);
	if (n > 1)
		return 0;
	return comm_reader_fail(err, -ENODATA, "run %lld %s", (long long)use->run->id,
				n ? "is of a machine with one NUMA node"
				  : "does not say which CPU is on which NUMA node");
}

static void cpu_close(struct comm_grouping_use *use)
{
	struct by_cpu *by = use->state;

	if (!by)
		return;
	sqlite3_finalize(by->ask);
	free(by->share);
	free(by->placed);
	free(by->node);
	free(by);
}

/* Room for one more of n elements. */
static int reserve(void *array, size_t n, size_t *capacity, size_t size)
{
	size_t more = *capacity ? 2 * *capacity : CPUS_FIRST;
	void *grown;

	if (n < *capacity)
		return 0;
	grown = reallocarray(*(void **)array, more, size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*capacity = more;
	return 0;
}

static int add(struct by_cpu *by, uint32_t thread, struct comm_share share)
{
	int code = reserve(&by->share, by->n_shares, &by->shares_capacity, sizeof(*by->share));

	if (!code)
		code = reserve(&by->placed, by->n_placed, &by->placed_capacity,
			       sizeof(*by->placed));
	if (code)
		return code;
	if (!by->n_placed || by->placed[by->n_placed - 1].thread != thread)
		by->placed[by->n_placed++] = (struct placed){thread, by->n_shares, 0};
	by->placed[by->n_placed - 1].n++;
	by->share[by->n_shares++] = share;
	return 0;
}

/* The nodes that a thread ran on, in the place of its CPUs. */
static void to_nodes(const struct by_cpu *by, struct placed *placed)
{
	struct comm_share *share = by->share + placed->first;
	size_t n = 0;

	for (size_t i = 0; i < placed->n; i++) {
		uint32_t cpu = share[i].id - 1, node = cpu < CPUS_MAX ? by->node[cpu] : 0;
		double weight = share[i].weight;
		size_t at = 0;

		while (at < n && share[at].id != node)
			at++;
		if (at == n)
			share[n++] = (struct comm_share){node, 0};
		share[at].weight += weight;
	}
	placed->n = n;
}

static int cpu_slice(struct comm_grouping_use *use, const struct comm_slices_one *slice)
{
	struct by_cpu *by = use->state;
	int rc, code = 0;

	by->n_placed = by->n_shares = 0;
	sqlite3_bind_int64(by->ask, 2, slice->id);
	while (!code && (rc = sqlite3_step(by->ask)) == SQLITE_ROW) {
		struct comm_share share = {.id = comm_id_column(by->ask, 1)};
		uint32_t thread = comm_id_column(by->ask, 0);
		int64_t samples = sqlite3_column_int64(by->ask, 2);

		/* Samples folded into COMM_ID_OTHER do not tell where any one thread ran. */
		if (thread == COMM_ID_OTHER || samples <= 0)
			continue;
		share.weight = samples;
		code = add(by, thread, share);
	}
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(use->reader->db);
	sqlite3_reset(by->ask);
	for (size_t i = 0; i < by->n_placed; i++) {
		struct comm_share *share = by->share + by->placed[i].first;
		double samples = 0;

		if (by->node)
			to_nodes(by, &by->placed[i]);
		for (size_t j = 0; j < by->placed[i].n; j++)
			samples += share[j].weight;
		for (size_t j = 0; j < by->placed[i].n; j++)
			share[j].weight /= samples;
	}
	return code;
}

static int order(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* A writer may have written before the slice and not run in it: then its CPU is unknown. */
static int cpu_at(struct comm_grouping_use *use, const struct comm_end *end,
		  struct comm_shares *ret)
{
	const struct by_cpu *by = use->state;
	const struct placed key = {.thread = end->thread}, *found = NULL;

	if (by->n_placed)
		found = bsearch(&key, by->placed, by->n_placed, sizeof(key), order);
	comm_shares_one(ret, COMM_ID_OTHER);
	if (found) {
		ret->share = by->share + found->first;
		ret->n = found->n;
	}
	return 0;
}

static int cpu_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_format(use->texts, "cpu %d", sqlite3_column_int(row, 0));
	node->key = node->name;
	return 0;
}

static int node_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_format(use->texts, "node %d", sqlite3_column_int(row, 0));
	node->key = node->name;
	return 0;
}

/* CPU n is node n + 1: node 0 is COMM_ID_OTHER, an unknown CPU. */
const struct comm_grouping_ops comm_grouping_cpu = {
	.grouping = {.name = "cpu",
		     .help = "CPUs that the threads ran on, also within a thread",
		     .title = "CPUs",
		     .noun = "CPU",
		     .within = true,
		     .matrix = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "cpu",
	.letter = 'c',
	.open = cpu_open,
	.close = cpu_close,
	.slice = cpu_slice,
	.many = true,
	.at = cpu_at,
	.by_thread = true,
	.sql = "SELECT ?2 - 1 WHERE ?1",
	.describe = cpu_describe,
};

const struct comm_grouping_ops comm_grouping_node = {
	.grouping = {.name = "node",
		     .help = "NUMA nodes that the threads ran on, also within a thread",
		     .title = "NUMA nodes",
		     .noun = "node",
		     .within = true,
		     .matrix = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "node",
	.letter = 'm',
	.open = node_open,
	.close = cpu_close,
	.slice = cpu_slice,
	.many = true,
	.at = cpu_at,
	.by_thread = true,
	.sql = "SELECT ?2 - 1 WHERE ?1",
	.describe = node_describe,
};
