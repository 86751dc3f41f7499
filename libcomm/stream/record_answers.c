// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(elt) ((elt)->lost = true)
#include <uthash.h>

#include "record_answers.h"

bool comm_bytes_room(struct comm_bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : 256;
	uint8_t *data;

	while (room - bytes->n < more)
		room *= 2;
	if (room == bytes->room)
		return true;
	data = realloc(bytes->data, room);
	if (!data) {
		bytes->failed = true;
		return false;
	}
	bytes->data = data;
	bytes->room = room;
	return true;
}

void comm_bytes_free(struct comm_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof(*bytes));
}

/* The table: the last answer to each question; older ones stay behind it. */

struct answer {
	struct comm_question question;
	UT_hash_handle hh;
	struct answer *older;
	bool lost;
	size_t n;
	uint8_t data[];
};

struct comm_answers {
	struct answer *table;
	bool keep_older;
};

int comm_answers_create(bool keep_older, struct comm_answers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->keep_older = keep_older;
	return 0;
}

void comm_answers_destroy(struct comm_answers *answers)
{
	struct answer *answer, *next;

	if (!answers)
		return;
	/* The table's own memory goes first, so that no entry is looked at again. */
	answer = answers->table;
	HASH_CLEAR(hh, answers->table);
	for (; answer; answer = next) {
		next = answer->hh.next;
		while (answer) {
			struct answer *older = answer->older;

			free(answer);
			answer = older;
		}
	}
	free(answers);
}

int comm_answers_put(struct comm_answers *answers, const struct comm_question *question,
		     const void *text, size_t bytes)
{
	struct answer *old, *answer;

	HASH_FIND(hh, answers->table, question, sizeof(*question), old);
	if (old && old->n == bytes && (!bytes || !memcmp(old->data, text, bytes)))
		return 0;
	answer = calloc(1, sizeof(*answer) + bytes);
	if (!answer)
		return -ENOMEM;
	answer->question = *question;
	answer->n = bytes;
	if (bytes)
		memcpy(answer->data, text, bytes);
	if (old)
		HASH_DEL(answers->table, old);
	if (answers->keep_older)
		answer->older = old;
	else
		free(old);
	HASH_ADD(hh, answers->table, question, sizeof(*question), answer);
	if (answer->lost) {
		while (answer) {
			old = answer->older;
			free(answer);
			answer = old;
		}
		return -ENOMEM;
	}
	return 1;
}

bool comm_answers_get(const struct comm_answers *answers, const struct comm_question *question,
		      const void **ret, size_t *ret_bytes)
{
	struct answer *answer;

	HASH_FIND(hh, answers->table, question, sizeof(*question), answer);
	if (!answer)
		return false;
	*ret = answer->data;
	*ret_bytes = answer->n;
	return true;
}

/* Writing */

static void put(struct comm_bytes *to, const void *from, size_t n)
{
	if (to->failed || !comm_bytes_room(to, n))
		return;
	if (n)
		memcpy(to->data + to->n, from, n);
	to->n += n;
}

static void put_u64(struct comm_bytes *to, uint64_t value)
{
	put(to, &value, sizeof(value));
}

/* NULL and "" differ: an unknown source has no name. */
static void put_string(struct comm_bytes *to, const char *text)
{
	put_u64(to, text ? strlen(text) + 1 : 0);
	put(to, text, text ? strlen(text) + 1 : 0);
}

static void start(struct comm_bytes *to, int64_t result)
{
	to->n = 0;
	to->failed = false;
	put_u64(to, (uint64_t)result);
}

void comm_answer_write_maps(struct comm_bytes *to, int err, const struct comm_mapping *maps,
			    size_t n)
{
	start(to, err);
	if (err)
		return;
	put_u64(to, n);
	for (size_t i = 0; i < n; i++) {
		const struct comm_mapping *m = &maps[i];
		uint8_t bits = (uint8_t)(m->readable | m->writable << 1 | m->executable << 2 |
					 m->shared << 3);

		put_u64(to, m->start);
		put_u64(to, m->end);
		put_u64(to, m->offset);
		put_u64(to, m->dev);
		put_u64(to, m->ino);
		put(to, &bits, 1);
		put_u64(to, m->kind);
		put_string(to, m->path);
		put_u64(to, m->file);
	}
}

void comm_answer_write_text(struct comm_bytes *to, ssize_t got, const void *text)
{
	start(to, got);
	if (got > 0)
		put(to, text, (size_t)got);
}

void comm_answer_write_code(struct comm_bytes *to, int err, const struct comm_code *code)
{
	start(to, err);
	if (err && err != -ENOENT)
		return;
	put_string(to, code->function);
	put_string(to, code->inlined);
	put_string(to, code->module);
	put_string(to, code->build_id);
	put_string(to, code->source);
	put_u64(to, code->line);
	put_u64(to, code->start);
	put_u64(to, code->end);
	put_u64(to, code->provisional);
}

void comm_answer_write_data(struct comm_bytes *to, int err, const struct comm_static *data)
{
	start(to, err);
	if (err)
		return;
	put_string(to, data->name);
	put_string(to, data->module);
	put_string(to, data->build_id);
	put_u64(to, data->start);
	put_u64(to, data->end);
}

void comm_answer_write_name(struct comm_bytes *to, int err, const char name[16])
{
	start(to, err);
	if (!err)
		put(to, name, 16);
}

/* Reading: a cursor that remembers having run past the end. */

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static void get(struct cursor *c, void *to, size_t n)
{
	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, c->at, n);
	c->at += n;
}

static uint64_t get_u64(struct cursor *c)
{
	uint64_t value;

	get(c, &value, sizeof(value));
	return value;
}

static const char *get_string(struct cursor *c)
{
	uint64_t n = get_u64(c);
	const char *text = (const char *)c->at;

	if (!n)
		return NULL;
	if (c->bad || n > (size_t)(c->end - c->at) || text[n - 1]) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return text;
}

static struct cursor open_answer(const void *answer, size_t bytes, int64_t *ret_result)
{
	struct cursor c = {answer, (const uint8_t *)answer + bytes, !answer};

	*ret_result = (int64_t)get_u64(&c);
	if (c.bad)
		*ret_result = answer ? -EBADMSG : -ESRCH;
	return c;
}

void comm_answer_reader_deinit(struct comm_answer_reader *reader)
{
	free(reader->maps);
	memset(reader, 0, sizeof(*reader));
}

int comm_answer_read_maps(struct comm_answer_reader *reader, const void *answer, size_t bytes,
			  const struct comm_mapping **ret, size_t *ret_n)
{
	int64_t result;
	struct cursor c = open_answer(answer, bytes, &result);
	uint64_t n;

	if (result)
		return (int)result;
	n = get_u64(&c);
	if (n > bytes) /* each takes many bytes: no allocation beyond the file */
		return -EBADMSG;
	if (n > reader->room) {
		struct comm_mapping *maps = realloc(reader->maps, n * sizeof(*maps));

		if (!maps)
			return -ENOMEM;
		reader->maps = maps;
		reader->room = n;
	}
	for (uint64_t i = 0; i < n; i++) {
		struct comm_mapping *m = &reader->maps[i];
		uint8_t bits;

		m->start = get_u64(&c);
		m->end = get_u64(&c);
		m->offset = get_u64(&c);
		m->dev = get_u64(&c);
		m->ino = get_u64(&c);
		get(&c, &bits, 1);
		m->readable = bits & 1;
		m->writable = bits >> 1 & 1;
		m->executable = bits >> 2 & 1;
		m->shared = bits >> 3 & 1;
		m->kind = (enum comm_mapping_kind)get_u64(&c);
		m->path = get_string(&c);
		m->file = (uint32_t)get_u64(&c);
		if (c.bad || !m->path || m->end <= m->start ||
		    (unsigned int)m->kind > COMM_MAP_JIT || (i && m->start < m[-1].end))
			return -EBADMSG;
	}
	*ret = reader->maps;
	*ret_n = n;
	return 0;
}

ssize_t comm_answer_read_text(const void *answer, size_t bytes, void *buf, size_t len_bytes)
{
	int64_t result;
	struct cursor c = open_answer(answer, bytes, &result);

	if (result <= 0)
		return result;
	if ((uint64_t)result > len_bytes)
		return -EBADMSG;
	get(&c, buf, (size_t)result);
	return c.bad ? -EBADMSG : result;
}

int comm_answer_read_code(const void *answer, size_t bytes, struct comm_code *ret)
{
	int64_t result;
	struct cursor c = open_answer(answer, bytes, &result);

	memset(ret, 0, sizeof(*ret));
	ret->function = ret->module = "[unknown]";
	ret->build_id = "";
	if (result && result != -ENOENT)
		return (int)result;
	ret->function = get_string(&c);
	ret->inlined = get_string(&c);
	ret->module = get_string(&c);
	ret->build_id = get_string(&c);
	ret->source = get_string(&c);
	ret->line = (uint32_t)get_u64(&c);
	ret->start = get_u64(&c);
	ret->end = get_u64(&c);
	ret->provisional = get_u64(&c);
	if (c.bad || !ret->function || !ret->module || !ret->build_id) {
		ret->function = ret->module = "[unknown]";
		ret->build_id = "";
		return -EBADMSG;
	}
	return (int)result;
}

int comm_answer_read_data(const void *answer, size_t bytes, struct comm_static *ret)
{
	int64_t result;
	struct cursor c = open_answer(answer, bytes, &result);

	if (result)
		return (int)result;
	ret->name = get_string(&c);
	ret->module = get_string(&c);
	ret->build_id = get_string(&c);
	ret->start = get_u64(&c);
	ret->end = get_u64(&c);
	return c.bad || !ret->name || !ret->module || !ret->build_id ? -EBADMSG : 0;
}

int comm_answer_read_name(const void *answer, size_t bytes, char name[16])
{
	int64_t result;
	struct cursor c = open_answer(answer, bytes, &result);

	if (result)
		return (int)result;
	get(&c, name, 16);
	name[15] = '\0';
	return c.bad ? -EBADMSG : 0;
}
