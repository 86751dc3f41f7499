/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jitmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ENTRIES_MAX = 1 << 20,
	READ_BYTES = 64 * 1024,
	READ_BYTES_MAX = 64 << 20,
	LINE_BYTES_MAX = 4096, /* longer ones are skipped */
	BACK_MAX = 64,	       /* entries looked at before the nearest: one may enclose it */
};

struct jit_range {
	uint64_t start, end;
	const char *name;
	uint32_t seq; /* line in the file: of overlapping entries the later wins */
};

struct comm_jitmap {
	struct comm_names *names;
	struct jit_range *entry;
	size_t n, room, sorted;
	uint32_t seq;
	bool skipping; /* inside of a line that is too long */
	char rest[LINE_BYTES_MAX];
	size_t rest_bytes;
	dev_t dev;
	ino_t ino;
	off_t offset;
};

int comm_jitmap_create(struct comm_names *names, struct comm_jitmap **ret)
{
	struct comm_jitmap *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->names = names;
	*ret = map;
	return 0;
}

void comm_jitmap_destroy(struct comm_jitmap *map)
{
	if (!map)
		return;
	free(map->entry);
	free(map);
}

static bool hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end; p++, digits++) {
		char c = *p | 0x20;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	*at = p;
	*ret = value;
	return digits > 0 && digits <= 16;
}

static int add_line(struct comm_jitmap *map, const char *at, size_t len)
{
	const char *end = at + len;
	uint64_t start, size;

	if (!hex(&at, end, &start) || at == end || *at++ != ' ' || !hex(&at, end, &size) ||
	    at == end || *at++ != ' ')
		return 0;
	if (!size || start + size < start || map->n >= ENTRIES_MAX)
		return 0;
	if (map->n == map->room) {
		size_t more = map->room ? map->room * 2 : 256;
		struct jit_range *bigger = realloc(map->entry, more * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		map->entry = bigger;
		map->room = more;
	}
	map->entry[map->n++] = (struct jit_range){
		.start = start,
		.end = start + size,
		.name = comm_names_add(map->names, at, (size_t)(end - at)),
		.seq = map->seq++,
	};
	return 0;
}

int comm_jitmap_text(struct comm_jitmap *map, const char *text, size_t text_bytes)
{
	const char *end = text + text_bytes;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((eol ? eol : end) - text);
		int err = 0;

		if (map->rest_bytes + len > sizeof(map->rest))
			map->skipping = true;
		if (!map->skipping && (map->rest_bytes || !eol)) {
			memcpy(map->rest + map->rest_bytes, text, len);
			map->rest_bytes += len;
		}
		if (!eol)
			break;
		if (map->skipping)
			map->skipping = false;
		else if (map->rest_bytes)
			err = add_line(map, map->rest, map->rest_bytes);
		else
			err = add_line(map, text, len);
		map->rest_bytes = 0;
		if (err)
			return err;
		text = eol + 1;
	}
	return 0;
}

int comm_jitmap_read(struct comm_jitmap *map, int fd)
{
	char text[READ_BYTES];
	struct stat st;
	off_t stop;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != map->dev || st.st_ino != map->ino || st.st_size < map->offset) {
		map->dev = st.st_dev;
		map->ino = st.st_ino;
		map->offset = 0;
		map->n = map->sorted = 0;
		map->rest_bytes = 0;
		map->skipping = false;
	}
	stop = map->offset + READ_BYTES_MAX;
	while (map->offset < st.st_size && map->offset < stop) {
		ssize_t n = pread(fd, text, sizeof(text), map->offset);
		int err;

		if (n < 0)
			return -errno;
		if (!n)
			break;
		map->offset += n;
		err = comm_jitmap_text(map, text, (size_t)n);
		if (err)
			return err;
	}
	return 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct jit_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->seq > b->seq ? -1 : a->seq < b->seq; /* the latest first */
}

static void settle(struct comm_jitmap *map)
{
	size_t kept = 0;

	if (map->sorted == map->n)
		return;
	qsort(map->entry, map->n, sizeof(*map->entry), by_start);
	for (size_t i = 0; i < map->n; i++)
		if (!kept || map->entry[kept - 1].start != map->entry[i].start)
			map->entry[kept++] = map->entry[i];
	map->n = map->sorted = kept;
}

const char *comm_jitmap_find(struct comm_jitmap *map, uint64_t addr, uint64_t *ret_start,
			     uint64_t *ret_end)
{
	const struct jit_range *best = NULL;
	size_t lo = 0, hi;

	settle(map);
	hi = map->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->entry[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < BACK_MAX && back < lo; back++) {
		const struct jit_range *e = &map->entry[lo - 1 - back];

		if (addr < e->end && (!best || e->seq > best->seq))
			best = e;
	}
	if (!best)
		return NULL;
	*ret_start = best->start;
	*ret_end = best->end;
	return best->name;
}

size_t comm_jitmap_entries(const struct comm_jitmap *map)
{
	return map->n;
}
