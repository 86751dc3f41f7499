/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shadow.h"

#include <stddef.h>

#include "memory.h"

enum {
	PAGE = COMM_SHADOW_PAGE_BYTES,
	INLINE_THREADS = 6,
	BIG_OBJECT_BYTES = 8 * PAGE,
};

#define IN_CHUNK ((uint64_t)COMM_SHADOW_CHUNK_BYTES - 1)

/* Sorted by thread; beyond INLINE_THREADS they lie in a block of their own, which shared sets leave for a larger one. */
struct comm_reader_set {
	uint32_t n, capacity; /* capacity 0: inline */
	union {
		uint32_t few[INLINE_THREADS];
		uint32_t *many;
	};
};

static uint32_t word_shift(const struct comm_shadow *shadow)
{
	return shadow->shift < COMM_SHADOW_MAX_SHIFT ? shadow->shift : COMM_SHADOW_MAX_SHIFT;
}

/* How many bytes of words, or of sets, a page of the target's memory has. */
static uint64_t page_words(const struct comm_shadow *shadow)
{
	return PAGE * sizeof(uint64_t) >> word_shift(shadow);
}

void comm_shadow_init(struct comm_shadow *shadow, uint32_t granule_bytes)
{
	uint64_t words;

	*shadow = (struct comm_shadow){0};
	while (1u << shadow->shift < granule_bytes)
		shadow->shift++;
	words = COMM_SHADOW_CHUNK_BYTES >> word_shift(shadow);
	shadow->object_offset = words * sizeof(uint64_t);
	shadow->page_offset = shadow->object_offset + COMM_SHADOW_CHUNK_BYTES / 8 * 4;
	shadow->shown_offset = shadow->page_offset + COMM_SHADOW_CHUNK_BYTES / PAGE * 4;
	shadow->set_offset = shadow->shown_offset + COMM_SHADOW_CHUNK_BYTES / PAGE * 4;
	shadow->time_offset = shadow->set_offset + words * sizeof(uint64_t);
	shadow->chunk_bytes = shadow->time_offset + words * sizeof(uint64_t);
	comm_array_init(&shadow->shared_sets, sizeof(struct comm_reader_set), COMM_SHADOW_SETS);
	comm_array_init(&shadow->shared_lists, sizeof(uint32_t), COMM_SHADOW_SET_LISTS);
	comm_array_add(&shadow->shared_sets, 1);
	for (uint32_t i = 0; i < COMM_SHADOW_PIECES; i++)
		shadow->piece[i] =
			comm_mem_map_shared(3 * COMM_SHADOW_PIECE_PAGES * page_words(shadow));
	shadow->chunk = comm_mem_map(COMM_SHADOW_CHUNKS * sizeof(*shadow->chunk));
	shadow->n_sets = 1;
}

void comm_shadow_deinit(struct comm_shadow *shadow)
{
	/* Only native tests end this way: a tool ends with its process. */
	for (uint64_t i = 0; shadow->n_chunks; i++) {
		if (!shadow->chunk[i])
			continue;
		comm_mem_unmap(shadow->chunk[i], shadow->chunk_bytes);
		shadow->n_chunks--;
	}
	comm_mem_unmap(shadow->chunk, COMM_SHADOW_CHUNKS * sizeof(*shadow->chunk));
	for (uint32_t i = 1; i < shadow->n_sets; i++) {
		if (shadow->set[i].capacity)
			comm_mem_free(shadow->set[i].many);
	}
	comm_mem_free(shadow->set);
	comm_array_deinit(&shadow->shared_sets);
	comm_array_deinit(&shadow->shared_lists);
	for (uint32_t i = 0; i < COMM_SHADOW_PIECES; i++)
		comm_mem_unmap(shadow->piece[i], 3 * COMM_SHADOW_PIECE_PAGES * page_words(shadow));
	*shadow = (struct comm_shadow){0};
}

uint8_t *comm_shadow_add_chunk(struct comm_shadow *shadow, uint64_t addr)
{
	uint8_t **slot =
		&shadow->chunk[(addr >> COMM_SHADOW_CHUNK_SHIFT) & (COMM_SHADOW_CHUNKS - 1)];

	*slot = comm_mem_map(shadow->chunk_bytes);
	shadow->n_chunks++;
	return *slot;
}

static uint8_t *chunk_if_any(const struct comm_shadow *shadow, uint64_t addr)
{
	return shadow->chunk[(addr >> COMM_SHADOW_CHUNK_SHIFT) & (COMM_SHADOW_CHUNKS - 1)];
}

/* A list of twice the room; of a shared set: on memory that all processes have. */
static void grow_set(struct comm_shadow *shadow, struct comm_reader_set *set, bool is_shared)
{
	uint32_t capacity = set->capacity ? set->capacity : INLINE_THREADS;
	uint32_t *old = set->capacity ? set->many : NULL, *grown;

	if (is_shared)
		grown = comm_array_at(&shadow->shared_lists,
				      comm_array_add(&shadow->shared_lists, capacity * 2));
	else
		grown = comm_mem_realloc(old, capacity * 2 * sizeof(*grown));
	if (!old)
		__builtin_memcpy(grown, set->few, sizeof(set->few));
	else if (is_shared)
		__builtin_memcpy(grown, old, capacity * sizeof(*grown));
	set->many = grown;
	set->capacity = capacity * 2;
}

static bool set_add(struct comm_shadow *shadow, struct comm_reader_set *set, uint32_t thread,
		    bool is_shared)
{
	uint32_t *list = set->capacity ? set->many : set->few;
	uint32_t capacity = set->capacity ? set->capacity : INLINE_THREADS;
	uint32_t low = 0, high = set->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (list[mid] == thread)
			return false;
		if (list[mid] < thread)
			low = mid + 1;
		else
			high = mid;
	}
	if (set->n == capacity) {
		grow_set(shadow, set, is_shared);
		list = set->many;
	}
	for (uint32_t i = set->n; i > low; i--)
		list[i] = list[i - 1];
	list[low] = thread;
	set->n++;
	return true;
}

static uint64_t new_set(struct comm_shadow *shadow, bool is_shared)
{
	if (is_shared)
		return comm_array_add(&shadow->shared_sets, 1);
	if (shadow->n_sets >= shadow->set_capacity) {
		shadow->set_capacity = shadow->set_capacity ? 2 * shadow->set_capacity : 64;
		shadow->set = comm_mem_realloc(shadow->set,
					       (size_t)shadow->set_capacity * sizeof(*shadow->set));
	}
	shadow->set[shadow->n_sets] = (struct comm_reader_set){0};
	return shadow->n_sets++;
}

bool comm_shadow_others_read(struct comm_shadow *shadow, uint8_t *chunk, uint64_t addr,
			     uint32_t thread)
{
	uint64_t *word = comm_shadow_word(chunk, addr, shadow->shift);
	uint64_t *index =
		(uint64_t *)(chunk + shadow->set_offset) + comm_shadow_index(addr, shadow->shift);
	bool is_shared = *comm_shadow_shown(shadow, addr);
	struct comm_reader_set *set;

	if (!*index)
		*index = new_set(shadow, is_shared);
	set = is_shared ? comm_array_at(&shadow->shared_sets, *index) : &shadow->set[*index];
	if (!(*word & COMM_SHADOW_OTHERS)) {
		/* Written since: what the set holds is of an older value. */
		set->n = 0;
		*word |= COMM_SHADOW_OTHERS;
	}
	return set_add(shadow, set, thread, is_shared);
}

bool comm_shadow_read(struct comm_shadow *shadow, uint64_t addr, uint32_t thread,
		      uint32_t *ret_writer)
{
	uint8_t *chunk = comm_shadow_chunk(shadow, addr);
	uint64_t *word = comm_shadow_word(chunk, addr, shadow->shift);
	uint64_t bit = comm_shadow_bit(thread);

	*ret_writer = (uint32_t)*word;
	if (bit == COMM_SHADOW_OTHERS)
		return comm_shadow_others_read(shadow, chunk, addr, thread);
	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}

void comm_shadow_write(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
		       uint32_t writer)
{
	uint64_t end = addr + len_bytes;

	for (uint64_t at = addr >> shadow->shift << shadow->shift; at < end;) {
		uint8_t *chunk = comm_shadow_chunk(shadow, at);
		uint64_t stop = (at | IN_CHUNK) + 1;

		for (; at < end && at < stop; at += 1ull << shadow->shift)
			*comm_shadow_word(chunk, at, shadow->shift) = writer;
	}
}

/* Zeroes, giving whole pages back: mmap of gigabytes must not touch them all. */
static void zero(uint8_t *start, uint64_t len_bytes)
{
	uint8_t *page = (uint8_t *)(((uintptr_t)start + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	uint8_t *end = start + len_bytes;
	uint8_t *last = (uint8_t *)((uintptr_t)end & ~(uintptr_t)(PAGE - 1));

	if (last < page + 4 * PAGE) {
		__builtin_memset(start, 0, len_bytes);
		return;
	}
	__builtin_memset(start, 0, page - start);
	comm_mem_drop(page, last - page);
	__builtin_memset(last, 0, end - last);
}

/* Pages that show the backing have words of their own again. */
static void hide(struct comm_shadow *shadow, uint8_t *chunk, uint64_t from, uint64_t to)
{
	uint32_t *shown = (uint32_t *)(chunk + shadow->shown_offset);
	uint64_t bytes = page_words(shadow);

	for (uint64_t page = from / PAGE; page <= to / PAGE; page++) {
		if (!shown[page])
			continue;
		comm_mem_hide(chunk + page * bytes, bytes);
		comm_mem_hide(chunk + shadow->set_offset + page * bytes, bytes);
		comm_mem_hide(chunk + shadow->time_offset + page * bytes, bytes);
	}
}

static void clear(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes, bool objects)
{
	uint64_t end = addr + len_bytes;
	uint32_t shift = shadow->shift;

	while (addr < end) {
		uint8_t *chunk = chunk_if_any(shadow, addr);
		uint64_t stop = (addr | IN_CHUNK) + 1;
		uint64_t last = (stop < end ? stop : end) - 1;
		uint64_t from = addr & IN_CHUNK, to = last & IN_CHUNK;
		uint64_t first = comm_shadow_index(from, shift);

		addr = stop;
		if (!chunk)
			continue;
		hide(shadow, chunk, from, to);
		zero(chunk + first * 8, (comm_shadow_index(to, shift) - first + 1) * 8);
		zero(chunk + shadow->time_offset + first * 8,
		     (comm_shadow_index(to, shift) - first + 1) * 8);
		if (!objects)
			continue;
		zero(chunk + shadow->object_offset + (from >> 3) * 4,
		     ((to >> 3) - (from >> 3) + 1) * 4);
		zero(chunk + shadow->page_offset + (from >> 12) * 4,
		     ((to >> 12) - (from >> 12) + 1) * 4);
	}
}

void comm_shadow_clear(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes)
{
	clear(shadow, addr, len_bytes, true);
}

void comm_shadow_forget(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes)
{
	clear(shadow, addr, len_bytes, false);
}

/* Words of a page of the backing; its sets are as many bytes behind all words of the piece, its times behind those. */
static uint8_t *backing_words(const struct comm_shadow *shadow, uint32_t backing)
{
	return shadow->piece[backing / COMM_SHADOW_PIECE_PAGES] +
	       backing % COMM_SHADOW_PIECE_PAGES * page_words(shadow);
}

static uint8_t *backing_sets(const struct comm_shadow *shadow, uint32_t backing)
{
	return backing_words(shadow, backing) + COMM_SHADOW_PIECE_PAGES * page_words(shadow);
}

static uint8_t *backing_times(const struct comm_shadow *shadow, uint32_t backing)
{
	return backing_sets(shadow, backing) + COMM_SHADOW_PIECE_PAGES * page_words(shadow);
}

void comm_shadow_show(struct comm_shadow *shadow, uint64_t addr, uint64_t pages, uint32_t backing)
{
	const uint64_t bytes = page_words(shadow);
	uint64_t n;

	for (; pages; pages -= n, addr += n * PAGE, backing += n) {
		uint8_t *chunk = comm_shadow_chunk(shadow, addr);
		uint64_t page = (addr & IN_CHUNK) / PAGE, at = page * bytes;
		uint64_t in_chunk = COMM_SHADOW_CHUNK_BYTES / PAGE - page;
		uint64_t in_piece = COMM_SHADOW_PIECE_PAGES - backing % COMM_SHADOW_PIECE_PAGES;

		n = in_chunk < in_piece ? in_chunk : in_piece;
		n = n < pages ? n : pages;
		comm_mem_show(chunk + at, backing_words(shadow, backing), n * bytes);
		comm_mem_show(chunk + shadow->set_offset + at, backing_sets(shadow, backing),
			      n * bytes);
		comm_mem_show(chunk + shadow->time_offset + at, backing_times(shadow, backing),
			      n * bytes);
	}
}

void comm_shadow_copy(struct comm_shadow *shadow, uint64_t addr, uint64_t pages, uint32_t backing)
{
	uint64_t words = page_words(shadow) / sizeof(uint64_t);

	for (uint64_t end = addr + pages * PAGE; addr < end; addr += PAGE, backing++) {
		const uint64_t *from = (const uint64_t *)backing_words(shadow, backing);
		uint64_t *to =
			comm_shadow_word(comm_shadow_chunk(shadow, addr), addr, shadow->shift);

		for (uint64_t i = 0; i < words; i++)
			to[i] = from[i] & ~COMM_SHADOW_OTHERS;
		__builtin_memcpy(comm_shadow_time(shadow, to), backing_times(shadow, backing),
				 page_words(shadow));
	}
}

void comm_shadow_empty(struct comm_shadow *shadow, uint32_t backing)
{
	__builtin_memset(backing_words(shadow, backing), 0, page_words(shadow));
}

uint32_t *comm_shadow_shown(struct comm_shadow *shadow, uint64_t addr)
{
	uint8_t *chunk = comm_shadow_chunk(shadow, addr);

	return (uint32_t *)(chunk + shadow->shown_offset) + (addr & IN_CHUNK) / PAGE;
}

void comm_shadow_move(struct comm_shadow *shadow, uint64_t from, uint64_t to, uint64_t len_bytes)
{
	uint64_t granule = 1ull << shadow->shift;
	uint64_t step = granule > PAGE ? granule : PAGE;

	for (uint64_t done = 0; done < len_bytes; done += step) {
		uint64_t src = from + done, dst = to + done;
		uint8_t *old = chunk_if_any(shadow, src), *new;

		if (!old)
			continue;
		new = comm_shadow_chunk(shadow, dst);
		for (uint64_t at = 0; at < step; at += granule) {
			uint64_t *was = comm_shadow_word(old, src + at, shadow->shift);
			uint64_t *is = comm_shadow_word(new, dst + at, shadow->shift);

			*is = *was & ~COMM_SHADOW_OTHERS;
			*comm_shadow_time(shadow, is) = *comm_shadow_time(shadow, was);
		}
		__builtin_memcpy(new + shadow->object_offset + ((dst & IN_CHUNK) >> 3) * 4,
				 old + shadow->object_offset + ((src & IN_CHUNK) >> 3) * 4,
				 step / 8 * 4);
		((uint32_t *)(new + shadow->page_offset))[(dst & IN_CHUNK) >> 12] =
			((uint32_t *)(old + shadow->page_offset))[(src & IN_CHUNK) >> 12];
	}
}

static void set_words(struct comm_shadow *shadow, uint64_t addr, uint64_t end, uint32_t object)
{
	while (addr < end) {
		uint8_t *chunk = comm_shadow_chunk(shadow, addr);
		uint64_t stop = (addr | IN_CHUNK) + 1;
		uint32_t *slot = (uint32_t *)(chunk + shadow->object_offset);

		if (stop > end)
			stop = end;
		for (uint64_t i = (addr & IN_CHUNK) >> 3; i <= ((stop - 1) & IN_CHUNK) >> 3; i++)
			slot[i] = object;
		addr = stop;
	}
}

void comm_shadow_set_object(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
			    uint32_t object)
{
	uint64_t end = addr + len_bytes;
	uint64_t first = (addr + PAGE - 1) & ~(PAGE - 1ull), last = end & ~(PAGE - 1ull);

	if (len_bytes < BIG_OBJECT_BYTES) {
		set_words(shadow, addr, end, object);
		return;
	}
	/* Whole pages by their page: that takes a five hundredth of the memory. */
	set_words(shadow, addr, first, object);
	set_words(shadow, last, end, object);
	while (first < last) {
		uint8_t *chunk = comm_shadow_chunk(shadow, first);
		uint64_t stop = (first | IN_CHUNK) + 1;
		uint64_t from = first & IN_CHUNK;

		if (stop > last)
			stop = last;
		zero(chunk + shadow->object_offset + (from >> 3) * 4, (stop - first) >> 3 << 2);
		for (; first < stop; first += PAGE)
			((uint32_t *)(chunk + shadow->page_offset))[(first & IN_CHUNK) >> 12] =
				object;
	}
}

static void replace_words(struct comm_shadow *shadow, uint64_t addr, uint64_t end, uint32_t from,
			  uint32_t to)
{
	uint64_t at, stop;

	for (; addr < end; addr = stop) {
		uint8_t *chunk = chunk_if_any(shadow, addr);

		stop = (addr | IN_CHUNK) + 1;
		stop = stop < end ? stop : end;
		for (at = addr & ~7ull; chunk && at < stop; at += 8) {
			uint32_t *slot = (uint32_t *)(chunk + shadow->object_offset) +
					 ((at & IN_CHUNK) >> 3);

			if (*slot == from)
				*slot = to;
		}
	}
}

static void replace_page(struct comm_shadow *shadow, uint64_t addr, uint32_t from, uint32_t to)
{
	uint8_t *chunk = chunk_if_any(shadow, addr);
	uint32_t *page;

	if (!chunk)
		return;
	page = (uint32_t *)(chunk + shadow->page_offset) + ((addr & IN_CHUNK) >> 12);
	if (*page == from)
		*page = to;
}

void comm_shadow_replace_object(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
				uint32_t from, uint32_t to)
{
	uint64_t end = addr + len_bytes;
	uint64_t first = (addr + PAGE - 1) & ~(PAGE - 1ull), last = end & ~(PAGE - 1ull);

	if (len_bytes < BIG_OBJECT_BYTES) {
		replace_words(shadow, addr, end, from, to);
		return;
	}
	replace_words(shadow, addr, first, from, to);
	replace_words(shadow, last, end, from, to);
	for (; first < last; first += PAGE)
		replace_page(shadow, first, from, to);
}

void comm_shadow_set_page(struct comm_shadow *shadow, uint64_t addr, uint32_t object)
{
	uint8_t *chunk = comm_shadow_chunk(shadow, addr);

	((uint32_t *)(chunk + shadow->page_offset))[(addr & IN_CHUNK) >> 12] = object;
}
