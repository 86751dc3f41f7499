/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a result file of the exact source: one line per edge, by
 *	threads | functions | lines | objects | calls | ages | instructions | lengths
 * as "phase from to [object] bytes first_bytes", tab separated; from and to
 * begin with "tid:".  By ages it is as by functions, with the bytes that were written less than 10 ms, 1 s
 * and 10 s before, in place of these two.  Of instructions there is a line per thread, "phase tid:name count", and one of all as
 * "phase - count".  For tests and for looking at one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

enum by { THREADS, FUNCTIONS, LINES, OBJECTS, CALLS, AGES, INSTRUCTIONS, LENGTHS };

struct line {
	char *key;
	uint64_t bytes, first_bytes;
	uint64_t age[COMM_EXACT_AGES_MAX];
};

static void name_actor(const struct comm_exact *exact, enum by by, uint32_t id, char *out,
		       size_t bytes)
{
	const struct comm_exact_actor *actor = comm_exact_actor_at(exact, id);
	const struct comm_site *site;
	const struct comm_function *function;
	uint32_t tid;

	if (!id) {
		snprintf(out, bytes, "-");
		return;
	}
	tid = comm_exact_thread_at(exact, actor->thread)->tid;
	site = comm_exact_site_at(exact, actor->site);
	function = comm_exact_function_at(exact, site->function);
	switch (by) {
	case THREADS:
	case OBJECTS:
		snprintf(out, bytes, "%" PRIu32 ":%s", tid,
			 comm_exact_thread_at(exact, actor->thread)->name);
		break;
	case FUNCTIONS:
	case AGES:
	case INSTRUCTIONS:
	case LENGTHS:
		snprintf(out, bytes, "%" PRIu32 ":%s", tid, function->name);
		break;
	case LINES:
		snprintf(out, bytes, "%" PRIu32 ":%s:%s:%" PRIu32, tid, function->name,
			 site->source ? site->source : "?", site->line);
		break;
	case CALLS:
		snprintf(out, bytes, "%" PRIu32 ":%s in %s", tid, function->name,
			 site->region ? comm_exact_code_region_at(exact, site->region)->name : "");
		break;
	}
}

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->key, ((const struct line *)right)->key);
}

static void dump_phase(const struct comm_exact *exact, enum by by, uint32_t index)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	struct line *line = calloc(phase->n_edges + 1, sizeof(*line));
	char from[512], to[512];
	size_t i, next;

	if (!line)
		exit(1);
	for (i = 0; i < phase->n_edges; i++) {
		const struct comm_exact_file_edge *e = &phase->edge[i];

		name_actor(exact, by, e->src, from, sizeof(from));
		name_actor(exact, by, e->dst, to, sizeof(to));
		line[i].bytes = e->bytes;
		line[i].first_bytes = e->first_bytes;
		for (int k = 0; phase->ages && k < COMM_EXACT_AGES_MAX; k++)
			line[i].age[k] = phase->ages[i].bytes[k];
		if (asprintf(&line[i].key, "%" PRIu32 "%s%s\t%s\t%s%s%s", index,
			     *phase->name ? "=" : "", phase->name, from, to,
			     by == OBJECTS ? "\t" : "",
			     by == OBJECTS ? comm_exact_object_at(exact, e->object)->name : "") < 0)
			exit(1);
	}
	qsort(line, phase->n_edges, sizeof(*line), compare);
	for (i = 0; i < phase->n_edges; i = next) {
		for (next = i + 1; next < phase->n_edges && !compare(&line[i], &line[next]);
		     next++) {
			line[i].bytes += line[next].bytes;
			line[i].first_bytes += line[next].first_bytes;
			for (int k = 0; k < COMM_EXACT_AGES_MAX; k++)
				line[i].age[k] += line[next].age[k];
		}
		if (by == AGES)
			printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", line[i].key,
			       line[i].age[0], line[i].age[1], line[i].age[2]);
		else
			printf("%s\t%" PRIu64 "\t%" PRIu64 "\n", line[i].key, line[i].bytes,
			       line[i].first_bytes);
	}
	for (i = 0; i < phase->n_edges; i++)
		free(line[i].key);
	free(line);
}

static void dump_instructions(const struct comm_exact *exact, uint32_t index)
{
	const struct comm_exact_phase *phase = comm_exact_phase_at(exact, index);
	struct comm_count *count;
	size_t n;

	printf("%" PRIu32 "\t-\t%" PRIu64 "\n", index,
	       phase->end_instruction - phase->start_instruction);
	if (comm_exact_slice_instructions(exact, index, &count, &n))
		exit(1);
	for (size_t i = 0; i < n; i++) {
		const struct comm_thread *thread = comm_exact_thread_at(exact, count[i].thread - 1);

		printf("%" PRIu32 "\t%" PRIu32 ":%s\t%.0f\n", index, thread->tid, thread->name,
		       count[i].value);
	}
	free(count);
}

static void dump_lengths(struct comm_exact *exact, uint32_t index)
{
	struct comm_lengths lengths;

	if (comm_exact_slice_lengths(exact, index, &lengths))
		exit(1);
	for (size_t i = 0; i < lengths.n_ends; i++) {
		const struct comm_unwritten_end *end = &lengths.end[i];
		const struct comm_thread *thread = comm_exact_thread_at(exact, end->thread - 1);
		const struct comm_site *site = comm_exact_site_at(exact, end->site);

		printf("%" PRIu32 "\t%" PRIu32 ":%s\t%s\t%.0f\n", index, thread->tid, thread->name,
		       comm_exact_function_at(exact, site->function)->name, end->bytes);
	}
}

static void dump(struct comm_exact *exact, enum by by, uint32_t index)
{
	if (by == INSTRUCTIONS)
		dump_instructions(exact, index);
	else if (by == LENGTHS)
		dump_lengths(exact, index);
	else
		dump_phase(exact, by, index);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"threads", "functions", "lines",	    "objects",
					    "calls",   "ages",	    "instructions", "lengths"};
	struct comm_exact *exact;
	char *err;
	enum by by = THREADS;

	if (argc < 2 || argc > 3) {
		fprintf(stderr,
			"usage: exact_dump FILE "
			"[threads|functions|lines|objects|calls|ages|instructions|lengths]\n");
		return 2;
	}
	while (argc == 3 && by <= LENGTHS && strcmp(argv[2], names[by]))
		by++;
	if (by > LENGTHS) {
		fprintf(stderr, "exact_dump: no such view: %s\n", argv[2]);
		return 2;
	}
	if (comm_exact_open(argv[1], &exact, &err)) {
		fprintf(stderr, "exact_dump: %s\n", err ? err : "failed");
		free(err);
		return 1;
	}
	for (uint32_t i = 0; i < comm_exact_run(exact)->n_phases; i++)
		dump(exact, by, i);
	comm_exact_close(exact);
	return 0;
}
