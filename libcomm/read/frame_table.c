// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame_table.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array_grow.h"
#include "saved.h"

/* As the psABI numbers the registers. */
enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RETURN = 16 };

enum {
	REMEMBERED_MAX = 8,
	OFFSET_MAX = 1 << 24, /* of a frame; larger ones are nonsense */
};

/* Where a register of the caller is. */
enum saved_kind {
	SAVED_SAME,
	SAVED_AT, /* offset from the frame's address */
	SAVED_NOWHERE,
	SAVED_SOMEHOW,
};

struct saved {
	enum saved_kind kind;
	int64_t offset;
};

struct frame_state {
	uint64_t reg; /* that the frame's address is computed of */
	int64_t offset;
	bool somehow; /* it is not computed of a register */
	struct saved rbp, ret;
};

struct frame_reader {
	const struct comm_frame_cie *cie;
	const uint8_t *at, *end;
	struct frame_state now, initial, remembered[REMEMBERED_MAX];
	unsigned int n_remembered;
	bool bad;
};

const struct comm_frame_rule comm_frame_by_pointer = {COMM_FRAME_OF_RBP, -16, 16};

void comm_frame_table_deinit(struct comm_frame_table *table)
{
	free(table->row);
	*table = (struct comm_frame_table){0};
}

static uint64_t read_fixed(struct frame_reader *r, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, bytes);
	r->at += bytes;
	return value;
}

static uint64_t read_leb(struct frame_reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_fixed(r, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return value;
}

static void skip_block(struct frame_reader *r)
{
	uint64_t bytes = read_leb(r, false);

	if (bytes > (uint64_t)(r->end - r->at))
		r->bad = true;
	else
		r->at += bytes;
}

/* Products that do not fit are of no frame. */
static int64_t scaled(const struct frame_reader *r, uint64_t factored)
{
	int64_t value;

	if (__builtin_mul_overflow((int64_t)factored, r->cie->data_align, &value))
		return INT64_MAX;
	return value;
}

static void save(struct frame_reader *r, uint64_t reg, enum saved_kind kind, int64_t offset)
{
	if (reg == DWARF_RBP)
		r->now.rbp = (struct saved){kind, offset};
	else if (reg == DWARF_RETURN)
		r->now.ret = (struct saved){kind, offset};
}

static void restore(struct frame_reader *r, uint64_t reg)
{
	if (reg == DWARF_RBP)
		r->now.rbp = r->initial.rbp;
	else if (reg == DWARF_RETURN)
		r->now.ret = r->initial.ret;
}

static bool is_short(int64_t offset)
{
	return offset > INT16_MIN && offset <= INT16_MAX;
}

static struct comm_frame_rule rule_of(const struct frame_state *s)
{
	struct comm_frame_rule rule = {0};

	if (s->ret.kind == SAVED_NOWHERE) {
		rule.kind = COMM_FRAME_OUTERMOST;
		return rule;
	}
	if (s->somehow || s->ret.kind != SAVED_AT || s->ret.offset != -8 ||
	    s->offset < -OFFSET_MAX || s->offset > OFFSET_MAX ||
	    (s->reg != DWARF_RSP && s->reg != DWARF_RBP))
		return rule;
	rule.kind = s->reg == DWARF_RSP ? COMM_FRAME_OF_RSP : COMM_FRAME_OF_RBP;
	rule.offset = (int32_t)s->offset;
	if (s->rbp.kind == SAVED_AT && s->rbp.offset && is_short(s->rbp.offset))
		rule.rbp_offset = (int16_t)s->rbp.offset;
	else if (s->rbp.kind != SAVED_SAME)
		rule.rbp_offset = COMM_FRAME_RBP_LOST;
	return rule;
}

static int add_row(struct comm_frame_table *table, uint64_t start, struct comm_frame_rule rule)
{
	int err = comm_array_grow(&table->row, table->n, &table->capacity, COMM_FRAME_ROWS_MAX,
				  sizeof(*table->row));

	if (!err)
		table->row[table->n++] = (struct comm_frame_row){start, rule};
	return err;
}

/* How far the next instruction moves on; all others change the state and move nothing. */
static uint64_t step(struct frame_reader *r)
{
	uint8_t op = (uint8_t)read_fixed(r, 1);
	struct frame_state *s = &r->now;
	uint64_t reg;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return (op & 0x3f) * r->cie->code_align;
	case DW_CFA_offset:
		save(r, op & 0x3f, SAVED_AT, scaled(r, read_leb(r, false)));
		return 0;
	case DW_CFA_restore:
		restore(r, op & 0x3f);
		return 0;
	}
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_advance_loc1:
		return read_fixed(r, 1) * r->cie->code_align;
	case DW_CFA_advance_loc2:
		return read_fixed(r, 2) * r->cie->code_align;
	case DW_CFA_advance_loc4:
		return read_fixed(r, 4) * r->cie->code_align;
	case DW_CFA_def_cfa:
		s->reg = read_leb(r, false);
		s->offset = (int64_t)read_leb(r, false);
		s->somehow = false;
		break;
	case DW_CFA_def_cfa_sf:
		s->reg = read_leb(r, false);
		s->offset = scaled(r, read_leb(r, true));
		s->somehow = false;
		break;
	case DW_CFA_def_cfa_register:
		s->reg = read_leb(r, false);
		break;
	case DW_CFA_def_cfa_offset:
		s->offset = (int64_t)read_leb(r, false);
		break;
	case DW_CFA_def_cfa_offset_sf:
		s->offset = scaled(r, read_leb(r, true));
		break;
	case DW_CFA_def_cfa_expression:
		skip_block(r);
		s->somehow = true;
		break;
	case DW_CFA_offset_extended:
		reg = read_leb(r, false);
		save(r, reg, SAVED_AT, scaled(r, read_leb(r, false)));
		break;
	case DW_CFA_offset_extended_sf:
		reg = read_leb(r, false);
		save(r, reg, SAVED_AT, scaled(r, read_leb(r, true)));
		break;
	case DW_CFA_restore_extended:
		restore(r, read_leb(r, false));
		break;
	case DW_CFA_undefined:
		save(r, read_leb(r, false), SAVED_NOWHERE, 0);
		break;
	case DW_CFA_same_value:
		save(r, read_leb(r, false), SAVED_SAME, 0);
		break;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		save(r, read_leb(r, false), SAVED_SOMEHOW, 0);
		read_leb(r, false);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		save(r, read_leb(r, false), SAVED_SOMEHOW, 0);
		skip_block(r);
		break;
	case DW_CFA_remember_state:
		if (r->n_remembered == REMEMBERED_MAX)
			r->bad = true;
		else
			r->remembered[r->n_remembered++] = *s;
		break;
	case DW_CFA_restore_state:
		if (!r->n_remembered)
			r->bad = true;
		else
			*s = r->remembered[--r->n_remembered];
		break;
	case DW_CFA_GNU_args_size:
		read_leb(r, false);
		break;
	default:
		r->bad = true;
	}
	return 0;
}

int comm_frame_table_add(struct comm_frame_table *table, const struct comm_frame_cie *cie,
			 uint64_t start, uint64_t size, const uint8_t *at, const uint8_t *end)
{
	const struct comm_frame_rule unknown = {0};
	struct frame_reader r = {.cie = cie, .at = cie->start, .end = cie->end};
	uint64_t done = 0, by;
	int err = 0;

	if (start + size < start)
		return 0;
	while (r.at < r.end && !r.bad)
		step(&r);
	r.initial = r.now;
	r.at = at;
	r.end = end;
	while (r.at < r.end && !r.bad && !err) {
		by = step(&r);
		if (!by)
			continue;
		err = add_row(table, start + done, rule_of(&r.now));
		if (by >= size - done)
			break;
		done += by;
	}
	/* Of a program that is not understood to its end, the rest is unknown. */
	if (!err && r.at >= r.end)
		err = add_row(table, start + done, r.bad ? unknown : rule_of(&r.now));
	else if (!err && r.bad)
		err = add_row(table, start + done, unknown);
	return err ? err : add_row(table, start + size, unknown);
}

static int by_start(const void *pa, const void *pb)
{
	const struct comm_frame_row *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* The end of a function may be the start of another one, which comes last and stays. */
	return (a->rule.kind != COMM_FRAME_UNKNOWN) - (b->rule.kind != COMM_FRAME_UNKNOWN);
}

static bool is_same(const struct comm_frame_rule *a, const struct comm_frame_rule *b)
{
	return a->kind == b->kind && a->rbp_offset == b->rbp_offset && a->offset == b->offset;
}

void comm_frame_table_sort(struct comm_frame_table *table)
{
	size_t kept = 0;

	if (table->n)
		qsort(table->row, table->n, sizeof(*table->row), by_start);
	for (size_t i = 0; i < table->n; i++) {
		const struct comm_frame_row *r = &table->row[i];

		if (kept && table->row[kept - 1].start == r->start)
			kept--;
		if (!kept || !is_same(&table->row[kept - 1].rule, &r->rule))
			table->row[kept++] = *r;
	}
	table->n = kept;
}

int comm_frame_table_load(struct comm_frame_table *table, int from, uint64_t n, uint64_t *at)
{
	int err;

	if (n > COMM_FRAME_ROWS_MAX)
		return -ENODATA;
	err = comm_saved_array(from, &table->row, n, sizeof(*table->row), at);
	if (err)
		return err;
	table->n = n;
	for (size_t i = 0; i < n; i++)
		if (table->row[i].rule.kind >= COMM_FRAME_KINDS ||
		    (i && table->row[i].start <= table->row[i - 1].start))
			return -ENODATA;
	return 0;
}

struct comm_frame_rule comm_frame_table_find(const struct comm_frame_table *table, uint64_t vaddr)
{
	size_t lo = 0, hi = table->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table->row[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? table->row[lo - 1].rule : (struct comm_frame_rule){0};
}
