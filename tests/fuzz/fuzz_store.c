// SPDX-License-Identifier: GPL-2.0-or-later
/* A hostile store, through the library that reads it: its runs, and a report. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[64];

/* SQLite wants a path that it can put other names beside. */
static void remove_files(void)
{
	char beside[80];

	unlink(path);
	for (int i = 0; i < 3; i++) {
		snprintf(beside, sizeof(beside), "%s-%s", path,
			 (const char *const[]){"wal", "shm", "journal"}[i]);
		unlink(beside);
	}
}

static void write_file(const uint8_t *data, size_t bytes)
{
	FILE *file;

	if (!path[0]) {
		snprintf(path, sizeof(path), "/dev/shm/fuzz_store.%d", getpid());
		atexit(remove_files);
	}
	remove_files();
	file = fopen(path, "w");
	if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
		abort();
}

static void look_at(const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (e->from >= report->n_nodes || e->to >= report->n_nodes || isnan(e->bytes) ||
		    e->bytes < 0)
			abort();
	}
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		if (!node->id[0] || !(node->unwritten_bytes >= 0))
			abort();
	}
}

static void report(struct comm_reader *reader, const char *by, bool guess)
{
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_report *ret = NULL;
	char *err = NULL;

	query.by = by;
	query.guess = guess;
	query.self = guess;
	query.totals = query.unwritten = 1;
	if (comm_reader_report(reader, &query, &ret, &err) == 0)
		look_at(ret);
	comm_report_free(ret);
	free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct comm_reader *reader = NULL;
	struct comm_runs *runs = NULL;
	char *err = NULL;
	size_t n = 0;

	if (!bytes)
		return 0;
	write_file(data, bytes);
	if (comm_reader_open(path, &reader, &err)) {
		free(err);
		return 0;
	}
	if (comm_reader_runs(reader, &runs, &err) == 0)
		for (size_t i = 0; i < comm_runs_count(runs); i++)
			if (!comm_runs_at(runs, i)->source)
				abort();
	comm_runs_free(runs);
	free(err);
	while (comm_groupings()[n])
		n++;
	/* One of them each time, as a report takes a while. */
	report(reader, comm_groupings()[data[bytes - 1] % n]->name, bytes & 1);
	comm_reader_close(reader);
	return 0;
}
