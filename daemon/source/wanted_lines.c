// SPDX-License-Identifier: GPL-2.0-or-later
#include "wanted_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_BYTES = 64,
	PROGRAMS = 16,
	PAGES = 512, /* of code */
	WAYS = 4,    /* sets that a key may be in */
	PROGRAM_MOST = COMM_RAW_WANTED_MAX,
	PAGE_MOST = 8,
	CANDIDATES_OF = 4,    /* of a set, for each that may be brought, those among them */
	PROCESSES = 1024,     /* whose programs are kept, by the low bits of their ids */
	WANTED_TWICE = 2,     /* a line that one burst lacked may be of the heap, and gone */
	MEMORY_BURSTS = 1024, /* after so many all scores are halved */
	MEMBER_BYTES = 8192,  /* how far behind a register a place may be, */
	POINTER_BYTES = 128,  /* a pointer to it, */
	POINTED_BYTES = 512,  /* and it behind what the pointer points to */
	WORD_BYTES = 8,
};

struct candidate {
	uint64_t place; /* as of struct comm_raw_wanted */
	uint32_t score;
	bool brought;
};

/* The places of a program or of a page of code, of which at most so many are brought. */
struct set {
	uint64_t key, used;
	uint32_t bursts, n, most;
	struct candidate *candidate; /* room for CANDIDATES_OF * most */
};

struct comm_wanted_lines {
	uint64_t uses;
	struct set program[PROGRAMS], page[PAGES];
	struct candidate of_program[PROGRAMS][CANDIDATES_OF * PROGRAM_MOST];
	struct candidate of_page[PAGES][CANDIDATES_OF * PAGE_MOST];
	struct {
		uint32_t tgid;
		uint64_t program;
	} process[PROCESSES];
};

int comm_wanted_lines_create(struct comm_wanted_lines **ret)
{
	struct comm_wanted_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (unsigned int i = 0; i < PROGRAMS; i++)
		lines->program[i] =
			(struct set){.most = PROGRAM_MOST, .candidate = lines->of_program[i]};
	for (unsigned int i = 0; i < PAGES; i++)
		lines->page[i] = (struct set){.most = PAGE_MOST, .candidate = lines->of_page[i]};
	*ret = lines;
	return 0;
}

void comm_wanted_lines_destroy(struct comm_wanted_lines *lines)
{
	free(lines);
}

void comm_wanted_lines_met(struct comm_wanted_lines *lines, uint32_t tgid, uint64_t program)
{
	if (!program)
		return;
	lines->process[tgid % PROCESSES].tgid = tgid;
	lines->process[tgid % PROCESSES].program = program;
}

uint64_t comm_wanted_lines_program(const struct comm_wanted_lines *lines, uint32_t tgid)
{
	return lines->process[tgid % PROCESSES].tgid == tgid
		       ? lines->process[tgid % PROCESSES].program
		       : 0;
}

/* The one of n sets with that key; a new one takes the place of the one that was used least recently. */
static struct set *choose(struct comm_wanted_lines *lines, struct set *sets, unsigned int n,
			  uint64_t key)
{
	struct set *ret = sets;

	for (unsigned int i = 0; i < n; i++) {
		if (sets[i].used && sets[i].key == key) {
			ret = &sets[i];
			ret->used = ++lines->uses;
			return ret;
		}
		if (sets[i].used < ret->used)
			ret = &sets[i];
	}
	ret->key = key;
	ret->used = ++lines->uses;
	ret->bursts = ret->n = 0;
	return ret;
}

static struct set *set_of_code(struct comm_wanted_lines *lines, uint64_t program, uint64_t ip)
{
	uint64_t key = comm_raw_code_key(program, ip);

	return choose(lines, &lines->page[(key >> 32) % (PAGES / WAYS) * WAYS], WAYS, key);
}

static bool word_at(const struct comm_sample *sample, uint64_t addr, uint64_t *ret)
{
	for (uint32_t i = 0; i < sample->n_chunks; i++) {
		const struct comm_chunk *c = &sample->chunk[i];

		if (addr - c->addr >= c->len_bytes || c->addr + c->len_bytes - addr < WORD_BYTES)
			continue;
		memcpy(ret, sample->data + c->offset + (addr - c->addr), WORD_BYTES);
		return true;
	}
	return false;
}

/* The line of a place at the sample; 0: it is not known. */
static uint64_t line_of(const struct comm_sample *sample, uint64_t place)
{
	uint64_t v = place;

	if (place & COMM_RAW_BY_REGISTER) {
		v = sample->reg[COMM_RAW_PLACE_REGISTER(place)];
		if (place & COMM_RAW_BY_POINTER &&
		    !word_at(sample, v + COMM_RAW_PLACE_POINTER(place), &v))
			return 0;
		v += COMM_RAW_PLACE_OFFSET(place);
	}
	return v & ~(LINE_BYTES - 1ULL);
}

/* The places that are brought and whose lines the burst has read. */
static void praise(struct set *set, const struct comm_sample *sample,
		   const struct comm_burst *burst)
{
	struct candidate *brought[COMM_RAW_WANTED_MAX];
	uint64_t line[COMM_RAW_WANTED_MAX], some = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < set->n && n < COMM_RAW_WANTED_MAX; k++) {
		if (!set->candidate[k].brought)
			continue;
		brought[n] = &set->candidate[k];
		line[n] = line_of(sample, set->candidate[k].place);
		some |= 1ULL << line[n++] / LINE_BYTES % 64;
	}
	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		if (!(a->flags & COMM_ACCESS_READ) || !(some >> a->addr / LINE_BYTES % 64 & 1))
			continue;
		for (uint32_t k = 0; k < n; k++)
			if ((a->addr ^ line[k]) < LINE_BYTES)
				brought[k]->score++;
	}
}

/*
 * What the datum at addr is to the code, by the registers of the sample: the member of the object that begins
 * nearest, else what a pointer in such an object points to; 0: neither.
 */
static uint64_t place_by_register(const struct comm_sample *sample, uint64_t addr)
{
	uint64_t nearest = MEMBER_BYTES, ret = 0, word;

	for (uint32_t r = 0; r < COMM_NGPR; r++) {
		uint64_t offset = addr - sample->reg[r];

		if (offset >= nearest)
			continue;
		nearest = offset;
		ret = COMM_RAW_PLACE(r, 0, offset);
	}
	nearest = POINTED_BYTES;
	for (uint32_t r = 0; r < COMM_NGPR && !(ret & COMM_RAW_BY_REGISTER); r++)
		for (uint64_t at = 0; at < POINTER_BYTES; at += WORD_BYTES)
			if (word_at(sample, sample->reg[r] + at, &word) && addr - word < nearest)
				return COMM_RAW_PLACE(r, at, addr - word) | COMM_RAW_BY_POINTER;
	return ret;
}

/* The candidate of that place; a new one comes in for the least wanted that is not brought. */
static struct candidate *candidate_of(struct set *set, uint64_t place)
{
	struct candidate *least = NULL;

	for (uint32_t i = 0; i < set->n; i++) {
		struct candidate *c = &set->candidate[i];

		if (c->place == place)
			return c;
		if (!c->brought && (!least || c->score < least->score))
			least = c;
	}
	/* There is room where all are brought. */
	if (!least || set->n < CANDIDATES_OF * set->most)
		least = &set->candidate[set->n++];
	*least = (struct candidate){.place = place};
	return least;
}

/* Brings the candidate in place of what is wanted least, if that is wanted less. */
static bool bring(struct set *set, struct candidate *c)
{
	struct candidate *least = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		if (!set->candidate[i].brought)
			continue;
		n++;
		if (!least || set->candidate[i].score < least->score)
			least = &set->candidate[i];
	}
	if (least && n == set->most) {
		if (least->score >= c->score)
			return false;
		least->brought = false;
	}
	c->brought = true;
	return true;
}

/* Halves all scores and forgets who has none left.  True: one of those was brought. */
static bool forget(struct set *set)
{
	bool changed = false;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		set->candidate[i].score /= 2;
		if (set->candidate[i].score)
			set->candidate[kept++] = set->candidate[i];
		else
			changed |= set->candidate[i].brought;
	}
	set->n = kept;
	return changed;
}

/* True: it is brought from now on. */
static bool lack(struct set *set, uint64_t place)
{
	struct candidate *c = candidate_of(set, place);

	return ++c->score >= WANTED_TWICE && !c->brought && bring(set, c);
}

/* A burst that lacked a place, or 0.  True: what is brought has changed. */
static bool take(struct set *set, const struct comm_sample *sample, const struct comm_burst *burst,
		 uint64_t place, struct comm_wanted *ret)
{
	bool changed;
	uint32_t n = 0;

	praise(set, sample, burst);
	changed = place && lack(set, place);
	if (++set->bursts % MEMORY_BURSTS == 0)
		changed |= forget(set);
	if (!changed)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->key = set->key;
	for (uint32_t i = 0; i < set->n; i++)
		if (set->candidate[i].brought)
			ret->raw.place[n++] = set->candidate[i].place;
	return true;
}

unsigned int comm_wanted_lines_burst(struct comm_wanted_lines *lines,
				     const struct comm_event *event, const struct comm_burst *burst,
				     struct comm_wanted ret[COMM_WANTED_CHANGES])
{
	const struct comm_sample *sample = event->sample;
	uint64_t line = burst->lacked & ~(LINE_BYTES - 1ULL), place = 0;
	uint64_t program = comm_wanted_lines_program(lines, event->tgid);
	unsigned int n = 0;

	if (!program)
		return 0;
	if (burst->lacked)
		place = place_by_register(sample, burst->lacked);
	n += take(choose(lines, lines->program, PROGRAMS, program), sample, burst, line, &ret[n]);
	n += take(set_of_code(lines, program, sample->ip), sample, burst, place, &ret[n]);
	return n;
}
