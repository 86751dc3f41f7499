/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of CPython 3.11 to 3.13 in a target's memory: texts, numbers, dictionaries and the attributes of instances
 * (Include/cpython/unicodeobject.h, Include/internal/pycore_dict.h, Objects/object_layout.md).  All of it may be
 * anything: each count is bounded, and a memory tells how many reads are left for one question.
 *
 * Not for where objects are: python_code.h and python_threads.h know that.  Keeps nothing.
 */
#ifndef COMM_PYTHON_OBJECTS_H
#define COMM_PYTHON_OBJECTS_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where versions differ, bytes. */
struct comm_python_layout {
	unsigned int minor;
	unsigned int ascii, wide; /* the first character of a text of ASCII, and of others */
	unsigned int cached_keys; /* in a type: the names of its instances' attributes */
	unsigned int values;	  /* the first of an instance's attributes behind their head */
	bool has_tagged_int;	  /* the number of digits has the sign below it */
	/* Where the attributes of an instance are that has no dictionary. */
	enum { COMM_PYTHON_IN_FRONT, COMM_PYTHON_TAGGED, COMM_PYTHON_INLINE } attributes;
};

/* NULL: of another version. */
const struct comm_python_layout *comm_python_layout_of(unsigned int minor);

struct comm_python_memory {
	/* Returns how many bytes could be read, or -errno. */
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes);
	/*
	 * Words of eight bytes, n of them; 0 stands for one that cannot be read.  0 or -errno.  NULL where no
	 * dictionary is asked.
	 */
	int (*words)(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n, uint64_t *ret);
	void *ctx;
	uint32_t tgid;
	const struct comm_python_layout *layout;
	unsigned int reads_left; /* -E2BIG at 0 */
};

/* All of it, or an error; -EPROTO: there is less. */
int comm_python_read(struct comm_python_memory *memory, uint64_t at, void *buf, size_t bytes);
int comm_python_words(struct comm_python_memory *memory, const uint64_t *addr, size_t n,
		      uint64_t *ret);

/* Whether an error says that something is not there, or cannot be read, and not that nothing can be read for now. */
bool comm_python_is_absent(int err);

/* Whether a word may be a count of references, or a pointer. */
bool comm_python_is_count(uint64_t word);
bool comm_python_is_pointer(uint64_t word);

/* A text as UTF-8, not clean (text.h); a long one is cut.  -ENOENT: it is none, or empty. */
int comm_python_text(struct comm_python_memory *memory, uint64_t at, char text[COMM_NAME_BYTES]);
/* A number from 0 to UINT32_MAX.  -ENOENT: it is none. */
int comm_python_int(struct comm_python_memory *memory, uint64_t at, uint32_t *ret);

/* A dictionary, or the attributes of an instance as one. */
struct comm_python_dict {
	uint64_t keys;	  /* what it shares with others of its type */
	uint64_t entries; /* of names, or of names and values */
	uint32_t n;
	uint32_t entry_words;
	uint64_t values; /* 0: they are in the entries */
};

int comm_python_dict_open(struct comm_python_memory *memory, uint64_t at,
			  struct comm_python_dict *ret);
/* The type of the instance that was opened last; zeros at first.  Holds as long as the target stands still. */
struct comm_python_type {
	uint64_t at, flags;
	struct comm_python_dict names; /* of attributes; keys 0: there are none */
};

/* -ENOENT: the instance has none, or is of a type that keeps them in another way. */
int comm_python_instance_open(struct comm_python_memory *memory, uint64_t at,
			      struct comm_python_type *type, struct comm_python_dict *ret);

/* A name that is looked for, of ASCII, and where it was found last, which holds as long, too. */
struct comm_python_key {
	const char *name;
	uint64_t keys;
	uint32_t place;
};

enum { COMM_PYTHON_KEYS_MOST = 2 };

/* The addresses of what a dictionary has under n names.  -ENOENT: under one of them there is nothing. */
int comm_python_dict_find(struct comm_python_memory *memory, const struct comm_python_dict *dict,
			  struct comm_python_key *key, size_t n, uint64_t *ret);
/* Addresses of up to n values from the first-th entry on, 0 for entries without; returns how many or -errno. */
ssize_t comm_python_dict_values(struct comm_python_memory *memory,
				const struct comm_python_dict *dict, uint32_t first, uint64_t *ret,
				uint32_t n);

#endif
