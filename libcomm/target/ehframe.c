/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ehframe.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <string.h>

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

void comm_ehframe_walk(const unsigned char *ident, Elf_Data *data, uint64_t vaddr,
		       int (*each)(void *ctx, uint64_t start, uint64_t size), void *ctx)
{
	Dwarf_Off offset = 0, next, cie_offset = (Dwarf_Off)-1;
	uint8_t encoding = 0xff;

	for (;; offset = next) {
		const uint8_t *at, *base = data->d_buf;
		Dwarf_CFI_Entry entry;
		uint64_t start, size;

		if (dwarf_next_cfi(ident, data, true, offset, &next, &entry) != 0 || next <= offset)
			return;
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != cie_offset) {
			Dwarf_CFI_Entry cie;
			Dwarf_Off unused;

			cie_offset = entry.fde.CIE_pointer;
			encoding = 0xff;
			if (dwarf_next_cfi(ident, data, true, cie_offset, &unused, &cie) == 0 &&
			    dwarf_cfi_cie_p(&cie))
				encoding = cie_encoding(&cie.cie);
		}
		at = entry.fde.start;
		if (encoding == 0xff ||
		    !pointer(&at, entry.fde.end, encoding,
			     vaddr + (uint64_t)(entry.fde.start - base), &start) ||
		    !pointer(&at, entry.fde.end, encoding & 0x07, 0, &size) || !start || !size)
			continue;
		if (each(ctx, start, size))
			return;
	}
}
