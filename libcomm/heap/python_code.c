// SPDX-License-Identifier: GPL-2.0-or-later
#include "python_code.h"

#include "python_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CODES = 512,
	WINDOW = 16 << 10,    /* how far in front of an address its code object may begin */
	TABLE_MOST = 4096,    /* bytes of a table of lines that are kept */
	TYPES_MOST = 8,	      /* that are looked at for one question */
	ALIGNMENT = 16,	      /* of all that CPython allocates */
	UNITS_MOST = 1 << 20, /* of two bytes, in a function */
	LINES_MOST = 1 << 24,
	READS_MOST = 32, /* for one question */
	/* Words of any object. */
	REFERENCES = 0,
	TYPE = 1,
	LENGTH = 2, /* of one with a number of items; of bytecode, units */
	TYPE_NAME = 3,
	HEAD_WORDS = 4,
	BYTES_AT = 32, /* of the items of "bytes" */
};

/* The memory may be another object's by then. */
static const uint64_t fresh_ns = UINT64_C(10) * 1000 * 1000 * 1000;

/* Where a code object has what, bytes; alike in all versions but for these. */
struct code_layout {
	unsigned int minor;
	unsigned int first_line, bytecode;
};

static const struct code_layout layouts[] = {
	{11, 72, 184},
	{12, 68, 192},
	{13, 68, 200},
};

enum { FILE_NAME = 112, QUALIFIED_NAME = 128, LINE_TABLE = 136, HEADER_MOST = 200 };

struct code {
	uint64_t start, end; /* of its bytecode; 0: a free place */
	uint64_t until_ns, used;
	uint32_t tgid;
	uint32_t first_line;
	const char *name, *source;
	uint8_t *table;
	size_t n_table;
};

struct comm_python_codes {
	struct comm_heap_reading reading;
	struct comm_python_memory memory; /* of what is asked about */
	struct code code[CODES];
	uint64_t used;
	/* The type "code" of the process that was asked about last. */
	uint64_t type;
	uint32_t type_tgid;
	uint8_t window[WINDOW];
};

int comm_python_codes_create(const struct comm_heap_reading *reading,
			     struct comm_python_codes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->reading = *reading;
	return 0;
}

static void forget(struct code *code)
{
	free(code->table);
	*code = (struct code){0};
}

void comm_python_codes_destroy(struct comm_python_codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; i < CODES; i++)
		forget(&codes->code[i]);
	free(codes);
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static uint32_t half_at(const uint8_t *bytes)
{
	uint32_t half;

	memcpy(&half, bytes, sizeof(half));
	return half;
}

/* Whether a type is that of code objects. */
static int check_type(struct comm_python_codes *codes, uint32_t tgid, uint64_t at)
{
	uint64_t type[HEAD_WORDS];
	char name[sizeof("code")];
	int err;

	if (codes->type == at && codes->type_tgid == tgid)
		return 0;
	err = comm_python_read(&codes->memory, at, type, sizeof(type));
	if (!err &&
	    (!comm_python_is_count(type[REFERENCES]) || !comm_python_is_pointer(type[TYPE])))
		err = -ENOENT;
	if (!err)
		err = comm_python_read(&codes->memory, type[TYPE_NAME], name, sizeof(name));
	if (!err && memcmp(name, "code", sizeof(name)) != 0)
		err = -ENOENT;
	if (!err) {
		codes->type = at;
		codes->type_tgid = tgid;
	}
	return err;
}

/* By its own words alone. */
static bool may_be_code(const struct code_layout *layout, const uint8_t *object)
{
	uint64_t units = word_at(object + 8 * LENGTH);

	return comm_python_is_count(word_at(object)) &&
	       comm_python_is_pointer(word_at(object + 8 * TYPE)) && units && units < UNITS_MOST &&
	       half_at(object + layout->first_line) < LINES_MOST &&
	       comm_python_is_pointer(word_at(object + FILE_NAME)) &&
	       comm_python_is_pointer(word_at(object + QUALIFIED_NAME)) &&
	       comm_python_is_pointer(word_at(object + LINE_TABLE));
}

/* The code object whose bytecode is at addr, as it is in the window; NULL and an error: there is none. */
static const uint8_t *find_object(struct comm_python_codes *codes, uint32_t tgid,
				  const struct code_layout *layout, uint64_t from, uint64_t addr,
				  int *ret_err)
{
	uint64_t at = (addr - layout->bytecode) & ~(uint64_t)(ALIGNMENT - 1);
	int types = 0;

	*ret_err = -ENOENT;
	for (; at >= from && types < TYPES_MOST; at -= ALIGNMENT) {
		const uint8_t *object = codes->window + (at - from);
		int err;

		if (!may_be_code(layout, object) ||
		    addr - (at + layout->bytecode) >= 2 * word_at(object + 8 * LENGTH))
			continue;
		types++;
		err = check_type(codes, tgid, word_at(object + 8 * TYPE));
		if (!err)
			return object;
		if (err == -EAGAIN) {
			*ret_err = err;
			break;
		}
	}
	return NULL;
}

static void read_table(struct comm_python_codes *codes, uint64_t at, struct code *ret)
{
	uint64_t head[HEAD_WORDS];
	size_t n;

	if (comm_python_read(&codes->memory, at, head, sizeof(head)) || !head[LENGTH])
		return;
	n = head[LENGTH] < TABLE_MOST ? head[LENGTH] : TABLE_MOST;
	ret->table = malloc(n);
	if (ret->table && !comm_python_read(&codes->memory, at + BYTES_AT, ret->table, n))
		ret->n_table = n;
}

static int read_code(struct comm_python_codes *codes, uint32_t tgid,
		     const struct code_layout *layout, const uint8_t *object, uint64_t at,
		     struct code *ret)
{
	const uint64_t file = word_at(object + FILE_NAME), name = word_at(object + QUALIFIED_NAME);
	char text[COMM_NAME_BYTES];
	int err = comm_python_text(&codes->memory, name, text);

	if (err)
		return err;
	ret->name = comm_names_add(codes->reading.names, text, sizeof(text));
	err = comm_python_text(&codes->memory, file, text);
	if (err)
		return err;
	ret->source = comm_names_add(codes->reading.names, text, sizeof(text));
	ret->tgid = tgid;
	ret->start = at + layout->bytecode;
	ret->end = ret->start + 2 * word_at(object + 8 * LENGTH);
	ret->first_line = half_at(object + layout->first_line);
	read_table(codes, word_at(object + LINE_TABLE), ret);
	return 0;
}

static const struct code_layout *layout_of(const struct comm_heap_place *place)
{
	unsigned int minor = comm_maps_python_minor(place->map, place->n_map);

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* Fills the place of a code object that is not known. */
static int learn(struct comm_python_codes *codes, uint32_t tgid,
		 const struct comm_heap_place *place, struct code *ret)
{
	const struct code_layout *layout = layout_of(place);
	uint64_t from = place->addr & ~(uint64_t)(ALIGNMENT - 1);
	const uint8_t *object;
	int err;

	if (!layout)
		return -ENOENT;
	codes->memory = (struct comm_python_memory){
		.read = codes->reading.read,
		.ctx = codes->reading.ctx,
		.tgid = tgid,
		.layout = comm_python_layout_of(layout->minor),
		.reads_left = READS_MOST,
	};
	from -= WINDOW - ALIGNMENT;
	if (from < place->m->start || from > place->addr)
		from = place->m->start;
	if (place->addr - from < layout->bytecode)
		return -ENOENT;
	err = comm_python_read(&codes->memory, from, codes->window, place->addr - from);
	if (err)
		return err;
	object = find_object(codes, tgid, layout, from, place->addr, &err);
	if (!object)
		return err;
	return read_code(codes, tgid, layout, object, from + (uint64_t)(object - codes->window),
			 ret);
}

static uint32_t varint(const uint8_t *table, size_t n, size_t *at)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; *at < n && shift < 32; shift += 6) {
		uint8_t byte = table[(*at)++];

		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

/* The line of the unit-th piece of bytecode; the function's first line where the table does not say. */
static uint32_t line_of(const struct code *code, uint64_t unit)
{
	enum { NO_COLUMNS = 13, LONG = 14, NONE = 15, ONE_LINE = 10 };
	uint32_t line = code->first_line;

	for (size_t at = 0; at < code->n_table;) {
		uint8_t first = code->table[at++];
		unsigned int kind = first >> 3 & 15, units = (first & 7) + 1;
		uint32_t delta = 0, raw;

		if (kind == NO_COLUMNS || kind == LONG) {
			raw = varint(code->table, code->n_table, &at);
			delta = raw & 1 ? 0U - (raw >> 1) : raw >> 1;
		} else if (kind >= ONE_LINE && kind < NO_COLUMNS) {
			delta = kind - ONE_LINE;
		}
		line += delta;
		if (unit < units)
			return kind == NONE || line - 1 >= LINES_MOST ? code->first_line : line;
		unit -= units;
		/* An entry begins with a byte that has this bit, and no other byte has. */
		while (at < code->n_table && !(code->table[at] & 0x80))
			at++;
	}
	return code->first_line;
}

static struct code *known(struct comm_python_codes *codes, uint32_t tgid, uint64_t addr,
			  struct code **ret_oldest)
{
	*ret_oldest = codes->code;
	for (size_t i = 0; i < CODES; i++) {
		struct code *code = &codes->code[i];

		if (code->tgid == tgid && addr - code->start < code->end - code->start)
			return code;
		if (code->used < (*ret_oldest)->used)
			*ret_oldest = code;
	}
	return NULL;
}

int comm_python_codes_at(struct comm_python_codes *codes, uint32_t tgid,
			 const struct comm_heap_place *place, struct comm_code *ret)
{
	uint64_t now_ns = codes->reading.now_ns(codes->reading.ctx);
	struct code *oldest, *code = known(codes, tgid, place->addr, &oldest);
	const char *base;
	int err;

	if (!code || now_ns >= code->until_ns) {
		code = code ? code : oldest;
		forget(code);
		err = learn(codes, tgid, place, code);
		if (err) {
			forget(code);
			return err == -EPROTO ? -ENOENT : err;
		}
		code->until_ns = now_ns + fresh_ns;
	}
	code->used = ++codes->used;
	base = comm_maps_base(code->source);
	*ret = (struct comm_code){
		.function = code->name,
		.module = comm_names_add(codes->reading.names, base, strlen(base)),
		.build_id = "",
		.source = code->source,
		.line = line_of(code, (place->addr - code->start) / 2),
	};
	return 0;
}
