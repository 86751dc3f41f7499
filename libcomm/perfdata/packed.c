// SPDX-License-Identifier: GPL-2.0-or-later
#include "packed.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

/* Of level 22, the highest that perf takes: 128 MiB, which are touched as they fill. */
enum { WINDOW_LOG_MAX = 27 };

struct comm_perfdata_packed {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in; /* of piece */
	size_t have;	  /* bytes of record */
	unsigned char piece[UINT16_MAX + 1];
	unsigned char record[UINT16_MAX + 1];
};

int comm_perfdata_packed_create(struct comm_perfdata_packed **ret)
{
	struct comm_perfdata_packed *packed = calloc(1, sizeof(*packed));

	if (!packed)
		return -ENOMEM;
	packed->in.src = packed->piece;
	packed->stream = ZSTD_createDStream();
	if (!packed->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
				       packed->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		comm_perfdata_packed_destroy(packed);
		return -ENOMEM;
	}
	*ret = packed;
	return 0;
}

void comm_perfdata_packed_destroy(struct comm_perfdata_packed *packed)
{
	if (!packed)
		return;
	ZSTD_freeDStream(packed->stream);
	free(packed);
}

void comm_perfdata_packed_push(struct comm_perfdata_packed *packed, const void *bytes, size_t n)
{
	packed->in.size = n < sizeof(packed->piece) ? n : sizeof(packed->piece);
	packed->in.pos = 0;
	memcpy(packed->piece, bytes, packed->in.size);
}

/* Fills the record up to so many bytes: 1; 0: a further piece is wanted. */
static int fill(struct comm_perfdata_packed *packed, size_t bytes)
{
	while (packed->have < bytes) {
		ZSTD_outBuffer out = {packed->record, bytes, packed->have};
		size_t before = packed->in.pos;

		/* It may have more to give than it was given. */
		if (ZSTD_isError(ZSTD_decompressStream(packed->stream, &out, &packed->in)))
			return -EBADMSG;
		if (out.pos == packed->have && packed->in.pos == before)
			return 0;
		packed->have = out.pos;
	}
	return 1;
}

int comm_perfdata_packed_next(struct comm_perfdata_packed *packed, void *ret_record)
{
	struct perf_event_header h;
	int rc = fill(packed, sizeof(h));

	if (rc <= 0)
		return rc;
	memcpy(&h, packed->record, sizeof(h));
	if (h.size < sizeof(h) || !h.type)
		return -EBADMSG;
	rc = fill(packed, h.size);
	if (rc <= 0)
		return rc;
	memcpy(ret_record, packed->record, h.size);
	packed->have = 0;
	return 1;
}
