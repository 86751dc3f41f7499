// SPDX-License-Identifier: GPL-2.0-or-later
#include "queued_slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary.h"
#include "zeroed_array.h"

enum {
	ALIGNMENT = 16,
};

static const size_t row_bytes[COMM_QUEUED_KINDS] = {
	[COMM_QUEUED_THREADS] = sizeof(struct comm_thread),
	[COMM_QUEUED_FUNCTIONS] = sizeof(struct comm_function),
	[COMM_QUEUED_SITES] = sizeof(struct comm_site),
	[COMM_QUEUED_OBJECTS] = sizeof(struct comm_object),
	[COMM_QUEUED_REGIONS] = sizeof(struct comm_code_region),
	[COMM_QUEUED_CALLS] = sizeof(struct comm_call),
};

static uint32_t limit_of(const struct comm_naming *naming, enum comm_queued_kind kind)
{
	const uint32_t limits[COMM_QUEUED_KINDS] = {
		[COMM_QUEUED_THREADS] = naming->n_threads,
		[COMM_QUEUED_FUNCTIONS] = naming->n_functions,
		[COMM_QUEUED_SITES] = naming->n_sites,
		[COMM_QUEUED_OBJECTS] = naming->n_objects,
		[COMM_QUEUED_REGIONS] = naming->n_regions,
		[COMM_QUEUED_CALLS] = naming->n_calls,
	};

	return limits[kind];
}

static const void *row_of(const struct comm_naming *naming, enum comm_queued_kind kind, uint32_t id)
{
	switch (kind) {
	case COMM_QUEUED_THREADS:
		return naming->thread_at(naming->ctx, id);
	case COMM_QUEUED_FUNCTIONS:
		return naming->function_at(naming->ctx, id);
	case COMM_QUEUED_SITES:
		return naming->site_at(naming->ctx, id);
	case COMM_QUEUED_OBJECTS:
		return naming->object_at(naming->ctx, id);
	case COMM_QUEUED_REGIONS:
		return naming->region_at(naming->ctx, id);
	default:
		return naming->call_at(naming->ctx, id);
	}
}

static bool has(const struct comm_queued_set *set, uint32_t id)
{
	return id < set->n_index && set->index[id] < set->n && set->id[set->index[id]] == id;
}

/* Whether the id was not there before; -ENOMEM. */
static int add(struct comm_slice_packer *packer, enum comm_queued_kind kind, uint32_t id,
	       const struct comm_naming *naming)
{
	struct comm_queued_set *set = &packer->set[kind];
	int err;

	if (id >= limit_of(naming, kind) || has(set, id))
		return 0;
	err = comm_zeroed_array_reach(&set->index, &set->n_index, id, sizeof(*set->index));
	if (!err)
		err = comm_zeroed_array_reach(&set->id, &set->capacity, set->n, sizeof(*set->id));
	if (err)
		return err;
	set->index[id] = (uint32_t)set->n;
	set->id[set->n++] = id;
	return 1;
}

static int add_thread(struct comm_slice_packer *packer, const struct comm_naming *naming,
		      uint32_t id)
{
	uint32_t place = id < naming->n_threads ? id : comm_thread_place(id);
	int rc = add(packer, COMM_QUEUED_THREADS, place, naming);

	return rc < 0 ? rc : 0;
}

static int add_object(struct comm_slice_packer *packer, const struct comm_naming *naming,
		      uint32_t id)
{
	int rc = add(packer, COMM_QUEUED_OBJECTS, id, naming);

	return rc < 0 ? rc : 0;
}

/* And the regions around it, which may go round in a damaged file: then they are here already. */
static int add_region(struct comm_slice_packer *packer, const struct comm_naming *naming,
		      uint32_t id)
{
	int rc;

	while ((rc = add(packer, COMM_QUEUED_REGIONS, id, naming)) > 0)
		id = naming->region_at(naming->ctx, id)->parent;
	return rc;
}

/* And its callers; likewise. */
static int add_call(struct comm_slice_packer *packer, const struct comm_naming *naming, uint32_t id)
{
	int rc;

	while ((rc = add(packer, COMM_QUEUED_CALLS, id, naming)) > 0) {
		const struct comm_call *call = naming->call_at(naming->ctx, id);

		rc = add(packer, COMM_QUEUED_FUNCTIONS, call->function, naming);
		if (rc < 0)
			break;
		id = call->parent;
	}
	return rc;
}

static int add_site(struct comm_slice_packer *packer, const struct comm_naming *naming, uint32_t id)
{
	int rc = add(packer, COMM_QUEUED_SITES, id, naming);
	const struct comm_site *site;

	if (rc <= 0)
		return rc;
	site = naming->site_at(naming->ctx, id);
	rc = add(packer, COMM_QUEUED_FUNCTIONS, site->function, naming);
	if (rc >= 0)
		rc = add_region(packer, naming, site->region);
	return rc < 0 ? rc : add_call(packer, naming, site->caller);
}

static int add_end(struct comm_slice_packer *packer, const struct comm_naming *naming,
		   uint32_t thread, uint32_t site, uint32_t object)
{
	int err = add_thread(packer, naming, thread);

	if (!err)
		err = add_site(packer, naming, site);
	return err ? err : add_object(packer, naming, object);
}

static int add_rows(struct comm_slice_packer *packer, const struct comm_slice_info *info,
		    const struct comm_naming *naming)
{
	const struct comm_cachelines *lines = info->cachelines;
	int err = 0;

	for (size_t i = 0; i < info->n_placements && !err; i++)
		err = add_thread(packer, naming, info->placement[i].thread);
	for (size_t i = 0; i < info->n_origins && !err; i++)
		err = add_end(packer, naming, info->origin[i].thread, info->origin[i].site,
			      info->origin[i].object);
	for (size_t i = 0; i < info->unwritten.n_ends && !err; i++)
		err = add_end(packer, naming, info->unwritten.end[i].thread,
			      info->unwritten.end[i].site, info->unwritten.end[i].object);
	for (size_t i = 0; i < info->written.n_ends && !err; i++)
		err = add_end(packer, naming, info->written.end[i].thread,
			      info->written.end[i].site, info->written.end[i].object);
	for (size_t i = 0; i < info->lengths.n_ends && !err; i++)
		err = add_end(packer, naming, info->lengths.end[i].thread,
			      info->lengths.end[i].site, info->lengths.end[i].object);
	for (size_t i = 0; i < info->n_census && !err; i++)
		err = add_end(packer, naming, info->census[i].thread, info->census[i].site,
			      info->census[i].object);
	for (size_t i = 0; lines && i < lines->n_uses && !err; i++)
		err = add_end(packer, naming, lines->use[i].thread, lines->use[i].site,
			      lines->use[i].object);
	for (size_t i = 0; i < info->n_counts && !err; i++) {
		err = add_thread(packer, naming, info->count[i].thread);
		if (!err)
			err = add_region(packer, naming, info->count[i].region);
	}
	return err;
}

/* 0 stands for none. */
static uint64_t hash_of(const struct comm_thread *thread)
{
	return comm_hash_secret(thread, sizeof(*thread)) | 1;
}

static int add_changed_threads(struct comm_slice_packer *packer, const struct comm_naming *naming)
{
	int rc = naming->n_threads
			 ? comm_zeroed_array_reach(&packer->thread_hash, &packer->n_hashes,
						   naming->n_threads - 1,
						   sizeof(*packer->thread_hash))
			 : 0;

	for (uint32_t i = 0; i < naming->n_threads && rc >= 0; i++) {
		const struct comm_thread *thread = naming->thread_at(naming->ctx, i);

		if (thread && hash_of(thread) != packer->thread_hash[i])
			rc = add(packer, COMM_QUEUED_THREADS, i, naming);
	}
	return rc < 0 ? rc : 0;
}

/* Sites of slices that were packed, of which more is known since.  What is stored waits no more. */
static int add_waiting(struct comm_slice_packer *packer, const struct comm_naming *naming,
		       uint64_t stored_ns)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < packer->n_waiting; i++) {
		struct comm_queued_waiting waiting = packer->waiting[i];
		const struct comm_site *site = naming->site_at(naming->ctx, waiting.site);

		if (waiting.settled_ns && waiting.settled_ns <= stored_ns) {
			packer->is_waiting[waiting.site] = false;
			continue;
		}
		if (!err && (site->function != waiting.function ||
			     !comm_dictionary_is_pending(naming, site)))
			err = add_site(packer, naming, waiting.site);
		packer->waiting[kept++] = waiting;
	}
	packer->n_waiting = kept;
	return err;
}

static int collect(struct comm_slice_packer *packer, const struct comm_slice_info *info,
		   const struct comm_edge *edges, size_t n_edges, const struct comm_naming *naming,
		   uint64_t stored_ns)
{
	int err;

	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++)
		packer->set[kind].n = 0;
	err = add_rows(packer, info, naming);
	for (size_t i = 0; i < n_edges && !err; i++) {
		err = add_end(packer, naming, edges[i].src_thread, edges[i].src_site,
			      edges[i].object);
		if (!err)
			err = add_end(packer, naming, edges[i].dst_thread, edges[i].dst_site,
				      edges[i].object);
	}
	if (!err)
		err = add_changed_threads(packer, naming);
	return err ? err : add_waiting(packer, naming, stored_ns);
}

/* The copy at hand takes the place of what was told before. */
static int commit(struct comm_slice_packer *packer, const struct comm_naming *naming,
		  uint64_t end_ns)
{
	const struct comm_queued_set *threads = &packer->set[COMM_QUEUED_THREADS];
	const struct comm_queued_set *sites = &packer->set[COMM_QUEUED_SITES];
	int err = 0;

	for (size_t i = 0; i < packer->n_waiting; i++) {
		struct comm_queued_waiting *waiting = &packer->waiting[i];

		if (!waiting->settled_ns &&
		    !comm_dictionary_is_pending(naming,
						naming->site_at(naming->ctx, waiting->site)))
			waiting->settled_ns = end_ns;
	}
	for (size_t i = 0; i < sites->n && !err; i++) {
		const struct comm_site *site = naming->site_at(naming->ctx, sites->id[i]);

		if (!comm_dictionary_is_pending(naming, site))
			continue;
		err = comm_zeroed_array_reach(&packer->is_waiting, &packer->n_is_waiting,
					      sites->id[i], sizeof(*packer->is_waiting));
		if (!err && !packer->is_waiting[sites->id[i]])
			err = comm_zeroed_array_reach(&packer->waiting, &packer->waiting_capacity,
						      packer->n_waiting, sizeof(*packer->waiting));
		if (err || packer->is_waiting[sites->id[i]])
			continue;
		packer->waiting[packer->n_waiting++] =
			(struct comm_queued_waiting){sites->id[i], site->function, 0};
		packer->is_waiting[sites->id[i]] = true;
	}
	for (size_t i = 0; i < threads->n && !err; i++) {
		const struct comm_thread *thread = naming->thread_at(naming->ctx, threads->id[i]);

		packer->thread_hash[threads->id[i]] = thread ? hash_of(thread) : 0;
	}
	return err;
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The rows that info points to, with the place of each pointer. */
#define FOR_ARRAYS(info, lines, X)                         \
	X((info)->placement, (info)->n_placements)         \
	X((info)->origin, (info)->n_origins)               \
	X((info)->count, (info)->n_counts)                 \
	X((info)->counter, (info)->n_counters)             \
	X((info)->census, (info)->n_census)                \
	X((info)->unwritten.end, (info)->unwritten.n_ends) \
	X((info)->written.end, (info)->written.n_ends)     \
	X((info)->lengths.end, (info)->lengths.n_ends)     \
	X((lines)->line, (lines)->n_lines)                 \
	X((lines)->use, (lines)->n_uses)

#define COUNT(array, n) bytes += aligned((n) * sizeof(*(array)));

static size_t copy_bytes(const struct comm_slice_packer *packer, const struct comm_slice_info *info,
			 const struct comm_cachelines *lines, size_t n_edges)
{
	size_t bytes = aligned(sizeof(struct comm_queued_slice));

	FOR_ARRAYS(info, lines, COUNT)
	bytes += aligned(n_edges * sizeof(struct comm_edge));
	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++)
		bytes += aligned(packer->set[kind].n * sizeof(uint32_t)) +
			 aligned(packer->set[kind].n * row_bytes[kind]);
	return bytes;
}

/* Copies bytes to *at, and moves that behind them. */
static void *copy(char **at, const void *from, size_t bytes)
{
	char *to = *at;

	if (bytes)
		memcpy(to, from, bytes);
	*at += aligned(bytes);
	return to;
}

#define COPY(array, n) (array) = copy(&at, (array), (n) * sizeof(*(array)));

static void fill(struct comm_queued_slice *slice, const struct comm_slice_packer *packer,
		 const struct comm_edge *edges, const struct comm_naming *naming)
{
	char *at = (char *)slice + aligned(sizeof(*slice));

	FOR_ARRAYS(&slice->info, &slice->cachelines, COPY)
	slice->info.cachelines = &slice->cachelines;
	slice->edges = copy(&at, edges, slice->n_edges * sizeof(*edges));
	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++) {
		const struct comm_queued_set *set = &packer->set[kind];
		struct comm_queued_names *names = &slice->names[kind];
		char *row;

		names->limit = limit_of(naming, kind);
		names->n = set->n;
		names->id = copy(&at, set->id, set->n * sizeof(*set->id));
		names->row = row = at;
		for (size_t i = 0; i < set->n; i++)
			memcpy(row + i * row_bytes[kind], row_of(naming, kind, set->id[i]),
			       row_bytes[kind]);
		at += aligned(set->n * row_bytes[kind]);
	}
}

int comm_slice_pack(struct comm_slice_packer *packer, const struct comm_slice_info *info,
		    const struct comm_edge *edges, size_t n_edges, const struct comm_naming *naming,
		    uint64_t stored_ns, size_t most_bytes, struct comm_queued_slice **ret)
{
	static const struct comm_cachelines none;
	const struct comm_cachelines *lines = info->cachelines ? info->cachelines : &none;
	struct comm_queued_slice *slice;
	size_t bytes;
	int err = collect(packer, info, edges, n_edges, naming, stored_ns);

	if (err)
		return err;
	bytes = copy_bytes(packer, info, lines, n_edges);
	if (bytes > most_bytes)
		return -ENOBUFS;
	slice = malloc(bytes);
	if (!slice)
		return -ENOMEM;
	memset(slice, 0, sizeof(*slice));
	slice->info = *info;
	slice->n_edges = n_edges;
	slice->bytes = bytes;
	slice->cachelines.line = lines->line;
	slice->cachelines.n_lines = lines->n_lines;
	slice->cachelines.use = lines->use;
	slice->cachelines.n_uses = lines->n_uses;
	fill(slice, packer, edges, naming);
	err = commit(packer, naming, info->end_ns);
	if (err) {
		free(slice);
		return err;
	}
	*ret = slice;
	return 0;
}

void comm_slice_packer_deinit(struct comm_slice_packer *packer)
{
	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++) {
		free(packer->set[kind].id);
		free(packer->set[kind].index);
	}
	free(packer->thread_hash);
	free(packer->waiting);
	free(packer->is_waiting);
	memset(packer, 0, sizeof(*packer));
}

static const void *find(const void *ctx, enum comm_queued_kind kind, uint32_t id)
{
	const struct comm_slice_unpacker *unpacker = ctx;
	const struct comm_queued_names *names = &unpacker->slice->names[kind];
	uint32_t at = id < unpacker->n_index[kind] ? unpacker->index[kind][id] : UINT32_MAX;

	if (at >= names->n || names->id[at] != id)
		return NULL;
	return (const char *)names->row + at * row_bytes[kind];
}

#define FINDER(type, name, kind)                                     \
	static const struct type *name(const void *ctx, uint32_t id) \
	{                                                            \
		return find(ctx, kind, id);                          \
	}

FINDER(comm_thread, thread_at, COMM_QUEUED_THREADS)
FINDER(comm_function, function_at, COMM_QUEUED_FUNCTIONS)
FINDER(comm_site, site_at, COMM_QUEUED_SITES)
FINDER(comm_object, object_at, COMM_QUEUED_OBJECTS)
FINDER(comm_code_region, region_at, COMM_QUEUED_REGIONS)
FINDER(comm_call, call_at, COMM_QUEUED_CALLS)

int comm_slice_unpack(struct comm_slice_unpacker *unpacker, const struct comm_queued_slice *slice,
		      struct comm_naming *ret)
{
	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++) {
		const struct comm_queued_names *names = &slice->names[kind];

		for (size_t i = 0; i < names->n; i++) {
			int err = comm_zeroed_array_reach(&unpacker->index[kind],
							  &unpacker->n_index[kind], names->id[i],
							  sizeof(*unpacker->index[kind]));

			if (err)
				return err;
			unpacker->index[kind][names->id[i]] = (uint32_t)i;
		}
	}
	unpacker->slice = slice;
	*ret = (struct comm_naming){
		.ctx = unpacker,
		.n_threads = slice->names[COMM_QUEUED_THREADS].limit,
		.n_functions = slice->names[COMM_QUEUED_FUNCTIONS].limit,
		.n_sites = slice->names[COMM_QUEUED_SITES].limit,
		.n_objects = slice->names[COMM_QUEUED_OBJECTS].limit,
		.n_regions = slice->names[COMM_QUEUED_REGIONS].limit,
		.n_calls = slice->names[COMM_QUEUED_CALLS].limit,
		.thread_at = thread_at,
		.function_at = function_at,
		.site_at = site_at,
		.object_at = object_at,
		.region_at = region_at,
		.call_at = call_at,
	};
	return 0;
}

void comm_slice_unpacker_deinit(struct comm_slice_unpacker *unpacker)
{
	for (int kind = 0; kind < COMM_QUEUED_KINDS; kind++)
		free(unpacker->index[kind]);
	memset(unpacker, 0, sizeof(*unpacker));
}
