/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in one file's DWARF that end within their section: libdw 0.188 gives out those that do not, too, and
 * who looks for their end reads past it.
 */
#ifndef COMM_DEBUG_TEXT_H
#define COMM_DEBUG_TEXT_H

#include <elfutils/libdw.h>
#include <stddef.h>

enum { COMM_DEBUG_TEXT_SECTIONS = 32 };

struct comm_debug_texts {
	const Elf_Data *section[COMM_DEBUG_TEXT_SECTIONS]; /* those that may hold texts */
	size_t n;
};

/* After dwarf_begin_elf(), which unpacks sections; *ret is valid as long as dwarf. */
void comm_debug_texts_find(Dwarf *dwarf, struct comm_debug_texts *ret);
/* text, as libdw gave it; NULL: it has no end, or lies in no section that is known. */
const char *comm_debug_text(const struct comm_debug_texts *texts, const char *text);

#endif
