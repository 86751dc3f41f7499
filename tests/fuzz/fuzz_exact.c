/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile result file of the exact source. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

/* Who was called by whom does not go round. */
static void follow(const struct comm_exact *exact, uint32_t path)
{
	for (uint32_t parent; path > COMM_CALL_OUTERMOST; path = parent) {
		const struct comm_call *call = comm_exact_path_at(exact, path);

		parent = call->parent;
		if (parent >= path || !comm_exact_function_at(exact, call->function))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void emit(void *ctx, const struct comm_edge *edge)
{
	*(double *)ctx += edge->bytes;
}

/* All that is told of a phase. */
static int slice(struct comm_exact *exact, uint32_t i, double *total)
{
	struct comm_unwritten unwritten;
	struct comm_lengths lengths;
	struct comm_written written;
	const struct comm_census *census;
	struct comm_count *count;
	size_t n_counts;
	int err = comm_exact_slice(exact, i, emit, total, &unwritten);

	if (comm_exact_slice_census(exact, i, &census) != err ||
	    comm_exact_slice_writes(exact, i, &written) != err ||
	    comm_exact_slice_lengths(exact, i, &lengths) != err ||
	    comm_exact_slice_instructions(exact, i, &count, &n_counts) != err)
		abort();
	if (err)
		return err;
	for (size_t k = 0; k < n_counts; k++)
		*total += count[k].value * comm_exact_thread_at(exact, count[k].thread - 1)->tid;
	for (size_t k = 0; k < written.n_ends; k++)
		*total += written.end[k].bytes;
	for (size_t k = 0; k < lengths.n_ends; k++)
		*total +=
			lengths.end[k].bytes + comm_exact_site_at(exact, lengths.end[k].site)->line;
	for (size_t k = 0; k < census->n; k++)
		*total += census->cell[k].bytes;
	free(count);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct comm_exact_run *run;
	uint32_t *name;
	struct comm_exact *exact;
	double total = 0;
	size_t length = 0, maps_bytes;
	const char *maps;
	char *err;

	if (comm_exact_parse(data, bytes, &exact, &err)) {
		free(err);
		return 0;
	}
	run = comm_exact_run(exact);
	length += strlen(run->command);
	for (uint32_t i = 0; i < run->n_threads; i++)
		length += strlen(comm_exact_thread_at(exact, i)->name);
	for (uint32_t i = 0; i < run->n_functions; i++)
		total += (double)comm_exact_entry_at(exact, i);
	for (uint32_t i = 0; i < run->n_functions; i++)
		length += strlen(comm_exact_function_at(exact, i)->name) +
			  strlen(comm_exact_function_at(exact, i)->module);
	for (uint32_t i = 0; i < run->n_sites; i++) {
		const struct comm_site *site = comm_exact_site_at(exact, i);

		length += strlen(comm_exact_function_at(exact, site->function)->name);
		length += site->source ? strlen(site->source) : 0;
		total += (double)comm_exact_code_at(exact, i)->ip;
		follow(exact, site->caller);
	}
	for (uint32_t i = 0; i < run->n_objects; i++)
		length += strlen(comm_exact_object_at(exact, i)->name);
	maps = comm_exact_maps(exact, &maps_bytes);
	for (size_t i = 0; maps && i < maps_bytes; i++)
		total += maps[i];
	for (uint32_t i = 0; i < run->n_phases; i++)
		length += strlen(comm_exact_phase_at(exact, i)->name);
	/* One past the last is no phase. */
	for (uint32_t i = 0; i <= run->n_phases; i++)
		if (slice(exact, i, &total) != (i < run->n_phases ? 0 : -ENOENT))
			abort();
	/* Again with other names, which all sites and objects share. */
	name = calloc(1 + (size_t)run->n_sites + run->n_objects, sizeof(*name));
	if (!name)
		abort();
	comm_exact_rename(exact, name, name);
	for (uint32_t i = 0; i < run->n_phases; i++)
		if (slice(exact, i, &total))
			abort();
	/* Strings come from the file: their sum is bounded by its size. */
	if (length > bytes + (size_t)run->n_sites * bytes)
		abort();
	comm_exact_close(exact);
	free(name);
	return 0;
}
