// SPDX-License-Identifier: GPL-2.0-or-later
#include "debug_text.h"

#include <gelf.h>
#include <string.h>

void comm_debug_texts_find(Dwarf *dwarf, struct comm_debug_texts *ret)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *scn = NULL;
	size_t strings;

	ret->n = 0;
	if (elf_getshdrstrndx(elf, &strings) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn)) && ret->n < COMM_DEBUG_TEXT_SECTIONS) {
		const char *name;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (!name ||
		    (strncmp(name, ".debug_", 7) != 0 && strncmp(name, ".zdebug_", 8) != 0))
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			ret->section[ret->n++] = data;
	}
}

const char *comm_debug_text(const struct comm_debug_texts *texts, const char *text)
{
	for (size_t i = 0; i < texts->n && text; i++) {
		const char *start = texts->section[i]->d_buf,
			   *end = start + texts->section[i]->d_size;

		if (text >= start && text < end)
			return memchr(text, 0, (size_t)(end - text)) ? text : NULL;
	}
	return NULL;
}
