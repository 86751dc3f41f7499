/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of heaps in the very process that asks (heap_blocks.h), whose clock stands still but for clock_ns. */
#ifndef TESTS_OWN_HEAP_H
#define TESTS_OWN_HEAP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "heap_blocks.h"

enum { SECOND_NS = 1000 * 1000 * 1000 };

static uint64_t clock_ns = SECOND_NS;

static ssize_t read_self(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct iovec local = {buf, len_bytes}, remote = {(void *)(uintptr_t)addr, len_bytes};
	ssize_t n = process_vm_readv((pid_t)tgid, &local, 1, &remote, 1, 0);

	(void)ctx;
	return n < 0 ? -errno : n;
}

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
	const struct comm_heap_reading reading = {read_self, now, spent, NULL};

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
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

/* Where addr is, from the kernel; it shows what grew lately beside the rest. */
struct own_place {
	struct comm_mapping m;
	struct comm_area zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed;
};

static struct own_place place_of(uint64_t addr)
{
	static char text[1 << 20];
	struct comm_mapping *map, found = {0};
	struct own_place place;
	FILE *file = fopen("/proc/self/maps", "re");
	size_t n_text, n;

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
	free(map);
	return place;
}

static int block_at(const struct own_place *own, uint64_t addr, struct comm_block *ret)
{
	const struct comm_heap_place place = {addr, &own->m, own->zeroed, own->n_zeroed};
	struct comm_blocks_found all;
	int err = comm_heap_blocks_at(blocks, (uint32_t)getpid(), &place, &all);

	for (size_t i = 0; !err && i < all.n; i++) {
		*ret = all.block[i];
		if (addr >= ret->start && addr - ret->start < ret->size_bytes)
			return 0;
	}
	return err ? err : -ENODATA;
}

/* Asks until two readings agree; the program is at rest meanwhile. */
static int block_of(const void *at, struct comm_block *ret)
{
	const struct own_place own = place_of((uintptr_t)at);
	int err = -EAGAIN;

	for (int i = 0; i < 1000 && err == -EAGAIN; i++, clock_ns += SECOND_NS / 5)
		err = block_at(&own, (uintptr_t)at, ret);
	return err;
}

#endif
