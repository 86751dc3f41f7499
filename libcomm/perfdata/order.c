// SPDX-License-Identifier: GPL-2.0-or-later
#include "order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 1024 };

struct queued_record {
	uint64_t time_ns, nth;
	size_t bytes;
	unsigned char record[];
};

struct comm_perfdata_order {
	struct queued_record **heap; /* the earliest at 0 */
	size_t n, capacity;
	size_t bytes, max_bytes;
	uint64_t nth;
	uint64_t newest_ns, round_ns; /* of all, and of those before the last mark */
	uint64_t until_ns;	      /* records of up to that time go out */
	uint64_t passed_ns;	      /* time of the last that went out */
	uint64_t late;
	struct queued_record *handed_out;
};

int comm_perfdata_order_create(size_t max_bytes, struct comm_perfdata_order **ret)
{
	struct comm_perfdata_order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	order->max_bytes = max_bytes;
	*ret = order;
	return 0;
}

void comm_perfdata_order_destroy(struct comm_perfdata_order *order)
{
	if (!order)
		return;
	for (size_t i = 0; i < order->n; i++)
		free(order->heap[i]);
	free(order->heap);
	free(order->handed_out);
	free(order);
}

static bool is_before(const struct queued_record *a, const struct queued_record *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->nth < b->nth;
}

static void raise_until(struct comm_perfdata_order *order, uint64_t time_ns)
{
	if (time_ns > order->until_ns)
		order->until_ns = time_ns;
}

int comm_perfdata_order_push(struct comm_perfdata_order *order, uint64_t time_ns,
			     const void *record, size_t bytes)
{
	struct queued_record *q;
	size_t at;

	if (time_ns < order->passed_ns) {
		order->late++;
		return 0;
	}
	if (order->n == order->capacity) {
		size_t capacity = order->capacity ? 2 * order->capacity : CAPACITY_FIRST;
		struct queued_record **heap = realloc(order->heap, capacity * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		order->heap = heap;
		order->capacity = capacity;
	}
	q = malloc(sizeof(*q) + bytes);
	if (!q)
		return -ENOMEM;
	q->time_ns = time_ns;
	q->nth = order->nth++;
	q->bytes = bytes;
	memcpy(q->record, record, bytes);
	for (at = order->n++; at && is_before(q, order->heap[(at - 1) / 2]); at = (at - 1) / 2)
		order->heap[at] = order->heap[(at - 1) / 2];
	order->heap[at] = q;
	order->bytes += sizeof(*q) + bytes;
	if (time_ns > order->newest_ns)
		order->newest_ns = time_ns;
	if (order->bytes > order->max_bytes)
		raise_until(order, order->heap[0]->time_ns +
					   (order->newest_ns - order->heap[0]->time_ns) / 2);
	return 0;
}

void comm_perfdata_order_round(struct comm_perfdata_order *order)
{
	raise_until(order, order->round_ns);
	order->round_ns = order->newest_ns;
}

void comm_perfdata_order_end(struct comm_perfdata_order *order)
{
	order->until_ns = UINT64_MAX;
}

/* Takes the earliest off the heap. */
static struct queued_record *pop(struct comm_perfdata_order *order)
{
	struct queued_record *top = order->heap[0], *last = order->heap[--order->n];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < order->n) {
		if (child + 1 < order->n && is_before(order->heap[child + 1], order->heap[child]))
			child++;
		if (is_before(last, order->heap[child]))
			break;
		order->heap[at] = order->heap[child];
		at = child;
	}
	if (order->n)
		order->heap[at] = last;
	order->bytes -= sizeof(*top) + top->bytes;
	return top;
}

const void *comm_perfdata_order_next(struct comm_perfdata_order *order, uint64_t *ret_time_ns,
				     size_t *ret_bytes)
{
	free(order->handed_out);
	order->handed_out = NULL;
	if (!order->n || order->heap[0]->time_ns > order->until_ns)
		return NULL;
	order->handed_out = pop(order);
	order->passed_ns = order->handed_out->time_ns;
	*ret_time_ns = order->handed_out->time_ns;
	*ret_bytes = order->handed_out->bytes;
	return order->handed_out->record;
}

uint64_t comm_perfdata_order_late(const struct comm_perfdata_order *order)
{
	return order->late;
}
