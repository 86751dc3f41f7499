// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwline.h"

#include "debug_size.h"
#include "elfsym.h"

#include <endian.h>
#include <errno.h>
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

static uint64_t base, here_ip, inner_ip, called_ip[2];
static unsigned int here_line, inner_line, between_line, called_line;

static inline __attribute__((always_inline)) int innermost_of_all(int n)
{
	inner_line = __LINE__ + 1;
	__asm__ volatile("lea 1f(%%rip), %0\n1: nop" : "=r"(inner_ip));
	return n + 1;
}

static inline __attribute__((always_inline)) int in_between(int n)
{
	between_line = __LINE__ + 1;
	return innermost_of_all(n) * 2;
}

static inline __attribute__((always_inline)) int called_twice(int n, int i)
{
	__asm__ volatile("lea 1f(%%rip), %0\n1: nop" : "=r"(called_ip[i]));
	return n + i;
}

__attribute__((noinline, noclone)) static int outer(int n)
{
	here_line = __LINE__ + 1;
	__asm__ volatile("lea 1f(%%rip), %0\n1: nop" : "=r"(here_ip));
	called_line = __LINE__ + 1;
	n = called_twice(n, 0);
	n = called_twice(n, 1);
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
	assert_null(line.call_source);
	assert_int_equal(comm_dwline_find(dw, inner_ip - base, &line), 0);
	assert_int_equal(line.line, inner_line);
	assert_string_equal(line.inlined, "innermost_of_all");
	assert_int_equal(line.call_line, between_line);
	assert_non_null(strstr(line.call_source, "test_dwline.c"));
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(comm_dwline_find(dw, called_ip[i] - base, &line), 0);
		assert_string_equal(line.inlined, "called_twice");
		assert_int_equal(line.call_line, called_line + i);
	}
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

static uint64_t made_unread;

/* What a child saved that is in the hands of its file; texts are one of 'x' and its NUL. */
static int load_made(uint64_t n_rows, uint64_t n_pieces, const uint64_t *word, size_t n,
		     size_t text_bytes)
{
	const uint64_t head[5] = {0x656e696c, n_rows, n_pieces, text_bytes, made_unread};
	int from = memfd_create("made", MFD_CLOEXEC), err;
	struct comm_dwline *dw;
	char text[8192];

	memset(text, 'x', sizeof(text));
	text[text_bytes - 1] = 0;
	assert_int_equal(write(from, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(from, word, n * 8), n * 8);
	assert_int_equal(write(from, text, text_bytes), text_bytes);
	err = comm_dwline_load(from, &dw);
	if (!err)
		comm_dwline_destroy(dw);
	close(from);
	return err;
}

static void no_table_is_believed(void **state)
{
	const uint64_t line = 1ull << 32, none = UINT32_MAX, no_source = none << 32;

	(void)state;
	/* Rows in order of address, of one row each. */
	assert_int_equal(load_made(2, 0, (uint64_t[]){16, line, 17, line}, 4, 1), 0);
	made_unread = COMM_DWLINE_UNREAD;
	assert_int_equal(load_made(2, 0, (uint64_t[]){16, line, 17, line}, 4, 1), 0);
	made_unread = COMM_DWLINE_UNREAD + 1;
	assert_int_equal(load_made(2, 0, (uint64_t[]){16, line, 17, line}, 4, 1), -ENODATA);
	made_unread = 0;
	assert_int_equal(load_made(2, 0, (uint64_t[]){16, line, 16, line}, 4, 1), -ENODATA);
	assert_int_equal(load_made(2, 0, (uint64_t[]){17, line, 16, line}, 4, 1), -ENODATA);
	/* So are pieces; and without a function there is no place that calls it. */
	assert_int_equal(load_made(0, 2, (uint64_t[]){16, 0, 1, 17, no_source, 0}, 6, 1), 0);
	assert_int_equal(load_made(0, 2, (uint64_t[]){16, 0, 1, 16, 0, 2}, 6, 1), -ENODATA);
	assert_int_equal(load_made(0, 1, (uint64_t[]){16, none | no_source, 0}, 3, 1), 0);
	assert_int_equal(load_made(0, 1, (uint64_t[]){16, none, 1}, 3, 1), -ENODATA);
	/* Texts of megabytes would be looked through for each address. */
	assert_int_equal(load_made(0, 0, NULL, 0, 4097), 0);
	assert_int_equal(load_made(0, 0, NULL, 0, 4098), -ENODATA);
}

/* Whether debug sections fit, one of which says to be of so many bytes in GNU's older way. */
static bool old_section_fits(const char *name, uint64_t bytes)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr section[3];
		char names[32];
		char packed[16];
	} file = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(file.head),
			 .e_ehsize = sizeof(file.head),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 1},
		.section = {[1] = {.sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(typeof(file), names),
				   .sh_size = sizeof(file.names)},
			    [2] = {.sh_name = 1,
				   .sh_type = SHT_PROGBITS,
				   .sh_offset = offsetof(typeof(file), packed),
				   .sh_size = sizeof(file.packed)}},
		.packed = "ZLIB",
	};
	bool fits;
	Elf *elf;

	strcpy(file.names + 1, name);
	bytes = htobe64(bytes);
	memcpy(file.packed + 4, &bytes, sizeof(bytes));
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)&file, sizeof(file));
	assert_non_null(elf);
	fits = comm_debug_size_fits(elf);
	elf_end(elf);
	return fits;
}

static void what_unpacks_to_too_much_is_refused(void **state)
{
	(void)state;
	assert_true(old_section_fits(".zdebug_info", 1 << 20));
	assert_false(old_section_fits(".zdebug_info", 1ull << 31));
	assert_false(old_section_fits(".zdebug_info", UINT64_MAX));
	assert_true(old_section_fits(".debug_info", UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_inlines),
		cmocka_unit_test(saved_and_loaded),
		cmocka_unit_test(no_table_is_believed),
		cmocka_unit_test(what_unpacks_to_too_much_is_refused),
		cmocka_unit_test(no_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
