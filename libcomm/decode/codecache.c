// SPDX-License-Identifier: GPL-2.0-or-later
#include "codecache.h"
#include "hash.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	UOPS = 1 << 16,
	SLOTS = UOPS * 2,
	BLOCK_INSNS = 64,
	BLOCK_BYTES = 512,
	INSN_BYTES = 16,
	SALTS = 256,
	LINES = 2048, /* constant file bytes, direct mapped */
	FILES = 64,
	LOADS = 8,
	HEADER_BYTES = 1024,
	RECENT = 8,
	WALK = 8, /* mappings between a segment and the start of its file */
};

struct code_slot {
	uint64_t at;
	uint32_t owner, generation, salt;
	uint32_t position; /* 0: free */
};

struct constant_line {
	uint64_t at;
	uint32_t owner; /* file, or process when sealed */
	uint32_t salt;	/* of the file, or generation of the mappings */
	bool valid, sealed;
	uint8_t data[64];
};

struct load {
	uint64_t vaddr, file_end, end;
	bool writable;
};

/* The loadable segments of an ELF file. */
struct layout {
	uint32_t file; /* 0: free */
	uint32_t salt;
	uint32_t n; /* 0: not an ELF file, or its headers are not trusted */
	struct load load[LOADS];
};

struct recent {
	uint64_t start, end;
	uint64_t delta; /* file offset = address - delta */
	uint32_t file;	/* 0: the mapping has no constant bytes */
	bool sealed;	/* relocated, then made read-only: the process' own */
	struct comm_mapping mapping;
	uint64_t constant_start, constant_end;
};

struct comm_codecache {
	const struct comm_inspect *inspect;
	struct comm_uop *uop;
	uint8_t (*bytes)[INSN_BYTES];
	struct code_slot *slot;
	struct constant_line *line;
	uint32_t n_uops, epoch;
	uint32_t file_salt[SALTS], process_salt[SALTS];
	uint32_t n_recent;
	struct recent recent[RECENT];
	struct layout layout[FILES];
};

int comm_codecache_create(const struct comm_inspect *inspect, struct comm_codecache **ret)
{
	struct comm_codecache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->inspect = inspect;
	cache->uop = aligned_alloc(64, sizeof(*cache->uop) * UOPS);
	cache->bytes = calloc(UOPS, sizeof(*cache->bytes));
	cache->slot = calloc(SLOTS, sizeof(*cache->slot));
	cache->line = calloc(LINES, sizeof(*cache->line));
	if (!cache->uop || !cache->bytes || !cache->slot || !cache->line) {
		comm_codecache_destroy(cache);
		return -ENOMEM;
	}
	cache->n_uops = 1;
	*ret = cache;
	return 0;
}

void comm_codecache_destroy(struct comm_codecache *cache)
{
	if (!cache)
		return;
	free(cache->uop);
	free(cache->bytes);
	free(cache->slot);
	free(cache->line);
	free(cache);
}

void comm_codecache_begin(struct comm_codecache *cache)
{
	cache->n_recent = 0;
}

struct comm_uop *comm_codecache_uops(struct comm_codecache *cache)
{
	return cache->uop;
}

uint32_t comm_codecache_epoch(const struct comm_codecache *cache)
{
	return cache->epoch;
}

bool comm_codecache_matches(const struct comm_codecache *cache, uint32_t position,
			    const struct comm_sample *s)
{
	const struct comm_uop *uop = cache->uop;

	for (unsigned i = 0; i < s->n_chunks && i < COMM_SAMPLE_CHUNKS; i++) {
		const struct comm_chunk *c = &s->chunk[i];
		const uint8_t *at, *end;

		if (s->ip < c->addr || s->ip - c->addr >= c->len_bytes ||
		    c->len_bytes > COMM_SAMPLE_DATA_BYTES ||
		    c->offset > COMM_SAMPLE_DATA_BYTES - c->len_bytes)
			continue;
		at = s->data + c->offset + (s->ip - c->addr);
		end = s->data + c->offset + c->len_bytes;
		for (;; position++) {
			unsigned len = uop[position].len_bytes;

			if (!len || len > end - at)
				return true;
			if (memcmp(at, cache->bytes[position], len) != 0 && *at != 0xcc)
				return false;
			if (comm_insn_ends_block(&uop[position]))
				return true;
			at += len;
		}
	}
	return true;
}

bool comm_codecache_segment(struct comm_codecache *cache, struct comm_space *space, uint64_t now_ns,
			    uint64_t ip, struct comm_segment *ret)
{
	const struct comm_mapping *m = comm_space_find(space, ip, now_ns);

	if (!m || !m->executable || ip < m->start || ip >= m->end)
		return false;
	ret->start = m->start;
	ret->end = m->end;
	ret->tgid = comm_space_tgid(space);
	ret->mapping = *m;
	/* Text in a writable mapping may differ from the file's. */
	ret->of_file = m->kind == COMM_MAP_FILE && m->file && !m->writable;
	if (ret->of_file) {
		ret->delta = m->start - m->offset;
		ret->owner = m->file;
		ret->generation = 0;
		ret->salt = cache->file_salt[m->file % SALTS];
	} else {
		ret->delta = 0;
		ret->owner = ret->tgid;
		ret->generation = comm_space_generation(space);
		ret->salt = cache->process_salt[ret->tgid % SALTS];
	}
	/* A file and a process of one number must not share a key. */
	ret->salt = ret->salt << 1 | ret->of_file;
	return true;
}

void comm_codecache_forget(struct comm_codecache *cache, struct comm_segment *seg)
{
	uint32_t *salt = seg->of_file ? &cache->file_salt[seg->owner % SALTS]
				      : &cache->process_salt[seg->owner % SALTS];

	*salt = (*salt + 1) & 0x7fffffff;
	seg->salt = *salt << 1 | seg->of_file;
}

static struct code_slot *lookup(struct comm_codecache *cache, const struct comm_segment *seg,
				uint64_t at)
{
	uint64_t of = (uint64_t)seg->owner << 32 ^ (uint64_t)seg->salt << 16 ^ seg->generation;
	uint64_t h = comm_hash_mix(at, of);
	struct code_slot *s;

	for (size_t i = h >> 47 & (SLOTS - 1);; i = (i + 1) & (SLOTS - 1)) {
		s = &cache->slot[i];
		if (!s->position || (s->at == at && s->owner == seg->owner &&
				     s->generation == seg->generation && s->salt == seg->salt))
			return s;
	}
}

static void flush(struct comm_codecache *cache)
{
	memset(cache->slot, 0, sizeof(*cache->slot) * SLOTS);
	cache->n_uops = 1;
	cache->epoch++;
}

static uint32_t add(struct comm_codecache *cache, const struct comm_segment *seg,
		    const struct comm_uop *uop, const uint8_t *bytes)
{
	uint32_t position = cache->n_uops++;
	struct code_slot *s;

	cache->uop[position] = *uop;
	memset(cache->bytes[position], 0, INSN_BYTES);
	memcpy(cache->bytes[position], bytes, uop->len_bytes);
	if (uop->op == COMM_OP_GOTO)
		return position;
	s = lookup(cache, seg, uop->at);
	s->at = uop->at;
	s->owner = seg->owner;
	s->generation = seg->generation;
	s->salt = seg->salt;
	s->position = position;
	return position;
}

/*
 * EFLAGS that are overwritten before an instruction reads them need not be computed.
 * Past a branch or the end of the straight line all flags count as read.
 */
static void mark_live_flags(struct comm_uop *uop, const uint16_t *flags_in, uint32_t n)
{
	uint16_t live = COMM_FLAGS_ALL;

	for (uint32_t i = n; i-- > 0;) {
		uop[i].flags_live = live;
		if (uop[i].op == COMM_OP_JCC || uop[i].op == COMM_OP_LOOP ||
		    comm_insn_ends_block(&uop[i]))
			live = COMM_FLAGS_ALL;
		else if (!(uop[i].bits & COMM_UOP_PARTIAL_FLAGS))
			live &= (uint16_t)~uop[i].flags_out;
		live |= flags_in[i];
	}
}

static uint32_t decode(struct comm_codecache *cache, const struct comm_segment *seg, uint64_t at)
{
	uint64_t left = seg->end - (at + seg->delta);
	uint8_t text[BLOCK_BYTES];
	uint16_t flags_in[BLOCK_INSNS + 1];
	uint32_t first, n = 0;
	size_t used = 0;
	ssize_t got;

	got = cache->inspect->ops->text(cache->inspect->ctx, seg->tgid, &seg->mapping,
					at + seg->delta, text,
					left < BLOCK_BYTES ? left : BLOCK_BYTES);
	if (got <= 0)
		return 0;
	if ((size_t)got > sizeof(text))
		got = sizeof(text);
	if (cache->n_uops + BLOCK_INSNS + 1 > UOPS)
		flush(cache);
	first = cache->n_uops;
	while (n < BLOCK_INSNS) {
		struct comm_uop uop;
		int len;

		if (n && lookup(cache, seg, at + used)->position)
			break;
		len = comm_insn_decode(text + used, (size_t)got - used, &uop, &flags_in[n]);
		if (len == 0)
			break;
		if (len < 0) {
			memset(&uop, 0, sizeof(uop));
			uop.op = COMM_OP_UNDECODED;
			flags_in[n] = 0;
		}
		uop.at = at + used;
		add(cache, seg, &uop, text + used);
		n++;
		if (comm_insn_ends_block(&uop))
			break;
		used += (size_t)len;
	}
	if (!n)
		return 0;
	if (!comm_insn_ends_block(&cache->uop[first + n - 1])) {
		struct comm_uop uop = {.op = COMM_OP_GOTO, .at = at + used};

		add(cache, seg, &uop, text);
		flags_in[n++] = 0;
	}
	mark_live_flags(&cache->uop[first], flags_in, n);
	return first;
}

uint32_t comm_codecache_peek(struct comm_codecache *cache, const struct comm_segment *seg,
			     uint64_t ip)
{
	return lookup(cache, seg, ip - seg->delta)->position;
}

uint32_t comm_codecache_find(struct comm_codecache *cache, const struct comm_segment *seg,
			     uint64_t ip)
{
	uint32_t position = lookup(cache, seg, ip - seg->delta)->position;

	return position ? position : decode(cache, seg, ip - seg->delta);
}

/* Reads the program headers from the mapping of the file's start.  False: it cannot be read now. */
static bool read_layout(struct comm_codecache *cache, uint32_t tgid, const struct comm_mapping *m,
			struct layout *ret)
{
	uint8_t buf[HEADER_BYTES];
	Elf64_Ehdr ehdr;
	ssize_t got;

	ret->n = 0;
	got = cache->inspect->ops->text(cache->inspect->ctx, tgid, m, m->start, buf,
					m->end - m->start < sizeof(buf) ? m->end - m->start
									: sizeof(buf));
	if (got < (ssize_t)sizeof(ehdr) || got > (ssize_t)sizeof(buf))
		return got >= 0;
	memcpy(&ehdr, buf, sizeof(ehdr));
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
	    ehdr.e_phoff > (uint64_t)got ||
	    ehdr.e_phnum > ((uint64_t)got - ehdr.e_phoff) / sizeof(Elf64_Phdr))
		return true;
	for (unsigned i = 0; i < ehdr.e_phnum; i++) {
		struct load *l = &ret->load[ret->n];
		Elf64_Phdr phdr;

		memcpy(&phdr, buf + ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type != PT_LOAD)
			continue;
		if (ret->n == LOADS || phdr.p_memsz > UINT32_MAX || phdr.p_vaddr > INT64_MAX ||
		    phdr.p_filesz > phdr.p_memsz || (!ret->n && phdr.p_offset)) {
			ret->n = 0;
			return true;
		}
		l->vaddr = phdr.p_vaddr;
		l->file_end = phdr.p_vaddr + phdr.p_filesz;
		l->end = phdr.p_vaddr + phdr.p_memsz;
		l->writable = phdr.p_flags & PF_W;
		ret->n++;
	}
	return true;
}

/*
 * Finds the part of a mapping whose bytes are constant, as the linker wrote them into
 * the file.  Compares run-time addresses, not file offsets: the page of the file where
 * the read-only data ends is often mapped a second time, as the start of relocated data.
 */
static void find_constant(struct comm_codecache *cache, struct comm_space *space, uint64_t now_ns,
			  struct recent *r)
{
	uint32_t file = r->mapping.file, salt = cache->file_salt[file % SALTS];
	struct layout *layout = &cache->layout[file % FILES];
	struct comm_mapping m = r->mapping;
	uint64_t bias;

	r->file = 0;
	r->sealed = false;
	if (m.kind != COMM_MAP_FILE || !m.file || m.writable || m.shared || !m.readable)
		return;
	for (unsigned i = 0; m.offset; i++) {
		const struct comm_mapping *before;

		before = i < WALK && m.start ? comm_space_find(space, m.start - 1, now_ns) : NULL;
		if (!before || before->file != file || before->start >= m.start)
			return;
		m = *before;
	}
	if (layout->file != file || layout->salt != salt) {
		layout->file = 0;
		if (!read_layout(cache, comm_space_tgid(space), &m, layout))
			return;
		layout->file = file;
		layout->salt = salt;
	}
	if (!layout->n)
		return;
	bias = m.start - (layout->load[0].vaddr & ~0xfffULL);
	for (unsigned i = 0; i < layout->n; i++) {
		uint64_t start = bias + layout->load[i].vaddr;
		uint64_t end = bias + layout->load[i].file_end;

		if (layout->load[i].writable) {
			if (r->start >= bias + layout->load[i].end || (start & ~0xfffULL) >= r->end)
				continue;
			/* RELRO: the dynamic linker relocated it, then made it read-only. */
			r->constant_start = r->start;
			r->constant_end = r->end;
			r->sealed = true;
			r->delta = 0;
			r->file = file;
			return;
		}
		if (r->file || start >= r->end || end <= r->start)
			continue;
		r->constant_start = start > r->start ? start : r->start;
		r->constant_end = end < r->end ? end : r->end;
		r->delta = r->mapping.start - r->mapping.offset;
		r->file = file;
	}
}

bool comm_codecache_constant(struct comm_codecache *cache, struct comm_space *space,
			     uint64_t now_ns, uint64_t line_addr, uint8_t data[64])
{
	const struct comm_mapping *m;
	struct constant_line *line;
	struct recent *r;
	uint32_t owner, salt;
	uint64_t at;

	for (unsigned i = 0; i < cache->n_recent; i++) {
		r = &cache->recent[i];
		if (line_addr >= r->start && line_addr < r->end)
			goto found;
	}
	m = comm_space_find(space, line_addr, now_ns);
	if (!m)
		return false;
	r = &cache->recent[cache->n_recent < RECENT ? cache->n_recent++ : RECENT - 1];
	r->start = m->start;
	r->end = m->end;
	r->mapping = *m;
	find_constant(cache, space, now_ns, r);
found:
	if (!r->file || line_addr < r->constant_start || r->constant_end - line_addr < 64 ||
	    line_addr >= r->constant_end)
		return false;
	at = line_addr - r->delta;
	owner = r->sealed ? comm_space_tgid(space) : r->file;
	salt = r->sealed ? comm_space_generation(space) : cache->file_salt[r->file % SALTS];
	line = &cache->line[(at / 64 + owner * 61) % LINES];
	if (!line->valid || line->at != at || line->owner != owner || line->salt != salt ||
	    line->sealed != r->sealed) {
		line->valid =
			cache->inspect->ops->text(cache->inspect->ctx, comm_space_tgid(space),
						  &r->mapping, line_addr, line->data, 64) == 64;
		if (!line->valid)
			return false;
		line->at = at;
		line->owner = owner;
		line->salt = salt;
		line->sealed = r->sealed;
	}
	memcpy(data, line->data, 64);
	return true;
}
