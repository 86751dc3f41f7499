/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of one ELF file in sorted tables: functions and variables of
 * .symtab, .dynsym and .gnu_debugdata, PLT stubs, and for stripped code the bounds that
 * .eh_frame gives, or of Go programs the names that their runtime has (gopclntab.h).  Addresses are the file's own virtual addresses.
 *
 * Why not dwfl_module_addrinfo(): it searches linearly, 112 to 279 us an
 * address against 0.1 us here.
 *
 * The file is hostile, and may be truncated while it is read: it is never
 * mapped.  Everything is copied; nothing refers to the file afterwards.  What is
 * read of it, what is kept and the time that takes are bounded: the rest has no
 * names.  Tables are built in a process that may die, saved there and loaded here.
 */
#ifndef COMM_ELFSYM_H
#define COMM_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_table.h"

enum {
	COMM_BUILD_ID_BYTES = 64,	   /* longest one kept; SHA-1 has 20 */
	COMM_SYMBOLS_MAX = 1 << 20,	   /* functions of one file; as many variables */
	COMM_ELFSYM_SAVED_MAX = 104 << 20, /* bytes of the largest saved tables */
};

/* What identifies an ELF file, read without its symbol tables. */
struct comm_elf_id {
	char build_id[2 * COMM_BUILD_ID_BYTES + 1]; /* hex, "" when it has none */
	char debuglink[256];			    /* file name, "" when it has none */
	uint32_t debuglink_crc;			    /* of that file's bytes (zlib.h) */
	bool has_symtab;
	bool has_lines; /* .debug_line and .debug_info */
};

struct comm_symbol {
	const char *name; /* as in the file; NULL when only the bounds are known */
	uint64_t start, end;
};

struct comm_elfsym;

int comm_elf_identify(int fd, struct comm_elf_id *ret);
/* debug_fd: a file with the symbols that fd was stripped of, or -1. */
int comm_elfsym_create(int fd, int debug_fd, struct comm_elfsym **ret);
/* An ELF image in memory, read during the call only. */
int comm_elfsym_create_memory(const void *image, size_t image_bytes, struct comm_elfsym **ret);
void comm_elfsym_destroy(struct comm_elfsym *sym);

/* Saves tables to the start of a seekable file, to be loaded in another process. */
int comm_elfsym_save(const struct comm_elfsym *sym, int to);
/* A hostile ELF file may control the process that saved: checks all; -ENODATA: damaged. */
int comm_elfsym_load(int from, struct comm_elfsym **ret);

/*
 * The virtual address of a byte of the file.  flags (PF_X, PF_W): permissions of
 * the mapping, which pick the segment where two share a page of the file.
 */
int comm_elfsym_vaddr(const struct comm_elfsym *sym, uint64_t offset, uint32_t flags,
		      uint64_t *ret);
/* Whether vaddr is in a segment of code. */
bool comm_elfsym_is_code(const struct comm_elfsym *sym, uint64_t vaddr);
/* The function or variable at vaddr; -ENOENT when there is none.  Names live as long as sym. */
int comm_elfsym_function(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret);
int comm_elfsym_variable(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret);
/* The first variable of that name; -ENOENT: there is none.  Looks at each. */
int comm_elfsym_named(const struct comm_elfsym *sym, const char *name, struct comm_symbol *ret);
/*
 * The section of data that vaddr is in; ".other" for the rest of a segment;
 * ".data", ".rodata" and ".bss" when the file has no section headers.
 */
/* Where the return address is at an instruction. */
struct comm_frame_rule comm_elfsym_frame(const struct comm_elfsym *sym, uint64_t vaddr);
int comm_elfsym_section(const struct comm_elfsym *sym, uint64_t vaddr, struct comm_symbol *ret);

size_t comm_elfsym_functions(const struct comm_elfsym *sym);
size_t comm_elfsym_variables(const struct comm_elfsym *sym);
/* Heap memory that the tables take. */
size_t comm_elfsym_bytes(const struct comm_elfsym *sym);

#endif
