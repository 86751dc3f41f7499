// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builds the symbol tables of a hostile ELF file, then looks up addresses in them.  Tables must
 * survive saving and loading; input that is no ELF file is loaded as what a child saved, and read as
 * the table of a Go program's functions.
 */
#include "demangle.h"
#include "elfsym.h"
#include "gopclntab.h"
#include "memory_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct comm_elfsym *sym, uint64_t vaddr)
{
	struct comm_symbol s;
	char text[512];
	uint64_t at;

	if (comm_elfsym_function(sym, vaddr, &s) == 0) {
		if (vaddr < s.start || vaddr >= s.end)
			abort();
		if (s.name)
			comm_demangle(s.name, text, sizeof(text));
	}
	if (comm_elfsym_variable(sym, vaddr, &s) == 0 && (vaddr < s.start || vaddr >= s.end))
		abort();
	if (comm_elfsym_section(sym, vaddr, &s) == 0 && (vaddr < s.start || vaddr >= s.end))
		abort();
	if (comm_elfsym_vaddr(sym, vaddr, PF_X, &at) == 0)
		(void)comm_elfsym_is_code(sym, at);
	if (comm_elfsym_frame(sym, vaddr).kind >= COMM_FRAME_KINDS)
		abort();
}

static void look_all_over(const struct comm_elfsym *sym)
{
	struct comm_symbol s;

	for (uint64_t at = 0; at < 0x5000; at += 0x17f)
		look(sym, at);
	look(sym, UINT64_MAX);
	if (comm_elfsym_named(sym, "data", &s) == 0 && (!s.name || strcmp(s.name, "data") != 0))
		abort();
	if (comm_elfsym_bytes(sym) < comm_elfsym_variables(sym) + comm_elfsym_functions(sym))
		abort();
}

static int go_function(void *ctx, const struct comm_gopclntab_function *function)
{
	if (function->start >= function->end || strlen(function->name) >= COMM_GOPCLNTAB_NAME_BYTES)
		abort();
	return ctx != NULL;
}

static void load(int fd)
{
	struct comm_elfsym *sym;

	if (comm_elfsym_load(fd, &sym) < 0)
		return;
	look_all_over(sym);
	comm_elfsym_destroy(sym);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1, saved = -1;
	int fd = memory_file(data, size, &file);
	struct comm_elfsym *sym, *loaded;
	struct comm_elf_id id;

	if (size < 4 || memcmp(data, "\177ELF", 4)) {
		load(fd);
		comm_gopclntab_walk(data, size, go_function, NULL);
		return 0;
	}
	comm_elf_identify(fd, &id);
	if (comm_elfsym_create(fd, fd, &sym) == 0) {
		look_all_over(sym);
		if (comm_elfsym_save(sym, memory_file(data, 0, &saved)) < 0 ||
		    comm_elfsym_load(saved, &loaded) < 0 ||
		    comm_elfsym_functions(sym) != comm_elfsym_functions(loaded))
			abort();
		comm_elfsym_destroy(loaded);
		comm_elfsym_destroy(sym);
	}
	if (comm_elfsym_create_memory(data, size, &sym) == 0) {
		look(sym, 0x1000);
		comm_elfsym_destroy(sym);
	}
	return 0;
}
