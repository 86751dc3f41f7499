// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_life.h"

#include <stdio.h>
#include <string.h>

/* What sample_id_all puts at the end of each record. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, zero;
};

static const unsigned char *body_of(const struct perf_event_header *record)
{
	return (const unsigned char *)(record + 1);
}

/* Does the record have so many bytes of payload before its id?  Copies the id. */
static bool has(const struct perf_event_header *record, size_t bytes, struct sample_id *ret)
{
	if (record->size < sizeof(*record) + bytes + sizeof(*ret))
		return false;
	memcpy(ret, (const unsigned char *)record + record->size - sizeof(*ret), sizeof(*ret));
	return true;
}

static bool map_event(const struct perf_event_header *record, struct comm_event *ret)
{
	struct sample_id id;
	uint64_t map[3];

	if (!has(record, 8 + sizeof(map), &id))
		return false;
	memcpy(map, body_of(record) + 8, sizeof(map));
	ret->kind = COMM_EV_MMAP;
	ret->mmap.start = map[0];
	ret->mmap.end = map[0] + map[1];
	ret->mmap.offset = map[2];
	ret->mmap.executable = !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
	return true;
}

bool comm_perf_life_whole(const struct perf_event_header *record)
{
	struct sample_id id;

	switch (record->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
		return has(record, 4 * sizeof(uint32_t), &id);
	case PERF_RECORD_MMAP:
		return has(record, 8 + 3 * sizeof(uint64_t), &id);
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return has(record, 2 * sizeof(uint32_t), &id);
	default:
		return true;
	}
}

bool comm_perf_life_event(const struct perf_event_header *record, struct comm_event *ret)
{
	struct sample_id id;
	uint32_t w[4];

	if (!has(record, sizeof(w), &id))
		return false;
	memcpy(w, body_of(record), sizeof(w));
	*ret = (struct comm_event){
		.time_ns = id.time_ns, .cpu = (uint16_t)id.cpu, .tgid = w[0], .tid = w[1]};
	switch (record->type) {
	case PERF_RECORD_FORK: /* pid, ppid, tid, ptid */
		ret->kind = COMM_EV_FORK;
		ret->tgid = w[1];
		ret->tid = w[3];
		ret->fork.child_tgid = w[0];
		ret->fork.child_tid = w[2];
		return true;
	case PERF_RECORD_EXIT:
		ret->kind = COMM_EV_EXIT;
		ret->tid = w[2];
		return true;
	case PERF_RECORD_COMM:
		ret->kind =
			record->misc & PERF_RECORD_MISC_COMM_EXEC ? COMM_EV_EXEC : COMM_EV_RENAME;
		/* pid, tid, and the name up to a multiple of eight bytes. */
		if (ret->kind == COMM_EV_RENAME)
			snprintf(ret->name, sizeof(ret->name), "%.15s",
				 (const char *)body_of(record) + 2 * sizeof(*w));
		return true;
	case PERF_RECORD_MMAP:
		return map_event(record, ret);
	default:
		return false;
	}
}

bool comm_perf_life_switch(const struct perf_event_header *record, struct comm_event *ret)
{
	struct sample_id id;
	uint32_t next[2]; /* pid, tid */

	if (record->type != PERF_RECORD_SWITCH_CPU_WIDE ||
	    !(record->misc & PERF_RECORD_MISC_SWITCH_OUT) || !has(record, sizeof(next), &id))
		return false;
	memcpy(next, body_of(record), sizeof(next));
	*ret = (struct comm_event){
		.kind = COMM_EV_SWITCH,
		.time_ns = id.time_ns,
		.cpu = (uint16_t)id.cpu,
		.tgid = id.pid,
		.tid = id.tid,
		.next_tid = next[1],
		.sched = {.prev_tgid = id.pid, .next_tgid = next[0]},
	};
	return true;
}
