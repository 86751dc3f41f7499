// SPDX-License-Identifier: GPL-2.0-or-later
#include "header.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

/* Bits of the header, each with a section behind the data. */
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_ARCH = 6,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_AUXTRACE = 18,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_COMPRESSED = 27,
	FEATURES = 256,
	COMPRESSED_ZSTD = 1,
	FEATURE_BYTES_MAX = 16 << 20,
};

enum {
	MISC_BUILD_ID_SIZE = 1 << 15, /* of a build-id record: the id's length is told */
	BUILD_ID_AT = 4,
	BUILD_ID_FIELD = 24, /* bytes that an id takes there */
};

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP", magic_old[] = "PERFFILE";

struct file_section {
	uint64_t offset, bytes;
};

struct file_head {
	char magic[8];
	uint64_t bytes; /* of this; in pipe mode only magic and bytes are there */
	uint64_t attr_bytes;
	struct file_section attrs, data, event_types;
	uint64_t features[FEATURES / 64];
};
enum { PIPE_HEAD_BYTES = 16 };

int comm_perfdata_fail(char **err, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(err, format, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

int comm_perfdata_damaged(const char *path, const char *what, char **err)
{
	return comm_perfdata_fail(err, -EBADMSG, "%s is damaged: its %s is not as perf writes it",
				  path, what);
}

static bool in_file(const struct comm_perfdata_header *header, uint64_t offset, uint64_t bytes)
{
	return offset <= header->file_bytes && bytes <= header->file_bytes - offset;
}

static bool read_at(const struct comm_perfdata_header *header, uint64_t offset, void *to,
		    size_t bytes)
{
	char *at = to;

	if (!in_file(header, offset, bytes))
		return false;
	while (bytes) {
		ssize_t n = pread(header->fd, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return true;
}

/* A string as perf writes it: a length, then that many bytes, padded.  False: cut short. */
static bool take_string(const unsigned char **at, const unsigned char *end, const char **ret,
			uint32_t *ret_bytes)
{
	if (end - *at < (ptrdiff_t)sizeof(*ret_bytes))
		return false;
	memcpy(ret_bytes, *at, sizeof(*ret_bytes));
	*at += sizeof(*ret_bytes);
	if (*ret_bytes > (size_t)(end - *at))
		return false;
	*ret = (const char *)*at;
	*at += *ret_bytes;
	*ret_bytes = (uint32_t)strnlen(*ret, *ret_bytes);
	return true;
}

static bool take_u32(const unsigned char **at, const unsigned char *end, uint32_t *ret)
{
	if (end - *at < (ptrdiff_t)sizeof(*ret))
		return false;
	memcpy(ret, *at, sizeof(*ret));
	*at += sizeof(*ret);
	return true;
}

/* A version, then the method. */
static void feature_compressed(struct comm_perfdata_header *header, const unsigned char *at,
			       const unsigned char *end)
{
	uint32_t version, method;

	if (take_u32(&at, end, &version) && take_u32(&at, end, &method))
		header->other_compression = method != COMPRESSED_ZSTD;
}

static void feature_text(char *ret, size_t capacity, const unsigned char *at,
			 const unsigned char *end)
{
	const char *text;
	uint32_t bytes;

	if (take_string(&at, end, &text, &bytes))
		comm_text_clean(text, bytes, ret, capacity);
}

static void feature_command(struct comm_perfdata_header *header, const unsigned char *at,
			    const unsigned char *end)
{
	char *to = header->info.command;
	size_t capacity = sizeof(header->info.command), used;
	const char *text;
	uint32_t n, bytes;

	*to = 0;
	if (!take_u32(&at, end, &n))
		return;
	for (uint32_t i = 0; i < n && capacity > 2 && take_string(&at, end, &text, &bytes); i++) {
		/* "/usr/bin/perf" says no more than "perf". */
		if (!i && bytes > 5 && !memcmp(text + bytes - 5, "/perf", 5)) {
			text += bytes - 4;
			bytes = 4;
		}
		if (i) {
			*to++ = ' ';
			capacity--;
		}
		comm_text_clean(text, bytes, to, capacity);
		used = strlen(to);
		to += used;
		capacity -= used;
	}
}

static void feature_time(struct comm_perfdata_header *header, const unsigned char *at,
			 const unsigned char *end)
{
	uint64_t first_last[2];

	if (end - at < (ptrdiff_t)sizeof(first_last))
		return;
	memcpy(first_last, at, sizeof(first_last));
	if (first_last[1] > first_last[0] &&
	    first_last[1] - first_last[0] < header->info.written_unix_ns)
		header->info.duration_ns = first_last[1] - first_last[0];
}

/* Attributes are here, too; of interest are the names, in the order of the events. */
static void feature_events(struct comm_perfdata_header *header, const unsigned char *at,
			   const unsigned char *end)
{
	uint32_t n, attr_bytes, n_ids, bytes;
	const char *name;

	if (!take_u32(&at, end, &n) || !take_u32(&at, end, &attr_bytes))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (attr_bytes > (size_t)(end - at))
			return;
		at += attr_bytes;
		if (!take_u32(&at, end, &n_ids) || !take_string(&at, end, &name, &bytes) ||
		    n_ids > (size_t)(end - at) / sizeof(uint64_t))
			return;
		at += n_ids * sizeof(uint64_t);
		comm_perfdata_events_name(&header->events, i, name, bytes);
	}
}

void comm_perfdata_header_build_id(struct comm_perfdata_header *header, uint16_t misc,
				   const void *body, size_t bytes)
{
	const unsigned char *id = (const unsigned char *)body + BUILD_ID_AT;
	size_t id_bytes = COMM_PERFDATA_BUILD_ID, at = BUILD_ID_AT + BUILD_ID_FIELD;

	if (bytes <= at)
		return;
	if (misc & MISC_BUILD_ID_SIZE)
		id_bytes = id[COMM_PERFDATA_BUILD_ID];
	comm_perfdata_files_build_id(header->files, (const char *)body + at, bytes - at, id,
				     id_bytes);
}

static void feature_build_ids(struct comm_perfdata_header *header, const unsigned char *at,
			      const unsigned char *end)
{
	struct perf_event_header h;

	while (end - at >= (ptrdiff_t)sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - at)
			return;
		comm_perfdata_header_build_id(header, h.misc, at + sizeof(h), h.size - sizeof(h));
		at += h.size;
	}
}

/* What is not understood is left out: no feature is needed to read the data. */
void comm_perfdata_header_feature(struct comm_perfdata_header *header, uint64_t feature,
				  const void *bytes, size_t n)
{
	const unsigned char *at = bytes, *end = at + n;
	struct comm_perfdata_info *info = &header->info;

	switch (feature) {
	case FEATURE_BUILD_ID:
		feature_build_ids(header, at, end);
		break;
	case FEATURE_HOSTNAME:
		feature_text(info->host, sizeof(info->host), at, end);
		break;
	case FEATURE_ARCH:
		feature_text(info->arch, sizeof(info->arch), at, end);
		break;
	case FEATURE_CPUDESC:
		feature_text(info->cpu, sizeof(info->cpu), at, end);
		break;
	case FEATURE_CPUID:
		feature_text(info->cpuid, sizeof(info->cpuid), at, end);
		break;
	case FEATURE_CMDLINE:
		feature_command(header, at, end);
		break;
	case FEATURE_EVENT_DESC:
		feature_events(header, at, end);
		break;
	case FEATURE_AUXTRACE:
		header->aux = true;
		break;
	case FEATURE_SAMPLE_TIME:
		feature_time(header, at, end);
		break;
	case FEATURE_COMPRESSED:
		feature_compressed(header, at, end);
		break;
	default:
		break;
	}
}

static void read_features(struct comm_perfdata_header *header, const struct file_head *head)
{
	uint64_t at = head->data.offset + head->data.bytes;

	for (unsigned int i = 0; i < FEATURES; i++) {
		struct file_section section;
		unsigned char *bytes;

		if (!(head->features[i / 64] >> i % 64 & 1))
			continue;
		if (!read_at(header, at, &section, sizeof(section)))
			return;
		at += sizeof(section);
		/* A length that is wrong takes no memory. */
		if (section.bytes > FEATURE_BYTES_MAX ||
		    !in_file(header, section.offset, section.bytes))
			continue;
		bytes = malloc(section.bytes + 1);
		if (bytes && read_at(header, section.offset, bytes, section.bytes))
			comm_perfdata_header_feature(header, i, bytes, section.bytes);
		free(bytes);
	}
}

static int read_attrs(struct comm_perfdata_header *header, const struct file_head *head, char **err)
{
	enum { ATTR_BYTES_MAX = 4096 };
	unsigned char attr[ATTR_BYTES_MAX];
	uint64_t bytes = head->attr_bytes;
	struct file_section ids;
	uint64_t id;
	int rc = 0;

	if (bytes < COMM_PERFDATA_ATTR_MIN + sizeof(ids) || bytes > sizeof(attr))
		return comm_perfdata_damaged(header->path, "header", err);
	for (uint64_t i = 0; i < head->attrs.bytes / bytes && !rc; i++) {
		if (!read_at(header, head->attrs.offset + i * bytes, attr, bytes))
			return comm_perfdata_damaged(header->path, "list of events", err);
		memcpy(&ids, attr + bytes - sizeof(ids), sizeof(ids));
		rc = comm_perfdata_events_add(&header->events, attr, bytes - sizeof(ids));
		for (uint64_t j = 0; j < ids.bytes / sizeof(id) && !rc; j++) {
			if (!read_at(header, ids.offset + j * sizeof(id), &id, sizeof(id)))
				return comm_perfdata_damaged(header->path, "list of events", err);
			rc = comm_perfdata_events_add_id(&header->events, id);
		}
	}
	return rc == -ENOSPC ? comm_perfdata_damaged(header->path, "list of events", err) : rc;
}

int comm_perfdata_header_read(struct comm_perfdata_header *header, int fd, uint64_t file_bytes,
			      char **err)
{
	const char *path = header->path;
	struct file_head head = {0};
	uint64_t bytes;

	header->fd = fd;
	header->file_bytes = file_bytes;
	if (!file_bytes)
		return comm_perfdata_fail(err, -ENODATA, "%s is empty: perf has recorded nothing",
					  path);
	if (!read_at(header, 0, &head, PIPE_HEAD_BYTES))
		return comm_perfdata_fail(err, -EMEDIUMTYPE, "%s is no file of perf record", path);
	if (!memcmp(head.magic, magic_swapped, sizeof(head.magic)))
		return comm_perfdata_fail(
			err, -EXDEV,
			"%s was recorded on a machine of the other byte order, which is not read",
			path);
	if (!memcmp(head.magic, magic_old, sizeof(head.magic)))
		return comm_perfdata_fail(err, -ESTALE,
					  "%s is of a perf from before 2012: record again", path);
	if (memcmp(head.magic, magic, sizeof(head.magic)) != 0)
		return comm_perfdata_fail(err, -EMEDIUMTYPE, "%s is no file of perf record", path);
	if (head.bytes == PIPE_HEAD_BYTES) {
		header->data_offset = PIPE_HEAD_BYTES;
		header->data_bytes = file_bytes - PIPE_HEAD_BYTES;
		return 0;
	}
	if (head.bytes < sizeof(head) || !read_at(header, 0, &head, sizeof(head)) ||
	    head.data.offset > file_bytes)
		return comm_perfdata_damaged(path, "header", err);
	bytes = file_bytes - head.data.offset;
	/* perf that was killed has not written how much there is, nor the features. */
	header->cut = !head.data.bytes || head.data.bytes > bytes;
	header->data_offset = head.data.offset;
	header->data_bytes = header->cut ? bytes : head.data.bytes;
	if (read_attrs(header, &head, err))
		return *err ? -EBADMSG : -ENOMEM;
	if (!header->cut)
		read_features(header, &head);
	return 0;
}
