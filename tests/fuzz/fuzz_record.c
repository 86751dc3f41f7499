/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile recording, through the reader alone. */
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
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

static void ask(const struct comm_inspect *inspect, const struct comm_event *event)
{
	const uint64_t at = event->kind == COMM_EV_SAMPLE ? event->sample->ip : event->access.ip;
	const struct comm_mapping *maps;
	struct comm_static datum;
	struct comm_code code;
	char name[16];
	uint8_t text[64];
	size_t n;

	if (!inspect->ops->maps(inspect->ctx, event->tgid, &maps, &n))
		for (size_t i = 0; i < n; i++)
			if (maps[i].end <= maps[i].start ||
			    (i && maps[i].start < maps[i - 1].end) ||
			    (unsigned int)maps[i].kind > COMM_MAP_JIT || !maps[i].path ||
			    printable(maps[i].path) == SIZE_MAX)
				abort();
	if (inspect->ops->text(inspect->ctx, event->tgid, NULL, at, text, sizeof(text)) >
	    (ssize_t)sizeof(text))
		abort();
	inspect->ops->code(inspect->ctx, event->tgid, NULL, at, &code);
	if (!code.function || !code.module || !code.build_id)
		abort();
	printable(code.function);
	printable(code.source);
	if (!inspect->ops->data(inspect->ctx, event->tgid, NULL, at, &datum))
		printable(datum.name);
	if (!inspect->ops->thread_name(inspect->ctx, event->tgid, event->tid, name) && name[15])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *path = memory_path(data, bytes);
	struct comm_inspect inspect;
	struct comm_replay *replay;
	struct comm_event event;
	size_t n = 0;

	if (comm_replay_open(path, &replay))
		return 0;
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
