/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of heaps in the very process that asks (heap_blocks.h), or in another, by a clock that stands still but
 * for clock_ns.
 */
#ifndef TESTS_OWN_HEAP_H
#define TESTS_OWN_HEAP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap_blocks.h"
#include "read_self.h"

enum { SECOND_NS = 1000 * 1000 * 1000 };

static uint64_t clock_ns = SECOND_NS;

static uint64_t now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static uint64_t spent(void *ctx)
{
	(void)ctx;
	return 0;
}

static struct comm_heap_blocks *blocks;
static struct comm_names *names;
static struct comm_maps *maps;

static inline int setup(void **state)
{
	struct comm_heap_reading reading = {.read = read_self, .now_ns = now, .spent_ns = spent};

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	reading.names = names;
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_heap_blocks_create(&reading, &blocks), 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	comm_heap_blocks_destroy(blocks);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
	return 0;
}

/* Where addr is, from the kernel; it shows what grew lately beside the rest.  Of one place alone there is a map. */
struct own_place {
	pid_t pid;
	struct comm_mapping m;
	struct comm_range zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed;
	const struct comm_mapping *map;
	size_t n_map;
	bool has_python;
};

static inline struct own_place place_in(pid_t pid, uint64_t addr)
{
	static char text[1 << 20], path[64];
	static struct comm_mapping kept[1 << 12];
	struct comm_mapping *map, found = {0};
	struct own_place place = {.pid = pid};
	size_t n_text, n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	n_text = fread(text, 1, sizeof(text), file);
	fclose(file);
	assert_int_equal(comm_maps_parse(maps, text, n_text, &map, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (addr >= map[i].start && addr < map[i].end)
			found = map[i];
	for (size_t i = 0; i < n; i++)
		if (map[i].kind == COMM_MAP_HEAP && found.kind == COMM_MAP_HEAP &&
		    map[i].start == found.end)
			found.end = map[i].end;
	place.m = found;
	place.n_zeroed = comm_maps_zeroed(map, n, place.zeroed);
	/* Nothing that stays behind may change the heap. */
	assert_in_range(n, 1, sizeof(kept) / sizeof(*kept));
	memcpy(kept, map, n * sizeof(*map));
	free(map);
	place.map = kept;
	place.n_map = n;
	place.has_python = comm_maps_has_python(kept, n);
	return place;
}

static inline struct own_place place_of(uint64_t addr)
{
	return place_in(getpid(), addr);
}

static int block_at(const struct own_place *own, uint64_t addr, struct comm_block *ret)
{
	const struct comm_heap_place place = {
		.addr = addr,
		.m = &own->m,
		.zeroed = own->zeroed,
		.n_zeroed = own->n_zeroed,
		.map = own->map,
		.n_map = own->n_map,
		.has_python = own->has_python,
	};
	struct comm_blocks_found all;
	int err = comm_heap_blocks_at(blocks, (uint32_t)own->pid, &place, &all);

	for (size_t i = 0; !err && i < all.n; i++) {
		*ret = all.block[i];
		if (addr >= ret->start && addr - ret->start < ret->size_bytes)
			return 0;
	}
	return err ? err : -ENODATA;
}

/* Asks until two readings agree; the program is at rest meanwhile. */
static inline int block_of(const void *at, struct comm_block *ret)
{
	const struct own_place own = place_of((uintptr_t)at);
	int err = -EAGAIN;

	for (int i = 0; i < 1000 && err == -EAGAIN; i++, clock_ns += SECOND_NS / 5)
		err = block_at(&own, (uintptr_t)at, ret);
	return err;
}

#endif
