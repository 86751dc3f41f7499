// SPDX-License-Identifier: GPL-2.0-or-later
#include "result_records.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int comm_exact_next(const struct comm_exact_records *in, size_t *at, struct comm_exact_one *ret)
{
	struct comm_exact_record head;
	size_t padded;

	if (*at == in->bytes)
		return 0;
	if (in->bytes - *at < sizeof(head))
		return -EBADMSG;
	memcpy(&head, in->data + *at, sizeof(head));
	padded = ((size_t)head.bytes + 7) & ~(size_t)7;
	if (in->bytes - *at - sizeof(head) < padded)
		return -EBADMSG;
	*ret = (struct comm_exact_one){head.kind, head.bytes, in->data + *at + sizeof(head)};
	*at += sizeof(head) + padded;
	return 1;
}

static const size_t fixed_bytes[COMM_EXACT_KINDS] = {
	[COMM_EXACT_THREAD] = sizeof(struct comm_exact_file_thread),
	[COMM_EXACT_FUNCTION] = sizeof(struct comm_exact_file_function),
	[COMM_EXACT_SITE] = sizeof(struct comm_exact_file_site),
	[COMM_EXACT_OBJECT] = sizeof(struct comm_exact_file_object),
	[COMM_EXACT_PHASE] = sizeof(struct comm_exact_file_phase),
	[COMM_EXACT_END] = sizeof(struct comm_exact_file_end),
	[COMM_EXACT_REGION] = sizeof(struct comm_exact_file_region),
	[COMM_EXACT_WITHIN] = sizeof(struct comm_exact_file_within),
	[COMM_EXACT_FRAMES] = sizeof(uint64_t),
	[COMM_EXACT_CALLED] = sizeof(struct comm_exact_file_called),
	[COMM_EXACT_CODE] = sizeof(struct comm_exact_file_code),
	[COMM_EXACT_CLOCK] = sizeof(uint64_t),
	[COMM_EXACT_CALLS] = sizeof(struct comm_exact_file_calls),
	[COMM_EXACT_ENTRY] = sizeof(struct comm_exact_file_entry),
	[COMM_EXACT_LINK] = sizeof(struct comm_exact_file_link),
	[COMM_EXACT_UNCUT] = sizeof(uint64_t),
	[COMM_EXACT_FORGOTTEN] = sizeof(uint64_t),
};

/* Records that are lists: what they list, and whether that is of a phase. */
static const struct {
	size_t item_bytes;
	bool of_phase;
} lists[COMM_EXACT_KINDS] = {
	[COMM_EXACT_ACTORS] = {sizeof(struct comm_exact_file_actor), false},
	[COMM_EXACT_PATHS] = {sizeof(struct comm_exact_file_path), false},
	[COMM_EXACT_EDGES] = {sizeof(struct comm_exact_file_edge), true},
	[COMM_EXACT_WRITES] = {sizeof(struct comm_exact_file_write), true},
	[COMM_EXACT_INSTRUCTIONS] = {sizeof(struct comm_exact_file_instructions), true},
	[COMM_EXACT_LENGTHS] = {sizeof(struct comm_exact_file_length), true},
	[COMM_EXACT_DATES] = {sizeof(struct comm_exact_file_date), true},
	[COMM_EXACT_PLACES] = {sizeof(struct comm_exact_file_place), true},
};

static int survey_list(struct comm_exact_records *in, const struct comm_exact_one *r)
{
	if (r->bytes % lists[r->kind].item_bytes ||
	    (lists[r->kind].of_phase && !in->count[COMM_EXACT_PHASE]))
		return -EBADMSG;
	in->items[r->kind] += r->bytes / lists[r->kind].item_bytes;
	if (r->kind == COMM_EXACT_EDGES)
		in->untold = r->bytes / lists[r->kind].item_bytes;
	return 0;
}

static int survey_record(struct comm_exact_records *in, const struct comm_exact_one *r)
{
	/* No record may follow the END record. */
	if (in->count[COMM_EXACT_END])
		return -EBADMSG;
	if (r->kind >= COMM_EXACT_KINDS)
		return 0;
	if (r->bytes < fixed_bytes[r->kind])
		return -EBADMSG;
	in->count[r->kind]++;
	if (r->kind == COMM_EXACT_AGES)
		return r->bytes == in->untold * sizeof(struct comm_exact_file_ages) ? 0 : -EBADMSG;
	in->untold = 0;
	if (lists[r->kind].item_bytes)
		return survey_list(in, r);
	if (r->kind == COMM_EXACT_MAPS)
		return in->count[COMM_EXACT_MAPS] > 1 ? -EBADMSG : 0;
	/* Such a record holds at most two strings, each gets a NUL. */
	in->text_bytes += r->bytes - fixed_bytes[r->kind] + 2;
	return 0;
}

int comm_exact_survey(struct comm_exact_records *in, size_t *ret_at)
{
	struct comm_exact_header header;
	struct comm_exact_one r;
	int ret;

	*ret_at = 0;
	if (in->bytes < sizeof(header) || memcmp(in->data, COMM_EXACT_MAGIC, 8))
		return -EMEDIUMTYPE;
	memcpy(&header, in->data, sizeof(header));
	if (header.version > COMM_EXACT_VERSION)
		return -EPROTO;
	if (header.header_bytes < sizeof(header) || header.header_bytes > in->bytes ||
	    header.header_bytes % 8)
		return -EBADMSG;
	*ret_at = in->first = header.header_bytes;
	while ((ret = comm_exact_next(in, ret_at, &r)) > 0) {
		ret = survey_record(in, &r);
		if (ret)
			return ret;
	}
	if (!in->count[COMM_EXACT_END])
		return -ENODATA;
	return ret;
}
