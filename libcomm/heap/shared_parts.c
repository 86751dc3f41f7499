// SPDX-License-Identifier: GPL-2.0-or-later
#include "shared_parts.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SEGMENTS = 64,
	POINTERS = 256, /* into one segment */
	LOOKUPS = 4096, /* of variables, in one reading */
	LEAST_BYTES = 64 << 10,
	VARIABLES_BYTES_MAX = 1 << 20, /* of a program; further ones are not looked at */
	CHUNK_WORDS = 2048,
	RARER = 7, /* readings, each of which will do for twice as long */
	WORD = 8,
};

static const uint64_t agree_ns = 50 * 1000 * 1000;
/* After a reading, for so long another process is waited for to read the next of. */
static const uint64_t other_ns = 2000 * (uint64_t)1000 * 1000;
static const uint64_t rarest_ns = 10000 * (uint64_t)1000 * 1000;

/* A static variable that led into the segment. */
struct part_pointer {
	uint64_t variable; /* how far behind the program's start it is */
	uint64_t at;	   /* where it led to: offset in the file */
	const char *name;
	uint32_t reading; /* that found it last */
	bool agreed;	  /* two readings found the same */
	bool moved;	  /* two readings did not: it is not looked at any more */
};

/* What processes of one program have mapped of one file of shared memory. */
struct shared_segment {
	uint64_t dev, ino, offset;
	uint32_t program; /* id of its file; 0: a free place */
	uint64_t used;
	uint64_t read_ns,
		wait_ns; /* when it was read last (0: never), and for how long that will do */
	uint32_t tgid;	 /* that was read last; 0: none, it could not be */
	uint32_t readings;
	size_t n, n_told;
	struct part_pointer pointer[POINTERS];
	struct part_pointer told[POINTERS]; /* in order of where they lead to */
};

struct comm_shared_parts {
	struct comm_shared_reading reading;
	struct shared_segment segment[SEGMENTS];
	uint64_t used;
	uint64_t word[CHUNK_WORDS];
	struct part_pointer found[POINTERS]; /* by the reading that is made */
	size_t n_found;
	struct comm_block answer[POINTERS];
};

int comm_shared_parts_create(const struct comm_shared_reading *reading,
			     struct comm_shared_parts **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->reading = *reading;
	return 0;
}

void comm_shared_parts_destroy(struct comm_shared_parts *parts)
{
	free(parts);
}

bool comm_shared_parts_may_have(const struct comm_mapping *m)
{
	return m->kind == COMM_MAP_SHARED && m->shared && m->end - m->start >= LEAST_BYTES;
}

/* The program: its file is mapped below those of libraries.  NULL: there is none. */
static const struct comm_mapping *program_of(const struct comm_shared_place *place)
{
	for (size_t i = 0; i < place->n_map; i++)
		if (place->map[i].kind == COMM_MAP_FILE && place->map[i].file)
			return &place->map[i];
	return NULL;
}

/* NULL: nothing can be known. */
static struct shared_segment *segment_of(struct comm_shared_parts *parts,
					 const struct comm_shared_place *place)
{
	const struct comm_mapping *m = place->m, *program = program_of(place);
	struct shared_segment *oldest = &parts->segment[0];

	if (!program)
		return NULL;
	for (size_t i = 0; i < SEGMENTS; i++) {
		struct shared_segment *s = &parts->segment[i];

		if (s->program == program->file && s->dev == m->dev && s->ino == m->ino &&
		    s->offset == m->offset) {
			s->used = ++parts->used;
			return s;
		}
		if (s->used < oldest->used)
			oldest = s;
	}
	oldest->dev = m->dev;
	oldest->ino = m->ino;
	oldest->offset = m->offset;
	oldest->program = program->file;
	oldest->used = ++parts->used;
	oldest->read_ns = 0;
	oldest->readings = 0;
	oldest->n = oldest->n_told = 0;
	return oldest;
}

bool comm_shared_parts_due(struct comm_shared_parts *parts, const struct comm_shared_place *place)
{
	uint64_t now_ns = parts->reading.now_ns(parts->reading.ctx);
	const struct shared_segment *s = segment_of(parts, place);

	if (!s || !s->read_ns)
		return s;
	return now_ns - s->read_ns >= s->wait_ns &&
	       (place->tgid != s->tgid || now_ns - s->read_ns >= other_ns);
}

static void note(struct shared_segment *s, const struct part_pointer *found)
{
	for (size_t i = 0; i < s->n; i++) {
		struct part_pointer *p = &s->pointer[i];

		if (p->variable != found->variable)
			continue;
		p->agreed = true;
		p->moved |= p->at != found->at;
		p->reading = s->readings;
		return;
	}
	if (s->n == POINTERS)
		return;
	s->pointer[s->n] = *found;
	s->pointer[s->n++].reading = s->readings;
}

/* Looks at the variables of a mapping from start to end.  False: that cannot be done now. */
static bool look(struct comm_shared_parts *parts, const struct comm_shared_place *place,
		 const struct comm_mapping *from, uint64_t start, uint64_t end, uint32_t *lookups)
{
	const struct comm_shared_reading *reading = &parts->reading;
	const struct comm_mapping *m = place->m;
	ssize_t bytes = (ssize_t)(end - start);
	struct comm_static var;

	if (reading->read(reading->ctx, place->tgid, start, parts->word, end - start) != bytes)
		return false;
	for (size_t i = 0; i < (end - start) / WORD && *lookups < LOOKUPS; i++) {
		uint64_t addr = start + i * WORD, to = parts->word[i];
		int err;

		if (to < m->start || to >= m->end)
			continue;
		++*lookups;
		err = reading->variable(reading->ctx, place->tgid, from, addr, &var);
		if (err == -EAGAIN)
			return false;
		if (err || var.name[0] == '.' || var.start != addr || var.end - var.start != WORD)
			continue;
		if (parts->n_found == POINTERS)
			break;
		parts->found[parts->n_found++] = (struct part_pointer){
			.variable = addr - program_of(place)->start,
			.at = to - m->start,
			.name = var.name,
		};
	}
	return true;
}

/* Of two variables that lead to the same, the first names it. */
static int by_place(const void *a, const void *b)
{
	const struct part_pointer *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->variable < right->variable ? -1 : left->variable > right->variable;
}

/* A reading came to its end: what it did not find leads elsewhere, or nowhere, by now. */
static void agree(struct comm_shared_parts *parts, struct shared_segment *s)
{
	size_t n = 0;

	s->readings++;
	s->n_told = 0;
	for (size_t i = 0; i < parts->n_found; i++)
		note(s, &parts->found[i]);
	for (size_t i = 0; i < s->n; i++) {
		struct part_pointer *p = &s->pointer[i];

		p->moved |= p->reading != s->readings;
		if (p->agreed && !p->moved)
			s->told[n++] = *p;
	}
	qsort(s->told, n, sizeof(*s->told), by_place);
	for (size_t i = 0; i < n; i++)
		if (!i || s->told[i].at != s->told[s->n_told - 1].at)
			s->told[s->n_told++] = s->told[i];
	if (s->n_told < 2)
		s->n_told = 0;
}

static bool is_variables(const struct comm_mapping *m, const struct comm_mapping *before,
			 uint32_t program)
{
	if (m->shared || !m->readable || !m->writable)
		return false;
	if (m->kind == COMM_MAP_FILE)
		return m->file == program;
	/* The .bss, as far as the file's last page does not have it. */
	return m->kind == COMM_MAP_ANON && before && before->kind == COMM_MAP_FILE &&
	       before->file == program && before->writable && before->end == m->start;
}

void comm_shared_parts_read(struct comm_shared_parts *parts, const struct comm_shared_place *place)
{
	uint64_t left = VARIABLES_BYTES_MAX;
	struct shared_segment *s = segment_of(parts, place);
	uint32_t lookups = 0;

	if (!s)
		return;
	s->read_ns = parts->reading.now_ns(parts->reading.ctx);
	s->tgid = 0;
	s->wait_ns = agree_ns;
	parts->n_found = 0;
	for (size_t i = 0; i < place->n_map; i++) {
		const struct comm_mapping *m = &place->map[i];
		uint64_t end = m->end - m->start < left ? m->end : m->start + left;

		if (!is_variables(m, i ? m - 1 : NULL, s->program))
			continue;
		for (uint64_t at = m->start, to; at < end; at = to) {
			to = end - at < sizeof(parts->word) ? end : at + sizeof(parts->word);
			if (!look(parts, place, m, at, to, &lookups))
				return;
		}
		left -= end - m->start;
	}
	agree(parts, s);
	s->tgid = place->tgid;
	s->wait_ns = s->readings < RARER ? agree_ns << s->readings : rarest_ns;
}

int comm_shared_parts_at(struct comm_shared_parts *parts, const struct comm_shared_place *place,
			 uint64_t addr, struct comm_blocks_found *ret)
{
	const struct shared_segment *s = segment_of(parts, place);
	const struct comm_mapping *m = place->m;
	uint64_t piece = comm_piece_of(addr), bytes = m->end - m->start;
	size_t n = 0;

	if (!s || !s->n_told)
		return -ENOENT;
	for (size_t i = 0; i < s->n_told && s->told[i].at < bytes; i++) {
		uint64_t start = m->start + s->told[i].at;
		uint64_t end = i + 1 < s->n_told && s->told[i + 1].at < bytes
				       ? m->start + s->told[i + 1].at
				       : m->end;

		if (end > piece && start < piece + COMM_PIECE_BYTES)
			parts->answer[n++] = (struct comm_block){.start = start,
								 .size_bytes = end - start,
								 .class = s->told[i].name};
	}
	*ret = (struct comm_blocks_found){parts->answer, n};
	return 0;
}
