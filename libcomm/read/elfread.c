/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elfsym.h"

#include "clock.h"
#include "ehframe.h"
#include "elfsym_table.h"
#include "gopclntab.h"
#include "packed_elf.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
	SECTIONS_MAX = 4096,		/* sections looked at */
	SECTION_BYTES_MAX = 128 << 20,	/* of one section that is read */
	SECTIONS_BYTES_MAX = 192 << 20, /* of all that are read of a file and its debug file */
	SYMBOLS_LOOKED_AT = 4 << 20,	/* in all tables of both files */
	BUILD_CPU_MS = 2000,
	CHECK_EVERY = 1024, /* symbols between two looks at the clock */
	STUB_BYTES = 16,
	PAGE = 4096,
};

/* Among symbols of one address the best name ranks first. */
struct ranked_symbol {
	struct symbol_range e;
	uint32_t rank;
};

/* A string table; not elf_strptr(), which looks for the table's last NUL at each name. */
struct strings {
	const char *at;
	size_t n;
};

struct builder {
	struct comm_elfsym *sym;
	uint64_t read_bytes, stop_ns;
	uint32_t looked_at; /* symbols */
	struct ranked_symbol *function, *variable;
	size_t n_functions, functions_capacity, n_variables, variables_capacity;
};

struct got_slot { /* of the GOT */
	uint64_t addr;
	uint32_t name;
};

/* On -ENOMEM the tables stay as they are: fewer names, never a crash. */
static int add(struct ranked_symbol **all, size_t *n, size_t *capacity, uint64_t start,
	       uint64_t size, uint32_t name, uint32_t rank)
{
	if (*n >= COMM_SYMBOLS_MAX || start + size < start)
		return -E2BIG;
	if (*n == *capacity) {
		size_t more = *capacity ? *capacity * 2 : 256;
		struct ranked_symbol *bigger = realloc(*all, more * sizeof(**all));

		if (!bigger)
			return -ENOMEM;
		*all = bigger;
		*capacity = more;
	}
	(*all)[(*n)++] = (struct ranked_symbol){
		.e = {start, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, name},
		.rank = rank,
	};
	return 0;
}

static int add_function(struct builder *b, uint64_t start, uint64_t size, uint32_t name,
			uint32_t rank)
{
	return add(&b->function, &b->n_functions, &b->functions_capacity, start, size, name, rank);
}

/* Offset of a copy of name + suffix; 0 when there is no room. */
static uint32_t add_text(struct comm_elfsym *sym, const char *name, const char *suffix)
{
	size_t len = strlen(name), more = strlen(suffix) + 1;
	uint32_t at;

	if (sym->text_bytes + len + more > sym->text_capacity) {
		size_t capacity = sym->text_capacity ? sym->text_capacity * 2 : 64 * 1024;
		char *bigger;

		if (capacity > TEXT_BYTES_MAX)
			return 0;
		bigger = realloc(sym->text, capacity);
		if (!bigger)
			return 0;
		sym->text = bigger;
		sym->text_capacity = capacity;
	}
	if (!sym->text_bytes)
		sym->text[sym->text_bytes++] = 0; /* offset 0 means no name */
	at = (uint32_t)sym->text_bytes;
	memcpy(sym->text + at, name, len);
	memcpy(sym->text + at + len, suffix, more);
	sym->text_bytes += len + more;
	return at;
}

/* The time and the symbols that a file may take are used up: the rest has no names. */
static bool over(struct builder *b)
{
	if (++b->looked_at >= SYMBOLS_LOOKED_AT ||
	    (b->looked_at % CHECK_EVERY == 0 && comm_clock_thread_ns() > b->stop_ns))
		b->looked_at = SYMBOLS_LOOKED_AT;
	return b->looked_at == SYMBOLS_LOOKED_AT;
}

static Elf_Data *section_data(uint64_t *read_bytes, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data;

	if (shdr->sh_type == SHT_NOBITS || (shdr->sh_flags & SHF_COMPRESSED) ||
	    shdr->sh_size > SECTION_BYTES_MAX || *read_bytes + shdr->sh_size > SECTIONS_BYTES_MAX)
		return NULL;
	*read_bytes += shdr->sh_size;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

static struct strings read_strings(uint64_t *read_bytes, Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *data;
	GElf_Shdr shdr;

	if (!section || !scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_STRTAB)
		return (struct strings){0};
	data = section_data(read_bytes, scn, &shdr);
	return data ? (struct strings){data->d_buf, data->d_size} : (struct strings){0};
}

/* NULL: no such name, or one that is too long or without an end. */
static const char *string_at(const struct strings *strings, uint64_t offset)
{
	size_t n;

	if (offset >= strings->n)
		return NULL;
	n = strings->n - offset;
	if (n > SYMBOL_NAME_BYTES)
		n = SYMBOL_NAME_BYTES;
	return memchr(strings->at + offset, 0, n) ? strings->at + offset : NULL;
}

static struct strings read_section_names(uint64_t *read_bytes, Elf *elf)
{
	size_t section;

	if (elf_getshdrstrndx(elf, &section) < 0)
		return (struct strings){0};
	return read_strings(read_bytes, elf, section);
}

static const char *section_name(const struct strings *names, const GElf_Shdr *shdr)
{
	const char *name = string_at(names, shdr->sh_name);

	return name ? name : "";
}

static uint32_t symbol_rank(const GElf_Sym *s, const char *name)
{
	int bind = GELF_ST_BIND(s->st_info);
	uint32_t rank = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;

	if (GELF_ST_TYPE(s->st_info) == STT_NOTYPE)
		rank += 16;
	if (!s->st_size)
		rank += 8;
	/* Of memcpy, __memcpy and __GI_memcpy the first is the one in source code. */
	if (name[0] == '_')
		rank += 3;
	return rank;
}

static void add_symbols(struct builder *b, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
			const uint8_t *executable, size_t n_sections)
{
	Elf_Data *data = section_data(&b->read_bytes, scn, shdr);
	struct strings strings;
	size_t n;

	if (!data || !shdr->sh_entsize)
		return;
	strings = read_strings(&b->read_bytes, elf, shdr->sh_link);
	n = data->d_size / shdr->sh_entsize;
	for (size_t i = 1; i < n && !over(b); i++) {
		const char *name;
		bool code;
		GElf_Sym s;
		int type;

		if (!gelf_getsym(data, (int)i, &s))
			break;
		type = GELF_ST_TYPE(s.st_info);
		if (s.st_shndx == SHN_UNDEF || s.st_shndx >= n_sections || type == STT_SECTION ||
		    type == STT_FILE || type == STT_TLS)
			continue;
		code = executable[s.st_shndx];
		if (!code && (type == STT_FUNC || !s.st_size))
			continue;
		name = string_at(&strings, s.st_name);
		if (!name || !name[0] || name[0] == '$' || (name[0] == '.' && name[1] == 'L'))
			continue;
		if (code && type != STT_OBJECT)
			add_function(b, s.st_value, s.st_size, add_text(b->sym, name, ""),
				     symbol_rank(&s, name));
		else if (!code)
			add(&b->variable, &b->n_variables, &b->variables_capacity, s.st_value,
			    s.st_size, add_text(b->sym, name, ""), symbol_rank(&s, name));
	}
}

static int by_slot(const void *pa, const void *pb)
{
	const struct got_slot *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static size_t read_slots(struct builder *b, Elf *elf, struct got_slot **ret)
{
	size_t n = 0, capacity = 0, seen = 0;
	struct got_slot *slots = NULL;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		Elf_Data *data, *symbols;
		struct strings strings;
		GElf_Shdr shdr, dynsym;
		Elf_Scn *link;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA || !shdr.sh_entsize)
			continue;
		link = elf_getscn(elf, shdr.sh_link);
		if (!link || !gelf_getshdr(link, &dynsym) || dynsym.sh_type != SHT_DYNSYM)
			continue;
		data = section_data(&b->read_bytes, scn, &shdr);
		symbols = section_data(&b->read_bytes, link, &dynsym);
		if (!data || !symbols)
			continue;
		strings = read_strings(&b->read_bytes, elf, dynsym.sh_link);
		for (size_t i = 0; i < data->d_size / shdr.sh_entsize && !over(b); i++) {
			const char *name;
			GElf_Rela rela;
			GElf_Sym s;

			if (!gelf_getrela(data, (int)i, &rela))
				break;
			if (GELF_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
			    GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT)
				continue;
			if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &s))
				continue;
			name = string_at(&strings, s.st_name);
			if (!name || !name[0])
				continue;
			if (n == capacity) {
				size_t more = capacity ? capacity * 2 : 64;
				struct got_slot *bigger = realloc(slots, more * sizeof(*slots));

				if (!bigger)
					break;
				slots = bigger;
				capacity = more;
			}
			slots[n++] =
				(struct got_slot){rela.r_offset, add_text(b->sym, name, "@plt")};
		}
	}
	if (n)
		qsort(slots, n, sizeof(*slots), by_slot);
	*ret = slots;
	return n;
}

/*
 * A stub jumps through its GOT slot (ff 25 disp32), with or without endbr64
 * and a bnd prefix; the slot's relocation has the name.
 */
static void add_plt(struct builder *b, Elf *elf, const struct strings *names)
{
	struct got_slot *slots = NULL;
	size_t n_slots = 0, seen = 0;
	bool read = false;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		size_t stub_bytes = STUB_BYTES;
		const uint8_t *code;
		Elf_Data *data;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR) ||
		    strncmp(section_name(names, &shdr), ".plt", 4))
			continue;
		data = section_data(&b->read_bytes, scn, &shdr);
		if (!data)
			continue;
		if (!read)
			n_slots = read_slots(b, elf, &slots);
		read = true;
		if (shdr.sh_entsize == 8)
			stub_bytes = 8;
		code = data->d_buf;
		for (size_t at = 0; at + stub_bytes <= data->d_size && !over(b); at += stub_bytes) {
			uint32_t name = 0;

			for (size_t i = at; i + 6 <= at + stub_bytes && !name; i++) {
				const struct got_slot *found;
				struct got_slot key = {0};
				int32_t disp;

				if (code[i] != 0xff || code[i + 1] != 0x25)
					continue;
				memcpy(&disp, code + i + 2, sizeof(disp));
				key.addr = shdr.sh_addr + i + 6 + (uint64_t)(int64_t)disp;
				found = n_slots ? bsearch(&key, slots, n_slots, sizeof(key),
							  by_slot)
						: NULL;
				name = found ? found->name : 0;
			}
			if (!name)
				name = add_text(b->sym, section_name(names, &shdr), "");
			add_function(b, shdr.sh_addr + at, stub_bytes, name, 0);
		}
	}
	free(slots);
}

static void add_layout(struct comm_elfsym *sym, Elf *elf, const struct strings *names)
{
	size_t n = 0, seen = 0;
	Elf_Scn *scn = NULL;

	if (elf_getphdrnum(elf, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n && sym->n_segments < SEGMENTS_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			break;
		if (p.p_type != PT_LOAD || p.p_memsz < p.p_filesz ||
		    p.p_vaddr + p.p_memsz < p.p_vaddr || p.p_offset + p.p_filesz < p.p_offset)
			continue;
		sym->segment[sym->n_segments++] = (struct segment){
			p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, p.p_flags,
		};
	}
	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX &&
	       sym->n_sections < DATA_SECTIONS_MAX) {
		struct section *s = &sym->section[sym->n_sections];
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_ALLOC) ||
		    (shdr.sh_flags & (SHF_EXECINSTR | SHF_TLS)) || !shdr.sh_size ||
		    shdr.sh_addr + shdr.sh_size < shdr.sh_addr)
			continue;
		*s = (struct section){.start = shdr.sh_addr, .end = shdr.sh_addr + shdr.sh_size};
		strncpy(s->name, section_name(names, &shdr), sizeof(s->name) - 1);
		sym->n_sections++;
	}
}

static size_t count_sections(Elf *elf, uint8_t executable[SECTIONS_MAX])
{
	size_t n = 1; /* section 0 is not a section */
	Elf_Scn *scn = NULL;

	memset(executable, 0, SECTIONS_MAX);
	while ((scn = elf_nextscn(elf, scn)) && n < SECTIONS_MAX) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr))
			executable[n] = !!(shdr.sh_flags & SHF_EXECINSTR);
		n++;
	}
	return n;
}

static void add_tables(struct builder *b, Elf *elf)
{
	uint8_t executable[SECTIONS_MAX];
	size_t n = count_sections(elf, executable), seen = 0;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			add_symbols(b, elf, scn, &shdr, executable, n);
	}
}

static bool usable(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr) &&
	       ehdr.e_ident[EI_DATA] == ELFDATA2LSB && ehdr.e_type != ET_CORE;
}

/* What distributions leave of .symtab in stripped programs: functions, of this file's sections. */
static void add_packed_tables(struct builder *b, Elf *elf, const struct strings *names)
{
	Elf_Data *data = NULL;
	Elf_Scn *scn = NULL;
	size_t seen = 0, bytes;
	void *image;
	Elf *packed;

	while (!data && (scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    !strcmp(section_name(names, &shdr), ".gnu_debugdata"))
			data = section_data(&b->read_bytes, scn, &shdr);
	}
	if (!data || comm_packed_elf_xz(data->d_buf, data->d_size, &image, &bytes))
		return;
	packed = elf_memory(image, bytes);
	if (packed && usable(packed))
		add_tables(b, packed);
	elf_end(packed);
	free(image);
}

static int add_go_function(void *ctx, const struct comm_gopclntab_function *function)
{
	struct builder *b = ctx;

	if (over(b))
		return 1;
	return add_function(b, function->start, function->end - function->start,
			    add_text(b->sym, function->name, ""), 0) == -ENOMEM;
}

/* Of a stripped Go program, what its runtime names functions by. */
static void add_go_functions(struct builder *b, Elf *elf, const struct strings *names)
{
	Elf_Data *data = NULL;
	Elf_Scn *scn = NULL;
	size_t seen = 0;

	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = section_name(names, &shdr);
		if (shdr.sh_type == SHT_SYMTAB)
			return;
		if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab"))
			data = section_data(&b->read_bytes, scn, &shdr);
	}
	if (data)
		comm_gopclntab_walk(data->d_buf, data->d_size, add_go_function, b);
}

static int by_start(const void *pa, const void *pb)
{
	const struct ranked_symbol *a = pa, *b = pb;

	if (a->e.start != b->e.start)
		return a->e.start < b->e.start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* Ties go by place in the string table, so that equal ranks have one order. */
	return a->e.name < b->e.name ? -1 : a->e.name > b->e.name;
}

/* Sorts symbols by address, and keeps the best of those at one address. */
static void settle(struct ranked_symbol *all, size_t *n)
{
	size_t kept = 0;

	if (*n)
		qsort(all, *n, sizeof(*all), by_start);
	for (size_t i = 0; i < *n; i++) {
		if (kept && all[kept - 1].e.start == all[i].e.start) {
			if (!all[kept - 1].e.size)
				all[kept - 1].e.size = all[i].e.size;
			continue;
		}
		all[kept++] = all[i];
	}
	*n = kept;
}

static struct ranked_symbol *floor_of(struct ranked_symbol *all, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all[mid].e.start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &all[lo - 1] : NULL;
}

struct frames {
	struct builder *b;
	size_t n; /* functions known from symbols, before .eh_frame is read */
};

static int add_frame(void *ctx, const struct comm_ehframe *frame)
{
	struct frames *f = ctx;
	uint64_t start = frame->start, size = frame->size;
	struct ranked_symbol *c = floor_of(f->b->function, f->n, start);

	if (over(f->b))
		return 1;
	/* It would not be a sound symbol, for which the whole table is refused (elfsym.c). */
	if (start + size < start)
		return 0;
	if (frame->at && comm_frame_table_add(&f->b->sym->frames, &frame->cie, start, size,
					      frame->at, frame->end) == -ENOMEM)
		return 1;
	if (c && c->e.start == start && !c->e.size)
		c->e.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	if (!c || start - c->e.start >= (c->e.size ? c->e.size : 1))
		return add_function(f->b, start, size, 0, 32) == -ENOMEM;
	return 0;
}

/* Adds the bounds, from .eh_frame, of functions that have no symbol. */
static void add_frames(struct builder *b, Elf *elf, const struct strings *names)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	struct frames f = {b, b->n_functions};
	Elf_Data *data = NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t seen = 0;

	while (!data && (scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX)
		if (gelf_getshdr(scn, &shdr) && !strcmp(section_name(names, &shdr), ".eh_frame"))
			data = section_data(&b->read_bytes, scn, &shdr);
	if (data && ident)
		comm_ehframe_walk(ident, data, shdr.sh_addr, add_frame, &f);
	comm_frame_table_sort(&b->sym->frames);
}

/* A symbol without a size (assembly) reaches to the next one. */
static void close_gaps(struct builder *b)
{
	for (size_t i = 0; i < b->n_functions; i++) {
		struct symbol_range *e = &b->function[i].e;
		uint64_t end = e->start + PAGE;

		if (e->size)
			continue;
		if (end < e->start)
			end = UINT64_MAX;
		if (i + 1 < b->n_functions && b->function[i + 1].e.start < end)
			end = b->function[i + 1].e.start;
		e->size = (uint32_t)(end - e->start);
	}
}

static int compact(struct table *t, const struct ranked_symbol *all, size_t n)
{
	t->entry = malloc((n ? n : 1) * sizeof(*t->entry));
	if (!t->entry)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		t->entry[i] = all[i].e;
	t->n = n;
	return 0;
}

static int build(Elf *elf, Elf *debug, struct comm_elfsym **ret)
{
	struct builder b = {.stop_ns = comm_clock_thread_ns() + BUILD_CPU_MS * 1000000ull};
	struct strings names;
	int err;

	if (!usable(elf))
		return -ENOEXEC;
	b.sym = calloc(1, sizeof(*b.sym));
	if (!b.sym)
		return -ENOMEM;
	names = read_section_names(&b.read_bytes, elf);
	add_layout(b.sym, elf, &names);
	add_tables(&b, elf);
	if (debug && usable(debug))
		add_tables(&b, debug);
	else
		add_go_functions(&b, elf, &names);
	add_packed_tables(&b, elf, &names);
	add_plt(&b, elf, &names);
	settle(b.function, &b.n_functions);
	settle(b.variable, &b.n_variables);
	add_frames(&b, elf, &names);
	settle(b.function, &b.n_functions);
	close_gaps(&b);
	err = compact(&b.sym->function, b.function, b.n_functions);
	if (!err)
		err = compact(&b.sym->variable, b.variable, b.n_variables);
	free(b.function);
	free(b.variable);
	if (err) {
		comm_elfsym_destroy(b.sym);
		return err;
	}
	if (b.sym->text) {
		char *fit = realloc(b.sym->text, b.sym->text_bytes);

		/* cppcheck-suppress memleak */
		if (fit)
			b.sym->text = fit;
	}
	*ret = b.sym;
	return 0;
}

int comm_elfsym_create(int fd, int debug_fd, struct comm_elfsym **ret)
{
	Elf *elf, *debug = NULL;
	int err;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (debug_fd >= 0)
		debug = elf_begin(debug_fd, ELF_C_READ, NULL);
	err = build(elf, debug, ret);
	elf_end(debug);
	elf_end(elf);
	return err;
}

int comm_elfsym_create_memory(const void *image, size_t image_bytes, struct comm_elfsym **ret)
{
	/* libelf may write to an image in memory, so it gets a copy. */
	char *copy = malloc(image_bytes ? image_bytes : 1);
	Elf *elf;
	int err = -ENOEXEC;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, image, image_bytes);
	elf_version(EV_CURRENT);
	elf = elf_memory(copy, image_bytes);
	if (elf)
		err = build(elf, NULL, ret);
	elf_end(elf);
	free(copy);
	return err;
}

int comm_elf_identify(int fd, struct comm_elf_id *ret)
{
	bool info = false, line = false;
	struct strings names;
	uint64_t read_bytes = 0;
	Elf_Scn *scn = NULL;
	const void *id = NULL;
	const char *link;
	GElf_Word crc;
	size_t seen = 0;
	ssize_t n;
	Elf *elf;

	memset(ret, 0, sizeof(*ret));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !usable(elf)) {
		elf_end(elf);
		return -ENOEXEC;
	}
	n = dwelf_elf_gnu_build_id(elf, &id);
	for (ssize_t i = 0; i < n && i < COMM_BUILD_ID_BYTES; i++) {
		static const char digit[] = "0123456789abcdef";
		uint8_t byte = ((const uint8_t *)id)[i];

		ret->build_id[2 * i] = digit[byte >> 4];
		ret->build_id[2 * i + 1] = digit[byte & 15];
	}
	link = dwelf_elf_gnu_debuglink(elf, &crc);
	if (link) {
		strncpy(ret->debuglink, link, sizeof(ret->debuglink) - 1);
		ret->debuglink_crc = crc;
	}
	names = read_section_names(&read_bytes, elf);
	while ((scn = elf_nextscn(elf, scn)) && seen++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		ret->has_symtab |= shdr.sh_type == SHT_SYMTAB;
		name = section_name(&names, &shdr);
		info |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
		line |= !strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line");
	}
	ret->has_lines = info && line;
	elf_end(elf);
	return 0;
}
