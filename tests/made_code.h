/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose code is written by hand, and bursts over it: for tests of the decoder.  To be
 * included once by a test program.
 */
#ifndef TESTS_MADE_CODE_H
#define TESTS_MADE_CODE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"

enum { TEXT = 0x401000, RODATA = 0x402000, RELRO = 0x403000, JIT = 0x500000, PAGE = 4096 };
enum { STACK = 0x7ff000, HEAP = 0x600000 };
enum { R = COMM_ACCESS_READ, W = COMM_ACCESS_WRITE, A = COMM_ACCESS_ATOMIC };
enum { I = COMM_ACCESS_IMPLICIT, P = COMM_ACCESS_REP };

/* A process with an ELF file of four pages, and one page of generated code. */
struct world {
	uint8_t image[4][PAGE];
	uint8_t jit[PAGE];
	unsigned text_reads;
	struct comm_mapping map[5];
	struct comm_inspect inspect;
	struct comm_space_table *table;
	struct comm_space *space;
	struct comm_decoder *decoder;
	struct comm_sample sample;
	struct comm_burst burst;
};

static inline int world_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret,
			     size_t *ret_n)
{
	struct world *w = ctx;

	(void)tgid;
	*ret = w->map;
	*ret_n = 5;
	return 0;
}

static inline ssize_t world_text(void *ctx, uint32_t tgid, const struct comm_mapping *m,
				 uint64_t addr, void *buf, size_t len_bytes)
{
	struct world *w = ctx;

	(void)tgid;
	w->text_reads++;
	if (len_bytes > m->end - addr)
		len_bytes = m->end - addr;
	memcpy(buf, addr >= JIT ? w->jit + (addr - JIT) : &w->image[0][0] + (addr - 0x400000),
	       len_bytes);
	return (ssize_t)len_bytes;
}

static const struct comm_inspect_ops ops = {.maps = world_maps, .text = world_text};

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	Elf64_Phdr phdr[4];
	Elf64_Ehdr ehdr;

	assert_non_null(w);
	memset(&ehdr, 0, sizeof(ehdr));
	memset(phdr, 0, sizeof(phdr));
	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_phoff = sizeof(ehdr);
	ehdr.e_phentsize = sizeof(Elf64_Phdr);
	ehdr.e_phnum = 4;
	for (unsigned i = 0; i < 4; i++) {
		phdr[i].p_type = PT_LOAD;
		phdr[i].p_offset = phdr[i].p_vaddr = i * PAGE;
		phdr[i].p_filesz = phdr[i].p_memsz = PAGE;
		phdr[i].p_flags = i == 1 ? PF_R | PF_X : i == 3 ? PF_R | PF_W : PF_R;
		w->map[i].start = 0x400000 + i * PAGE;
		w->map[i].end = w->map[i].start + PAGE;
		w->map[i].offset = i * PAGE;
		w->map[i].readable = true;
		w->map[i].executable = i == 1;
		w->map[i].kind = COMM_MAP_FILE;
		w->map[i].file = 1;
		w->map[i].path = "/bin/world";
	}
	w->map[4].start = JIT;
	w->map[4].end = JIT + PAGE;
	w->map[4].readable = w->map[4].writable = w->map[4].executable = true;
	w->map[4].kind = COMM_MAP_JIT;
	w->map[4].path = "";
	memcpy(w->image[0], &ehdr, sizeof(ehdr));
	memcpy(w->image[0] + sizeof(ehdr), phdr, sizeof(phdr));
	memset(w->image[1], 0xf4, PAGE); /* hlt ends every program */
	memset(w->jit, 0xf4, PAGE);
	w->inspect.ops = &ops;
	w->inspect.ctx = w;
	assert_int_equal(comm_space_table_create(&w->inspect, &w->table), 0);
	assert_int_equal(comm_decoder_create(&w->inspect, &w->decoder), 0);
	w->space = comm_space_get(w->table, 7);
	for (unsigned i = 0; i < COMM_NGPR; i++)
		w->sample.reg[i] = i;
	w->sample.reg[COMM_RSP] = STACK;
	w->sample.reg[COMM_RBX] = HEAP;
	w->sample.reg[COMM_FS_BASE] = 0x700000;
	w->sample.known = ((1U << COMM_NREGS) - 1) & ~(1U << COMM_GS_BASE);
	w->sample.ip = TEXT;
	w->sample.mode_bits = 64;
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	comm_decoder_destroy(w->decoder);
	comm_space_table_destroy(w->table);
	free(w);
	return 0;
}

static inline void know(struct world *w, uint64_t addr, const void *data, uint32_t len)
{
	struct comm_sample *s = &w->sample;
	struct comm_chunk *c = &s->chunk[s->n_chunks++];

	c->addr = addr;
	c->len_bytes = len;
	c->offset = s->data_bytes;
	memcpy(s->data + s->data_bytes, data, len);
	s->data_bytes = (uint16_t)(s->data_bytes + len);
}

static inline void know_word(struct world *w, uint64_t addr, uint64_t v)
{
	know(w, addr, &v, 8);
}

static inline const struct comm_burst *run(struct world *w)
{
	comm_burst_run(w->decoder, w->space, 1000, &w->sample, &w->burst);
	return &w->burst;
}

/* Runs code that ends with the hlt after it. */
static inline const struct comm_burst *run_code(struct world *w, const char *code, size_t len)
{
	memcpy(w->image[1], code, len);
	return run(w);
}

#define RUN(w, code) run_code(w, code, sizeof(code) - 1)

#define ACCESS(b, i, a, size, f)                                   \
	do {                                                       \
		assert_true((i) < (b)->n_accesses);                \
		assert_int_equal((b)->access[i].addr, a);          \
		assert_int_equal((b)->access[i].size_bytes, size); \
		assert_int_equal((b)->access[i].flags, f);         \
	} while (0)

#define ENDS(b, n_acc, n_ins, why)                        \
	do {                                              \
		assert_int_equal((b)->end, why);          \
		assert_int_equal((b)->n_accesses, n_acc); \
		assert_int_equal((b)->n_insns, n_ins);    \
	} while (0)

/* Runs code in a place of its own, since the decoder keeps what it has seen. */
static inline const struct comm_burst *run_at(struct world *w, uint32_t offset, const char *code,
					      size_t len)
{
	memcpy(w->image[1] + offset, code, len);
	w->sample.ip = TEXT + offset;
	return run(w);
}

#define RUN_AT(w, offset, code) run_at(w, offset, code, sizeof(code) - 1)

#endif
