/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the result file of the exact source (exact/format.h) whole.  The file
 * is hostile input: every length is checked, every id resolves, strings are
 * printable, and memory stays within a small multiple of the file's size.
 *
 * Ids are those of the file, and they are shaped as ids.h says:
 * site 0 is "(other)", site 1 "[kernel]", object 0 "(other)".  Threads count
 * from 0 in the file; slices (comm_exact_slice()) give them as thread + 1,
 * where 0 is "(other)".
 */
#ifndef COMM_RESULTS_H
#define COMM_RESULTS_H

#include <stddef.h>

#include "census.h"
#include "count.h"
#include "dated.h"
#include "edge.h"
#include "format.h"
#include "naming.h"
#include "placement.h"
#include "unwritten.h"

struct comm_exact;

struct comm_exact_run {
	const char *command;
	const char *linked_file,
		*link; /* the program's file and by which link it was started; or NULL */
	uint32_t pid;
	uint32_t granularity_bytes;
	uint64_t start_ns, start_unix_ns; /* CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t wall_ns;
	uint64_t clock_ns; /* as long was the run by the clock of ages; 0: there are none */
	uint64_t
		uncut_ns; /* CLOCK_MONOTONIC from which on the last slice takes the rest, for want of memory; 0: all were cut */
	uint64_t forgotten_bytes; /* in pipes and sockets, whose writers there was no room for */
	uint64_t accesses, instructions;
	uint64_t n_frames; /* that began */
	uint64_t n_calls,
		n_later_calls; /* that have regions of their own, and others of these functions */
	uint32_t n_threads, n_functions, n_sites, n_objects, n_regions, n_paths, n_actors, n_phases;
};

struct comm_exact_actor {
	uint32_t thread, site;
};

/* Where a site is; addresses of the program as comm_exact_maps() has it.  ip 0: its names are known. */
struct comm_exact_code {
	uint64_t ip;
	uint64_t
		reads; /* the first instruction from there on that reads memory is the site's; 0: none is */
	uint32_t access_bytes; /* of each access; 0: not known */
};

struct comm_exact_heap {
	uint64_t blocks, bytes; /* allocated at this site over the run */
};

struct comm_exact_phase {
	const char *name; /* "" when none */
	uint64_t start_ns, end_ns;
	uint64_t start_instruction, end_instruction;
	const struct comm_exact_file_edge
		*edge; /* between actors; src 0: never seen to be written */
	const struct comm_exact_file_ages *ages; /* of each edge; NULL: they were not counted */
	size_t n_edges;
	const struct comm_exact_file_write *write; /* n_writes 0: nobody counted them */
	size_t n_writes;
	const struct comm_exact_file_instructions *executed; /* n_executed 0: nobody counted them */
	size_t n_executed;
	const struct comm_exact_file_length *length; /* n_lengths 0: nobody counted them */
	size_t n_lengths;
	const struct comm_exact_file_date *date;
	size_t n_dates;
	const struct comm_exact_file_place *place;
	size_t n_places;
};

/* Counters that slices have, by the indexes that counts and lengths name them by. */
enum comm_exact_counter {
	COMM_EXACT_COUNTED_INSTRUCTIONS,
	COMM_EXACT_COUNTED_FRAMES,
	COMM_EXACT_COUNTED_ACCESSES,
	COMM_EXACT_COUNTERS,
};

/*
 * On failure *err (malloc'ed, caller frees) is a sentence for the user.
 * -EMEDIUMTYPE: not such a file; -EPROTO: made by a newer version; -EBADMSG:
 * corrupt; -ENODATA: cut off, the program was killed; -EFBIG: too large.
 */
int comm_exact_open(const char *path, struct comm_exact **ret, char **err);
/* The same for a file in memory, which is copied. */
int comm_exact_parse(const void *data, size_t bytes, struct comm_exact **ret, char **err);
void comm_exact_close(struct comm_exact *exact);

const struct comm_exact_run *comm_exact_run(const struct comm_exact *exact);
/* Each returns NULL for an unknown id.  All strings live until comm_exact_close(). */
const struct comm_thread *comm_exact_thread_at(const struct comm_exact *exact, uint32_t id);
const struct comm_function *comm_exact_function_at(const struct comm_exact *exact, uint32_t id);
/* Where the function is, as comm_exact_code has it; 0: its name is known.  The id is one. */
uint64_t comm_exact_entry_at(const struct comm_exact *exact, uint32_t id);
const struct comm_site *comm_exact_site_at(const struct comm_exact *exact, uint32_t id);
const struct comm_object *comm_exact_object_at(const struct comm_exact *exact, uint32_t id);
const struct comm_code_region *comm_exact_code_region_at(const struct comm_exact *exact,
							 uint32_t id);
const struct comm_call *comm_exact_path_at(const struct comm_exact *exact, uint32_t id);
const struct comm_exact_heap *comm_exact_heap_at(const struct comm_exact *exact, uint32_t id);
const struct comm_exact_actor *comm_exact_actor_at(const struct comm_exact *exact, uint32_t id);
const struct comm_exact_phase *comm_exact_phase_at(const struct comm_exact *exact, uint32_t i);
const struct comm_exact_code *comm_exact_code_at(const struct comm_exact *exact, uint32_t site);
/* As in /proc/PID/maps, any bytes; NULL: the file has none. */
const char *comm_exact_maps(const struct comm_exact *exact, size_t *ret_bytes);

/*
 * From now on slices name these sites and objects: site[i] in place of site i of the file,
 * likewise objects.  Both arrays stay the caller's, and live until comm_exact_close().
 */
void comm_exact_rename(struct comm_exact *exact, const uint32_t *site, const uint32_t *object);

/*
 * Emits a phase as an estimator emits a slice: each edge once, variance 0,
 * ordered by key; watched_bytes are those that were written less than ten seconds before.  What *ret_unwritten points to is valid until the next call.
 * -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice(struct comm_exact *exact, uint32_t phase, comm_edge_fn *emit, void *ctx,
		     struct comm_unwritten *ret_unwritten);
/*
 * What each thread executed in a phase: *ret (malloc'ed, caller frees) has ret_n counts of instructions, each
 * thread once, by the threads of slices, and room for one more.  -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice_instructions(const struct comm_exact *exact, uint32_t phase,
				  struct comm_count **ret, size_t *ret_n);
/*
 * What was read in a phase by how long before it was written, as a census that looked at each byte: changed
 * at a lag is written less than that before.  Empty: there are no ages.  Valid until the
 * next call.  -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice_census(struct comm_exact *exact, uint32_t phase,
			    const struct comm_census **ret);
/*
 * When the bytes of a phase's edges were written: the time of each phase is at_ns of its index, the middle of the slice that it
 * is stored as.  Sorted; empty where that was not counted.  Valid until the next call.  -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice_dates(struct comm_exact *exact, uint32_t phase, const uint64_t *at_ns,
			   const struct comm_dates **ret);
/*
 * Where the threads of slices ran in a phase: *ret (malloc'ed, caller frees) has ret_n places, each thread once.
 * -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice_places(const struct comm_exact *exact, uint32_t phase,
			    struct comm_placement **ret, size_t *ret_n);
/* What was written in a phase; valid until the next call.  -ENOENT: no such phase; -ENOMEM. */
int comm_exact_slice_writes(struct comm_exact *exact, uint32_t phase, struct comm_written *ret);
/*
 * How long code was in a phase, by an enum comm_exact_counter: its instructions where these were counted, else its
 * accesses, as far as it is known of how many bytes one is.  Valid until the next call.  -ENOENT: no such phase; -ENOMEM.
 */
int comm_exact_slice_lengths(struct comm_exact *exact, uint32_t phase, struct comm_lengths *ret);

#endif
