// SPDX-License-Identifier: GPL-2.0-or-later
#include "backing.h"

#include <errno.h>
#include <stdbool.h>
enum {
	PAGE_BYTES = 4096,
	CHUNK_PAGES = 256, /* of a file, that have cells or none */
};

/* In what is kept of a page: that it shows a file until it is written.  The rest is a page of cells, from 1. */
#define IS_PRIVATE (1u << 31)

struct chunk {
	struct comm_backing_file file; /* kind 0: free */
	uint64_t number;	       /* of those in the file */
	uint32_t first;		       /* page of cells, from 1 */
};

/* On memory that children of fork() share. */
static struct {
	uint32_t is_taken;
	uint32_t pages; /* that are used */
	struct chunk chunk[];
} * table;

static const struct comm_backing_shadow *shadow;
static uint32_t entries;
static bool has_shown;

int comm_backing_init(const struct comm_backing_shadow *of)
{
	shadow = of;
	entries = 2 * (of->backing_pages / CHUNK_PAGES);
	table = of->map_shared(sizeof(*table) + entries * sizeof(table->chunk[0]));
	return table ? 0 : -ENOMEM;
}

static size_t pages_of(size_t len_bytes)
{
	return (len_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* Of a page, and so many behind it. */
static uint32_t *shown_at(uint64_t addr, size_t pages)
{
	return shadow->shown(addr + pages * PAGE_BYTES);
}

/* A process that was killed in between does not give it back: then it is taken. */
static void take(void)
{
	unsigned int turn = 0;
	uint32_t is_free = 0;

	while (!__atomic_compare_exchange_n(&table->is_taken, &is_free, 1, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED) &&
	       shadow->give_way(turn++))
		is_free = 0;
}

static void give_back(void)
{
	__atomic_store_n(&table->is_taken, 0, __ATOMIC_RELEASE);
}

/* The first of so many, from 1; 0: there is no room. */
static uint32_t new_pages(size_t n)
{
	uint32_t first = __atomic_load_n(&table->pages, __ATOMIC_RELAXED);

	do {
		if (n > shadow->backing_pages - first)
			return 0;
	} while (!__atomic_compare_exchange_n(&table->pages, &first, first + n, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return first + 1;
}

static bool is_same(const struct comm_backing_file *a, const struct comm_backing_file *b)
{
	return a->kind == b->kind && a->device == b->device && a->number == b->number &&
	       a->birth == b->birth;
}

static uint64_t hash(const struct comm_backing_file *file, uint64_t number)
{
	uint64_t h = file->device * 31 + file->number;

	h = (h * 31 + file->birth) * 31 + file->kind;
	return (h + number * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 32;
}

/* The first page of a chunk's cells, from 1; 0: it has none, or there is no room. */
static uint32_t find_chunk(const struct comm_backing_file *file, uint64_t number, bool make)
{
	uint32_t i = hash(file, number) % entries, first = 0;
	struct chunk *c;

	take();
	for (c = &table->chunk[i]; c->file.kind; c = &table->chunk[i]) {
		if (c->number == number && is_same(&c->file, file))
			break;
		i = (i + 1) % entries;
	}
	if (!c->file.kind && make) {
		c->first = new_pages(CHUNK_PAGES);
		if (c->first) {
			c->number = number;
			c->file = *file;
		}
	}
	if (c->file.kind)
		first = c->first;
	give_back();
	return first;
}

/* What a page of cells is of; false: of no file. */
static bool find_file(uint32_t page, struct comm_backing_file *ret, uint64_t *ret_offset)
{
	uint32_t i;

	for (i = 0; i < entries; i++) {
		const struct chunk *c = &table->chunk[i];

		if (!c->file.kind || page < c->first || page >= c->first + CHUNK_PAGES)
			continue;
		*ret = c->file;
		*ret_offset = (c->number * CHUNK_PAGES + page - c->first) * PAGE_BYTES;
		return true;
	}
	return false;
}

static void show(uint64_t addr, size_t pages, uint32_t first, uint32_t flags)
{
	size_t i;

	shadow->show(addr, pages, first - 1);
	for (i = 0; i < pages; i++)
		*shown_at(addr, i) = (first + i) | flags;
	has_shown = true;
}

/* Of those that follow in the file: the cells of as many pages as come after each other, 0: there are none. */
static uint32_t find_run(const struct comm_backing_file *file, uint64_t page, size_t pages,
			 bool make, size_t *ret_pages)
{
	uint32_t first = find_chunk(file, page / CHUNK_PAGES, make);
	size_t n = CHUNK_PAGES - page % CHUNK_PAGES;

	while (first && n < pages &&
	       find_chunk(file, (page + n) / CHUNK_PAGES, make) == first + page % CHUNK_PAGES + n)
		n += CHUNK_PAGES;
	*ret_pages = n < pages ? n : pages;
	return first ? first + page % CHUNK_PAGES : 0;
}

void comm_backing_map(uint64_t addr, size_t len_bytes, const struct comm_backing_file *file,
		      uint64_t offset, enum comm_backing_use use)
{
	size_t left = pages_of(len_bytes), n;
	uint64_t page = offset / PAGE_BYTES;

	for (; table && left; left -= n, page += n, addr += n * PAGE_BYTES) {
		uint32_t first = find_run(file, page, left, true, &n);

		if (first)
			show(addr, n, first, use == COMM_BACKING_PRIVATE ? IS_PRIVATE : 0);
		else if (use == COMM_BACKING_SHARED)
			shadow->share(addr, n * PAGE_BYTES);
	}
}

void comm_backing_map_new(uint64_t addr, size_t len_bytes)
{
	uint32_t first = table ? new_pages(pages_of(len_bytes)) : 0;

	if (first)
		show(addr, pages_of(len_bytes), first, 0);
	else
		shadow->share(addr, len_bytes);
}

void comm_backing_copy(uint64_t addr, size_t len_bytes, const struct comm_backing_file *file,
		       uint64_t offset)
{
	size_t left = pages_of(len_bytes), n;
	uint64_t page = offset / PAGE_BYTES;

	for (; table && left; left -= n, page += n, addr += n * PAGE_BYTES) {
		uint32_t first = find_run(file, page, left, false, &n);

		if (first)
			shadow->copy(addr, n, first - 1);
	}
}

void comm_backing_repeat(uint64_t from, size_t from_bytes, uint64_t to, size_t to_bytes)
{
	const size_t has = pages_of(from_bytes), wants = pages_of(to_bytes);
	const uint32_t flags = *shown_at(from, 0) & IS_PRIVATE;
	struct comm_backing_file file;
	uint64_t offset;
	size_t i, n;

	for (i = 0; from != to && i < has && i < wants; i += n) {
		uint32_t first = *shown_at(from, i);

		for (n = 1; i + n < has && i + n < wants && *shown_at(from, i + n) == first + n;
		     n++)
			;
		if (first)
			show(to + i * PAGE_BYTES, n, first & ~IS_PRIVATE, flags);
	}
	if (wants > has && find_file(*shown_at(from, has - 1) & ~IS_PRIVATE, &file, &offset))
		comm_backing_map(to + has * PAGE_BYTES, (wants - has) * PAGE_BYTES, &file,
				 offset + PAGE_BYTES,
				 flags ? COMM_BACKING_PRIVATE : COMM_BACKING_SHARED);
}

void comm_backing_part(uint64_t addr, size_t len_bytes)
{
	const uint64_t end = addr + pages_of(len_bytes) * PAGE_BYTES;

	for (; has_shown && addr < end; addr += PAGE_BYTES) {
		uint32_t page = *shown_at(addr, 0);

		if (!(page & IS_PRIVATE))
			continue;
		shadow->clear(addr, PAGE_BYTES);
		shadow->copy(addr, 1, (page & ~IS_PRIVATE) - 1);
		*shown_at(addr, 0) = 0;
	}
}

void comm_backing_discard(uint64_t addr, size_t len_bytes, int is_hole)
{
	const uint64_t end = addr + pages_of(len_bytes) * PAGE_BYTES;
	uint64_t from = addr;

	for (; has_shown && addr < end; addr += PAGE_BYTES) {
		uint32_t page = *shown_at(addr, 0);

		if (!page)
			continue;
		if (from < addr && !is_hole)
			shadow->clear(from, addr - from);
		from = addr + PAGE_BYTES;
		if (is_hole)
			shadow->empty((page & ~IS_PRIVATE) - 1);
	}
	if (from < end && !is_hole)
		shadow->clear(from, end - from);
}

void comm_backing_unmap(uint64_t addr, size_t len_bytes)
{
	const size_t pages = pages_of(len_bytes);
	size_t i;

	shadow->clear(addr, len_bytes);
	for (i = 0; has_shown && i < pages; i++)
		if (*shown_at(addr, i))
			*shown_at(addr, i) = 0;
}

int comm_backing_is_shared(uint64_t addr)
{
	return has_shown && *shown_at(addr, 0);
}

size_t comm_backing_length(uint64_t addr)
{
	size_t n = 1;

	if (!comm_backing_is_shared(addr))
		return 0;
	while (*shown_at(addr, n) == *shown_at(addr, 0) + n)
		n++;
	return n * PAGE_BYTES;
}
