/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of one file's DWARF: what a pointer points to, and which member of a type is at an
 * offset.  Types are known by dense ids, found by their DIE when they are first needed; typedefs
 * and qualifiers are peeled off.  DWARF may lie: every loop over it is bounded, and a type may
 * well contain itself.  For type_table.c and type_flow.c, in the child that reads DWARF.
 */
#ifndef COMM_DWARF_TYPE_H
#define COMM_DWARF_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COMM_DWARF_TYPE_NONE = 0, /* unknown, or void */
	COMM_DWARF_FIELD_BYTES = 256,
};

struct comm_dwarf_types;

/* What is at an offset of a type. */
struct comm_dwarf_field {
	uint32_t root;	 /* the type, for an array that of its elements */
	uint64_t offset; /* of the field in root */
	uint32_t leaf;	 /* type of the field */
	uint64_t rest;	 /* offset in the field */
};

int comm_dwarf_types_create(Dwarf *dwarf, struct comm_dwarf_types **ret);
void comm_dwarf_types_destroy(struct comm_dwarf_types *types);

/* The type that a DIE of a variable, parameter or function has, also by way of its origin. */
uint32_t comm_dwarf_type_of(struct comm_dwarf_types *types, Dwarf_Die *die);
/* Of a pointer or reference: the type that it points to, else NONE. */
uint32_t comm_dwarf_pointee(struct comm_dwarf_types *types, uint32_t type);
/* Of an array, also of arrays: the type of its elements, else type itself. */
uint32_t comm_dwarf_type_element(struct comm_dwarf_types *types, uint32_t type);
uint64_t comm_dwarf_type_bytes(struct comm_dwarf_types *types, uint32_t type);
/* True when a and b are one type, though maybe of two compilation units. */
bool comm_dwarf_type_same(struct comm_dwarf_types *types, uint32_t a, uint32_t b);

/*
 * The innermost member of a type that holds size_bytes at offset.  Offsets beyond the type are
 * of the next ones in an array of it.  field: COMM_DWARF_FIELD_BYTES for the member's path,
 * "" for all of the type; or NULL.  False: nothing is known of the type.
 */
bool comm_dwarf_type_field(struct comm_dwarf_types *types, uint32_t type, int64_t offset,
			   uint32_t size_bytes, struct comm_dwarf_field *ret, char *field);
/* "struct client", as the language writes it. */
void comm_dwarf_type_name(struct comm_dwarf_types *types, uint32_t type, char *name, size_t bytes);

#endif
