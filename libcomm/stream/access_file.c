// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out_file.h"
#include "record_bytes.h"

_Static_assert(sizeof(struct comm_accesses_file) == 48, "no padding in it");
_Static_assert(sizeof(struct comm_accesses_record) == 8, "no padding in it");
_Static_assert(sizeof(struct comm_accesses_function) == 32, "no padding in it");
_Static_assert(sizeof(struct comm_accesses_object) == 32, "no padding in it");
_Static_assert(sizeof(struct comm_accesses_row) == 80, "no padding in it");
_Static_assert(sizeof(struct comm_accesses_end) == 16, "no padding in it");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structures are written as they are");

enum { NS_PER_S = 1000000000 };

/* Ids that have been told; ids are dense. */
struct told_ids {
	uint8_t *is; /* enum told_how */
	size_t capacity;
};

enum told_how { TOLD_NOT, TOLD_FOR_NOW, TOLD };

struct comm_access_file {
	struct comm_out_file *out;
	bool csv;
	uint64_t rows;
	struct told_ids functions, objects;
	struct comm_bytes scratch; /* the record, or the line, that is being written */
};

/* NULL: no memory. */
static uint8_t *told_at(struct told_ids *told, uint32_t id)
{
	size_t capacity = told->capacity ? told->capacity : 1024;
	uint8_t *more;

	if (id >= told->capacity) {
		while (capacity <= id)
			capacity *= 2;
		more = realloc(told->is, capacity);
		if (!more)
			return NULL;
		memset(more + told->capacity, 0, capacity - told->capacity);
		told->is = more;
		told->capacity = capacity;
	}
	return &told->is[id];
}

static int write_scratch(struct comm_access_file *file)
{
	return file->scratch.failed
		       ? -ENOMEM
		       : comm_out_file_write(file->out, file->scratch.data, file->scratch.n);
}

static void append(struct comm_access_file *file, const void *data, size_t bytes)
{
	struct comm_bytes *to = &file->scratch;

	if (!comm_bytes_reserve(to, bytes))
		return;
	memcpy(to->data + to->n, data, bytes);
	to->n += bytes;
}

static int write_record(struct comm_access_file *file, enum comm_accesses_kind kind,
			const void *fields, size_t bytes, const char *const *text, int n_texts)
{
	struct comm_accesses_record head = {.kind = kind};

	comm_bytes_clear(&file->scratch);
	append(file, &head, sizeof(head));
	append(file, fields, bytes);
	for (int i = 0; i < n_texts; i++)
		append(file, text[i], strlen(text[i]) + 1);
	append(file, "\0\0\0\0\0\0\0", -file->scratch.n % 8);
	if (file->scratch.failed)
		return -ENOMEM;
	head.bytes = (uint32_t)(file->scratch.n - sizeof(head));
	memcpy(file->scratch.data, &head, sizeof(head));
	return write_scratch(file);
}

static uint32_t bytes_of(const char *text)
{
	return (uint32_t)strlen(text) + 1;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int tell_function(struct comm_access_file *file, uint32_t id, const struct comm_function *f)
{
	const char *const text[] = {or_empty(f->name), or_empty(f->module), or_empty(f->build_id)};
	const struct comm_accesses_function fields = {
		.id = id,
		.start = f->start,
		.name_bytes = bytes_of(text[0]),
		.module_bytes = bytes_of(text[1]),
		.build_id_bytes = bytes_of(text[2]),
	};
	uint8_t *told = told_at(&file->functions, id);

	if (!told)
		return -ENOMEM;
	if (*told == TOLD || (*told == TOLD_FOR_NOW && f->pending))
		return 0;
	*told = f->pending ? TOLD_FOR_NOW : TOLD;
	return write_record(file, COMM_ACCESSES_FUNCTION, &fields, sizeof(fields), text, 3);
}

static const char *kind_name(enum comm_object_kind kind)
{
	static const char *const names[] = {
		[COMM_OBJECT_OTHER] = "other",	 [COMM_OBJECT_STATIC] = "static",
		[COMM_OBJECT_DATA] = "data",	 [COMM_OBJECT_HEAP] = "heap",
		[COMM_OBJECT_STACK] = "stack",	 [COMM_OBJECT_ANON] = "anon",
		[COMM_OBJECT_SHARED] = "shared", [COMM_OBJECT_MARKED] = "marked",
		[COMM_OBJECT_BLOCK] = "block",
	};

	return names[kind];
}

static int tell_object(struct comm_access_file *file, uint32_t id, const struct comm_object *o)
{
	const char *const text[] = {kind_name(o->kind), or_empty(o->name), or_empty(o->module)};
	const struct comm_accesses_object fields = {
		.id = id,
		.pid = o->tgid,
		.size_bytes = o->size_bytes,
		.kind_bytes = bytes_of(text[0]),
		.name_bytes = bytes_of(text[1]),
		.module_bytes = bytes_of(text[2]),
	};
	uint8_t *told = told_at(&file->objects, id);

	if (!told)
		return -ENOMEM;
	if (*told == TOLD)
		return 0;
	*told = TOLD;
	return write_record(file, COMM_ACCESSES_OBJECT, &fields, sizeof(fields), text, 3);
}

static int write_binary(struct comm_access_file *file, const struct comm_accesses_row *row,
			const struct comm_function *function, const struct comm_object *object)
{
	int err = tell_function(file, row->function, function);

	if (!err)
		err = tell_object(file, row->object, object);
	if (!err)
		err = write_record(file, COMM_ACCESSES_ROW, row, sizeof(*row), NULL, 0);
	return err;
}

/* As ctl/csv.h: names are the target's, and a table program must not take one for a formula. */
static void csv_text(struct comm_access_file *file, const char *text)
{
	append(file, "\"", 1);
	if (*text && strchr("=+-@", *text))
		append(file, "'", 1);
	for (; *text; text++)
		append(file, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	append(file, "\",", 2);
}

static void csv_flags(struct comm_access_file *file, uint16_t flags)
{
	static const struct {
		uint16_t flag;
		const char *name;
	} names[] = {
		{COMM_ACCESSES_ATOMIC, "atomic"},     {COMM_ACCESSES_REP, "rep"},
		{COMM_ACCESSES_KERNEL, "kernel"},     {COMM_ACCESSES_OWN_STACK, "stack"},
		{COMM_ACCESSES_CONSTANT, "constant"}, {COMM_ACCESSES_FILE, "file"},
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(flags & names[i].flag))
			continue;
		if (any)
			append(file, " ", 1);
		append(file, names[i].name, strlen(names[i].name));
		any = true;
	}
	append(file, ",", 1);
}

static int write_csv(struct comm_access_file *file, const struct comm_accesses_row *row,
		     const struct comm_function *function, const struct comm_object *object)
{
	static const char *const known[] = {
		[COMM_ACCESSES_MEASURED] = "measured",
		[COMM_ACCESSES_DECODED] = "decoded",
		[COMM_ACCESSES_EMULATED] = "emulated",
	};
	static const char *const ways[] = {"", "R", "W", "RW"};
	char numbers[256];
	int n;

	comm_bytes_clear(&file->scratch);
	n = snprintf(numbers, sizeof(numbers), "%" PRIu64 ".%09" PRIu64 ",%u,%u,%u,0x%" PRIx64 ",",
		     row->time_ns / NS_PER_S, row->time_ns % NS_PER_S, row->pid, row->tid, row->cpu,
		     row->ip);
	append(file, numbers, (size_t)n);
	csv_text(file, or_empty(function->name));
	csv_text(file, or_empty(function->module));
	n = snprintf(numbers, sizeof(numbers), "0x%" PRIx64 ",%" PRIu64 ",%s,", row->address,
		     row->size_bytes,
		     ways[row->flags & (COMM_ACCESSES_READ | COMM_ACCESSES_WRITE)]);
	append(file, numbers, (size_t)n);
	csv_flags(file, row->flags);
	n = snprintf(numbers, sizeof(numbers), "%.6g,%s,", row->weight, known[row->known]);
	append(file, numbers, (size_t)n);
	csv_text(file, kind_name(object->kind));
	csv_text(file, or_empty(object->name));
	n = snprintf(numbers, sizeof(numbers), "%" PRIu64 ",%u,%.6g\n", row->burst, row->insn,
		     (double)row->cycle);
	append(file, numbers, (size_t)n);
	return write_scratch(file);
}

static int write_head(struct comm_access_file *file, const struct comm_access_file_head *head)
{
	static const char columns[] =
		"time,pid,tid,cpu,ip,function,module,address,bytes,access,flags,weight,known,"
		"object_kind,object,burst,insn,cycle\n";
	const struct comm_accesses_file fields = {
		.magic = COMM_ACCESSES_MAGIC,
		.version = COMM_ACCESSES_VERSION,
		.byte_order = COMM_ACCESSES_BYTE_ORDER,
		.start_ns = head->start_ns,
		.start_unix_ns = head->start_unix_ns,
		.cycles_per_ns = head->cycles_per_ns,
	};
	int err = file->csv ? comm_out_file_write(file->out, columns, strlen(columns))
			    : comm_out_file_write(file->out, &fields, sizeof(fields));

	return err ? err : comm_out_file_flush(file->out);
}

static bool is_csv(const char *path)
{
	size_t n = strlen(path);

	return n >= 4 && !strcmp(path + n - 4, ".csv");
}

int comm_access_file_create(const char *path, const struct comm_access_file_head *head,
			    struct comm_access_file **ret)
{
	struct comm_access_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->csv = is_csv(path);
	err = comm_out_file_create(path, 0640, &file->out);
	if (!err)
		err = write_head(file, head);
	if (err) {
		comm_access_file_destroy(file);
		return err;
	}
	*ret = file;
	return 0;
}

void comm_access_file_destroy(struct comm_access_file *file)
{
	if (!file)
		return;
	comm_out_file_destroy(file->out);
	comm_bytes_free(&file->scratch);
	free(file->functions.is);
	free(file->objects.is);
	free(file);
}

int comm_access_file_row(struct comm_access_file *file, const struct comm_accesses_row *row,
			 const struct comm_function *function, const struct comm_object *object)
{
	int err = file->csv ? write_csv(file, row, function, object)
			    : write_binary(file, row, function, object);

	file->rows += !err;
	return err;
}

int comm_access_file_start(struct comm_access_file *file)
{
	return comm_out_file_start(file->out);
}

int comm_access_file_flush(struct comm_access_file *file)
{
	return comm_out_file_flush(file->out);
}

int comm_access_file_end(struct comm_access_file *file, uint64_t end_ns, uint64_t give_up_ns)
{
	const struct comm_accesses_end fields = {.end_ns = end_ns, .rows = file->rows};
	int err = 0;

	if (!file->csv)
		err = write_record(file, COMM_ACCESSES_END, &fields, sizeof(fields), NULL, 0);
	return err ? err : comm_out_file_end(file->out, give_up_ns);
}
