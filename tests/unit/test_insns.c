// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The emulator against the processor, one instruction at a time: each class of
 * instructions with random operands, random bits of them known to the emulator, and
 * random memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "burst.h"
#include "emu.h"
#include "traced.h"

struct lab {
	pid_t pid;
	uint8_t *code; /* same address here and in the child */
	uint8_t *data;
	uint64_t done, skipped;
};

enum {
	DATA_BYTES = 4 * PAGE,
	INSNS = 60000, /* instructions to compare; some 4 s on an idle machine */
};

static void lab_open(struct lab *lab)
{
	memset(lab, 0, sizeof(*lab));
	lab->code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lab->data =
		mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(lab->code != MAP_FAILED && lab->data != MAP_FAILED);
	lab->pid = fork();
	assert_true(lab->pid >= 0);
	if (!lab->pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(1);
	}
	waitpid(lab->pid, NULL, 0);
	ptrace(PTRACE_SETOPTIONS, lab->pid, 0, PTRACE_O_EXITKILL);
}

static void lab_close(struct lab *lab)
{
	kill(lab->pid, SIGKILL);
	waitpid(lab->pid, NULL, 0);
	munmap(lab->code, PAGE);
	munmap(lab->data, DATA_BYTES);
}

/* Instructions worth trying: opcode bytes, what follows is drawn. */
static const struct {
	uint8_t len, bytes[4];
	uint8_t imm; /* bytes of the immediate; 0xff: 2 or 4 by operand size */
	bool no_modrm;
	bool vex; /* 3-byte VEX: bytes[0] is the opcode, [1] map, [2] pp */
} shape[] = {
	{1, {0x00}, 0, false, false},
	{1, {0x01}, 0, false, false},
	{1, {0x02}, 0, false, false},
	{1, {0x03}, 0, false, false},
	{1, {0x08}, 0, false, false},
	{1, {0x09}, 0, false, false},
	{1, {0x0a}, 0, false, false},
	{1, {0x0b}, 0, false, false},
	{1, {0x10}, 0, false, false},
	{1, {0x11}, 0, false, false},
	{1, {0x12}, 0, false, false},
	{1, {0x13}, 0, false, false},
	{1, {0x18}, 0, false, false},
	{1, {0x19}, 0, false, false},
	{1, {0x1a}, 0, false, false},
	{1, {0x1b}, 0, false, false},
	{1, {0x20}, 0, false, false},
	{1, {0x21}, 0, false, false},
	{1, {0x22}, 0, false, false},
	{1, {0x23}, 0, false, false},
	{1, {0x28}, 0, false, false},
	{1, {0x29}, 0, false, false},
	{1, {0x2a}, 0, false, false},
	{1, {0x2b}, 0, false, false},
	{1, {0x30}, 0, false, false},
	{1, {0x31}, 0, false, false},
	{1, {0x32}, 0, false, false},
	{1, {0x33}, 0, false, false},
	{1, {0x38}, 0, false, false},
	{1, {0x39}, 0, false, false},
	{1, {0x3a}, 0, false, false},
	{1, {0x3b}, 0, false, false},
	{1, {0x63}, 0, false, false},
	{1, {0x69}, 0xff, false, false},
	{1, {0x6b}, 1, false, false},
	{1, {0x80}, 1, false, false},
	{1, {0x81}, 0xff, false, false},
	{1, {0x83}, 1, false, false},
	{1, {0x84}, 0, false, false},
	{1, {0x85}, 0, false, false},
	{1, {0x86}, 0, false, false},
	{1, {0x87}, 0, false, false},
	{1, {0x88}, 0, false, false},
	{1, {0x89}, 0, false, false},
	{1, {0x8a}, 0, false, false},
	{1, {0x8b}, 0, false, false},
	{1, {0x8d}, 0, false, false},
	{1, {0xc0}, 1, false, false},
	{1, {0xc1}, 1, false, false},
	{1, {0xd0}, 0, false, false},
	{1, {0xd1}, 0, false, false},
	{1, {0xd2}, 0, false, false},
	{1, {0xd3}, 0, false, false},
	{1, {0xc6}, 1, false, false},
	{1, {0xc7}, 0xff, false, false},
	{1, {0xf6}, 0, false, false},
	{1, {0xf7}, 0, false, false},
	{1, {0xf6}, 1, false, false},
	{1, {0xf7}, 0xff, false, false},
	{1, {0xfe}, 0, false, false},
	{1, {0xff}, 0, false, false},
	{1, {0x90}, 0, true, false},
	{1, {0x91}, 0, true, false},
	{1, {0x96}, 0, true, false},
	{1, {0x98}, 0, true, false},
	{1, {0x99}, 0, true, false},
	{1, {0x9e}, 0, true, false},
	{1, {0x9f}, 0, true, false},
	{1, {0xa8}, 1, true, false},
	{1, {0xb0}, 1, true, false},
	{1, {0xb9}, 0xff, true, false},
	{1, {0xf5}, 0, true, false},
	{1, {0xf8}, 0, true, false},
	{1, {0xf9}, 0, true, false},
	{1, {0xfc}, 0, true, false},
	{1, {0xfd}, 0, true, false},
	{2, {0x0f, 0x31}, 0, true, false},
	{2, {0x0f, 0xa2}, 0, true, false},
	{2, {0x0f, 0xc8}, 0, true, false},
	{2, {0x0f, 0xce}, 0, true, false},
	{2, {0x0f, 0xcf}, 0, true, false},
	{2, {0x0f, 0x40}, 0, false, false},
	{2, {0x0f, 0x41}, 0, false, false},
	{2, {0x0f, 0x42}, 0, false, false},
	{2, {0x0f, 0x43}, 0, false, false},
	{2, {0x0f, 0x44}, 0, false, false},
	{2, {0x0f, 0x45}, 0, false, false},
	{2, {0x0f, 0x46}, 0, false, false},
	{2, {0x0f, 0x47}, 0, false, false},
	{2, {0x0f, 0x48}, 0, false, false},
	{2, {0x0f, 0x49}, 0, false, false},
	{2, {0x0f, 0x4a}, 0, false, false},
	{2, {0x0f, 0x4b}, 0, false, false},
	{2, {0x0f, 0x4c}, 0, false, false},
	{2, {0x0f, 0x4d}, 0, false, false},
	{2, {0x0f, 0x4e}, 0, false, false},
	{2, {0x0f, 0x4f}, 0, false, false},
	{2, {0x0f, 0x90}, 0, false, false},
	{2, {0x0f, 0x92}, 0, false, false},
	{2, {0x0f, 0x94}, 0, false, false},
	{2, {0x0f, 0x96}, 0, false, false},
	{2, {0x0f, 0x98}, 0, false, false},
	{2, {0x0f, 0x9a}, 0, false, false},
	{2, {0x0f, 0x9c}, 0, false, false},
	{2, {0x0f, 0x9e}, 0, false, false},
	{2, {0x0f, 0x9f}, 0, false, false},
	{2, {0x0f, 0xa3}, 0, false, false},
	{2, {0x0f, 0xab}, 0, false, false},
	{2, {0x0f, 0xb3}, 0, false, false},
	{2, {0x0f, 0xbb}, 0, false, false},
	{2, {0x0f, 0xba}, 1, false, false},
	{2, {0x0f, 0xa4}, 1, false, false},
	{2, {0x0f, 0xa5}, 0, false, false},
	{2, {0x0f, 0xac}, 1, false, false},
	{2, {0x0f, 0xad}, 0, false, false},
	{2, {0x0f, 0xaf}, 0, false, false},
	{2, {0x0f, 0xb0}, 0, false, false},
	{2, {0x0f, 0xb1}, 0, false, false},
	{2, {0x0f, 0xc0}, 0, false, false},
	{2, {0x0f, 0xc1}, 0, false, false},
	{2, {0x0f, 0xb6}, 0, false, false},
	{2, {0x0f, 0xb7}, 0, false, false},
	{2, {0x0f, 0xbe}, 0, false, false},
	{2, {0x0f, 0xbf}, 0, false, false},
	{2, {0x0f, 0xbc}, 0, false, false},
	{2, {0x0f, 0xbd}, 0, false, false},
	{2, {0x0f, 0xc3}, 0, false, false},
	{2, {0x0f, 0x1f}, 0, false, false},
	{2, {0x0f, 0x18}, 0, false, false},
	{2, {0x0f, 0x10}, 0, false, false},
	{2, {0x0f, 0x11}, 0, false, false},
	{2, {0x0f, 0x28}, 0, false, false},
	{2, {0x0f, 0x2e}, 0, false, false},
	{2, {0x0f, 0x50}, 0, false, false},
	{2, {0x0f, 0x58}, 0, false, false},
	{2, {0x0f, 0x6e}, 0, false, false},
	{2, {0x0f, 0x7e}, 0, false, false},
	{2, {0x0f, 0x6f}, 0, false, false},
	{2, {0x0f, 0x7f}, 0, false, false},
	{2, {0x0f, 0xd6}, 0, false, false},
	{2, {0x0f, 0xd7}, 0, false, false},
	{2, {0x0f, 0xef}, 0, false, false},
	{2, {0x0f, 0xc5}, 1, false, false},
	{2, {0x0f, 0x2d}, 0, false, false},
	{2, {0x0f, 0x2a}, 0, false, false},
	{3, {0x0f, 0x38, 0xf0}, 0, false, false},
	{3, {0x0f, 0x38, 0xf1}, 0, false, false},
	{3, {0x0f, 0x38, 0xf6}, 0, false, false},
	{3, {0x0f, 0x38, 0x17}, 0, false, false},
	{3, {0x0f, 0x3a, 0x16}, 1, false, false},
	{3, {0x0f, 0x3a, 0x63}, 1, false, false},
	{1, {0xf2, 2, 0}, 0, false, true},
	{1, {0xf3, 2, 0}, 0, false, true},
	{1, {0xf5, 2, 0}, 0, false, true},
	{1, {0xf5, 2, 2}, 0, false, true},
	{1, {0xf5, 2, 3}, 0, false, true},
	{1, {0xf6, 2, 3}, 0, false, true},
	{1, {0xf7, 2, 0}, 0, false, true},
	{1, {0xf7, 2, 1}, 0, false, true},
	{1, {0xf7, 2, 2}, 0, false, true},
	{1, {0xf7, 2, 3}, 0, false, true},
	{1, {0xf0, 3, 3}, 1, false, true},
	{1, {0x6f, 1, 2}, 0, false, true},
	{1, {0x7f, 1, 2}, 0, false, true},
	{1, {0x7e, 1, 1}, 0, false, true},
	{1, {0x0e, 2, 1}, 0, false, true},
	{1, {0x0f, 2, 1}, 0, false, true},
	{1, {0x17, 2, 1}, 0, false, true},
	{1, {0x2e, 1, 0}, 0, false, true},
};

/*
 * Memory operands are [rbx + disp32] or [rbx + r14*scale + disp8]: rbx points to
 * the middle of the data, r14 is small; no instruction may write them or rsp.
 */
static size_t make_insn(uint8_t *out)
{
	size_t pick = draw() % (sizeof(shape) / sizeof(shape[0])), n = 0;
	unsigned rex = 0x40 | (draw() & 0xf), modrm = draw() & 0xff, mode = draw() % 4;
	bool wide16 = draw() % 8 == 0, has_rex = draw() % 4, sib = false;

	if (shape[pick].vex) {
		rex |= 0x40;
	} else {
		if (wide16)
			out[n++] = 0x66;
		switch (draw() % 16) {
		case 0:
			out[n++] = 0xf2;
			break;
		case 1:
		case 2:
			out[n++] = 0xf3;
			break;
		case 3:
			out[n++] = 0xf0;
			break;
		default:
			break;
		}
	}
	if (!shape[pick].no_modrm && mode < 2) {
		rex &= ~3U; /* leave base and index registers as they are */
		modrm = (modrm & 0x38) | 0x80 | 3;
		if (mode == 1) {
			modrm = (modrm & 0x38) | 0x40 | 4;
			rex |= 2;
			has_rex = true;
			sib = true;
		}
	} else {
		modrm |= 0xc0;
	}
	if (shape[pick].vex) {
		out[n++] = 0xc4;
		out[n++] = (uint8_t)((~rex & 7) << 5 | shape[pick].bytes[1]);
		out[n++] = (uint8_t)((rex & 8) << 4 | (draw() & 15) << 3 | shape[pick].bytes[2]);
		out[n++] = shape[pick].bytes[0];
	} else {
		if (has_rex)
			out[n++] = (uint8_t)rex;
		memcpy(out + n, shape[pick].bytes, shape[pick].len);
		n += shape[pick].len;
	}
	if (!shape[pick].no_modrm) {
		out[n++] = (uint8_t)modrm;
		if (sib) {
			out[n++] = (uint8_t)((draw() & 3) << 6 | (14 & 7) << 3 | 3);
			out[n++] = (uint8_t)draw();
		} else if (mode == 0) {
			uint32_t disp = (uint32_t)(draw() % 2048) - 1024;

			memcpy(out + n, &disp, 4);
			n += 4;
		}
	}
	for (unsigned i = 0; i < (shape[pick].imm == 0xff ? 4U : shape[pick].imm); i++)
		out[n++] = draw() & 1 ? (uint8_t)draw() : (uint8_t)(draw() & 0x3f);
	return n;
}

static bool insn_allowed(const uint8_t *code, size_t len, ZydisDecodedInstruction *insn,
			 ZydisDecodedOperand *op)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, insn, op)))
		return false;
	if (insn->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
	    (insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
		return false;
	for (unsigned i = 0; i < insn->operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
			ZydisRegister r = ZydisRegisterGetLargestEnclosing(
				ZYDIS_MACHINE_MODE_LONG_64, op[i].reg.value);

			if (r == ZYDIS_REGISTER_RSP || r == ZYDIS_REGISTER_RBX ||
			    r == ZYDIS_REGISTER_R14 ||
			    ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_SEGMENT)
				return false;
		}
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
		     op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM) &&
		    op[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN)
			return false;
	}
	/* A register bit offset reaches anywhere. */
	if ((insn->mnemonic == ZYDIS_MNEMONIC_BT || insn->mnemonic == ZYDIS_MNEMONIC_BTS ||
	     insn->mnemonic == ZYDIS_MNEMONIC_BTR || insn->mnemonic == ZYDIS_MNEMONIC_BTC) &&
	    op[0].type == ZYDIS_OPERAND_TYPE_MEMORY && op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	return true;
}

static bool nothing_constant(void *ctx, uint64_t line_addr, uint8_t data[64])
{
	(void)ctx;
	(void)line_addr;
	(void)data;
	return false;
}

static uint64_t interesting(void)
{
	static const uint64_t v[] = {0,
				     1,
				     ~0ULL,
				     0x7fffffff,
				     0x80000000,
				     0x8000000000000000ULL,
				     0x7fffffffffffffffULL,
				     0xffffffff,
				     0x80,
				     0x7f,
				     0xff,
				     0x8000};

	switch (draw() % 3) {
	case 0:
		return v[draw() % (sizeof(v) / sizeof(v[0]))];
	case 1:
		return draw() & 0xff;
	default:
		return draw();
	}
}

/* Returns the number of wrong bits of state. */
static unsigned try_insn(struct lab *lab, struct comm_emu *emu, struct comm_sample *sample)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct user_regs_struct regs, after;
	ZydisDecodedInstruction insn;
	struct comm_uop uop;
	uint8_t code[32];
	uint16_t flags_in;
	uint64_t addr = 0;
	unsigned wrong = 0;
	bool has_addr = false;
	int err;

	memset(code, 0x90, sizeof(code));
	make_insn(code);
	if (!insn_allowed(code, 15, &insn, op) ||
	    comm_insn_decode(code, 15, &uop, &flags_in) <= 0) {
		lab->skipped++;
		return 0;
	}
	if (uop.op == COMM_OP_UNSUPPORTED || uop.op >= COMM_OP_PUSH) {
		lab->skipped++;
		return 0;
	}
	uop.flags_live = COMM_FLAGS_ALL;

	assert_return_code(ptrace(PTRACE_GETREGS, lab->pid, 0, &regs), errno);
	for (unsigned i = 0; i < COMM_NGPR; i++)
		if (i != COMM_RSP)
			set_reg(&regs, i, interesting());
	/* Small operands, as otherwise nearly every division overflows. */
	if ((insn.mnemonic == ZYDIS_MNEMONIC_DIV || insn.mnemonic == ZYDIS_MNEMONIC_IDIV) &&
	    draw() % 4)
		regs.rdx = insn.mnemonic == ZYDIS_MNEMONIC_DIV || !(regs.rax >> 63) ? 0 : ~0ULL;
	regs.rbx = (uint64_t)lab->data + DATA_BYTES / 2;
	regs.r14 = draw() % 64;
	regs.rip = (uint64_t)lab->code;
	regs.orig_rax = ~0ULL;
	regs.eflags = 0x202 | (draw() & COMM_FLAGS_ALL);
	for (unsigned i = 0; i < DATA_BYTES / 8; i += 8)
		((uint64_t *)lab->data)[i + draw() % 8] = interesting();

	memset(sample, 0, offsetof(struct comm_sample, data));
	for (unsigned i = 0; i < COMM_NGPR; i++)
		sample->reg[i] = reg_of(&regs, i);
	sample->known = (1U << COMM_NGPR) - 1;
	sample->ip = regs.rip;
	sample->flags = regs.eflags;
	sample->mode_bits = 64;
	comm_emu_begin(emu, sample);
	comm_memory_begin(&emu->overlay, sample, nothing_constant, NULL);
	for (unsigned i = 0; i < COMM_NGPR; i++) {
		if (draw() % 4 == 0) {
			emu->known[i] &= draw() | draw();
			if (draw() % 2)
				emu->known[i] = 0;
			emu->bits[i] &= emu->known[i];
		}
	}
	if (draw() % 4 == 0)
		emu->flags_known &= (uint32_t)draw();
	if (uop.bits & COMM_UOP_MEM) {
		addr = regs.rbx + (uop.index == COMM_UREG_ZERO ? 0 : regs.r14 << uop.shift) +
		       (uint64_t)uop.disp;
		has_addr = !(uop.bits & COMM_UOP_UNSURE);
		if (has_addr && uop.access_bytes <= 8 && draw() % 4) {
			struct comm_value v = {0, draw() % 4 ? ~0ULL : draw()};

			memcpy(&v.bits, (void *)addr, uop.access_bytes);
			/* Memory is known by the byte. */
			for (unsigned i = 0; i < 8; i++)
				if ((v.known >> i * 8 & 0xff) != 0xff)
					v.known &= ~(0xffULL << i * 8);
			v.bits &= v.known;
			for (unsigned i = 0; i < uop.access_bytes; i++) {
				struct comm_value b = {v.bits >> i * 8 & 0xff,
						       v.known >> i * 8 & 0xff};

				comm_memory_store(&emu->overlay, addr + i, 1, b);
			}
		}
	}
	emu->bits[COMM_UREG_RIP] = regs.rip;

	assert_true(write_child(lab->pid, regs.rip, code, sizeof(code)));
	assert_return_code(ptrace(PTRACE_SETREGS, lab->pid, 0, &regs), errno);
	err = step(lab->pid);
	assert_true(err >= 0);
	if (err > 0) { /* a division error, or alignment: nothing to compare */
		lab->skipped++;
		return 0;
	}
	assert_return_code(ptrace(PTRACE_GETREGS, lab->pid, 0, &after), errno);
	if (after.rip != regs.rip + insn.length) {
		lab->skipped++;
		return 0;
	}
	lab->done++;
	if (!comm_emu_exec(emu, &uop, addr, has_addr)) {
		complain("the processor raised no exception", code, insn.length);
		return 1;
	}
	for (unsigned i = 0; i < COMM_NGPR; i++)
		if ((reg_of(&after, i) ^ emu->bits[i]) & emu->known[i]) {
			wrong++;
			print_error("register %u: real %lx, emulated %lx known %lx\n", i,
				    reg_of(&after, i), emu->bits[i], emu->known[i]);
		} else if (emu->bits[i] & ~emu->known[i]) {
			wrong++;
			print_error("register %u: unknown bits set\n", i);
		}
	if ((after.eflags ^ emu->flags) & emu->flags_known) {
		wrong++;
		print_error("flags: real %llx, emulated %x known %x\n", after.eflags, emu->flags,
			    emu->flags_known);
	}
	if (has_addr && uop.access_bytes <= 8)
		for (unsigned i = 0; i < uop.access_bytes; i++) {
			struct comm_value v = comm_memory_load(&emu->overlay, addr + i, 1);

			if (v.known && *(uint8_t *)(addr + i) != v.bits) {
				wrong++;
				print_error("memory + %u: real %x, emulated %lx\n", i,
					    *(uint8_t *)(addr + i), v.bits);
			}
		}
	if (wrong)
		complain("wrong", code, insn.length);
	return wrong;
}

static void test_instructions(void **state)
{
	struct comm_sample *sample = calloc(1, sizeof(*sample));
	struct comm_emu *emu = calloc(1, sizeof(*emu));
	unsigned wrong = 0;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	while (lab.done < INSNS && wrong < 20)
		wrong += try_insn(&lab, emu, sample) != 0;
	lab_close(&lab);
	print_message("instructions: %lu compared, %lu not applicable, %u wrong\n", lab.done,
		      lab.skipped, wrong);
	assert_int_equal(wrong, 0);
	free(sample);
	free(emu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
