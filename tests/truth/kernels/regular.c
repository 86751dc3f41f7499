/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels whose matrix follows from a formula: turns between barriers, whole
 * segments of one value.
 */
#include <string.h>

#include "truth.h"

enum { REREAD = 8, DEGREE = 3 };

/* The compiler shall not merge two passes over one segment. */
#define forget() __asm__ volatile("" ::: "memory")

static uint64_t *segment(const struct truth_thread *t, unsigned int id)
{
	return t->shared + id * t->words;
}

static unsigned int left(const struct truth_thread *t)
{
	return (t->id + t->n - 1) % t->n;
}

static unsigned int right(const struct truth_thread *t)
{
	return (t->id + 1) % t->n;
}

static void put(const struct truth_thread *t, uint64_t *p, uint64_t n, uint64_t value)
{
	uint64_t i;

	if (!t->work) {
		for (i = 0; i < n; i++)
			p[i] = value;
		return;
	}
	for (i = 0; i < n; i++) {
		p[i] = value;
		truth_work(t->work);
	}
}

/* Reads n words and proves that each holds value. */
static void check(struct truth_thread *t, const uint64_t *p, uint64_t n, uint64_t value,
		  unsigned int work)
{
	uint64_t bad = 0, i;

	if (!work) {
		for (i = 0; i < n; i++)
			bad |= p[i] ^ value;
	} else {
		for (i = 0; i < n; i++) {
			bad |= p[i] ^ value;
			truth_work(work);
		}
	}
	if (bad)
		truth_fail(t, "a segment holds another value than was written");
}

static void get(struct truth_thread *t, const uint64_t *p, uint64_t n, uint32_t src, uint64_t turn)
{
	check(t, p, n, truth_value(src, turn), t->work);
	truth_count(t, src, n, n);
}

static void put_own(struct truth_thread *t)
{
	put(t, segment(t, t->id), t->words, truth_value(t->id, t->turn));
}

static void get_of(struct truth_thread *t, unsigned int src)
{
	get(t, segment(t, src), t->words, src, t->turn);
}

static uint64_t segments(const struct truth_thread *t)
{
	return t->n * t->words;
}

static uint64_t one_segment(const struct truth_thread *t)
{
	return t->words;
}

/* ring: each reads what its left neighbour wrote. */
static void ring(struct truth_thread *t)
{
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		get_of(t, left(t));
	}
}

static void ring_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)turn;
	if ((src + 1) % t->n == dst)
		*bytes = *first = t->words * TRUTH_WORD_BYTES;
}

/* pipeline: a stage reads the last block of the stage before it; blocks and work differ. */
static uint64_t stage_words(const struct truth_thread *t, unsigned int stage)
{
	return t->words >> stage % 3;
}

static uint64_t *stage_block(const struct truth_thread *t, unsigned int stage, uint64_t turn)
{
	return t->shared + (2 * stage + (turn & 1)) * t->words;
}

static void pipeline(struct truth_thread *t)
{
	unsigned int prev = t->id - 1;

	put(t, stage_block(t, t->id, 0), stage_words(t, t->id), truth_value(t->id, 0));
	while (truth_turn(t)) {
		if (t->id) {
			uint64_t n = stage_words(t, prev);

			check(t, stage_block(t, prev, t->turn - 1), n,
			      truth_value(prev, t->turn - 1), t->work + t->id % 4 * 6);
			truth_count(t, prev, n, n);
		}
		put(t, stage_block(t, t->id, t->turn), stage_words(t, t->id),
		    truth_value(t->id, t->turn));
	}
}

static uint64_t pipeline_words(const struct truth_thread *t)
{
	return 2 * t->n * t->words;
}

static void pipeline_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			    uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)turn;
	if (src + 1 == dst)
		*bytes = *first = stage_words(t, src) * TRUTH_WORD_BYTES;
}

/* stencil1d: cell i needs i - r, i and i + r of the turn before. */
static uint64_t radius(const struct truth_thread *t)
{
	return t->words / 8;
}

static uint64_t *line(const struct truth_thread *t, uint64_t turn)
{
	return t->shared + (turn & 1) * (t->n * t->words + 2 * radius(t)) + radius(t);
}

static void stencil1d_part(struct truth_thread *t, uint64_t from, uint64_t to, unsigned int l,
			   unsigned int r)
{
	uint64_t seq = t->turn - 1, value = truth_value(t->id, t->turn), bad = 0, i;
	uint64_t want = truth_value(t->id, seq), d = radius(t);
	/* Past the ends of the line the words are zero, written by nobody. */
	uint64_t want_l = l < t->n ? truth_value(l, seq) : 0;
	uint64_t want_r = r < t->n ? truth_value(r, seq) : 0;
	const uint64_t *in = line(t, seq);
	uint64_t *out = line(t, t->turn);

	for (i = from; i < to; i++) {
		bad |= (in[i - d] ^ want_l) | (in[i] ^ want) | (in[i + d] ^ want_r);
		out[i] = value;
		truth_work(t->work);
	}
	if (bad)
		truth_fail(t, "stencil1d: wrong value");
}

static void stencil1d(struct truth_thread *t)
{
	uint64_t from = t->id * t->words, to = from + t->words, d = radius(t);
	unsigned int l = t->id - 1, r = t->id + 1;

	put(t, line(t, 0) + from, t->words, truth_value(t->id, 0));
	while (truth_turn(t)) {
		stencil1d_part(t, from, from + d, l, t->id);
		stencil1d_part(t, from + d, to - d, t->id, t->id);
		stencil1d_part(t, to - d, to, t->id, r);
		truth_count(t, t->id, 3 * t->words - 2 * d, t->words);
		truth_count(t, t->id ? l : (unsigned int)-1, d, d);
		truth_count(t, r < t->n ? r : (unsigned int)-1, d, d);
	}
}

static uint64_t stencil1d_words(const struct truth_thread *t)
{
	return 2 * (t->n * t->words + 2 * radius(t));
}

static void stencil1d_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			     uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)turn;
	if (src + 1 == dst || dst + 1 == src)
		*bytes = *first = radius(t) * TRUTH_WORD_BYTES;
}

/*
 * stencil2d: a cell and four more at a distance; the workers' tiles stand in a
 * grid.  The distance is more than one so that the barriers' own words stay
 * small against what crosses the edges.
 */
enum { ARM = 4 };

struct grid {
	unsigned int rows, columns;
	uint64_t side, stride, size;
};

static struct grid grid_of(const struct truth_thread *t)
{
	struct grid g = {.rows = 1, .side = 2 * ARM};
	unsigned int i;

	for (i = 1; i * i <= t->n; i++)
		if (t->n % i == 0)
			g.rows = i;
	g.columns = t->n / g.rows;
	while (g.side * g.side * 4 < t->words)
		g.side *= 2;
	g.stride = g.columns * g.side + 2 * ARM;
	g.size = g.stride * (g.rows * g.side + 2 * ARM);
	return g;
}

/* want: up, left, self, right, down. */
static void stencil2d_part(struct truth_thread *t, const uint64_t *in, uint64_t *out,
			   uint64_t stride, uint64_t from, uint64_t to, const uint64_t want[5])
{
	uint64_t value = truth_value(t->id, t->turn), up = want[0], left_of = want[1];
	uint64_t self = want[2], right_of = want[3], down = want[4], bad = 0, x;

	for (x = from; x < to; x++) {
		bad |= (in[x - ARM * stride] ^ up) | (in[x - ARM] ^ left_of) | (in[x] ^ self) |
		       (in[x + ARM] ^ right_of) | (in[x + ARM * stride] ^ down);
		out[x] = value;
		truth_work(t->work);
	}
	if (bad)
		truth_fail(t, "stencil2d: wrong value");
}

static void stencil2d(struct truth_thread *t)
{
	struct grid g = grid_of(t);
	unsigned int row = t->id / g.columns, column = t->id % g.columns, i;
	/* up, left, self, right, down; no worker: the rim, which nobody writes */
	const unsigned int none = -1, who[5] = {
					      row ? t->id - g.columns : none,
					      column ? t->id - 1 : none,
					      t->id,
					      column + 1 < g.columns ? t->id + 1 : none,
					      row + 1 < g.rows ? t->id + g.columns : none,
				      };
	uint64_t at = (row * g.side + ARM) * g.stride + column * g.side + ARM, y;

	for (y = 0; y < g.side; y++)
		put(t, t->shared + at + y * g.stride, g.side, truth_value(t->id, 0));
	while (truth_turn(t)) {
		const uint64_t *in = t->shared + ((t->turn - 1) & 1) * g.size + at;
		uint64_t *out = t->shared + (t->turn & 1) * g.size + at;

		for (y = 0; y < g.side; y++) {
			const uint64_t *from = in + y * g.stride;
			uint64_t *to = out + y * g.stride, want[5], inner[5];

			for (i = 0; i < 5; i++)
				want[i] = who[i] != none ? truth_value(who[i], t->turn - 1) : 0;
			if (y >= ARM)
				want[0] = want[2];
			if (y + ARM < g.side)
				want[4] = want[2];
			for (i = 0; i < 5; i++)
				inner[i] = want[i];
			inner[3] = want[2];
			stencil2d_part(t, from, to, g.stride, 0, ARM, inner);
			inner[1] = want[2];
			stencil2d_part(t, from, to, g.stride, ARM, g.side - ARM, inner);
			inner[3] = want[3];
			stencil2d_part(t, from, to, g.stride, g.side - ARM, g.side, inner);
		}
		truth_count(t, t->id, (5 * g.side - 4 * ARM) * g.side, g.side * g.side);
		for (i = 0; i < 5; i++)
			if (i != 2)
				truth_count(t, who[i], ARM * g.side, ARM * g.side);
	}
}

static uint64_t stencil2d_words(const struct truth_thread *t)
{
	return 2 * grid_of(t).size;
}

static void stencil2d_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			     uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	struct grid g = grid_of(t);
	int dy = (int)(src / g.columns) - (int)(dst / g.columns);
	int dx = (int)(src % g.columns) - (int)(dst % g.columns);

	(void)turn;
	if (dx * dx + dy * dy == 1)
		*bytes = *first = ARM * g.side * TRUTH_WORD_BYTES;
}

/* transpose: each writes a row of blocks and reads a column of them. */
static void read_column(struct truth_thread *t)
{
	uint64_t block = t->words / t->n;
	unsigned int i;

	for (i = 1; i < t->n; i++) {
		unsigned int src = (t->id + i) % t->n;

		get(t, segment(t, src) + t->id * block, block, src, t->turn);
	}
}

static void transpose(struct truth_thread *t)
{
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		read_column(t);
	}
}

static void transpose_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			     uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)turn;
	if (src != dst)
		*bytes = *first = t->words / t->n * TRUTH_WORD_BYTES;
}

/* broadcast: 0 writes, all read. */
static void broadcast(struct truth_thread *t)
{
	while (truth_turn(t)) {
		if (!t->id)
			put_own(t);
		truth_barrier(t);
		if (t->id)
			get_of(t, 0);
	}
}

static void broadcast_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			     uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)turn;
	if (!src && dst)
		*bytes = *first = t->words * TRUTH_WORD_BYTES;
}

/* reduce: all write, 0 reads. */
static void reduce(struct truth_thread *t)
{
	unsigned int i;

	while (truth_turn(t)) {
		if (t->id)
			put_own(t);
		truth_barrier(t);
		for (i = 1; !t->id && i < t->n; i++)
			get_of(t, i);
	}
}

static void reduce_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			  uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	broadcast_expect(t, dst, src, turn, bytes, first);
}

/* reread: a ring in which each segment is read eight times. */
static void reread(struct truth_thread *t)
{
	unsigned int i;

	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		get_of(t, left(t));
		for (i = 1; i < REREAD; i++) {
			forget();
			check(t, segment(t, left(t)), t->words, truth_value(left(t), t->turn),
			      t->work);
			truth_count(t, left(t), t->words, 0);
		}
	}
}

static void reread_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			  uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	ring_expect(t, src, dst, turn, bytes, first);
	*bytes *= REREAD;
}

/* rotating: one segment, another writer each turn. */
static void rotating(struct truth_thread *t)
{
	while (truth_turn(t)) {
		unsigned int writer = t->turn % t->n;

		if (writer == t->id)
			put(t, t->shared, t->words, truth_value(t->id, t->turn));
		truth_barrier(t);
		if (writer != t->id)
			get(t, t->shared, t->words, writer, t->turn);
	}
}

static void rotating_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			    uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	if (src == turn % t->n && src != dst)
		*bytes = *first = t->words * TRUTH_WORD_BYTES;
}

static uint64_t rotating_period(const struct truth_thread *t)
{
	return t->n;
}

/* graph: each reads pieces of unequal size of a few others, always the same. */
static unsigned int graph_source(const struct truth_thread *t, unsigned int dst, unsigned int k)
{
	unsigned int seed = dst * 2654435761u >> 8, picked[DEGREE], i, j;

	for (i = 0; i <= k; i++) {
		picked[i] = (dst + 1 + (seed >> 5 * i) % (t->n - 1)) % t->n;
		for (j = 0; j < i; j++) {
			if (picked[j] != picked[i] && picked[i] != dst)
				continue;
			picked[i] = (picked[i] + 1) % t->n;
			j = -1;
		}
	}
	return picked[k];
}

static unsigned int graph_degree(const struct truth_thread *t)
{
	return t->n - 1 < DEGREE ? t->n - 1 : DEGREE;
}

static void graph(struct truth_thread *t)
{
	unsigned int src[DEGREE], degree = graph_degree(t), k;

	for (k = 0; k < degree; k++)
		src[k] = graph_source(t, t->id, k);
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		for (k = 0; k < degree; k++) {
			uint64_t n = t->words >> (1 + k);

			get(t, segment(t, src[k]) + t->id % 2 * n, n, src[k], t->turn);
		}
	}
}

static void graph_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			 uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	unsigned int k;

	(void)turn;
	for (k = 0; k < graph_degree(t); k++)
		if (graph_source(t, dst, k) == src)
			*bytes = *first = (t->words >> (1 + k)) * TRUTH_WORD_BYTES;
}

/* phases: ring, transpose, broadcast, ring the other way round. */
enum { PHASES = 4 };

static void phases(struct truth_thread *t)
{
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		switch (t->turn / t->phase_turns % PHASES) {
		case 0:
			get_of(t, left(t));
			break;
		case 1:
			read_column(t);
			break;
		case 2:
			if (t->id)
				get_of(t, 0);
			break;
		default:
			get_of(t, right(t));
		}
	}
}

static void phases_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			  uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	switch (turn / t->phase_turns % PHASES) {
	case 0:
		ring_expect(t, src, dst, turn, bytes, first);
		break;
	case 1:
		transpose_expect(t, src, dst, turn, bytes, first);
		break;
	case 2:
		broadcast_expect(t, src, dst, turn, bytes, first);
		break;
	default:
		ring_expect(t, dst, src, turn, bytes, first);
	}
}

static uint64_t phases_period(const struct truth_thread *t)
{
	return PHASES * t->phase_turns;
}

/* uneven: as much from the left in a fast loop as from the right in a slow one. */
static void uneven(struct truth_thread *t)
{
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		get_of(t, left(t));
		check(t, segment(t, right(t)), t->words, truth_value(right(t), t->turn),
		      t->work + 8);
		truth_count(t, right(t), t->words, left(t) == right(t) ? 0 : t->words);
	}
}

static void uneven_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			  uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	uint64_t other_bytes = 0, other_first = 0;

	ring_expect(t, src, dst, turn, bytes, first);
	ring_expect(t, dst, src, turn, &other_bytes, &other_first);
	*bytes += other_bytes;
	if (other_first)
		*first = other_first;
}

/* copy: a ring through memcpy() into own memory. */
static void copy(struct truth_thread *t)
{
	while (truth_turn(t)) {
		put_own(t);
		truth_barrier(t);
		memcpy(t->own, segment(t, left(t)), t->words * TRUTH_WORD_BYTES);
		truth_count(t, left(t), t->words, t->words);
		check(t, t->own, t->words, truth_value(left(t), t->turn), t->work);
		truth_count(t, t->id, t->words, t->words);
	}
}

/* private: nobody reads what another wrote, barriers included. */
static void private(struct truth_thread *t)
{
	while (truth_poll(t)) {
		put(t, t->own, t->words, truth_value(t->id, t->turn));
		forget();
		get(t, t->own, t->words, t->id, t->turn);
	}
}

static void private_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			   uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)t, (void)src, (void)dst, (void)turn;
	*bytes = *first = 0;
}

/* partition: the same, but the segments are neighbours in one allocation. */
static void partition(struct truth_thread *t)
{
	while (truth_poll(t)) {
		put_own(t);
		forget();
		get_of(t, t->id);
	}
}

/* chase: a ring through a linked list, so that each address is loaded first. */
static uint64_t chase_next(uint64_t node, uint64_t nodes)
{
	/* A full cycle: nodes is a power of two, 5 = 1 mod 4, 3 is odd. */
	return (node * 5 + 3) & (nodes - 1);
}

static void chase(struct truth_thread *t)
{
	uint64_t nodes = t->words / 2, *mine = segment(t, t->id), i, bad, at, want;
	const uint64_t *list = segment(t, left(t));

	while (truth_turn(t)) {
		want = truth_value(t->id, t->turn << 24);
		for (i = 0; i < nodes; i++) {
			mine[2 * i] = want | chase_next(i, nodes);
			mine[2 * i + 1] = want;
		}
		truth_barrier(t);
		want = truth_value(left(t), t->turn << 24);
		for (i = 0, at = 0, bad = 0; i < nodes; i++) {
			uint64_t next = list[2 * at];

			bad |= (list[2 * at + 1] ^ want) | ((next ^ want) >> 24);
			at = next & (nodes - 1);
			truth_work(t->work);
		}
		if (bad || at)
			truth_fail(t, "chase: wrong value");
		truth_count(t, left(t), 2 * nodes, 2 * nodes);
	}
}

const struct truth_kernel truth_regular[] = {
	{"ring", "each reads its left neighbour's segment", ring, segments, NULL, ring_expect, NULL,
	 false},
	{"pipeline", "stages with unequal blocks and work", pipeline, pipeline_words, NULL,
	 pipeline_expect, NULL, false},
	{"stencil1d", "three points on a line", stencil1d, stencil1d_words, NULL, stencil1d_expect,
	 NULL, false},
	{"stencil2d", "five points on a grid of tiles", stencil2d, stencil2d_words, NULL,
	 stencil2d_expect, NULL, false},
	{"transpose", "all to all", transpose, segments, NULL, transpose_expect, NULL, false},
	{"broadcast", "one writes, all read", broadcast, segments, NULL, broadcast_expect, NULL,
	 false},
	{"reduce", "all write, one reads", reduce, segments, NULL, reduce_expect, NULL, false},
	{"reread", "a ring, each segment read eight times", reread, segments, NULL, reread_expect,
	 NULL, false},
	{"rotating", "one segment, another writer each turn", rotating, one_segment, NULL,
	 rotating_expect, rotating_period, false},
	{"graph", "a random sparse graph with unequal edges", graph, segments, NULL, graph_expect,
	 NULL, false},
	{"phases", "ring, transpose, broadcast, ring backwards", phases, segments, NULL,
	 phases_expect, phases_period, false},
	{"uneven", "equal bytes through a fast and a slow loop", uneven, segments, NULL,
	 uneven_expect, NULL, false},
	{"copy", "a ring through memcpy()", copy, segments, one_segment, ring_expect, NULL, false},
	{"chase", "a ring through linked lists", chase, segments, NULL, ring_expect, NULL, false},
	{"private", "no communication at all", private, NULL, one_segment, private_expect, NULL,
	 false},
	{"partition", "no communication, but neighbours in one array", partition, segments, NULL,
	 private_expect, NULL, false},
	{"processes", "a ring of processes on shared memory", ring, segments, NULL, ring_expect,
	 NULL, true},
	{.name = NULL},
};
