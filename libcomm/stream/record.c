// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "record_answers.h"
#include "record_event.h"

enum {
	BUFFER_BYTES = 1 << 20,
	/* In the record of an answer, the question comes first. */
	QUESTION_BYTES = 24,
};

struct comm_record {
	FILE *file;
	int error;
	uint64_t lost;
	uint64_t bytes; /* written, and as many as the file had when it was looked at last: */
	off_t seen_bytes;
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

	_Static_assert(sizeof(head) == RECORD_HEAD_BYTES, "head of a record");
	if (fields->failed)
		fail(record, ENOMEM);
	else if (fields->n > RECORD_MAX_BYTES)
		fail(record, EMSGSIZE);
	else if (record->error)
		record->lost++; /* the file ends with a torn record: recording stops for good */
	else if (fwrite(head, sizeof(head), 1, record->file) != 1 ||
		 fwrite(fields->data, 1, fields->n, record->file) != fields->n)
		fail(record, errno ? errno : EIO);
	else
		record->bytes += sizeof(head) + fields->n;
}

static int write_head(struct comm_record *record, const struct comm_record_head *head)
{
	struct comm_bytes *to = &record->scratch;

	comm_bytes_clear(to);
	comm_bytes_block(to, RECORD_MAGIC, 8);
	comm_bytes_u32(to, RECORD_VERSION);
	comm_bytes_u32(to, RECORD_BYTE_ORDER);
	comm_bytes_u32(to, RECORD_X86_64);
	comm_bytes_u32(to, RECORD_CLOCK_MONOTONIC);
	if (to->failed || fwrite(to->data, 1, to->n, record->file) != to->n)
		return to->failed ? -ENOMEM : -errno;
	record->bytes = to->n;
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
	write_record(record, RECORD_RUN);
	if (record->error)
		return -record->error;
	return fflush(record->file) ? -errno : 0;
}

/*
 * Makes the file, mode 0600, in the place of a regular one, if there is any: its owner, or who has it
 * open, would read what the target has in memory, and it may have other names.
 */
static int make_file(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTBLK;
		if (unlink(path) < 0)
			return -errno;
	}
	/* O_APPEND: a file that was cut short stays shorter than what was written to it. */
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	return fd;
}

int comm_record_create(const char *path, const struct comm_record_head *head,
		       struct comm_record **ret)
{
	struct comm_record *record = calloc(1, sizeof(*record));
	int fd, err = -ENOMEM;

	if (!record)
		return -ENOMEM;
	fd = make_file(path);
	if (fd < 0) {
		err = fd;
		goto out;
	}
	record->file = fdopen(fd, "w");
	if (!record->file) {
		close(fd);
		goto out;
	}
	setvbuf(record->file, NULL, _IOFBF, BUFFER_BYTES);
	err = comm_answers_create(false, &record->answers);
	if (err)
		goto out;
	err = write_head(record, head);
	if (err)
		goto out;
	*ret = record;
	return 0;
out:
	comm_record_destroy(record);
	return err;
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

void comm_record_end(struct comm_record *record, uint64_t end_ns)
{
	comm_bytes_clear(&record->scratch);
	comm_bytes_u64(&record->scratch, end_ns);
	write_record(record, RECORD_END);
	if (record->error)
		return;
	if (fflush(record->file))
		fail(record, errno);
	record->seen_bytes = (off_t)record->bytes;
	comm_record_look(record);
}

void comm_record_look(struct comm_record *record)
{
	struct stat st;

	if (record->error)
		return;
	if (fstat(fileno(record->file), &st))
		fail(record, errno);
	else if (!st.st_nlink)
		fail(record, ENOENT);
	else if (st.st_size < record->seen_bytes)
		fail(record, ESTALE);
	else
		record->seen_bytes = st.st_size;
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
	if (record->file)
		fclose(record->file);
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
	int err = record->inner.ops->maps(record->inner.ctx, tgid, ret, ret_n);

	begin_answer(record, &question);
	comm_answer_write_maps(&record->scratch, err, *ret, err ? 0 : *ret_n);
	note(record, &question);
	return err;
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
