// SPDX-License-Identifier: GPL-2.0-or-later
/* A hostile store, through the library that reads it: its runs, and a report. */
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "memory_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed);

enum { PAGE_BYTES = 512 /* of the corpus's stores (stores.sh) */ };

static char path[64];

/* SQLite wants a path that it can put other names beside. */
static void remove_beside(void)
{
	char beside[80];

	for (int i = 0; i < 3; i++) {
		snprintf(beside, sizeof(beside), "%s-%s", path,
			 (const char *const[]){"wal", "shm", "journal"}[i]);
		unlink(beside);
	}
}

static void remove_files(void)
{
	unlink(path);
	remove_beside();
}

static void write_file(const uint8_t *data, size_t bytes)
{
	static int fd = -1;

	if (fd < 0) {
		snprintf(path, sizeof(path), "/dev/shm/fuzz_store.%d", getpid());
		remove_files();
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			abort();
		atexit(remove_files);
	}
	memory_file(data, bytes, &fd);
	remove_beside();
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

static void report(struct comm_reader *reader, const char *by, bool self, bool watched)
{
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_report *ret = NULL;
	char *err = NULL;

	query.by = by;
	query.self = self;
	query.fresh = watched;
	query.totals = query.unwritten = 1;
	if (comm_reader_report(reader, &query, &ret, &err) == 0)
		look_at(ret);
	comm_report_free(ret);
	free(err);
}

/* SQLite's locks and counts of what it allocates are no part of what is tested. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) ||
	    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct comm_reader *reader = NULL;
	struct comm_runs *runs = NULL;
	char *err = NULL;
	size_t n = 0, how;

	if (!bytes)
		return 0;
	how = data[bytes - 1];
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
	report(reader, comm_groupings()[how % n]->name, how / n % 3 == 1, how / n % 3 == 2);
	comm_reader_close(reader);
	return 0;
}

/*
 * A page that is not where it was is damage that SQLite finds by itself: so most mutations are of one
 * page, and some only choose another report.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed)
{
	size_t pages = bytes / PAGE_BYTES, n;
	uint8_t *page;

	switch (pages ? rand_r(&seed) % 16 : 15) {
	case 15:
		return LLVMFuzzerMutate(data, bytes, bytes_max);
	case 14:
	case 13:
		data[bytes - 1] = (uint8_t)rand_r(&seed);
		return bytes;
	default:
		page = data + rand_r(&seed) % pages * PAGE_BYTES;
		n = LLVMFuzzerMutate(page, PAGE_BYTES, PAGE_BYTES);
		memset(page + n, 0, PAGE_BYTES - n);
		return bytes;
	}
}
