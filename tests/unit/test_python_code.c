// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of Python programs (python_code.c): of an interpreter that says itself where its bytecode is, and in made
 * memory, as no interpreter would lay it out.
 */
#include <inttypes.h>
#include <sys/wait.h>

#include "own_heap.h"
#include "python_child.h"
#include "python_code.h"

enum { LINES_MOST = 4096, TGID = 7 };

/* Each piece of bytecode, with its line and its function. */
static const char script[] =
	"import sys\n"
	"def plain(a):\n"
	"  b = a + 1\n"
	"\n"
	"  return [b for _ in range(3)]\n"
	"class Order:\n"
	"  def total(self):\n"
	"    return sum(\n"
	"      self.prices)\n"
	"def \xc3\xa4rger(x): return x\n"
	"def \xe4\xb8\xad(x): return x\n"
	"exec('def long(x):\\n' + ''.join('  x += %d\\n' % i for i in range(400)))\n"
	"at = {11: 184, 12: 192, 13: 200}.get(sys.version_info[1], 0)\n"
	"if not at or sys.version_info[0] != 3: sys.exit(77)\n"
	"for f in (plain, Order.total, \xc3\xa4rger, \xe4\xb8\xad, long):\n"
	"  f(Order) if f in (\xc3\xa4rger, \xe4\xb8\xad) else None\n"
	"  c = f.__code__\n"
	"  for start, end, line in c.co_lines():\n"
	"    for i in range(start, end, 2):\n"
	"      print('%x %d %s' % (id(c) + at + i, line or c.co_firstlineno, c.co_qualname))\n"
	"  print('%x -1 -' % (id(c) + at - 2))\n"
	"  print('%x -1 -' % (id(c) + at + len(c.co_code)))\n"
	"print('0 0 end', flush=True)\n"
	"sys.stdin.read()\n";

static struct {
	uint64_t addr;
	int line; /* -1: no bytecode is there */
	char function[64];
} told[LINES_MOST];

static struct comm_python_codes *codes;

static void start(ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes))
{
	struct comm_heap_reading reading = {.read = read, .now_ns = now, .names = names};

	assert_int_equal(comm_python_codes_create(&reading, &codes), 0);
}

static int stop_all(void **state)
{
	comm_python_codes_destroy(codes);
	codes = NULL;
	return teardown(state);
}

/* Returns how much it told; 0: there is no such interpreter here. */
static size_t what_python_tells(pid_t *ret_pid, int *ret_stop)
{
	FILE *file = start_python(script, ret_pid, ret_stop);
	size_t n = 0;

	while (n < LINES_MOST &&
	       fscanf(file, "%" SCNx64 " %d %63s", &told[n].addr, &told[n].line,
		      told[n].function) == 3 &&
	       told[n].addr)
		n++;
	fclose(file);
	return n;
}

static void functions_of_an_interpreter(void **state)
{
	struct own_place own = {0};
	size_t n, n_right = 0;
	int stop, status;
	pid_t pid;

	(void)state;
	start(read_self);
	n = what_python_tells(&pid, &stop);
	for (size_t i = 0; i < n; i++) {
		struct comm_heap_place place;
		struct comm_code code;
		int err;

		if (told[i].addr < own.m.start || told[i].addr >= own.m.end)
			own = place_in(pid, told[i].addr);
		place = (struct comm_heap_place){
			.addr = told[i].addr, .m = &own.m, .map = own.map, .n_map = own.n_map};
		err = comm_python_codes_at(codes, (uint32_t)pid, &place, &code);
		if (told[i].line < 0) {
			assert_int_equal(err, -ENOENT);
			continue;
		}
		assert_int_equal(err, 0);
		assert_string_equal(code.function, told[i].function);
		assert_string_equal(code.source, "<string>");
		assert_int_equal(code.line, told[i].line);
		n_right++;
	}
	close(stop);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!n) {
		print_message("no CPython of 3.11 to 3.13 is at /usr/bin/python3\n");
		skip();
	}
	assert_true(n_right > 800);
}

/* Made memory, as of 3.11. */
enum {
	HEAP = 0x600000,
	HEAP_BYTES = 1 << 16,
	COPIES = 1024,
	FIRST_LINE = 72,
	FILE_NAME = 112,
	NAME = 128,
	TABLE = 136,
	BYTECODE = 184,
	OBJECT = HEAP + 0x6000,
	UNITS = 40,
	CODE = OBJECT + BYTECODE,
	TYPE = HEAP + 0x8000,
	TYPE_NAME = HEAP + 0x8100,
	TEXT_FILE = HEAP + 0x8200,
	TEXT_NAME = HEAP + 0x8300,
	LINES = HEAP + 0x8400,
};

static uint8_t memory[HEAP_BYTES];
static int n_reads, read_err;
static bool repeats; /* the heap is so many times the same */

static const struct comm_mapping made[] = {
	{.start = 0x400000, .end = 0x500000, .kind = COMM_MAP_FILE, .path = "/usr/bin/python3.11"},
	{.start = HEAP, .end = HEAP + COPIES * HEAP_BYTES, .kind = COMM_MAP_ANON, .path = ""},
};

static ssize_t read_made(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	(void)ctx;
	assert_int_equal(tgid, TGID);
	n_reads++;
	if (read_err)
		return read_err;
	if (repeats)
		addr = HEAP + (addr - HEAP) % HEAP_BYTES;
	if (addr < HEAP || addr - HEAP >= HEAP_BYTES)
		return -EFAULT;
	if (bytes > HEAP_BYTES - (addr - HEAP))
		bytes = HEAP_BYTES - (addr - HEAP);
	memcpy(buf, memory + (addr - HEAP), bytes);
	return (ssize_t)bytes;
}

static void put(uint64_t at, uint64_t word)
{
	memcpy(memory + (at - HEAP), &word, sizeof(word));
}

static void put_text(uint64_t at, const char *text)
{
	put(at, 1);
	put(at + 8, TYPE);
	put(at + 16, strlen(text));
	put(at + 32, 1 << 6 | 1 << 5 | 1 << 2); /* ASCII, compact, of bytes */
	memcpy(memory + (at + 48 - HEAP), text, strlen(text));
}

static void put_code(const char *name)
{
	static const uint8_t lines[] = {
		0x80 | 11 << 3 | 7, 0,	       0,	   /* 8 units, a line farther */
		0x80 | 13 << 3 | 7, 3,			   /* 8, a line back */
		0x80 | 15 << 3 | 7,			   /* 8 of no line */
		0x80 | 14 << 3 | 7, 0x40 | 20, 3, 0, 0, 0, /* 8, 106 lines farther */
	};

	memset(memory, 0, sizeof(memory));
	put(TYPE, 5);
	put(TYPE + 8, TYPE);
	put(TYPE + 24, TYPE_NAME);
	memcpy(memory + (TYPE_NAME - HEAP), "code", sizeof("code"));
	put(OBJECT, 2);
	put(OBJECT + 8, TYPE);
	put(OBJECT + 16, UNITS);
	memory[OBJECT - HEAP + FIRST_LINE] = 10;
	put(OBJECT + FILE_NAME, TEXT_FILE);
	put(OBJECT + NAME, TEXT_NAME);
	put(OBJECT + TABLE, LINES);
	put_text(TEXT_FILE, "/srv/shop/app.py");
	put_text(TEXT_NAME, name);
	put(LINES + 16, sizeof(lines));
	memcpy(memory + (LINES + 32 - HEAP), lines, sizeof(lines));
}

static int ask(uint64_t addr, struct comm_code *ret)
{
	const struct comm_heap_place place = {.addr = addr, .m = &made[1], .map = made, .n_map = 2};

	return comm_python_codes_at(codes, TGID, &place, ret);
}

static void lines_of_a_table(void **state)
{
	static const int line[UNITS / 8] = {11, 10, 10, 116, 10};
	struct comm_code code;

	(void)state;
	start(read_made);
	put_code("Order.total");
	for (unsigned int i = 0; i < UNITS; i++) {
		assert_int_equal(ask(CODE + 2 * i, &code), 0);
		assert_string_equal(code.function, "Order.total");
		assert_string_equal(code.module, "app.py");
		assert_string_equal(code.source, "/srv/shop/app.py");
		assert_int_equal(code.line, line[i / 8]);
	}
	assert_int_equal(ask(CODE - 2, &code), -ENOENT);
	assert_int_equal(ask(CODE + 2 * UNITS, &code), -ENOENT);
}

static void what_is_known_is_not_read_again_for_a_while(void **state)
{
	struct comm_code code;
	int n;

	(void)state;
	start(read_made);
	put_code("one");
	assert_int_equal(ask(CODE, &code), 0);
	n = n_reads;
	put_code("two");
	assert_int_equal(ask(CODE + 4, &code), 0);
	assert_int_equal(n_reads, n);
	assert_string_equal(code.function, "one");
	/* Ten seconds later it may be another's memory. */
	clock_ns += 11ULL * 1000 * 1000 * 1000;
	assert_int_equal(ask(CODE + 4, &code), 0);
	assert_string_equal(code.function, "two");
	clock_ns += 11ULL * 1000 * 1000 * 1000;
	memset(memory, 0, sizeof(memory));
	assert_int_equal(ask(CODE + 4, &code), -ENOENT);
	read_err = -EAGAIN;
	assert_int_equal(ask(CODE + 4, &code), -EAGAIN);
	read_err = 0;
}

static void what_lies_is_no_code(void **state)
{
	static const struct {
		uint64_t at, word;
	} broken[] = {
		{OBJECT, 0},			 /* no references */
		{OBJECT, UINT64_C(1) << 40},	 /* more than there can be */
		{OBJECT + 8, 0},		 /* no type */
		{OBJECT + 8, TYPE_NAME},	 /* a type that is none */
		{OBJECT + 8, UINT64_C(1) << 50}, /* a type elsewhere */
		{OBJECT + 16, 0},
		{OBJECT + 16, UINT64_MAX},
		{OBJECT + NAME, 3},
		{OBJECT + NAME, HEAP + HEAP_BYTES},
		{OBJECT + FILE_NAME, HEAP + HEAP_BYTES - 8},
		{TYPE, 0},
		{TYPE + 24, HEAP + HEAP_BYTES},
		{TYPE_NAME, 0x747865746e6f63}, /* "context" */
		{TEXT_NAME + 16, 0},
		{TEXT_NAME + 48, 0},			    /* begins with NUL */
		{TEXT_NAME + 32, 0},			    /* elsewhere */
		{TEXT_NAME + 32, 1 << 6 | 1 << 5 | 3 << 2}, /* characters of three bytes */
	};
	struct comm_code code;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		start(read_made);
		put_code("f");
		put(broken[i].at, broken[i].word);
		if (ask(CODE, &code) != -ENOENT && ask(CODE, &code) != -EFAULT)
			fail_msg("broken word %zu is believed", i);
		comm_python_codes_destroy(codes);
	}
	/* A table that cannot be read, or lies, costs the lines alone. */
	start(read_made);
	put_code("f");
	put(OBJECT + TABLE, HEAP + HEAP_BYTES);
	assert_int_equal(ask(CODE, &code), 0);
	assert_int_equal(code.line, 10);
	comm_python_codes_destroy(codes);
	start(read_made);
	put_code("f");
	put(LINES + 16, UINT64_MAX);
	memset(memory + (LINES + 32 - HEAP), 0x40, 1024);
	assert_int_equal(ask(CODE, &code), 0);
}

/* The first ones are forgotten, and found again. */
static void more_code_than_is_kept(void **state)
{
	struct comm_code code;

	(void)state;
	start(read_made);
	put_code("f");
	repeats = true;
	for (int turn = 0; turn < 2; turn++)
		for (uint64_t i = 0; i < COPIES; i++) {
			assert_int_equal(ask(CODE + i * HEAP_BYTES, &code), 0);
			assert_int_equal(code.line, 11);
		}
	repeats = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(functions_of_an_interpreter, setup, stop_all),
		cmocka_unit_test_setup_teardown(lines_of_a_table, setup, stop_all),
		cmocka_unit_test_setup_teardown(what_is_known_is_not_read_again_for_a_while, setup,
						stop_all),
		cmocka_unit_test_setup_teardown(what_lies_is_no_code, setup, stop_all),
		cmocka_unit_test_setup_teardown(more_code_than_is_kept, setup, stop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
