// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes of C++ objects, by the pointer to a virtual table that those with virtual functions begin with (Itanium
 * C++ ABI, https://itanium-cxx-abi.github.io/cxx-abi/abi.html, 2.5.2, "Virtual Table Components and Order", and
 * 2.9.5, "RTTI Layout").  In front of where it points to are the distance to the top of the object, 0 for the
 * table that an object begins with, and the class's type_info: a pointer to the virtual table of one of
 * three classes of the runtime, and the class's mangled name.  Those three are known by the names that
 * their own type_infos have, so that no symbols are needed.  Without type_infos (-fno-rtti) the table's
 * symbol has the name.
 *
 * Some programs, such as MariaDB, have a malloc() of their own in front of the one that is known, which puts a header of three words
 * in front of the object; it is taken for one by the size in it.
 *
 * Not seen: the class of what has no virtual functions, and of an object behind something else in its block.
 */
#include "block_class.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "demangle.h"

enum {
	MANGLED_BYTES_MAX = 2048,
	TABLE_HEAD_BYTES = 16, /* in front of where a pointer to a table points */
	HEADER_WORDS = 3,
	HEADER_BYTES = 24,
};

static const uint64_t flags = 7;

static bool in_file(const struct comm_heap_place *place, uint64_t addr)
{
	const struct comm_mapping *m = comm_maps_at(place->map, place->n_map, addr);

	return m && m->kind == COMM_MAP_FILE && !m->shared;
}

/* Of three words, one of which has the size that was asked for, with or without them, and maybe flags in its low bits. */
static bool has_header(const struct comm_block *block, const uint64_t word[COMM_CLASS_WORDS])
{
	uint64_t least = block->least_bytes ? block->least_bytes : block->size_bytes;

	for (int i = 0; i < HEADER_WORDS; i++)
		if ((word[i] | flags) + HEADER_BYTES >= least &&
		    (word[i] & ~flags) <= block->size_bytes)
			return true;
	return false;
}

static bool cxx_word(const struct comm_block *block, const uint64_t word[COMM_CLASS_WORDS],
		     unsigned int attempt, uint64_t *ret, uint32_t *ret_object)
{
	*ret_object = attempt ? HEADER_BYTES : 0;
	*ret = attempt && !has_header(block, word) ? 0 : word[*ret_object / sizeof(*word)];
	if (*ret % sizeof(*word))
		*ret = 0;
	return attempt < 2;
}

static bool cxx_leads(const struct comm_heap_place *place, uint64_t word)
{
	return in_file(place, word - TABLE_HEAD_BYTES);
}

/* What is wrong with a chain says that it is none; but one that was not read may be one. */
static int broken(int err)
{
	return err == -EAGAIN ? err : -ENOENT;
}

/* The name in a type_info whose first words are given. */
static int read_name(const struct comm_class_question *question, const uint64_t info[2], char *name,
		     size_t capacity)
{
	int err;

	if (!in_file(question->place, info[1]))
		return -ENOENT;
	err = comm_class_text(question, info[1], name, capacity);
	return err ? broken(err) : 0;
}

/* Whether a pointer to a virtual table is that of a type_info of a class. */
static int check_info(const struct comm_class_question *question, uint64_t table)
{
	static const char *const infos[] = {
		"N10__cxxabiv117__class_type_infoE",
		"N10__cxxabiv120__si_class_type_infoE",
		"N10__cxxabiv121__vmi_class_type_infoE",
	};
	char name[64];
	uint64_t at, info[2];
	int err = comm_class_words(question, table - sizeof(at), &at, 1);

	if (!err && !in_file(question->place, at))
		return -ENOENT;
	if (!err)
		err = comm_class_words(question, at, info, 2);
	if (!err)
		err = read_name(question, info, name, sizeof(name));
	if (err)
		return broken(err);
	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++)
		if (!strcmp(name, infos[i]))
			return 0;
	return -ENOENT;
}

/* A name that is of this file alone begins with a star, which is no part of it. */
static int clean(const char *mangled, char name[COMM_NAME_BYTES])
{
	static const char prefix[] = "typeinfo name for ";
	char symbol[MANGLED_BYTES_MAX + 8], text[COMM_NAME_BYTES + sizeof(prefix)];

	mangled += mangled[0] == '*';
	for (const char *at = mangled; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_.$", *at))
			return -ENOENT;
	snprintf(symbol, sizeof(symbol), "_ZTS%s", mangled);
	if (comm_demangle(symbol, text, sizeof(text)) != text ||
	    strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return -ENOENT;
	snprintf(name, COMM_NAME_BYTES, "%.*s", COMM_NAME_BYTES - 1, text + sizeof(prefix) - 1);
	return name[0] ? 0 : -ENOENT;
}

static int name_by_symbol(const struct comm_class_question *question, uint64_t table,
			  char name[COMM_NAME_BYTES])
{
	static const char prefix[] = "vtable for ";
	const struct comm_heap_reading *reading = question->reading;
	uint64_t start = table - TABLE_HEAD_BYTES;
	const struct comm_mapping *m =
		comm_maps_at(question->place->map, question->place->n_map, start);
	struct comm_static variable;
	int err;

	if (!reading->variable || !m)
		return -ENOENT;
	err = reading->variable(reading->ctx, question->tgid, m, start, &variable);
	if (err)
		return broken(err);
	if (variable.start != start || strncmp(variable.name, prefix, sizeof(prefix) - 1) != 0)
		return -ENOENT;
	snprintf(name, COMM_NAME_BYTES, "%s", variable.name + sizeof(prefix) - 1);
	return 0;
}

static int cxx_name(const struct comm_class_question *question, uint64_t word,
		    char name[COMM_NAME_BYTES])
{
	struct {
		uint64_t top, info;
	} head;
	char mangled[MANGLED_BYTES_MAX];
	uint64_t info[2];
	int err = comm_class_words(question, word - TABLE_HEAD_BYTES, (uint64_t *)&head, 2);

	if (err)
		return broken(err);
	if (head.top)
		return -ENOENT;
	if (!head.info)
		return name_by_symbol(question, word, name);
	if (!in_file(question->place, head.info))
		return -ENOENT;
	err = comm_class_words(question, head.info, info, 2);
	if (!err)
		err = check_info(question, info[0]);
	if (!err)
		err = read_name(question, info, mangled, sizeof(mangled));
	return err ? broken(err) : clean(mangled, name);
}

const struct comm_class_ops comm_cxx_class = {
	.word = cxx_word,
	.leads = cxx_leads,
	.name = cxx_name,
};
