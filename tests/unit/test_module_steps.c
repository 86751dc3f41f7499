// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What it takes to keep the tables of thousands of files: counted in instructions, by the
 * processor's trap flag, which are the same on a busy machine.
 */
#include "elfsym.h"
#include "module.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096 };

static struct comm_names *names;
static struct comm_modules *modules;
static void *asked_of;
static enum comm_parse_kind asked_kind;
static volatile uint64_t n_steps;

/* In the place of the parser: what is asked for is answered by the tests. */
int comm_parser_ask(struct comm_parser *parser, const struct comm_parse_request *request, void *of)
{
	(void)parser;
	asked_kind = request->kind;
	asked_of = of;
	return 0;
}

static int memory_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Symbols of the vdso, which every process has; *ret_bytes: what they take. */
static int save_symbols(size_t *ret_bytes)
{
	const void *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct comm_elfsym *sym;
	int fd = memory_file();

	assert_non_null(image);
	assert_int_equal(comm_elfsym_create_memory(image, 2 * PAGE, &sym), 0);
	assert_int_equal(comm_elfsym_save(sym, fd), 0);
	*ret_bytes = comm_elfsym_bytes(sym);
	comm_elfsym_destroy(sym);
	return fd;
}

static struct comm_mapping mapping(uint32_t file)
{
	return (struct comm_mapping){.start = PAGE,
				     .end = 2 * PAGE,
				     .ino = file,
				     .executable = true,
				     .kind = COMM_MAP_FILE,
				     .path = "/x",
				     .file = file};
}

/* Has a file identified, of so many bytes; what is asked for next is the module's symbols. */
static void identify(uint32_t file, const char *build_id, uint64_t size_bytes)
{
	const struct comm_mapping m = mapping(file);
	struct comm_elf_id id = {0};
	struct comm_module *module;
	int fd = memory_file();

	strcpy(id.build_id, build_id);
	assert_int_equal(write(fd, &id, sizeof(id)), sizeof(id));
	assert_int_equal(comm_modules_get(modules, 1, &m, &module), -EINPROGRESS);
	assert_int_equal(asked_kind, COMM_PARSE_IDENTITY);
	comm_modules_take(modules, &(struct comm_parsed){.kind = COMM_PARSE_IDENTITY,
							 .of = asked_of,
							 .saved = fd,
							 .size_bytes = size_bytes});
	close(fd);
}

static void take(enum comm_parse_kind kind, uint64_t size_bytes, int saved)
{
	comm_modules_take(modules, &(struct comm_parsed){.kind = kind,
							 .of = asked_of,
							 .saved = saved,
							 .size_bytes = size_bytes});
}

/* A file of its own, with symbols. */
static void load(uint32_t file, int saved)
{
	identify(file, "", file);
	assert_int_equal(asked_kind, COMM_PARSE_SYMBOLS);
	take(COMM_PARSE_SYMBOLS, file, saved);
}

static bool has_symbols(uint32_t file)
{
	const struct comm_mapping m = mapping(file);
	struct comm_module *module;

	return comm_modules_get(modules, 1, &m, &module) == 0;
}

static int create(size_t max_bytes)
{
	return comm_names_create(1 << 20, &names) ||
	       comm_modules_create(names, NULL, max_bytes, &modules);
}

static void destroy(void)
{
	comm_modules_destroy(modules);
	comm_names_destroy(names);
}

static void count_step(int signal)
{
	(void)signal;
	n_steps++;
}

/* Sets or clears the processor's trap flag, beyond the red zone. */
#define TRAP(change)                                                   \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change \
			 "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::       \
				 : "memory", "cc")

static void start_counting(void)
{
	n_steps = 0;
	TRAP("orl $0x100, (%%rsp)");
}

static uint64_t stop_counting(void)
{
	TRAP("andl $~0x100, (%%rsp)");
	return n_steps;
}

/* What it takes to load one more where n are, and one has to go for it. */
static uint64_t load_one_more(uint32_t n)
{
	size_t each_bytes;
	int symbols = save_symbols(&each_bytes);
	uint64_t steps;

	assert_int_equal(create(n * each_bytes), 0);
	for (uint32_t file = 1; file <= n; file++)
		load(file, symbols);
	start_counting();
	load(n + 1, symbols);
	steps = stop_counting();
	assert_true(has_symbols(n + 1));
	assert_true(has_symbols(2));
	assert_false(has_symbols(1));
	destroy();
	close(symbols);
	return steps;
}

static void one_of_many_goes(void **state)
{
	uint64_t few = load_one_more(16), many = load_one_more(2016);

	(void)state;
	print_message("%lu and %lu instructions\n", few, many);
	assert_in_range(many, 1, few + 2000);
}

static uint64_t identify_one_more(uint32_t n)
{
	uint64_t steps;

	assert_int_equal(create(1 << 20), 0);
	for (uint32_t file = 1; file <= n; file++)
		identify(file, file % 2 ? "" : "0123", file);
	start_counting();
	identify(n + 1, "", n + 1);
	identify(n + 2, "0123", n + 2);
	steps = stop_counting();
	destroy();
	return steps;
}

/* Files without a build-id, and with one that others have, too. */
static void a_file_is_looked_up_among_many(void **state)
{
	uint64_t few = identify_one_more(16), many = identify_one_more(4016);

	(void)state;
	print_message("%lu and %lu instructions\n", few, many);
	assert_in_range(many, 1, few + 4000);
}

static void the_least_recently_used_goes(void **state)
{
	size_t each_bytes;
	int symbols = save_symbols(&each_bytes);

	(void)state;
	assert_int_equal(create(2 * each_bytes), 0);
	load(1, symbols);
	load(2, symbols);
	assert_true(has_symbols(1));
	load(3, symbols);
	assert_true(has_symbols(1));
	assert_true(has_symbols(3));
	assert_false(has_symbols(2));
	/* It is asked for again, and comes. */
	take(COMM_PARSE_SYMBOLS, 2, symbols);
	assert_true(has_symbols(2));
	assert_true(has_symbols(3));
	assert_false(has_symbols(1));
	destroy();
	close(symbols);
}

int main(void)
{
	const struct sigaction action = {.sa_handler = count_step};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_recently_used_goes),
		cmocka_unit_test(one_of_many_goes),
		cmocka_unit_test(a_file_is_looked_up_among_many),
	};

	sigaction(SIGTRAP, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
