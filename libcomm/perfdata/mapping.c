// SPDX-License-Identifier: GPL-2.0-or-later
#include "mapping.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* As the kernel lays them out behind the header. */
struct head {
	uint32_t pid, tid;
	uint64_t start, bytes, offset;
};

struct file {
	uint32_t major, minor;
	uint64_t ino, generation;
};

/* In the place of struct file. */
struct build_id {
	uint8_t bytes, reserved[3];
	uint8_t id[20];
};

struct mode {
	uint32_t prot, flags;
};

int comm_perfdata_mapping(const struct perf_event_header *record, struct comm_perfdata_mapping *ret)
{
	const unsigned char *at = (const unsigned char *)(record + 1);
	const unsigned char *end = (const unsigned char *)record + record->size;
	struct build_id id;
	struct file file;
	struct mode mode;
	struct head head;
	size_t bytes = sizeof(head);

	if (record->type == PERF_RECORD_MMAP2)
		bytes += sizeof(file) + sizeof(mode);
	if (record->size < sizeof(*record) + bytes)
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.bytes > UINT64_MAX - head.start)
		return -EBADMSG;
	*ret = (struct comm_perfdata_mapping){
		.start = head.start,
		.bytes = head.bytes,
		.offset = head.offset,
		.readable = true,
		.executable = !(record->misc & PERF_RECORD_MISC_MMAP_DATA),
		.writable = record->misc & PERF_RECORD_MISC_MMAP_DATA,
	};
	if (record->type == PERF_RECORD_MMAP2) {
		memcpy(&file, at, sizeof(file));
		memcpy(&id, at, sizeof(id));
		if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			ret->build_id = at + offsetof(struct build_id, id);
			ret->build_id_bytes = id.bytes;
			memcpy(&ret->ino, id.id, sizeof(ret->ino));
		} else {
			ret->major = file.major;
			ret->minor = file.minor;
			ret->ino = file.ino;
		}
		memcpy(&mode, at + sizeof(file), sizeof(mode));
		at += sizeof(file) + sizeof(mode);
		ret->readable = mode.prot & PROT_READ;
		ret->writable = mode.prot & PROT_WRITE;
		ret->executable = mode.prot & PROT_EXEC;
		ret->shared = mode.flags & MAP_SHARED;
	}
	ret->path = (const char *)at;
	ret->path_bytes = (size_t)(end - at);
	return 0;
}
