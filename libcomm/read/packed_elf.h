/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is packed in an ELF file and libelf 0.188 does not unpack: the symbols that distributions
 * leave in stripped programs (.gnu_debugdata, an ELF file in xz), and sections of debug information in zstd.
 * The file is hostile: what is unpacked is bounded.
 */
#ifndef COMM_PACKED_ELF_H
#define COMM_PACKED_ELF_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

/* An ELF file in xz.  -ENODATA: it is damaged, or larger than it may be.  The caller frees *ret. */
int comm_packed_elf_xz(const void *packed, size_t packed_bytes, void **ret, size_t *ret_bytes);

enum { COMM_PACKED_SECTIONS = 64 };

struct comm_packed_elf {
	void *section[COMM_PACKED_SECTIONS]; /* unpacked */
	size_t n;
};

/*
 * Unpacks the sections in zstd in place, for all who ask elf for them later; false: there are sections
 * packed in a way that nobody here knows, or they are damaged.  Call comm_packed_elf_deinit() after elf_end().
 */
bool comm_packed_elf_unpack(Elf *elf, struct comm_packed_elf *ret);
void comm_packed_elf_deinit(struct comm_packed_elf *packed);

#endif
