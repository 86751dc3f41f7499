// SPDX-License-Identifier: GPL-2.0-or-later
#include "jitmap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct comm_names *names;
static struct comm_jitmap *map;
static struct comm_jit_budget budget;
static int file, saved;

static int setup(void **state)
{
	(void)state;
	file = memfd_create("perf map", MFD_CLOEXEC);
	saved = memfd_create("saved", MFD_CLOEXEC);
	budget = (struct comm_jit_budget){.max_bytes = 64 << 20};
	if (file < 0 || saved < 0 || comm_names_create(1 << 20, &names) < 0)
		return -1;
	return comm_jitmap_create(names, &budget, &map);
}

static int teardown(void **state)
{
	(void)state;
	comm_jitmap_destroy(map);
	comm_names_destroy(names);
	close(file);
	close(saved);
	return budget.bytes == 0 ? 0 : -1;
}

static void append(const char *text)
{
	assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
}

/* Reads one piece; returns what loading it said. */
static int read_piece(bool *ret_more)
{
	assert_int_equal(ftruncate(saved, 0), 0);
	assert_int_equal(comm_jit_read(file, comm_jitmap_place(map), saved), 0);
	return comm_jitmap_load(map, saved, ret_more);
}

static void feed(const char *text)
{
	bool more;

	append(text);
	assert_int_equal(read_piece(&more), 0);
	assert_false(more);
}

static const char *at(uint64_t addr)
{
	uint64_t start, end;
	const char *name = comm_jitmap_find(map, addr, &start, &end);

	if (name)
		assert_true(start <= addr && addr < end);
	return name ? name : "-";
}

static void finds(void **state)
{
	(void)state;
	feed("7f00 10 first name\n0x8000 0x20 LB;::run\n");
	assert_string_equal(at(0x7eff), "-");
	assert_string_equal(at(0x7f00), "first name");
	assert_string_equal(at(0x7f0f), "first name");
	assert_string_equal(at(0x7f10), "-");
	assert_string_equal(at(0x801f), "LB;::run");
}

static void the_later_wins(void **state)
{
	(void)state;
	feed("1000 100 old\n");
	assert_string_equal(at(0x1010), "old");
	feed("1008 10 new\n");
	assert_string_equal(at(0x1010), "new");
	assert_string_equal(at(0x1020), "old");
	feed("1000 100 newest\n");
	assert_string_equal(at(0x1010), "newest");
	assert_int_equal(comm_jitmap_entries(map), 2);
}

static void damaged_lines_are_left_out(void **state)
{
	static char line[10000];

	(void)state;
	memset(line, 'a', sizeof(line) - 2);
	memcpy(line, "2000 10 ", 8);
	line[sizeof(line) - 2] = '\n';
	feed("\n1000\n1000 \nzz 10 x\n1000 0 empty\nffffffffffffffff 10 wraps\n"
	     "11111111111111111111 1 long\n");
	feed(line);
	assert_int_equal(comm_jitmap_entries(map), 0);
	feed("3000 10 \033]0;evil\007\n");
	assert_string_equal(at(0x3000), "\\x1b]0;evil\\x07");
}

static void lines_may_come_in_pieces(void **state)
{
	(void)state;
	feed("40");
	feed("00 1");
	feed("0 so");
	assert_string_equal(at(0x4000), "-");
	feed("me\n5000 10 next\n");
	assert_string_equal(at(0x4000), "some");
	assert_string_equal(at(0x5000), "next");
}

static void reads_what_was_added(void **state)
{
	bool more;

	(void)state;
	feed("1000 10 one\n20");
	assert_string_equal(at(0x1000), "one");
	feed("00 10 two\n");
	assert_string_equal(at(0x2000), "two");
	assert_int_equal(comm_jitmap_entries(map), 2);
	/* Another process with this pid began anew. */
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	feed("3000 10 x\n");
	assert_string_equal(at(0x1000), "-");
	assert_string_equal(at(0x3000), "x");
	close(file);
	file = memfd_create("another", MFD_CLOEXEC);
	append("4000 10 much longer than what stood there\n");
	assert_int_equal(read_piece(&more), 0);
	assert_int_equal(comm_jitmap_entries(map), 1);
	assert_true(comm_jit_read(-1, comm_jitmap_place(map), saved) < 0);
}

/* A large map comes in pieces, of which each costs what it holds. */
static void write_anew(const char *text)
{
	bool more;

	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	append(text);
	assert_int_equal(read_piece(&more), 0);
	assert_false(more);
}

/* Each time as a whole, as perf-map-agent and jcmd do: as long as before, or longer. */
static void reads_what_was_written_anew(void **state)
{
	static char old[2 * COMM_JIT_CHECKED_BYTES], new[sizeof(old)];

	(void)state;
	feed("1000 10 one\n2000 10 two\n");
	write_anew("3000 10 one\n4000 10 two\n");
	assert_string_equal(at(0x1000), "-");
	assert_string_equal(at(0x3000), "one");
	assert_string_equal(at(0x4000), "two");
	write_anew("5000 10 one\n4000 10 two\n6000 10 three\n");
	assert_string_equal(at(0x3000), "-");
	assert_string_equal(at(0x5000), "one");
	assert_string_equal(at(0x6000), "three");
	/* What has not changed is not read again. */
	feed("7000 10 four\n");
	assert_int_equal(comm_jitmap_entries(map), 4);
	assert_string_equal(at(0x5000), "one");
	/* Far in front of its end, too, where what comes behind has moved. */
	for (size_t n = 0, i = 0; n + 64 < sizeof(old); i++)
		n += (size_t)snprintf(old + n, 64, "%zx 10 name\n", 0x100000 + 16 * i);
	write_anew(old);
	assert_string_equal(at(0x100000), "name");
	snprintf(new, sizeof(new), "900 10 moved\n%s", old + strlen("100000 10 name\n"));
	write_anew(new);
	assert_string_equal(at(0x100000), "-");
	assert_string_equal(at(0x900), "moved");
}

static void many_lines(void **state)
{
	enum { LINES = 300000 };
	unsigned int pieces = 0;
	bool more = true;
	FILE *to = fdopen(dup(file), "w");
	char name[64];

	(void)state;
	for (int i = 0; i < LINES; i++)
		fprintf(to, "%x 10 Lorg/example/Class%d;::method\n", 0x10000000 + i * 16, i);
	fclose(to);
	while (more) {
		assert_int_equal(read_piece(&more), 0);
		pieces++;
	}
	assert_in_range(pieces, 3, 5);
	assert_int_equal(comm_jitmap_entries(map), LINES);
	for (int i = 0; i < LINES; i += 999) {
		snprintf(name, sizeof(name), "Lorg/example/Class%d;::method", i);
		assert_string_equal(at(0x10000000 + (uint64_t)i * 16 + 15), name);
	}
}

static void a_line_without_an_end(void **state)
{
	bool more;

	(void)state;
	assert_int_equal(ftruncate(file, COMM_JIT_PIECE_BYTES + 100), 0);
	assert_int_equal(read_piece(&more), 0);
	assert_true(more);
	assert_int_equal(comm_jitmap_place(map)->offset, COMM_JIT_PIECE_BYTES);
	assert_int_equal(read_piece(&more), 0);
	assert_false(more);
	assert_int_equal(lseek(file, 0, SEEK_END), COMM_JIT_PIECE_BYTES + 100);
	/* What follows it, on its line, is not taken for a line. */
	feed("1000 10 no\n2000 10 yes\n");
	assert_string_equal(at(0x1000), "-");
	assert_string_equal(at(0x2000), "yes");
}

/* All maps share their room, and give it back. */
static void no_room(void **state)
{
	struct comm_jitmap *other;
	bool more;

	(void)state;
	budget.max_bytes = 100000;
	assert_int_equal(comm_jitmap_create(names, &budget, &other), 0);
	append("1000 10 one\n");
	assert_int_equal(comm_jit_read(file, comm_jitmap_place(other), saved), 0);
	assert_int_equal(comm_jitmap_load(other, saved, &more), 0);
	assert_int_equal(read_piece(&more), -ENOSPC);
	assert_string_equal(at(0x1000), "-");
	comm_jitmap_destroy(other);
	assert_int_equal(read_piece(&more), 0);
	assert_string_equal(at(0x1000), "one");
}

/* What a child saved is not trusted: each byte of it may be another. */
static void damaged_pieces(void **state)
{
	uint8_t byte, bent;
	uint64_t start, end;
	struct stat st;
	bool more;

	(void)state;
	append("1000 10 one\n1008 20 two\n2000 8 three\n");
	assert_int_equal(comm_jit_read(file, comm_jitmap_place(map), saved), 0);
	assert_int_equal(fstat(saved, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			assert_int_equal(pread(saved, &byte, 1, i), 1);
			bent = (uint8_t)(byte ^ 1u << bit);
			assert_int_equal(pwrite(saved, &bent, 1, i), 1);
			if (comm_jitmap_load(map, saved, &more) == 0)
				for (uint64_t addr = 0xff0; addr < 0x2010; addr++)
					comm_jitmap_find(map, addr, &start, &end);
			assert_int_equal(pwrite(saved, &byte, 1, i), 1);
		}
	}
	for (off_t cut = st.st_size - 1; cut >= 0; cut--) {
		assert_int_equal(ftruncate(saved, cut), 0);
		assert_int_equal(comm_jitmap_load(map, saved, &more), -ENODATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds, setup, teardown),
		cmocka_unit_test_setup_teardown(the_later_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_lines_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_may_come_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_what_was_added, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_what_was_written_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(many_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_without_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_pieces, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
