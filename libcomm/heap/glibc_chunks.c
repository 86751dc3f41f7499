// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of glibc's malloc, by the chunks that its memory consists of (malloc/malloc.c, "struct
 * malloc_chunk").  A chunk begins with 16 bytes: the size of the one before it, if that is free, and its
 * own size with three flags.  The program has what follows, up to 8 bytes into the next chunk.  Chunks
 * can be gone through upwards alone, from a place where one is known to begin, so that is done once
 * from the start of an area, and where a chunk begins at or before each piece is kept.
 *
 * Three kinds of area: the main heap, from brk(2); a heap of a thread's arena, 64 MiB aligned to as
 * much, in anonymous memory; and a mapping that holds one large chunk, or several beside each other.
 */
#include "allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PREV_IN_USE = 1,
	IS_MAPPED = 2,
	NOT_MAIN = 4,
	FLAGS = 7,
	ALIGNMENT = 16,
	HEADER_BYTES = 16,
	CHUNK_LEAST = 32,
	FENCEPOST_BYTES = 16, /* ends a heap that cannot grow */
	/* A block keeps this much of its chunk, and of a mapped one that much, to itself. */
	OVERHEAD_BYTES = 8,
	OVERHEAD_MAPPED_BYTES = 16,
	PAGE = 4096,
	HEAP_BYTES = 64 << 20,
	/* Of glibc 2.27 to 2.41: 0x898 and, before or behind it in a heap, 0x20 or 0x30. */
	ARENA_BYTES = 0x898,
	HEAP_INFO_MOST = 0x40,
	/* Read behind a piece, so that the chunk after its last one mostly comes along. */
	BEHIND_BYTES = 4096,
	HOPS_BEFORE = 64,      /* chunks between where a piece is entered and its start */
	PIECES_MOST = 1 << 20, /* of an area: 16 GiB */
	BACK_LEAST = 4,	       /* pieces gone through again in front of one that cannot be read */
	IN_FRONT = 4,	       /* pieces gone through once more before one that is told */
};

struct glibc_area {
	uint64_t first; /* chunk */
	uint64_t flags; /* that each chunk has */
	uint64_t next;	/* where going through it goes on */
	/* For each piece from that of first on, the chunk at its start: (address - first) / ALIGNMENT. */
	uint32_t *cover;
	size_t n, capacity;
	/* Pieces that are gone through again, and how many in front of what could not be read. */
	size_t again, again_end, back;
};

struct chunk {
	uint64_t prev_bytes, word;
};

struct view {
	const struct comm_marks_memory *memory;
	uint64_t upto; /* this may be wanted as well */
	struct comm_seen *seen;
};

_Static_assert(sizeof(((struct comm_seen *)NULL)->bytes) >=
		       (1 + IN_FRONT) * COMM_PIECE_BYTES + 2 * BEHIND_BYTES,
	       "what is gone through for a piece is seen at once");

/* Far in front of the piece that is gone through, chunks are hopped over. */
static int look(struct view *view, uint64_t at, uint64_t piece, struct chunk *ret)
{
	struct comm_seen *seen = view->seen;

	if (at < seen->start || at - seen->start + HEADER_BYTES > seen->n) {
		uint64_t bytes = at + BEHIND_BYTES < piece	  ? HEADER_BYTES
				 : at + BEHIND_BYTES < view->upto ? view->upto - at
								  : HEADER_BYTES + BEHIND_BYTES;
		ssize_t n;

		if (bytes > sizeof(seen->bytes))
			bytes = sizeof(seen->bytes);
		n = view->memory->read(view->memory->ctx, at, seen->bytes, bytes);
		seen->start = at;
		seen->n = n > 0 ? (size_t)n : 0;
		if (n < HEADER_BYTES)
			return n < 0 ? (int)n : -EPROTO;
	}
	memcpy(&ret->prev_bytes, seen->bytes + (at - seen->start), sizeof(ret->prev_bytes));
	memcpy(&ret->word, seen->bytes + (at - seen->start) + 8, sizeof(ret->word));
	return 0;
}

static uint64_t size_of(const struct chunk *chunk)
{
	return chunk->word & ~(uint64_t)FLAGS;
}

static bool is_chunk(const struct glibc_area *a, const struct chunk *chunk, uint64_t at,
		     uint64_t end)
{
	uint64_t size = size_of(chunk);

	if (size < CHUNK_LEAST || size % ALIGNMENT || at >= end || size > end - at)
		return false;
	if (a->flags & IS_MAPPED)
		return !chunk->prev_bytes && (chunk->word & FLAGS) == IS_MAPPED && !(size % PAGE);
	/* A free chunk is of no arena. */
	return !(chunk->word & FLAGS & ~(PREV_IN_USE | a->flags));
}

static size_t index_of(const struct glibc_area *a, uint64_t addr)
{
	return (size_t)((addr - comm_piece_of(a->first)) / COMM_PIECE_BYTES);
}

static uint64_t cover_of(const struct glibc_area *a, size_t i)
{
	return a->first + (uint64_t)a->cover[i] * ALIGNMENT;
}

/* The chunk from at to next is the one at the start of the pieces that begin there. */
static int note_cover(struct glibc_area *a, uint64_t at, uint64_t next)
{
	size_t from = index_of(a, at) + 1, to = index_of(a, next);

	if (to >= PIECES_MOST)
		return -ENOENT;
	if (to >= a->capacity) {
		size_t capacity = to + 1 + to / 2;
		uint32_t *cover = realloc(a->cover, capacity * sizeof(*cover));

		if (!cover)
			return -ENOMEM;
		a->cover = cover;
		a->capacity = capacity;
	}
	for (size_t i = from; i <= to; i++) {
		bool is_next = comm_piece_of(a->first) + i * COMM_PIECE_BYTES == next;

		a->cover[i] = (uint32_t)(((is_next ? next : at) - a->first) / ALIGNMENT);
	}
	if (to + 1 > a->n)
		a->n = to + 1;
	return 0;
}

static void tell(const struct glibc_area *a, uint64_t at, uint64_t size,
		 struct comm_block_list *list)
{
	unsigned int unit = a->flags & IS_MAPPED ? PAGE : ALIGNMENT;
	struct comm_block *b;

	/* The first chunk of a heap has the allocator's own cache of free chunks. */
	if ((at == a->first && !(a->flags & IS_MAPPED)) || list->n == COMM_PIECE_BLOCKS)
		return;
	b = &list->block[list->n];
	*b = (struct comm_block){
		.start = at + HEADER_BYTES,
		.size_bytes =
			size - (a->flags & IS_MAPPED ? OVERHEAD_MAPPED_BYTES : OVERHEAD_BYTES),
	};
	b->least_bytes = size <= CHUNK_LEAST || size <= unit ? 0 : b->size_bytes - unit + 1;
	list->n++;
}

/*
 * Goes through the chunks from at on until one reaches beyond the piece, or there are no more, and
 * tells those in use that begin in it, unless list is NULL.  *ret: where it ended.
 */
static int go(struct glibc_area *a, struct view *view, uint64_t end, uint64_t piece, uint64_t at,
	      struct comm_block_list *list, uint64_t *ret)
{
	uint64_t piece_end = piece + COMM_PIECE_BYTES, next;
	struct chunk chunk, after = {0};
	unsigned int before = 0;
	int err;

	for (;; at = next) {
		*ret = at;
		if (at >= end)
			return 0;
		err = look(view, at, piece, &chunk);
		if (err)
			return err;
		/* Another mapping beside those of large chunks, or the end of a full heap. */
		if (a->flags & IS_MAPPED ? !is_chunk(a, &chunk, at, end)
					 : size_of(&chunk) <= FENCEPOST_BYTES)
			return 0;
		if (!is_chunk(a, &chunk, at, UINT64_MAX))
			return -EPROTO;
		/* What was not cut into chunks yet is the last one; the heap may have grown since. */
		if (size_of(&chunk) >= end - at && !(a->flags & IS_MAPPED))
			return 0;
		next = at + size_of(&chunk);
		if (!(a->flags & IS_MAPPED)) {
			err = look(view, next, piece, &after);
			if (err)
				return err;
			if (after.word & PREV_IN_USE ? (chunk.word & NOT_MAIN) != a->flags
						     : after.prev_bytes != size_of(&chunk))
				return -EPROTO;
		}
		if (list && comm_piece_of(at + HEADER_BYTES) == piece &&
		    (a->flags & IS_MAPPED || after.word & PREV_IN_USE))
			tell(a, at, size_of(&chunk), list);
		err = note_cover(a, at, next);
		if (err)
			return err;
		if (next >= piece_end) {
			*ret = next;
			return 0;
		}
		if (at < piece && ++before > HOPS_BEFORE)
			return -EAGAIN;
	}
}

/*
 * The i-th piece contradicts itself: the chunk at its start has become a part of a larger one, which what is
 * farther in front knows.  With each failure farther, and at last from the start of it all, where
 * nothing can be wrong.
 */
static void go_back(struct glibc_area *a, size_t i)
{
	bool is_going = a->again < a->again_end;

	if (!is_going || i < a->again)
		a->again = i;
	if (!is_going || i > a->again_end)
		a->again_end = i;
	a->back = a->back < BACK_LEAST ? BACK_LEAST : 2 * a->back;
	if (a->again > a->back) {
		a->again -= a->back;
	} else {
		a->again = 0;
		a->back = 0;
	}
}

/* One step: through the piece that is to be gone through again, or beyond all that are known. */
static int step(struct glibc_area *a, const struct comm_marks_memory *memory, uint64_t end)
{
	bool is_again = a->again < a->again_end && a->again < a->n;
	uint64_t at = is_again ? cover_of(a, a->again) : a->next, next, piece;
	struct comm_seen seen;
	struct view view = {.memory = memory, .seen = &seen};
	int err;

	piece = is_again ? comm_piece_of(a->first) + a->again * COMM_PIECE_BYTES
			 : comm_piece_of(at);
	seen.start = seen.n = 0;
	view.upto = piece + COMM_PIECE_BYTES + BEHIND_BYTES;
	err = go(a, &view, end, piece, at, NULL, &next);
	if (!err && next < piece + COMM_PIECE_BYTES)
		err = -ENOENT;
	if (err == -EPROTO || err == -ENOENT)
		go_back(a, is_again ? a->again : a->n - 1);
	if (is_again && !err)
		a->again = index_of(a, next);
	if (!is_again)
		a->next = err ? cover_of(a, a->n - 1) : next;
	return err;
}

static int glibc_enter(void *state, const struct comm_marks_memory *memory,
		       const struct comm_range *area, uint64_t piece, uint64_t *ret)
{
	struct glibc_area *a = state;
	uint64_t block;
	int err;

	if (piece < comm_piece_of(a->first) || piece >= area->end)
		return -ENOENT;
	if (a->next > area->end) { /* the heap has shrunk */
		if (index_of(a, area->end) < a->n)
			a->n = index_of(a, area->end) + 1;
		a->next = cover_of(a, a->n - 1);
	}
	if (index_of(a, piece) >= a->n || a->again < a->again_end) {
		err = step(a, memory, area->end);
		if (index_of(a, piece) >= a->n)
			return err ? err : -EAGAIN;
	}
	block = cover_of(a, index_of(a, piece)) + HEADER_BYTES;
	*ret = block < piece ? block : 0;
	return 0;
}

static int glibc_read(void *state, const struct comm_marks_memory *memory,
		      const struct comm_range *area, uint64_t piece, bool is_far,
		      struct comm_block_list *ret)
{
	struct glibc_area *a = state;
	struct view view = {memory, piece + COMM_PIECE_BYTES + BEHIND_BYTES, ret->seen};
	size_t i = index_of(a, piece), from = !is_far ? i : i < IN_FRONT ? 0 : i - IN_FRONT;
	uint64_t next;
	int err;

	ret->n = 0;
	if (piece < comm_piece_of(a->first) || i >= a->n)
		return -ENOENT;
	/*
	 * What was freed and has become a part of a larger block may still look as it did: the piece does
	 * not contradict itself then, but those in front of it say where it begins, or contradict themselves, and then
	 * nothing is known of this one.  A chunk that still covers several of them is looked at once.
	 */
	for (size_t j = from; j < i; j++) {
		if (j > from && a->cover[j] == a->cover[j - 1])
			continue;
		err = go(a, &view, area->end, comm_piece_of(a->first) + j * COMM_PIECE_BYTES,
			 cover_of(a, j), NULL, &next);
		if (err == -EPROTO) {
			go_back(a, j);
			return err;
		}
	}
	err = go(a, &view, area->end, piece, cover_of(a, i), ret, &next);
	if (err == -EPROTO)
		go_back(a, i);
	return err;
}

static void glibc_close(void *state)
{
	struct glibc_area *a = state;

	if (a)
		free(a->cover);
	free(a);
}

static size_t glibc_state_bytes(const void *state)
{
	const struct glibc_area *a = state;

	return sizeof(*a) + a->capacity * sizeof(*a->cover);
}

/* An area whose first chunk is there; -ENOENT: it is none. */
static int make(const struct comm_marks_memory *memory, const struct comm_range *area,
		uint64_t first, uint64_t flags, void **ret)
{
	struct glibc_area *a = calloc(1, sizeof(*a));
	struct comm_seen seen;
	struct view view = {.memory = memory, .seen = &seen};
	struct chunk chunk;
	int err = -ENOMEM;

	seen.start = seen.n = 0;
	if (!a)
		return -ENOMEM;
	*a = (struct glibc_area){
		.first = first, .next = first, .flags = flags, .n = 1, .capacity = 1};
	a->cover = calloc(1, sizeof(*a->cover));
	if (a->cover)
		err = look(&view, first, UINT64_MAX, &chunk);
	/* Before the first chunk there is none that could be free. */
	if (!err && (!is_chunk(a, &chunk, first, area->end) || chunk.prev_bytes ||
		     (!(flags & IS_MAPPED) && !(chunk.word & PREV_IN_USE))))
		err = -ENOENT;
	if (err)
		glibc_close(a);
	else
		*ret = a;
	return err;
}

static bool is_plain(const struct comm_mapping *m)
{
	return m->kind == COMM_MAP_ANON && m->readable && m->writable && !m->shared && !m->path[0];
}

static bool heap_range(const struct comm_heap_place *place, struct comm_range *ret)
{
	*ret = (struct comm_range){place->m->start, place->m->end};
	return place->m->kind == COMM_MAP_HEAP;
}

static int heap_open(const struct comm_marks_memory *memory, const struct comm_heap_place *place,
		     const struct comm_range *area, void **ret)
{
	(void)place;
	return make(memory, area, area->start, 0, ret);
}

static bool arena_range(const struct comm_heap_place *place, struct comm_range *ret)
{
	uint64_t start = place->addr & ~(uint64_t)(HEAP_BYTES - 1), end = start + HEAP_BYTES;
	const struct comm_mapping *m = place->m;

	*ret = (struct comm_range){start, m->end < end ? m->end : end};
	return is_plain(m) && start >= m->start;
}

/* A heap begins with where its arena is; in the arena's first heap that is right behind this. */
static int arena_open(const struct comm_marks_memory *memory, const struct comm_heap_place *place,
		      const struct comm_range *area, void **ret)
{
	uint64_t info[2], info_bytes, first;
	ssize_t n = memory->read(memory->ctx, area->start, info, sizeof(info));

	(void)place;
	if (n != sizeof(info))
		return n < 0 ? (int)n : -ENOENT;
	info_bytes = info[0] - area->start;
	if (info_bytes <= HEAP_INFO_MOST) {
		first = info[0] + ARENA_BYTES;
	} else {
		/* A further heap: the arena is behind the same of the heap that it began with. */
		info_bytes = info[0] % HEAP_BYTES;
		first = area->start + info_bytes;
		if (info[1] % HEAP_BYTES || !info[1])
			return -ENOENT;
	}
	if (info_bytes > HEAP_INFO_MOST || info_bytes < sizeof(info) || info_bytes % 8)
		return -ENOENT;
	first = (first + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	return make(memory, area, first, NOT_MAIN, ret);
}

static bool mapped_range(const struct comm_heap_place *place, struct comm_range *ret)
{
	*ret = (struct comm_range){place->m->start, place->m->end};
	return is_plain(place->m);
}

static int mapped_open(const struct comm_marks_memory *memory, const struct comm_heap_place *place,
		       const struct comm_range *area, void **ret)
{
	(void)place;
	return make(memory, area, area->start, IS_MAPPED, ret);
}

const struct comm_allocator_ops comm_glibc_heap = {
	.range = heap_range,
	.open = heap_open,
	.close = glibc_close,
	.state_bytes = glibc_state_bytes,
	.enter = glibc_enter,
	.read = glibc_read,
};

const struct comm_allocator_ops comm_glibc_arena = {
	.range = arena_range,
	.open = arena_open,
	.close = glibc_close,
	.state_bytes = glibc_state_bytes,
	.enter = glibc_enter,
	.read = glibc_read,
};

const struct comm_allocator_ops comm_glibc_mapped = {
	.range = mapped_range,
	.open = mapped_open,
	.close = glibc_close,
	.state_bytes = glibc_state_bytes,
	.enter = glibc_enter,
	.read = glibc_read,
};
