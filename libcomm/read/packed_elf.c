// SPDX-License-Identifier: GPL-2.0-or-later
#include "packed_elf.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

enum {
	XZ_BYTES_MAX = 64 << 20,  /* unpacked: symbols of one file */
	XZ_MEMORY_MAX = 96 << 20, /* a dictionary of 64 MiB is xz -9's */
	XZ_PIECE = 1 << 20,
	PACKED_ZSTD = 2, /* ELFCOMPRESS_ZSTD, which older headers lack */
	PACKED_ZLIB = ELFCOMPRESS_ZLIB,
};

int comm_packed_elf_xz(const void *packed, size_t packed_bytes, void **ret, size_t *ret_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret step = lzma_stream_decoder(&stream, XZ_MEMORY_MAX, 0);
	size_t n = 0, capacity = 0;
	uint8_t *out = NULL;

	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	while (step == LZMA_OK && n < XZ_BYTES_MAX) {
		uint8_t *bigger = n == capacity ? realloc(out, capacity += XZ_PIECE) : out;

		if (!bigger)
			break;
		out = bigger;
		stream.next_out = out + n;
		stream.avail_out = capacity - n;
		step = lzma_code(&stream, LZMA_FINISH);
		n = capacity - stream.avail_out;
	}
	lzma_end(&stream);
	if (step != LZMA_STREAM_END || !n) {
		free(out);
		return -ENODATA;
	}
	*ret = out;
	*ret_bytes = n;
	return 0;
}

/* Whoever asks for the section now gets what is unpacked, as of one that never was packed. */
static bool unpack(Elf_Scn *scn, GElf_Shdr *shdr, const GElf_Chdr *head, void **ret)
{
	size_t head_bytes = sizeof(Elf64_Chdr);
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n;

	if (!data || !data->d_buf || data->d_size < head_bytes)
		return false;
	*ret = malloc(head->ch_size ? head->ch_size : 1);
	if (!*ret)
		return false;
	n = ZSTD_decompress(*ret, head->ch_size, (const char *)data->d_buf + head_bytes,
			    data->d_size - head_bytes);
	if (ZSTD_isError(n) || n != head->ch_size) {
		free(*ret);
		return false;
	}
	shdr->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	shdr->sh_size = n;
	shdr->sh_addralign = head->ch_addralign;
	data->d_buf = *ret;
	data->d_size = n;
	data->d_type = ELF_T_BYTE;
	if (gelf_update_shdr(scn, shdr))
		return true;
	/* The section keeps the bytes that it has been given. */
	return false;
}

bool comm_packed_elf_unpack(Elf *elf, struct comm_packed_elf *ret)
{
	Elf_Scn *scn = NULL;
	bool all = true;

	ret->n = 0;
	if (gelf_getclass(elf) != ELFCLASS64)
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		GElf_Chdr head;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    !(shdr.sh_flags & SHF_COMPRESSED))
			continue;
		if (!gelf_getchdr(scn, &head) || head.ch_type != PACKED_ZSTD) {
			all &= head.ch_type == PACKED_ZLIB;
			continue;
		}
		if (ret->n < COMM_PACKED_SECTIONS &&
		    unpack(scn, &shdr, &head, &ret->section[ret->n]))
			ret->n++;
		else
			all = false;
	}
	return all;
}

void comm_packed_elf_deinit(struct comm_packed_elf *packed)
{
	while (packed->n)
		free(packed->section[--packed->n]);
}
