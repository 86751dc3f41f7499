/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process_lru.h"

enum {
	REREAD_NS = 50 * 1000 * 1000,
	/*
	 * A mapping costs 1 to 1.5 us to read: a process with 60,000 of them must
	 * not cost the whole budget.
	 */
	REREAD_PER_MAPPING_NS = 150 * 1000,
	/* A wild address is never in a mapping: each such miss doubles the wait to reread. */
	MISS_SHIFT_MAX = 5,
	SPACES_KEPT = 16384,
	MAPPINGS_KEPT = 1 << 17, /* of all spaces: 8 MiB */
};

struct comm_space {
	struct comm_process_lru_entry lru;
	struct comm_space_table *table;
	uint32_t generation;
	bool asked;	/* mappings were read once at least */
	bool changed;	/* an event changed the mappings since */
	bool reads;	/* they are being read, and */
	bool again;	/* an event changed them meanwhile */
	uint8_t misses; /* in a row that reading the mappings anew did not cure */
	uint64_t asked_ns;
	struct comm_mapping *map;
	size_t n, last; /* last: index of the mapping found last */
};

struct comm_space_table {
	const struct comm_inspect *inspect;
	/* Counted for all spaces, so that a reused tgid gets a generation never used before. */
	uint32_t generation;
	size_t n_mappings;
	struct comm_process_lru spaces;
};

static void forget_mappings(struct comm_space_table *table, struct comm_space *space)
{
	table->n_mappings -= space->n;
	free(space->map);
	space->map = NULL;
	space->n = 0;
	space->asked = false;
}

static void forget_space(void *ctx, struct comm_process_lru_entry *kept)
{
	forget_mappings(ctx, (struct comm_space *)kept);
}

int comm_space_table_create(const struct comm_inspect *inspect, struct comm_space_table **ret)
{
	struct comm_space_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->inspect = inspect;
	comm_process_lru_init(&table->spaces, 0, sizeof(struct comm_space), forget_space, table);
	*ret = table;
	return 0;
}

void comm_space_table_destroy(struct comm_space_table *table)
{
	if (!table)
		return;
	comm_process_lru_deinit(&table->spaces);
	free(table);
}

struct comm_space *comm_space_get(struct comm_space_table *table, uint32_t tgid)
{
	struct comm_space *s = comm_process_lru_get(&table->spaces, tgid);

	if (s && !s->table) {
		s->table = table;
		s->generation = ++table->generation;
	}
	return s;
}

/* The mappings of the processes that were asked for least recently are read again when needed. */
static void evict(struct comm_space_table *table, const struct comm_space *keep)
{
	for (struct comm_process_lru_entry *kept = table->spaces.oldest;
	     kept && table->n_mappings > MAPPINGS_KEPT; kept = kept->newer)
		if ((struct comm_space *)kept != keep && ((struct comm_space *)kept)->n)
			forget_mappings(table, (struct comm_space *)kept);
}

static bool same(const struct comm_mapping *a, const struct comm_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->dev == b->dev && a->ino == b->ino && a->readable == b->readable &&
	       a->writable == b->writable && a->executable == b->executable &&
	       a->shared == b->shared && a->kind == b->kind && a->file == b->file;
}

/* False: they are still being read, and those from before stay. */
static bool reread(struct comm_space *space, uint64_t now_ns)
{
	const struct comm_inspect *inspect = space->table->inspect;
	const struct comm_mapping *map;
	struct comm_mapping *copy;
	size_t n, i;
	int err = inspect->ops->maps(inspect->ctx, space->lru.tgid, &map, &n);

	if (err == -EINPROGRESS) {
		space->again &= space->reads;
		space->reads = true;
		return false;
	}
	space->asked = true;
	space->changed =
		(space->reads && space->again) || err == -EAGAIN || err == -ETIME || err == -ECHILD;
	space->reads = false;
	space->asked_ns = now_ns;
	/*
	 * A process that has ended keeps its last mappings: samples of its last
	 * moments may still be on their way.
	 */
	if (err < 0)
		return true;
	for (i = 0; i < n && i < space->n && same(&map[i], &space->map[i]); i++)
		;
	if (i == n && n == space->n)
		return true;
	copy = calloc(n ? n : 1, sizeof(*copy));
	if (!copy)
		return true;
	if (n)
		memcpy(copy, map, n * sizeof(*copy));
	free(space->map);
	space->table->n_mappings += n - space->n;
	space->map = copy;
	space->n = n;
	space->last = 0;
	space->generation = ++space->table->generation;
	evict(space->table, space);
	return true;
}

static bool may_reread(const struct comm_space *space, uint64_t now_ns, unsigned int shift)
{
	const struct comm_inspect_ops *ops = space->table->inspect->ops;
	uint64_t wait_ns = (REREAD_NS + space->n * REREAD_PER_MAPPING_NS) << shift;

	if (ops->maps_at_once)
		return !space->asked || space->changed;
	return !space->asked || (now_ns > space->asked_ns && now_ns - space->asked_ns >= wait_ns);
}

static const struct comm_mapping *search(struct comm_space *space, uint64_t addr)
{
	size_t lo = 0, hi = space->n;

	if (space->last < space->n && addr >= space->map[space->last].start &&
	    addr < space->map[space->last].end)
		return &space->map[space->last];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < space->map[mid].end)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == space->n || addr < space->map[lo].start)
		return NULL;
	space->last = lo;
	return &space->map[lo];
}

bool comm_space_is_shared(const struct comm_space_table *table, uint32_t tgid, uint64_t addr)
{
	struct comm_space *space = comm_process_lru_known(&table->spaces, tgid);
	const struct comm_mapping *m = space ? search(space, addr) : NULL;

	return !m || m->shared;
}

bool comm_space_has_file(const struct comm_space_table *table, uint32_t tgid, const char *base)
{
	const struct comm_space *space = comm_process_lru_known(&table->spaces, tgid);

	for (size_t i = 0; space && i < space->n; i++) {
		const char *slash = strrchr(space->map[i].path, '/');

		if (slash && !strncmp(slash + 1, base, strlen(base)))
			return true;
	}
	return false;
}

bool comm_space_is_file(struct comm_space *space, uint64_t addr)
{
	const struct comm_mapping *m = search(space, addr);

	return !m || (m->file && !m->shared);
}

bool comm_space_is_constant(struct comm_space *space, uint64_t addr)
{
	const struct comm_mapping *m = search(space, addr);

	return m && !m->writable && !m->shared &&
	       (m->kind == COMM_MAP_FILE || m->kind == COMM_MAP_VDSO);
}

const struct comm_mapping *comm_space_find(struct comm_space *space, uint64_t addr, uint64_t now_ns)
{
	const struct comm_mapping *m;

	if (!space->asked || space->changed) {
		if (!may_reread(space, now_ns, 0) || !reread(space, now_ns))
			/* The mapping may be out of date: a new generation keeps caches off it. */
			space->generation = ++space->table->generation;
	}
	m = search(space, addr);
	if (!m && may_reread(space, now_ns, space->misses) && reread(space, now_ns)) {
		m = search(space, addr);
		if (m)
			space->misses = 0;
		else if (space->misses < MISS_SHIFT_MAX)
			space->misses++;
	}
	return m;
}

uint32_t comm_space_generation(const struct comm_space *space)
{
	return space->generation;
}

uint32_t comm_space_tgid(const struct comm_space *space)
{
	return space->lru.tgid;
}

void comm_space_changed(struct comm_space_table *table, uint32_t tgid)
{
	struct comm_space *s = comm_process_lru_known(&table->spaces, tgid);

	if (s) {
		/* Invalidates caches of mappings: one that still hits would never ask again. */
		s->generation = ++table->generation;
		s->changed = true;
		s->again = true;
		s->misses = 0;
	}
}

void comm_space_drop(struct comm_space_table *table, uint32_t tgid)
{
	comm_process_lru_drop(&table->spaces, tgid);
}

bool comm_space_crowded(const struct comm_space_table *table, uint32_t *ret_tgid)
{
	if (table->spaces.n <= SPACES_KEPT)
		return false;
	*ret_tgid = table->spaces.oldest->tgid;
	return true;
}
