// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of jemalloc 5.1 to 5.3, by the extents that its memory consists of (include/jemalloc/internal/edata.h,
 * extent_structs.h before 5.3, rtree.h, sc.h there).  An extent is some pages; those of a slab are cut into
 * regions of one size, of which a bitmap says which are free, and others hold one block.  A tree of two levels
 * leads from a page to its extent: of a slab's pages each is in it, of other extents the first and the last.
 *
 * The tree's root is a variable without a symbol, and its version is not told.  It is where a word that could lead
 * to the extent of an address in question does so, and to further extents that are where the tree says and
 * as large as those of their size class are, all read as one of the layouts.  Others are not told of: 5.0,
 * which moved the fields of extents, 4.x and before, which have chunks in place of extents, and
 * builds for addresses of 57 bits, whose tree has three levels.
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
	/* Of an entry: whether its page is of a slab, its size class. */
	ENTRY_SLAB = 1,
	ENTRY_CLASS_SHIFT = 48,
	/* Words of what describes an extent, and what is in the first of them. */
	EDATA_BITS = 0,
	EDATA_ADDR = 1,
	EDATA_SIZE = 2,
	EDATA_FREE_REGIONS = 8,
	EDATA_SLAB_SHIFT = 12,
	STATE_ACTIVE = 0,
	CLASS_MASK = 0xff,
	FREE_MASK = 0x3ff,

	SMALL_MOST = 14336, /* bytes of what slabs have */
	LARGE_LEAST = 16384,
	CLASSES = 9 + 4 * 39,
	REGIONS_MOST = 512,
	ALIKE_BYTES = 16, /* of classes that have the same number everywhere */
	/* Of 5.3, where a block has an extent for the profile of the heap: when and how it was asked for, */
	EDATA_TIME = 8,
	EDATA_ASKED_BYTES = 9,
	EDATA_CONTEXT = 10, /* and words of what this leads to: */
	CONTEXT_WORDS = 13,
	CONTEXT_TRACE = 12,
	TRACE_WORDS = 15, /* before the calls */
	TRACE_CALLS_AT = 13,
	TRACE_CALLS = 14,
	CALLS_MOST = 128,
	COARSE_NS = 10 * 1000 * 1000, /* what the time may be too early */
	WORDS = 8192,		      /* entries that are read at once */
	BACK_PAGES = 1 << 21,	      /* gone back through in search of a page's extent: 8 GiB */
	/* Questions between two searches for the root: so many times those before, and so many at most. */
	AGAIN_FACTOR = 3,
	SEARCH_MOST = 4096,
	SEARCH_BYTES = 16 << 20, /* read in one of them, and */
	ALIKE_WORDS = 32,
	TRIES = 64,	   /* words that could lead to the extent */
	CONFIRMATIONS = 8, /* by other extents, and */
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

/* What differs between versions, and between builds of one: the quantum that small sizes are multiples of. */
struct extent_layout {
	uint16_t edata_alignment;
	uint8_t state_shift, state_mask; /* of what describes an extent, as are the next two */
	uint8_t class_shift, free_shift;
	uint8_t entry_state_shift; /* 0: entries have no state, and of what is not active old flags */
	uint8_t quantum;
	bool has_profile; /* that is read here */
};

static const struct extent_layout layouts[] = {
	{128, 17, 7, 20, 28, 2, 16, true}, /* 5.3 */
	{128, 17, 7, 20, 28, 2, 8, true},  /* redis's own build of it */
	{64, 16, 3, 18, 26, 0, 16, false}, /* 5.1, 5.2 */
	{64, 16, 3, 18, 26, 0, 8, false},  /* redis's own */
};

enum { LAYOUTS = sizeof(layouts) / sizeof(*layouts) };

/* Extents of one block, and memory that no extent is in; for so many questions only, as there may be one. */
struct range {
	uint64_t start, end, block; /* block 0: no extent */
	uint64_t asked;
};

/* Reads for the target are good for one question (n_asked). */
struct jemalloc {
	struct comm_range zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed;
	uint64_t root;			    /* 0: not known, */
	uint64_t search_at;		    /* and not searched for before this question */
	const struct extent_layout *layout; /* that the root was found by */
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
	/* The memory with extents that was read last. */
	struct {
		uint64_t start, asked, word[PAGE / 8];
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
static uint64_t edata_of(const struct jemalloc *je, uint64_t entry)
{
	return entry & ((UINT64_C(1) << 48) - je->layout->edata_alignment);
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

static uint64_t class_bytes(uint64_t quantum, unsigned int class)
{
	/* 8; eight by the quantum, of which it is one if that is 8; then four to a doubling. */
	if (quantum > 8 && !class --)
		return 8;
	if (class < 8)
		return quantum * (class + 1);
	class -= 8;
	return (quantum * 8 << class / 4) + (quantum * 2 << class / 4) * (class % 4 + 1);
}

/* As few pages as can be cut into blocks without rest.  The size tells layouts apart, beside what is free. */
static bool is_slab(const struct extent *extent, unsigned int n_free)
{
	uint64_t bytes = extent->end - extent->start, n = bytes / extent->block_bytes;
	uint64_t least_bytes = PAGE;
	unsigned int counted = 0;

	if (extent->block_bytes > SMALL_MOST || n > REGIONS_MOST)
		return false;
	while (least_bytes % extent->block_bytes)
		least_bytes += PAGE;
	for (size_t i = 0; i < n; i++)
		counted += extent->free[i / 64] >> i % 64 & 1;
	return bytes == least_bytes && counted == n_free && extent->first == extent->start;
}

/* One page may be there for blocks not to begin at the same place of it; what is small was chosen for a profile. */
static bool is_one_block(const struct extent *extent)
{
	uint64_t bytes = extent->end - extent->start;
	uint64_t least_bytes = extent->block_bytes > SMALL_MOST ? extent->block_bytes : LARGE_LEAST;

	return (bytes == least_bytes || bytes == least_bytes + PAGE) &&
	       extent->block_bytes <= extent->end - extent->first;
}

/* The words that describe an extent, with what is beside them. */
static int view(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t at,
		const uint64_t **ret)
{
	uint64_t start = at - at % PAGE;
	int err = 0;

	if (at - start > PAGE - EDATA_BYTES)
		start = at - (PAGE - EDATA_BYTES); /* they are in two pages */
	if (je->view.start != start || je->view.asked != je->n_asked) {
		err = read_words(memory, start, je->view.word, PAGE / 8);
		je->view.start = start;
		je->view.asked = err ? 0 : je->n_asked;
	}
	*ret = &je->view.word[(at - start) / 8];
	return err;
}

/*
 * What a page's entry of the tree leads to; -EPROTO: it contradicts itself, or changes just now.  An entry's size
 * class is kept up to date only where there is a block of it.
 */
static int extent_of(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t entry,
		     uint64_t page, struct extent *ret)
{
	const struct extent_layout *layout = je->layout;
	uint64_t at = edata_of(je, entry), bits;
	const uint64_t *edata;
	unsigned int class, state;
	int err = at && at < user_end ? view(je, memory, at, &edata) : -EPROTO;

	if (err)
		return err;
	bits = edata[EDATA_BITS];
	class = bits >> layout->class_shift & CLASS_MASK;
	state = bits >> layout->state_shift & layout->state_mask;
	ret->first = edata[EDATA_ADDR];
	ret->start = ret->first - ret->first % PAGE;
	if (page < ret->start || edata[EDATA_SIZE] < PAGE || edata[EDATA_SIZE] > user_end ||
	    page - ret->start >= edata[EDATA_SIZE] / PAGE * PAGE)
		return -EPROTO;
	ret->end = ret->start + edata[EDATA_SIZE] / PAGE * PAGE;
	ret->is_slab = bits >> EDATA_SLAB_SHIFT & 1;
	ret->is_active = state == STATE_ACTIVE && class < CLASSES;
	if (layout->entry_state_shift &&
	    (ret->is_slab != (entry & ENTRY_SLAB) ||
	     state != (entry >> layout->entry_state_shift & layout->state_mask)))
		return -EPROTO;
	if (!ret->is_active)
		return 0;
	if ((ret->is_slab || page == ret->start) &&
	    (ret->is_slab != (entry & ENTRY_SLAB) || class != entry >> ENTRY_CLASS_SHIFT))
		return -EPROTO;
	ret->block_bytes = class_bytes(layout->quantum, class);
	ret->least_bytes = class ? class_bytes(layout->quantum, class - 1) + 1 : 0;
	memcpy(ret->free, &edata[EDATA_FREE_REGIONS], sizeof(ret->free));
	return (ret->is_slab ? is_slab(ret, bits >> layout->free_shift & FREE_MASK)
			     : is_one_block(ret))
		       ? 0
		       : -EPROTO;
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
static const uint64_t *last_entry(const struct jemalloc *je, const uint64_t *entry, size_t n,
				  uint64_t *at)
{
	for (; n; n--, *at -= PAGE)
		if (edata_of(je, entry[n - 1]))
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
		*ret = last_entry(je, je->word, n, at);
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
			entry = last_entry(je, &je->near.entry[NEAR - n], n + 1, &at);
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

/* Whether the leaf of an address has further extents with blocks, and is mostly right about extents. */
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
			uint64_t edata = edata_of(je, je->word[j]);
			int err;

			if (!edata || edata == last)
				continue;
			last = edata;
			err = extent_of(je, memory, je->word[j], page, &extent);
			n_good += !err && extent.is_active && extent.block_bytes > ALIKE_BYTES;
			n_bad += err != 0;
			if (n_bad > n_good + CONTRADICTIONS_MORE)
				return false;
			if (n_good == CONFIRMATIONS)
				return true;
		}
	}
	return n_good >= CONFIRMATIONS_LEAST;
}

/* Whether the root, if that is one, leads to an extent with a piece's first page in it, by one of the layouts. */
static bool is_root(struct jemalloc *je, const struct comm_marks_memory *memory, uint64_t piece)
{
	struct extent extent;

	memset(je->leaf, 0, sizeof(je->leaf));
	for (size_t l = 0; l < LAYOUTS; l++) {
		int err = -EAGAIN;

		je->layout = &layouts[l];
		je->near.piece = je->back_at = 0;
		for (size_t i = 0; i <= 2 + BACK_PAGES / WORDS && err == -EAGAIN; i++)
			err = locate(je, memory, piece, &extent);
		if (!err && is_confirmed(je, memory, piece))
			return true;
		if (err && err != -EPROTO)
			return false; /* there is no extent, in whatever layout */
	}
	return false;
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

static bool may_be_leaf(uint64_t word)
{
	return word && word % NODE_ALIGNMENT == 0 && word < user_end;
}

/* The words behind a root's are such as well, or none: an address is of what has few of them. */
static bool may_be_in_root(const uint64_t *word, size_t n)
{
	if (!may_be_leaf(*word))
		return false;
	for (size_t i = 1; i < n && i < ALIKE_WORDS; i++)
		if (word[i] && !may_be_leaf(word[i]))
			return false;
	return true;
}

/*
 * The root among variables.  Where it is, the word tells that a piece would have in it; of words that could be
 * that one *tries more are tried.
 */
static int find_root(struct jemalloc *je, const struct comm_marks_memory *memory,
		     const struct comm_range *zeroed, uint64_t piece, unsigned int *tries)
{
	uint64_t shift = piece / PAGE / ENTRIES * 8, at = zeroed->start, n, root[TRIES];
	unsigned int n_roots = 0;
	int err;

	for (; zeroed->end - at >= ROOT_BYTES && n_roots < *tries; at += n * 8) {
		n = (zeroed->end - at - ROOT_BYTES) / 8 + 1;
		if (n > WORDS)
			n = WORDS;
		err = read_words(memory, at + shift, je->word, n);
		if (err)
			return err;
		for (size_t i = 0; i < n && n_roots < *tries; i++)
			if (may_be_in_root(je->word + i, n - i))
				root[n_roots++] = at + i * 8;
	}
	*tries -= n_roots;
	for (unsigned int i = 0; i < n_roots; i++) {
		je->root = root[i];
		if (is_root(je, memory, piece))
			return 0;
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
	je->search_at =
		je->n_asked + (AGAIN_FACTOR * je->n_asked < SEARCH_MOST ? AGAIN_FACTOR * je->n_asked
									: SEARCH_MOST);
	return -ENODATA;
}

static int jemalloc_enter(void *state, const struct comm_marks_memory *memory,
			  const struct comm_range *area, uint64_t piece, uint64_t *ret)
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
			any |= edata_of(je, je->near.entry[NEAR + i]);
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
			 const struct comm_range *area, uint64_t piece, bool is_far,
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

static bool is_word_of_user(uint64_t addr)
{
	return addr >= PAGE && addr < user_end && addr % 8 == 0;
}

/* The calls that a context of the profile leads to.  -ENOENT: it is none. */
static int calls_of(const struct comm_marks_memory *memory, uint64_t context,
		    struct comm_allocation *ret)
{
	uint64_t word[TRACE_WORDS], trace, at, n;
	int err;

	if (!is_word_of_user(context))
		return -ENOENT;
	err = read_words(memory, context, word, CONTEXT_WORDS);
	if (err)
		return err;
	trace = word[CONTEXT_TRACE];
	if (!is_word_of_user(trace))
		return -ENOENT;
	err = read_words(memory, trace, word, TRACE_WORDS);
	if (err)
		return err;
	at = trace + sizeof(word);
	n = (uint32_t)word[TRACE_CALLS];
	/* They are behind the words that lead to them: nothing else looks like that. */
	if (word[TRACE_CALLS_AT] != at || n < 2 || n > CALLS_MOST)
		return -ENOENT;
	ret->n_words = n - 1 < COMM_ALLOCATION_WORDS ? (uint32_t)n - 1 : COMM_ALLOCATION_WORDS;
	err = read_words(memory, at, &ret->code, 1);
	return err ? err : read_words(memory, at + 8, ret->word, ret->n_words);
}

/* Its extent is read once more afterwards: it is the same, or the block was another's meanwhile. */
static int jemalloc_site(void *state, const struct comm_marks_memory *memory, uint64_t start,
			 struct comm_allocation *ret)
{
	uint64_t piece = comm_piece_of(start), page = start - start % PAGE, entry;
	uint64_t before[EDATA_BYTES / 8];
	struct jemalloc *je = state;
	struct extent extent;
	const uint64_t *edata;
	int err;

	if (!je->root || !je->layout->has_profile)
		return -ENOENT;
	je->n_asked++;
	err = look_near(je, memory, piece);
	if (err)
		return err;
	entry = je->near.entry[NEAR + (page - piece) / PAGE];
	err = extent_of(je, memory, entry, page, &extent);
	if (!err && (!extent.is_active || extent.is_slab || extent.first != start))
		err = -ENOENT;
	if (!err)
		err = view(je, memory, edata_of(je, entry), &edata);
	if (err)
		return err;
	memcpy(before, edata, sizeof(before));
	*ret = (struct comm_allocation){
		.start = start,
		.size_bytes = before[EDATA_ASKED_BYTES],
		.since_ns = before[EDATA_TIME] + COARSE_NS,
	};
	if (!ret->size_bytes || ret->size_bytes > extent.block_bytes)
		return -ENOENT;
	err = calls_of(memory, before[EDATA_CONTEXT], ret);
	if (err)
		return err;
	je->view.asked = 0;
	err = view(je, memory, edata_of(je, entry), &edata);
	if (err)
		return err;
	/* What is between and behind them links it to other extents. */
	return memcmp(before, edata, (EDATA_SIZE + 1) * sizeof(*edata)) ||
			       memcmp(&before[EDATA_TIME], &edata[EDATA_TIME],
				      (EDATA_CONTEXT + 1 - EDATA_TIME) * sizeof(*edata))
		       ? -EPROTO
		       : 0;
}

static bool jemalloc_range(const struct comm_heap_place *place, struct comm_range *ret)
{
	const struct comm_mapping *m = place->m;

	if (!place->n_zeroed || m->shared || !m->writable)
		return false;
	*ret = (struct comm_range){place->zeroed[0].start, place->zeroed[place->n_zeroed - 1].end};
	return m->kind == COMM_MAP_HEAP || (m->kind == COMM_MAP_ANON && !m->path[0]);
}

static int jemalloc_open(const struct comm_marks_memory *memory,
			 const struct comm_heap_place *place, const struct comm_range *area,
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
	.site = jemalloc_site,
};
