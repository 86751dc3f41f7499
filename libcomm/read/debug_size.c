// SPDX-License-Identifier: GPL-2.0-or-later
#include "debug_size.h"

#include <endian.h>
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DEBUG_BYTES_MAX = 1 << 30 /* all debug sections, uncompressed */ };

/* How GNU's tools started a compressed section, before there was a flag for it. */
struct gnu_head {
	char magic[4];
	uint64_t bytes; /* unpacked; the highest byte comes first */
} __attribute__((packed));

static bool unpacked_bytes(Elf *elf, size_t names, Elf_Scn *scn, const GElf_Shdr *shdr,
			   uint64_t *ret)
{
	struct gnu_head head;
	const char *name;
	Elf_Data *data;
	GElf_Chdr chdr;

	*ret = shdr->sh_size;
	if (shdr->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &chdr))
			return false;
		*ret = chdr.ch_size;
		return true;
	}
	name = elf_strptr(elf, names, shdr->sh_name);
	if (!name || strncmp(name, ".zdebug", strlen(".zdebug")))
		return true;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size < sizeof(head))
		return true;
	memcpy(&head, data->d_buf, sizeof(head));
	if (!memcmp(head.magic, "ZLIB", sizeof(head.magic)))
		*ret = be64toh(head.bytes);
	return true;
}

bool comm_debug_size_fits(Elf *elf)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		uint64_t bytes;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    (shdr.sh_flags & SHF_ALLOC))
			continue;
		if (!unpacked_bytes(elf, names, scn, &shdr, &bytes))
			return false;
		sum += bytes;
		if (bytes > DEBUG_BYTES_MAX || sum > DEBUG_BYTES_MAX)
			return false;
	}
	return true;
}
