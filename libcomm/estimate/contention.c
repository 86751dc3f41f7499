// SPDX-License-Identifier: GPL-2.0-or-later
#include "contention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "hash.h"
#include "ids.h"
#include "weight.h"

enum {
	WAYS = 8,
	SETS = COMM_CONTENTION_LINES / WAYS,
	SEEN_BITS = 14,
	SEEN = 1 << SEEN_BITS, /* lines whose last thread is remembered */
	/* Lines of one long access, a kernel's copy, that are looked at: a page. */
	LONG_LINES = 64,
	/* With fewer turns a line has not been met often enough to tell anything. */
	TURNS_MIN = 2,
};

struct last_use {
	uint64_t line; /* datum / 64 + 1; 0: none */
	uint32_t thread;
	bool wrote;
};

struct use {
	uint32_t thread, site, object;
	uint8_t first, size_bytes;
	bool write;
	uint32_t bursts;
	uint64_t burst; /* the last one */
	double accesses;
};

struct tracked {
	uint32_t count; /* of turns, by which it is kept */
	uint32_t turns_ever;
	/* The burst at hand, or the last, and the one before it. */
	uint64_t burst;
	uint32_t thread, before;
	bool wrote, before_wrote, turned;
	uint32_t bursts, turns; /* since the last take() */
	uint8_t n_uses;
	struct use use[COMM_CONTENTION_USES];
};

struct comm_contention {
	struct comm_weights *weights;
	uint64_t burst; /* number of the burst at hand */
	struct last_use seen[SEEN];
	uint64_t line[COMM_CONTENTION_LINES]; /* as in seen, apart so that a set is a line itself */
	struct tracked tracked[COMM_CONTENTION_LINES]; /* 1.6 MB, untouched without a line */
};

int comm_contention_create(double cycles_per_ns, struct comm_contention **ret)
{
	struct comm_contention *contention = calloc(1, sizeof(*contention));
	int err;

	if (!contention)
		return -ENOMEM;
	err = comm_weights_create(cycles_per_ns, &contention->weights);
	if (err) {
		free(contention);
		return err;
	}
	*ret = contention;
	return 0;
}

void comm_contention_destroy(struct comm_contention *contention)
{
	if (!contention)
		return;
	comm_weights_destroy(contention->weights);
	free(contention);
}

static struct tracked *find(struct comm_contention *contention, uint64_t line, size_t set)
{
	const uint64_t *key = &contention->line[set * WAYS];

	for (size_t i = 0; i < WAYS; i++)
		if (key[i] == line)
			return &contention->tracked[set * WAYS + i];
	return NULL;
}

static struct tracked *track(struct comm_contention *contention, uint64_t line, size_t set,
			     const struct last_use *last)
{
	size_t at = set * WAYS, first = at;
	struct tracked *t;

	for (size_t i = first; i < first + WAYS && contention->line[at]; i++)
		if (!contention->line[i] ||
		    contention->tracked[i].count < contention->tracked[at].count)
			at = i;
	t = &contention->tracked[at];
	contention->line[at] = line;
	/* Uses past n_uses are never looked at: a tracked line is cleared without them. */
	t->turns_ever = 0;
	t->burst = 0;
	t->thread = last->thread;
	t->wrote = last->wrote;
	t->bursts = t->turns = 0;
	t->n_uses = 0;
	return t;
}

/* Has what is kept of a line fetched: the tables are larger than a cache, and accesses meet them at random. */
static void expect(const struct comm_contention *contention, uint64_t line)
{
	uint64_t hash = comm_hash_word(line);

	__builtin_prefetch(&contention->seen[hash >> (64 - SEEN_BITS)]);
	__builtin_prefetch(&contention->line[(hash >> 20) % SETS * WAYS]);
}

/* The line's tally, NULL while only one thread uses it, or nobody writes. */
static struct tracked *tally_of(struct comm_contention *contention, uint64_t line, uint32_t thread,
				bool write)
{
	uint64_t hash = comm_hash_word(line);
	struct last_use *seen = &contention->seen[hash >> (64 - SEEN_BITS)];
	size_t set = (hash >> 20) % SETS;
	struct tracked *t = find(contention, line, set);

	if (t)
		return t;
	if (seen->line != line) {
		*seen = (struct last_use){.line = line, .thread = thread, .wrote = write};
		return NULL;
	}
	if (seen->thread != thread && (seen->wrote || write))
		return track(contention, line, set, seen);
	seen->wrote |= write;
	seen->thread = thread;
	return NULL;
}

/* Who had the line before this burst, and whether it had to be taken from them. */
static void take_turn(struct comm_contention *contention, struct tracked *t, uint32_t thread,
		      bool write)
{
	if (t->burst != contention->burst) {
		t->before = t->thread;
		t->before_wrote = t->wrote;
		t->thread = thread;
		t->wrote = t->turned = false;
		t->burst = contention->burst;
		t->bursts++;
	}
	t->wrote |= write;
	if (!t->turned && t->before != thread && (t->before_wrote || t->wrote)) {
		t->turned = true;
		t->turns++;
		t->turns_ever++;
		t->count++;
	}
}

static bool is_same(const struct use *a, const struct use *b)
{
	return a->first == b->first && a->size_bytes == b->size_bytes && a->write == b->write &&
	       a->thread == b->thread && a->site == b->site;
}

/*
 * The place of a use.  The last ones of a full line are for what has no place: the same
 * bytes by somebody, and at last all of the line, so that nothing seems to be untouched that is not.
 */
static struct use *place(struct tracked *t, struct use use)
{
	enum { WHOLE = 2, ANYBODY = 8 }; /* places kept: one for each way of all the line */

	for (int folds = 0;; folds++) {
		size_t capacity = COMM_CONTENTION_USES - (folds == 0   ? ANYBODY
							  : folds == 1 ? WHOLE
								       : 0);

		for (size_t i = 0; i < t->n_uses; i++)
			if (is_same(&t->use[i], &use))
				return &t->use[i];
		if (t->n_uses < capacity) {
			t->use[t->n_uses] = use;
			return &t->use[t->n_uses++];
		}
		use.thread = COMM_ID_OTHER;
		use.site = COMM_ID_OTHER;
		if (folds) {
			use.first = 0;
			use.size_bytes = COMM_CACHELINE_BYTES;
		}
	}
}

static void count(struct comm_contention *contention, struct tracked *t,
		  const struct comm_access_burst *burst, const struct comm_weight_burst *weighing,
		  const struct comm_access *access, const struct use *use)
{
	struct use *to = place(t, *use);
	float known = access->known > 0 && access->known < 1 ? access->known : 1;
	uint32_t slot = comm_weights_learn(contention->weights, burst, access);

	to->accesses += comm_weight_of(contention->weights, weighing, slot) / known;
	if (to->burst != contention->burst) {
		to->burst = contention->burst;
		to->bursts++;
	}
}

static void meet(struct comm_contention *contention, const struct comm_access_burst *burst,
		 const struct comm_weight_burst *weighing, const struct comm_access *access)
{
	uint64_t size = access->size_bytes ? access->size_bytes : 1;
	uint64_t end = access->datum + size, start = access->datum;

	for (int i = 0; i < LONG_LINES && start < end; i++) {
		uint64_t next = comm_cacheline_of(start) + COMM_CACHELINE_BYTES;
		uint64_t to = next < end ? next : end;
		struct use use = {
			.thread = burst->thread,
			.site = access->site,
			.object = access->object,
			.first = start % COMM_CACHELINE_BYTES,
			.size_bytes = to - start,
			.write = access->flags & COMM_ACCESS_WRITE,
		};
		struct tracked *t = tally_of(contention, start / COMM_CACHELINE_BYTES + 1,
					     burst->thread, use.write);

		if (t) {
			take_turn(contention, t, burst->thread, use.write);
			count(contention, t, burst, weighing, access, &use);
		}
		start = next;
	}
}

void comm_contention_burst(struct comm_contention *contention,
			   const struct comm_access_burst *burst)
{
	struct comm_weight_burst weighing;

	contention->burst++;
	comm_weight_burst(burst, &weighing);
	for (uint32_t i = 0; i < burst->n; i++)
		expect(contention, burst->access[i].datum / COMM_CACHELINE_BYTES + 1);
	for (uint32_t i = 0; i < burst->n; i++)
		if (burst->access[i].flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE))
			meet(contention, burst, &weighing, &burst->access[i]);
}

static int put(const struct tracked *t, uint64_t line, struct comm_cachelines *table)
{
	uint64_t datum = (line - 1) * COMM_CACHELINE_BYTES;
	const struct comm_cacheline sums = {.datum = datum, .bursts = t->bursts, .turns = t->turns};
	int err = comm_cachelines_add(table, &sums, NULL);

	for (size_t i = 0; i < t->n_uses && !err; i++) {
		const struct use *from = &t->use[i];
		const struct comm_cacheline_use use = {
			.datum = datum + from->first,
			.thread = from->thread,
			.site = from->site,
			.object = from->object,
			.size_bytes = from->size_bytes,
			.write = from->write,
			.bursts = from->bursts,
			.accesses = from->accesses,
		};

		err = comm_cachelines_add_use(table, &use, NULL);
	}
	return err;
}

/* The turns of the last of the lines with the most; so many of them have more. */
static uint32_t least_turns(const struct comm_contention *contention, size_t *ret_more)
{
	uint32_t low = TURNS_MIN, high = 0;

	for (size_t i = 0; i < COMM_CONTENTION_LINES; i++)
		if (contention->line[i] && high < contention->tracked[i].turns_ever)
			high = contention->tracked[i].turns_ever;
	for (*ret_more = 0; low < high;) {
		uint32_t mid = low + (high - low) / 2;
		size_t n = 0;

		for (size_t i = 0; i < COMM_CONTENTION_LINES; i++)
			n += contention->line[i] && contention->tracked[i].turns_ever > mid;
		if (n >= COMM_CONTENTION_TAKEN) {
			low = mid + 1;
		} else {
			high = mid;
			*ret_more = n;
		}
	}
	return low;
}

int comm_contention_take(struct comm_contention *contention, struct comm_cachelines *table)
{
	size_t capacity;
	uint32_t least = least_turns(contention, &capacity);
	int err = 0;

	/* What is left to those that have as many as the last. */
	capacity = COMM_CONTENTION_TAKEN - capacity;
	for (size_t i = 0; i < COMM_CONTENTION_LINES; i++) {
		struct tracked *t = &contention->tracked[i];

		/* What was met before a line is told at all is kept until then. */
		if (!contention->line[i] || !t->bursts || t->turns_ever < TURNS_MIN)
			continue;
		if (!err && (t->turns_ever > least || (t->turns_ever == least && capacity)))
			err = put(t, contention->line[i], table);
		capacity -= capacity && t->turns_ever == least;
		t->bursts = t->turns = 0;
		t->n_uses = 0;
	}
	return err;
}
