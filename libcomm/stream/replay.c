// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_answers.h"
#include "record_event.h"
#include "replay.h"

enum { BUFFER_BYTES = 1 << 20 };

struct comm_replay {
	FILE *file;
	struct comm_record_head head;
	struct comm_answers *answers;
	struct comm_answer_reader reader;
	struct comm_bytes scratch; /* the record that is being read */
	struct comm_sample sample;
	uint64_t last_ns; /* time of the last event read; the run's start before the first */
	uint64_t end_ns;
	uint64_t left_bytes; /* unread rest of the file: no record can be longer */
	bool cut;
};

static const struct {
	int err;
	const char *text;
} reasons[] = {
	{-EISDIR, "is a directory, not a recording"},
	{-ENOTBLK, "is no regular file: a recording can only be read from one"},
	{-ENODATA, "is empty: nothing was recorded"},
	{-EMEDIUMTYPE, "is not a recording of commd"},
	{-ESTALE, "was recorded by an older commd, whose format is read no more: record again"},
	{-EPROTO, "was recorded by a newer commd, whose format is not known here"},
	{-EXDEV, "was recorded on another kind of machine or by another clock"},
	{-EBADMSG, "is damaged"},
};

const char *comm_replay_strerror(int err)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].err == err)
			return reasons[i].text;
	return NULL;
}

/* The next record into scratch: 1; 0: the file ends here, maybe within it. */
static int read_record(struct comm_replay *replay, uint32_t *ret_kind)
{
	uint8_t bytes[RECORD_HEAD_BYTES];
	struct comm_cursor head = {bytes, bytes + sizeof(bytes), false};
	uint32_t n;

	if (replay->left_bytes < sizeof(bytes))
		return 0;
	if (fread(bytes, 1, sizeof(bytes), replay->file) != sizeof(bytes))
		return ferror(replay->file) ? -EIO : 0;
	replay->left_bytes -= sizeof(bytes);
	*ret_kind = comm_cursor_u32(&head);
	n = comm_cursor_u32(&head);
	/* Kind 0: a hole, as a crash of the host leaves it. */
	if (!*ret_kind || n > RECORD_MAX_BYTES || n % 8)
		return -EBADMSG;
	if (n > replay->left_bytes)
		return 0;
	comm_bytes_clear(&replay->scratch);
	if (!comm_bytes_reserve(&replay->scratch, n))
		return -ENOMEM;
	if (fread(replay->scratch.data, 1, n, replay->file) != n)
		return ferror(replay->file) ? -EIO : 0;
	replay->left_bytes -= n;
	replay->scratch.n = n;
	return 1;
}

static struct comm_cursor fields_of(const struct comm_replay *replay)
{
	const struct comm_bytes *fields = &replay->scratch;

	return (struct comm_cursor){fields->data, fields->data + fields->n, false};
}

static int read_file_head(struct comm_replay *replay)
{
	uint8_t bytes[RECORD_FILE_HEAD_BYTES] = {0};
	struct comm_cursor c = {bytes + 8, bytes + sizeof(bytes), false};
	size_t n = fread(bytes, 1, sizeof(bytes), replay->file);
	uint32_t version, machine, clock;

	if (ferror(replay->file))
		return -EIO;
	if (!n)
		return -ENODATA;
	if (n < 12 || memcmp(bytes, RECORD_MAGIC, 8))
		return -EMEDIUMTYPE;
	version = comm_cursor_u32(&c);
	if (version < RECORD_VERSION_OLDEST)
		return -ESTALE;
	if (version > RECORD_VERSION)
		return -EPROTO;
	if (n < sizeof(bytes) || comm_cursor_u32(&c) != RECORD_BYTE_ORDER)
		return -EBADMSG;
	machine = comm_cursor_u32(&c);
	clock = comm_cursor_u32(&c);
	return machine == RECORD_X86_64 && clock == RECORD_CLOCK_MONOTONIC ? 0 : -EXDEV;
}

static void read_text(struct comm_cursor *from, char *ret, size_t capacity)
{
	const char *text = comm_cursor_text(from);

	snprintf(ret, capacity, "%s", text ? text : "");
}

static int read_run(struct comm_replay *replay)
{
	struct comm_record_head *head = &replay->head;
	struct comm_cursor c;
	uint32_t kind;
	int got = read_record(replay, &kind);

	if (got <= 0 || kind != RECORD_RUN)
		return got < 0 ? got : -EBADMSG;
	c = fields_of(replay);
	head->start_ns = comm_cursor_u64(&c);
	head->start_unix_ns = comm_cursor_u64(&c);
	head->cycles_per_ns = comm_cursor_f64(&c);
	head->overhead_limit = comm_cursor_f64(&c);
	read_text(&c, head->source, sizeof(head->source));
	read_text(&c, head->event, sizeof(head->event));
	read_text(&c, head->estimator, sizeof(head->estimator));
	read_text(&c, head->host, sizeof(head->host));
	read_text(&c, head->command, sizeof(head->command));
	if (c.bad || !(head->cycles_per_ns >= 0 && head->cycles_per_ns < 1000) ||
	    !(head->overhead_limit >= 0 && head->overhead_limit <= 100))
		return -EBADMSG;
	/* Not there in recordings of older versions, behind which anything else may stand. */
	read_text(&c, head->numa, sizeof(head->numa));
	read_text(&c, head->function, sizeof(head->function));
	replay->last_ns = head->start_ns;
	replay->end_ns = head->start_ns;
	return 0;
}

/* Never blocks: O_NONBLOCK, since opening a FIFO would wait for a writer. */
static int open_file(const char *path, FILE **ret, uint64_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		err = -ENOTBLK;
	else
		err = (*ret = fdopen(fd, "r")) ? 0 : -ENOMEM;
	if (err) {
		close(fd);
		return err;
	}
	*ret_bytes = (uint64_t)st.st_size;
	setvbuf(*ret, NULL, _IOFBF, BUFFER_BYTES);
	return 0;
}

int comm_replay_open(const char *path, struct comm_replay **ret)
{
	struct comm_replay *replay = calloc(1, sizeof(*replay));
	int err;

	if (!replay)
		return -ENOMEM;
	err = open_file(path, &replay->file, &replay->left_bytes);
	if (!err)
		err = read_file_head(replay);
	if (!err) {
		replay->left_bytes -= RECORD_FILE_HEAD_BYTES;
		err = read_run(replay);
	}
	if (!err)
		err = comm_answers_create(true, &replay->answers);
	if (err) {
		comm_replay_close(replay);
		return err;
	}
	*ret = replay;
	return 0;
}

const struct comm_record_head *comm_replay_head(const struct comm_replay *replay)
{
	return &replay->head;
}

static int read_answer(struct comm_replay *replay, uint32_t kind)
{
	struct comm_cursor c = fields_of(replay);
	struct comm_question question;
	size_t n;
	int err;

	comm_question_read(&c, kind, &question);
	n = (size_t)(c.end - c.at);
	err = c.bad ? -EBADMSG : comm_answer_check(&replay->reader, &question, c.at, n);
	if (err)
		return err;
	err = comm_answers_put(replay->answers, &question, c.at, n);
	return err < 0 ? err : 0;
}

static int read_end(struct comm_replay *replay)
{
	struct comm_cursor c = fields_of(replay);

	replay->end_ns = comm_cursor_u64(&c);
	return c.bad || replay->left_bytes ? -EBADMSG : 0;
}

static bool is_answer(uint32_t kind)
{
	return kind >= RECORD_MAPS && kind <= RECORD_GIVEN_NAME;
}

int comm_replay_next(struct comm_replay *replay, struct comm_event *ret)
{
	struct comm_cursor c;
	uint32_t kind;
	int got;

	do {
		got = read_record(replay, &kind);
		if (got == 0)
			replay->cut = true;
		if (got <= 0)
			return got;
		if (kind == RECORD_END)
			return read_end(replay);
		got = is_answer(kind) ? read_answer(replay, kind) : kind != RECORD_WATCH;
	} while (got == 0);
	if (got < 0 || kind == RECORD_RUN)
		return got < 0 ? got : -EBADMSG;
	c = fields_of(replay);
	got = comm_event_read(kind, &c, ret, &replay->sample);
	if (got == -ENOTSUP)
		*ret = (struct comm_event){
			.kind = COMM_EV_LOSS,
			.time_ns = replay->last_ns,
			.cause = COMM_LOSS_UNKNOWN,
			.count = 1,
		};
	else if (got)
		return got;
	if (ret->time_ns > replay->last_ns)
		replay->last_ns = ret->time_ns;
	replay->end_ns = replay->last_ns;
	return 1;
}

uint64_t comm_replay_end_ns(const struct comm_replay *replay)
{
	return replay->end_ns;
}

bool comm_replay_cut(const struct comm_replay *replay)
{
	return replay->cut;
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
	const struct comm_question question = {.kind = RECORD_MAPS, .tgid = tgid};
	const struct comm_question missing = {
		.kind = RECORD_MAPS, .tgid = tgid, .a = RECORD_MAPS_MISSING};
	const void *answer;
	size_t bytes;
	int err = 0;

	if (answer_to(replay, &missing, &answer, &bytes))
		err = comm_answer_read_maps(&replay->reader, answer, bytes, ret, ret_n);
	if (err)
		return err;
	if (!answer_to(replay, &question, &answer, &bytes))
		return -ESRCH;
	return comm_answer_read_maps(&replay->reader, answer, bytes, ret, ret_n);
}

static ssize_t replay_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {
		.kind = RECORD_TEXT, .tgid = tgid, .a = addr, .b = len_bytes};
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
	const struct comm_question question = {.kind = RECORD_CODE, .tgid = tgid, .a = ip};
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
	const struct comm_question question = {.kind = RECORD_DATA, .tgid = tgid, .a = addr};
	const void *answer = NULL;
	size_t bytes = 0;

	(void)m;
	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_data(answer, bytes, ret);
}

static int replay_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = RECORD_NAME, .tgid = tgid, .a = tid};
	const void *answer = NULL;
	size_t bytes = 0;

	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_name(answer, bytes, name);
}

static int replay_title(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES])
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = RECORD_TITLE, .tgid = tgid};
	const void *answer = NULL;
	size_t bytes = 0;

	answer_to(replay, &question, &answer, &bytes);
	return comm_answer_read_title(answer, bytes, title);
}

static int replay_given_name(void *ctx, uint32_t tgid, uint32_t tid,
			     char name[COMM_THREAD_NAME_BYTES])
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = RECORD_GIVEN_NAME, .tgid = tgid, .a = tid};
	const void *answer;
	size_t bytes;

	if (!answer_to(replay, &question, &answer, &bytes))
		return -ENOENT;
	return comm_answer_read_given_name(answer, bytes, name);
}

static int replay_blocks(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {
		.kind = RECORD_BLOCKS, .tgid = tgid, .a = comm_piece_of(addr)};
	const void *answer;
	size_t bytes;

	/* Recordings of older versions have none, which is no loss of theirs. */
	if (!answer_to(replay, &question, &answer, &bytes))
		return -ENOSYS;
	return comm_answer_read_blocks(&replay->reader, answer, bytes, ret);
}

static int replay_allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
			     struct comm_allocation *ret)
{
	struct comm_replay *replay = ctx;
	const struct comm_question question = {.kind = RECORD_ALLOCATION, .tgid = tgid, .a = addr};
	const void *answer;
	size_t bytes;

	(void)time_ns;
	if (!answer_to(replay, &question, &answer, &bytes))
		return -ENOSYS;
	return comm_answer_read_allocation(answer, bytes, ret);
}

static const struct comm_inspect_ops replay_ops = {
	.maps = replay_maps,
	.text = replay_text,
	.code = replay_code,
	.data = replay_data,
	.thread_name = replay_name,
	.title = replay_title,
	.given_name = replay_given_name,
	.blocks = replay_blocks,
	.allocation = replay_allocation,
};

void comm_replay_inspect(struct comm_replay *replay, struct comm_inspect *ret)
{
	ret->ops = &replay_ops;
	ret->ctx = replay;
}
