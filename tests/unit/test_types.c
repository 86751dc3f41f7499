// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types of what instructions read, against programs whose reads are known by construction
 * (data/typed.c, data/typed.cc), of both compilers and without and with optimisation.  "test_types FILE" measures any other.
 */
#include "type_build.h"

#include "clock.h"
#include "demangle.h"
#include "elfsym.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEXT_BYTES = 0x10000, FIXED_TEXT = 0x400000, NAME = 256 };

/* Each function and the fields that it reads, with a space after each. */
struct reads {
	const char *function, *fields;
};

static const struct reads truth[] = {
	{"read_id", "struct client.id "},
	{"read_array", "struct client.address[].city struct client.address[].street "},
	{"read_list", "struct client.next struct client.n_friends "},
	{"read_far", "struct client.next struct client.querybuf "},
	{"read_walk", "struct client.id "},
	{"read_global", "struct shared.hits[] struct shared.home.city struct shared.client "
			"struct client.n_friends "},
	{"read_head", "struct client.answer.kind "},
	{"read_bits", "answer.low "},
	{"read_union", "struct client.answer.value.number "},
	{"read_result", "struct client.last.city "},
	{"read_friends", "struct client.n_friends struct client.friends struct client.id "},
	{"read_inlined", "struct client.last.street "},
	{"read_kept", "struct client.n_friends struct client.last.city struct client.answer.kind "},
	{"read_either", "struct client.id "},
	{"read_switch", "struct client.id struct client.n_friends struct client.last.street "
			"struct client.answer.kind struct client.next "},
	{"read_void", "struct client.last.city "},
	{"read_called", "struct client.handle struct client.next "},
	{"read_static", "struct address.city struct address.street "},
	{"read_name", "struct client.name[] "},
	{"read_pairs", "struct pair.of struct client.id "},
	{"read_turns", ""},
	{"shop::read_derived(shop::Item const&)", "Item.price "},
	{"shop::read_base(shop::Item const&)", "Item.stock "},
	{"shop::read_box(shop::Box<shop::Item>&)", "Box<shop::Item>.content Item.next Item.price "},
	{"shop::Box<shop::Item>::bigger() const", "Box<shop::Item>.size "},
};

/* What they may be said to read just as well. */
static const struct reads also[] = {
	{"read_inlined", "struct address.street "},
	{"read_union", "struct client.answer.value.at struct address.street "},
	{"read_turns", "struct client.n_friends struct address.city struct client.address[].city "},
};

enum {
	FUNCTIONS = sizeof(truth) / sizeof(*truth),
	ALSO = sizeof(also) / sizeof(*also),
};

/*
 * Of fields of structures: which are right, and how many of those in the list were found.  An
 * optimiser may read what it knows already in another way, so some may be missing.
 */
static struct score {
	unsigned int right, wrong, found, known;
} all;

static bool is_listed(const struct reads *reads, size_t n, const char *function, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(reads[i].function, function))
			return strstr(reads[i].fields, word);
	return false;
}

static bool is_known(const char *function)
{
	return is_listed(truth, FUNCTIONS, function, "");
}

static void judge(const char *what, const char *function, const char *name, char *seen,
		  struct score *score)
{
	char word[NAME + 2];

	if (!is_known(function))
		return;
	snprintf(word, sizeof(word), "%s ", name);
	if (!is_listed(truth, FUNCTIONS, function, word) &&
	    !is_listed(also, ALSO, function, word)) {
		print_message("%s: %s is said to read %s\n", what, function, name);
		score->wrong++;
		return;
	}
	score->right++;
	strcat(strcat(seen, function), " ");
	strcat(seen, word);
}

/* Words may hold spaces: a field ends where " " is followed by the next type, or by nothing. */
static void count_found(const char *what, const char *seen, bool is_cc, struct score *score)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const char *at = truth[i].fields;

		if (!!strstr(truth[i].function, "shop::") != is_cc)
			continue;
		while (*at) {
			const char *dot = strchr(at, '.'), *end = strchr(dot, ' ') + 1;
			char word[NAME];

			snprintf(word, sizeof(word), "%s %.*s", truth[i].function, (int)(end - at),
				 at);
			score->known++;
			if (strstr(seen, word))
				score->found++;
			else
				print_message("%s: not seen: %s\n", what, word);
			at = end;
		}
	}
}

static void check_program(const char *compiler, const char *level, const char *source)
{
	char command[512], file[] = "/tmp/commprof-typed-XXXXXX", what[64];
	static char seen[1 << 16];
	struct score score = {0};
	struct comm_type_table *table;
	struct comm_elfsym *sym;
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	close(fd);
	snprintf(what, sizeof(what), "%s %s", compiler, level);
	snprintf(command, sizeof(command), "%s -g %s -o %s tests/unit/data/%s 2>/dev/null",
		 compiler, level, file, source);
	if (system(command) != 0) {
		print_message("there is no %s\n", compiler);
		unlink(file);
		return;
	}
	fd = open(file, O_RDONLY | O_CLOEXEC);
	unlink(file);
	assert_true(fd >= 0);
	assert_int_equal(comm_type_build(fd, fd, 10000, &table, NULL), 0);
	assert_int_equal(comm_elfsym_create(fd, -1, &sym), 0);
	seen[0] = 0;
	for (uint64_t at = 0; at < FIXED_TEXT + TEXT_BYTES; at++) {
		struct comm_type_field f;
		struct comm_symbol function;
		char name[NAME], clean[NAME];

		if (at == TEXT_BYTES)
			at = FIXED_TEXT;
		/* Locals on the stack, and what single words are behind pointers, prove nothing. */
		if (comm_type_table_find(table, at, &f) < 0 || !*f.field ||
		    comm_elfsym_function(sym, at, &function) < 0)
			continue;
		snprintf(name, sizeof(name), "%s.%s", f.type, f.field);
		judge(what, comm_demangle(function.name, clean, sizeof(clean)), name, seen, &score);
	}
	count_found(what, seen, strstr(source, ".cc"), &score);
	print_message("%s: %u of %u reads right, %u of %u fields found\n", what, score.right,
		      score.right + score.wrong, score.found, score.known);
	all.right += score.right;
	all.wrong += score.wrong;
	all.found += score.found;
	all.known += score.known;
	comm_elfsym_destroy(sym);
	comm_type_table_destroy(table);
	close(fd);
}

static void test_truth(void **state)
{
	static const char *const level[] = {"-O0", "-O1", "-O2", "-O2 -fPIC -shared",
					    "-O3 -no-pie"};

	(void)state;
	for (size_t i = 0; i < sizeof(level) / sizeof(*level); i++) {
		check_program("gcc", level[i], "typed.c");
		check_program("clang", level[i], "typed.c");
		check_program("g++", level[i], "typed.cc");
		check_program("clang++", level[i], "typed.cc");
	}
	assert_true(all.right > 100);
	assert_int_equal(all.wrong, 0);
	assert_true(all.found * 20 >= all.known * 19);
}

static int compile(const char *options)
{
	char command[256], file[] = "/tmp/commprof-typed-XXXXXX";
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "gcc %s -o %s tests/unit/data/typed.c", options, file);
	assert_int_equal(system(command), 0);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	unlink(file);
	assert_true(fd >= 0);
	return fd;
}

static void test_without_dwarf(void **state)
{
	struct comm_type_table *table;
	int fd = compile("-O2"), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(comm_type_build(fd, fd, 1000, &table, NULL), -ENODATA);
	assert_int_equal(comm_type_build(null, fd, 1000, &table, NULL), -ENODATA);
	close(null);
	close(fd);
}

/* No time at all: there may be no table, and if there is one it is whole. */
static void test_out_of_time(void **state)
{
	struct comm_type_table *table;
	int fd = compile("-O2 -g");

	(void)state;
	if (comm_type_build(fd, fd, 0, &table, NULL) == 0)
		comm_type_table_destroy(table);
	close(fd);
}

static void test_saved(void **state)
{
	struct comm_type_table *table, *loaded;
	struct comm_type_field a, b;
	int fd = compile("-O2 -g"), saved = memfd_create("types", MFD_CLOEXEC);
	char name[1024];
	off_t bytes;
	size_t n = 0;

	(void)state;
	assert_int_equal(comm_type_build(fd, fd, 10000, &table, NULL), 0);
	assert_int_equal(comm_type_table_save(table, saved), 0);
	assert_int_equal(comm_type_table_load(saved, &loaded), 0);
	assert_int_equal(comm_type_table_rows(loaded), comm_type_table_rows(table));
	for (uint64_t at = 0; at < TEXT_BYTES; at++) {
		int err = comm_type_table_find(table, at, &a);

		assert_int_equal(comm_type_table_find(loaded, at, &b), err);
		if (err)
			continue;
		assert_string_equal(a.type, b.type);
		assert_string_equal(a.field, b.field);
		assert_int_equal(a.offset, b.offset);
		n++;
	}
	assert_int_equal(n, comm_type_table_rows(table));
	assert_true(n > 20);
	comm_type_table_destroy(loaded);
	/* Wherever it is cut off, and with each of its first words spoilt. */
	bytes = lseek(saved, 0, SEEK_END);
	assert_int_equal(ftruncate(saved, bytes - 1), 0);
	assert_int_equal(comm_type_table_load(saved, &loaded), -ENODATA);
	for (off_t word = 0; word < 32; word += 8) {
		const uint64_t many = UINT64_MAX / 2;

		assert_int_equal(comm_type_table_save(table, saved), 0);
		assert_int_equal(pwrite(saved, &many, 8, word), 8);
		assert_int_equal(comm_type_table_load(saved, &loaded), -ENODATA);
	}
	/* Rows out of order, and one whose field there is not. */
	assert_int_equal(comm_type_table_save(table, saved), 0);
	assert_int_equal(pwrite(saved, &(uint64_t){UINT64_MAX}, 8, 32), 8);
	assert_int_equal(comm_type_table_load(saved, &loaded), -ENODATA);
	assert_int_equal(comm_type_table_save(table, saved), 0);
	assert_int_equal(pwrite(saved, &(uint32_t){UINT32_MAX}, 4, 40), 4);
	assert_int_equal(comm_type_table_load(saved, &loaded), -ENODATA);
	/* A name that is longer than any is made, without and then with its NUL in time. */
	for (size_t longest = 513; longest >= 512; longest--) {
		const uint64_t head[4] = {0x65707974, [3] = longest + 1};

		assert_int_equal(pwrite(saved, head, sizeof(head), 0), sizeof(head));
		memset(name, 'x', sizeof(name));
		name[longest] = 0;
		assert_int_equal(pwrite(saved, name, longest + 1, sizeof(head)), longest + 1);
		assert_int_equal(comm_type_table_load(saved, &loaded),
				 longest > 512 ? -ENODATA : 0);
	}
	comm_type_table_destroy(loaded);
	comm_type_table_destroy(table);
	close(saved);
	close(fd);
}

/* Of any program: how many of its operands have a type, and what that costs. */
static int measure(const char *file)
{
	struct comm_type_counts counts;
	struct comm_type_table *table;
	int fd = open(file, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 ? -errno : comm_type_build(fd, fd, 60000, &table, &counts);
	if (err) {
		printf("%s: %s\n", file, strerror(-err));
		return 1;
	}
	printf("%s: %" PRIu64 " of %" PRIu64 " operands (%.1f %%) in %" PRIu64
	       " functions have a type; %.3f s of CPU, %zu bytes\n",
	       file, counts.typed, counts.all, 100.0 * (double)counts.typed / (double)counts.all,
	       counts.functions, (double)comm_clock_thread_ns() / 1e9,
	       comm_type_table_bytes(table));
	comm_type_table_destroy(table);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_without_dwarf),
		cmocka_unit_test(test_out_of_time),
		cmocka_unit_test(test_saved),
	};

	if (argc > 1)
		return measure(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
