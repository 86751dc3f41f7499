// SPDX-License-Identifier: GPL-2.0-or-later
#include "wanted_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_BYTES = 64,
	PROGRAMS = 16,
	CANDIDATES = 64,      /* of a program, those that are brought among them */
	PROCESSES = 1024,     /* whose programs are kept, by the low bits of their ids */
	WANTED_TWICE = 2,     /* a line that one burst lacked may be of the heap, and gone */
	MEMORY_BURSTS = 1024, /* after so many all scores are halved */
};

struct candidate {
	uint64_t addr;
	uint32_t score;
	bool brought;
};

struct program {
	uint64_t id, used;
	uint32_t bursts, n;
	struct candidate line[CANDIDATES];
};

struct comm_wanted_lines {
	uint64_t uses;
	struct program program[PROGRAMS];
	struct {
		uint32_t tgid;
		uint64_t program;
	} process[PROCESSES];
};

int comm_wanted_lines_create(struct comm_wanted_lines **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
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

static struct program *program_of(struct comm_wanted_lines *lines, uint64_t id)
{
	struct program *p = &lines->program[0];

	for (unsigned int i = 0; i < PROGRAMS; i++) {
		if (lines->program[i].id == id) {
			p = &lines->program[i];
			p->used = ++lines->uses;
			return p;
		}
		if (lines->program[i].used < p->used)
			p = &lines->program[i];
	}
	memset(p, 0, sizeof(*p));
	p->id = id;
	p->used = ++lines->uses;
	return p;
}

/* The lines that are brought and that the burst has read. */
static void praise(struct program *p, const struct comm_burst *burst)
{
	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		for (uint32_t k = 0; k < p->n && a->flags & COMM_ACCESS_READ; k++)
			if (p->line[k].brought && (a->addr ^ p->line[k].addr) < LINE_BYTES)
				p->line[k].score++;
	}
}

/* The candidate of that address; a new one takes the place of the least wanted that is not brought. */
static struct candidate *candidate_of(struct program *p, uint64_t addr)
{
	struct candidate *least = NULL;

	for (uint32_t i = 0; i < p->n; i++) {
		struct candidate *c = &p->line[i];

		if (c->addr == addr)
			return c;
		if (!c->brought && (!least || c->score < least->score))
			least = c;
	}
	if (p->n < CANDIDATES)
		least = &p->line[p->n++];
	*least = (struct candidate){.addr = addr};
	return least;
}

/* Brings the candidate in place of what is wanted least, if that is wanted less. */
static bool bring(struct program *p, struct candidate *c)
{
	struct candidate *least = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!p->line[i].brought)
			continue;
		n++;
		if (!least || p->line[i].score < least->score)
			least = &p->line[i];
	}
	if (n == COMM_WANTED_LINES) {
		if (least->score >= c->score)
			return false;
		least->brought = false;
	}
	c->brought = true;
	return true;
}

/* Halves all scores and forgets who has none left.  True: one of those was brought. */
static bool forget(struct program *p)
{
	bool changed = false;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		p->line[i].score /= 2;
		if (p->line[i].score)
			p->line[kept++] = p->line[i];
		else
			changed |= p->line[i].brought;
	}
	p->n = kept;
	return changed;
}

bool comm_wanted_lines_burst(struct comm_wanted_lines *lines, uint32_t tgid,
			     const struct comm_burst *burst, struct comm_wanted *ret)
{
	bool changed = false;
	struct program *p;
	uint32_t n = 0;

	if (lines->process[tgid % PROCESSES].tgid != tgid)
		return false;
	p = program_of(lines, lines->process[tgid % PROCESSES].program);
	praise(p, burst);
	if (burst->lacked) {
		struct candidate *c = candidate_of(p, burst->lacked & ~(LINE_BYTES - 1ULL));

		c->score++;
		if (!c->brought && c->score >= WANTED_TWICE)
			changed = bring(p, c);
	}
	if (++p->bursts % MEMORY_BURSTS == 0)
		changed |= forget(p);
	if (!changed)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->program = p->id;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->line[i].brought)
			ret->addr[n++] = p->line[i].addr;
	return true;
}
