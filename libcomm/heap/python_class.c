// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes of CPython's objects, 3.10 to 3.13 (Include/object.h and cpython/object.h, "PyObject", "PyTypeObject";
 * Objects/object_layout.md). An object begins with the count of its references and a pointer to its type, which has
 * the class's name.  In front of one that the garbage collector knows are the two words of its list, and
 * in front of these two more, if it has a dictionary of its own.
 *
 * A type is an object, too, and its type is one whose instances are types, by a flag that it has; from there one comes
 * to "type", whose type is itself and which is a variable of the interpreter.
 *
 * Not seen: what objects keep beside themselves, such as the items of lists and the tables of dictionaries.
 */
#include "block_class.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	/* Words of a type. */
	REFERENCES = 0,
	TYPE = 1,
	NAME = 3,
	FLAGS = 21,
	TYPE_WORDS = 22,

	METATYPES = 4, /* whose instances are types, and whose types are such again */
	COLLECTED_WORDS = 2,
	ATTEMPTS = 3,
	POINTERS_LEAST = 4 << 20,
};

static const uint64_t is_metatype = UINT64_C(1) << 31; /* Py_TPFLAGS_TYPE_SUBCLASS */
static const uint64_t lives_for_ever = UINT32_MAX;     /* from 3.12 on */
static const uint64_t user_end = UINT64_C(1) << 47;

/* A list's items may begin with a pointer, too, and have that to a type behind it; but programs begin at 4 MiB at least. */
static bool is_count(uint64_t word)
{
	return word && (word < POINTERS_LEAST || word == lives_for_ever);
}

static bool python_word(const struct comm_block *block, const uint64_t word[COMM_CLASS_WORDS],
			unsigned int attempt, uint64_t *ret, uint32_t *ret_object)
{
	unsigned int at = attempt * COLLECTED_WORDS;

	(void)block;
	if (attempt == ATTEMPTS)
		return false;
	*ret_object = at * (uint32_t)sizeof(*word);
	*ret = is_count(word[at]) && word[at + 1] % sizeof(*word) == 0 ? word[at + 1] : 0;
	return true;
}

static bool python_leads(const struct comm_heap_place *place, uint64_t word)
{
	return place->has_python && word < user_end && comm_maps_at(place->map, place->n_map, word);
}

static bool is_of_interpreter(const struct comm_heap_place *place, uint64_t addr)
{
	const struct comm_mapping *m = comm_maps_at(place->map, place->n_map, addr);

	return m && comm_maps_is_python(m);
}

static int broken(int err)
{
	return err == -EAGAIN ? err : -ENOENT;
}

static int read_type(const struct comm_class_question *question, uint64_t at,
		     uint64_t type[TYPE_WORDS])
{
	int err;

	if (at % sizeof(*type) || !python_leads(question->place, at))
		return -ENOENT;
	err = comm_class_words(question, at, type, TYPE_WORDS);
	if (err)
		return broken(err);
	/* Each instance counts. */
	return type[REFERENCES] && type[REFERENCES] <= lives_for_ever ? 0 : -ENOENT;
}

/* Whether at is a type whose instances are types. */
static int check_metatype(const struct comm_class_question *question, uint64_t at)
{
	uint64_t type[TYPE_WORDS];
	char name[sizeof("type")];
	int err;

	for (int i = 0; i < METATYPES; i++) {
		err = read_type(question, at, type);
		if (err)
			return err;
		if (!(type[FLAGS] & is_metatype))
			return -ENOENT;
		if (type[TYPE] != at) {
			at = type[TYPE];
			continue;
		}
		if (!is_of_interpreter(question->place, at))
			return -ENOENT;
		err = comm_class_text(question, type[NAME], name, sizeof(name));
		if (err)
			return broken(err);
		return strcmp(name, "type") ? -ENOENT : 0;
	}
	return -ENOENT;
}

static int python_name(const struct comm_class_question *question, uint64_t word,
		       char name[COMM_NAME_BYTES])
{
	uint64_t type[TYPE_WORDS];
	int err = read_type(question, word, type);

	if (!err)
		err = check_metatype(question, type[TYPE]);
	if (err)
		return err;
	err = comm_class_text(question, type[NAME], name, COMM_NAME_BYTES);
	if (err)
		return broken(err);
	return name[0] ? 0 : -ENOENT;
}

const struct comm_class_ops comm_python_class = {
	.word = python_word,
	.leads = python_leads,
	.name = python_name,
};
