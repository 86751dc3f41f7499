// SPDX-License-Identifier: GPL-2.0-or-later
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct ring {
	struct cp_ring_control *control; /* NULL: that CPU is not possible */
	const uint8_t *data;
	uint64_t tail;	  /* given back up to here */
	uint64_t reading; /* end of the record that is handed out */
};

struct cp_reader {
	int fd;
	uint32_t ring_bytes;
	uint32_t n_rings;
	uint32_t page_bytes;
	struct ring *rings;
	uint64_t malformed;
};

static int call(const struct cp_reader *reader, unsigned long request, void *argument)
{
	return ioctl(reader->fd, request, argument) ? -errno : 0;
}

static int map(struct cp_reader *reader, uint32_t i)
{
	struct ring *ring = &reader->rings[i];
	void *control, *data;

	control = mmap(NULL, reader->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, reader->fd,
		       CP_OFF_CONTROL(i));
	if (control == MAP_FAILED)
		return errno == ENXIO ? 0 : -errno;
	data = mmap(NULL, reader->ring_bytes, PROT_READ, MAP_SHARED, reader->fd, CP_OFF_DATA(i));
	if (data == MAP_FAILED) {
		int err = -errno;

		munmap(control, reader->page_bytes);
		return err;
	}
	ring->control = control;
	ring->data = data;
	return 0;
}

int cp_reader_create(const char *path, uint32_t ring_bytes, uint32_t watermark_bytes,
		     struct cp_reader **ret)
{
	struct cp_reader *reader = calloc(1, sizeof(*reader));
	struct cp_info info = {.size = sizeof(info)};
	struct cp_rings rings = {.size = sizeof(rings),
				 .ring_bytes = ring_bytes,
				 .watermark_bytes = watermark_bytes};
	int err;

	if (!reader)
		return -ENOMEM;
	reader->fd = open(path, O_RDWR | O_CLOEXEC);
	if (reader->fd < 0) {
		err = -errno;
		goto fail;
	}
	err = call(reader, CP_IOC_INFO, &info);
	if (!err && info.abi != CP_ABI_VERSION)
		err = -EPROTO;
	if (!err)
		err = call(reader, CP_IOC_RINGS, &rings);
	if (err)
		goto fail;
	reader->ring_bytes = ring_bytes;
	reader->page_bytes = info.page_bytes;
	reader->rings = calloc(info.cpus * CP_CONTEXTS, sizeof(*reader->rings));
	if (!reader->rings) {
		err = -ENOMEM;
		goto fail;
	}
	reader->n_rings = info.cpus * CP_CONTEXTS;
	for (uint32_t i = 0; i < reader->n_rings && !err; i++)
		err = map(reader, i);
	if (err)
		goto fail;
	*ret = reader;
	return 0;
fail:
	cp_reader_destroy(reader);
	return err;
}

void cp_reader_destroy(struct cp_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; i < reader->n_rings; i++) {
		if (!reader->rings[i].control)
			continue;
		munmap(reader->rings[i].control, reader->page_bytes);
		munmap((void *)reader->rings[i].data, reader->ring_bytes);
	}
	free(reader->rings);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

int cp_reader_fd(const struct cp_reader *reader)
{
	return reader->fd;
}

uint32_t cp_reader_rings(const struct cp_reader *reader)
{
	return reader->n_rings;
}

int cp_reader_target(struct cp_reader *reader, enum cp_target_kind kind, uint32_t flags, int id)
{
	struct cp_target target = {.size = sizeof(target), .kind = kind, .flags = flags, .id = id};

	return call(reader, CP_IOC_TARGET, &target);
}

int cp_reader_marks(struct cp_reader *reader, int tgid, int64_t stack, uint64_t process)
{
	struct cp_marks marks = {
		.size = sizeof(marks), .tgid = tgid, .stack = stack, .process = process};

	return call(reader, CP_IOC_MARKS, &marks);
}

int cp_reader_source(struct cp_reader *reader, struct cp_source *source)
{
	source->size = sizeof(*source);
	return call(reader, CP_IOC_SOURCE, source);
}

int cp_reader_rate(struct cp_reader *reader, uint32_t id, uint32_t cpu, uint64_t period)
{
	struct cp_rate rate = {.size = sizeof(rate), .id = id, .cpu = cpu, .period = period};

	return call(reader, CP_IOC_RATE, &rate);
}

int cp_reader_pointees(struct cp_reader *reader, uint32_t id, bool on)
{
	struct cp_pointees pointees = {.size = sizeof(pointees), .id = id, .on = on};

	return call(reader, CP_IOC_POINTEES, &pointees);
}

int cp_reader_budget(struct cp_reader *reader, struct cp_budget *budget)
{
	budget->size = sizeof(*budget);
	return call(reader, CP_IOC_BUDGET, budget);
}

int cp_reader_watch(struct cp_reader *reader, struct cp_watch *watch)
{
	watch->size = sizeof(*watch);
	return call(reader, CP_IOC_WATCH, watch);
}

int cp_reader_start(struct cp_reader *reader)
{
	return call(reader, CP_IOC_START, NULL);
}

int cp_reader_stop(struct cp_reader *reader)
{
	return call(reader, CP_IOC_STOP, NULL);
}

int cp_reader_stats(struct cp_reader *reader, struct cp_stats *ret)
{
	ret->size = sizeof(*ret);
	return call(reader, CP_IOC_STATS, ret);
}

const struct cp_record *cp_reader_next(struct cp_reader *reader, uint32_t i)
{
	struct ring *ring = &reader->rings[i];

	if (i >= reader->n_rings || !ring->control)
		return NULL;
	for (;;) {
		/* Acquire: pairs with the module's release of head. */
		uint64_t head = __atomic_load_n(&ring->control->head, __ATOMIC_ACQUIRE);
		const struct cp_record *record;
		uint32_t at;

		if (ring->reading != ring->tail) {
			ring->tail = ring->reading;
			/* Release: our reads of the record are over. */
			__atomic_store_n(&ring->control->tail, ring->tail, __ATOMIC_RELEASE);
		}
		if (head == ring->tail)
			return NULL;
		at = ring->tail & (reader->ring_bytes - 1);
		record = (const void *)(ring->data + at);
		/* Never so; but a loop without end or a wild pointer would be worse. */
		if (record->size_bytes < 8 || record->size_bytes % 8 ||
		    record->size_bytes > reader->ring_bytes - at ||
		    record->size_bytes > head - ring->tail) {
			ring->reading = head;
			reader->malformed++;
			continue;
		}
		ring->reading = ring->tail + record->size_bytes;
		if (record->type != CP_REC_PAD)
			return record;
	}
}

uint64_t cp_reader_malformed(const struct cp_reader *reader)
{
	return reader->malformed;
}

const struct cp_chunk *cp_sample_chunk(const struct cp_sample *sample, const struct cp_chunk *last)
{
	const uint8_t *end = (const uint8_t *)sample + sample->head.size_bytes;
	const uint8_t *at;
	const struct cp_chunk *chunk;

	if (last)
		at = (const uint8_t *)(last + 1) + ((last->len_bytes + 7) & ~7u);
	else
		at = (const uint8_t *)(sample + 1) + sample->vector_bytes;
	if (at > end || (size_t)(end - at) < sizeof(*chunk))
		return NULL;
	chunk = (const void *)at;
	if (chunk->len_bytes > (size_t)(end - at) - sizeof(*chunk))
		return NULL;
	return chunk;
}
