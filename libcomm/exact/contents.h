/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file of exact results has, in memory: results.c reads it, exact_slice.c gives slices of it. */
#ifndef COMM_EXACT_CONTENTS_H
#define COMM_EXACT_CONTENTS_H

#include "results.h"

struct comm_exact {
	struct comm_exact_run run;
	char *text; /* all strings, each with its NUL */
	size_t text_fill;
	struct comm_thread *thread;
	struct comm_function *function;
	uint64_t *entry; /* of each function, 0: its name is known */
	struct comm_site *site;
	struct comm_object *object;
	struct comm_code_region *region;
	struct comm_call *path;
	struct comm_exact_heap *heap;
	struct comm_exact_code *code;
	char *maps;
	size_t maps_bytes;
	const uint32_t *site_name, *object_name; /* by ids of the file; NULL: those are it */
	struct comm_exact_actor *actor;
	struct comm_exact_phase *phase;
	struct comm_exact_file_edge *edge;
	struct comm_exact_file_ages *ages; /* of each edge; NULL: not counted */
	struct comm_exact_file_write *write;
	struct comm_exact_file_instructions *executed;
	struct comm_exact_file_length *length;
	struct comm_exact_file_date *date;
	struct comm_exact_file_place *place;
	size_t n_edges, n_writes, n_executed, n_lengths, n_dates, n_places;
	bool has_dates;						/* they were counted */
	struct comm_unwritten_ends unwritten, written, lengths; /* of the slice asked for last */
	struct comm_census census;				/* likewise */
	struct comm_dates dates;				/* likewise */
	uint8_t *seen;						/* one flag per dictionary entry */
};

#endif
