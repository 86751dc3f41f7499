// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile DWARF beside hostile code, for the table of the types that instructions read; in this
 * process, so that coverage and sanitizers see our part of it.  A table that was built must
 * survive saving and loading; input that is no ELF file is read as a table that a child saved.
 */
#include "memory_file.h"
#include "type_build.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const char *__asan_default_suppressions(void);
const char *__lsan_default_suppressions(void);

/*
 * libdw 0.188 reads past the end of damaged sections.  A child contains that (parse_child.h);
 * here it would hide our own faults.
 */
const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libdw";
}

/* Nor does libelf 0.188 free what it unpacked of a section that it then finds damaged. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf";
}

static void look_up(const struct comm_type_table *table)
{
	size_t left = comm_type_table_rows(table);
	struct comm_type_field f;

	for (uint64_t at = 0; left && at < 0x2000; at++) {
		if (comm_type_table_find(table, at, &f))
			continue;
		if (strlen(f.type) > 4096 || strlen(f.field) > 4096)
			abort();
		left--;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1, saved = -1;
	struct comm_type_table *table, *loaded;

	if (size < 32)
		return 0;
	memory_file(data, size, &file);
	if (memcmp(data, "\177ELF", 4)) {
		if (comm_type_table_load(file, &table) == 0) {
			look_up(table);
			comm_type_table_destroy(table);
		}
		return 0;
	}
	if (comm_type_build(file, file, 200, &table, NULL) < 0)
		return 0;
	look_up(table);
	if (comm_type_table_save(table, memory_file(data, 0, &saved)) < 0 ||
	    comm_type_table_load(saved, &loaded) < 0 ||
	    comm_type_table_rows(table) != comm_type_table_rows(loaded))
		abort();
	comm_type_table_destroy(loaded);
	comm_type_table_destroy(table);
	return 0;
}
