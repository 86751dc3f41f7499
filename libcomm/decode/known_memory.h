/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a burst knows of the target's memory: bytes captured with the sample,
 * bytes the burst stored since, and constant bytes of files.  64-byte lines,
 * each made when first touched, with a bit per byte that is known.
 *
 * A store whose address is not known may hit anything that is not constant:
 * comm_memory_wild().
 */
#ifndef COMM_KNOWN_MEMORY_H
#define COMM_KNOWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "event.h"
#include "hash.h"

enum {
	COMM_MEMORY_SLOTS = 1024,
	COMM_MEMORY_LINES = 640, /* in use at once; beyond, nothing is known */
	COMM_MEMORY_RANGES = 4,
};

struct comm_value {
	uint64_t bits;
	uint64_t known; /* bit mask; unknown bits are 0 in .bits */
};

struct comm_known_line {
	uint64_t addr;
	uint64_t known; /* bit per byte */
	uint32_t epoch; /* of the burst that filled the line; others are free */
	uint32_t wild;	/* comm_known_memory.wild when the line was last valid */
	uint32_t constant;
	float ready[8]; /* when a store to these 8 bytes has its data */
	uint8_t data[64];
};

/* Gives constant file bytes for a line; false when the line is not constant. */
typedef bool comm_memory_constant(void *ctx, uint64_t line_addr, uint8_t data[64]);

struct comm_known_memory {
	uint32_t epoch, wild, n_lines, n_chunks, n_ranges;
	struct {
		uint64_t addr, end;
		const uint8_t *data;
	} chunk[COMM_SAMPLE_CHUNKS];
	/* Memory overwritten with unknown bytes, too long to be kept as lines. */
	struct {
		uint64_t addr, end;
	} range[COMM_MEMORY_RANGES];
	comm_memory_constant *constant;
	void *ctx;
	struct comm_known_line *last; /* the line asked for last, often the next too */
	struct comm_known_line none;
	struct comm_known_line line[COMM_MEMORY_SLOTS];
};

/* Zeroed memory is a valid start.  The sample must outlive the burst. */
void comm_memory_begin(struct comm_known_memory *o, const struct comm_sample *sample,
		       comm_memory_constant *constant, void *ctx);
struct comm_known_line *comm_memory_make(struct comm_known_memory *o, uint64_t line_addr);
struct comm_value comm_memory_load_split(struct comm_known_memory *o, uint64_t addr,
					 unsigned bytes);
void comm_memory_store_split(struct comm_known_memory *o, uint64_t addr, unsigned bytes,
			     struct comm_value v);
/* The bytes [addr, addr + bytes) become unknown. */
void comm_memory_clobber(struct comm_known_memory *o, uint64_t addr, uint64_t bytes);

static inline void comm_memory_wild(struct comm_known_memory *o)
{
	o->wild++;
}

/* Never NULL; a full table gives a line that knows nothing and keeps nothing. */
static inline struct comm_known_line *comm_memory_line(struct comm_known_memory *o, uint64_t addr)
{
	struct comm_known_line *l = o->last;

	addr &= ~63ULL;
	if (l->addr != addr || l->epoch != o->epoch) {
		unsigned i = comm_hash_word(addr >> 6) >> 54;

		for (;; i = (i + 1) % COMM_MEMORY_SLOTS) {
			l = &o->line[i];
			if (l->epoch != o->epoch)
				return comm_memory_make(o, addr);
			if (l->addr == addr)
				break;
		}
		o->last = l;
	}
	if (l->wild != o->wild && !l->constant) {
		l->known = 0;
		l->wild = o->wild;
	}
	return l;
}

static inline uint64_t comm_width_mask(unsigned bytes)
{
	return bytes >= 8 ? ~0ULL : (1ULL << bytes * 8) - 1;
}

/* 1, 2, 4 or 8 bytes. */
static inline struct comm_value comm_memory_load(struct comm_known_memory *o, uint64_t addr,
						 unsigned bytes)
{
	unsigned off = addr & 63;
	struct comm_value v = {0, 0};
	const struct comm_known_line *l;
	uint64_t mask;

	if (off + bytes > 64)
		return comm_memory_load_split(o, addr, bytes);
	l = comm_memory_line(o, addr);
	mask = l->known >> off & ((1ULL << bytes) - 1);
	if (!mask)
		return v;
	switch (bytes) {
	case 8:
		memcpy(&v.bits, l->data + off, 8);
		break;
	case 4:
		memcpy(&v.bits, l->data + off, 4);
		break;
	case 2:
		memcpy(&v.bits, l->data + off, 2);
		break;
	default:
		v.bits = l->data[off];
		break;
	}
	if (mask == (1ULL << bytes) - 1) {
		v.known = comm_width_mask(bytes);
	} else {
		for (unsigned i = 0; i < bytes; i++)
			if (mask >> i & 1)
				v.known |= 0xffULL << i * 8;
		v.bits &= v.known;
	}
	return v;
}

static inline void comm_memory_store(struct comm_known_memory *o, uint64_t addr, unsigned bytes,
				     struct comm_value v)
{
	unsigned off = addr & 63;
	uint64_t mask = comm_width_mask(bytes), all = (1ULL << bytes) - 1;
	struct comm_known_line *l;

	if (off + bytes > 64) {
		comm_memory_store_split(o, addr, bytes, v);
		return;
	}
	l = comm_memory_line(o, addr);
	if (l == &o->none) {
		comm_memory_wild(o);
		return;
	}
	l->constant = 0;
	switch (bytes) {
	case 8:
		memcpy(l->data + off, &v.bits, 8);
		break;
	case 4:
		memcpy(l->data + off, &v.bits, 4);
		break;
	case 2:
		memcpy(l->data + off, &v.bits, 2);
		break;
	default:
		l->data[off] = (uint8_t)v.bits;
		break;
	}
	if ((v.known & mask) == mask) {
		l->known |= all << off;
		return;
	}
	l->known &= ~(all << off);
	for (unsigned i = 0; i < bytes; i++)
		if ((v.known >> i * 8 & 0xff) == 0xff)
			l->known |= 1ULL << (off + i);
}

/* True for user addresses: the thread faults on any other. */
static inline bool comm_memory_is_user(uint64_t addr, uint64_t bytes)
{
	return addr >> 63 == 0 && bytes <= 1ULL << 62 && (addr + bytes) >> 63 == 0;
}

#endif
