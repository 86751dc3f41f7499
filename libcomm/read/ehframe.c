/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ehframe.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <string.h>

enum { RETURN_REGISTER = 16 }; /* as the psABI of x86-64 numbers it */

static bool pointer(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t pc,
		    uint64_t *ret)
{
	uint64_t value;
	size_t bytes;

	switch (encoding & 0x07) {
	case 0x00:
	case 0x04:
		bytes = 8;
		break;
	case 0x02:
		bytes = 2;
		break;
	case 0x03:
		bytes = 4;
		break;
	default:
		return false;
	}
	if ((size_t)(end - *at) < bytes)
		return false;
	value = 0;
	memcpy(&value, *at, bytes);
	*at += bytes;
	if ((encoding & 0x08) && bytes < 8) {
		uint64_t sign = (uint64_t)1 << (8 * bytes - 1);

		value = (value ^ sign) - sign;
	}
	switch (encoding & 0xf0) {
	case 0x00:
		break;
	case 0x10:
		value += pc;
		break;
	default:
		return false;
	}
	*ret = value;
	return true;
}

/* The encoding of the addresses in the FDEs of a CIE; 0xff: not understood. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data, *end = at + cie->augmentation_data_size;

	if (!cie->augmentation || cie->augmentation[0] != 'z')
		return cie->augmentation && !cie->augmentation[0] ? 0 : 0xff;
	for (const char *a = cie->augmentation + 1; *a; a++) {
		uint64_t skipped;

		switch (*a) {
		case 'R':
			return at < end ? *at : 0xff;
		case 'L':
			at++;
			break;
		case 'P': {
			uint8_t encoding;

			if (at >= end)
				return 0xff;
			encoding = *at++;
			if (!pointer(&at, end, encoding & 0x0f, 0, &skipped))
				return 0xff;
			break;
		}
		case 'S':
		case 'B':
			break;
		default:
			return 0xff;
		}
	}
	return 0;
}

/* False: the frames of this CIE's functions are not told, or those of signal handlers. */
static bool take_cie(const Dwarf_CIE *cie, struct comm_frame_cie *ret)
{
	*ret = (struct comm_frame_cie){
		.code_align = cie->code_alignment_factor,
		.data_align = cie->data_alignment_factor,
		.start = cie->initial_instructions,
		.end = cie->initial_instructions_end,
	};
	return cie->return_address_register == RETURN_REGISTER && cie->augmentation &&
	       !strchr(cie->augmentation, 'S') && ret->start && ret->start <= ret->end;
}

/* Steps over the augmentation data of an FDE, which leads to tables of exceptions. */
static bool skip_augmentation(const uint8_t **at, const uint8_t *end)
{
	uint64_t bytes = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (*at >= end || shift > 28)
			return false;
		byte = *(*at)++;
		bytes |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (bytes > (uint64_t)(end - *at))
		return false;
	*at += bytes;
	return true;
}

void comm_ehframe_walk(const unsigned char *ident, Elf_Data *data, uint64_t vaddr,
		       int (*each)(void *ctx, const struct comm_ehframe *frame), void *ctx)
{
	Dwarf_Off offset = 0, next, cie_offset = (Dwarf_Off)-1;
	bool is_told = false, is_augmented = false;
	struct comm_frame_cie told = {0};
	uint8_t encoding = 0xff;

	for (;; offset = next) {
		const uint8_t *at, *base = data->d_buf;
		struct comm_ehframe frame = {0};
		Dwarf_CFI_Entry entry;

		if (dwarf_next_cfi(ident, data, true, offset, &next, &entry) != 0 || next <= offset)
			return;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_offset) {
			Dwarf_CFI_Entry cie;
			Dwarf_Off unused;

			cie_offset = entry.fde.CIE_pointer;
			encoding = 0xff;
			is_told = false;
			if (dwarf_next_cfi(ident, data, true, cie_offset, &unused, &cie) == 0 &&
			    dwarf_cfi_cie_p(&cie)) {
				encoding = cie_encoding(&cie.cie);
				is_told = take_cie(&cie.cie, &told);
				is_augmented =
					cie.cie.augmentation && cie.cie.augmentation[0] == 'z';
			}
		}
		at = entry.fde.start;
		if (encoding == 0xff ||
		    !pointer(&at, entry.fde.end, encoding,
			     vaddr + (uint64_t)(entry.fde.start - base), &frame.start) ||
		    !pointer(&at, entry.fde.end, encoding & 0x07, 0, &frame.size) || !frame.start ||
		    !frame.size)
			continue;
		if (is_told && (!is_augmented || skip_augmentation(&at, entry.fde.end))) {
			frame.cie = told;
			frame.at = at;
			frame.end = entry.fde.end;
		}
		if (each(ctx, &frame))
			return;
	}
}
