// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module's decoder against Zydis, over the code of real programs: whatever
 * it decodes must have the same length, the same operands at the same addresses,
 * and must admit every register that changes.  Runs in user space, no root.
 *
 *	test_decode [ELF file]...
 */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commprof.h"
#include "decode.h"

enum { MAX_BYTES_PER_FILE = 6 << 20 };

static uint64_t total, decoded, with_memory, memory_decoded, wrong;
static uint64_t missed[4][256];

static uint64_t random64(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int gpr_of(ZydisRegister reg)
{
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (full < ZYDIS_REGISTER_RAX || full > ZYDIS_REGISTER_R15)
		return -1;
	return full - ZYDIS_REGISTER_RAX;
}

static void complain(const uint8_t *text, uint32_t n, const char *what)
{
	uint32_t i;

	if (wrong++ >= 30)
		return;
	printf("# %s:", what);
	for (i = 0; i < n; i++)
		printf(" %02x", text[i]);
	printf("\n");
}

struct truth {
	uint64_t addr, size;
	bool read, write, hidden;
};

static int truth_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops,
		    const struct cp_cpu *cpu, struct truth *ret, uint32_t *written)
{
	ZydisRegisterContext context = {0};
	int n = 0;

	for (int i = 0; i < 16; i++)
		context.values[ZYDIS_REGISTER_RAX + i] = cpu->reg[i];
	for (int i = 0; i < 16; i++)
		context.values[ZYDIS_REGISTER_EAX + i] = (uint32_t)cpu->reg[i];
	context.values[ZYDIS_REGISTER_RIP] = cpu->ip;
	*written = 0;
	for (int i = 0; i < z->operand_count; i++) {
		const ZydisDecodedOperand *op = &ops[i];
		bool read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && write) {
			int reg = gpr_of(op->reg.value);

			if (reg >= 0)
				*written |= 1u << reg;
		}
		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
		    (!read && !write))
			continue;
		if (n == 3)
			return -1;
		if (!ZYAN_SUCCESS(
			    ZydisCalcAbsoluteAddressEx(z, op, cpu->ip, &context, &ret[n].addr)))
			return -1;
		if (op->mem.segment == ZYDIS_REGISTER_FS)
			ret[n].addr += cpu->fs_base;
		if (op->mem.segment == ZYDIS_REGISTER_GS)
			ret[n].addr += cpu->gs_base;
		ret[n].size = op->size / 8;
		ret[n].read = read;
		ret[n].write = write;
		ret[n].hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
		n++;
	}
	return n;
}

static void check(const uint8_t *text, uint32_t avail, const ZydisDecodedInstruction *z,
		  const ZydisDecodedOperand *ops)
{
	struct cp_insn insn;
	struct cp_cpu cpu = {.ip = random64() >> 17, .known = CP_KNOWN_ALL};
	struct truth truth[3];
	uint32_t written;
	bool is_nop = z->meta.category == ZYDIS_CATEGORY_PREFETCH ||
		      z->meta.category == ZYDIS_CATEGORY_NOP ||
		      z->meta.category == ZYDIS_CATEGORY_WIDENOP;
	int n, err;

	for (int i = 0; i < 16; i++)
		cpu.reg[i] = random64() >> 16;
	cpu.reg[1] &= 0xffff;
	cpu.fs_base = random64() >> 17;
	cpu.gs_base = random64() >> 17;
	err = cp_decode(text, avail, &cpu, &insn);
	n = truth_of(z, ops, &cpu, truth, &written);
	total++;
	with_memory += n > 0 && !is_nop;
	if (err) {
		if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && z->opcode_map < 4)
			missed[z->opcode_map][z->opcode]++;
		return;
	}
	decoded++;
	if (insn.bytes != z->length)
		return complain(text, z->length, "length");
	if (!insn.ends && written & ~insn.clobbers)
		return complain(text, z->length, "a changed register is not admitted");
	if (is_nop) {
		if (insn.n)
			complain(text, z->length, "operand of a prefetch or nop");
		return;
	}
	if (n < 0)
		return;
	memory_decoded += n > 0;
	for (int i = 0; i < insn.n; i++) {
		const struct cp_operand *have = &insn.operand[i];
		bool found = false;

		if (!have->known) {
			complain(text, z->length, "not known though every register is");
			return;
		}
		for (int k = 0; k < n && !found; k++) {
			/* Zydis gives the register's address for stack pushes and one element of rep. */
			uint64_t addr = truth[k].addr;
			uint64_t size = truth[k].size;

			if (have->flags & CP_ACCESS_IMPLICIT && have->flags & CP_ACCESS_WRITE)
				addr = cpu.reg[4] - 8;
			if (have->flags & CP_ACCESS_REP && have->size_bytes != size)
				size *= cpu.reg[1];
			found = have->addr == addr && have->size_bytes == size &&
				!!(have->flags & CP_ACCESS_READ) == truth[k].read &&
				!!(have->flags & CP_ACCESS_WRITE) == truth[k].write;
		}
		if (!found)
			return complain(text, z->length, "operand");
	}
	if (insn.n != n)
		complain(text, z->length, "number of operands");
}

static void sweep(const ZydisDecoder *decoder, const uint8_t *text, size_t bytes)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	size_t at = 0;

	while (at < bytes) {
		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeFull(decoder, text + at, bytes - at, &z, ops))) {
			at++;
			continue;
		}
		check(text + at, bytes - at < 15 ? bytes - at : 15, &z, ops);
		/* Every proper prefix is an instruction that goes on: never a result. */
		if (total % 64 == 0)
			for (uint32_t cut = 0; cut < z.length; cut++) {
				struct cp_insn insn;
				struct cp_cpu cpu = {.known = CP_KNOWN_ALL};

				if (!cp_decode(text + at, cut, &cpu, &insn))
					complain(text + at, cut, "decoded what is cut off");
			}
		at += z.length;
	}
}

static int file(const ZydisDecoder *decoder, const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	const Elf64_Ehdr *elf;
	const Elf64_Phdr *ph;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(*elf))
		return -1;
	elf = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (elf == MAP_FAILED || memcmp(elf->e_ident, ELFMAG, SELFMAG))
		return -1;
	ph = (const void *)((const char *)elf + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X) {
			size_t n = ph[i].p_filesz;

			sweep(decoder, (const uint8_t *)elf + ph[i].p_offset,
			      n < MAX_BYTES_PER_FILE ? n : MAX_BYTES_PER_FILE);
		}
	munmap((void *)elf, st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",	 "/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",	 "/usr/bin/python3.11",
		"/lib/x86_64-linux-gnu/libstdc++.so.6",	 "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
		"/lib/x86_64-linux-gnu/libsqlite3.so.0", "/bin/bash",
	};
	ZydisDecoder decoder;
	int files = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 1; i < argc; i++)
		files += !file(&decoder, argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof(usual) / sizeof(*usual); i++)
		files += !file(&decoder, usual[i]);
	printf("# %d files, %lu instructions, %lu decoded, %lu with memory, %lu of them decoded\n",
	       files, total, decoded, with_memory, memory_decoded);
	if (getenv("MISSED"))
		for (int m = 0; m < 4; m++)
			for (int i = 0; i < 256; i++)
				if (missed[m][i] > 20)
					printf("# map %d opcode %02x: %lu\n", m, i, missed[m][i]);
	printf("%s 1 - no decoded instruction differs from Zydis (%lu do)\n",
	       wrong ? "not ok" : "ok", wrong);
	printf("%s 2 - at least 97 %% of the memory instructions are decoded\n",
	       total > 100000 && memory_decoded * 100 >= with_memory * 97 ? "ok" : "not ok");
	printf("1..2\n");
	return wrong || total <= 100000 || memory_decoded * 100 < with_memory * 97;
}
