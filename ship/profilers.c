// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --to pyroscope+http://..., parca+http://...: a profile of each slice, as JSON, into a continuous profiler that a fleet has already.
 * Neither says what it has, so marks are files (marks.h).
 *
 * Pyroscope: push.v1.PusherService/Push, https://grafana.com/docs/pyroscope/latest/reference-server-api.  Of profiles of one
 * time and series it drops all but one when it merges its blocks.
 * Parca: WriteRaw, proto/parca/profilestore/v1alpha1/profilestore.proto of https://github.com/parca-dev/parca.  It counts what it is
 * sent.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "push.h"
#include "sink.h"

enum { LABEL_BYTES = 400 }; /* as of the same in rows */

struct ship_sink {
	struct ship_marks marks;
	struct ship_push *push;
	void (*write)(FILE *out, const struct ship_batch *batch);
	uint64_t *wait_ms;
};

static void put_base64(FILE *out, const char *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = (const unsigned char *)bytes;

	for (; n; at += 3) {
		uint32_t three = (uint32_t)at[0] << 16 | (n > 1 ? (uint32_t)at[1] << 8 : 0) |
				 (n > 2 ? at[2] : 0);

		putc(digits[three >> 18], out);
		putc(digits[three >> 12 & 63], out);
		putc(n > 1 ? digits[three >> 6 & 63] : '=', out);
		putc(n > 2 ? digits[three & 63] : '=', out);
		n -= n < 3 ? n : 3;
	}
}

/* Clean text has no control character. */
static void put_label(FILE *out, const char *name, const char *value)
{
	char room[SHIP_CLEAN_BYTES];

	fprintf(out, "{\"name\":\"%s\",\"value\":\"", name);
	for (const char *at = ship_tsv_clean(value, LABEL_BYTES, room); *at; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', out);
		putc(*at, out);
	}
	fputs("\"}", out);
}

/* host: the name of its label. */
static void put_labels(FILE *out, const struct ship_batch *batch, const char *host)
{
	put_label(out, "__name__", "commprof");
	putc(',', out);
	put_label(out, host, batch->host);
	putc(',', out);
	put_label(out, "service_name", *batch->service ? batch->service : "unspecified");
}

/* A UUID that is the slice's, whoever sends it when. */
static void put_id(FILE *out, const struct ship_batch *batch)
{
	char text[COMM_UUID_CHARS + 32];
	uint64_t high, low;

	snprintf(text, sizeof(text), "%s.%" PRIu64, batch->uuid, batch->start_ns);
	high = ship_tsv_hash(text);
	text[0] ^= 1;
	low = ship_tsv_hash(text);
	/* Version 8 of RFC 9562 */
	fprintf(out, "%08x-%04x-8%03x-%04x-%012" PRIx64, (unsigned int)(high >> 32),
		(unsigned int)(high >> 16 & 0xffff), (unsigned int)(high & 0xfff),
		(unsigned int)(0x8000 | (low >> 48 & 0x3fff)), low & 0xffffffffffff);
}

static void write_pyroscope(FILE *out, const struct ship_batch *batch)
{
	fputs("{\"series\":[{\"labels\":[", out);
	put_labels(out, batch, "hostname");
	fputs("],\"samples\":[{\"ID\":\"", out);
	put_id(out, batch);
	fputs("\",\"rawProfile\":\"", out);
	put_base64(out, batch->profile, batch->profile_bytes);
	fputs("\"}]}]}", out);
}

static void write_parca(FILE *out, const struct ship_batch *batch)
{
	fputs("{\"series\":[{\"labels\":{\"labels\":[", out);
	put_labels(out, batch, "node");
	fputs("]},\"samples\":[{\"rawProfile\":\"", out);
	put_base64(out, batch->profile, batch->profile_bytes);
	fputs("\"}]}],\"normalized\":true}", out);
}

static void profiler_close(struct ship_sink *sink)
{
	if (!sink)
		return;
	ship_marks_close(&sink->marks);
	ship_push_close(sink->push);
	free(sink);
}

/* "http://..." of "pyroscope+http://..." */
static const char *address_of(const char *to)
{
	return to + strcspn(to, "+") + 1;
}

static const char *profiler_wrong(const char *to)
{
	return ship_push_wrong(address_of(to));
}

static int open_at(const struct ship_sink_config *config, const char *what, const char *path,
		   struct ship_sink **ret, char **err)
{
	struct ship_sink *sink = calloc(1, sizeof(*sink));
	int code;

	if (!sink)
		return -ENOMEM;
	sink->wait_ms = config->wait_ms;
	code = ship_marks_open(config->marks, config->to, &sink->marks, err);
	if (!code)
		code = ship_push_open(what, address_of(config->to), path, config->timeout_ms,
				      &sink->push, err);
	if (code)
		profiler_close(sink);
	else
		*ret = sink;
	return code;
}

static int pyroscope_open(const struct ship_sink_config *config, struct ship_sink **ret, char **err)
{
	int code = open_at(config, "pyroscope", "/push.v1.PusherService/Push", ret, err);

	if (!code)
		(*ret)->write = write_pyroscope;
	return code;
}

static int parca_open(const struct ship_sink_config *config, struct ship_sink **ret, char **err)
{
	int code = open_at(config, "parca", "/profiles/writeraw", ret, err);

	if (!code)
		(*ret)->write = write_parca;
	return code;
}

static int profiler_mark(struct ship_sink *sink, const char *uuid, uint64_t *ret_ns, char **err)
{
	return ship_marks_read(&sink->marks, uuid, ret_ns, err);
}

static int post(struct ship_sink *sink, const struct ship_batch *batch, char **err)
{
	char *body = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&body, &n);
	int code = out ? 0 : -errno;

	if (out) {
		sink->write(out, batch);
		code = ferror(out) | fclose(out) ? -ENOMEM : 0;
	}
	if (!code)
		code = ship_push_post(sink->push, body, n, sink->wait_ms, err);
	free(body);
	return code;
}

/* A slice without flows is done without a word. */
static int profiler_put(struct ship_sink *sink, const struct ship_batch *batch, bool *ret_taken,
			char **err)
{
	int code = batch->profile_bytes ? post(sink, batch, err) : 0;

	*ret_taken = true;
	if (code)
		return code;
	return ship_marks_write(&sink->marks, batch->uuid, batch->start_ns + batch->length_ns, err);
}

const struct ship_sink_ops ship_pyroscope = {
	.prefix = "pyroscope+http",
	.form = "pyroscope+http://...",
	.profiles = true,
	.wrong = profiler_wrong,
	.open = pyroscope_open,
	.close = profiler_close,
	.mark = profiler_mark,
	.put = profiler_put,
};

const struct ship_sink_ops ship_parca = {
	.prefix = "parca+http",
	.form = "parca+http://...",
	.profiles = true,
	.wrong = profiler_wrong,
	.open = parca_open,
	.close = profiler_close,
	.mark = profiler_mark,
	.put = profiler_put,
};
