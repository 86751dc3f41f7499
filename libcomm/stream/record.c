// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "record_answers.h"

enum {
	RECORD_VERSION = 1,
	RECORD_MAX_BYTES = 64 << 20, /* of one record: 65,536 mappings fit */
	BUFFER_BYTES = 1 << 20,
};

enum record_kind {
	RECORD_EVENT = 1,
	RECORD_ANSWER,
	RECORD_END,
};

struct file_head {
	char magic[8];
	uint32_t version;
	uint32_t event_bytes; /* layouts written as they are in memory */
	uint32_t sample_bytes;
	uint32_t head_bytes;
};

struct record_head {
	uint32_t kind;
	uint32_t bytes; /* of what follows */
};

static const char magic[8] = "commrec";

static struct file_head file_head(void)
{
	struct file_head head = {
		.version = RECORD_VERSION,
		.event_bytes = sizeof(struct comm_event),
		.sample_bytes = offsetof(struct comm_sample, data),
		.head_bytes = sizeof(struct comm_record_head),
	};

	memcpy(head.magic, magic, sizeof(magic));
	return head;
}

/* Writing */

struct comm_record {
	FILE *file;
	int error;
	uint64_t lost;
	struct comm_inspect inner;
	struct comm_answers *answers; /* what was written down already */
	struct comm_bytes scratch;
};

static void write_record(struct comm_record *record, uint32_t kind, const void *a, size_t a_bytes,
			 const void *b, size_t b_bytes)
{
	struct record_head head = {kind, (uint32_t)(a_bytes + b_bytes)};

	/* After an error the file ends with a torn record: stop for good. */
	if (!record->error && (fwrite(&head, sizeof(head), 1, record->file) != 1 ||
			       fwrite(a, 1, a_bytes, record->file) != a_bytes ||
			       (b_bytes && fwrite(b, 1, b_bytes, record->file) != b_bytes)))
		record->error = errno ? errno : EIO;
	if (record->error)
		record->lost++;
}

int comm_record_create(const char *path, const struct comm_record_head *head,
		       struct comm_record **ret)
{
	struct comm_record *record = calloc(1, sizeof(*record));
	struct file_head fh = file_head();
	struct stat st;
	int fd, err = -ENOMEM;

	if (!record)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	/* A file that was there before keeps its mode otherwise. */
	if (fstat(fd, &st) || (S_ISREG(st.st_mode) && fchmod(fd, 0600))) {
		err = -errno;
		close(fd);
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
	if (fwrite(&fh, sizeof(fh), 1, record->file) != 1 ||
	    fwrite(head, sizeof(*head), 1, record->file) != 1 || fflush(record->file)) {
		err = -errno;
		goto out;
	}
	*ret = record;
	return 0;
out:
	comm_record_destroy(record);
	return err;
}

void comm_record_event(struct comm_record *record, const struct comm_event *event)
{
	struct comm_event copy = *event;

	if (event->kind == COMM_EV_SAMPLE) {
		copy.sample = NULL;
		write_record(record, RECORD_EVENT, &copy, sizeof(copy), event->sample,
			     comm_sample_bytes(event->sample));
	} else {
		write_record(record, RECORD_EVENT, &copy, sizeof(copy), NULL, 0);
	}
}

void comm_record_end(struct comm_record *record, uint64_t end_ns)
{
	write_record(record, RECORD_END, &end_ns, sizeof(end_ns), NULL, 0);
	if (!record->error && fflush(record->file))
		record->error = errno;
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
	comm_bytes_free(&record->scratch);
	free(record);
}

/* Notes an answer in scratch down unless the last one to the question equals it. */
static void note(struct comm_record *record, const struct comm_question *question)
{
	struct comm_bytes *answer = &record->scratch;

	if (answer->failed) {
		record->error = record->error ? record->error : ENOMEM;
		record->lost++;
		return;
	}
	switch (comm_answers_put(record->answers, question, answer->data, answer->n)) {
	case 0: /* known and unchanged */
		return;
	case 1:
		write_record(record, RECORD_ANSWER, question, sizeof(*question), answer->data,
			     answer->n);
		return;
	default:
		record->error = record->error ? record->error : ENOMEM;
		record->lost++;
	}
}

static int record_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = COMM_ASK_MAPS, .tgid = tgid};
	int err = record->inner.ops->maps(record->inner.ctx, tgid, ret, ret_n);

	comm_answer_write_maps(&record->scratch, err, *ret, err ? 0 : *ret_n);
	note(record, &question);
	return err;
}

static ssize_t record_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {
		.kind = COMM_ASK_TEXT, .tgid = tgid, .a = addr, .b = len_bytes};
	ssize_t got = record->inner.ops->text(record->inner.ctx, tgid, m, addr, buf, len_bytes);

	comm_answer_write_text(&record->scratch, got, buf);
	note(record, &question);
	return got;
}

static int record_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		       struct comm_code *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = COMM_ASK_CODE, .tgid = tgid, .a = ip};
	int err = record->inner.ops->code(record->inner.ctx, tgid, m, ip, ret);

	comm_answer_write_code(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static int record_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		       struct comm_static *ret)
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = COMM_ASK_DATA, .tgid = tgid, .a = addr};
	int err = record->inner.ops->data(record->inner.ctx, tgid, m, addr, ret);

	comm_answer_write_data(&record->scratch, err, ret);
	note(record, &question);
	return err;
}

static int record_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	struct comm_record *record = ctx;
	const struct comm_question question = {.kind = COMM_ASK_NAME, .tgid = tgid, .a = tid};
	int err = record->inner.ops->thread_name(record->inner.ctx, tgid, tid, name);

	comm_answer_write_name(&record->scratch, err, name);
	note(record, &question);
	return err;
}

static const struct comm_inspect_ops record_ops = {
	.maps = record_maps,
	.text = record_text,
	.code = record_code,
	.data = record_data,
	.thread_name = record_name,
};

void comm_record_inspect(struct comm_record *record, const struct comm_inspect *inner,
			 struct comm_inspect *ret)
{
	record->inner = *inner;
	ret->ops = &record_ops;
	ret->ctx = record;
}

/* Reading */

struct comm_replay {
	FILE *file;
	struct comm_record_head head;
	struct comm_answers *answers;
	struct comm_answer_reader reader;
	struct comm_bytes scratch;
	struct comm_sample sample;
	uint64_t end_ns;
	uint64_t left_bytes; /* of the file: no length may claim more */
};

static void terminate(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
}

int comm_replay_open(const char *path, struct comm_replay **ret)
{
	struct comm_replay *replay = calloc(1, sizeof(*replay));
	struct file_head head, ours = file_head();
	struct stat st;
	int fd, err;

	if (!replay)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		err = -EMEDIUMTYPE;
		goto out;
	}
	replay->file = fdopen(fd, "r");
	if (!replay->file) {
		close(fd);
		err = -ENOMEM;
		goto out;
	}
	setvbuf(replay->file, NULL, _IOFBF, BUFFER_BYTES);
	err = -EMEDIUMTYPE;
	if (fread(&head, sizeof(head), 1, replay->file) != 1 ||
	    memcmp(head.magic, magic, sizeof(magic)))
		goto out;
	err = -EPROTO;
	if (memcmp(&head, &ours, sizeof(head)))
		goto out;
	err = -EBADMSG;
	if (fread(&replay->head, sizeof(replay->head), 1, replay->file) != 1)
		goto out;
	replay->left_bytes = (uint64_t)st.st_size - sizeof(head) - sizeof(replay->head);
	terminate(replay->head.event, sizeof(replay->head.event));
	terminate(replay->head.estimator, sizeof(replay->head.estimator));
	terminate(replay->head.host, sizeof(replay->head.host));
	terminate(replay->head.command, sizeof(replay->head.command));
	err = comm_answers_create(true, &replay->answers);
	if (err)
		goto out;
	*ret = replay;
	return 0;
out:
	comm_replay_close(replay);
	return err;
}

const struct comm_record_head *comm_replay_head(const struct comm_replay *replay)
{
	return &replay->head;
}

static int read_event(struct comm_replay *replay, struct comm_event *ret)
{
	const struct comm_bytes *from = &replay->scratch;
	size_t rest;

	if (from->n < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, from->data, sizeof(*ret));
	rest = from->n - sizeof(*ret);
	if (ret->kind != COMM_EV_SAMPLE)
		return rest ? -EBADMSG : 1;
	if (rest < offsetof(struct comm_sample, data) || rest > sizeof(replay->sample))
		return -EBADMSG;
	memcpy(&replay->sample, from->data + sizeof(*ret), rest);
	if (comm_sample_bytes(&replay->sample) != rest || !comm_sample_valid(&replay->sample))
		return -EBADMSG;
	ret->sample = &replay->sample;
	return 1;
}

static int read_answer(struct comm_replay *replay)
{
	const struct comm_bytes *from = &replay->scratch;
	struct comm_question question;
	int err;

	if (from->n < sizeof(question))
		return -EBADMSG;
	memcpy(&question, from->data, sizeof(question));
	err = comm_answers_put(replay->answers, &question, from->data + sizeof(question),
			       from->n - sizeof(question));
	return err < 0 ? err : 0;
}

int comm_replay_next(struct comm_replay *replay, struct comm_event *ret)
{
	struct record_head head;
	int got;

	for (;;) {
		/* A writer that was killed leaves a torn record: the end. */
		if (fread(&head, sizeof(head), 1, replay->file) != 1)
			return 0;
		replay->left_bytes -= sizeof(head);
		if (head.bytes > RECORD_MAX_BYTES)
			return -EBADMSG;
		if (head.bytes > replay->left_bytes)
			return 0;
		replay->left_bytes -= head.bytes;
		replay->scratch.n = 0;
		if (!comm_bytes_room(&replay->scratch, head.bytes))
			return -ENOMEM;
		if (fread(replay->scratch.data, 1, head.bytes, replay->file) != head.bytes)
			return 0;
		replay->scratch.n = head.bytes;
		switch (head.kind) {
		case RECORD_EVENT:
			got = read_event(replay, ret);
			if (got == 1 && ret->time_ns > replay->end_ns)
				replay->end_ns = ret->time_ns;
			return got;
		case RECORD_ANSWER:
			got = read_answer(replay);
			if (got)
				return got;
			break;
		case RECORD_END:
			if (head.bytes != sizeof(replay->end_ns))
				return -EBADMSG;
			memcpy(&replay->end_ns, replay->scratch.data, sizeof(replay->end_ns));
			return 0;
		default:
			return -EBADMSG;
		}
	}
}

uint64_t comm_replay_end_ns(const struct comm_replay *replay)
{
	return replay->end_ns;
}

void comm_replay_close(struct comm_replay *replay)
{
	if (!replay)
		return;
	if (replay->file)
		fclose(replay->file);
	comm_answer_reader_deinit(&replay->reader);
	comm_answers_destroy(replay->answers);
	comm_bytes_free(&replay->scratch);
	free(replay);
}

static bool answer_to(struct comm_replay *replay, const struct comm_question *question,
		      const void **ret, size_t *ret_bytes)
{
	return comm_answers_get(replay->answers, question, ret, ret_bytes);
}

static int replay_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = COMM_ASK_MAPS, .tgid = tgid};
	const void *answer;
	size_t bytes;

	if (!answer_to(replay, &question, &answer, &bytes))
		return -ESRCH;
	return comm_answer_read_maps(&replay->reader, answer, bytes, ret, ret_n);
}

static ssize_t replay_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {
		.kind = COMM_ASK_TEXT, .tgid = tgid, .a = addr, .b = len_bytes};
	const void *answer;
	size_t bytes;

	(void)m;
	if (!answer_to(replay, &question, &answer, &bytes))
		return -ESRCH;
	return comm_answer_read_text(answer, bytes, buf, len_bytes);
}

static int replay_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		       struct comm_code *ret)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = COMM_ASK_CODE, .tgid = tgid, .a = ip};
	const void *answer = NULL;
	size_t bytes = 0;

	(void)m;
	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_code(answer, bytes, ret);
}

static int replay_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		       struct comm_static *ret)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = COMM_ASK_DATA, .tgid = tgid, .a = addr};
	const void *answer = NULL;
	size_t bytes = 0;

	(void)m;
	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_data(answer, bytes, ret);
}

static int replay_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = COMM_ASK_NAME, .tgid = tgid, .a = tid};
	const void *answer = NULL;
	size_t bytes = 0;

	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_name(answer, bytes, name);
}

static const struct comm_inspect_ops replay_ops = {
	.maps = replay_maps,
	.text = replay_text,
	.code = replay_code,
	.data = replay_data,
	.thread_name = replay_name,
};

void comm_replay_inspect(struct comm_replay *replay, struct comm_inspect *ret)
{
	ret->ops = &replay_ops;
	ret->ctx = replay;
}
