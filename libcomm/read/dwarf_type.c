// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf_type.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_grow.h"
#include "debug_text.h"
#include "hash.h"
#include "numbered.h"

enum {
	TYPES_MAX = 1 << 20,
	MEMBERS_MAX = 4 << 20,
	MEMBERS_OF_ONE = 8192,
	DEFINITIONS_MAX = 1 << 20,
	PEEL_MAX = 32,	/* typedefs and qualifiers around one type */
	DEPTH_MAX = 16, /* of members within members */
	STARS_MAX = 4,	/* of a pointer's name */
};

enum kind {
	SCALAR,
	POINTER,
	STRUCT,
	UNION,
	ARRAY,
	OPAQUE, /* declared only, or nothing that can be accessed */
};

struct member {
	uint64_t offset;
	uint32_t type;
	const char *name; /* NULL: its own members are the type's; libdw owns the text */
};

struct type {
	Dwarf_Die die;
	const char *name; /* as libdw owns it, or NULL */
	uint64_t bytes;
	uint32_t of; /* POINTER, ARRAY: to what, of what */
	uint32_t first_member, n_members;
	uint8_t kind;
	bool knows_of, knows_members;
	bool is_tagged; /* name is its own, and no typedef's */
};

struct comm_dwarf_types {
	Dwarf *dwarf;
	struct comm_debug_texts texts;
	struct type *type; /* type[0] is NONE */
	size_t n, capacity;
	struct member *member;
	size_t n_members, members_capacity;
	struct comm_keyed by_die;  /* numbers by the address of a DIE */
	struct comm_keyed by_name; /* by the hash of a name: 1 + index into definition */
	Dwarf_Die *definition;
	size_t n_definitions, definitions_capacity;
	bool knows_definitions;
};

static const char *name_of(const struct comm_dwarf_types *types, Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, DW_AT_name, &attr))
		return NULL;
	return comm_debug_text(&types->texts, dwarf_formstring(&attr));
}

int comm_dwarf_types_create(Dwarf *dwarf, struct comm_dwarf_types **ret)
{
	struct comm_dwarf_types *types = calloc(1, sizeof(*types));

	if (!types ||
	    comm_array_grow(&types->type, 0, &types->capacity, TYPES_MAX, sizeof(*types->type))) {
		free(types);
		return -ENOMEM;
	}
	types->dwarf = dwarf;
	types->type[types->n++] = (struct type){.kind = OPAQUE};
	comm_debug_texts_find(dwarf, &types->texts);
	*ret = types;
	return 0;
}

void comm_dwarf_types_destroy(struct comm_dwarf_types *types)
{
	if (!types)
		return;
	free(types->type);
	free(types->member);
	comm_keyed_deinit(&types->by_die);
	comm_keyed_deinit(&types->by_name);
	free(types->definition);
	free(types);
}

static enum kind kind_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		return SCALAR;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return POINTER;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return STRUCT;
	case DW_TAG_union_type:
		return UNION;
	case DW_TAG_array_type:
		return ARRAY;
	default:
		return OPAQUE;
	}
}

static uint64_t name_key(enum kind kind, const char *name)
{
	uint64_t key = kind;

	for (const char *at = name; *at; at++)
		key = comm_hash_mix(key, (unsigned char)*at);
	return key | 1;
}

/* Structures that some unit defines, for those that others only declare. */
static void find_definitions(struct comm_dwarf_types *types)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, die;

	types->knows_definitions = true;
	while (dwarf_get_units(types->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		if (dwarf_child(&unit, &die) != 0)
			continue;
		do {
			enum kind kind = kind_of(&die);
			const char *name;
			uint32_t *number;

			if ((kind != STRUCT && kind != UNION) ||
			    dwarf_hasattr(&die, DW_AT_declaration))
				continue;
			name = name_of(types, &die);
			if (!name || comm_array_grow(&types->definition, types->n_definitions,
						     &types->definitions_capacity, DEFINITIONS_MAX,
						     sizeof(*types->definition)))
				continue;
			number = comm_numbered(&types->by_name, name_key(kind, name));
			if (!number || *number)
				continue;
			types->definition[types->n_definitions++] = die;
			*number = (uint32_t)types->n_definitions;
		} while (dwarf_siblingof(&die, &die) == 0);
	}
}

static bool find_definition(struct comm_dwarf_types *types, enum kind kind, Dwarf_Die *die)
{
	const char *name = name_of(types, die), *known;
	uint32_t *number;

	if (!name)
		return false;
	if (!types->knows_definitions)
		find_definitions(types);
	number = comm_numbered(&types->by_name, name_key(kind, name));
	if (!number || !*number || !(known = name_of(types, &types->definition[*number - 1])) ||
	    strcmp(known, name) != 0)
		return false;
	*die = types->definition[*number - 1];
	return true;
}

static bool type_attr(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

static bool is_wrapping(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static uint64_t array_bytes(Dwarf_Die *die)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(die, &bytes) == 0 ? bytes : 0;
}

/* The type that a DIE of a type is; *die changes. */
static uint32_t type_at(struct comm_dwarf_types *types, Dwarf_Die *die)
{
	const char *typedef_name = NULL;
	struct type type = {0};
	uint32_t *number;
	Dwarf_Word bytes;

	for (int i = 0; is_wrapping(dwarf_tag(die)); i++) {
		if (i == PEEL_MAX)
			return COMM_DWARF_TYPE_NONE;
		if (dwarf_tag(die) == DW_TAG_typedef)
			typedef_name = name_of(types, die);
		if (!type_attr(die, die))
			return COMM_DWARF_TYPE_NONE;
	}
	type.kind = kind_of(die);
	if (dwarf_hasattr(die, DW_AT_declaration) &&
	    (type.kind == OPAQUE || !find_definition(types, type.kind, die)))
		type.kind = OPAQUE;
	number = comm_numbered(&types->by_die, (uintptr_t)die->addr);
	if (!number || !die->addr)
		return COMM_DWARF_TYPE_NONE;
	if (*number > 0)
		return *number;
	if (comm_array_grow(&types->type, types->n, &types->capacity, TYPES_MAX,
			    sizeof(*types->type)))
		return COMM_DWARF_TYPE_NONE;
	type.die = *die;
	type.name = name_of(types, die);
	type.is_tagged = type.name;
	/* "typedef struct { ... } robj" has no other name. */
	if (!type.name && (type.kind == STRUCT || type.kind == UNION || type.kind == SCALAR))
		type.name = typedef_name;
	if (type.kind == ARRAY)
		type.bytes = array_bytes(die);
	else if (type.kind == POINTER)
		type.bytes = sizeof(uint64_t);
	else if (dwarf_hasattr(die, DW_AT_byte_size) && dwarf_aggregate_size(die, &bytes) == 0)
		type.bytes = bytes;
	*number = (uint32_t)types->n;
	types->type[types->n] = type;
	return (uint32_t)types->n++;
}

uint32_t comm_dwarf_type_of(struct comm_dwarf_types *types, Dwarf_Die *die)
{
	Dwarf_Die type;

	return type_attr(die, &type) ? type_at(types, &type) : COMM_DWARF_TYPE_NONE;
}

static uint32_t of(struct comm_dwarf_types *types, uint32_t id)
{
	Dwarf_Die die;
	uint32_t to;

	if (!types->type[id].knows_of) {
		types->type[id].knows_of = true;
		die = types->type[id].die;
		to = comm_dwarf_type_of(types, &die);
		types->type[id].of = to;
	}
	return types->type[id].of;
}

uint32_t comm_dwarf_pointee(struct comm_dwarf_types *types, uint32_t type)
{
	return types->type[type].kind == POINTER ? of(types, type) : COMM_DWARF_TYPE_NONE;
}

uint64_t comm_dwarf_type_bytes(struct comm_dwarf_types *types, uint32_t type)
{
	return types->type[type].bytes;
}

bool comm_dwarf_type_same(struct comm_dwarf_types *types, uint32_t a, uint32_t b)
{
	for (int i = 0; a != b; i++) {
		const struct type *x = &types->type[a], *y = &types->type[b];

		if (i == STARS_MAX || !a || !b || x->kind != y->kind || x->bytes != y->bytes)
			return false;
		if (x->kind != POINTER)
			return x->name && y->name && !strcmp(x->name, y->name);
		a = of(types, a);
		b = of(types, b);
	}
	return true;
}

/* False: the member has no constant place, as a virtual base has not. */
static bool member_offset(Dwarf_Die *die, bool in_union, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_attr(die, DW_AT_data_member_location, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0)
			return false;
	} else if (dwarf_attr(die, DW_AT_data_bit_offset, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0)
			return false;
		value /= 8;
	} else if (in_union) {
		value = 0;
	} else {
		return false;
	}
	*ret = value;
	return true;
}

static void find_members(struct comm_dwarf_types *types, uint32_t id)
{
	bool in_union = types->type[id].kind == UNION;
	Dwarf_Die die;
	size_t n = 0;

	types->type[id].knows_members = true;
	types->type[id].first_member = (uint32_t)types->n_members;
	if (dwarf_child(&types->type[id].die, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		struct member m = {0};

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !member_offset(&die, in_union, &m.offset))
			continue;
		if (comm_array_grow(&types->member, types->n_members, &types->members_capacity,
				    MEMBERS_MAX, sizeof(*types->member)))
			break;
		m.name = tag == DW_TAG_member ? name_of(types, &die) : NULL;
		m.type = comm_dwarf_type_of(types, &die);
		types->member[types->n_members++] = m;
		n++;
	} while (n < MEMBERS_OF_ONE && dwarf_siblingof(&die, &die) == 0);
	types->type[id].n_members = (uint32_t)n;
}

/* The first member that holds so many bytes there; of an array without a size, the last. */
static const struct member *member_at(struct comm_dwarf_types *types, uint32_t id, uint64_t offset,
				      uint32_t size_bytes)
{
	const struct member *open = NULL;

	if (!types->type[id].knows_members)
		find_members(types, id);
	for (uint32_t i = 0; i < types->type[id].n_members; i++) {
		const struct member *m = &types->member[types->type[id].first_member + i];
		const struct type *t = &types->type[m->type];

		if (offset < m->offset)
			continue;
		if (offset - m->offset < t->bytes && size_bytes <= t->bytes - (offset - m->offset))
			return m;
		if (t->kind == ARRAY && !t->bytes)
			open = m;
	}
	return open;
}

static void append(char *path, const char *more)
{
	size_t len;

	if (!path)
		return;
	len = strlen(path);
	snprintf(path + len, COMM_DWARF_FIELD_BYTES - len, "%s", more);
}

static uint64_t modulo(int64_t offset, uint64_t bytes)
{
	int64_t rest;

	if (bytes > INT64_MAX)
		return (uint64_t)offset;
	rest = offset % (int64_t)bytes;
	return (uint64_t)(rest < 0 ? rest + (int64_t)bytes : rest);
}

uint32_t comm_dwarf_type_element(struct comm_dwarf_types *types, uint32_t type)
{
	for (int i = 0; types->type[type].kind == ARRAY; i++) {
		if (i == DEPTH_MAX)
			return COMM_DWARF_TYPE_NONE;
		type = of(types, type);
	}
	return type;
}

bool comm_dwarf_type_field(struct comm_dwarf_types *types, uint32_t type, int64_t offset,
			   uint32_t size_bytes, struct comm_dwarf_field *ret, char *field)
{
	const struct member *m;
	uint64_t at;

	if (field)
		*field = 0;
	type = comm_dwarf_type_element(types, type);
	if (type == COMM_DWARF_TYPE_NONE)
		return false;
	at = types->type[type].bytes ? modulo(offset, types->type[type].bytes) : 0;
	*ret = (struct comm_dwarf_field){.root = type, .leaf = type, .rest = at};
	for (int i = 0; i < DEPTH_MAX; i++) {
		const struct type *t = &types->type[ret->leaf];

		if (t->kind == ARRAY) {
			uint32_t element = of(types, ret->leaf);
			uint64_t bytes = types->type[element].bytes;

			/* More than an element, such as by a vector register, is of the array. */
			if (!bytes || size_bytes > bytes)
				break;
			append(field, "[]");
			ret->leaf = element;
			ret->rest %= bytes;
		} else if (t->kind == STRUCT || t->kind == UNION) {
			m = member_at(types, ret->leaf, ret->rest, size_bytes);
			if (!m)
				break;
			if (m->name) {
				append(field, field && *field ? "." : "");
				append(field, m->name);
			}
			ret->offset += m->offset;
			ret->rest -= m->offset;
			ret->leaf = m->type;
		} else {
			break;
		}
	}
	return true;
}

static bool is_c(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static const char *keyword(struct type *t)
{
	/* A typedef is its name for what has no tag. */
	if (!t->is_tagged || !is_c(&t->die))
		return "";
	switch (dwarf_tag(&t->die)) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

void comm_dwarf_type_name(struct comm_dwarf_types *types, uint32_t type, char *name, size_t bytes)
{
	char stars[2 * STARS_MAX + 2] = "";
	struct type *t;
	int n = 0;

	while (n < STARS_MAX &&
	       (types->type[type].kind == POINTER || types->type[type].kind == ARRAY)) {
		strcat(stars, types->type[type].kind == POINTER ? "*" : "[]");
		type = of(types, type);
		n++;
	}
	t = &types->type[type];
	if (type == COMM_DWARF_TYPE_NONE)
		snprintf(name, bytes, "void%s%s", n ? " " : "", stars);
	else if (!t->name && dwarf_tag(&t->die) == DW_TAG_subroutine_type)
		snprintf(name, bytes, "function%s%s", n ? " " : "", stars);
	else
		snprintf(name, bytes, "%s%s%s%s", keyword(t), t->name ? t->name : "(unnamed)",
			 n ? " " : "", stars);
}
