// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds the symbol tables of a hostile ELF file, then looks up addresses in them. */
#include "demangle.h"
#include "elfsym.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct comm_elfsym *sym, uint64_t vaddr)
{
	struct comm_symbol s;
	char text[512];
	uint64_t at;

	if (comm_elfsym_function(sym, vaddr, &s) == 0) {
		if (vaddr < s.start || vaddr >= s.end)
			abort();
		if (s.name)
			comm_demangle(s.name, text, sizeof(text));
	}
	if (comm_elfsym_variable(sym, vaddr, &s) == 0 && (vaddr < s.start || vaddr >= s.end))
		abort();
	if (comm_elfsym_section(sym, vaddr, &s) == 0 && (vaddr < s.start || vaddr >= s.end))
		abort();
	comm_elfsym_vaddr(sym, vaddr, PF_X, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct comm_elfsym *sym;
	struct comm_elf_id id;

	if (fd < 0)
		fd = memfd_create("fuzz_elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	comm_elf_identify(fd, &id);
	if (comm_elfsym_create(fd, fd, &sym) == 0) {
		for (uint64_t at = 0; at < 0x5000; at += 0x7f)
			look(sym, at);
		look(sym, UINT64_MAX);
		comm_elfsym_destroy(sym);
	}
	if (comm_elfsym_create_memory(data, size, &sym) == 0) {
		look(sym, 0x1000);
		comm_elfsym_destroy(sym);
	}
	return 0;
}
