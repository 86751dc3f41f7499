/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile recording, through the reader alone: what was read can be written again. */
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "record_answers.h"
#include "record_event.h"
#include "replay.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* An event that was read can be written, and is then read back the same. */
static void check_round_trip(const struct comm_event *event)
{
	static struct comm_sample sample;
	static struct comm_bytes once, again;
	uint32_t kind;
	struct comm_cursor c;
	struct comm_event read;

	comm_bytes_clear(&once);
	kind = comm_event_write(&once, event);
	c = (struct comm_cursor){once.data, once.data + once.n, false};
	if (!kind || once.n % 8 || comm_event_read(kind, &c, &read, &sample) || c.at != c.end)
		abort();
	comm_bytes_clear(&again);
	if (comm_event_write(&again, &read) != kind || again.n != once.n ||
	    memcmp(once.data, again.data, once.n))
		abort();
}

static size_t printable(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (!comm_text_is_clean(text, n))
		abort();
	return n;
}

/* What an answer was read from: comm_answer_write_...() has put it here. */
static struct comm_bytes answer;

static void begin(uint32_t kind, const struct comm_event *event)
{
	const struct comm_question question = {.kind = kind, .tgid = event->tgid};
	struct comm_question read;
	struct comm_cursor c;

	comm_bytes_clear(&answer);
	comm_question_write(&answer, &question);
	c = (struct comm_cursor){answer.data, answer.data + answer.n, false};
	comm_question_read(&c, kind, &read);
	if (memcmp(&read, &question, sizeof(read)))
		abort();
	comm_bytes_clear(&answer);
}

static void same_text(const char *a, const char *b)
{
	if (!a != !b || (a && strcmp(a, b) != 0))
		abort();
}

/* An answer that was read, errors too, can be written, and is then read back the same. */

static void check_maps(int err, const struct comm_mapping *maps, size_t n)
{
	static struct comm_answer_reader reader;
	const struct comm_mapping *again;
	size_t n_again;

	comm_answer_write_maps(&answer, err, maps, n);
	if (comm_answer_read_maps(&reader, answer.data, answer.n, &again, &n_again) != err)
		abort();
	for (size_t i = 0; !err && i < n; i++) {
		same_text(maps[i].path, again[i].path);
		if (n_again != n || maps[i].start != again[i].start ||
		    maps[i].ino != again[i].ino || maps[i].executable != again[i].executable)
			abort();
	}
}

static void check_text(ssize_t got, const uint8_t *text, size_t capacity)
{
	uint8_t again[64];

	comm_answer_write_text(&answer, got, text);
	if (comm_answer_read_text(answer.data, answer.n, again, capacity) != got ||
	    (got > 0 && memcmp(text, again, (size_t)got)))
		abort();
}

static void check_code(int err, const struct comm_code *code)
{
	struct comm_code again;

	comm_answer_write_code(&answer, err, code);
	if (comm_answer_read_code(answer.data, answer.n, &again) != err ||
	    again.line != code->line || again.frame.kind != code->frame.kind ||
	    again.frame.offset != code->frame.offset)
		abort();
	same_text(again.function, code->function);
	same_text(again.source, code->source);
	/* What stands behind is written where it is known, with what stands before it. */
	if (code->type)
		same_text(again.type, code->type);
	if (code->call_source)
		same_text(again.call_source, code->call_source);
}

static void check_data(int err, const struct comm_static *data)
{
	struct comm_static again;

	comm_answer_write_data(&answer, err, data);
	if (comm_answer_read_data(answer.data, answer.n, &again) != err)
		abort();
	if (!err)
		same_text(again.name, data->name);
}

static void check_blocks(int err, const struct comm_blocks_found *blocks)
{
	static struct comm_answer_reader reader;
	struct comm_blocks_found again;

	comm_answer_write_blocks(&answer, err, blocks);
	if (comm_answer_read_blocks(&reader, answer.data, answer.n, &again) != err)
		abort();
	for (size_t i = 0; !err && i < blocks->n; i++) {
		if (again.n != blocks->n || again.block[i].start != blocks->block[i].start)
			abort();
		same_text(again.block[i].class, blocks->block[i].class);
	}
}

static void check_allocation(int err, const struct comm_allocation *allocation)
{
	struct comm_allocation again;

	comm_answer_write_allocation(&answer, err, allocation);
	if (comm_answer_read_allocation(answer.data, answer.n, &again) != err ||
	    (!err && again.n_words != allocation->n_words))
		abort();
}

static void ask_names(const struct comm_inspect *inspect, const struct comm_event *event)
{
	char name[16], title[COMM_TITLE_BYTES], given[COMM_THREAD_NAME_BYTES], again[64];
	int err = inspect->ops->thread_name(inspect->ctx, event->tgid, event->tid, name);

	_Static_assert(sizeof(title) <= sizeof(again) && sizeof(given) <= sizeof(again), "again");
	begin(RECORD_NAME, event);
	if (!err && name[15])
		abort();
	comm_answer_write_name(&answer, err, name);
	if (comm_answer_read_name(answer.data, answer.n, again) != err ||
	    (!err && memcmp(name, again, sizeof(name))))
		abort();
	err = inspect->ops->title(inspect->ctx, event->tgid, title);
	begin(RECORD_TITLE, event);
	comm_answer_write_title(&answer, err, title);
	if (comm_answer_read_title(answer.data, answer.n, again) != err)
		abort();
	err = inspect->ops->given_name(inspect->ctx, event->tgid, event->tid, given);
	begin(RECORD_GIVEN_NAME, event);
	comm_answer_write_given_name(&answer, err, given);
	if (comm_answer_read_given_name(answer.data, answer.n, again) != err)
		abort();
}

static void ask_memory(const struct comm_inspect *inspect, const struct comm_event *event,
		       uint64_t at)
{
	struct comm_allocation allocation;
	struct comm_blocks_found blocks;
	uint64_t end = 0;
	int err = inspect->ops->blocks(inspect->ctx, event->tgid, at, &blocks);

	for (size_t i = 0; !err && i < blocks.n; i++) {
		if (blocks.block[i].start < end)
			abort();
		end = blocks.block[i].start + blocks.block[i].size_bytes;
		printable(blocks.block[i].class);
	}
	begin(RECORD_BLOCKS, event);
	check_blocks(err, &blocks);
	err = inspect->ops->allocation(inspect->ctx, event->tgid, at, event->time_ns, &allocation);
	begin(RECORD_ALLOCATION, event);
	check_allocation(err, &allocation);
}

static void ask(const struct comm_inspect *inspect, const struct comm_event *event)
{
	const uint64_t at = event->kind == COMM_EV_SAMPLE ? event->sample->ip : event->access.ip;
	const struct comm_mapping *maps;
	struct comm_static datum;
	struct comm_code code;
	uint8_t text[64];
	ssize_t got;
	size_t n = 0;
	int err = inspect->ops->maps(inspect->ctx, event->tgid, &maps, &n);

	for (size_t i = 0; !err && i < n; i++)
		if (maps[i].end <= maps[i].start || (i && maps[i].start < maps[i - 1].end) ||
		    (unsigned int)maps[i].kind > COMM_MAP_JIT || !maps[i].path ||
		    printable(maps[i].path) == SIZE_MAX)
			abort();
	begin(RECORD_MAPS, event);
	check_maps(err, maps, n);
	got = inspect->ops->text(inspect->ctx, event->tgid, NULL, at, text, sizeof(text));
	if (got > (ssize_t)sizeof(text))
		abort();
	begin(RECORD_TEXT, event);
	check_text(got, text, sizeof(text));
	err = inspect->ops->code(inspect->ctx, event->tgid, NULL, at, &code);
	if (!code.function || !code.module || !code.build_id)
		abort();
	printable(code.function);
	printable(code.source);
	begin(RECORD_CODE, event);
	check_code(err, &code);
	err = inspect->ops->data(inspect->ctx, event->tgid, NULL, at, &datum);
	if (!err)
		printable(datum.name);
	begin(RECORD_DATA, event);
	check_data(err, &datum);
	ask_names(inspect, event);
	ask_memory(inspect, event, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *path = memory_path(data, bytes);
	struct comm_inspect inspect;
	struct comm_replay *replay;
	const struct comm_record_head *head;
	struct comm_event event;
	size_t n = 0;
	int err = comm_replay_open(path, &replay);

	if (err) {
		if (!comm_replay_strerror(err))
			abort();
		return 0;
	}
	head = comm_replay_head(replay);
	if (strnlen(head->numa, sizeof(head->numa)) == sizeof(head->numa) ||
	    strnlen(head->function, sizeof(head->function)) == sizeof(head->function))
		abort();
	comm_replay_inspect(replay, &inspect);
	while (comm_replay_next(replay, &event) == 1) {
		check_round_trip(&event);
		ask(&inspect, &event);
		n++;
	}
	/* Each event takes its own bytes of the file. */
	if (n * RECORD_HEAD_BYTES > bytes)
		abort();
	comm_replay_close(replay);
	return 0;
}
