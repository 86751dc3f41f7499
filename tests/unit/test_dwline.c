// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwline.h"

#include "elfsym.h"

#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t base, here_ip, inner_ip;
static unsigned int here_line, inner_line;

static inline __attribute__((always_inline)) int innermost_of_all(int n)
{
	inner_line = __LINE__ + 1;
	__asm__ volatile("lea 1f(%%rip), %0\n1: nop" : "=r"(inner_ip));
	return n + 1;
}

static inline __attribute__((always_inline)) int in_between(int n)
{
	return innermost_of_all(n) * 2;
}

__attribute__((noinline, noclone)) static int outer(int n)
{
	here_line = __LINE__ + 1;
	__asm__ volatile("lea 1f(%%rip), %0\n1: nop" : "=r"(here_ip));
	return in_between(n);
}

static int first_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	base = info->dlpi_addr;
	return 1;
}

static int open_self(void)
{
	struct comm_elf_id id;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(comm_elf_identify(fd, &id), 0);
	if (!id.has_lines) {
		print_message("this test was built without -g\n");
		close(fd);
		skip();
	}
	dl_iterate_phdr(first_module, NULL);
	outer(1);
	return fd;
}

static void check_self(const struct comm_dwline *dw)
{
	struct comm_line line;

	assert_int_equal(comm_dwline_find(dw, here_ip - base, &line), 0);
	assert_int_equal(line.line, here_line);
	assert_non_null(strstr(line.source, "test_dwline.c"));
	assert_null(line.inlined);
	assert_int_equal(comm_dwline_find(dw, inner_ip - base, &line), 0);
	assert_int_equal(line.line, inner_line);
	assert_string_equal(line.inlined, "innermost_of_all");
	assert_true(comm_dwline_find(dw, 0, &line) < 0);
	assert_true(comm_dwline_find(dw, UINT64_MAX, &line) < 0);
	assert_true(comm_dwline_lines(dw) > 20);
	assert_true(comm_dwline_inlines(dw) > 2);
	assert_true(comm_dwline_bytes(dw) > 100);
}

static void lines_and_inlines(void **state)
{
	struct comm_dwline *dw;
	int fd = open_self();

	(void)state;
	assert_int_equal(comm_dwline_build(fd, 10000, &dw), 0);
	check_self(dw);
	comm_dwline_destroy(dw);
	close(fd);
}

static void saved_and_loaded(void **state)
{
	struct comm_dwline *dw, *loaded;
	struct comm_line line;
	int fd = open_self(), to = memfd_create("lines", MFD_CLOEXEC);
	uint64_t word;
	off_t bytes;

	(void)state;
	assert_true(to >= 0);
	assert_true(comm_dwline_load(to, &loaded) < 0);
	assert_int_equal(comm_dwline_build(fd, 10000, &dw), 0);
	assert_int_equal(comm_dwline_save(dw, to), 0);
	assert_int_equal(comm_dwline_load(to, &loaded), 0);
	check_self(loaded);
	assert_int_equal(comm_dwline_bytes(loaded), comm_dwline_bytes(dw));
	comm_dwline_destroy(loaded);
	/* A name that points past the text, or has no end, is refused. */
	bytes = lseek(to, 0, SEEK_END);
	assert_int_equal(pwrite(to, "x", 1, bytes - 1), 1);
	assert_true(comm_dwline_load(to, &loaded) < 0);
	assert_int_equal(pwrite(to, "", 1, bytes - 1), 1);
	assert_int_equal(pread(to, &word, 8, 40), 8); /* source and line of the first row */
	word = (word & ~0xffffffffull) | 0xfffffff0;
	assert_int_equal(pwrite(to, &word, 8, 40), 8);
	assert_true(comm_dwline_load(to, &loaded) < 0);
	assert_int_equal(comm_dwline_save(dw, to), 0);
	assert_int_equal(comm_dwline_load(to, &loaded), 0);
	comm_dwline_destroy(loaded);
	/* So is a file that is cut, or that claims more rows than it can hold. */
	assert_int_equal(ftruncate(to, bytes - 1), 0);
	assert_true(comm_dwline_load(to, &loaded) < 0);
	assert_int_equal(comm_dwline_save(dw, to), 0);
	for (off_t at = 0; at < 32; at += 8) {
		uint64_t good;

		assert_int_equal(pread(to, &good, 8, at), 8);
		word = UINT64_MAX / 64;
		assert_int_equal(pwrite(to, &word, 8, at), 8);
		assert_true(comm_dwline_load(to, &loaded) < 0);
		assert_int_equal(pwrite(to, &good, 8, at), 8);
	}
	assert_int_equal(comm_dwline_load(to, &loaded), 0);
	assert_int_equal(comm_dwline_find(loaded, here_ip - base, &line), 0);
	comm_dwline_destroy(loaded);
	comm_dwline_destroy(dw);
	close(to);
	close(fd);
}

static void no_dwarf(void **state)
{
	struct comm_dwline *dw;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(comm_dwline_build(fd, 100, &dw) < 0);
	close(fd);
	assert_true(comm_dwline_build(-1, 100, &dw) < 0);
	comm_dwline_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_inlines),
		cmocka_unit_test(saved_and_loaded),
		cmocka_unit_test(no_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
