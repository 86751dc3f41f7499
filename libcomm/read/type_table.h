/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the instructions of one ELF file read: the type and the field, by its DWARF, for each
 * address of an instruction for which that is known.  Built once per file by
 * type_build.h, in a process that may die, saved there and loaded here.
 */
#ifndef COMM_TYPE_TABLE_H
#define COMM_TYPE_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
	COMM_TYPE_TABLE_SAVED_MAX = 192 << 20, /* bytes of the largest saved table */
};

struct comm_type_field {
	const char *type;  /* "struct client" */
	const char *field; /* "querybuf", "" for a type without members, or all of them */
	uint64_t offset;   /* of the field in the type */
};

struct comm_type_table;

int comm_type_table_create(struct comm_type_table **ret);
void comm_type_table_destroy(struct comm_type_table *table);

/* Adds what addresses may stand for; the names are copied.  -ENOSPC: the table is full. */
int comm_type_table_add_field(struct comm_type_table *table, const struct comm_type_field *field,
			      uint32_t *ret);
int comm_type_table_add(struct comm_type_table *table, uint64_t vaddr, uint32_t field);
/* To be called when all is added: from then on the table can be asked and saved. */
void comm_type_table_sort(struct comm_type_table *table);

/* Saves a table to the start of a seekable file, to be loaded in another process. */
int comm_type_table_save(const struct comm_type_table *table, int to);
/* A hostile ELF file may control the process that saved: checks all; -ENODATA: damaged. */
int comm_type_table_load(int from, struct comm_type_table **ret);

/* What the instruction at a virtual address of the file reads; -ENOENT: not known. */
int comm_type_table_find(const struct comm_type_table *table, uint64_t vaddr,
			 struct comm_type_field *ret);

size_t comm_type_table_rows(const struct comm_type_table *table);
size_t comm_type_table_bytes(const struct comm_type_table *table);

#endif
