// SPDX-License-Identifier: GPL-2.0-or-later
/* The note by which commd knows a program that counts by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/source/program.c"

struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint32_t value;
	} other;
	struct {
		Elf64_Nhdr head;
		char name[12];
		uint32_t version;
	} note;
};

static char path[] = "/tmp/test_program.XXXXXX";

static struct file good(void)
{
	struct file f = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct file, segment),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2},
		.segment = {{.p_type = PT_LOAD, .p_filesz = sizeof(f)},
			    {.p_type = PT_NOTE,
			     .p_offset = offsetof(struct file, other),
			     .p_filesz = sizeof(f) - offsetof(struct file, other),
			     .p_align = 4}},
		.other = {.head = {4, 4, 1}, .name = "GNU"},
		.note = {.head = {sizeof(COMM_EXACT_NOTE), 4, COMM_EXACT_NOTE_RUNTIME},
			 .name = COMM_EXACT_NOTE,
			 .version = 7},
	};

	return f;
}

static void write_file(const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static bool counts(const struct file *f, uint32_t *version)
{
	write_file(f, sizeof(*f));
	return comm_program_counts(path, version);
}

static void test_note(void **state)
{
	struct file f = good();
	uint32_t version = 0;

	(void)state;
	assert_true(counts(&f, &version));
	assert_int_equal(version, 7);
	f.note.name[0] = 'C';
	assert_false(counts(&f, &version));
	f = good();
	f.note.head.n_type = 2;
	assert_false(counts(&f, &version));
	f = good();
	f.note.head.n_descsz = 3;
	assert_false(counts(&f, &version));
	f = good();
	f.segment[1].p_type = PT_LOAD;
	assert_false(counts(&f, &version));
	f = good();
	f.segment[1].p_filesz = NOTES_BYTES_MAX + 1;
	assert_false(counts(&f, &version));
	f = good();
	f.segment[1].p_offset = UINT64_MAX - 8;
	assert_false(counts(&f, &version));
}

static void test_no_program(void **state)
{
	uint32_t version;

	(void)state;
	assert_false(comm_program_counts("/nowhere", &version));
	assert_false(comm_program_counts("/", &version));
	write_file("#!/bin/sh\n", 10);
	assert_false(comm_program_counts(path, &version));
	write_file("", 0);
	assert_false(comm_program_counts(path, &version));
}

/* Damaged files must not crash, which the sanitizers check. */
static void test_damage(void **state)
{
	struct file f = good();
	uint8_t *bytes = (uint8_t *)&f;
	uint32_t version;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(f); i++) {
		write_file(&f, i);
		assert_false(comm_program_counts(path, &version));
	}
	for (i = 0; i < sizeof(f); i++) {
		bytes[i] ^= 0xff;
		counts(&f, &version);
		bytes[i] ^= 0xff ^ 0x01;
		counts(&f, &version);
		bytes[i] ^= 0x01;
	}
	assert_true(counts(&f, &version));
}

static void test_find(void **state)
{
	char found[PATH_MAX], directory[] = "/tmp/test_program.d.XXXXXX", file[PATH_MAX];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/prog", directory);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	setenv("PATH", directory, 1);
	assert_int_equal(comm_program_find("prog", found), -EACCES);
	assert_int_equal(chmod(file, 0755), 0);
	assert_int_equal(comm_program_find("prog", found), 0);
	assert_string_equal(found, file);
	assert_int_equal(comm_program_find("other", found), -ENOENT);
	assert_int_equal(comm_program_find("", found), -ENOENT);
	assert_int_equal(comm_program_find(directory, found), -EACCES);
	unlink(file);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_find),
	};
	int fd = mkstemp(path), ret;

	if (fd < 0)
		return 1;
	close(fd);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return ret;
}
