/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders the records of a file by time.  perf writes what it found in the CPUs' rings one
 * ring after the other, and between two such rounds a mark: what stands behind a mark is not
 * older than what stood before the mark before it.  Records that are are dropped and
 * counted.  Method: perf's ordered-events, with a heap.
 *
 * Memory is bounded: with more records than fit, the older half goes without its mark.
 * Records of one time come out in the order in which they went in.  One thread uses it.
 */
#ifndef COMM_PERFDATA_ORDER_H
#define COMM_PERFDATA_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct comm_perfdata_order;

int comm_perfdata_order_create(size_t max_bytes, struct comm_perfdata_order **ret);
void comm_perfdata_order_destroy(struct comm_perfdata_order *order);

/* Copies a record.  -ENOMEM. */
int comm_perfdata_order_push(struct comm_perfdata_order *order, uint64_t time_ns,
			     const void *record, size_t bytes);
/* A mark, PERF_RECORD_FINISHED_ROUND. */
void comm_perfdata_order_round(struct comm_perfdata_order *order);
/* No record follows. */
void comm_perfdata_order_end(struct comm_perfdata_order *order);
/* The next record that none can come before, valid until the next call; NULL: there is none. */
const void *comm_perfdata_order_next(struct comm_perfdata_order *order, uint64_t *ret_time_ns,
				     size_t *ret_bytes);
/* Records that came too late. */
uint64_t comm_perfdata_order_late(const struct comm_perfdata_order *order);

#endif
