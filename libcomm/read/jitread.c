// SPDX-License-Identifier: GPL-2.0-or-later
#include "hash.h"
#include "jit_piece.h"
#include "saved.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct jit_reading {
	struct jit_piece head;
	struct jit_range *range;
	size_t ranges_capacity;
	char *file; /* the piece as it is in the file, and its names, moved to the front */
};

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

static void add_line(struct jit_reading *r, const char *at, size_t len)
{
	const char *end = at + len;
	uint64_t start, size;
	size_t name_len;

	if (!hex(&at, end, &start) || at == end || *at++ != ' ' || !hex(&at, end, &size) ||
	    at == end || *at++ != ' ')
		return;
	if (!size || start + size < start || r->head.n == r->ranges_capacity)
		return;
	name_len = strnlen(at, (size_t)(end - at));
	if (name_len >= COMM_NAME_BYTES)
		name_len = comm_text_whole(at, COMM_NAME_BYTES - 1);
	r->range[r->head.n++] = (struct jit_range){
		.start = start,
		.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
		.name = (uint32_t)r->head.text_bytes,
		.seq = (uint32_t)r->head.n_lines++,
	};
	/* A name is shorter than its line: what is overwritten was read. */
	memmove(r->file + r->head.text_bytes, at, name_len);
	r->head.text_bytes += name_len;
	r->file[r->head.text_bytes++] = 0;
}

/* Returns how many bytes need not be read again. */
static size_t add_lines(struct jit_reading *r, size_t n)
{
	const char *start = r->file, *at = start, *end = at + n;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		if (!eol)
			break;
		if (!r->head.place.skipping && eol - at <= JIT_LINE_BYTES_MAX)
			add_line(r, at, (size_t)(eol - at));
		r->head.place.skipping = 0;
		at = eol + 1;
	}
	if (end - at <= JIT_LINE_BYTES_MAX && !r->head.place.skipping)
		return (size_t)(at - start); /* an unfinished line is read again, whole */
	r->head.place.skipping = 1;
	return n;
}

static int by_start(const void *pa, const void *pb)
{
	const struct jit_range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->seq > b->seq ? -1 : a->seq < b->seq; /* the latest first */
}

static void settle(struct jit_reading *r)
{
	uint64_t kept = 0;

	if (r->head.n)
		qsort(r->range, r->head.n, sizeof(*r->range), by_start);
	for (uint64_t i = 0; i < r->head.n; i++)
		if (!kept || r->range[kept - 1].start != r->range[i].start)
			r->range[kept++] = r->range[i];
	r->head.n = kept;
}

/* 0 also: it cannot be read, or nothing is in front of offset. */
static uint64_t check_of(int fd, uint64_t offset)
{
	uint64_t from = offset > COMM_JIT_CHECKED_BYTES ? offset - COMM_JIT_CHECKED_BYTES : 0;
	uint64_t hash = 0, word[512];
	ssize_t n;

	for (; from < offset; from += (uint64_t)n) {
		uint64_t left = offset - from;

		memset(word, 0, sizeof(word));
		n = pread(fd, word, left < sizeof(word) ? left : sizeof(word), (off_t)from);
		if (n <= 0)
			return 0;
		for (size_t i = 0; i * sizeof(*word) < (size_t)n; i++)
			hash = comm_hash_mix(hash, word[i]);
	}
	return hash;
}

static int read_piece(int fd, const struct comm_jit_place *from, struct jit_reading *r)
{
	struct comm_jit_place *place = &r->head.place;
	size_t bytes = COMM_JIT_PIECE_BYTES;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	*place = *from;
	if (place->dev != st.st_dev || place->ino != st.st_ino ||
	    place->offset > (uint64_t)st.st_size || place->check != check_of(fd, place->offset)) {
		*place = (struct comm_jit_place){.dev = st.st_dev, .ino = st.st_ino};
		r->head.anew = 1;
	}
	r->head.more = (uint64_t)st.st_size - place->offset > bytes;
	if (!r->head.more)
		bytes = (uint64_t)st.st_size - place->offset;
	r->ranges_capacity = bytes / JIT_LINE_BYTES_MIN + 1;
	r->file = malloc(bytes + 1);
	r->range = malloc(r->ranges_capacity * sizeof(*r->range));
	if (!r->file || !r->range)
		return -ENOMEM;
	n = pread(fd, r->file, bytes, (off_t)place->offset);
	if (n < 0)
		return -errno;
	place->offset += add_lines(r, (size_t)n);
	place->check = check_of(fd, place->offset);
	settle(r);
	return 0;
}

int comm_jit_read(int fd, const struct comm_jit_place *from, int to)
{
	struct jit_reading r = {.head = {.complete = JIT_COMPLETE}};
	uint64_t at = sizeof(r.head), start = 0;
	int err = read_piece(fd, from, &r);

	/* The head is written last: a piece that was cut short has none. */
	if (!err && (!comm_saved_put(to, r.range, r.head.n * sizeof(*r.range), &at) ||
		     !comm_saved_put(to, r.file, r.head.text_bytes, &at) ||
		     !comm_saved_put(to, &r.head, sizeof(r.head), &start)))
		err = -EIO;
	free(r.file);
	free(r.range);
	return err;
}
