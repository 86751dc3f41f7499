/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "frames.h"

#include "image.h"

enum {
	VERSION = 1,
	PCREL_SDATA4 = 0x1b,
	UDATA4 = 0x03,
	DATAREL_SDATA4 = 0x3b, /* the table's encoding; no linker makes another one */
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

/* *bias: of run-time addresses over the file's own. */
static const struct eh_frame_hdr *find_header(Addr ip, Addr *bias)
{
	const struct eh_frame_hdr *hdr;
	const Elf64_Phdr *header = NULL;
	struct comm_image image;

	if (!comm_image_find(ip, &image))
		return NULL;
	for (UInt i = 0; i < image.n_segments; i++)
		if (image.segment[i].p_type == PT_GNU_EH_FRAME)
			header = &image.segment[i];
	if (!header)
		return NULL;
	*bias = image.bias;
	hdr = (const struct eh_frame_hdr *)(image.bias + header->p_vaddr);
	if (!comm_image_is_readable((Addr)hdr, sizeof(*hdr)) || hdr->version != VERSION ||
	    hdr->frame_encoding != PCREL_SDATA4 || hdr->count_encoding != UDATA4 ||
	    hdr->table_encoding != DATAREL_SDATA4 ||
	    !comm_image_is_readable((Addr)hdr->row, (SizeT)hdr->n * sizeof(hdr->row[0])))
		return NULL;
	return hdr;
}

Bool comm_frames_function(Addr ip, Addr *start, ULong *file_start)
{
	Addr bias = 0;
	const struct eh_frame_hdr *hdr = find_header(ip, &bias);
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
	return comm_image_is_readable((Addr)frame, sizeof(*frame)) &&
	       ip - *start < frame->function_bytes;
}
