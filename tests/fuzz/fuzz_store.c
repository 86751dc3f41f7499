// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile store, through the library that reads it: its runs, and a report.  Behind the store's pages stand the
 * ASK_BYTES of struct asked, which say what report.
 */
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

enum { PAGE_BYTES = 512 /* of the corpus's stores (stores.sh) */, ASK_BYTES = 4 };

/* The last two are flags, bit by bit, as are the upper three bits of and_by; stores.sh writes them. */
struct asked {
	uint8_t by, and_by, flags, filters;
};

enum { AND_BY = 0x1f, ASK_RUN = 0x20, ASK_AGAIN = 0x40, ASK_LABEL = 0x80 };

_Static_assert(sizeof(struct asked) == ASK_BYTES, "bytes behind the store");

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

/* A share, an interval's end, a sum: no number is none. */
static void check(double value)
{
	if (isnan(value) || value < 0)
		abort();
}

static const struct comm_node *node_at(const struct comm_report *report, size_t i)
{
	const struct comm_node *node = comm_report_node_at(report, i);

	if (!node || !node->id[0] || !node->key || !(node->unwritten_bytes >= 0))
		abort();
	for (size_t k = 0; k < node->n_parts; k++)
		if (!node->parts[k]->id[0])
			abort();
	return node;
}

static void look_at_edges(const struct comm_report *report)
{
	struct comm_interval *interval = calloc(report->n_edges + 1, sizeof(*interval));

	if (!interval)
		abort();
	comm_report_intervals(report, 0.5, interval);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		node_at(report, e->from);
		node_at(report, e->to);
		check(e->bytes);
		check(interval[i].low);
		if (e->low > e->bytes || e->high < e->bytes)
			abort();
		for (size_t k = 0; k < e->n_origins; k++)
			check(comm_report_origin_at(report, e->first_origin + k)->share);
	}
	if (comm_report_edge_at(report, report->n_edges))
		abort();
	free(interval);
}

static void look_at_lines(const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_cachelines; i++) {
		const struct comm_report_cacheline *line = comm_report_cacheline_at(report, i);

		check(line->contended);
		for (size_t k = 0; k < line->n_uses; k++) {
			const struct comm_report_cacheline_use *use =
				comm_report_cacheline_use_at(report, line->first_use + k);

			if (!use->thread->id[0] || !use->place || use->byte >= 64)
				abort();
		}
	}
}

/* A length that is not known is less than 0, and one that is has a unit. */
static void look_at_length(const struct comm_report *report, const struct comm_report_total *total)
{
	if (isnan(total->length) || isnan(total->all_length))
		abort();
	if (total->length >= 0 && total->all_length < total->length)
		abort();
	if (!report->length_unit && (total->length >= 0 || total->all_length >= 0))
		abort();
}

static void look_at_nodes(const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_nodes; i++)
		node_at(report, i);
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		check(total->written.bytes);
		check(total->all_read.bytes);
		look_at_length(report, total);
		/* Those within a node follow it. */
		if (total->around != SIZE_MAX && total->around >= i)
			abort();
	}
	for (size_t i = 0; i < report->n_counts; i++)
		if (!comm_report_count_at(report, i)->counter)
			abort();
	for (size_t i = 0; i < report->n_census; i++) {
		const struct comm_report_census *census = comm_report_census_at(report, i);

		if (census->node != SIZE_MAX)
			node_at(report, census->node);
		check(census->share_low);
	}
}

static void look_at(const struct comm_report *report)
{
	look_at_edges(report);
	look_at_nodes(report);
	look_at_lines(report);
	for (size_t i = 0; i < report->n_slices; i++)
		if (comm_report_slice_at(report, i)->end_ns <
		    comm_report_slice_at(report, i)->start_ns)
			abort();
	for (size_t i = 0; i < report->n_losses; i++)
		if (!comm_report_loss_at(report, i)->help)
			abort();
	for (size_t i = 0; i < report->n_places; i++)
		if (!comm_report_place_at(report, i)->name)
			abort();
	for (size_t i = 0; comm_report_part_at(report, i); i++)
		check(comm_report_part_at(report, i)->bytes);
}

static void ask_for(const struct asked *asked, struct comm_query *query)
{
	query->run = asked->and_by & ASK_RUN ? 9 : 0;
	query->label = asked->and_by & ASK_LABEL ? "nightly" : NULL;
	query->self = asked->flags & 1;
	query->first_read = asked->flags >> 1 & 1;
	query->across = asked->flags >> 2 & 1;
	query->fresh = asked->flags >> 3 & 1;
	query->census = asked->flags >> 4 & 1;
	query->totals = query->unwritten = asked->flags >> 5 & 1;
	query->objects = asked->flags >> 6 & 1;
	query->resolved = asked->flags >> 7;
	query->places = asked->filters & 1;
	query->counts = asked->filters >> 1 & 1;
	query->cachelines = asked->filters >> 2 & 1;
	if (asked->filters & 1 << 3) {
		query->from_ns = 500000000;
		query->to_ns = -100000000;
	}
	query->thread = asked->filters & 1 << 4 ? "*io*" : NULL;
	query->writer = asked->filters & 1 << 5 ? "4242" : NULL;
	query->function = asked->filters & 1 << 6 ? "*e*" : NULL;
	query->object = asked->filters & 1 << 6 ? "*" : NULL;
	if (asked->filters & 1 << 7) {
		query->min_share = 0.01;
		query->top = 3;
		query->min_bytes = 1;
		query->confidence = 0.99;
	}
}

static void report(struct comm_reader *reader, const struct asked *asked)
{
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_report *ret = NULL;
	char *err = NULL, by[100];
	size_t n = 0, and_by = asked->and_by & AND_BY;

	while (comm_groupings()[n])
		n++;
	snprintf(by, sizeof(by), and_by ? "%s,%s" : "%s", comm_groupings()[asked->by % n]->name,
		 comm_groupings()[and_by % n]->name);
	query.by = by;
	ask_for(asked, &query);
	/* From the third report on a reader has what it read before. */
	for (int i = 0; i < (asked->and_by & ASK_AGAIN ? 3 : 1); i++) {
		ret = NULL;
		if (comm_reader_report(reader, &query, &ret, &err) == 0)
			look_at(ret);
		comm_report_free(ret);
		free(err);
	}
}

static void look_at_runs(struct comm_reader *reader)
{
	struct comm_runs *runs = NULL;
	uint64_t end_ns, changes;
	char *err = NULL;
	int64_t run;

	if (comm_reader_runs(reader, &runs, &err) == 0)
		for (size_t i = 0; i < comm_runs_count(runs); i++)
			if (!comm_runs_at(runs, i)->source)
				abort();
	comm_runs_free(runs);
	free(err);
	err = NULL;
	if (!comm_reader_bytes(reader))
		abort();
	(void)comm_reader_newest(reader, &run, &end_ns, &changes, &err);
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
	struct asked asked;
	char *err = NULL;

	if (bytes < ASK_BYTES)
		return 0;
	bytes -= ASK_BYTES;
	memcpy(&asked, data + bytes, ASK_BYTES);
	write_file(data, bytes);
	if (comm_reader_open(path, &reader, &err)) {
		free(err);
		return 0;
	}
	look_at_runs(reader);
	/* One of them each time, as a report takes a while. */
	report(reader, &asked);
	comm_reader_close(reader);
	return 0;
}

/*
 * A page that is not where it was is damage that SQLite finds by itself: so most mutations are of one
 * page, and some only choose another report.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed)
{
	size_t pages = bytes < ASK_BYTES ? 0 : (bytes - ASK_BYTES) / PAGE_BYTES, n;
	uint8_t *page;

	switch (pages ? rand_r(&seed) % 16 : 15) {
	case 15:
		return LLVMFuzzerMutate(data, bytes, bytes_max);
	case 14:
	case 13:
		data[bytes - 1 - (size_t)rand_r(&seed) % ASK_BYTES] = (uint8_t)rand_r(&seed);
		return bytes;
	default:
		page = data + rand_r(&seed) % pages * PAGE_BYTES;
		n = LLVMFuzzerMutate(page, PAGE_BYTES, PAGE_BYTES);
		memset(page + n, 0, PAGE_BYTES - n);
		return bytes;
	}
}
