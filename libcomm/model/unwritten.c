// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwritten.h"

#include <math.h>

#include "ids.h"

/* More than a run can have; whole numbers up to it are told apart as integers. */
static const double bytes_max = 1e18;

static void sum(void *to_row, const void *row)
{
	const struct comm_unwritten_end *from = row;
	struct comm_unwritten_end *to = to_row;

	to->bytes += from->bytes;
	to->first_bytes += from->first_bytes;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_unwritten_end, object),
					    sum};

void comm_unwritten_ends_deinit(struct comm_unwritten_ends *table)
{
	comm_keyed_deinit(&table->keyed);
}

void comm_unwritten_ends_clear(struct comm_unwritten_ends *table)
{
	comm_keyed_clear(&table->keyed);
}

int comm_unwritten_ends_add(struct comm_unwritten_ends *table, const struct comm_unwritten_end *end)
{
	return comm_keyed_add(&table->keyed, &kind, end, NULL);
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_unwritten_end *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

static int order_bytes(const void *pa, const void *pb)
{
	const struct comm_unwritten_end *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return order_key(pa, pb);
}

static void strip(void *row)
{
	struct comm_unwritten_end *end = row;

	end->thread = end->site = end->object = COMM_ID_OTHER;
}

void comm_unwritten_ends_fold(struct comm_unwritten_ends *table, size_t cap, uint64_t *ret_folded)
{
	*ret_folded += comm_keyed_fold(&table->keyed, &kind, cap, order_bytes, NULL, strip);
}

void comm_unwritten_ends_sort(struct comm_unwritten_ends *table)
{
	comm_keyed_sort(&table->keyed, &kind, order_key);
}

static uint8_t *put(uint8_t *at, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*at++ = (uint8_t)(n | 0x80);
	*at++ = (uint8_t)n;
	return at;
}

/* The whole bytes of a sum; *carry is what of the sums before it was cut off. */
static uint64_t whole(double bytes, double *carry)
{
	double exact = fmin(fmax(bytes + *carry, 0), bytes_max);
	double ret = floor(exact + 0.5);

	*carry = exact - ret;
	return (uint64_t)ret;
}

size_t comm_unwritten_pack(const struct comm_unwritten_end *end, size_t n, uint8_t *packed)
{
	uint32_t last_thread = 0, last_site = 0;
	double carry = 0, first_carry = 0;
	uint8_t *at = packed;

	for (size_t i = 0; i < n; i++) {
		uint64_t bytes = whole(end[i].bytes, &carry);
		uint64_t first_bytes = whole(end[i].first_bytes, &first_carry);

		if (!bytes && !first_bytes)
			continue;
		if (end[i].thread != last_thread)
			last_site = 0;
		at = put(at, end[i].thread - last_thread);
		at = put(at, end[i].site - last_site);
		at = put(at, end[i].object);
		at = put(at, bytes);
		at = put(at, first_bytes);
		last_thread = end[i].thread;
		last_site = end[i].site;
	}
	return at - packed;
}

/* A number up to max; false: there is none. */
static bool get(struct comm_unwritten_unpack *unpack, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	for (int shift = 0; shift < 63 && unpack->at < unpack->end; shift += 7) {
		uint8_t byte = *unpack->at++;

		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = n;
			return n <= max;
		}
	}
	return false;
}

bool comm_unwritten_next(struct comm_unwritten_unpack *unpack, struct comm_unwritten_end *ret)
{
	struct comm_unwritten_end *last = &unpack->last;
	uint64_t thread, site, object, bytes, first_bytes;

	if (!get(unpack, UINT32_MAX - last->thread, &thread) ||
	    !get(unpack, UINT32_MAX - (thread ? 0 : last->site), &site) ||
	    !get(unpack, UINT32_MAX, &object) || !get(unpack, (uint64_t)bytes_max, &bytes) ||
	    !get(unpack, (uint64_t)bytes_max, &first_bytes)) {
		unpack->at = unpack->end;
		return false;
	}
	last->site = (uint32_t)site + (thread ? 0 : last->site);
	last->thread += (uint32_t)thread;
	last->object = (uint32_t)object;
	last->bytes = (double)bytes;
	last->first_bytes = (double)first_bytes;
	*ret = *last;
	return true;
}
