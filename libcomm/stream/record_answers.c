// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keyed.h"
#include "record_answers.h"

_Static_assert(COMM_MAP_FILE == 0 && COMM_MAP_ANON == 1 && COMM_MAP_HEAP == 2 &&
		       COMM_MAP_STACK == 3 && COMM_MAP_SHARED == 4 && COMM_MAP_VDSO == 5 &&
		       COMM_MAP_JIT == 6,
	       "the format's kinds of mappings are the model's");

enum { MAPPING_BYTES = 64 }; /* of the shortest one: its path is empty */

/* The table: the last answer to each question; older ones stay behind it. */

struct answer {
	struct answer *older;
	uint64_t put; /* age of the table at that time */
	size_t n;
	uint8_t data[];
};

struct known_answer {
	struct comm_question question;
	struct answer *last; /* NULL: there was no memory for it */
};

static const struct comm_keyed_kind known_answer_kind = {
	COMM_KEYED_BYTES(struct known_answer, question), .hostile = true};

struct comm_answers {
	COMM_KEYED(keyed, struct known_answer, answered, n);
	bool keep_older;
	uint64_t age;
};

int comm_answers_create(bool keep_older, struct comm_answers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->keep_older = keep_older;
	return 0;
}

static void free_answers(struct answer *last)
{
	struct answer *older;

	for (; last; last = older) {
		older = last->older;
		free(last);
	}
}

void comm_answers_destroy(struct comm_answers *answers)
{
	if (!answers)
		return;
	for (size_t i = 0; i < answers->n; i++)
		free_answers(answers->answered[i].last);
	comm_keyed_deinit(&answers->keyed);
	free(answers);
}

int comm_answers_put(struct comm_answers *answers, const struct comm_question *question,
		     const void *text, size_t bytes)
{
	struct answer *old, *answer;
	size_t at;
	int err = comm_keyed_at(&answers->keyed, &known_answer_kind, question, &at);

	if (err)
		return err;
	old = answers->answered[at].last;
	if (old && old->n == bytes && (!bytes || !memcmp(old->data, text, bytes))) {
		old->put = answers->age;
		return 0;
	}
	answer = calloc(1, sizeof(*answer) + bytes);
	if (!answer)
		return -ENOMEM;
	answer->put = answers->age;
	answer->n = bytes;
	if (bytes)
		memcpy(answer->data, text, bytes);
	if (answers->keep_older)
		answer->older = old;
	else
		free(old);
	answers->answered[at].last = answer;
	return 1;
}

void comm_answers_age(struct comm_answers *answers)
{
	answers->age++;
}

static const struct answer *find(const struct comm_answers *answers,
				 const struct comm_question *question)
{
	const struct known_answer *answered =
		comm_keyed_find(&answers->keyed, &known_answer_kind, question);

	return answered ? answered->last : NULL;
}

static bool give(const struct answer *answer, const void **ret, size_t *ret_bytes)
{
	if (!answer)
		return false;
	*ret = answer->data;
	*ret_bytes = answer->n;
	return true;
}

bool comm_answers_fresh(const struct comm_answers *answers, const struct comm_question *question,
			const void **ret, size_t *ret_bytes)
{
	const struct answer *answer = find(answers, question);

	return give(answer && answer->put == answers->age ? answer : NULL, ret, ret_bytes);
}

bool comm_answers_get(const struct comm_answers *answers, const struct comm_question *question,
		      const void **ret, size_t *ret_bytes)
{
	return give(find(answers, question), ret, ret_bytes);
}

/* Writing */

void comm_question_write(struct comm_bytes *to, const struct comm_question *question)
{
	comm_bytes_u32(to, question->tgid);
	comm_bytes_u32(to, 0);
	comm_bytes_u64(to, question->a);
	comm_bytes_u64(to, question->b);
}

static void write_result(struct comm_bytes *to, int64_t result)
{
	comm_bytes_u64(to, (uint64_t)result);
}

static void write_mapping(struct comm_bytes *to, const struct comm_mapping *m)
{
	size_t path_bytes = (sizeof(uint32_t) + strlen(m->path) + 1 + 7) & ~(size_t)7;

	comm_bytes_u32(to, (uint32_t)(MAPPING_BYTES - 8 + path_bytes));
	comm_bytes_u32(to, (uint32_t)m->readable | (uint32_t)m->writable << 1 |
				   (uint32_t)m->executable << 2 | (uint32_t)m->shared << 3);
	comm_bytes_u64(to, m->start);
	comm_bytes_u64(to, m->end);
	comm_bytes_u64(to, m->offset);
	comm_bytes_u64(to, m->dev);
	comm_bytes_u64(to, m->ino);
	comm_bytes_u32(to, m->kind);
	comm_bytes_u32(to, m->file);
	comm_bytes_string(to, m->path);
}

void comm_answer_write_maps(struct comm_bytes *to, int err, const struct comm_mapping *maps,
			    size_t n)
{
	write_result(to, err);
	if (err)
		return;
	comm_bytes_u64(to, n);
	for (size_t i = 0; i < n; i++)
		write_mapping(to, &maps[i]);
}

void comm_answer_write_text(struct comm_bytes *to, ssize_t got, const void *text)
{
	write_result(to, got);
	if (got > 0)
		comm_bytes_block(to, text, (size_t)got);
}

void comm_answer_write_code(struct comm_bytes *to, int err, const struct comm_code *code)
{
	write_result(to, err);
	if (err && err != -ENOENT)
		return;
	comm_bytes_u64(to, code->start);
	comm_bytes_u64(to, code->end);
	comm_bytes_u32(to, code->line);
	comm_bytes_u32(to, code->provisional);
	comm_bytes_string(to, code->function);
	comm_bytes_string(to, code->inlined);
	comm_bytes_string(to, code->module);
	comm_bytes_string(to, code->build_id);
	comm_bytes_string(to, code->source);
	if (!code->type && !code->call_source && !code->frame.kind)
		return;
	comm_bytes_u64(to, code->field_offset);
	comm_bytes_string(to, code->type);
	comm_bytes_string(to, code->field);
	if (!code->call_source && !code->frame.kind)
		return;
	comm_bytes_u64(to, code->call_line);
	comm_bytes_string(to, code->call_source);
	if (!code->frame.kind)
		return;
	comm_bytes_u16(to, code->frame.kind);
	comm_bytes_u16(to, (uint16_t)code->frame.rbp_offset);
	comm_bytes_u32(to, (uint32_t)code->frame.offset);
}

void comm_answer_write_data(struct comm_bytes *to, int err, const struct comm_static *data)
{
	write_result(to, err);
	if (err)
		return;
	comm_bytes_u64(to, data->start);
	comm_bytes_u64(to, data->end);
	comm_bytes_string(to, data->name);
	comm_bytes_string(to, data->module);
	comm_bytes_string(to, data->build_id);
}

void comm_answer_write_name(struct comm_bytes *to, int err, const char name[16])
{
	write_result(to, err);
	if (!err)
		comm_bytes_block(to, name, 16);
}

void comm_answer_write_title(struct comm_bytes *to, int err, const char title[COMM_TITLE_BYTES])
{
	write_result(to, err);
	if (!err)
		comm_bytes_block(to, title, COMM_TITLE_BYTES);
}

void comm_answer_write_given_name(struct comm_bytes *to, int err,
				  const char name[COMM_THREAD_NAME_BYTES])
{
	write_result(to, err);
	if (!err)
		comm_bytes_block(to, name, COMM_THREAD_NAME_BYTES);
}

void comm_answer_write_blocks(struct comm_bytes *to, int err,
			      const struct comm_blocks_found *blocks)
{
	const char *class = "";
	uint64_t n_classes = 0;

	write_result(to, err);
	if (err)
		return;
	comm_bytes_u64(to, blocks->n);
	for (size_t i = 0; i < blocks->n; i++) {
		comm_bytes_u64(to, blocks->block[i].start);
		comm_bytes_u64(to, blocks->block[i].size_bytes);
		comm_bytes_u64(to, blocks->block[i].least_bytes);
		n_classes += !!blocks->block[i].class;
	}
	comm_bytes_u64(to, n_classes);
	for (size_t i = 0; i < blocks->n; i++) {
		const struct comm_block *b = &blocks->block[i];

		if (!b->class)
			continue;
		comm_bytes_u32(to, (uint32_t)i);
		comm_bytes_u32(to, b->object);
		comm_bytes_string(to, strcmp(b->class, class) != 0 ? b->class : NULL);
		class = b->class;
	}
}

void comm_answer_write_allocation(struct comm_bytes *to, int err,
				  const struct comm_allocation *allocation)
{
	write_result(to, err);
	if (err)
		return;
	comm_bytes_u64(to, allocation->start);
	comm_bytes_u64(to, allocation->size_bytes);
	comm_bytes_u64(to, allocation->since_ns);
	comm_bytes_u64(to, allocation->until_ns);
	comm_bytes_u64(to, allocation->code);
	comm_bytes_u64(to, allocation->sp);
	comm_bytes_u64(to, allocation->rbp);
	comm_bytes_u64(to, allocation->n_words);
	for (uint32_t i = 0; i < allocation->n_words; i++)
		comm_bytes_u64(to, allocation->word[i]);
}

/* Reading */

void comm_question_read(struct comm_cursor *from, uint32_t kind, struct comm_question *ret)
{
	*ret = (struct comm_question){.kind = kind, .tgid = comm_cursor_u32(from)};
	comm_cursor_u32(from);
	ret->a = comm_cursor_u64(from);
	ret->b = comm_cursor_u64(from);
}

static struct comm_cursor open_answer(const void *answer, size_t bytes, int64_t *ret_result)
{
	struct comm_cursor c = {answer, answer ? (const uint8_t *)answer + bytes : NULL, !answer};

	*ret_result = (int64_t)comm_cursor_u64(&c);
	if (c.bad)
		*ret_result = answer ? -EBADMSG : -ESRCH;
	return c;
}

/* Opens an answer whose result is 0 or -errno, not a number of bytes. */
static struct comm_cursor open_status(const void *answer, size_t bytes, int *ret_err)
{
	int64_t result;
	struct comm_cursor c = open_answer(answer, bytes, &result);

	*ret_err = result > 0 || result < -4095 ? -EBADMSG : (int)result;
	return c;
}

void comm_answer_reader_deinit(struct comm_answer_reader *reader)
{
	free(reader->maps);
	memset(reader, 0, sizeof(*reader));
}

static void read_mapping(struct comm_cursor *from, struct comm_mapping *ret)
{
	struct comm_cursor c = *from;
	uint32_t bytes = comm_cursor_u32(&c), bits = comm_cursor_u32(&c);

	if (bytes % 8 || bytes < MAPPING_BYTES || !comm_cursor_block(from, bytes)) {
		from->bad = true;
		return;
	}
	c.end = from->at;
	ret->readable = bits & 1;
	ret->writable = bits >> 1 & 1;
	ret->executable = bits >> 2 & 1;
	ret->shared = bits >> 3 & 1;
	ret->start = comm_cursor_u64(&c);
	ret->end = comm_cursor_u64(&c);
	ret->offset = comm_cursor_u64(&c);
	ret->dev = comm_cursor_u64(&c);
	ret->ino = comm_cursor_u64(&c);
	ret->kind = (enum comm_mapping_kind)comm_cursor_u32(&c);
	ret->file = comm_cursor_u32(&c);
	ret->path = comm_cursor_name(&c);
	ret->name = NULL;
	if (!ret->path || ret->end <= ret->start || (unsigned int)ret->kind > COMM_MAP_JIT)
		from->bad = true;
}

int comm_answer_read_maps(struct comm_answer_reader *reader, const void *answer, size_t bytes,
			  const struct comm_mapping **ret, size_t *ret_n)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);
	uint64_t n;

	if (err)
		return err;
	n = comm_cursor_u64(&c);
	if (n > bytes / MAPPING_BYTES) /* no allocation beyond what the file holds */
		return -EBADMSG;
	if (n > reader->capacity) {
		struct comm_mapping *maps = realloc(reader->maps, n * sizeof(*maps));

		if (!maps)
			return -ENOMEM;
		reader->maps = maps;
		reader->capacity = n;
	}
	for (uint64_t i = 0; i < n; i++) {
		struct comm_mapping *m = &reader->maps[i];

		read_mapping(&c, m);
		if (c.bad || (i && m->start < m[-1].end))
			return -EBADMSG;
	}
	if (c.bad)
		return -EBADMSG;
	*ret = reader->maps;
	*ret_n = n;
	return 0;
}

ssize_t comm_answer_read_text(const void *answer, size_t bytes, void *buf, size_t len_bytes)
{
	int64_t result;
	struct comm_cursor c = open_answer(answer, bytes, &result);
	const void *text;

	if (result <= 0)
		return result < -4095 ? -EBADMSG : result;
	if ((uint64_t)result > len_bytes)
		return -EBADMSG;
	text = comm_cursor_block(&c, (size_t)result);
	if (!text)
		return -EBADMSG;
	memcpy(buf, text, (size_t)result);
	return result;
}

int comm_answer_read_code(const void *answer, size_t bytes, struct comm_code *ret)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);

	memset(ret, 0, sizeof(*ret));
	ret->function = ret->module = "[unknown]";
	ret->build_id = "";
	if (err && err != -ENOENT)
		return err;
	ret->start = comm_cursor_u64(&c);
	ret->end = comm_cursor_u64(&c);
	ret->line = comm_cursor_u32(&c);
	ret->provisional = comm_cursor_u32(&c);
	ret->function = comm_cursor_name(&c);
	ret->inlined = comm_cursor_name(&c);
	ret->module = comm_cursor_name(&c);
	ret->build_id = comm_cursor_name(&c);
	ret->source = comm_cursor_name(&c);
	if (c.bad || !ret->function || !ret->module || !ret->build_id) {
		ret->function = ret->module = "[unknown]";
		ret->build_id = "";
		return -EBADMSG;
	}
	/* Older versions wrote no types, calls or frames, and newer ones may write something else. */
	ret->field_offset = (uint32_t)comm_cursor_u64(&c);
	ret->type = comm_cursor_name(&c);
	ret->field = comm_cursor_name(&c);
	if (c.bad || !ret->type || !ret->field) {
		ret->type = ret->field = NULL;
		ret->field_offset = 0;
	}
	ret->call_line = (uint32_t)comm_cursor_u64(&c);
	ret->call_source = comm_cursor_name(&c);
	if (c.bad || !ret->call_source) {
		ret->call_source = NULL;
		ret->call_line = 0;
	}
	ret->frame.kind = comm_cursor_u16(&c);
	ret->frame.rbp_offset = (int16_t)comm_cursor_u16(&c);
	ret->frame.offset = (int32_t)comm_cursor_u32(&c);
	if (c.bad || ret->frame.kind >= COMM_FRAME_KINDS)
		ret->frame = (struct comm_frame_rule){0};
	return err;
}

int comm_answer_read_data(const void *answer, size_t bytes, struct comm_static *ret)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);

	if (err)
		return err;
	ret->start = comm_cursor_u64(&c);
	ret->end = comm_cursor_u64(&c);
	ret->name = comm_cursor_name(&c);
	ret->module = comm_cursor_name(&c);
	ret->build_id = comm_cursor_name(&c);
	return c.bad || !ret->name || !ret->module || !ret->build_id ? -EBADMSG : 0;
}

/* A text in capacity bytes; its last one is not looked at, and is a NUL here. */
static int read_block(const void *answer, size_t bytes, char *ret, size_t capacity)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);
	const char *text;

	if (err)
		return err;
	text = comm_cursor_block(&c, capacity);
	if (!text)
		return -EBADMSG;
	memcpy(ret, text, capacity - 1);
	ret[capacity - 1] = '\0';
	return 0;
}

int comm_answer_read_name(const void *answer, size_t bytes, char name[16])
{
	return read_block(answer, bytes, name, 16);
}

int comm_answer_read_title(const void *answer, size_t bytes, char title[COMM_TITLE_BYTES])
{
	char text[COMM_TITLE_BYTES];
	int err = read_block(answer, bytes, text, sizeof(text));

	if (!err)
		comm_title_of(text, sizeof(text), title);
	return err;
}

int comm_answer_read_given_name(const void *answer, size_t bytes, char name[COMM_THREAD_NAME_BYTES])
{
	return read_block(answer, bytes, name, COMM_THREAD_NAME_BYTES);
}

/* Those of n blocks; older versions wrote none. */
static int read_classes(struct comm_answer_reader *reader, struct comm_cursor *from, uint64_t n)
{
	const char *class = NULL, *name;

	for (uint64_t left = from->at < from->end ? comm_cursor_u64(from) : 0; left; left--) {
		uint64_t i = comm_cursor_u32(from);
		uint32_t object = comm_cursor_u32(from);

		name = comm_cursor_name(from);
		class = name ? name : class;
		if (from->bad || i >= n || !class)
			return -EBADMSG;
		reader->block[i].class = class;
		reader->block[i].object = object;
	}
	return from->bad ? -EBADMSG : 0;
}

int comm_answer_read_blocks(struct comm_answer_reader *reader, const void *answer, size_t bytes,
			    struct comm_blocks_found *ret)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);
	uint64_t n, end = 0;

	*ret = (struct comm_blocks_found){0};
	if (err)
		return err;
	n = comm_cursor_u64(&c);
	if (n > sizeof(reader->block) / sizeof(*reader->block))
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct comm_block *b = &reader->block[i];

		b->start = comm_cursor_u64(&c);
		b->size_bytes = comm_cursor_u64(&c);
		b->least_bytes = comm_cursor_u64(&c);
		b->class = NULL;
		b->object = 0;
		if (c.bad || b->start < end || b->size_bytes > UINT64_MAX - b->start ||
		    b->least_bytes > b->size_bytes)
			return -EBADMSG;
		end = b->start + b->size_bytes;
	}
	err = read_classes(reader, &c, n);
	if (err)
		return err;
	*ret = (struct comm_blocks_found){reader->block, (size_t)n};
	return 0;
}

int comm_answer_read_allocation(const void *answer, size_t bytes, struct comm_allocation *ret)
{
	int err;
	struct comm_cursor c = open_status(answer, bytes, &err);
	uint64_t n;

	*ret = (struct comm_allocation){0};
	if (err)
		return err;
	ret->start = comm_cursor_u64(&c);
	ret->size_bytes = comm_cursor_u64(&c);
	ret->since_ns = comm_cursor_u64(&c);
	ret->until_ns = comm_cursor_u64(&c);
	ret->code = comm_cursor_u64(&c);
	ret->sp = comm_cursor_u64(&c);
	ret->rbp = comm_cursor_u64(&c);
	n = comm_cursor_u64(&c);
	if (n > COMM_ALLOCATION_WORDS || ret->size_bytes > UINT64_MAX - ret->start)
		return -EBADMSG;
	for (; ret->n_words < n; ret->n_words++)
		ret->word[ret->n_words] = comm_cursor_u64(&c);
	return c.bad ? -EBADMSG : 0;
}

int comm_answer_check(struct comm_answer_reader *reader, const struct comm_question *question,
		      const void *answer, size_t bytes)
{
	const struct comm_mapping *maps;
	struct comm_static data;
	struct comm_blocks_found blocks;
	struct comm_allocation allocation;
	struct comm_code code;
	char name[16], title[COMM_TITLE_BYTES], given[COMM_THREAD_NAME_BYTES];
	int64_t result;
	struct comm_cursor c = open_answer(answer, bytes, &result);
	size_t n;
	int err;

	if (c.bad || result < -4095)
		return -EBADMSG;
	/* An error is a whole answer: no fields follow (but for CODE's -ENOENT). */
	if (result < 0 && !(question->kind == RECORD_CODE && result == -ENOENT))
		return 0;
	switch (question->kind) {
	case RECORD_MAPS:
		return comm_answer_read_maps(reader, answer, bytes, &maps, &n);
	case RECORD_TEXT:
		return (uint64_t)result > question->b || !comm_cursor_block(&c, (size_t)result)
			       ? -EBADMSG
			       : 0;
	case RECORD_CODE:
		err = comm_answer_read_code(answer, bytes, &code);
		return err == -ENOENT ? 0 : err;
	case RECORD_DATA:
		return comm_answer_read_data(answer, bytes, &data);
	case RECORD_TITLE:
		return comm_answer_read_title(answer, bytes, title);
	case RECORD_GIVEN_NAME:
		return comm_answer_read_given_name(answer, bytes, given);
	case RECORD_BLOCKS:
		return comm_answer_read_blocks(reader, answer, bytes, &blocks);
	case RECORD_ALLOCATION:
		return comm_answer_read_allocation(answer, bytes, &allocation);
	default:
		return comm_answer_read_name(answer, bytes, name);
	}
}
