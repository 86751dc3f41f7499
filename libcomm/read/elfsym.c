// SPDX-License-Identifier: GPL-2.0-or-later
#include "elfsym.h"

#include "elfsym_table.h"
#include "saved.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	BACK_MAX = 8, /* symbols looked at before the nearest: one may enclose it */
	PAGE = 4096,
	COMPLETE = 0x626d7973, /* "symb" */
};

void comm_elfsym_destroy(struct comm_elfsym *sym)
{
	if (!sym)
		return;
	free(sym->function.entry);
	free(sym->variable.entry);
	free(sym->text);
	comm_frame_table_deinit(&sym->frames);
	free(sym);
}

/*
 * How saved tables start; segments, sections, functions, variables, text and frames
 * follow.
 */
struct symbols_head {
	uint64_t complete; /* COMPLETE */
	uint64_t n_segments, n_sections, n_functions, n_variables, text_bytes, n_frames;
};

_Static_assert(COMM_ELFSYM_SAVED_MAX >=
		       sizeof(struct symbols_head) + sizeof(struct comm_elfsym) +
			       2ull * COMM_SYMBOLS_MAX * sizeof(struct symbol_range) +
			       TEXT_BYTES_MAX + COMM_FRAME_ROWS_MAX * sizeof(struct comm_frame_row),
	       "the largest tables can be saved");

int comm_elfsym_save(const struct comm_elfsym *sym, int to)
{
	struct symbols_head head = {
		.complete = COMPLETE,
		.n_segments = sym->n_segments,
		.n_sections = sym->n_sections,
		.n_functions = sym->function.n,
		.n_variables = sym->variable.n,
		.text_bytes = sym->text_bytes,
		.n_frames = sym->frames.n,
	};
	uint64_t at = sizeof(head), start = 0;

	/* The head is written last: tables that were cut short have none. */
	if (!comm_saved_put(to, sym->segment, sym->n_segments * sizeof(sym->segment[0]), &at) ||
	    !comm_saved_put(to, sym->section, sym->n_sections * sizeof(sym->section[0]), &at) ||
	    !comm_saved_put(to, sym->function.entry, sym->function.n * sizeof(*sym->function.entry),
			    &at) ||
	    !comm_saved_put(to, sym->variable.entry, sym->variable.n * sizeof(*sym->variable.entry),
			    &at) ||
	    !comm_saved_put(to, sym->text, sym->text_bytes, &at) ||
	    !comm_saved_put(to, sym->frames.row, sym->frames.n * sizeof(*sym->frames.row), &at) ||
	    !comm_saved_put(to, &head, sizeof(head), &start))
		return -EIO;
	return 0;
}

static int load_table(int from, struct table *t, size_t n, size_t text_bytes, uint64_t *at)
{
	int err = comm_saved_array(from, &t->entry, n, sizeof(*t->entry), at);

	if (err)
		return err;
	t->n = n;
	for (size_t i = 0; i < n; i++)
		if ((t->entry[i].name && t->entry[i].name >= text_bytes) ||
		    t->entry[i].start + t->entry[i].size < t->entry[i].start ||
		    (i && t->entry[i].start < t->entry[i - 1].start))
			return -ENODATA;
	return 0;
}

/* As read from the file: sums that wrap would break the searches. */
static bool sound_layout(const struct comm_elfsym *sym)
{
	for (size_t i = 0; i < sym->n_segments; i++) {
		const struct segment *s = &sym->segment[i];

		if (s->memsz < s->filesz || s->vaddr + s->memsz < s->vaddr ||
		    s->offset + s->filesz < s->offset)
			return false;
	}
	for (size_t i = 0; i < sym->n_sections; i++)
		if (sym->section[i].start >= sym->section[i].end ||
		    sym->section[i].name[SECTION_NAME_BYTES - 1])
			return false;
	return true;
}

static int load(int from, struct comm_elfsym *sym)
{
	struct symbols_head head;
	uint64_t at = 0;
	int err = comm_saved_get(from, &head, sizeof(head), &at);

	if (err)
		return err;
	if (head.complete != COMPLETE || head.n_segments > SEGMENTS_MAX ||
	    head.n_sections > DATA_SECTIONS_MAX || head.n_functions > COMM_SYMBOLS_MAX ||
	    head.n_variables > COMM_SYMBOLS_MAX || head.text_bytes > TEXT_BYTES_MAX)
		return -ENODATA;
	sym->n_segments = (uint32_t)head.n_segments;
	sym->n_sections = (uint32_t)head.n_sections;
	err = comm_saved_get(from, sym->segment, head.n_segments * sizeof(sym->segment[0]), &at);
	if (!err)
		err = comm_saved_get(from, sym->section, head.n_sections * sizeof(sym->section[0]),
				     &at);
	if (!err && !sound_layout(sym))
		err = -ENODATA;
	if (!err)
		err = load_table(from, &sym->function, head.n_functions, head.text_bytes, &at);
	if (!err)
		err = load_table(from, &sym->variable, head.n_variables, head.text_bytes, &at);
	if (!err)
		err = comm_saved_texts(from, &sym->text, head.text_bytes,
				       SYMBOL_NAME_BYTES + strlen("@plt"), &at);
	sym->text_bytes = head.text_bytes;
	return err ? err : comm_frame_table_load(&sym->frames, from, head.n_frames, &at);
}

int comm_elfsym_load(int from, struct comm_elfsym **ret)
{
	struct comm_elfsym *sym = calloc(1, sizeof(*sym));
	int err = sym ? load(from, sym) : -ENOMEM;

	if (err)
		comm_elfsym_destroy(sym);
	else
		*ret = sym;
	return err;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

int comm_elfsym_vaddr(const struct comm_elfsym *sym, uint64_t offset, uint32_t flags, uint64_t *ret)
{
	/* Passes: segments with flags by exact bounds, by whole pages; then any segment, alike. */
	for (int pass = 0; pass < 4; pass++) {
		for (size_t i = 0; i < sym->n_segments; i++) {
			const struct segment *s = &sym->segment[i];
			uint64_t first = s->offset, last = s->offset + s->filesz;

			if (pass < 2 && flags && !(s->flags & flags))
				continue;
			if (pass & 1) {
				first &= ~(uint64_t)(PAGE - 1);
				last = round_up(last);
			}
			if (offset < first || offset >= last)
				continue;
			*ret = s->vaddr + (offset - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}

bool comm_elfsym_is_code(const struct comm_elfsym *sym, uint64_t vaddr)
{
	for (size_t i = 0; i < sym->n_segments; i++) {
		const struct segment *s = &sym->segment[i];

		if (s->flags & PF_X && vaddr - s->vaddr < s->filesz)
			return true;
	}
	return false;
}

static struct comm_symbol symbol_of(const struct comm_elfsym *sym, const struct symbol_range *e)
{
	return (struct comm_symbol){
		.name = e->name ? sym->text + e->name : NULL,
		.start = e->start,
		.end = e->start + e->size,
	};
}

static int find(const struct comm_elfsym *sym, const struct table *t, uint64_t vaddr,
		struct comm_symbol *ret)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->entry[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; back < BACK_MAX && back < lo; back++) {
		const struct symbol_range *e = &t->entry[lo - 1 - back];

		if (vaddr - e->start >= e->size)
			continue;
		*ret = symbol_of(sym, e);
		return 0;
	}
	return -ENOENT;
}

int comm_elfsym_function(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret)
{
	return find(sym, &sym->function, vaddr, ret);
}

int comm_elfsym_variable(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret)
{
	return find(sym, &sym->variable, vaddr, ret);
}

int comm_elfsym_named(const struct comm_elfsym *sym, const char *name, struct comm_symbol *ret)
{
	for (size_t i = 0; i < sym->variable.n; i++) {
		const struct symbol_range *e = &sym->variable.entry[i];

		if (!e->name || strcmp(sym->text + e->name, name) != 0)
			continue;
		*ret = symbol_of(sym, e);
		return 0;
	}
	return -ENOENT;
}

int comm_elfsym_section(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret)
{
	for (size_t i = 0; i < sym->n_sections; i++) {
		const struct section *s = &sym->section[i];

		if (vaddr < s->start || vaddr >= s->end)
			continue;
		*ret = (struct comm_symbol){s->name, s->start, s->end};
		return 0;
	}
	for (size_t i = 0; i < sym->n_segments; i++) {
		const struct segment *s = &sym->segment[i];
		uint64_t file_end = s->vaddr + s->filesz;
		uint64_t start = s->vaddr & ~(uint64_t)(PAGE - 1);
		uint64_t end = round_up(s->vaddr + s->memsz);

		if (vaddr < start || vaddr >= end)
			continue;
		if (sym->n_sections) /* between sections, or in the rest of a page */
			*ret = (struct comm_symbol){".other", start, end};
		else if (vaddr < file_end)
			*ret = (struct comm_symbol){s->flags & PF_W ? ".data" : ".rodata", start,
						    file_end};
		else
			*ret = (struct comm_symbol){".bss", file_end, end};
		return 0;
	}
	return -ENOENT;
}

struct comm_frame_rule comm_elfsym_frame(const struct comm_elfsym *sym, uint64_t vaddr)
{
	/* Without any .eh_frame, as Go's linker leaves it, there are only frame pointers. */
	return sym->frames.n ? comm_frame_table_find(&sym->frames, vaddr) : comm_frame_by_pointer;
}

size_t comm_elfsym_functions(const struct comm_elfsym *sym)
{
	return sym->function.n;
}

size_t comm_elfsym_variables(const struct comm_elfsym *sym)
{
	return sym->variable.n;
}

size_t comm_elfsym_bytes(const struct comm_elfsym *sym)
{
	return sizeof(*sym) + (sym->function.n + sym->variable.n) * sizeof(struct symbol_range) +
	       sym->text_bytes + sym->frames.n * sizeof(*sym->frames.row);
}
