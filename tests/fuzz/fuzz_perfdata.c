/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile perf.data, up to its events and the mappings that the view has at each. */
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed);

static void check_maps(const struct comm_inspect *view, uint32_t tgid)
{
	const struct comm_mapping *map = NULL;
	size_t n = 0;

	if (view->ops->maps(view->ctx, tgid, &map, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (map[i].start >= map[i].end || (i && map[i].start < map[i - 1].end) ||
		    !map[i].path)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct comm_inspect view;
	struct comm_perfdata *file;
	struct comm_event event;
	uint64_t last_ns = 0;
	char *why = NULL;
	int got;

	if (comm_perfdata_open(memory_path(data, bytes), &file, &why)) {
		if (!why)
			abort(); /* each refusal is a sentence */
		free(why);
		return 0;
	}
	comm_perfdata_view(file, &view);
	while ((got = comm_perfdata_next(file, &event, &why)) == 1) {
		char name[16];

		if (event.time_ns < last_ns)
			abort();
		last_ns = event.time_ns;
		if (event.kind == COMM_EV_SAMPLE && !comm_sample_valid(event.sample))
			abort();
		if (event.kind == COMM_EV_MMAP || event.kind == COMM_EV_ACCESS)
			check_maps(&view, event.tgid);
		if (view.ops->thread_name(view.ctx, event.tgid, event.tid, name) == 0 &&
		    strnlen(name, sizeof(name)) == sizeof(name))
			abort();
	}
	if (got < 0 && !why)
		abort();
	free(why);
	if (comm_perfdata_end_ns(file) < last_ns)
		abort();
	comm_perfdata_close(file);
	return 0;
}

enum { HEAD_BYTES = 8 };

/* Bytes of the record at data + at; 0: no whole record is there. */
static size_t record_bytes(const uint8_t *data, size_t bytes, size_t at)
{
	uint16_t n;

	if (bytes < HEAD_BYTES || at > bytes - HEAD_BYTES)
		return 0;
	memcpy(&n, data + at + 6, sizeof(n));
	return n < HEAD_BYTES || n > bytes - at ? 0 : n;
}

/* Where the records start. */
static size_t first_record(const uint8_t *data, size_t bytes)
{
	uint64_t size, at = 0;

	if (bytes < 48)
		return bytes;
	memcpy(&size, data + 8, sizeof(size));
	memcpy(&at, data + 40, sizeof(at));
	return size == 16 ? 16 : at < bytes ? at : bytes;
}

/*
 * Most inserted or removed bytes end the file there, as damage: so most mutations change the
 * fields of one record, keeping its length, or swap its kind for another.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed)
{
	size_t at = first_record(data, bytes), n, picked = 0, count = 0, got;

	for (; (n = record_bytes(data, bytes, at)); at += n)
		if (rand_r(&seed) % ++count == 0)
			picked = at;
	n = picked ? record_bytes(data, bytes, picked) : 0;
	switch (n ? rand_r(&seed) % 6 : 5) {
	case 5:
		return LLVMFuzzerMutate(data, bytes, bytes_max);
	case 4:
		data[picked] = (uint8_t)(rand_r(&seed) % 84);
		return bytes;
	default:
		n -= HEAD_BYTES;
		got = n ? LLVMFuzzerMutate(data + picked + HEAD_BYTES, n, n) : 0;
		memset(data + picked + HEAD_BYTES + got, 0, n - got);
		return bytes;
	}
}
