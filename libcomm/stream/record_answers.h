/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers about a target as bytes: how a recording holds what a view said, and
 * the table of the last answer to each question.  For record.c and replay.c only.
 *
 * An answer here is what stands in its record from the result on.  One read from
 * a file is hostile: the readers check every length and give -EBADMSG; strings
 * they return point into the table.
 */
#ifndef COMM_RECORD_ANSWERS_H
#define COMM_RECORD_ANSWERS_H

#include "inspect.h"
#include "record_bytes.h"
#include "record_format.h"

struct comm_question {
	uint32_t kind; /* enum comm_record_kind */
	uint32_t tgid;
	uint64_t a, b; /* address, ip or tid; length */
};

struct comm_answers;

/* keep_older: strings read from an answer stay valid after a newer answer replaced it. */
int comm_answers_create(bool keep_older, struct comm_answers **ret);
void comm_answers_destroy(struct comm_answers *answers);
/* 1: the answer is new or changed, 0: it equals the last one to the question, -ENOMEM. */
int comm_answers_put(struct comm_answers *answers, const struct comm_question *question,
		     const void *text, size_t bytes);
/* From now on answers that were put before are not fresh any more. */
void comm_answers_age(struct comm_answers *answers);
/* An answer that was put since the last comm_answers_age(). */
bool comm_answers_fresh(const struct comm_answers *answers, const struct comm_question *question,
			const void **ret, size_t *ret_bytes);
bool comm_answers_get(const struct comm_answers *answers, const struct comm_question *question,
		      const void **ret, size_t *ret_bytes);

/* Each appends one answer of a view (inspect.h): err or got is its result. */
void comm_answer_write_maps(struct comm_bytes *to, int err, const struct comm_mapping *maps,
			    size_t n);
void comm_answer_write_text(struct comm_bytes *to, ssize_t got, const void *text);
void comm_answer_write_code(struct comm_bytes *to, int err, const struct comm_code *code);
void comm_answer_write_data(struct comm_bytes *to, int err, const struct comm_static *data);
void comm_answer_write_name(struct comm_bytes *to, int err, const char name[16]);
void comm_answer_write_title(struct comm_bytes *to, int err, const char title[COMM_TITLE_BYTES]);
void comm_answer_write_given_name(struct comm_bytes *to, int err,
				  const char name[COMM_THREAD_NAME_BYTES]);

void comm_answer_write_blocks(struct comm_bytes *to, int err,
			      const struct comm_blocks_found *blocks);
void comm_answer_write_allocation(struct comm_bytes *to, int err,
				  const struct comm_allocation *allocation);

void comm_question_write(struct comm_bytes *to, const struct comm_question *question);
void comm_question_read(struct comm_cursor *from, uint32_t kind, struct comm_question *ret);

/* Reads answers; owns the mappings and blocks that it gave last. */
struct comm_answer_reader {
	struct comm_mapping *maps;
	size_t capacity;
	struct comm_block block[COMM_PIECE_BLOCKS + 1];
};

void comm_answer_reader_deinit(struct comm_answer_reader *reader);
/* Each returns the recorded view's result, or -EBADMSG; -ESRCH for NULL: no such answer. */
int comm_answer_read_maps(struct comm_answer_reader *reader, const void *answer, size_t bytes,
			  const struct comm_mapping **ret, size_t *ret_n);
ssize_t comm_answer_read_text(const void *answer, size_t bytes, void *buf, size_t len_bytes);
int comm_answer_read_code(const void *answer, size_t bytes, struct comm_code *ret);
int comm_answer_read_data(const void *answer, size_t bytes, struct comm_static *ret);
int comm_answer_read_name(const void *answer, size_t bytes, char name[16]);
int comm_answer_read_title(const void *answer, size_t bytes, char title[COMM_TITLE_BYTES]);
int comm_answer_read_given_name(const void *answer, size_t bytes,
				char name[COMM_THREAD_NAME_BYTES]);
int comm_answer_read_blocks(struct comm_answer_reader *reader, const void *answer, size_t bytes,
			    struct comm_blocks_found *ret);
int comm_answer_read_allocation(const void *answer, size_t bytes, struct comm_allocation *ret);
/* 0: the comm_answer_read_ function of the question's kind will succeed; -EBADMSG, -ENOMEM. */
int comm_answer_check(struct comm_answer_reader *reader, const struct comm_question *question,
		      const void *answer, size_t bytes);

#endif
