// SPDX-License-Identifier: GPL-2.0-or-later
#include "jitmap.h"

#include "jit_piece.h"
#include "saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES_MAX = 1 << 20,
	TEXT_BYTES_MAX = 48 << 20,
	BACK_MAX = 64, /* entries looked at before the nearest: one may enclose it */
};

struct comm_jitmap {
	struct comm_names *names;
	struct comm_jit_budget *budget;
	struct jit_range *entry; /* by start */
	size_t n;
	char *text; /* names that were found are in names, too */
	size_t text_bytes, text_capacity;
	uint32_t seq;
	uint64_t bytes; /* as counted in budget */
	struct comm_jit_place place;
};

int comm_jitmap_create(struct comm_names *names, struct comm_jit_budget *budget,
		       struct comm_jitmap **ret)
{
	struct comm_jitmap *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->names = names;
	map->budget = budget;
	*ret = map;
	return 0;
}

static void clear(struct comm_jitmap *map)
{
	free(map->entry);
	free(map->text);
	map->budget->bytes -= map->bytes;
	*map = (struct comm_jitmap){.names = map->names, .budget = map->budget};
}

void comm_jitmap_destroy(struct comm_jitmap *map)
{
	if (!map)
		return;
	clear(map);
	free(map);
}

static int load_head(int saved, struct jit_piece *ret, uint64_t *at)
{
	int err = comm_saved_get(saved, ret, sizeof(*ret), at);

	if (err)
		return err;
	if (ret->complete != JIT_COMPLETE || ret->place.skipping > 1 || ret->anew > 1 ||
	    ret->more > 1 || ret->n > JIT_LINES_MAX || ret->n_lines > JIT_LINES_MAX ||
	    ret->text_bytes > COMM_JIT_PIECE_BYTES)
		return -ENODATA;
	return 0;
}

static bool sound(const struct jit_range *range, const struct jit_piece *head, const char *text)
{
	for (size_t i = 0; i < head->n; i++)
		if (range[i].name >= head->text_bytes || range[i].seq >= head->n_lines ||
		    range[i].start + range[i].size < range[i].start ||
		    (i && range[i].start <= range[i - 1].start))
			return false;
	return !head->text_bytes || !text[head->text_bytes - 1];
}

/* Puts both into one table; at the same start the new entry wins. */
static size_t merge(const struct jit_range *old, size_t n_old, const struct jit_range *new,
		    size_t n_new, struct jit_range *ret)
{
	size_t n = 0;

	for (size_t i = 0, k = 0; i < n_old || k < n_new;) {
		if (k == n_new || (i < n_old && old[i].start < new[k].start)) {
			ret[n++] = old[i++];
			continue;
		}
		if (i < n_old && old[i].start == new[k].start)
			i++;
		ret[n++] = new[k++];
	}
	return n;
}

static int reserve(struct comm_jitmap *map, size_t n, size_t text_bytes)
{
	size_t capacity = map->text_capacity;
	uint64_t bytes;
	char *bigger;

	if (map->n + n > ENTRIES_MAX || map->text_bytes + text_bytes > TEXT_BYTES_MAX)
		return -E2BIG;
	while (capacity < map->text_bytes + text_bytes)
		capacity = capacity ? capacity + capacity / 2 : 64 * 1024;
	bytes = (map->n + n) * sizeof(*map->entry) + capacity;
	if (map->budget->bytes - map->bytes + bytes > map->budget->max_bytes)
		return -ENOSPC;
	bigger = realloc(map->text, capacity ? capacity : 1);
	if (!bigger)
		return -ENOMEM;
	map->text = bigger;
	map->text_capacity = capacity;
	map->budget->bytes += bytes - map->bytes;
	map->bytes = bytes;
	return 0;
}

static int append(struct comm_jitmap *map, const struct jit_piece *head, struct jit_range *range,
		  const char *text)
{
	int err = reserve(map, head->n, head->text_bytes);
	struct jit_range *merged;

	if (err)
		return err;
	merged = malloc((map->n + head->n + 1) * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	for (size_t i = 0; i < head->n; i++) {
		range[i].name += (uint32_t)map->text_bytes;
		range[i].seq += map->seq;
	}
	map->n = merge(map->entry, map->n, range, head->n, merged);
	free(map->entry);
	map->entry = merged;
	memcpy(map->text + map->text_bytes, text, head->text_bytes);
	map->text_bytes += head->text_bytes;
	map->seq += (uint32_t)head->n_lines;
	return 0;
}

int comm_jitmap_load(struct comm_jitmap *map, int saved, bool *ret_more)
{
	struct jit_range *range = NULL;
	struct jit_piece head;
	char *text = NULL;
	uint64_t at = 0;
	int err = load_head(saved, &head, &at);

	if (err)
		return err;
	err = comm_saved_array(saved, &range, head.n, sizeof(*range), &at);
	if (!err)
		err = comm_saved_array(saved, &text, head.text_bytes, 1, &at);
	if (!err && !sound(range, &head, text))
		err = -ENODATA;
	if (!err && head.anew)
		clear(map);
	if (!err && head.n)
		err = append(map, &head, range, text);
	if (!err) {
		map->place = head.place;
		*ret_more = head.more;
	}
	free(range);
	free(text);
	return err;
}

const struct comm_jit_place *comm_jitmap_place(const struct comm_jitmap *map)
{
	return &map->place;
}

const char *comm_jitmap_find(const struct comm_jitmap *map, uint64_t addr, uint64_t *ret_start,
			     uint64_t *ret_end)
{
	const struct jit_range *best = NULL;
	size_t lo = 0, hi = map->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->entry[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < BACK_MAX && back < lo; back++) {
		const struct jit_range *e = &map->entry[lo - 1 - back];

		if (addr - e->start < e->size && (!best || e->seq > best->seq))
			best = e;
	}
	if (!best)
		return NULL;
	*ret_start = best->start;
	*ret_end = best->start + best->size;
	return comm_names_add(map->names, map->text + best->name, COMM_NAME_BYTES);
}

size_t comm_jitmap_entries(const struct comm_jitmap *map)
{
	return map->n;
}
