// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of jemalloc 5.3, by the extents that its memory consists of (include/jemalloc/internal/edata.h,
 * rtree.h, sc.h there).  An extent is some pages; those of a slab are cut into regions of one size, of
 * which a bitmap says which are free, and others hold one block.  A tree of two levels leads from a page
 * to its extent: of a slab's pages each is in it, of other extents the first and the last.
 *
 * The tree's root is a variable without a symbol.  It is where a word that could lead to the extent of an
 * address in question does so, and to further extents that are where the tree says.
 */
#include "allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	LEVEL_BITS = 18, /* of an address that lead from one level of the tree to the next */
	ENTRIES = 1 << LEVEL_BITS,
	ROOT_BYTES = 8 * ENTRIES,
	NODE_ALIGNMENT = 64,
	EDATA_BYTES = 128,
	/* Of an entry: whether its page is of a slab, what state its extent is in, its size class. */
	ENTRY_SLAB = 1,
	ENTRY_STATE_SHIFT = 2,
	ENTRY_CLASS_SHIFT = 48,
	/* Words of what describes an extent, and what is in the first of them. */
	EDATA_BITS = 0,
	EDATA_ADDR = 1,
	EDATA_SIZE = 2,
	EDATA_FREE_REGIONS = 8,
	EDATA_SLAB_SHIFT = 12,
	EDATA_STATE_SHIFT = 17,
	STATE_MASK = 7,
	STATE_ACTIVE = 0,
	EDATA_CLASS_SHIFT = 20,
	CLASS_MASK = 0xff,
	EDATA_FREE_SHIFT = 28,
	FREE_MASK = 0x3ff,

	SMALL_CLASSES = 36, /* that slabs have */
	CLASSES = 9 + 4 * 39,
	REGIONS_MOST = 512,
	WORDS = 8192,		 /* entries that are read at once */
	BACK_PAGES = 1 << 21,	 /* gone back through in search of a page's extent: 8 GiB */
	SEARCH_MOST = 1024,	 /* questions between two searches for the root */
	SEARCH_BYTES = 16 << 20, /* read in one of them, and */
	TRIES = 64,		 /* words that could lead to the extent */
	CONFIRMATIONS = 8,	 /* by other extents, and */
	CONFIRMATIONS_LEAST = 2,
	CONTRADICTIONS_MORE = 3, /* as the program goes on meanwhile */
	LEAVES = 16,
	PIECE_PAGES = COMM_PIECE_BYTES / PAGE,
	NEAR = 64 - PIECE_PAGES,
	PIECES = 1024, /* powers of two */
	RANGES = 32,
	GAP_QUESTIONS = 4096,
};

static const uint64_t user_end = UINT64_C(1) << 47;
static const uint64_t entry_edata_mask = (UINT64_C(1) << 48) - EDATA_BYTES;

/* Extents of one block, and memory that no extent is in; for so many questions only, as there may be one. */
struct range {
	uint64_t start, end, block; /* block 0: no extent */
	uint64_t asked;
};

/* Reads for the target are good for one question (n_asked). */
struct jemalloc {
	struct comm_area zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed;
	uint64_t root;	    /* 0: not known, */
	uint64_t search_at; /* and not searched for before this question */
	struct {
		uint64_t index, addr; /* addr 0: not known */
	} leaf[LEAVES];
	/* The block at the start of a piece, 0: none; piece 0: not known. */
	struct {
		uint64_t piece, before;
	} entered[PIECES];
	struct range range[RANGES];
	size_t n_ranges;
	uint64_t n_asked;
	/* Where going back from a piece has come to. */
	uint64_t back_from, back_at;
	/* The entries of a piece's pages, at the end, and of those in front of it. */
	struct {
		uint64_t piece, asked, entry[NEAR + PIECE_PAGES];
	} near;
	/* The page with extents that was read last. */
	struct {
		uint64_t page, asked, word[PAGE / 8];
	} view;
	uint64_t word[WORDS];
};

struct extent {
	uint64_t start, end;
	bool is_slab, is_active;
	/* Of each block; where the first is. */
	uint64_t first, block_bytes, least_bytes;
	uint64_t free[REGIONS_MOST / 64];
};

static int read_words(const struct comm_marks_memory *memory, uint64_t at, uint64_t *word, size_t n)
{
	ssize_t got = memory->read(memory->ctx, at, word, n * sizeof(*word));

	if (got < 0)
		return (int)got;
	return (size_t)got == n * sizeof(*word) ? 0 : -EPROTO;
}

/* Where an entry's extent is described; 0: it has none, whatever else stands in it. */
static uint64_t edata_of(uint64_t entry)
{
	return entry & entry_edata_mask;
}

static uint64_t index_of(uint64_t addr)
{
	return addr / PAGE % ENTRIES;
}

/* The tree's leaf for an address; -ENODATA: there is none. */
static int leaf_of(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t addr,
		   uint64_t *ret)
{
	uint64_t index = addr / PAGE / ENTRIES, leaf;
	int err;

	if (addr >= user_end)
		return -ENODATA;
	if (je->leaf[index % LEAVES].addr && je->leaf[index % LEAVES].index == index) {
		*ret = je->leaf[index % LEAVES].addr;
		return 0;
	}
	err = read_words(memory, je->root + index * sizeof(leaf), &leaf, 1);
	if (err)
		return err;
	if (!leaf || leaf % NODE_ALIGNMENT || leaf >= user_end)
		return -ENODATA;
	je->leaf[index % LEAVES].index = index;
	je->leaf[index % LEAVES].addr = *ret = leaf;
	return 0;
}

static uint64_t class_bytes(unsigned int class)
{
	/* 8; up to 128 by 16; then four to a doubling. */
	if (!class)
		return 8;
	if (class < 9)
		return class * 16;
	return (UINT64_C(128) << (class - 9) / 4) +
	       (UINT64_C(32) << (class - 9) / 4) * ((class - 9) % 4 + 1);
}

static bool is_slab(const struct extent *extent, unsigned int class, unsigned int n_free)
{
	uint64_t bytes = extent->end - extent->start, n = bytes / extent->block_bytes;
	unsigned int counted = 0;

	if (class >= SMALL_CLASSES || bytes % extent->block_bytes || n > REGIONS_MOST)
		return false;
	for (size_t i = 0; i < n; i++)
		counted += extent->free[i / 64] >> i % 64 & 1;
	return counted == n_free && extent->first == extent->start;
}

/* The page of memory that an extent's description is in. */
static int view_page(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t page)
{
	int err;

	if (je->view.page == page && je->view.asked == je->n_asked)
		return 0;
	err = read_words(memory, page, je->view.word, PAGE / 8);
	je->view.page = page;
	je->view.asked = err ? 0 : je->n_asked;
	return err;
}

/*
 * What a page's entry of the tree leads to; -EPROTO: it contradicts itself, or changes just now.  An entry's size
 * class is kept up to date only where there is a block of it.
 */
static int extent_of(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t entry,
		     uint64_t page, struct extent *ret)
{
	uint64_t at = edata_of(entry), bits;
	const uint64_t *edata = &je->view.word[at % PAGE / 8];
	unsigned int class, state;
	int err = at && at < user_end ? view_page(je, memory, at - at % PAGE) : -EPROTO;

	if (err)
		return err;
	bits = edata[EDATA_BITS];
	class = bits >> EDATA_CLASS_SHIFT & CLASS_MASK;
	state = bits >> EDATA_STATE_SHIFT & STATE_MASK;
	ret->first = edata[EDATA_ADDR];
	ret->start = ret->first - ret->first % PAGE;
	if (page < ret->start || edata[EDATA_SIZE] < PAGE || edata[EDATA_SIZE] > user_end ||
	    page - ret->start >= edata[EDATA_SIZE] / PAGE * PAGE)
		return -EPROTO;
	ret->end = ret->start + edata[EDATA_SIZE] / PAGE * PAGE;
	ret->is_slab = bits >> EDATA_SLAB_SHIFT & 1;
	ret->is_active = state == STATE_ACTIVE && class < CLASSES;
	if (ret->is_slab != (entry & ENTRY_SLAB) ||
	    state != (entry >> ENTRY_STATE_SHIFT & STATE_MASK))
		return -EPROTO;
	if (!ret->is_active)
		return 0;
	if ((ret->is_slab || page == ret->start) && class != entry >> ENTRY_CLASS_SHIFT)
		return -EPROTO;
	ret->block_bytes = class_bytes(class);
	ret->least_bytes = class ? class_bytes(class - 1) + 1 : 0;
	memcpy(ret->free, &edata[EDATA_FREE_REGIONS], sizeof(ret->free));
	if (ret->is_slab ? !is_slab(ret, class, bits >> EDATA_FREE_SHIFT & FREE_MASK)
			 : ret->block_bytes > ret->end - ret->first)
		return -EPROTO;
	return 0;
}

/* What is known of the memory around a piece's start; NULL: nothing. */
static const struct range *range_at(const struct jemalloc *je, uint64_t addr)
{
	for (size_t i = 0; i < RANGES; i++) {
		const struct range *r = &je->range[i];

		if (addr >= r->start && addr < r->end &&
		    (r->block || je->n_asked - r->asked < GAP_QUESTIONS))
			return r;
	}
	return NULL;
}

static void keep_range(struct jemalloc *je, uint64_t start, uint64_t end, uint64_t block)
{
	je->range[je->n_ranges++ % RANGES] = (struct range){start, end, block, je->n_asked};
}

/* Reads the entries near a piece. */
static int look_near(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t piece)
{
	uint64_t n_before = index_of(piece) < NEAR ? index_of(piece) : NEAR, leaf;
	int err;

	if (je->near.piece == piece && je->near.asked == je->n_asked)
		return 0;
	memset(&je->near, 0, sizeof(je->near));
	err = leaf_of(je, memory, piece, &leaf);
	if (!err)
		err = read_words(memory, leaf + (index_of(piece) - n_before) * 8,
				 &je->near.entry[NEAR - n_before], n_before + PIECE_PAGES);
	if (err && err != -ENODATA)
		return err;
	je->near.piece = piece;
	je->near.asked = je->n_asked;
	return 0;
}

/* The last entry that has an extent, of n whose last is of page *at; NULL: none, *at is the page before them. */
static const uint64_t *last_entry(const uint64_t *entry, size_t n, uint64_t *at)
{
	for (; n; n--, *at -= PAGE)
		if (edata_of(entry[n - 1]))
			return &entry[n - 1];
	return NULL;
}

/* As last_entry(), of the entries up to that of page *at. */
static int last_entry_before(struct jemalloc *je, const struct comm_marks_memory *memory,
			     uint64_t *at, const uint64_t **ret)
{
	uint64_t n = index_of(*at) + 1, leaf = 0;
	int err = leaf_of(je, memory, *at, &leaf);

	*ret = NULL;
	if (err == -ENODATA && *at < user_end) {
		*at -= n * PAGE; /* nothing begins or ends there, but something may reach across */
		return 0;
	}
	if (n > WORDS) {
		leaf += (n - WORDS) * 8;
		n = WORDS;
	}
	if (!err)
		err = read_words(memory, leaf, je->word, n);
	if (!err)
		*ret = last_entry(je->word, n, at);
	return err;
}

/*
 * The extent that a piece's first page is in.  -ENODATA: it is in none, and ret->end is where there may be one
 * before it; -EAGAIN: that was one step, a read or a few.
 */
static int locate(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t piece,
		  struct extent *ret)
{
	bool is_begun = je->back_from == piece && je->back_at;
	uint64_t at = is_begun ? je->back_at : piece, n = index_of(piece);
	const struct range *known = range_at(je, at);
	const uint64_t *entry = NULL;
	int err;

	je->back_at = 0;
	if (known && !known->block) {
		ret->end = known->start;
		return -ENODATA;
	}
	if (is_begun) {
		err = last_entry_before(je, memory, &at, &entry);
	} else {
		err = look_near(je, memory, piece);
		n = n < NEAR ? n : NEAR;
		if (!err)
			entry = last_entry(&je->near.entry[NEAR - n], n + 1, &at);
	}
	if (!err && !entry && (piece - at) / PAGE <= BACK_PAGES) {
		je->back_from = piece;
		je->back_at = at;
		return -EAGAIN;
	}
	if (err == -ENODATA || (!err && !entry)) {
		ret->end = at + PAGE;
		return -ENODATA;
	}
	if (!err)
		err = extent_of(je, memory, *entry, at, ret);
	if (err)
		return err;
	return piece < ret->end ? 0 : -ENODATA;
}

static void forget(struct jemalloc *je, uint64_t piece)
{
	je->entered[piece / COMM_PIECE_BYTES % PIECES].piece = 0;
	for (size_t i = 0; i < RANGES; i++)
		if (piece >= je->range[i].start && piece < je->range[i].end)
			je->range[i].end = 0;
}

/* Whether the leaf of an address has further extents, mostly where it says. */
static bool is_confirmed(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t addr)
{
	uint64_t leaf, leaf_start = addr - index_of(addr) * PAGE - addr % PAGE, last = 0;
	size_t n_good = 0, n_bad = 0, at = index_of(addr) / WORDS;
	struct extent extent;

	if (leaf_of(je, memory, addr, &leaf))
		return false;
	for (size_t i = 0; i < ENTRIES / WORDS; i++, at = (at + 1) % (ENTRIES / WORDS)) {
		if (read_words(memory, leaf + at * WORDS * 8, je->word, WORDS))
			return false;
		for (size_t j = 0; j < WORDS; j++) {
			uint64_t page = leaf_start + (at * WORDS + j) * PAGE;
			bool is_good;

			if (!edata_of(je->word[j]) || edata_of(je->word[j]) == last)
				continue;
			last = edata_of(je->word[j]);
			is_good = !extent_of(je, memory, je->word[j], page, &extent);
			n_good += is_good;
			n_bad += !is_good;
			if (n_bad > n_good + CONTRADICTIONS_MORE)
				return false;
			if (n_good == CONFIRMATIONS)
				return true;
		}
	}
	return n_good >= CONFIRMATIONS_LEAST;
}

/* Whether the root, if that is one, leads to an extent with a piece's first page in it. */
static bool is_root(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t piece)
{
	struct extent extent;
	int err = -EAGAIN;

	memset(je->leaf, 0, sizeof(je->leaf));
	je->near.piece = je->back_at = 0;
	for (size_t i = 0; i <= 2 + BACK_PAGES / WORDS && err == -EAGAIN; i++)
		err = locate(je, memory, piece, &extent);
	return !err && is_confirmed(je, memory, piece);
}

/* Reads for the target, so many bytes in all. */
struct bounded {
	const struct comm_marks_memory *memory;
	size_t left_bytes;
};

static ssize_t read_bounded(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	struct bounded *bounded = ctx;

	if (len_bytes > bounded->left_bytes)
		return -ENOBUFS;
	bounded->left_bytes -= len_bytes;
	return bounded->memory->read(bounded->memory->ctx, addr, buf, len_bytes);
}

/*
 * The root among variables.  Where it is, the word tells that a piece would have in it; of words that could be
 * that one *tries more are tried.
 */
static int find_root(struct jemalloc *je, const struct comm_marks_memory *memory,
		     const struct comm_area *zeroed, uint64_t piece, unsigned int *tries)
{
	uint64_t shift = piece / PAGE / ENTRIES * 8, at = zeroed->start, n;
	int err;

	for (; zeroed->end - at >= ROOT_BYTES; at += n * 8) {
		n = (zeroed->end - at - ROOT_BYTES) / 8 + 1;
		if (n > WORDS)
			n = WORDS;
		err = read_words(memory, at + shift, je->word, n);
		if (err)
			return err;
		for (size_t i = 0; i < n; i++) {
			uint64_t leaf = je->word[i];

			if (!leaf || leaf % NODE_ALIGNMENT || leaf >= user_end)
				continue;
			je->root = at + i * 8;
			if (is_root(je, memory, piece))
				return 0;
			if (!--*tries)
				return -ENOENT;
			n = i + 1; /* the words are others now */
		}
	}
	return -ENOENT;
}

/* Looks for the root by a piece that may be in an extent.  -ENODATA: it is not known. */
static int search(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t piece)
{
	struct bounded bounded = {memory, SEARCH_BYTES};
	const struct comm_marks_memory within = {read_bounded, &bounded};
	unsigned int tries = TRIES;
	int err = -ENOENT;

	if (je->n_asked < je->search_at)
		return -ENODATA;
	for (size_t i = 0; i < je->n_zeroed && tries && err && err != -EAGAIN; i++)
		err = find_root(je, &within, &je->zeroed[i], piece, &tries);
	if (!err)
		return 0;
	je->root = 0;
	if (err == -EAGAIN)
		return err;
	je->search_at = je->n_asked + (je->n_asked < SEARCH_MOST ? je->n_asked : SEARCH_MOST);
	return -ENODATA;
}

static int jemalloc_enter(void *state, const struct comm_marks_memory *memory,
			  const struct comm_area *area, uint64_t piece, uint64_t *ret)
{
	struct jemalloc *je = state;
	size_t slot = piece / COMM_PIECE_BYTES % PIECES;
	uint64_t any = 0;
	const struct range *known;
	struct extent extent;
	int err;

	(void)area;
	je->n_asked++;
	if (!je->root) {
		err = search(je, memory, piece);
		if (err)
			return err;
	}
	*ret = je->entered[slot].before;
	if (piece && je->entered[slot].piece == piece)
		return 0;
	known = range_at(je, piece);
	if (known)
		*ret = known->block < piece ? known->block : 0;
	if (known)
		return known->block ? 0 : -ENODATA;
	*ret = 0;
	err = locate(je, memory, piece, &extent);
	if (err == -ENODATA) {
		extent.is_active = false;
		err = look_near(je, memory, piece);
		for (size_t i = 0; !err && i < PIECE_PAGES; i++)
			any |= edata_of(je->near.entry[NEAR + i]);
		if (!err && !any) {
			keep_range(je, extent.end, piece + COMM_PIECE_BYTES, 0);
			return -ENODATA;
		}
	}
	if (err == -EPROTO)
		return 0; /* it changes just now: no block is told of that began before */
	if (err)
		return err;
	if (extent.is_active)
		*ret = extent.first;
	if (extent.is_active && extent.is_slab)
		*ret += (piece - extent.start) / extent.block_bytes * extent.block_bytes;
	if (*ret >= piece)
		*ret = 0;
	je->entered[slot].piece = piece;
	je->entered[slot].before = *ret;
	if (extent.is_active && !extent.is_slab)
		keep_range(je, extent.start, extent.end, extent.first);
	return 0;
}

static void tell(const struct extent *extent, uint64_t at, struct comm_block_list *list)
{
	if (list->n == COMM_PIECE_BLOCKS)
		return;
	list->block[list->n++] = (struct comm_block){
		.start = at,
		.size_bytes = extent->block_bytes,
		.least_bytes = extent->least_bytes,
	};
}

/* The blocks that begin in a page. */
static void tell_page(const struct extent *extent, uint64_t page, struct comm_block_list *list)
{
	uint64_t skipped = page - extent->start, i;

	if (!extent->is_slab) {
		if (extent->first >= page && extent->first < page + PAGE)
			tell(extent, extent->first, list);
		return;
	}
	i = (skipped + extent->block_bytes - 1) / extent->block_bytes;
	for (; i * extent->block_bytes < skipped + PAGE; i++)
		if (!(extent->free[i / 64] >> i % 64 & 1))
			tell(extent, extent->start + i * extent->block_bytes, list);
}

static int jemalloc_read(void *state, const struct comm_marks_memory *memory,
			 const struct comm_area *area, uint64_t piece, bool is_far,
			 struct comm_block_list *ret)
{
	struct jemalloc *je = state;
	int err = look_near(je, memory, piece);

	(void)area, (void)is_far;
	ret->n = 0;
	forget(je, piece);
	for (size_t i = 0; !err && i < PIECE_PAGES; i++) {
		uint64_t page = piece + i * PAGE, entry = je->near.entry[NEAR + i];
		struct extent extent;

		/* What cannot be told of now, others need not be told without. */
		if (!extent_of(je, memory, entry, page, &extent) && extent.is_active)
			tell_page(&extent, page, ret);
	}
	return err;
}

static bool jemalloc_range(const struct comm_heap_place *place, struct comm_area *ret)
{
	const struct comm_mapping *m = place->m;

	if (!place->n_zeroed || m->shared || !m->writable)
		return false;
	*ret = (struct comm_area){place->zeroed[0].start, place->zeroed[place->n_zeroed - 1].end};
	return m->kind == COMM_MAP_HEAP || (m->kind == COMM_MAP_ANON && !m->path[0]);
}

static int jemalloc_open(const struct comm_marks_memory *memory,
			 const struct comm_heap_place *place, const struct comm_area *area,
			 void **ret)
{
	struct jemalloc *je = calloc(1, sizeof(*je));

	(void)memory, (void)area;
	if (!je)
		return -ENOMEM;
	je->n_zeroed = place->n_zeroed;
	memcpy(je->zeroed, place->zeroed, je->n_zeroed * sizeof(*je->zeroed));
	*ret = je;
	return 0;
}

static size_t jemalloc_state_bytes(const void *state)
{
	return sizeof(*(const struct jemalloc *)state);
}

const struct comm_allocator_ops comm_jemalloc = {
	.range = jemalloc_range,
	.open = jemalloc_open,
	.close = free,
	.state_bytes = jemalloc_state_bytes,
	.enter = jemalloc_enter,
	.read = jemalloc_read,
};
