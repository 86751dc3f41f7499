// SPDX-License-Identifier: GPL-2.0-or-later
#include "known_memory.h"
#include "hash.h"

void comm_memory_begin(struct comm_known_memory *o, const struct comm_sample *sample,
		       comm_memory_constant *constant, void *ctx)
{
	unsigned n = sample->n_chunks < COMM_SAMPLE_CHUNKS ? sample->n_chunks : COMM_SAMPLE_CHUNKS;

	if (++o->epoch == 0) {
		memset(o->line, 0, sizeof(o->line));
		o->epoch = 1;
	}
	o->wild = 0;
	o->n_lines = 0;
	o->n_ranges = 0;
	o->n_chunks = 0;
	o->constant = constant;
	o->ctx = ctx;
	o->none.addr = 1; /* not aligned: no line has this address */
	o->last = &o->none;
	for (unsigned i = 0; i < n; i++) {
		const struct comm_chunk *c = &sample->chunk[i];
		uint64_t end;

		if (!c->len_bytes || c->offset > COMM_SAMPLE_DATA_BYTES ||
		    c->len_bytes > COMM_SAMPLE_DATA_BYTES - c->offset ||
		    c->offset + c->len_bytes > sample->data_bytes ||
		    __builtin_add_overflow(c->addr, c->len_bytes, &end))
			continue;
		o->chunk[o->n_chunks].addr = c->addr;
		o->chunk[o->n_chunks].end = end;
		o->chunk[o->n_chunks].data = sample->data + c->offset;
		o->n_chunks++;
	}
}

static uint64_t byte_mask(unsigned from, unsigned to)
{
	return (to >= 64 ? ~0ULL : (1ULL << to) - 1) & ~((1ULL << from) - 1);
}

/* Bytes of [addr, end) in the line, as a mask. */
static uint64_t overlap(uint64_t line_addr, uint64_t addr, uint64_t end)
{
	uint64_t last = line_addr + 63;

	if (end <= line_addr || addr > last)
		return 0;
	return byte_mask(addr > line_addr ? (unsigned)(addr - line_addr) : 0,
			 end > last ? 64 : (unsigned)(end - line_addr));
}

static void fill(struct comm_known_memory *o, struct comm_known_line *l)
{
	/* Captured bytes are void once a store to an unknown address may have hit them. */
	for (unsigned i = 0; i < o->n_chunks; i++) {
		uint64_t mask = overlap(l->addr, o->chunk[i].addr, o->chunk[i].end);
		unsigned from;

		if (!mask)
			continue;
		if (o->wild)
			break;
		from = (unsigned)__builtin_ctzll(mask);
		memcpy(l->data + from, o->chunk[i].data + (l->addr + from - o->chunk[i].addr),
		       (unsigned)__builtin_popcountll(mask));
		l->known |= mask;
	}
	if (!l->known && o->constant(o->ctx, l->addr, l->data)) {
		l->known = ~0ULL;
		l->constant = 1;
		return;
	}
	for (unsigned i = 0; i < o->n_ranges; i++)
		l->known &= ~overlap(l->addr, o->range[i].addr, o->range[i].end);
}

struct comm_known_line *comm_memory_make(struct comm_known_memory *o, uint64_t line_addr)
{
	unsigned i = comm_hash_word(line_addr >> 6) >> 54;
	struct comm_known_line *l;

	if (o->n_lines == COMM_MEMORY_LINES) {
		o->none.known = 0;
		memset(o->none.ready, 0, sizeof(o->none.ready));
		return &o->none;
	}
	while (o->line[i].epoch == o->epoch)
		i = (i + 1) % COMM_MEMORY_SLOTS;
	l = &o->line[i];
	l->addr = line_addr;
	l->known = 0;
	l->epoch = o->epoch;
	l->wild = o->wild;
	l->constant = 0;
	memset(l->ready, 0, sizeof(l->ready));
	fill(o, l);
	o->n_lines++;
	o->last = l;
	return l;
}

struct comm_value comm_memory_load_split(struct comm_known_memory *o, uint64_t addr, unsigned bytes)
{
	struct comm_value v = {0, 0};

	for (unsigned i = 0; i < bytes; i++) {
		struct comm_value b = comm_memory_load(o, addr + i, 1);

		v.bits |= b.bits << i * 8;
		v.known |= b.known << i * 8;
	}
	return v;
}

void comm_memory_store_split(struct comm_known_memory *o, uint64_t addr, unsigned bytes,
			     struct comm_value v)
{
	for (unsigned i = 0; i < bytes; i++) {
		struct comm_value b = {v.bits >> i * 8 & 0xff, v.known >> i * 8 & 0xff};

		comm_memory_store(o, addr + i, 1, b);
	}
}

void comm_memory_clobber(struct comm_known_memory *o, uint64_t addr, uint64_t bytes)
{
	uint64_t end;

	if (!bytes)
		return;
	if (__builtin_add_overflow(addr, bytes, &end)) {
		comm_memory_wild(o);
		return;
	}
	if (bytes <= 256) {
		for (uint64_t line = addr & ~63ULL; line < end; line += 64) {
			struct comm_known_line *l = comm_memory_line(o, line);

			if (l == &o->none) {
				comm_memory_wild(o);
				return;
			}
			l->constant = 0;
			l->known &= ~overlap(line, addr, end);
			if (line > UINT64_MAX - 64)
				break;
		}
		return;
	}
	if (o->n_ranges == COMM_MEMORY_RANGES) {
		comm_memory_wild(o);
		return;
	}
	o->range[o->n_ranges].addr = addr;
	o->range[o->n_ranges].end = end;
	o->n_ranges++;
	for (unsigned i = 0; i < COMM_MEMORY_SLOTS; i++)
		if (o->line[i].epoch == o->epoch)
			o->line[i].known &= ~overlap(o->line[i].addr, addr, end);
}
