/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "module.h"

#include "clock.h"
#include "demangle.h"
#include "dwline.h"
#include "elfsym.h"
#include "hash.h"
#include "maps.h"
#include "saved.h"
#include "text.h"
#include "type_table.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum {
	BUCKETS = 4096,
	MODULES_MAX = 1 << 16,
	VDSO_BYTES_MAX = 64 * 1024,
	PAGE = 4096,
};

/* A file that could not be opened is not tried for every sample. */
static const uint64_t retry_ns = 10u * 1000000000ull;

/* A mapping by which a file can be opened; path is a pointer into names. */
struct place {
	uint32_t tgid;
	uint64_t start, end, ino;
	const char *path;
};

struct failure {
	int err; /* 0: none */
	uint32_t tgid;
	uint64_t at_ns;
};

enum reading {
	UNREAD, /* or freed again */
	COMING,
	READ, /* or there is none */
};

struct comm_module {
	struct comm_module *next; /* in its hash bucket */
	struct comm_modules *modules;
	const char *name, *build_id;
	struct comm_elf_id id;
	uint64_t size_bytes; /* of the file */
	uint64_t owner;
	struct comm_elfsym *sym; /* NULL: not in memory */
	struct comm_dwline *lines;
	struct comm_type_table *types;
	enum reading sym_state, lines_state, types_state;
	struct failure failure; /* to read the symbols */
	struct place place;	/* of the request for them */
	size_t bytes;
	/* In order of use, those whose tables are in memory. */
	struct comm_module *older, *newer;
};

/* A file as mappings tell them apart (dev, ino, path); many may be of one module. */
struct module_file {
	struct comm_module *module; /* NULL: not known yet */
	bool asked;
	struct failure failure;
	struct place place; /* of the request for its identity */
};

struct comm_modules {
	struct comm_names *names;
	struct comm_parser *parser;
	struct comm_module *bucket[BUCKETS];
	struct comm_module *vdso;
	struct module_file **file; /* by comm_mapping.file */
	size_t n_files, n;
	size_t bytes, max_bytes;
	struct comm_module *oldest, *newest;
	uint64_t lost;
	bool only_symbols;
	comm_inspect_unread_fn *tell;
	void *ctx;
};

int comm_modules_create(struct comm_names *names, struct comm_parser *parser, size_t max_bytes,
			struct comm_modules **ret)
{
	struct comm_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->names = names;
	modules->parser = parser;
	modules->max_bytes = max_bytes;
	*ret = modules;
	return 0;
}

static void unlink_used(struct comm_module *module)
{
	struct comm_modules *modules = module->modules;

	*(module->older ? &module->older->newer : &modules->oldest) = module->newer;
	*(module->newer ? &module->newer->older : &modules->newest) = module->older;
}

static void link_newest(struct comm_module *module)
{
	struct comm_modules *modules = module->modules;

	module->older = modules->newest;
	module->newer = NULL;
	*(modules->newest ? &modules->newest->newer : &modules->oldest) = module;
	modules->newest = module;
}

/* What is still being read for it is thrown away when it comes. */
static void unload(struct comm_module *module)
{
	if (!module->sym)
		return;
	unlink_used(module);
	comm_elfsym_destroy(module->sym);
	comm_dwline_destroy(module->lines);
	comm_type_table_destroy(module->types);
	module->sym = NULL;
	module->lines = NULL;
	module->types = NULL;
	module->sym_state = UNREAD;
	if (module->lines_state == READ)
		module->lines_state = UNREAD;
	if (module->types_state == READ)
		module->types_state = UNREAD;
	module->modules->bytes -= module->bytes;
	module->bytes = 0;
}

void comm_modules_destroy(struct comm_modules *modules)
{
	struct comm_module *next;

	if (!modules)
		return;
	if (modules->vdso) {
		comm_elfsym_destroy(modules->vdso->sym);
		free(modules->vdso);
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct comm_module *m = modules->bucket[i]; m; m = next) {
			next = m->next;
			unload(m);
			free(m);
		}
	}
	for (size_t i = 0; i < modules->n_files; i++)
		free(modules->file[i]);
	free(modules->file);
	free(modules);
}

/*
 * Frees tables, least recently used first, until all fit the limit; spares keep.  One large table
 * may put out thousands of small ones: what it takes to find the next does not grow with them.
 */
static void evict(struct comm_modules *modules, const struct comm_module *keep)
{
	struct comm_module *next;

	for (struct comm_module *m = modules->oldest; m && modules->bytes > modules->max_bytes;
	     m = next) {
		next = m->newer;
		if (m != keep)
			unload(m);
	}
}

/* Any number of files may claim one build-id. */
static struct comm_module **bucket_of(struct comm_modules *modules, const struct comm_elf_id *id,
				      const struct comm_parsed *parsed)
{
	const uint64_t key[] = {comm_hash_secret(id->build_id, strlen(id->build_id)),
				parsed->size_bytes, parsed->owner};

	return &modules->bucket[comm_hash_secret(key, sizeof(key)) % BUCKETS];
}

/*
 * Any file can claim any build-id, so files share tables only when size and
 * owner agree: one user's file cannot name the functions of root's libc.
 */
static struct comm_module *lookup(struct comm_modules *modules, const struct comm_elf_id *id,
				  const struct comm_parsed *parsed)
{
	struct comm_module *m = *bucket_of(modules, id, parsed);

	/* Without a build-id a file is only itself. */
	if (!id->build_id[0])
		return NULL;
	while (m && (strcmp(m->build_id, id->build_id) || m->size_bytes != parsed->size_bytes ||
		     m->owner != parsed->owner))
		m = m->next;
	return m;
}

static struct comm_module *module_add(struct comm_modules *modules, const struct comm_elf_id *id,
				      const struct comm_parsed *parsed, const char *path)
{
	struct comm_module **bucket = bucket_of(modules, id, parsed), *module;
	const char *base = comm_maps_base(path);

	if (modules->n == MODULES_MAX)
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->modules = modules;
	module->name = comm_names_add(modules->names, base, strlen(base));
	module->build_id = comm_names_add(modules->names, id->build_id, strlen(id->build_id));
	module->id = *id;
	module->size_bytes = parsed->size_bytes;
	module->owner = parsed->owner;
	module->next = *bucket;
	*bucket = module;
	modules->n++;
	return module;
}

static void count_bytes(struct comm_module *module)
{
	struct comm_modules *modules = module->modules;

	modules->bytes -= module->bytes;
	module->bytes = comm_elfsym_bytes(module->sym);
	if (module->lines)
		module->bytes += comm_dwline_bytes(module->lines);
	if (module->types)
		module->bytes += comm_type_table_bytes(module->types);
	modules->bytes += module->bytes;
	evict(modules, module);
}

static void fail(struct failure *failure, int err, uint32_t tgid)
{
	*failure = (struct failure){.err = err, .tgid = tgid, .at_ns = comm_clock_now_ns()};
}

/* Whether another try may go better. */
static bool may_retry(const struct failure *failure, uint32_t tgid)
{
	switch (failure->err) {
	case 0:
		return true;
	case -ENODATA: /* it is no ELF file */
	case -ECHILD:  /* it would kill one child after the other, */
	case -ETIME:   /* or hold them up */
		return false;
	case -ESRCH:
	case -ENOENT:
	case -ESTALE:
		/* The process had ended, or renamed the file. */
		if (tgid != failure->tgid)
			return true;
		break;
	}
	return comm_clock_now_ns() - failure->at_ns >= retry_ns;
}

static int ask(struct comm_modules *modules, enum comm_parse_kind kind, const struct place *place,
	       const struct comm_elf_id *id, void *of)
{
	struct comm_parse_request request = {
		.kind = kind,
		.tgid = place->tgid,
		.start = place->start,
		.end = place->end,
		.ino = place->ino,
	};

	snprintf(request.path, sizeof(request.path), "%s", place->path);
	if (id)
		request.id = *id;
	return comm_parser_ask(modules->parser, &request, of);
}

static int ask_identity(struct comm_modules *modules, struct module_file *f,
			const struct place *place)
{
	int err = ask(modules, COMM_PARSE_IDENTITY, place, NULL, f);

	f->place = *place;
	f->asked = !err;
	if (err) {
		modules->lost++;
		fail(&f->failure, err, place->tgid);
	}
	return err ? err : -EINPROGRESS;
}

static int ask_symbols(struct comm_module *module, const struct place *place)
{
	int err = ask(module->modules, COMM_PARSE_SYMBOLS, place, &module->id, module);

	module->place = *place;
	if (err) {
		module->modules->lost++;
		fail(&module->failure, err, place->tgid);
		return err;
	}
	module->sym_state = COMING;
	return -EINPROGRESS;
}

/* When the queue is full, the next sample in the module asks again. */
static void ask_dwarf(struct comm_module *module, enum comm_parse_kind kind, enum reading *state,
		      const struct place *place)
{
	if (*state != UNREAD)
		return;
	/* A stripped file may have a debug file with its build-id, or one that it names. */
	if (!module->id.has_lines && !module->id.build_id[0] && !module->id.debuglink[0])
		*state = READ;
	else if (ask(module->modules, kind, place, &module->id, module) == 0)
		*state = COMING;
}

/* Types come from the same DWARF as lines, so where there are no lines nobody asks for types. */
static void ask_lines_and_types(struct comm_module *module, const struct place *place)
{
	ask_dwarf(module, COMM_PARSE_LINES, &module->lines_state, place);
	if (module->lines)
		ask_dwarf(module, COMM_PARSE_TYPES, &module->types_state, place);
	else if (module->lines_state == READ)
		module->types_state = READ;
}

static bool is_hex(const char *text)
{
	return strspn(text, "0123456789abcdef") == strlen(text);
}

/* The child that wrote it may be in the hands of the file. */
static int load_identity(int saved, struct comm_elf_id *ret)
{
	uint8_t bytes[sizeof(*ret)];
	uint64_t at = 0;
	int err = comm_saved_get(saved, bytes, sizeof(bytes), &at);

	if (err)
		return err;
	/* Any other value in a bool's byte is undefined. */
	if (bytes[offsetof(struct comm_elf_id, has_symtab)] > 1 ||
	    bytes[offsetof(struct comm_elf_id, has_lines)] > 1)
		return -ENODATA;
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->build_id[sizeof(ret->build_id) - 1] ||
	    ret->debuglink[sizeof(ret->debuglink) - 1] || !is_hex(ret->build_id))
		return -ENODATA;
	return 0;
}

static void identified(struct comm_modules *modules, const struct comm_parsed *parsed)
{
	struct module_file *f = parsed->of;
	struct comm_elf_id id;
	int err = parsed->err ? parsed->err : load_identity(parsed->saved, &id);

	f->asked = false;
	if (!err) {
		f->module = lookup(modules, &id, parsed);
		if (!f->module)
			f->module = module_add(modules, &id, parsed, f->place.path);
		if (!f->module)
			err = -ENOMEM;
	}
	fail(&f->failure, err, f->place.tgid);
	if (f->module && f->module->sym_state == UNREAD &&
	    may_retry(&f->module->failure, f->place.tgid))
		ask_symbols(f->module, &f->place);
}

/*
 * Whether the parser opened the file that the module is of: a process may map another in the
 * place of root's libc, once that has been identified.
 */
static bool is_file_of(const struct comm_module *module, const struct comm_parsed *parsed)
{
	return parsed->owner == module->owner && parsed->size_bytes == module->size_bytes;
}

static void symbols_came(struct comm_module *module, const struct comm_parsed *parsed)
{
	int err = parsed->err;

	if (module->sym)
		return;
	if (!err && !is_file_of(module, parsed))
		err = -ESTALE;
	if (!err)
		err = comm_elfsym_load(parsed->saved, &module->sym);
	fail(&module->failure, err, module->place.tgid);
	module->sym_state = err ? UNREAD : READ;
	if (err)
		return;
	link_newest(module);
	count_bytes(module);
	if (!module->modules->only_symbols)
		ask_lines_and_types(module, &module->place);
}

/* On an error, such as no DWARF, the module just has no lines. */
static void lines_came(struct comm_module *module, const struct comm_parsed *parsed)
{
	module->lines_state = module->sym ? READ : UNREAD;
	if (!module->sym || parsed->err || !is_file_of(module, parsed) ||
	    comm_dwline_load(parsed->saved, &module->lines))
		return;
	count_bytes(module);
	if (comm_dwline_unread(module->lines) && module->modules->tell)
		module->modules->tell(module->modules->ctx, module->name,
				      comm_dwline_unread(module->lines));
}

static void types_came(struct comm_module *module, const struct comm_parsed *parsed)
{
	module->types_state = module->sym ? READ : UNREAD;
	if (module->sym && !parsed->err && is_file_of(module, parsed) &&
	    comm_type_table_load(parsed->saved, &module->types) == 0)
		count_bytes(module);
}

void comm_modules_only_symbols(struct comm_modules *modules, bool only)
{
	modules->only_symbols = only;
}

void comm_modules_tell_unread(struct comm_modules *modules, comm_inspect_unread_fn *fn, void *ctx)
{
	modules->tell = fn;
	modules->ctx = ctx;
}

void comm_modules_take(struct comm_modules *modules, const struct comm_parsed *parsed)
{
	if (parsed->kind == COMM_PARSE_IDENTITY)
		identified(modules, parsed);
	else if (parsed->kind == COMM_PARSE_SYMBOLS)
		symbols_came(parsed->of, parsed);
	else if (parsed->kind == COMM_PARSE_TYPES)
		types_came(parsed->of, parsed);
	else
		lines_came(parsed->of, parsed);
}

static struct module_file *file_of(struct comm_modules *modules, uint32_t id)
{
	if (id >= modules->n_files) {
		size_t n = modules->n_files ? modules->n_files : 64;
		struct module_file **bigger;

		while (n <= id)
			n *= 2;
		bigger = realloc(modules->file, n * sizeof(*bigger));
		if (!bigger)
			return NULL;
		memset(bigger + modules->n_files, 0, (n - modules->n_files) * sizeof(*bigger));
		modules->file = bigger;
		modules->n_files = n;
	}
	if (!modules->file[id])
		modules->file[id] = calloc(1, sizeof(*modules->file[id]));
	return modules->file[id];
}

int comm_modules_get(struct comm_modules *modules, uint32_t tgid, const struct comm_mapping *m,
		     struct comm_module **ret)
{
	const struct place place = {tgid, m->start, m->end, m->ino, m->path};
	struct module_file *f = file_of(modules, m->file);
	struct comm_module *module;

	if (!f)
		return -ENOMEM;
	module = f->module;
	if (!module && f->asked)
		return -EAGAIN;
	if (!module)
		return may_retry(&f->failure, tgid) ? ask_identity(modules, f, &place)
						    : f->failure.err;
	if (module->sym_state == COMING)
		return -EAGAIN;
	if (!module->sym)
		return may_retry(&module->failure, tgid) ? ask_symbols(module, &place)
							 : module->failure.err;
	unlink_used(module);
	link_newest(module);
	ask_lines_and_types(module, &place);
	*ret = module;
	return 0;
}

uint64_t comm_modules_lost(const struct comm_modules *modules)
{
	return modules->lost;
}

/*
 * Every 64-bit process has the kernel's vdso; this process's own copy is one that
 * no target could have changed.
 */
int comm_modules_vdso(struct comm_modules *modules, struct comm_module **ret)
{
	const Elf64_Ehdr *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct comm_module *module = modules->vdso;
	size_t bytes;
	int err;

	if (module) {
		*ret = module;
		return 0;
	}
	if (!image)
		return -ENOENT;
	/* Section headers are at the end of the image. */
	bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (bytes < sizeof(*image) || bytes > VDSO_BYTES_MAX)
		return -ENOEXEC;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->modules = modules;
	module->name = "[vdso]";
	module->build_id = "";
	module->lines_state = module->types_state = READ;
	err = comm_elfsym_create_memory(image, bytes, &module->sym);
	if (err) {
		free(module);
		return err;
	}
	modules->vdso = module;
	*ret = module;
	return 0;
}

/* "a::b(int)@plt" of "_ZN1a1bEi@plt". */
static const char *readable(struct comm_modules *modules, const char *name)
{
	char clean[COMM_NAME_BYTES], mangled[PAGE];
	size_t len = strlen(name);

	if (len > 4 && len < sizeof(mangled) && !strcmp(name + len - 4, "@plt")) {
		memcpy(mangled, name, len - 4);
		mangled[len - 4] = 0;
		if (comm_demangle(mangled, clean, sizeof(clean) - 4) == clean) {
			strcat(clean, "@plt");
			return comm_names_add(modules->names, clean, sizeof(clean));
		}
	}
	return comm_names_add(modules->names, comm_demangle(name, clean, sizeof(clean)),
			      COMM_NAME_BYTES);
}

static const char *at_offset(struct comm_modules *modules, const char *module, uint64_t start)
{
	char name[COMM_NAME_BYTES];

	snprintf(name, sizeof(name), "%.*s+0x%llx",
		 (int)comm_text_whole(module, strnlen(module, 480)), module,
		 (unsigned long long)start);
	return comm_names_add(modules->names, name, sizeof(name));
}

/* What this process calls the file: copies of one build-id and links to it have names of their own. */
static const char *called(const struct comm_module *module, const struct comm_mapping *m)
{
	const char *name = comm_maps_called(m);

	if (m->kind != COMM_MAP_FILE || !*name)
		return module->name;
	return comm_names_add(module->modules->names, name, strlen(name));
}

static int code_at(struct comm_module *module, const struct comm_mapping *m, uint64_t vaddr,
		   struct comm_code *ret)
{
	struct comm_modules *modules = module->modules;
	struct comm_type_field field;
	struct comm_symbol symbol;
	struct comm_line line;
	int err;

	*ret = (struct comm_code){.module = called(module, m), .build_id = module->build_id};
	err = comm_elfsym_function(module->sym, vaddr, &symbol);
	if (err) {
		/* Code without a symbol counts as a function per page, not one per sample. */
		ret->start = vaddr & ~(uint64_t)(PAGE - 1);
		ret->end = ret->start + PAGE;
		ret->function = at_offset(modules, ret->module, ret->start);
		return err;
	}
	ret->start = symbol.start;
	ret->end = symbol.end;
	ret->frame = comm_elfsym_frame(module->sym, vaddr);
	ret->function = symbol.name ? readable(modules, symbol.name)
				    : at_offset(modules, ret->module, symbol.start);
	ret->provisional = module->lines_state != READ || module->types_state != READ;
	if (module->lines && comm_dwline_find(module->lines, vaddr, &line) == 0) {
		if (line.source)
			ret->source = comm_names_add(modules->names, line.source, COMM_NAME_BYTES);
		if (line.inlined)
			ret->inlined = readable(modules, line.inlined);
		ret->line = line.line;
		if (line.inlined && line.call_source) {
			ret->call_source =
				comm_names_add(modules->names, line.call_source, COMM_NAME_BYTES);
			ret->call_line = line.call_line;
		}
	}
	if (module->types && comm_type_table_find(module->types, vaddr, &field) == 0) {
		ret->type = comm_names_add(modules->names, field.type, COMM_NAME_BYTES);
		ret->field = comm_names_add(modules->names, field.field, COMM_NAME_BYTES);
		ret->field_offset = (uint32_t)field.offset;
	}
	return 0;
}

int comm_module_code(struct comm_module *module, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	uint64_t offset = ip - m->start + m->offset, vaddr;

	if (!module->sym)
		return -ESTALE;
	if (module == module->modules->vdso)
		vaddr = ip - m->start;
	else if (comm_elfsym_vaddr(module->sym, offset, PF_X, &vaddr) < 0)
		vaddr = offset;
	return code_at(module, m, vaddr, ret);
}

int comm_module_copied(struct comm_module *module, const struct comm_mapping *file, uint64_t ip,
		       struct comm_code *ret)
{
	uint64_t vaddr;

	if (!module->sym)
		return -ESTALE;
	if (comm_elfsym_vaddr(module->sym, file->offset, file->executable ? PF_X : 0, &vaddr) < 0)
		return -ENOENT;
	/* The difference may wrap: below the first mapped byte there is no code. */
	vaddr += ip - file->start;
	return comm_elfsym_is_code(module->sym, vaddr) ? code_at(module, file, vaddr, ret)
						       : -ENOENT;
}

int comm_module_data(struct comm_module *module, const struct comm_mapping *file, uint64_t addr,
		     struct comm_static *ret)
{
	struct comm_modules *modules = module->modules;
	uint64_t vaddr, bias;
	struct comm_symbol symbol;
	int err;

	if (!module->sym)
		return -ESTALE;
	*ret = (struct comm_static){
		.name = "",
		.module = called(module, file),
		.build_id = module->build_id,
	};
	/* The differences may wrap: addresses below the first mapped byte do occur. */
	if (addr >= file->start && addr < file->end) {
		err = comm_elfsym_vaddr(module->sym, addr - file->start + file->offset,
					file->writable ? PF_W : 0, &vaddr);
		bias = addr - vaddr;
	} else {
		err = comm_elfsym_vaddr(module->sym, file->offset, PF_W, &vaddr);
		bias = file->start - vaddr;
	}
	if (err)
		return err;
	vaddr = addr - bias;
	err = comm_elfsym_variable(module->sym, vaddr, &symbol);
	if (err)
		err = comm_elfsym_section(module->sym, vaddr, &symbol);
	if (err)
		return err;
	ret->name = readable(modules, symbol.name ? symbol.name : "");
	ret->start = symbol.start + bias;
	ret->end = symbol.end + bias;
	return 0;
}

int comm_module_variable(struct comm_module *module, const struct comm_mapping *file,
			 const char *name, uint64_t *ret)
{
	struct comm_symbol symbol;
	uint64_t vaddr;
	int err = module->sym ? comm_elfsym_named(module->sym, name, &symbol) : -ESTALE;

	if (!err)
		err = comm_elfsym_vaddr(module->sym, file->offset, 0, &vaddr);
	if (!err)
		*ret = symbol.start + (file->start - vaddr);
	return err;
}
