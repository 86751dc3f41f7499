/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwline.h"
#include "clock.h"
#include "debug_size.h"
#include "debug_text.h"
#include "numbered.h"
#include "packed_elf.h"
#include "saved.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 96,		     /* of the nesting of DIEs that hold code */
	DIES_MAX = 64 << 20,	     /* looked at in one file */
	INLINES_MAX = 1 << 20,	     /* ranges of inlined code in one file */
	LINES_MAX = 4 << 20,	     /* rows kept of one file */
	RANGES_MAX = 4096,	     /* of one DIE */
	SOURCES_MAX = 1 << 16,	     /* file names of one file */
	PROGRAM_BYTES_MAX = 4 << 20, /* of one unit's line program: each byte may be a row */
	PROGRAMS_BYTES_MAX = 48 << 20,
	TEXT_BYTES_MAX = 64 << 20,
	NAME_BYTES = 4096,
	CHECK_EVERY = 1024,    /* DIEs between two looks at the clock */
	COMPLETE = 0x656e696c, /* "line" */
};

static const uint32_t NONE = UINT32_MAX;

struct row {
	uint64_t addr;
	uint32_t source; /* into text, NONE: no code from here on */
	uint32_t line;
};

/* A function as it is inlined at one place. */
struct inline_call {
	uint32_t name;	 /* into text; NONE: nothing inlined */
	uint32_t source; /* of the place that calls it, into text, or NONE */
	uint32_t line;	 /* likewise, 0 when unknown */
	uint32_t zero;	 /* so that no byte that is saved is undefined */
};

static const struct inline_call no_call = {.name = UINT32_MAX, .source = UINT32_MAX};

struct inlined {
	uint64_t start, end;
	struct inline_call call;
	uint32_t depth;
};

struct piece { /* addresses from start to the next piece are of this call */
	uint64_t start;
	struct inline_call call;
};

struct comm_dwline {
	struct row *row;
	size_t n_rows, rows_capacity;
	struct piece *piece;
	size_t n_pieces;
	char *text;
	size_t text_bytes, text_capacity;
	unsigned int unread; /* enum comm_dwline_unread */
};

/* How a saved table starts; rows, pieces and text follow. */
struct lines_head {
	uint64_t complete; /* COMPLETE */
	uint64_t n_rows, n_pieces, text_bytes;
	uint64_t unread;
};

_Static_assert(COMM_DWLINE_SAVED_MAX >= sizeof(struct lines_head) + LINES_MAX * sizeof(struct row) +
						(2ull * INLINES_MAX + 1) * sizeof(struct piece) +
						TEXT_BYTES_MAX,
	       "the largest table can be saved");

struct walk {
	struct comm_dwline *dw;
	struct inlined *inlined;
	size_t n_inlined, inlined_capacity;
	/* By the address of a DIE or of a name: 1 + the offset of its copy in text, 0: not copied. */
	struct comm_keyed origins, sources;
	struct comm_keyed units; /* 1: its lines, and so the names of its files, were read */
	Dwarf_Files *files;	 /* of the unit that is walked, or NULL */
	size_t n_files;
	struct comm_debug_texts texts;
	Elf_Data *line_section;
	size_t programs_bytes;
	uint64_t stop_ns;
	uint32_t dies;
	bool stopped;
};

static bool reserve(void **array, size_t n, size_t *capacity, size_t max, size_t each_bytes)
{
	size_t more = *capacity ? *capacity * 2 : 1024;
	void *bigger;

	if (n < *capacity)
		return true;
	if (n >= max)
		return false;
	bigger = realloc(*array, more * each_bytes);
	if (!bigger)
		return false;
	*array = bigger;
	*capacity = more;
	return true;
}

static uint32_t add_text(struct comm_dwline *dw, const char *text)
{
	size_t len = strnlen(text, NAME_BYTES);
	uint32_t at = (uint32_t)dw->text_bytes;

	if (dw->text_bytes + len + 1 > dw->text_capacity) {
		size_t capacity = dw->text_capacity ? dw->text_capacity * 2 : 16 * 1024;
		char *bigger;

		if (capacity > TEXT_BYTES_MAX)
			return NONE;
		bigger = realloc(dw->text, capacity);
		if (!bigger)
			return NONE;
		dw->text = bigger;
		dw->text_capacity = capacity;
	}
	memcpy(dw->text + at, text, len);
	dw->text[at + len] = 0;
	dw->text_bytes += len + 1;
	return at;
}

/* Offset of the copy of text, made when key is new. */
static uint32_t known_text(struct walk *w, struct comm_keyed *known, uint64_t key, const char *text)
{
	uint32_t *number = comm_numbered(known, key);

	if (!number)
		return NONE;
	if (!*number)
		*number = add_text(w->dw, text) + 1; /* of NONE it is 0 */
	return *number - 1;
}

static bool over(struct walk *w)
{
	if (++w->dies >= DIES_MAX ||
	    (w->dies % CHECK_EVERY == 0 && comm_clock_thread_ns() > w->stop_ns))
		w->stopped = true;
	return w->stopped;
}

/* Prefers the linkage name: overloads and template instances share the plain one. */
static const char *inlined_name(const struct walk *w, Dwarf_Die *die, uint64_t *ret_key)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	const char *name = NULL;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) || !dwarf_formref_die(&attr, &origin))
		return NULL;
	*ret_key = (uint64_t)(uintptr_t)origin.addr;
	if (dwarf_attr_integrate(&origin, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(&origin, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return comm_debug_text(&w->texts, name ? name : dwarf_diename(&origin));
}

/* Where a function that is inlined is called. */
static void find_call(struct walk *w, Dwarf_Die *die, struct inline_call *call)
{
	const char *source = NULL;
	Dwarf_Attribute attr;
	Dwarf_Word file, line;

	if (!dwarf_attr(die, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &line) != 0 ||
	    !line || line > INT32_MAX)
		return;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &file) == 0 &&
	    file < w->n_files)
		source = dwarf_filesrc(w->files, file, NULL, NULL);
	if (!source || w->sources.n >= SOURCES_MAX)
		return;
	call->source = known_text(w, &w->sources, (uintptr_t)source, source);
	if (call->source != NONE)
		call->line = (uint32_t)line;
}

static void add_inlined(struct walk *w, Dwarf_Die *die, uint32_t depth)
{
	struct inline_call call = no_call;
	const char *name;
	uint64_t key;
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	int ranges = 0;

	name = inlined_name(w, die, &key);
	if (!name || !key)
		return;
	call.name = known_text(w, &w->origins, key, name);
	if (call.name == NONE)
		return;
	find_call(w, die, &call);
	while (ranges++ < RANGES_MAX &&
	       (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (!reserve((void **)&w->inlined, w->n_inlined, &w->inlined_capacity, INLINES_MAX,
			     sizeof(*w->inlined)))
			return;
		w->inlined[w->n_inlined++] = (struct inlined){start, end, call, depth};
	}
}

static bool holds_code(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		/* An abstract instance has neither attribute, and no child with code. */
		return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

static void walk_unit(struct walk *w, Dwarf_Die *unit)
{
	Dwarf_Die stack[DEPTH_MAX];
	const uint32_t *is_read = comm_numbered(&w->units, (uintptr_t)unit->addr);
	int depth = 0;

	/* Else libdw would now read what add_lines() found too large. */
	w->n_files = 0;
	if (is_read && *is_read && dwarf_getsrcfiles(unit, &w->files, &w->n_files) != 0)
		w->n_files = 0;
	if (dwarf_child(unit, &stack[0]) != 0)
		return;
	while (depth >= 0) {
		Dwarf_Die *die = &stack[depth];

		if (over(w))
			return;
		if (holds_code(die)) {
			if (dwarf_tag(die) == DW_TAG_inlined_subroutine)
				add_inlined(w, die, (uint32_t)depth);
			if (depth + 1 < DEPTH_MAX && dwarf_child(die, &stack[depth + 1]) == 0) {
				depth++;
				continue;
			}
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]) != 0)
			depth--;
	}
}

/* Bounds libdw's memory: a row costs it 50 bytes, and a byte of line program can make a row. */
static bool program_fits(struct walk *w, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	uint32_t length;

	if (!w->line_section || !dwarf_attr(unit, DW_AT_stmt_list, &attr) ||
	    dwarf_formudata(&attr, &offset) != 0 || offset >= w->line_section->d_size ||
	    w->line_section->d_size - offset < sizeof(length))
		return false;
	memcpy(&length, (const char *)w->line_section->d_buf + offset, sizeof(length));
	if (length > PROGRAM_BYTES_MAX || w->programs_bytes + length > PROGRAMS_BYTES_MAX)
		return false;
	w->programs_bytes += length;
	return true;
}

static void add_lines(struct walk *w, Dwarf_Die *unit)
{
	struct comm_dwline *dw = w->dw;
	Dwarf_Lines *lines;
	uint32_t *is_read;
	size_t n;

	if (!program_fits(w, unit) || dwarf_getsrclines(unit, &lines, &n) != 0)
		return;
	is_read = comm_numbered(&w->units, (uintptr_t)unit->addr);
	if (is_read)
		*is_read = 1;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		struct row row = {.source = NONE};
		bool end = false;
		const char *source;
		int number;

		if (!line || dwarf_lineaddr(line, &row.addr) != 0)
			continue;
		dwarf_lineendsequence(line, &end);
		if (!end) {
			source = dwarf_linesrc(line, NULL, NULL);
			if (source && w->sources.n < SOURCES_MAX)
				row.source = known_text(w, &w->sources, (uintptr_t)source, source);
			if (dwarf_lineno(line, &number) == 0 && number > 0)
				row.line = (uint32_t)number;
		}
		if (!reserve((void **)&dw->row, dw->n_rows, &dw->rows_capacity, LINES_MAX,
			     sizeof(*dw->row)))
			return;
		dw->row[dw->n_rows++] = row;
	}
}

static int by_addr(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	/* Ends of sequences first: one may have the address at which another sequence starts. */
	return (a->source != NONE) - (b->source != NONE);
}

/* Keeps the last row of each address, and one of neighbours with equal lines. */
static void settle_rows(struct comm_dwline *dw)
{
	size_t kept = 0;

	/* glibc's qsort() merges, so rows of one address stay in order. */
	if (dw->n_rows)
		qsort(dw->row, dw->n_rows, sizeof(*dw->row), by_addr);
	for (size_t i = 0; i < dw->n_rows; i++) {
		struct row *r = &dw->row[i];

		if (kept && dw->row[kept - 1].addr == r->addr) {
			if (r->line || !dw->row[kept - 1].line)
				dw->row[kept - 1] = *r;
			continue;
		}
		if (kept && dw->row[kept - 1].source == r->source &&
		    dw->row[kept - 1].line == r->line)
			continue;
		dw->row[kept++] = *r;
	}
	dw->n_rows = kept;
}

static int by_range(const void *pa, const void *pb)
{
	const struct inlined *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

static void add_piece(struct comm_dwline *dw, uint64_t start, struct inline_call call)
{
	const struct inline_call *last;

	if (dw->n_pieces && dw->piece[dw->n_pieces - 1].start == start)
		dw->n_pieces--;
	last = dw->n_pieces ? &dw->piece[dw->n_pieces - 1].call : NULL;
	if (last && last->name == call.name && last->source == call.source &&
	    last->line == call.line)
		return;
	dw->piece[dw->n_pieces++] = (struct piece){start, call};
}

/*
 * Nested ranges become pieces that do not overlap, each with its innermost
 * name.  Ranges that cross (damaged DWARF) end with the one around them.
 */
static int flatten(struct walk *w)
{
	struct comm_dwline *dw = w->dw;
	struct inlined open[DEPTH_MAX];
	size_t n_open = 0;

	if (!w->n_inlined)
		return 0;
	qsort(w->inlined, w->n_inlined, sizeof(*w->inlined), by_range);
	dw->piece = calloc(2 * w->n_inlined + 1, sizeof(*dw->piece));
	if (!dw->piece)
		return -ENOMEM;
	for (size_t i = 0; i <= w->n_inlined; i++) {
		struct inlined next = {.start = UINT64_MAX};

		if (i < w->n_inlined)
			next = w->inlined[i];
		while (n_open && open[n_open - 1].end <= next.start) {
			uint64_t end = open[--n_open].end;

			add_piece(dw, end, n_open ? open[n_open - 1].call : no_call);
		}
		if (i == w->n_inlined || n_open == DEPTH_MAX)
			continue;
		if (n_open && next.end > open[n_open - 1].end)
			next.end = open[n_open - 1].end;
		add_piece(dw, next.start, next.call);
		open[n_open++] = next;
	}
	return 0;
}

/* Call after libdw opened the file: it has decompressed the sections by then. */
static Elf_Data *line_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (!name || (strcmp(name, ".debug_line") && strcmp(name, ".zdebug_line")))
			continue;
		data = elf_getdata(scn, NULL);
		return data && data->d_buf ? data : NULL;
	}
	return NULL;
}

/* What a unit says of itself: that the rest of it is in another file. */
static bool is_split(Dwarf_Die *unit)
{
	return dwarf_tag(unit) == DW_TAG_skeleton_unit || dwarf_hasattr(unit, DW_AT_dwo_name) ||
	       dwarf_hasattr(unit, DW_AT_GNU_dwo_name);
}

static bool is_shared(Dwarf *dwarf)
{
	const char *name;
	const void *build_id;

	return dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id) > 0;
}

static int build(Elf *elf, unsigned int cpu_ms, struct comm_packed_elf *packed,
		 struct comm_dwline *dw)
{
	struct walk w = {.dw = dw, .stop_ns = comm_clock_thread_ns() + (uint64_t)cpu_ms * 1000000u};
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	Dwarf *dwarf;
	int err;

	if (elf_kind(elf) != ELF_K_ELF || !comm_debug_size_fits(elf))
		return -ENODATA;
	if (!comm_packed_elf_unpack(elf, packed))
		dw->unread |= COMM_DWLINE_PACKED;
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dwarf)
		return dw->unread ? 0 : -ENODATA;
	if (is_shared(dwarf))
		dw->unread |= COMM_DWLINE_SHARED;
	w.line_section = line_section(elf);
	comm_debug_texts_find(dwarf, &w.texts);
	/* Lines first: they are worth more, should time run out. */
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0 && !over(&w))
		if (dwarf_tag(&unit) == DW_TAG_compile_unit ||
		    dwarf_tag(&unit) == DW_TAG_skeleton_unit) {
			add_lines(&w, &unit);
			if (is_split(&unit))
				dw->unread |= COMM_DWLINE_SPLIT;
		}
	cu = NULL;
	while (!w.stopped && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
		if (dwarf_tag(&unit) == DW_TAG_compile_unit)
			walk_unit(&w, &unit);
	dwarf_end(dwarf);
	settle_rows(dw);
	err = flatten(&w);
	free(w.inlined);
	comm_keyed_deinit(&w.origins);
	comm_keyed_deinit(&w.sources);
	comm_keyed_deinit(&w.units);
	if (!err && !dw->n_rows && !dw->n_pieces && !dw->unread)
		err = -ENODATA;
	return err;
}

int comm_dwline_build(int fd, unsigned int cpu_ms, struct comm_dwline **ret)
{
	struct comm_dwline *dw = calloc(1, sizeof(*dw));
	struct comm_packed_elf packed = {.n = 0};
	Elf *elf;
	int err;

	if (!dw)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	err = elf ? build(elf, cpu_ms, &packed, dw) : -ENODATA;
	elf_end(elf);
	comm_packed_elf_deinit(&packed);
	if (err)
		comm_dwline_destroy(dw);
	else
		*ret = dw;
	return err;
}

int comm_dwline_save(const struct comm_dwline *dw, int to)
{
	struct lines_head head = {
		.complete = COMPLETE,
		.n_rows = dw->n_rows,
		.n_pieces = dw->n_pieces,
		.text_bytes = dw->text_bytes,
		.unread = dw->unread,
	};
	uint64_t offset = sizeof(head), start = 0;

	/* The head is written last: a table that was cut short has none. */
	if (!comm_saved_put(to, dw->row, dw->n_rows * sizeof(*dw->row), &offset) ||
	    !comm_saved_put(to, dw->piece, dw->n_pieces * sizeof(*dw->piece), &offset) ||
	    !comm_saved_put(to, dw->text, dw->text_bytes, &offset) ||
	    !comm_saved_put(to, &head, sizeof(head), &start))
		return -EIO;
	return 0;
}

/* A place calls only where something is inlined. */
static bool sound_call(const struct inline_call *call, size_t text_bytes)
{
	if (call->name == NONE)
		return call->source == NONE;
	return call->name < text_bytes && (call->source == NONE || call->source < text_bytes);
}

static int load(int from, struct comm_dwline *dw)
{
	uint64_t offset = 0;
	struct lines_head head;
	int err = comm_saved_get(from, &head, sizeof(head), &offset);

	if (err)
		return err;
	if (head.complete != COMPLETE || head.n_rows > LINES_MAX ||
	    head.n_pieces > 2 * INLINES_MAX + 1 || head.text_bytes > TEXT_BYTES_MAX ||
	    head.unread > COMM_DWLINE_UNREAD)
		return -ENODATA;
	dw->unread = (unsigned int)head.unread;
	dw->n_rows = head.n_rows;
	dw->n_pieces = head.n_pieces;
	dw->text_bytes = head.text_bytes;
	err = comm_saved_array(from, &dw->row, dw->n_rows, sizeof(*dw->row), &offset);
	if (!err)
		err = comm_saved_array(from, &dw->piece, dw->n_pieces, sizeof(*dw->piece), &offset);
	if (!err)
		err = comm_saved_texts(from, &dw->text, dw->text_bytes, NAME_BYTES, &offset);
	if (err)
		return err;
	for (size_t i = 0; i < dw->n_rows; i++)
		if ((dw->row[i].source != NONE && dw->row[i].source >= dw->text_bytes) ||
		    (i && dw->row[i].addr <= dw->row[i - 1].addr))
			return -ENODATA;
	for (size_t i = 0; i < dw->n_pieces; i++)
		if (!sound_call(&dw->piece[i].call, dw->text_bytes) ||
		    (i && dw->piece[i].start <= dw->piece[i - 1].start))
			return -ENODATA;
	return 0;
}

int comm_dwline_load(int from, struct comm_dwline **ret)
{
	struct comm_dwline *dw = calloc(1, sizeof(*dw));
	int err = dw ? load(from, dw) : -ENOMEM;

	if (err)
		comm_dwline_destroy(dw);
	else
		*ret = dw;
	return err;
}

void comm_dwline_destroy(struct comm_dwline *dw)
{
	if (!dw)
		return;
	free(dw->row);
	free(dw->piece);
	free(dw->text);
	free(dw);
}

int comm_dwline_find(const struct comm_dwline *dw, uint64_t vaddr, struct comm_line *ret)
{
	size_t lo = 0, hi = dw->n_rows;
	const struct inline_call *call;

	memset(ret, 0, sizeof(*ret));
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dw->row[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && dw->row[lo - 1].source != NONE) {
		ret->source = dw->text + dw->row[lo - 1].source;
		ret->line = dw->row[lo - 1].line;
	}
	lo = 0;
	hi = dw->n_pieces;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dw->piece[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	call = lo ? &dw->piece[lo - 1].call : &no_call;
	if (call->name != NONE)
		ret->inlined = dw->text + call->name;
	if (call->source != NONE) {
		ret->call_source = dw->text + call->source;
		ret->call_line = call->line;
	}
	return ret->source || ret->inlined ? 0 : -ENOENT;
}

unsigned int comm_dwline_unread(const struct comm_dwline *dw)
{
	return dw->unread;
}

size_t comm_dwline_lines(const struct comm_dwline *dw)
{
	return dw->n_rows;
}

size_t comm_dwline_inlines(const struct comm_dwline *dw)
{
	return dw->n_pieces;
}

size_t comm_dwline_bytes(const struct comm_dwline *dw)
{
	return sizeof(*dw) + dw->n_rows * sizeof(*dw->row) + dw->n_pieces * sizeof(*dw->piece) +
	       dw->text_bytes;
}
