/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of heap blocks: what the object in a block is, as it says itself by a word that all objects of its
 * class have, which leads to the class's name.  What word that is in a language, and how to go on from there, is
 * a file of its own and a line in the table.  All of it is read from the target's memory and may be
 * anything: what comes back is a name to show, never followed by anyone.
 *
 * Not for what else may be in a block: arrays, nodes of containers, C's structures, which do not say
 * what they are.  For heap_blocks.c, which believes two readings that agree.
 */
#ifndef COMM_BLOCK_CLASS_H
#define COMM_BLOCK_CLASS_H

#include "allocator.h"

enum { COMM_CLASS_WORDS = 6 }; /* of a block that its class may follow from */

/* How what is asked about is read. */
struct comm_class_question {
	const struct comm_marks_memory *memory;
	const struct comm_heap_reading *reading;
	const struct comm_heap_place *place;
	uint32_t tgid;
};

struct comm_class_ops {
	/*
	 * The word of a block that may lead to a class at that attempt, 0: none does, and where its object would begin
	 * in the block.  false: there are no more attempts.
	 */
	bool (*word)(const struct comm_block *block, const uint64_t word[COMM_CLASS_WORDS],
		     unsigned int attempt, uint64_t *ret, uint32_t *ret_object);
	/* Whether words of that value can lead to a class of this process, by its mappings alone. */
	bool (*leads)(const struct comm_heap_place *place, uint64_t word);
	/* Follows it.  -ENOENT: it is no class; other errors: not known now.  In a few bounded reads. */
	int (*name)(const struct comm_class_question *question, uint64_t word,
		    char name[COMM_NAME_BYTES]);
};

extern const struct comm_class_ops comm_cxx_class, comm_python_class;

static const struct comm_class_ops *const comm_class_kinds[] = {
	&comm_cxx_class,
	&comm_python_class,
};

enum { COMM_CLASS_KINDS = sizeof(comm_class_kinds) / sizeof(*comm_class_kinds) };

/* The class of a block; id 0: it is not known. */
struct comm_block_class {
	uint16_t id;
	uint8_t object; /* where the object begins in the block, bytes */
	bool sure;	/* for heap_blocks.c */
};

struct comm_block_classes;

int comm_block_classes_create(struct comm_block_classes **ret);
void comm_block_classes_destroy(struct comm_block_classes *classes);
/*
 * The classes of a piece's blocks, one for each of them, into ret.  Returns how many have one, or -errno: the
 * memory could not be read.
 */
int comm_block_classes_read(struct comm_block_classes *classes,
			    const struct comm_class_question *question, uint64_t now_ns,
			    const struct comm_block_list *list, struct comm_block_class *ret);
/* Lives as long as the names do. */
const char *comm_block_classes_name(const struct comm_block_classes *classes, uint16_t id);

/* For comm_class_kinds: all of n words at an address; 0, -errno, or -EPROTO: not all are there. */
int comm_class_words(const struct comm_class_question *question, uint64_t at, uint64_t *word,
		     size_t n);
/* A text that ends with a NUL within capacity bytes; -EPROTO: it does not. */
int comm_class_text(const struct comm_class_question *question, uint64_t at, char *text,
		    size_t capacity);

#endif
