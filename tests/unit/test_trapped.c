// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which way an access went that a debug register trapped on: of instructions by hand, and of all functions
 * that the C library has symbols of.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "hash.h"
#include "insn.h"
#include "trapped.h"

enum { CODE = 0x401000, DATA = 0x7000000 };

/* What is known of the instruction that ends the code, or that is at its byte `at`. */
static uint16_t way_at(struct comm_trap *trap, const char *code, size_t n, size_t at,
		       struct comm_trapped *ret)
{
	trap->ip = CODE + at;
	trap->size_bytes = trap->size_bytes ? trap->size_bytes : 8;
	memset(ret, 0, sizeof(*ret));
	return comm_trapped_by_code(trap, (const uint8_t *)code, CODE, n, ret) ? ret->flags : 0;
}

#define WAY(trap, code, ret) way_at(trap, code, sizeof(code) - 1, sizeof(code) - 1, ret)

enum {
	R = COMM_ACCESS_READ,
	W = COMM_ACCESS_WRITE,
	RW = R | W,
	LOCKED = RW | COMM_ACCESS_ATOMIC,
};

static void test_loads_and_stores(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = DATA - 8, .reg[COMM_RCX] = 1};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x90\x48\x8b\x42\x08", &t), R);
	assert_int_equal(t.ip, CODE + 1);
	assert_int_equal(t.addr, DATA);
	assert_int_equal(t.size_bytes, 8);
	assert_int_equal(WAY(&trap, "\x90\x89\x42\x08", &t), W);
	assert_int_equal(t.size_bytes, 4);
	assert_int_equal(WAY(&trap, "\x90\x48\x01\x42\x08", &t), RW);
	assert_int_equal(WAY(&trap, "\xf0\x48\x0f\xc1\x42\x08", &t), LOCKED);
	assert_int_equal(t.ip, CODE);
	/* By an index. */
	trap.reg[COMM_RDX] = DATA - 32;
	trap.reg[COMM_RCX] = 4;
	assert_int_equal(WAY(&trap, "\x8b\x04\xca", &t), R);
	/* cmp with memory is a read. */
	assert_int_equal(WAY(&trap, "\x90\x48\x39\x04\xca", &t), R);
}

/* A store of a vector ends with what would be a subtraction. */
static void test_code_before_tells(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = DATA - 8};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x83\xc1\x01\x48\x01\xc6\x0f\x29\x42\x08", &t),
			 W);
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x83\xc1\x01\x48\x01\xc6\x29\x42\x08", &t),
			 RW);
}

/* mov (%rdx),%rdx; and of an address in thread-local storage. */
static void test_address_that_is_gone(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = 12345};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\x48\x8b\x12", &t), R);
	assert_int_equal(t.size_bytes, 0);
	assert_int_equal(t.ip, CODE + 6);
	assert_int_equal(
		WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\x64\x48\x89\x04\x25\x10\x00\x00\x00", &t), W);
}

/* vmovdqu64 %zmm0,(%rdx){%k1}, and the load: which lanes the mask chooses is not known. */
static void test_masked(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = DATA};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\x62\xf1\xfe\x49\x7f\x02", &t), W);
	assert_int_equal(t.size_bytes, 0);
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\x62\xf1\xfe\x49\x6f\x02", &t), R);
	assert_int_equal(t.size_bytes, 0);
}

/* What another address would be needed for is not said to have gone any way; nor what jumped here. */
static void test_not_known(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = DATA + 8};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\x48\x8b\x42\x08", &t), 0);
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\xff\x12", &t), 0);
	assert_int_equal(WAY(&trap, "\x48\x89\xc8\x48\x01\xf0\xc3", &t), 0);
	assert_int_equal(WAY(&trap, "", &t), 0);
	trap.ip = CODE - 1;
	assert_false(comm_trapped_by_code(&trap, (const uint8_t *)"\x90", CODE, 1, &t));
}

/* One that fails leaves what was there. */
static void test_compare_and_exchange(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RDX] = DATA - 8, .flags = COMM_FLAG_ZF};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\xf0\x48\x0f\xb1\x4a\x08", &t), LOCKED);
	trap.flags = 0;
	assert_int_equal(WAY(&trap, "\xf0\x48\x0f\xb1\x4a\x08", &t), LOCKED & ~W);
}

static void test_stack(void **state)
{
	struct comm_trap trap = {.addr = DATA, .reg[COMM_RSP] = DATA};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x90\x55", &t), W);
	trap.reg[COMM_RSP] = DATA + 8;
	assert_int_equal(WAY(&trap, "\x90\x5d", &t), R);
}

static void test_strings(void **state)
{
	struct comm_trap trap = {
		.addr = DATA, .reg[COMM_RSI] = DATA + 8, .reg[COMM_RDI] = DATA + 0x100};
	struct comm_trapped t;

	(void)state;
	assert_int_equal(WAY(&trap, "\x90\x48\xa5", &t), R);
	trap.reg[COMM_RDI] = DATA + 8;
	trap.reg[COMM_RSI] = DATA + 0x100;
	assert_int_equal(WAY(&trap, "\x90\x48\xa5", &t), W);
	assert_int_equal(WAY(&trap, "\x90\x48\xab", &t), W);
	/* Backwards. */
	trap.reg[COMM_RDI] = DATA - 8;
	trap.flags = COMM_FLAG_DF;
	assert_int_equal(WAY(&trap, "\x90\x48\xab", &t), W);
	trap.flags = 0;
	assert_int_equal(WAY(&trap, "\x90\x48\xab", &t), 0);
	/* rep movsb, amid it and at its end. */
	trap.reg[COMM_RDI] = DATA + 40;
	assert_int_equal(way_at(&trap, "\x90\xf3\xa4\x90", 4, 1, &t), W);
	assert_int_equal(t.ip, CODE + 1);
	assert_int_equal(WAY(&trap, "\x90\xf3\xa4", &t), W);
	assert_int_equal(t.ip, CODE + 1);
}

static void test_kernel(void **state)
{
	struct comm_trap trap = {.addr = DATA, .size_bytes = 8};
	struct comm_trapped t;

	(void)state;
	assert_false(comm_trapped_by_kernel(&trap, &t));
	trap.reg[COMM_RSI] = DATA + 8;
	trap.reg[COMM_RDI] = 0xffff888000000000;
	assert_true(comm_trapped_by_kernel(&trap, &t));
	assert_int_equal(t.flags, R);
	trap.reg[COMM_RDI] = DATA - 56;
	assert_false(comm_trapped_by_kernel(&trap, &t));
	trap.reg[COMM_RSI] = 0xffff888000000000;
	assert_true(comm_trapped_by_kernel(&trap, &t));
	assert_int_equal(t.flags, W);
	trap.reg[COMM_RDI] = 0;
	trap.reg[COMM_RAX] = DATA;
	assert_true(comm_trapped_by_kernel(&trap, &t));
	assert_int_equal(t.flags, R);
	/* The call's own argument is still in rdi. */
	trap.reg[COMM_RDI] = DATA;
	assert_false(comm_trapped_by_kernel(&trap, &t));
	trap.reg[COMM_RAX] = trap.reg[COMM_RDI] = 0;
	trap.reg[COMM_RCX] = DATA + 4;
	assert_true(comm_trapped_by_kernel(&trap, &t));
	assert_int_equal(t.flags, W);
}

/* Sums over the library's code. */
static struct {
	unsigned long all, known, wrong;
} sum;

/* The one operand in memory that an instruction goes to by general registers, and has not moved; NULL: none. */
static const ZydisDecodedOperand *operand_of(const ZydisDecodedInstruction *insn,
					     const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *ret = NULL;

	for (int i = 0; i < insn->operand_count_visible; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM || !op[i].actions)
			continue;
		if (ret)
			return NULL;
		ret = &op[i];
	}
	return ret;
}

static uint64_t value_of(const struct comm_trap *trap, ZydisRegister reg, uint64_t next)
{
	if (reg == ZYDIS_REGISTER_RIP)
		return next;
	if (reg != ZYDIS_REGISTER_NONE)
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return trap->reg[reg - ZYDIS_REGISTER_RAX];
	return 0;
}

static void judge(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op,
		  const uint8_t *code, size_t before, uint64_t ip)
{
	const ZydisDecodedOperand *o = operand_of(insn, op);
	struct comm_trap trap = {.ip = ip + insn->length, .flags = COMM_FLAG_ZF, .size_bytes = 8};
	struct comm_trapped t;
	uint64_t random = ip;
	uint16_t truth = 0;

	if (!o || insn->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE || o->size == 0 ||
	    insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	    insn->meta.category == ZYDIS_CATEGORY_NOP ||
	    insn->meta.category == ZYDIS_CATEGORY_PREFETCH)
		return;
	for (int i = 0; i < COMM_NGPR; i++)
		trap.reg[i] = comm_hash_next(&random) >> 20;
	trap.addr = value_of(&trap, o->mem.base, trap.ip) +
		    value_of(&trap, o->mem.index, 0) * o->mem.scale +
		    (o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0);
	/* What the instruction itself has set tells its address no more. */
	for (int i = 0; i < insn->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			ZydisRegister reg = ZydisRegisterGetLargestEnclosing(
				ZYDIS_MACHINE_MODE_LONG_64, op[i].reg.value);

			if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15 &&
			    reg != ZYDIS_REGISTER_RSP)
				trap.reg[reg - ZYDIS_REGISTER_RAX] = comm_hash_next(&random) >> 20;
		}
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		truth |= R;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		truth |= W;
	if (insn->mnemonic == ZYDIS_MNEMONIC_PUSH || insn->mnemonic == ZYDIS_MNEMONIC_POP)
		return;
	before = before < COMM_TRAPPED_BEFORE ? before : COMM_TRAPPED_BEFORE;
	sum.all++;
	if (!comm_trapped_by_code(&trap, code - before, ip - before, before + insn->length + 8, &t))
		return;
	sum.known++;
	sum.wrong += (t.flags & RW) != truth;
}

static void judge_function(const uint8_t *code, size_t n, uint64_t addr)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at + 32 < n; at += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, n - at, &insn, op)))
			return;
		judge(&insn, op, code + at, at, addr + at);
	}
}

/* Nearly all of it is known, and next to nothing wrong. */
static void test_library(void **state)
{
	Dl_info library;
	int fd = dladdr((void *)getpid, &library) ? open(library.dli_fname, O_RDONLY) : -1;
	Elf_Scn *section = NULL;
	Elf *elf;

	(void)state;
	assert_true(fd >= 0 && elf_version(EV_CURRENT) != EV_NONE);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *symbols, *text;
		GElf_Shdr head, of;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM)
			continue;
		symbols = elf_getdata(section, NULL);
		for (int i = 0; gelf_getsym(symbols, i, &symbol); i++) {
			Elf_Scn *in = elf_getscn(elf, symbol.st_shndx);

			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size || !in ||
			    !gelf_getshdr(in, &of) || of.sh_type != SHT_PROGBITS)
				continue;
			text = elf_getdata(in, NULL);
			judge_function((const uint8_t *)text->d_buf +
					       (symbol.st_value - of.sh_addr),
				       symbol.st_size, symbol.st_value);
		}
	}
	elf_end(elf);
	close(fd);
	printf("# %lu accesses, %lu known, %lu of them wrong\n", sum.all, sum.known, sum.wrong);
	assert_true(sum.all > 10000);
	assert_true(sum.known > sum.all * 99 / 100);
	assert_true(sum.wrong <= sum.known / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads_and_stores),
		cmocka_unit_test(test_code_before_tells),
		cmocka_unit_test(test_address_that_is_gone),
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_compare_and_exchange),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
