/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_vki.h"

enum {
	MAPPINGS_MAX = 64, /* of one file, up to an address */
};

Bool comm_image_is_readable(Addr at, SizeT bytes)
{
	return VG_(am_is_valid_for_client)(at, bytes, VKI_PROT_READ);
}

/* 0: nowhere. */
static Addr first_byte(Addr addr)
{
	const NSegment *of = VG_(am_find_nsegment)(addr), *s = of;

	for (UInt i = 0; s && s->kind == SkFileC && i < MAPPINGS_MAX; i++) {
		if (s->dev != of->dev || s->ino != of->ino)
			return 0;
		if (!s->offset)
			return s->start;
		s = VG_(am_find_nsegment)(s->start - 1);
	}
	return 0;
}

Bool comm_image_find(Addr addr, struct comm_image *ret)
{
	Addr start = first_byte(addr);
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
	const Elf64_Phdr *segment;

	if (!start || !comm_image_is_readable(start, sizeof(*elf)) ||
	    VG_(memcmp)(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(*segment))
		return False;
	segment = (const Elf64_Phdr *)(start + elf->e_phoff);
	if (!comm_image_is_readable((Addr)segment, elf->e_phnum * sizeof(*segment)))
		return False;
	for (UInt i = 0; i < elf->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && !segment[i].p_offset && segment[i].p_filesz) {
			*ret = (struct comm_image){start, start - segment[i].p_vaddr, segment,
						   elf->e_phnum};
			return True;
		}
	return False;
}
