// SPDX-License-Identifier: GPL-2.0-or-later
#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "header.h"
#include "packed.h"

enum { BUFFER_BYTES = 1 << 20 };

struct comm_perfdata_records {
	const char *path;
	FILE *stream;
	uint64_t left_bytes;
	struct comm_perfdata_packed *packed; /* NULL: no record was */
	bool is_unpacking;		     /* the next record is in there */
	bool cut;
	/* Header and body. */
	_Alignas(struct perf_event_header) unsigned char record[UINT16_MAX + 1];
};

int comm_perfdata_records_open(const char *path, int fd, uint64_t offset, uint64_t bytes,
			       struct comm_perfdata_records **ret, char **err)
{
	struct comm_perfdata_records *records = calloc(1, sizeof(*records));
	FILE *stream = records ? fdopen(fd, "r") : NULL;

	if (!stream) {
		close(fd);
		free(records);
		return -ENOMEM;
	}
	records->path = path;
	records->stream = stream;
	records->left_bytes = bytes;
	setvbuf(stream, NULL, _IOFBF, BUFFER_BYTES);
	if (fseeko(stream, (off_t)offset, SEEK_SET)) {
		comm_perfdata_records_close(records);
		return comm_perfdata_damaged(path, "header", err);
	}
	*ret = records;
	return 0;
}

void comm_perfdata_records_close(struct comm_perfdata_records *records)
{
	if (!records)
		return;
	comm_perfdata_packed_destroy(records->packed);
	fclose(records->stream);
	free(records);
}

/* Of a packed record: 1; 0: it has no further one. */
static int next_packed(struct comm_perfdata_records *records, char **err)
{
	int rc = comm_perfdata_packed_next(records->packed, records->record);

	records->is_unpacking = rc > 0;
	return rc < 0 ? comm_perfdata_damaged(records->path, "compressed data", err) : rc;
}

static bool read_bytes(struct comm_perfdata_records *records, void *ret, size_t bytes)
{
	if (bytes > records->left_bytes || fread(ret, 1, bytes, records->stream) != bytes) {
		records->cut = true;
		return false;
	}
	records->left_bytes -= bytes;
	return true;
}

int comm_perfdata_records_next(struct comm_perfdata_records *records,
			       const struct perf_event_header **ret, char **err)
{
	struct perf_event_header *h = (void *)records->record;
	int rc = records->is_unpacking ? next_packed(records, err) : 0;

	*ret = h;
	if (rc)
		return rc;
	if (!records->left_bytes || !read_bytes(records, h, sizeof(*h)))
		return 0;
	if (h->size < sizeof(*h) || !h->type)
		return comm_perfdata_damaged(records->path, "data", err);
	return read_bytes(records, h + 1, h->size - sizeof(*h));
}

int comm_perfdata_records_unpack(struct comm_perfdata_records *records, char **err)
{
	const struct perf_event_header *h = (const void *)records->record;
	const unsigned char *body = (const unsigned char *)(h + 1);
	uint64_t bytes = h->size - sizeof(*h), told;
	int rc = 0;

	if (h->type == COMM_PERFDATA_COMPRESSED2) {
		if (bytes < sizeof(told))
			return comm_perfdata_damaged(records->path, "compressed data", err);
		memcpy(&told, body, sizeof(told));
		body += sizeof(told);
		if (told > bytes - sizeof(told))
			return comm_perfdata_damaged(records->path, "compressed data", err);
		bytes = told;
	}
	if (!records->packed)
		rc = comm_perfdata_packed_create(&records->packed);
	if (rc)
		return rc;
	comm_perfdata_packed_push(records->packed, body, bytes);
	records->is_unpacking = true;
	return 0;
}

bool comm_perfdata_records_packed(const struct comm_perfdata_records *records)
{
	return records->is_unpacking;
}

int comm_perfdata_records_skip(struct comm_perfdata_records *records, uint64_t bytes, char **err)
{
	if (bytes > records->left_bytes || fseeko(records->stream, (off_t)bytes, SEEK_CUR))
		return comm_perfdata_damaged(records->path, "data", err);
	records->left_bytes -= bytes;
	return 0;
}

bool comm_perfdata_records_cut(const struct comm_perfdata_records *records)
{
	return records->cut;
}
