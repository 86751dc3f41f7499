// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile DWARF, read in this process, so that coverage and sanitizers see our part of it.  A
 * table that was built must survive saving and loading; input that is no ELF file is read as a
 * table that a child saved.
 */
#include "dwline.h"
#include "memory_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const char *__asan_default_suppressions(void);

/*
 * libdw 0.188 reads strings past the end of a damaged line table.  A child contains that
 * (parse_child.h; test_parser shows it): here it would hide our own faults.
 */
const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libdw";
}

static void look_up(const struct comm_dwline *dw)
{
	struct comm_line line;

	for (uint64_t at = 0; at < 0x5000; at += 0x7f) {
		if (comm_dwline_find(dw, at, &line) < 0)
			continue;
		if (line.source && strlen(line.source) > 4096)
			abort();
		if (line.inlined && strlen(line.inlined) > 4096)
			abort();
		if (line.call_source && (!line.inlined || strlen(line.call_source) > 4096))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1, saved = -1;
	struct comm_dwline *dw, *loaded;

	if (size < 32)
		return 0;
	memory_file(data, size, &file);
	if (memcmp(data, "\177ELF", 4)) {
		if (comm_dwline_load(file, &dw) == 0) {
			look_up(dw);
			comm_dwline_destroy(dw);
		}
		return 0;
	}
	if (comm_dwline_build(file, 200, &dw) < 0)
		return 0;
	look_up(dw);
	if (comm_dwline_save(dw, memory_file(data, 0, &saved)) < 0 ||
	    comm_dwline_load(saved, &loaded) < 0 ||
	    comm_dwline_lines(dw) != comm_dwline_lines(loaded) ||
	    comm_dwline_inlines(dw) != comm_dwline_inlines(loaded))
		abort();
	look_up(loaded);
	comm_dwline_destroy(loaded);
	comm_dwline_destroy(dw);
	return 0;
}
