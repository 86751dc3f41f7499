/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shadow.h"

#include <stddef.h>

#include "memory.h"

enum {
	PAGE = 4096,
	INLINE_THREADS = 6,
	BIG_OBJECT_BYTES = 8 * PAGE,
};

#define IN_CHUNK ((uint64_t)COMM_SHADOW_CHUNK_BYTES - 1)

/* Sorted by thread; beyond INLINE_THREADS they lie in a block of their own. */
struct comm_reader_set {
	uint32_t n, capacity; /* capacity 0: inline */
	union {
		uint32_t few[INLINE_THREADS];
		uint32_t *many;
	};
};

void comm_shadow_init(struct comm_shadow *shadow, uint32_t granule_bytes)
{
	uint64_t words;

	*shadow = (struct comm_shadow){0};
	while (1u << shadow->shift < granule_bytes)
		shadow->shift++;
	words = COMM_SHADOW_CHUNK_BYTES >> shadow->shift;
	shadow->object_offset = words * sizeof(uint64_t);
	if (shadow->object_offset < PAGE)
		shadow->object_offset = PAGE;
	shadow->page_offset = shadow->object_offset + COMM_SHADOW_CHUNK_BYTES / 8 * 4;
	shadow->set_offset = shadow->page_offset + COMM_SHADOW_CHUNK_BYTES / PAGE * 4;
	shadow->chunk_bytes = (shadow->set_offset + words * 4 + PAGE - 1) & ~(PAGE - 1ull);
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

static bool set_add(struct comm_reader_set *set, uint32_t thread)
{
	uint32_t *list = set->capacity ? set->many : set->few;
	uint32_t room = set->capacity ? set->capacity : INLINE_THREADS;
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
	if (set->n == room) {
		uint32_t *grown = comm_mem_realloc(set->capacity ? set->many : NULL,
						   room * 2 * sizeof(*grown));

		if (!set->capacity)
			__builtin_memcpy(grown, set->few, sizeof(set->few));
		set->many = list = grown;
		set->capacity = room * 2;
	}
	for (uint32_t i = set->n; i > low; i--)
		list[i] = list[i - 1];
	list[low] = thread;
	set->n++;
	return true;
}

bool comm_shadow_others_read(struct comm_shadow *shadow, uint8_t *chunk, uint64_t addr,
			     uint32_t thread)
{
	uint64_t *word = comm_shadow_word(chunk, addr, shadow->shift);
	uint32_t *index =
		(uint32_t *)(chunk + shadow->set_offset) + ((addr & IN_CHUNK) >> shadow->shift);

	if (!*index) {
		if (shadow->n_sets >= shadow->set_capacity) {
			shadow->set_capacity = shadow->set_capacity ? 2 * shadow->set_capacity : 64;
			shadow->set = comm_mem_realloc(shadow->set, (size_t)shadow->set_capacity *
									    sizeof(*shadow->set));
		}
		*index = shadow->n_sets++;
		shadow->set[*index] = (struct comm_reader_set){0};
	}
	if (!(*word & COMM_SHADOW_OTHERS)) {
		/* Written since: what the set holds is of an older value. */
		shadow->set[*index].n = 0;
		*word |= COMM_SHADOW_OTHERS;
	}
	return set_add(&shadow->set[*index], thread);
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

void comm_shadow_clear(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes)
{
	uint64_t end = addr + len_bytes;

	while (addr < end) {
		uint8_t *chunk = chunk_if_any(shadow, addr);
		uint64_t stop = (addr | IN_CHUNK) + 1;
		uint64_t last = (stop < end ? stop : end) - 1;
		uint64_t from = addr & IN_CHUNK, to = last & IN_CHUNK;

		addr = stop;
		if (!chunk)
			continue;
		zero(chunk + (from >> shadow->shift) * 8,
		     ((to >> shadow->shift) - (from >> shadow->shift) + 1) * 8);
		zero(chunk + shadow->object_offset + (from >> 3) * 4,
		     ((to >> 3) - (from >> 3) + 1) * 4);
		zero(chunk + shadow->page_offset + (from >> 12) * 4,
		     ((to >> 12) - (from >> 12) + 1) * 4);
	}
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
		for (uint64_t at = 0; at < step; at += granule)
			*comm_shadow_word(new, dst + at, shadow->shift) =
				*comm_shadow_word(old, src + at, shadow->shift) &
				~COMM_SHADOW_OTHERS;
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

void comm_shadow_set_page(struct comm_shadow *shadow, uint64_t addr, uint32_t object)
{
	uint8_t *chunk = comm_shadow_chunk(shadow, addr);

	((uint32_t *)(chunk + shadow->page_offset))[(addr & IN_CHUNK) >> 12] = object;
}
