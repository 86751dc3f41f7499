// SPDX-License-Identifier: GPL-2.0-or-later
#include "type_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array_grow.h"
#include "saved.h"

enum {
	ROWS_MAX = 4 << 20,
	FIELDS_MAX = 1 << 20,
	TEXT_BYTES_MAX = 64 << 20,
	NAME_BYTES = 512,
	COMPLETE = 0x65707974, /* "type" */
};

struct type_row {
	uint64_t vaddr;
	uint32_t field;
	uint32_t zero; /* so that no byte that is saved is undefined */
};

struct type_name {
	uint32_t type, name; /* into text */
	uint64_t offset;
};

struct comm_type_table {
	struct type_row *row;
	size_t n_rows, rows_capacity;
	struct type_name *field;
	size_t n_fields, fields_capacity;
	char *text;
	size_t text_bytes, text_capacity;
};

/* How a saved table starts; rows, fields and text follow. */
struct types_head {
	uint64_t complete; /* COMPLETE */
	uint64_t n_rows, n_fields, text_bytes;
};

_Static_assert(COMM_TYPE_TABLE_SAVED_MAX >=
		       sizeof(struct types_head) + ROWS_MAX * sizeof(struct type_row) +
			       FIELDS_MAX * sizeof(struct type_name) + TEXT_BYTES_MAX,
	       "the largest table can be saved");

int comm_type_table_create(struct comm_type_table **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_type_table_destroy(struct comm_type_table *table)
{
	if (!table)
		return;
	free(table->row);
	free(table->field);
	free(table->text);
	free(table);
}

static int add_text(struct comm_type_table *table, const char *text, uint32_t *ret)
{
	size_t len = strnlen(text, NAME_BYTES - 1);

	while (table->text_bytes + len + 1 > table->text_capacity) {
		size_t capacity = table->text_capacity ? table->text_capacity * 2 : 16 * 1024;
		char *bigger;

		if (capacity > TEXT_BYTES_MAX)
			return -ENOSPC;
		bigger = realloc(table->text, capacity);
		if (!bigger)
			return -ENOMEM;
		table->text = bigger;
		table->text_capacity = capacity;
	}
	*ret = (uint32_t)table->text_bytes;
	memcpy(table->text + *ret, text, len);
	table->text[*ret + len] = 0;
	table->text_bytes += len + 1;
	return 0;
}

/* Neighbours are often of one type, so the last one's text is looked at. */
int comm_type_table_add_field(struct comm_type_table *table, const struct comm_type_field *field,
			      uint32_t *ret)
{
	struct type_name f = {.offset = field->offset};
	int err = comm_array_grow(&table->field, table->n_fields, &table->fields_capacity,
				  FIELDS_MAX, sizeof(*table->field));

	if (err)
		return err;
	if (table->n_fields &&
	    !strcmp(table->text + table->field[table->n_fields - 1].type, field->type))
		f.type = table->field[table->n_fields - 1].type;
	else
		err = add_text(table, field->type, &f.type);
	if (!err)
		err = add_text(table, field->field, &f.name);
	if (err)
		return err;
	*ret = (uint32_t)table->n_fields;
	table->field[table->n_fields++] = f;
	return 0;
}

int comm_type_table_add(struct comm_type_table *table, uint64_t vaddr, uint32_t field)
{
	int err = comm_array_grow(&table->row, table->n_rows, &table->rows_capacity, ROWS_MAX,
				  sizeof(*table->row));

	if (!err)
		table->row[table->n_rows++] = (struct type_row){.vaddr = vaddr, .field = field};
	return err;
}

static int by_vaddr(const void *pa, const void *pb)
{
	const struct type_row *a = pa, *b = pb;

	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

/* Of several rows of one address, as functions that share code have them, the first stays. */
void comm_type_table_sort(struct comm_type_table *table)
{
	size_t kept = 0;

	/* glibc's qsort() merges, so rows of one address stay in order. */
	if (table->n_rows)
		qsort(table->row, table->n_rows, sizeof(*table->row), by_vaddr);
	for (size_t i = 0; i < table->n_rows; i++)
		if (!kept || table->row[kept - 1].vaddr != table->row[i].vaddr)
			table->row[kept++] = table->row[i];
	table->n_rows = kept;
}

int comm_type_table_save(const struct comm_type_table *table, int to)
{
	struct types_head head = {
		.complete = COMPLETE,
		.n_rows = table->n_rows,
		.n_fields = table->n_fields,
		.text_bytes = table->text_bytes,
	};
	uint64_t offset = sizeof(head), start = 0;

	/* The head is written last: a table that was cut short has none. */
	if (!comm_saved_put(to, table->row, table->n_rows * sizeof(*table->row), &offset) ||
	    !comm_saved_put(to, table->field, table->n_fields * sizeof(*table->field), &offset) ||
	    !comm_saved_put(to, table->text, table->text_bytes, &offset) ||
	    !comm_saved_put(to, &head, sizeof(head), &start))
		return -EIO;
	return 0;
}

static int load(int from, struct comm_type_table *table)
{
	uint64_t offset = 0;
	struct types_head head;
	int err = comm_saved_get(from, &head, sizeof(head), &offset);

	if (err)
		return err;
	if (head.complete != COMPLETE || head.n_rows > ROWS_MAX || head.n_fields > FIELDS_MAX ||
	    head.text_bytes > TEXT_BYTES_MAX)
		return -ENODATA;
	table->n_rows = head.n_rows;
	table->n_fields = head.n_fields;
	table->text_bytes = head.text_bytes;
	err = comm_saved_array(from, &table->row, table->n_rows, sizeof(*table->row), &offset);
	if (!err)
		err = comm_saved_array(from, &table->field, table->n_fields, sizeof(*table->field),
				       &offset);
	if (!err)
		err = comm_saved_texts(from, &table->text, table->text_bytes, NAME_BYTES, &offset);
	if (err)
		return err;
	for (size_t i = 0; i < table->n_rows; i++)
		if (table->row[i].field >= table->n_fields ||
		    (i && table->row[i].vaddr <= table->row[i - 1].vaddr))
			return -ENODATA;
	for (size_t i = 0; i < table->n_fields; i++)
		if (table->field[i].type >= table->text_bytes ||
		    table->field[i].name >= table->text_bytes)
			return -ENODATA;
	return 0;
}

int comm_type_table_load(int from, struct comm_type_table **ret)
{
	struct comm_type_table *table;
	int err = comm_type_table_create(&table);

	if (err)
		return err;
	err = load(from, table);
	if (err)
		comm_type_table_destroy(table);
	else
		*ret = table;
	return err;
}

int comm_type_table_find(const struct comm_type_table *table, uint64_t vaddr,
			 struct comm_type_field *ret)
{
	size_t lo = 0, hi = table->n_rows;
	const struct type_name *f;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table->row[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == table->n_rows || table->row[lo].vaddr != vaddr)
		return -ENOENT;
	f = &table->field[table->row[lo].field];
	*ret = (struct comm_type_field){table->text + f->type, table->text + f->name, f->offset};
	return 0;
}

size_t comm_type_table_rows(const struct comm_type_table *table)
{
	return table->n_rows;
}

size_t comm_type_table_bytes(const struct comm_type_table *table)
{
	return sizeof(*table) + table->n_rows * sizeof(*table->row) +
	       table->n_fields * sizeof(*table->field) + table->text_bytes;
}
