// SPDX-License-Identifier: GPL-2.0-or-later
#include "python_objects.h"

#include <errno.h>
#include <string.h>

enum {
	POINTERS_LEAST = 4 << 20,
	ENTRIES_MOST = 1 << 16, /* of a dictionary */
	SOME = 128,		/* entries that are looked at at once */
	/* Words of any object, and of one with a number of items. */
	TYPE = 1,
	LENGTH = 2,
	/* A text: how many characters, as words; and what they are like. */
	TEXT_STATE = 4,
	TEXT_WORDS = 5,
	TEXT_FIRST_BYTES = 128, /* that are read at once: most texts as a whole */
	/* A number: its digits of 30 bits are halves of words. */
	INT_DIGITS = 3,
	INT_WORDS = 4,
	DIGIT_BITS = 30,
	/* A dictionary. */
	DICT_KEYS = 4,
	DICT_VALUES = 5,
	DICT_WORDS = 6,
	/* Its keys, whose second word has bytes: sizes as powers of two, and the kind. */
	KEYS_SIZES = 1,
	KEYS_ENTRIES = 3,
	KEYS_WORDS = 4,
	KEYS_KIND_GENERAL = 0, /* a hash, a key and a value */
	KEYS_KIND_SPLIT = 2,   /* a key; values are elsewhere */
	SIZE_MOST = 32,	       /* power of two */
	/* Behind a pointer to values in front of an instance there is one to its dictionary. */
	IN_FRONT_WORDS = 4,
	DICT_IN_FRONT = 1,
	FLAGS_AT = 168, /* of a type */
	INLINE_AT = 16, /* behind an instance without more than its head */
};

static const uint64_t lives_for_ever = UINT32_MAX;			     /* from 3.12 on */
static const uint64_t has_managed_dict = 1 << 4, has_inline_values = 1 << 2; /* of a type */

static const struct comm_python_layout layouts[] = {
	{11, 48, 72, 872, 0, false, COMM_PYTHON_IN_FRONT},
	{12, 40, 56, 880, 0, true, COMM_PYTHON_TAGGED},
	{13, 40, 56, 880, 8, true, COMM_PYTHON_INLINE},
};

const struct comm_python_layout *comm_python_layout_of(unsigned int minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

static ssize_t read_some(struct comm_python_memory *memory, uint64_t at, void *buf, size_t bytes)
{
	if (!memory->reads_left)
		return -E2BIG;
	memory->reads_left--;
	return memory->read(memory->ctx, memory->tgid, at, buf, bytes);
}

int comm_python_read(struct comm_python_memory *memory, uint64_t at, void *buf, size_t bytes)
{
	ssize_t n = read_some(memory, at, buf, bytes);

	if (n < 0)
		return (int)n;
	return (size_t)n == bytes ? 0 : -EPROTO;
}

int comm_python_words(struct comm_python_memory *memory, const uint64_t *addr, size_t n,
		      uint64_t *ret)
{
	if (!memory->reads_left)
		return -E2BIG;
	memory->reads_left--;
	return memory->words(memory->ctx, memory->tgid, addr, n, ret);
}

bool comm_python_is_count(uint64_t word)
{
	return word && (word < POINTERS_LEAST || word == lives_for_ever);
}

bool comm_python_is_pointer(uint64_t word)
{
	return word >= POINTERS_LEAST && word % sizeof(word) == 0 && !(word >> 47);
}

static size_t encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* The characters of a text, n of that many bytes; the first of them are mostly there already. */
static int read_characters(struct comm_python_memory *memory, uint64_t at, size_t bytes,
			   const uint8_t *known, size_t n_known, uint8_t *ret)
{
	if (bytes > n_known)
		return comm_python_read(memory, at, ret, bytes);
	memcpy(ret, known, bytes);
	return 0;
}

int comm_python_text(struct comm_python_memory *memory, uint64_t at, char text[COMM_NAME_BYTES])
{
	uint8_t object[TEXT_FIRST_BYTES], raw[COMM_NAME_BYTES * 4];
	uint64_t head[TEXT_WORDS];
	uint32_t kind, state;
	size_t n, out = 0, start;
	ssize_t got = read_some(memory, at, object, sizeof(object));
	int err;

	if (got < (ssize_t)sizeof(head))
		return got < 0 ? (int)got : -EPROTO;
	memcpy(head, object, sizeof(head));
	state = (uint32_t)head[TEXT_STATE];
	kind = state >> 2 & 7;
	/* Compact: its characters are behind its head. */
	if (!(state & 1 << 5) || (kind != 1 && kind != 2 && kind != 4))
		return -ENOENT;
	n = head[LENGTH] < COMM_NAME_BYTES - 1 ? head[LENGTH] : COMM_NAME_BYTES - 1;
	start = state & 1 << 6 ? memory->layout->ascii : memory->layout->wide;
	err = read_characters(memory, at + start, n * kind, object + start,
			      (size_t)got > start ? (size_t)got - start : 0, raw);
	if (err)
		return err;
	for (size_t i = 0; i < n && out + 4 < COMM_NAME_BYTES; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		if (!c)
			break;
		out += encode(c, text + out);
	}
	text[out] = 0;
	return out ? 0 : -ENOENT;
}

int comm_python_int(struct comm_python_memory *memory, uint64_t at, uint32_t *ret)
{
	uint64_t object[INT_WORDS], digits, value;
	bool is_negative;
	int err = comm_python_read(memory, at, object, sizeof(object));

	if (err)
		return err;
	digits = memory->layout->has_tagged_int ? object[LENGTH] >> 3 : object[LENGTH];
	is_negative = memory->layout->has_tagged_int && object[LENGTH] & 2;
	if (is_negative || !digits || digits > 2)
		return -ENOENT;
	value = object[INT_DIGITS] & ((1U << DIGIT_BITS) - 1);
	if (digits == 2)
		value |= object[INT_DIGITS] >> 32 << DIGIT_BITS;
	if (value > UINT32_MAX)
		return -ENOENT;
	*ret = (uint32_t)value;
	return 0;
}

/* Of the keys of a dictionary, whose values are apart from them, or not. */
static int open_keys(struct comm_python_memory *memory, uint64_t at, bool is_split,
		     struct comm_python_dict *ret)
{
	uint64_t keys[KEYS_WORDS];
	uint8_t size, index_size, kind;
	int err = comm_python_is_pointer(at) ? comm_python_read(memory, at, keys, sizeof(keys))
					     : -ENOENT;

	if (err)
		return err;
	size = (uint8_t)keys[KEYS_SIZES];
	index_size = (uint8_t)(keys[KEYS_SIZES] >> 8);
	kind = (uint8_t)(keys[KEYS_SIZES] >> 16);
	if (size > SIZE_MOST || index_size > SIZE_MOST || kind > KEYS_KIND_SPLIT ||
	    keys[KEYS_ENTRIES] > UINT64_C(1) << size || keys[KEYS_ENTRIES] > ENTRIES_MOST ||
	    (kind == KEYS_KIND_SPLIT) != is_split)
		return -ENOENT;
	*ret = (struct comm_python_dict){
		.keys = at,
		.entries = at + sizeof(keys) + (UINT64_C(1) << index_size),
		.n = (uint32_t)keys[KEYS_ENTRIES],
		.entry_words = kind == KEYS_KIND_GENERAL ? 3 : 2,
	};
	return 0;
}

int comm_python_dict_open(struct comm_python_memory *memory, uint64_t at,
			  struct comm_python_dict *ret)
{
	uint64_t dict[DICT_WORDS];
	int err = comm_python_is_pointer(at) ? comm_python_read(memory, at, dict, sizeof(dict))
					     : -ENOENT;

	if (err)
		return err;
	err = open_keys(memory, dict[DICT_KEYS], dict[DICT_VALUES], ret);
	if (!err && dict[DICT_VALUES])
		ret->values = dict[DICT_VALUES] + memory->layout->values;
	return err;
}

/* Where the values of an instance are, or its dictionary. */
static int find_attributes(const struct comm_python_memory *memory, uint64_t at, uint64_t flags,
			   const uint64_t in_front[IN_FRONT_WORDS], uint64_t *ret_dict,
			   uint64_t *ret_values)
{
	uint64_t dict = in_front[DICT_IN_FRONT], values = 0;

	switch (memory->layout->attributes) {
	case COMM_PYTHON_IN_FRONT:
		values = in_front[0];
		break;
	case COMM_PYTHON_TAGGED:
		if (dict & 1) {
			values = dict + 1;
			dict = 0;
		}
		break;
	case COMM_PYTHON_INLINE:
		if (flags & has_inline_values)
			values = at + INLINE_AT;
		break;
	}
	/* A dictionary of an instance has its values, wherever they are. */
	*ret_dict = dict;
	*ret_values = values;
	return dict || comm_python_is_pointer(values) ? 0 : -ENOENT;
}

static int open_type(struct comm_python_memory *memory, uint64_t at, struct comm_python_type *type)
{
	const uint64_t where[] = {at + FLAGS_AT, at + memory->layout->cached_keys};
	uint64_t word[2];
	int err;

	if (type->at == at)
		return 0;
	err = comm_python_words(memory, where, 2, word);
	if (err)
		return err;
	*type = (struct comm_python_type){.at = at, .flags = word[0]};
	/* Not each type has names of attributes; its instances have dictionaries then. */
	err = open_keys(memory, word[1], true, &type->names);
	return comm_python_is_absent(err) ? 0 : err;
}

int comm_python_instance_open(struct comm_python_memory *memory, uint64_t at,
			      struct comm_python_type *type, struct comm_python_dict *ret)
{
	uint64_t object[IN_FRONT_WORDS + TYPE + 1], dict, values;
	int err = comm_python_is_pointer(at)
			  ? comm_python_read(memory, at - IN_FRONT_WORDS * sizeof(*object), object,
					     sizeof(object))
			  : -ENOENT;

	if (!err)
		err = open_type(memory, object[IN_FRONT_WORDS + TYPE], type);
	if (!err && !(type->flags & has_managed_dict))
		err = -ENOENT;
	if (!err)
		err = find_attributes(memory, at, type->flags, object, &dict, &values);
	if (err)
		return err;
	if (dict)
		return comm_python_dict_open(memory, dict, ret);
	*ret = type->names;
	ret->values = values + memory->layout->values;
	return ret->keys ? 0 : -ENOENT;
}

/* The word of an entry; of its last, that is the value. */
static uint64_t entry_at(const struct comm_python_dict *dict, uint32_t place, uint32_t word)
{
	return dict->entries + ((uint64_t)place * dict->entry_words + word) * sizeof(uint64_t);
}

static uint64_t value_at(const struct comm_python_dict *dict, uint32_t place)
{
	return dict->values ? dict->values + place * sizeof(uint64_t)
			    : entry_at(dict, place, dict->entry_words - 1);
}

bool comm_python_is_absent(int err)
{
	return err == -ENOENT || err == -EFAULT || err == -EIO || err == -EPROTO;
}

/* 1: it is; 0: it is not, as far as can be read. */
static int is_named(struct comm_python_memory *memory, uint64_t key, const char *name)
{
	char text[COMM_NAME_BYTES];
	int err = comm_python_text(memory, key, text);

	if (err)
		return comm_python_is_absent(err) ? 0 : err;
	return !strcmp(text, name);
}

/* Of up to SOME entries from first on the one with that key; n: there is none.  Most are told apart by two words. */
static int find_among(struct comm_python_memory *memory, const struct comm_python_dict *dict,
		      const char *name, uint32_t first, uint32_t n, uint32_t *ret)
{
	uint64_t key[SOME], where[2 * SOME], word[2 * SOME], start = 0, mask;
	const size_t length = strlen(name);
	int err;

	for (uint32_t i = 0; i < n; i++)
		where[i] = entry_at(dict, first + i, dict->entry_words - 2);
	err = comm_python_words(memory, where, n, key);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		where[2 * i] = key[i] + LENGTH * sizeof(uint64_t);
		where[2 * i + 1] = key[i] + memory->layout->ascii;
	}
	err = comm_python_words(memory, where, 2 * (size_t)n, word);
	memcpy(&start, name, length < sizeof(start) ? length : sizeof(start));
	mask = length < sizeof(start) ? (UINT64_C(1) << 8 * length) - 1 : UINT64_MAX;
	for (*ret = 0; !err && *ret < n; ++*ret) {
		if (word[2 * *ret] != length || (word[2 * *ret + 1] & mask) != start)
			continue;
		err = is_named(memory, key[*ret], name);
		if (err > 0)
			return 0;
	}
	return err;
}

static int find_key(struct comm_python_memory *memory, const struct comm_python_dict *dict,
		    struct comm_python_key *key)
{
	uint32_t among, n;
	int err;

	if (key->keys == dict->keys)
		return 0;
	for (uint32_t first = 0; first < dict->n; first += n) {
		n = dict->n - first < SOME ? dict->n - first : SOME;
		err = find_among(memory, dict, key->name, first, n, &among);
		if (err)
			return err;
		if (among < n) {
			key->place = first + among;
			key->keys = dict->keys;
			return 0;
		}
	}
	return -ENOENT;
}

int comm_python_dict_find(struct comm_python_memory *memory, const struct comm_python_dict *dict,
			  struct comm_python_key *key, size_t n, uint64_t *ret)
{
	uint64_t where[COMM_PYTHON_KEYS_MOST] = {0};
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = find_key(memory, dict, &key[i]);
		where[i] = value_at(dict, key[i].place);
	}
	if (!err)
		err = comm_python_words(memory, where, n, ret);
	for (size_t i = 0; i < n && !err; i++)
		err = ret[i] ? 0 : -ENOENT;
	return err;
}

ssize_t comm_python_dict_values(struct comm_python_memory *memory,
				const struct comm_python_dict *dict, uint32_t first, uint64_t *ret,
				uint32_t n)
{
	uint64_t where[SOME];
	int err;

	if (first >= dict->n)
		return 0;
	n = dict->n - first < n ? dict->n - first : n;
	n = n < SOME ? n : SOME;
	for (uint32_t i = 0; i < n; i++)
		where[i] = value_at(dict, first + i);
	err = comm_python_words(memory, where, n, ret);
	return err ? err : (ssize_t)n;
}
