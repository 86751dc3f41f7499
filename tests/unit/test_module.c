// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules of this very process, whose files are read by the parser's children. */
#include "clock.h"
#include "maps.h"
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct comm_names *names;
static struct comm_parser *parser;
static struct comm_modules *modules;
static struct comm_maps *maps;
static struct comm_mapping *map, *code; /* code: of this function's text */

static int setup(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	static char text[1 << 18];
	size_t used = 0, n;
	ssize_t got;

	(void)state;
	while ((got = read(fd, text + used, sizeof(text) - used)) > 0)
		used += (size_t)got;
	close(fd);
	if (comm_names_create(1 << 20, &names) || comm_maps_create(names, &maps) ||
	    comm_maps_parse(maps, text, used, &map, &n) || comm_parser_create(&parser) ||
	    comm_modules_create(names, parser, 64 << 20, &modules))
		return -1;
	for (size_t i = 0; i < n; i++)
		if ((uintptr_t)setup >= map[i].start && (uintptr_t)setup < map[i].end)
			code = &map[i];
	return code ? 0 : -1;
}

static int test_module_variable[8] __attribute__((used)) = {1};

static int teardown(void **state)
{
	(void)state;
	comm_parser_destroy(parser);
	comm_modules_destroy(modules);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
	free(map);
	return 0;
}

static struct comm_parsed next(void)
{
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	struct comm_parsed parsed = {.err = -EAGAIN};

	while (!comm_parser_next(parser, &parsed) && comm_clock_now_ns() < stop_ns)
		comm_parser_wait(parser, 1000000000);
	return parsed;
}

static int get(struct comm_module **ret)
{
	return comm_modules_get(modules, (uint32_t)getpid(), code, ret);
}

static void symbols_follow_the_identity(void **state)
{
	struct comm_module *module;
	struct comm_parsed parsed;
	struct comm_code c;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	assert_int_equal(get(&module), -EAGAIN);
	parsed = next();
	assert_int_equal(parsed.kind, COMM_PARSE_IDENTITY);
	comm_modules_take(modules, &parsed);
	assert_int_equal(get(&module), -EAGAIN);
	parsed = next();
	assert_int_equal(parsed.kind, COMM_PARSE_SYMBOLS);
	comm_modules_take(modules, &parsed);
	assert_int_equal(get(&module), 0);
	assert_int_equal(comm_module_code(module, code, (uintptr_t)setup, &c), 0);
	assert_string_equal(c.function, "setup");
	assert_string_equal(c.module, comm_maps_base(code->path));
}

static void variables_by_their_names(void **state)
{
	const struct comm_mapping *lowest = map;
	struct comm_module *module;
	struct comm_parsed parsed;
	uint64_t at;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	for (int i = 0; i < 2; i++) {
		parsed = next();
		comm_modules_take(modules, &parsed);
	}
	assert_int_equal(get(&module), 0);
	while (lowest->file != code->file)
		lowest++;
	assert_int_equal(comm_module_variable(module, lowest, "test_module_variable", &at), 0);
	assert_int_equal(at, (uintptr_t)test_module_variable);
	assert_int_equal(comm_module_variable(module, lowest, "no_such_variable", &at), -ENOENT);
}

/* Lines of a file that too many others wait before are asked for again. */
static void lines_for_which_there_was_no_room(void **state)
{
	struct comm_parse_request nobodys = {.kind = COMM_PARSE_LINES, .tgid = 1 << 30};
	struct comm_module *module;
	struct comm_parsed parsed;
	int waiting = 0, others = 0;
	struct comm_code c;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	parsed = next();
	comm_modules_take(modules, &parsed);
	parsed = next();
	while (comm_parser_ask(parser, &nobodys, &nobodys) == 0)
		waiting++;
	assert_in_range(waiting, 1, 10000);
	comm_modules_take(modules, &parsed);
	assert_int_equal(get(&module), 0);
	assert_int_equal(comm_module_code(module, code, (uintptr_t)setup, &c), 0);
	assert_true(c.provisional && !c.line);
	for (bool came = false; !came;) {
		parsed = next();
		assert_int_equal(parsed.kind, COMM_PARSE_LINES);
		came = parsed.of != &nobodys;
		others += !came;
		if (came)
			comm_modules_take(modules, &parsed);
		assert_int_equal(get(&module), 0);
	}
	assert_in_range(others, 1, waiting);
	assert_int_equal(comm_module_code(module, code, (uintptr_t)setup, &c), 0);
	assert_true(c.line > 0);
}

/* Copies of one build-id, or links to one file, share tables: each process has its name for them. */
static void each_name_of_a_file_is_told(void **state)
{
	struct comm_module *module;
	struct comm_parsed parsed;
	struct comm_mapping other;
	struct comm_code c;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	for (int i = 0; i < 2; i++) {
		parsed = next();
		comm_modules_take(modules, &parsed);
	}
	assert_int_equal(get(&module), 0);
	other = *code;
	other.path = "/usr/bin/another-name";
	assert_int_equal(comm_module_code(module, &other, (uintptr_t)setup, &c), 0);
	assert_string_equal(c.function, "setup");
	assert_string_equal(c.module, "another-name");
	assert_int_equal(comm_module_code(module, code, (uintptr_t)setup, &c), 0);
	assert_string_equal(c.module, comm_maps_base(code->path));
}

/*
 * A process that had root's libc identified, and then maps a file of its own in its place,
 * must not name the libc's functions for all others.
 */
static void another_file_in_its_place(void **state)
{
	struct comm_module *module;
	struct comm_parsed parsed;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	parsed = next();
	comm_modules_take(modules, &parsed);
	parsed = next();
	assert_int_equal(parsed.kind, COMM_PARSE_SYMBOLS);
	assert_int_equal(parsed.err, 0);
	parsed.owner++;
	comm_modules_take(modules, &parsed);
	assert_int_equal(get(&module), -ESTALE);
	/* Another process may have the right one. */
	assert_int_equal(comm_modules_get(modules, (uint32_t)getppid(), code, &module),
			 -EINPROGRESS);
}

/* What a child says of itself is not trusted. */
static void a_damaged_identity(void **state)
{
	struct comm_module *module;
	struct comm_parsed parsed;

	(void)state;
	assert_int_equal(get(&module), -EINPROGRESS);
	parsed = next();
	assert_int_equal(pwrite(parsed.saved, "../../../x", 10, 0), 10);
	comm_modules_take(modules, &parsed);
	assert_int_equal(get(&module), -ENODATA);
	assert_int_equal(get(&module), -ENODATA);
	assert_false(comm_parser_busy(parser));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(symbols_follow_the_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(variables_by_their_names, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_for_which_there_was_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(each_name_of_a_file_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(another_file_in_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_identity, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
