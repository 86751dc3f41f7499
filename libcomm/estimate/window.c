// SPDX-License-Identifier: GPL-2.0-or-later
#include "window.h"

#include "event.h"
#include "hash.h"
#include "model.h"
#include "waited_reads.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEEN_SLOTS = 2048, /* a power of two, past what one burst can fill */
	SEEN_MAX = 1024,
	DRAFT_READS = 1024,
	DRAFT_WRITES = 2048,
	SELF_SCAN = 8,
	READ_PIECES = 4, /* a long read is looked at in so many places */
	LINE_WORDS = 8,
	LEVEL_MAX = 5,
	GAP_BURSTS = 256, /* over which the rate of bursts is followed */
};

/* What the burst at hand did to a datum so far. */
struct seen {
	uint64_t datum;
	uint32_t serial;
	uint32_t write_site;
	uint32_t read; /* 1 + its draft read */
	bool written, read_since;
};

/* Which draft write a line has. */
struct line {
	uint64_t line;
	uint32_t serial;
	uint32_t write;
};

struct comm_window {
	struct comm_window_burst *burst;
	struct comm_window_write *write;
	struct comm_window_read *read;
	uint32_t n_bursts, n_writes, n_reads;
	uint32_t max_bursts, max_writes, max_reads;
	uint32_t shift; /* log2 of the granularity */
	uint32_t serial;
	uint32_t n_seen;
	uint32_t n_draft_reads, n_draft_writes;
	uint32_t n_unknown;	 /* accesses of the burst: each may be a write */
	bool yields;		 /* the burst does, at its end */
	uint32_t reads, repeats; /* of the burst; those where the instruction had read before */
	uint64_t random;
	uint64_t thinned;
	uint64_t last_ns;
	double gap_ns; /* between bursts, lately */
	double reads_per_s;
	struct comm_waited_reads waited;
	struct seen seen[SEEN_SLOTS];
	struct line line[SEEN_SLOTS];
	struct comm_window_read draft_read[DRAFT_READS];
	double size[DRAFT_READS];
	struct comm_window_write draft_write[DRAFT_WRITES];
};

int comm_window_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_window **ret)
{
	struct comm_window *w = calloc(1, sizeof(*w));
	uint64_t per = sizeof(*w->burst) + 8 * sizeof(*w->read) + 16 * sizeof(*w->write);
	uint64_t n = memory_bytes / per;

	if (!w)
		return -ENOMEM;
	if (n > 1u << 22)
		n = 1u << 22;
	if (n < 256)
		n = 256;
	w->max_bursts = (uint32_t)n;
	w->max_reads = (uint32_t)n * 8;
	w->max_writes = (uint32_t)n * 16;
	w->burst = malloc(w->max_bursts * sizeof(*w->burst));
	w->read = malloc(w->max_reads * sizeof(*w->read));
	w->write = malloc(w->max_writes * sizeof(*w->write));
	if (!w->burst || !w->read || !w->write) {
		comm_window_destroy(w);
		return -ENOMEM;
	}
	w->gap_ns = 1e6;
	w->reads_per_s = INFINITY;
	while (w->shift < 12 && (1u << w->shift) < granularity_bytes)
		w->shift++;
	*ret = w;
	return 0;
}

void comm_window_destroy(struct comm_window *window)
{
	if (!window)
		return;
	free(window->burst);
	free(window->write);
	free(window->read);
	free(window);
}

static uint32_t window_hash(uint64_t key)
{
	return comm_hash_word(key ^ key >> 23) >> 53 & (SEEN_SLOTS - 1);
}

/* NULL when the burst touched more data than are followed. */
static struct seen *window_seen(struct comm_window *w, uint64_t datum, bool create)
{
	uint32_t at = window_hash(datum);

	for (;; at = (at + 1) & (SEEN_SLOTS - 1)) {
		struct seen *s = &w->seen[at];

		if (s->serial == w->serial && s->datum == datum)
			return s;
		if (s->serial == w->serial)
			continue;
		if (!create || w->n_seen == SEEN_MAX)
			return NULL;
		w->n_seen++;
		*s = (struct seen){.datum = datum, .serial = w->serial};
		return s;
	}
}

static struct comm_window_write *window_line(struct comm_window *w, uint64_t line,
					     const struct comm_access *a, uint32_t weight_slot)
{
	uint32_t at = window_hash(line ^ (uint64_t)a->site << 40);
	struct comm_window_write *draft;

	for (;; at = (at + 1) & (SEEN_SLOTS - 1)) {
		struct line *l = &w->line[at];

		if (l->serial == w->serial) {
			draft = &w->draft_write[l->write];
			if (l->line == line && draft->site == a->site &&
			    draft->object == comm_access_whole(a))
				return draft;
			continue;
		}
		if (w->n_draft_writes >= SEEN_MAX)
			return NULL;
		*l = (struct line){line, w->serial, w->n_draft_writes};
		break;
	}
	draft = &w->draft_write[w->n_draft_writes++];
	*draft = (struct comm_window_write){.datum = line << (w->shift + 3),
					    .object = comm_access_whole(a),
					    .site = a->site,
					    .weight_slot = weight_slot,
					    .level = 1};
	return draft;
}

/* A long write: whole areas, of the level that needs few of them. */
static void window_cover(struct comm_window *w, const struct comm_access *a, uint32_t weight_slot,
			 double share)
{
	uint64_t end = a->datum + a->size_bytes - 1;
	uint32_t level = 2;
	uint64_t first, last;

	while (level < LEVEL_MAX &&
	       (end >> (w->shift + 3 * level)) - (a->datum >> (w->shift + 3 * level)) >=
		       COMM_WINDOW_CELLS)
		level++;
	first = a->datum >> (w->shift + 3 * level);
	last = end >> (w->shift + 3 * level);
	if (last - first >= COMM_WINDOW_CELLS)
		last = first + COMM_WINDOW_CELLS - 1;
	for (; first <= last && w->n_draft_writes < DRAFT_WRITES; first++)
		w->draft_write[w->n_draft_writes++] =
			(struct comm_window_write){.datum = first << (w->shift + 3 * level),
						   .object = comm_access_whole(a),
						   .site = a->site,
						   .weight_slot = weight_slot,
						   .count = (float)share,
						   .level = (uint8_t)level};
	w->thinned += first <= last;
}

static void window_write(struct comm_window *w, const struct comm_access *a, uint32_t weight_slot,
			 double share)
{
	uint64_t word = a->datum >> w->shift;
	uint64_t last = (a->datum + (a->size_bytes ? a->size_bytes - 1 : 0)) >> w->shift;

	if (last < word)
		return;
	if (last - word >= COMM_WINDOW_CELLS * LINE_WORDS) {
		window_cover(w, a, weight_slot, share);
		return;
	}
	for (; word <= last; word++) {
		struct comm_window_write *draft = window_line(w, word >> 3, a, weight_slot);
		struct seen *s = window_seen(w, word, true);

		if (draft) {
			float n = (float)__builtin_popcount(draft->mask);
			float sum = draft->count * n + (float)share;

			draft->mask |= 1u << (word & 7);
			draft->count = sum / (float)__builtin_popcount(draft->mask);
		} else {
			w->thinned++;
		}
		if (s) {
			s->written = true;
			s->read_since = false;
			s->write_site = a->site;
			s->read = 0;
		}
	}
}

static void window_self_read(struct comm_window *w, const struct comm_access *a,
			     uint32_t weight_slot, const struct seen *s, double bytes, double first)
{
	struct comm_window_read *d;

	for (uint32_t i = 0; i < SELF_SCAN && i < w->n_draft_reads; i++) {
		d = &w->draft_read[w->n_draft_reads - 1 - i];
		if (d->self && d->weight_slot == weight_slot && d->self_site == s->write_site &&
		    d->object == comm_access_whole(a)) {
			d->first = (float)((d->first * d->bytes + first) / (d->bytes + bytes));
			d->bytes += (float)bytes;
			return;
		}
	}
	if (w->n_draft_reads == DRAFT_READS) {
		w->thinned++;
		return;
	}
	w->draft_read[w->n_draft_reads++] =
		(struct comm_window_read){.datum = a->datum,
					  .object = comm_access_whole(a),
					  .shown = comm_access_shown(a),
					  .site = a->site,
					  .weight_slot = weight_slot,
					  .self_site = s->write_site,
					  .bytes = (float)bytes,
					  .first = (float)(first / bytes),
					  .self = true};
}

static void window_read(struct comm_window *w, const struct comm_access *a, uint32_t weight_slot,
			double share)
{
	uint64_t size_bytes = a->size_bytes ? a->size_bytes : 1;
	uint32_t pieces = size_bytes > (uint64_t)LINE_WORDS << w->shift ? READ_PIECES : 1;

	for (uint32_t i = 0; i < pieces; i++) {
		uint64_t datum = a->datum + size_bytes * (2 * i + 1) / (2 * pieces) * (pieces > 1);
		double bytes = (double)size_bytes / pieces * share;
		struct seen *s = window_seen(w, datum >> w->shift, true);
		bool again = s && s->read_since;

		w->reads++;
		if (s)
			s->read_since = true;
		if (s && s->written) {
			window_self_read(w, a, weight_slot, s, bytes, again ? 0 : bytes);
			continue;
		}
		if (s && s->read) {
			struct comm_window_read *d = &w->draft_read[s->read - 1];

			if (d->weight_slot == weight_slot) {
				w->repeats += d->datum == datum;
				d->first = (float)(d->first * d->bytes / (d->bytes + bytes));
				d->bytes += (float)bytes;
				d->count += (float)share;
				continue;
			}
		}
		if (w->n_draft_reads == DRAFT_READS) {
			w->thinned++;
			continue;
		}
		if (s)
			s->read = w->n_draft_reads + 1;
		w->draft_read[w->n_draft_reads++] =
			(struct comm_window_read){.datum = datum,
						  .object = comm_access_whole(a),
						  .shown = comm_access_shown(a),
						  .site = a->site,
						  .weight_slot = weight_slot,
						  .bytes = (float)bytes,
						  .count = (float)share,
						  .first = again ? 0 : 1,
						  .constant = a->flags & COMM_ACCESS_CONSTANT,
						  .own_stack = a->flags & COMM_ACCESS_OWN_STACK,
						  .of_file = a->flags & COMM_ACCESS_OF_FILE,
						  .by_creator = a->flags & COMM_ACCESS_BY_CREATOR};
	}
}

/* A loop that waits, or a part of one: all of its reads were met in such loops. */
static bool window_spins(struct comm_window *w)
{
	bool waits = w->repeats >= (COMM_WINDOW_SPIN_TURNS - 1) * (w->reads - w->repeats) ||
		     (w->yields && w->reads <= COMM_WINDOW_YIELD_READS);
	bool met = true;

	if (w->n_draft_writes || w->n_unknown || !w->n_draft_reads)
		return false;
	for (uint32_t i = 0; i < w->n_draft_reads && (waits || met); i++) {
		uint64_t key =
			comm_waited_key(w->draft_read[i].datum, w->draft_read[i].weight_slot);

		if (waits)
			comm_waited_reads_add(&w->waited, key);
		else
			met = comm_waited_reads_has(&w->waited, key);
	}
	return waits || met;
}

/* Keeps all self reads, and a systematic draw of the others. */
static void window_draw(struct comm_window *w, const struct comm_weights *weights,
			struct comm_window_burst *burst)
{
	double want = w->gap_ns * 1e-9 * w->reads_per_s;
	double sum = 0, step, at;
	bool spins = window_spins(w) && !comm_without(COMM_TERM_waits);
	uint32_t n = 0;

	if (!(want < COMM_WINDOW_READS))
		want = COMM_WINDOW_READS;
	else if (want > 1)
		want = floor(want);
	else if (want < 1e-3)
		want = 1e-3;

	for (uint32_t i = 0; i < w->n_draft_reads; i++) {
		const struct comm_window_read *d = &w->draft_read[i];

		w->size[i] = 0;
		if (d->self)
			continue;
		w->size[i] = d->bytes * comm_weight_of(weights, &burst->weighing, d->weight_slot);
		sum += w->size[i];
		n++;
	}
	step = sum / want;
	at = step * comm_hash_uniform(&w->random);
	for (uint32_t i = 0; i < w->n_draft_reads; i++) {
		struct comm_window_read *d = &w->draft_read[i];
		bool take = d->self || n <= want;

		d->spins = spins;
		if (!take) {
			take = at < w->size[i];
			if (take && w->size[i] < step) {
				d->bytes *= (float)(step / w->size[i]);
				d->count *= (float)(step / w->size[i]);
			}
			while (at < w->size[i])
				at += step;
			at -= w->size[i];
		}
		if (take && w->n_reads < w->max_reads)
			w->read[w->n_reads++] = *d;
	}
	burst->n_reads = w->n_reads - burst->first_read;
}

int comm_window_add(struct comm_window *window, struct comm_weights *weights,
		    const struct comm_access_burst *burst, uint32_t thread)
{
	struct comm_window *w = window;
	struct comm_window_burst *out;

	if (w->n_bursts == w->max_bursts || w->n_reads + DRAFT_READS > w->max_reads ||
	    w->n_writes + DRAFT_WRITES > w->max_writes)
		return -ENOSPC;
	if (!++w->serial) {
		memset(w->seen, 0, sizeof(w->seen));
		memset(w->line, 0, sizeof(w->line));
		w->serial = 1;
	}
	if (w->last_ns && burst->time_ns > w->last_ns)
		w->gap_ns += ((double)(burst->time_ns - w->last_ns) - w->gap_ns) / GAP_BURSTS;
	else
		w->gap_ns -= w->gap_ns / GAP_BURSTS;
	w->last_ns = burst->time_ns;
	w->n_seen = w->n_draft_reads = w->n_draft_writes = 0;
	w->reads = w->repeats = 0;
	w->n_unknown = burst->n_unknown;
	w->yields = burst->yields;
	out = &w->burst[w->n_bursts];
	*out = (struct comm_window_burst){.time_ns = burst->time_ns,
					  .frame = burst->frame,
					  .thread = thread,
					  .reader = burst->thread,
					  .creator = burst->creator,
					  .initial = burst->initial,
					  .first_write = w->n_writes,
					  .first_read = w->n_reads};
	comm_weight_burst(burst, &out->weighing);
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct comm_access *a = &burst->access[i];
		double share = a->known > 0.001f ? 1 / (double)a->known : 1000;
		uint32_t slot;

		if (a->flags & COMM_ACCESS_IMPLICIT)
			continue;
		slot = comm_weights_learn(weights, burst, a);
		if (a->flags & COMM_ACCESS_READ)
			window_read(w, a, slot, share);
		if (a->flags & COMM_ACCESS_WRITE)
			window_write(w, a, slot, share);
	}
	window_draw(w, weights, out);
	memcpy(w->write + w->n_writes, w->draft_write, w->n_draft_writes * sizeof(*w->write));
	w->n_writes += w->n_draft_writes;
	out->n_writes = w->n_draft_writes;
	if (out->n_reads || out->n_writes)
		w->n_bursts++;
	return 0;
}

void comm_window_pace(struct comm_window *window, double reads_per_s)
{
	window->reads_per_s = reads_per_s;
}

uint64_t comm_window_thinned(const struct comm_window *window)
{
	return window->thinned;
}

uint32_t comm_window_count(const struct comm_window *window)
{
	return window->n_bursts;
}

const struct comm_window_burst *comm_window_at(const struct comm_window *window, uint32_t i)
{
	return &window->burst[i];
}

struct comm_window_write *comm_window_writes(struct comm_window *window,
					     const struct comm_window_burst *burst)
{
	return window->write + burst->first_write;
}

struct comm_window_read *comm_window_reads(struct comm_window *window,
					   const struct comm_window_burst *burst)
{
	return window->read + burst->first_read;
}

void comm_window_drop(struct comm_window *window, uint32_t n)
{
	struct comm_window *w = window;
	uint32_t write, read;

	if (n >= w->n_bursts) {
		w->n_bursts = w->n_writes = w->n_reads = 0;
		return;
	}
	write = w->burst[n].first_write;
	read = w->burst[n].first_read;
	memmove(w->burst, w->burst + n, (w->n_bursts - n) * sizeof(*w->burst));
	memmove(w->write, w->write + write, (w->n_writes - write) * sizeof(*w->write));
	memmove(w->read, w->read + read, (w->n_reads - read) * sizeof(*w->read));
	w->n_bursts -= n;
	w->n_writes -= write;
	w->n_reads -= read;
	for (uint32_t i = 0; i < w->n_bursts; i++) {
		w->burst[i].first_write -= write;
		w->burst[i].first_read -= read;
	}
}
