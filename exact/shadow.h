/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shadow: for each granule of the target's memory, who wrote it last and
 * which threads have read it since; for each eight bytes, which object they
 * belong to.
 *
 * A two-level direct table: the address's upper bits pick a chunk of 4 MiB, the
 * lower ones a 64-bit word in it: the last writer's actor (table.h) in the low
 * half, the readers in the high half.  Bits 32..62 are the threads 0..30; bit
 * 63 says that the granule's reader set (a sorted list of all other threads
 * that have read it) holds since that write.  A write stores the whole word, so
 * it empties both sets without looking at either, and the answer is exact for
 * any number of threads.
 *
 * Beside each word stands when it was written, by the caller's clock.
 *
 * Memory that may be mapped at several places (backing.h) has its words, sets and times in the backing, which chunks show, a
 * page of the target's memory at a time.  So there is a word for each eight bytes at least: granules of more use one
 * in several.
 *
 * Chunks are mapped whole and backed by pages only where touched, so a sparse
 * address space costs what it uses.  Addresses wrap at 47 bits: others fault
 * anyway.  One thread at a time.
 */
#ifndef COMM_EXACT_SHADOW_H
#define COMM_EXACT_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"

enum {
	COMM_SHADOW_CHUNK_SHIFT = 22,
	COMM_SHADOW_CHUNK_BYTES = 1 << COMM_SHADOW_CHUNK_SHIFT,
	COMM_SHADOW_CHUNKS = 1 << (47 - COMM_SHADOW_CHUNK_SHIFT),
	COMM_SHADOW_THREADS = 31, /* that have a bit of their own */
	COMM_SHADOW_MAX_GRANULE = 4096,
	COMM_SHADOW_MAX_SHIFT = 3, /* log2 of the bytes that have a word */
	COMM_SHADOW_PAGE_BYTES = 4096,
	/* Of the backing: so many pieces, each of so many pages of the target's memory. */
	COMM_SHADOW_PIECES = 64,
	COMM_SHADOW_PIECE_PAGES = 1 << 14,
	COMM_SHADOW_SETS = 1 << 20,
	COMM_SHADOW_SET_LISTS = 1 << 24,
};

#define COMM_SHADOW_OTHERS (1ull << 63)

struct comm_reader_set;

struct comm_shadow {
	uint8_t **chunk; /* COMM_SHADOW_CHUNKS pointers */
	uint32_t shift;	 /* log2 of the granule in bytes */
	uint64_t object_offset, page_offset, set_offset, time_offset, shown_offset, chunk_bytes;
	struct comm_reader_set *set; /* 0 is no set */
	uint32_t n_sets, set_capacity;
	/* Of memory that shows the backing: all processes' sets, and their lists. */
	struct comm_array shared_sets, shared_lists;
	uint8_t *piece[COMM_SHADOW_PIECES];
	uint64_t n_chunks;
};

/* granule_bytes: a power of two, 1..4096. */
void comm_shadow_init(struct comm_shadow *shadow, uint32_t granule_bytes);
void comm_shadow_deinit(struct comm_shadow *shadow);

uint8_t *comm_shadow_add_chunk(struct comm_shadow *shadow, uint64_t addr);

static inline uint8_t *comm_shadow_chunk(struct comm_shadow *shadow, uint64_t addr)
{
	uint8_t *chunk =
		shadow->chunk[(addr >> COMM_SHADOW_CHUNK_SHIFT) & (COMM_SHADOW_CHUNKS - 1)];

	return __builtin_expect(chunk != NULL, 1) ? chunk : comm_shadow_add_chunk(shadow, addr);
}

/* The number of a granule's word, or of its set, in the chunk. */
static inline uint64_t comm_shadow_index(uint64_t addr, uint32_t shift)
{
	uint64_t at = addr & (COMM_SHADOW_CHUNK_BYTES - 1);

	return shift <= COMM_SHADOW_MAX_SHIFT ? at >> shift
					      : at >> shift << (shift - COMM_SHADOW_MAX_SHIFT);
}

static inline uint64_t *comm_shadow_word(uint8_t *chunk, uint64_t addr, uint32_t shift)
{
	return (uint64_t *)chunk + comm_shadow_index(addr, shift);
}

/* When the granule was written that the word is of. */
static inline uint64_t *comm_shadow_time(const struct comm_shadow *shadow, uint64_t *word)
{
	return word + shadow->time_offset / sizeof(*word);
}

/* The bit of a thread in a word: its own, or the one all others share. */
static inline uint64_t comm_shadow_bit(uint32_t thread)
{
	return thread < COMM_SHADOW_THREADS ? 1ull << (32 + thread) : COMM_SHADOW_OTHERS;
}

/*
 * A thread without a bit of its own reads: true the first time since the last
 * write.  Keeps word and set in step.
 */
bool comm_shadow_others_read(struct comm_shadow *shadow, uint8_t *chunk, uint64_t addr,
			     uint32_t thread);

/* Any thread reads or writes one granule: the plain forms, for rare callers. */
bool comm_shadow_read(struct comm_shadow *shadow, uint64_t addr, uint32_t thread,
		      uint32_t *ret_writer);
void comm_shadow_write(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
		       uint32_t writer);

/* The range is new memory: no writer, no reader, no object. */
void comm_shadow_clear(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes);
/* Likewise, but objects stay: what was there is given back to the kernel. */
void comm_shadow_forget(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes);
/* mremap: writers and objects move along (readers too, thread bits only). */
void comm_shadow_move(struct comm_shadow *shadow, uint64_t from, uint64_t to, uint64_t len_bytes);

/* Objects: eight bytes each, or a page of 4096 as a whole; 0 is unknown. */
static inline uint32_t comm_shadow_object(const struct comm_shadow *shadow, const uint8_t *chunk,
					  uint64_t addr)
{
	uint64_t at = addr & (COMM_SHADOW_CHUNK_BYTES - 1);
	uint32_t object = ((const uint32_t *)(chunk + shadow->object_offset))[at >> 3];

	return object ? object : ((const uint32_t *)(chunk + shadow->page_offset))[at >> 12];
}

void comm_shadow_set_object(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
			    uint32_t object);
/* Where the object that was set for this range is still there, another one is. */
void comm_shadow_replace_object(struct comm_shadow *shadow, uint64_t addr, uint64_t len_bytes,
				uint32_t from, uint32_t to);
void comm_shadow_set_page(struct comm_shadow *shadow, uint64_t addr, uint32_t object);

/* What backing.h wants: pages of the target's memory show a page of the backing, or have a copy of it. */
void comm_shadow_show(struct comm_shadow *shadow, uint64_t addr, uint64_t pages, uint32_t backing);
void comm_shadow_copy(struct comm_shadow *shadow, uint64_t addr, uint64_t pages, uint32_t backing);
void comm_shadow_empty(struct comm_shadow *shadow, uint32_t backing);
uint32_t *comm_shadow_shown(struct comm_shadow *shadow, uint64_t addr);

#endif
