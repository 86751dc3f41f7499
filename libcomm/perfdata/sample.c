// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	FIELD = sizeof(uint64_t),
	BRANCH_BYTES = 3 * FIELD,
	BRANCH_HW_INDEX = 1 << 17, /* of branch_sample_type */
	BRANCH_COUNTERS = 1 << 19,
	READ_LOST = 1 << 4, /* PERF_FORMAT_LOST, of Linux 6.0 */
};

/* What is left of a record; past its end all reads give 0. */
struct sample_cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

static const void *skip(struct sample_cursor *c, uint64_t bytes)
{
	const void *at = c->at;

	if (bytes > c->left) {
		c->bad = true;
		c->left = 0;
		return NULL;
	}
	c->at += bytes;
	c->left -= bytes;
	return at;
}

static void skip_array(struct sample_cursor *c, uint64_t n, size_t each_bytes)
{
	skip(c, n > c->left ? UINT64_MAX : n * each_bytes);
}

static uint64_t take(struct sample_cursor *c)
{
	const void *at = skip(c, FIELD);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static void take_two(struct sample_cursor *c, uint32_t *ret_low, uint32_t *ret_high)
{
	uint64_t both = take(c);

	*ret_low = (uint32_t)both;
	*ret_high = (uint32_t)(both >> 32);
}

static void skip_read(struct sample_cursor *c, uint64_t format)
{
	uint64_t values = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	uint64_t times = (uint64_t) !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP) {
		uint64_t n = take(c);

		skip(c, times * FIELD);
		skip_array(c, n, values * FIELD);
	} else {
		skip(c, (values + times) * FIELD);
	}
}

static void skip_raw(struct sample_cursor *c)
{
	const void *at = skip(c, sizeof(uint32_t));
	uint32_t bytes = 0;

	if (at)
		memcpy(&bytes, at, sizeof(bytes));
	skip(c, bytes);
}

static void skip_branches(struct sample_cursor *c, uint64_t type)
{
	uint64_t n = take(c);

	if (type & BRANCH_HW_INDEX)
		take(c);
	skip_array(c, n, BRANCH_BYTES);
	if (type & BRANCH_COUNTERS)
		skip_array(c, n, FIELD);
}

static const void *skip_registers(struct sample_cursor *c, uint64_t mask, uint64_t *ret_abi)
{
	uint64_t abi = take(c);

	if (ret_abi)
		*ret_abi = abi;
	return abi ? skip(c, (uint64_t)__builtin_popcountll(mask) * FIELD) : NULL;
}

static void skip_stack(struct sample_cursor *c)
{
	uint64_t bytes = take(c);

	if (!bytes)
		return;
	skip(c, bytes);
	take(c);
}

/* The order of the bits is not that of the fields. */
int comm_perfdata_sample(const struct perf_event_attr *attr, const void *body, size_t bytes,
			 struct comm_perfdata_sample *ret)
{
	struct sample_cursor c = {body, bytes, false};
	uint64_t type = attr->sample_type;
	uint32_t reserved;

	*ret = (struct comm_perfdata_sample){0};
	if (type & PERF_SAMPLE_IDENTIFIER)
		ret->id = take(&c);
	if (type & PERF_SAMPLE_IP)
		ret->ip = take(&c);
	if (type & PERF_SAMPLE_TID)
		take_two(&c, &ret->pid, &ret->tid);
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = take(&c);
	if (type & PERF_SAMPLE_ADDR)
		ret->addr = take(&c);
	if (type & PERF_SAMPLE_ID)
		ret->id = take(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		take(&c);
	if (type & PERF_SAMPLE_CPU)
		take_two(&c, &ret->cpu, &reserved);
	if (type & PERF_SAMPLE_PERIOD)
		ret->period = take(&c);
	if (type & PERF_SAMPLE_READ)
		skip_read(&c, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		skip_array(&c, take(&c), FIELD);
	if (type & PERF_SAMPLE_RAW)
		skip_raw(&c);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, attr->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		skip_registers(&c, attr->sample_regs_user, NULL);
	if (type & PERF_SAMPLE_STACK_USER)
		skip_stack(&c);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		ret->weight = take(&c);
	/* Of the weight's three parts the first is the latency. */
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		ret->weight = (uint32_t)ret->weight;
	if (type & PERF_SAMPLE_DATA_SRC)
		ret->data_src = take(&c);
	if (type & PERF_SAMPLE_TRANSACTION)
		take(&c);
	if (type & PERF_SAMPLE_REGS_INTR)
		ret->regs = skip_registers(&c, attr->sample_regs_intr, &ret->regs_abi);
	/* What follows (physical address, cgroup, page sizes, AUX data) is of no use here. */
	return c.bad ? -EBADMSG : 0;
}

/* Of the fields at the end of records, in the order in which they stand there. */
static const uint64_t id_fields[] = {
	PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,	 PERF_SAMPLE_IDENTIFIER,
};
enum { ID_FIELDS = sizeof(id_fields) / sizeof(*id_fields) };

int comm_perfdata_sample_id(const struct perf_event_attr *attr, const void *body, size_t bytes,
			    struct comm_perfdata_sample *ret)
{
	uint64_t type = attr->sample_type;
	struct sample_cursor c = {body, bytes, false};
	uint32_t reserved;
	size_t n = 0;

	*ret = (struct comm_perfdata_sample){0};
	if (!attr->sample_id_all)
		return 0;
	for (size_t i = 0; i < ID_FIELDS; i++)
		n += type & id_fields[i] ? FIELD : 0;
	if (n > bytes)
		return -EBADMSG;
	skip(&c, bytes - n);
	if (type & PERF_SAMPLE_TID)
		take_two(&c, &ret->pid, &ret->tid);
	if (type & PERF_SAMPLE_TIME)
		ret->time_ns = take(&c);
	if (type & PERF_SAMPLE_ID)
		ret->id = take(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		take(&c);
	if (type & PERF_SAMPLE_CPU)
		take_two(&c, &ret->cpu, &reserved);
	if (type & PERF_SAMPLE_IDENTIFIER)
		ret->id = take(&c);
	return 0;
}

int comm_perfdata_id_from_start(const struct perf_event_attr *attr)
{
	static const uint64_t before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					  PERF_SAMPLE_ADDR};
	int n = 0;

	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(attr->sample_type & PERF_SAMPLE_ID))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		n += attr->sample_type & before[i] ? FIELD : 0;
	return n;
}

int comm_perfdata_id_from_end(const struct perf_event_attr *attr)
{
	int n = FIELD;

	if (!attr->sample_id_all)
		return -ENOENT;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return n;
	if (!(attr->sample_type & PERF_SAMPLE_ID))
		return -ENOENT;
	n += attr->sample_type & PERF_SAMPLE_STREAM_ID ? FIELD : 0;
	n += attr->sample_type & PERF_SAMPLE_CPU ? FIELD : 0;
	return n;
}
