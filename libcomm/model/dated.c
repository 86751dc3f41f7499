// SPDX-License-Identifier: GPL-2.0-or-later
#include "dated.h"

#include <endian.h>
#include <math.h>
#include <string.h>

/* More is not packed: an edge of a hostile result may have any number. */
#define MOST_BYTES 0x1p63

static void sum(void *to_row, const void *row)
{
	const struct comm_dated *from = row;
	struct comm_dated *to = to_row;

	to->bytes += from->bytes;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_dated, zero), sum};

void comm_dates_deinit(struct comm_dates *dates)
{
	comm_keyed_deinit(&dates->keyed);
}

void comm_dates_clear(struct comm_dates *dates)
{
	comm_keyed_clear(&dates->keyed);
}

int comm_dates_add(struct comm_dates *dates, const struct comm_dated *date)
{
	return comm_keyed_add(&dates->keyed, &kind, date, NULL);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int comm_dated_compare(const struct comm_dated *date, const struct comm_edge *edge)
{
	int order = compare(date->src_thread, edge->src_thread);

	if (!order)
		order = compare(date->dst_thread, edge->dst_thread);
	if (!order)
		order = compare(date->src_site, edge->src_site);
	if (!order)
		order = compare(date->dst_site, edge->dst_site);
	return order ? order : compare(date->object, edge->object);
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_dated *a = pa, *b = pb;
	const struct comm_edge edge = {.src_thread = b->src_thread,
				       .dst_thread = b->dst_thread,
				       .src_site = b->src_site,
				       .dst_site = b->dst_site,
				       .object = b->object};
	int order = comm_dated_compare(a, &edge);

	return order ? order : compare(a->at_ns, b->at_ns);
}

void comm_dates_sort(struct comm_dates *dates)
{
	comm_keyed_sort(&dates->keyed, &kind, order_key);
}

size_t comm_dates_pack(const struct comm_dated *date, size_t n, uint8_t *ret_packed)
{
	size_t first = n > COMM_DATED_MAX ? n - COMM_DATED_MAX : 0;
	uint8_t *at = ret_packed;

	for (size_t i = first; i < n; i++) {
		uint64_t words[2] = {htole64(date[i].at_ns)};

		if (!(date[i].bytes > 0))
			continue;
		words[1] = htole64((uint64_t)round(fmin(date[i].bytes, MOST_BYTES)));
		memcpy(at, words, sizeof(words));
		at += COMM_DATED_PACKED;
	}
	return (size_t)(at - ret_packed);
}

bool comm_dates_next(struct comm_dates_unpack *unpack, uint64_t *ret_at_ns, double *ret_bytes)
{
	uint64_t words[2];

	if (unpack->end - unpack->at < COMM_DATED_PACKED)
		return false;
	memcpy(words, unpack->at, sizeof(words));
	unpack->at += COMM_DATED_PACKED;
	*ret_at_ns = le64toh(words[0]);
	*ret_bytes = fmin((double)le64toh(words[1]), unpack->left);
	unpack->left -= *ret_bytes;
	return true;
}
