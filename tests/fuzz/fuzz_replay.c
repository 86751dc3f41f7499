/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile recording, through reader, engine and estimator up to the slices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "memory_file.h"
#include "record_format.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed);

enum { EVENTS_MAX = 2000 };

/* A slice for the store must hold finite numbers, between threads that exist. */
static void check_slice(void *ctx, const struct comm_slice_info *info,
			const struct comm_edge *edges, size_t n_edges)
{
	const struct comm_engine *const *engine = ctx;
	uint32_t threads = comm_threads_count(comm_engine_identity(*engine)->threads);

	if (info->end_ns <= info->start_ns)
		abort();
	for (size_t i = 0; i < n_edges; i++)
		if (!isfinite(edges[i].bytes) || edges[i].bytes < 0 ||
		    !isfinite(edges[i].variance) || edges[i].variance < 0 ||
		    edges[i].src_thread >= threads || edges[i].dst_thread >= threads)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct comm_engine *engine = NULL;
	struct comm_engine_config config = {
		.est = {.granularity_bytes = 8, .memory_bytes = 1 << 20},
		.slice_ns = 1000000000,
		.slice_done = check_slice,
		.ctx = &engine,
	};
	struct comm_inspect inspect;
	struct comm_replay *replay;
	struct comm_event event;
	int n = 0;

	if (comm_replay_open(memory_path(data, bytes), &replay))
		return 0;
	comm_replay_inspect(replay, &inspect);
	config.inspect = &inspect;
	config.start_ns = comm_replay_head(replay)->start_ns;
	config.est.cycles_per_ns = comm_replay_head(replay)->cycles_per_ns;
	config.estimator = comm_estimator();
	if (comm_engine_create(&config, &engine))
		abort();
	while (n++ < EVENTS_MAX && comm_replay_next(replay, &event) == 1)
		comm_engine_event(engine, &event);
	comm_engine_finish(engine, comm_replay_end_ns(replay));
	comm_engine_destroy(engine);
	comm_replay_close(replay);
	return 0;
}

/* Bytes of the record at data + at, its head included; 0: no whole record is there. */
static size_t record_bytes(const uint8_t *data, size_t bytes, size_t at)
{
	uint32_t n;

	if (bytes < RECORD_HEAD_BYTES || at > bytes - RECORD_HEAD_BYTES)
		return 0;
	memcpy(&n, data + at + 4, sizeof(n));
	return n > bytes - at - RECORD_HEAD_BYTES ? 0 : RECORD_HEAD_BYTES + n;
}

/*
 * An inserted or removed byte would end the replay there, as damage: so most
 * mutations change the fields of one record, remove one or repeat one.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned int seed)
{
	size_t at = RECORD_FILE_HEAD_BYTES, n, picked = 0, count = 0, got;

	for (; (n = record_bytes(data, bytes, at)); at += n)
		if (rand_r(&seed) % ++count == 0)
			picked = at;
	n = picked ? record_bytes(data, bytes, picked) : 0;
	switch (n ? rand_r(&seed) % 8 : 7) {
	case 7:
		return LLVMFuzzerMutate(data, bytes, bytes_max);
	case 6:
		memmove(data + picked, data + picked + n, bytes - picked - n);
		return bytes - n;
	case 5:
		if (n > bytes_max - bytes)
			return bytes;
		memmove(data + picked + n, data + picked, bytes - picked);
		return bytes + n;
	default:
		n -= RECORD_HEAD_BYTES;
		got = n ? LLVMFuzzerMutate(data + picked + RECORD_HEAD_BYTES, n, n) : 0;
		memset(data + picked + RECORD_HEAD_BYTES + got, 0, n - got);
		return bytes;
	}
}
