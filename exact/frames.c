/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include <elf.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_vki.h"

enum {
	VERSION = 1,
	PCREL_SDATA4 = 0x1b,
	UDATA4 = 0x03,
	DATAREL_SDATA4 = 0x3b, /* the table's encoding; no linker makes another one */
	SEGMENTS_MAX = 64,     /* of one file, up to an address */
};

struct eh_frame_hdr {
	UChar version, frame_encoding, count_encoding, table_encoding;
	Int frame;
	UInt n;
	struct {
		Int function, frame; /* from the header on */
	} row[];
};

/* What begins a description, whose addresses take 4 bytes as the table's do. */
struct frame {
	UInt bytes, cie;
	Int function; /* from here on */
	UInt function_bytes;
};

static Bool is_readable(Addr at, SizeT bytes)
{
	return VG_(am_is_valid_for_client)(at, bytes, VKI_PROT_READ);
}

/* Where the file's first byte is mapped, which the address is of; 0: nowhere. */
static Addr find_image(Addr ip)
{
	const NSegment *of = VG_(am_find_nsegment)(ip), *s = of;

	for (UInt i = 0; s && s->kind == SkFileC && i < SEGMENTS_MAX; i++) {
		if (s->dev != of->dev || s->ino != of->ino)
			return 0;
		if (!s->offset)
			return s->start;
		s = VG_(am_find_nsegment)(s->start - 1);
	}
	return 0;
}

/* *bias: of run-time addresses over the file's own. */
static const struct eh_frame_hdr *find_header(Addr image, Addr *bias)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *segment, *header = NULL;
	const struct eh_frame_hdr *hdr;
	Bool has_bias = False;

	if (!image || !is_readable(image, sizeof(*elf)) ||
	    VG_(memcmp)(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(*segment))
		return NULL;
	segment = (const Elf64_Phdr *)(image + elf->e_phoff);
	if (!is_readable((Addr)segment, elf->e_phnum * sizeof(*segment)))
		return NULL;
	for (UInt i = 0; i < elf->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD && !segment[i].p_offset) {
			*bias = image - segment[i].p_vaddr;
			has_bias = True;
		}
		if (segment[i].p_type == PT_GNU_EH_FRAME)
			header = &segment[i];
	}
	if (!header || !has_bias)
		return NULL;
	hdr = (const struct eh_frame_hdr *)(*bias + header->p_vaddr);
	if (!is_readable((Addr)hdr, sizeof(*hdr)) || hdr->version != VERSION ||
	    hdr->frame_encoding != PCREL_SDATA4 || hdr->count_encoding != UDATA4 ||
	    hdr->table_encoding != DATAREL_SDATA4 ||
	    !is_readable((Addr)hdr->row, (SizeT)hdr->n * sizeof(hdr->row[0])))
		return NULL;
	return hdr;
}

Bool comm_frames_function(Addr ip, Addr *start, ULong *file_start)
{
	Addr bias = 0;
	const struct eh_frame_hdr *hdr = find_header(find_image(ip), &bias);
	const struct frame *frame;
	UInt low = 0, high = hdr ? hdr->n : 0;

	/* The last row that begins at the address or before. */
	while (low < high) {
		UInt middle = low + (high - low) / 2;

		if ((Addr)hdr + hdr->row[middle].function <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return False;
	frame = (const struct frame *)((Addr)hdr + hdr->row[low - 1].frame);
	*start = (Addr)hdr + hdr->row[low - 1].function;
	*file_start = *start - bias;
	return is_readable((Addr)frame, sizeof(*frame)) && ip - *start < frame->function_bytes;
}
