/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dictionaries: puts the names behind a run's ids into the store, once, and
 * turns the run's site ids into the store's contexts, which all runs share.
 * Used by store.c and stored_slice.c alone, inside store.c's transactions.
 */
#ifndef COMM_DICTIONARY_H
#define COMM_DICTIONARY_H

#include <sqlite3.h>

#include "store.h"

struct comm_dictionary_object {
	/* As stored last; name is only compared as a pointer, never read. */
	const char *name;
	uint64_t start, size_bytes;
};

struct comm_dictionary_thread {
	struct comm_thread thread; /* as heard of last */
	bool is_known, is_stored;
};

struct comm_dictionary_own {
	uint32_t site;
	uint32_t function; /* of the run, as told last */
	bool told;	   /* all of it, in the transaction at hand or a later one */
};

struct comm_dictionary {
	sqlite3 *db;
	int64_t run;
	sqlite3_stmt *put_thread, *put_object;
	sqlite3_stmt *put_function, *get_function, *put_site, *get_site;
	sqlite3_stmt *put_context, *get_context, *put_region, *get_region, *put_type, *get_type;
	sqlite3_stmt *put_call, *get_call, *get_own_context, *tell_own_context;
	sqlite3_stmt *put_counter, *get_counter;
	/* Store's ids, indexed by the run's ids; 0 in all but thread and object: not stored yet. */
	struct comm_dictionary_thread *thread;
	uint32_t *context, *function, *region, *call; /* context: by site */
	uint32_t counter[COMM_COUNTERS_MAX];
	struct comm_dictionary_object *object;
	size_t n_threads, n_contexts, n_functions, n_regions, n_calls, n_objects;
	/* Sites whose contexts are rows of their own, to be told what they are. */
	struct comm_dictionary_own *own;
	bool *is_own; /* by site: it is listed in own */
	size_t n_own, own_capacity, n_is_own;
};

int comm_dictionary_init(struct comm_dictionary *dict, sqlite3 *db);
void comm_dictionary_deinit(struct comm_dictionary *dict);
void comm_dictionary_begin(struct comm_dictionary *dict, int64_t run);
/* A transaction was rolled back: forgets which entries are stored. */
void comm_dictionary_forget(struct comm_dictionary *dict);

/*
 * Takes note of threads, to be stored with the next slice that can be.  naming may have those alone that are new
 * or have changed, and gives NULL for the others.
 */
int comm_dictionary_note(struct comm_dictionary *dict, const struct comm_naming *naming);
/* Stores the threads that are new or have changed. */
int comm_dictionary_threads(struct comm_dictionary *dict, const struct comm_naming *naming);
/* Whether more may become known of a site, so that its contexts are told later. */
bool comm_dictionary_is_pending(const struct comm_naming *naming, const struct comm_site *site);
/*
 * Tells contexts of earlier slices what has become known of their code since.  naming may be without the sites
 * of which nothing has.
 */
int comm_dictionary_settle(struct comm_dictionary *dict, const struct comm_naming *naming);
/*
 * The store's id of the context that a site of the run is, with its region, type and
 * caller.
 * Here and below: ids out of range become COMM_ID_OTHER.
 */
int comm_dictionary_context(struct comm_dictionary *dict, const struct comm_naming *naming,
			    uint32_t site, uint32_t *ret);
int comm_dictionary_object(struct comm_dictionary *dict, const struct comm_naming *naming,
			   uint32_t object, uint32_t *ret);
int comm_dictionary_region(struct comm_dictionary *dict, const struct comm_naming *naming,
			   uint32_t region, uint32_t *ret);
/* The store's id of the counter of that name, which has index < COMM_COUNTERS_MAX in the run. */
int comm_dictionary_counter(struct comm_dictionary *dict, uint32_t index, const char *name,
			    uint32_t *ret);

#endif
