// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "out_file.h"
#include "record.h"
#include "record_answers.h"
#include "record_event.h"

enum {
	/* In the record of an answer, the question comes first. */
	QUESTION_BYTES = 24,
};

struct comm_record {
	struct comm_out_file *file;
	int error;
	uint64_t lost;
	struct comm_inspect inner;
	struct comm_answers *answers; /* the last answer recorded for each question */
	struct comm_answer_reader reader;
	struct comm_bytes scratch; /* the record that is being written */
};

static void fail(struct comm_record *record, int error)
{
	record->error = record->error ? record->error : error;
	record->lost++;
}

/* Writes scratch as a record. */
static void write_record(struct comm_record *record, uint32_t kind)
{
	const struct comm_bytes *fields = &record->scratch;
	const uint32_t head[2] = {htole32(kind), htole32((uint32_t)fields->n)};
	int err;

	_Static_assert(sizeof(head) == RECORD_HEAD_BYTES, "head of a record");
	if (fields->failed) {
		fail(record, ENOMEM);
	} else if (fields->n > RECORD_MAX_BYTES) {
		fail(record, EMSGSIZE);
	} else if (record->error) {
		record->lost++; /* the file ends with a torn record: recording stops for good */
	} else {
		err = comm_out_file_write(record->file, head, sizeof(head));
		if (!err)
			err = comm_out_file_write(record->file, fields->data, fields->n);
		if (err)
			fail(record, -err);
	}
}

static int write_head(struct comm_record *record, const struct comm_record_head *head)
{
	struct comm_bytes *to = &record->scratch;
	int err;

	comm_bytes_clear(to);
	comm_bytes_block(to, RECORD_MAGIC, 8);
	comm_bytes_u32(to, RECORD_VERSION);
	comm_bytes_u32(to, RECORD_BYTE_ORDER);
	comm_bytes_u32(to, RECORD_X86_64);
	comm_bytes_u32(to, RECORD_CLOCK_MONOTONIC);
	err = to->failed ? -ENOMEM : comm_out_file_write(record->file, to->data, to->n);
	if (err)
		return err;
	comm_bytes_clear(to);
	comm_bytes_u64(to, head->start_ns);
	comm_bytes_u64(to, head->start_unix_ns);
	comm_bytes_f64(to, head->cycles_per_ns);
	comm_bytes_f64(to, head->overhead_limit);
	comm_bytes_string(to, head->source);
	comm_bytes_string(to, head->event);
	comm_bytes_string(to, head->estimator);
	comm_bytes_string(to, head->host);
	comm_bytes_string(to, head->command);
	comm_bytes_string(to, head->numa);
	comm_bytes_string(to, head->function);
	write_record(record, RECORD_RUN);
	if (record->error)
		return -record->error;
	return comm_out_file_flush(record->file);
}

int comm_record_create(const char *path, const struct comm_record_head *head,
		       struct comm_record **ret)
{
	struct comm_record *record = calloc(1, sizeof(*record));
	int err;

	if (!record)
		return -ENOMEM;
	err = comm_out_file_create(path, 0600, &record->file);
	if (!err)
		err = comm_answers_create(false, &record->answers);
	if (!err)
		err = write_head(record, head);
	if (err) {
		comm_record_destroy(record);
		return err;
	}
	*ret = record;
	return 0;
}

void comm_record_event(struct comm_record *record, const struct comm_event *event)
{
	uint32_t kind;

	comm_bytes_clear(&record->scratch);
	kind = comm_event_write(&record->scratch, event);
	if (kind)
		write_record(record, kind);
	comm_answers_age(record->answers);
}

int comm_record_start(struct comm_record *record)
{
	return comm_out_file_start(record->file);
}

void comm_record_end(struct comm_record *record, uint64_t end_ns, uint64_t give_up_ns)
{
	int err;

	comm_bytes_clear(&record->scratch);
	comm_bytes_u64(&record->scratch, end_ns);
	write_record(record, RECORD_END);
	err = record->error ? 0 : comm_out_file_end(record->file, give_up_ns);
	if (err)
		fail(record, -err);
}

void comm_record_look(struct comm_record *record)
{
	int err = record->error ? 0 : comm_out_file_flush(record->file);

	if (err)
		fail(record, -err);
}

uint64_t comm_record_lost(const struct comm_record *record, int *ret_errno)
{
	*ret_errno = record->error;
	return record->lost;
}

void comm_record_destroy(struct comm_record *record)
{
	if (!record)
		return;
	comm_out_file_destroy(record->file);
	comm_answers_destroy(record->answers);
	comm_answer_reader_deinit(&record->reader);
	comm_bytes_free(&record->scratch);
	free(record);
}

static void begin_answer(struct comm_record *record, const struct comm_question *question)
{
	comm_bytes_clear(&record->scratch);
	comm_question_write(&record->scratch, question);
}

/* Records the answer in scratch unless it equals the last answer to the question. */
static void note(struct comm_record *record, const struct comm_question *question)
{
	const struct comm_bytes *fields = &record->scratch;
	int known = fields->failed ? -ENOMEM
				   : comm_answers_put(record->answers, question,
						      fields->data + QUESTION_BYTES,
						      fields->n - QUESTION_BYTES);

	if (known < 0)
		fail(record, -known);
	else if (known)
		write_record(record, question->kind);
}

static int record_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_MAPS, .tgid = tgid};
	const struct comm_question missing = {
		.kind = RECORD_MAPS, .tgid = tgid, .a = RECORD_MAPS_MISSING};
	int err = record->inner.ops->maps(record->inner.ctx, tgid, ret, ret_n);
	const void *answer;
	size_t bytes;

	/* Beside the list, which is long, and mostly the same when it is told again. */
	if (err || comm_answers_get(record->answers, &missing, &answer, &bytes)) {
		begin_answer(record, &missing);
		comm_answer_write_maps(&record->scratch, err, NULL, 0);
		note(record, &missing);
	}
	if (err)
		return err;
	begin_answer(record, &question);
	comm_answer_write_maps(&record->scratch, 0, *ret, *ret_n);
	note(record, &question);
	return 0;
}

static ssize_t record_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {
		.kind = RECORD_TEXT, .tgid = tgid, .a = addr, .b = len_bytes};
	ssize_t got = record->inner.ops->text(record->inner.ctx, tgid, m, addr, buf, len_bytes);

	begin_answer(record, &question);
	comm_answer_write_text(&record->scratch, got, buf);
	note(record, &question);
	return got;
}

static int record_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		       struct comm_code *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_CODE, .tgid = tgid, .a = ip};
	const void *answer;
	size_t bytes;
	int err;

	/* A file may have been read meanwhile, but a replay has one answer before each event. */
	if (comm_answers_fresh(record->answers, &question, &answer, &bytes))
		return comm_answer_read_code(answer, bytes, ret);
	err = record->inner.ops->code(record->inner.ctx, tgid, m, ip, ret);
	begin_answer(record, &question);
	comm_answer_write_code(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static int record_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		       struct comm_static *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_DATA, .tgid = tgid, .a = addr};
	int err = record->inner.ops->data(record->inner.ctx, tgid, m, addr, ret);

	begin_answer(record, &question);
	comm_answer_write_data(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static int record_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_NAME, .tgid = tgid, .a = tid};
	int err = record->inner.ops->thread_name(record->inner.ctx, tgid, tid, name);

	begin_answer(record, &question);
	comm_answer_write_name(&record->scratch, err, name);
	note(record, &question);
	return err;
}

static int record_title(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES])
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_TITLE, .tgid = tgid};
	int err;

	if (!record->inner.ops->title)
		return -ESRCH;
	err = record->inner.ops->title(record->inner.ctx, tgid, title);
	begin_answer(record, &question);
	comm_answer_write_title(&record->scratch, err, title);
	note(record, &question);
	return err;
}

static int record_given_name(void *ctx, uint32_t tgid, uint32_t tid,
			     char name[COMM_THREAD_NAME_BYTES])
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_GIVEN_NAME, .tgid = tgid, .a = tid};
	const void *answer;
	size_t bytes;
	int err;

	if (!record->inner.ops->given_name)
		return -ENOENT;
	err = record->inner.ops->given_name(record->inner.ctx, tgid, tid, name);
	/* Few programs give names: without an answer a replay says the same. */
	if (err && !comm_answers_get(record->answers, &question, &answer, &bytes))
		return err;
	begin_answer(record, &question);
	comm_answer_write_given_name(&record->scratch, err, name);
	note(record, &question);
	return err;
}

static int record_blocks(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {
		.kind = RECORD_BLOCKS, .tgid = tgid, .a = comm_piece_of(addr)};
	const void *answer;
	size_t bytes;
	int err;

	if (!record->inner.ops->blocks)
		return -ENOSYS;
	/* What is known of a piece changes all the time, but a replay has one answer before each event. */
	if (comm_answers_fresh(record->answers, &question, &answer, &bytes))
		return comm_answer_read_blocks(&record->reader, answer, bytes, ret);
	err = record->inner.ops->blocks(record->inner.ctx, tgid, addr, ret);
	begin_answer(record, &question);
	comm_answer_write_blocks(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static int record_allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
			     struct comm_allocation *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = RECORD_ALLOCATION, .tgid = tgid, .a = addr};
	const void *answer;
	size_t bytes;
	int err;

	if (!record->inner.ops->allocation)
		return -ENOSYS;
	if (comm_answers_fresh(record->answers, &question, &answer, &bytes))
		return comm_answer_read_allocation(answer, bytes, ret);
	err = record->inner.ops->allocation(record->inner.ctx, tgid, addr, time_ns, ret);
	/* Most processes tell nothing: without an answer a replay says the same. */
	if (err == -ENOSYS && !comm_answers_get(record->answers, &question, &answer, &bytes))
		return err;
	begin_answer(record, &question);
	comm_answer_write_allocation(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static const struct comm_inspect_ops record_ops = {
	.maps = record_maps,
	.text = record_text,
	.code = record_code,
	.data = record_data,
	.thread_name = record_name,
	.title = record_title,
	.given_name = record_given_name,
	.blocks = record_blocks,
	.allocation = record_allocation,
};

void comm_record_inspect(struct comm_record *record, const struct comm_inspect *inner,
			 struct comm_inspect *ret)
{
	record->inner = *inner;
	ret->ops = &record_ops;
	ret->ctx = record;
}
