/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulator against the processor: a traced child is stopped, the burst is
 * computed from what a sample would hold, then the child is single-stepped
 * through the same instructions and every emitted access is compared with the
 * one that the real registers give.  Before that, each instruction class on its
 * own with random operands, random knowledge of them, and random memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "burst.h"
#include "emu.h"

enum {
	MOVES = 2, /* accesses of one instruction */
	REP_STEPS = 4096,
	PAGE = 4096,
};

static uint64_t rng = 88172645463325252ULL;

static uint64_t draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static bool read_child(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = {buf, len}, remote = {(void *)addr, len};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static bool write_child(pid_t pid, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = {(void *)buf, len}, remote = {(void *)addr, len};

	return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static uint64_t reg_of(const struct user_regs_struct *r, unsigned i)
{
	const unsigned long long reg[COMM_NREGS] = {
		r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,	    r->r8,
		r->r9,	r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->fs_base, r->gs_base};

	return reg[i];
}

static void set_reg(struct user_regs_struct *r, unsigned i, uint64_t v)
{
	unsigned long long *reg[COMM_NGPR] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
					      &r->rsi, &r->rdi, &r->r8,	 &r->r9,  &r->r10, &r->r11,
					      &r->r12, &r->r13, &r->r14, &r->r15};

	*reg[i] = v;
}

/* Steps once.  Returns 0, 1 when a signal came instead, -1 when the child ended. */
static int step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 || waitpid(pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status))
		return -1;
	if (WSTOPSIG(status) == SIGTRAP && !(status >> 16))
		return 0;
	return 1;
}

/* ------------------------------------------------------------------------- */
/* One instruction at a time. */

struct lab {
	pid_t pid;
	uint8_t *code; /* same address here and in the child */
	uint8_t *data;
	uint64_t done, skipped;
};

enum { DATA_BYTES = 4 * PAGE };

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
	uint8_t imm; /* bytes of it; 0xff: 2 or 4 by operand size */
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
		rex &= ~3U; /* base and index as they are */
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

static void complain(const char *what, const uint8_t *code, size_t len)
{
	ZydisDisassembledInstruction text;

	if (ZYAN_SUCCESS(
		    ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, 0x1000, code, len, &text)))
		print_error("%s: %s\n", what, text.text);
	else
		print_error("%s: undecodable\n", what);
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
	/* Otherwise nearly every division overflows. */
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
	double until = seconds() + 4;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	while (seconds() < until && wrong < 20)
		wrong += try_insn(&lab, emu, sample) != 0;
	lab_close(&lab);
	print_message("instructions: %lu compared, %lu not applicable, %u wrong\n", lab.done,
		      lab.skipped, wrong);
	assert_true(lab.done > 10000);
	assert_int_equal(wrong, 0);
	free(sample);
	free(emu);
}

/* ------------------------------------------------------------------------- */
/* Bursts of real programs. */

struct totals {
	uint64_t bursts, checked, wrong, abandoned, steps, in_kernel, idle_steps;
	uint64_t accesses[2], unknown[2], insns[2], end[2][COMM_BURST_END_MAX];
};

struct move {
	uint64_t addr, size_bytes;
	unsigned flags;
};

static bool get_code(pid_t pid, uint64_t ip, uint8_t code[16])
{
	memset(code, 0x90, 16);
	return read_child(pid, ip, code, 16) || read_child(pid, ip, code, PAGE - (ip & (PAGE - 1)));
}

/* What the processor is about to access, by the manual and the real registers. */
static unsigned real_moves(const struct user_regs_struct *r, const ZydisDecodedInstruction *insn,
			   const ZydisDecodedOperand *op, struct move *ret)
{
	ZydisRegisterContext ctx;
	unsigned n = 0;

	memset(&ctx, 0, sizeof(ctx));
	for (unsigned i = 0; i < COMM_NGPR; i++) {
		ctx.values[ZYDIS_REGISTER_RAX + i] = reg_of(r, i);
		ctx.values[ZYDIS_REGISTER_EAX + i] = (uint32_t)reg_of(r, i);
	}
	ctx.values[ZYDIS_REGISTER_RIP] = r->rip;
	ctx.values[ZYDIS_REGISTER_RFLAGS] = r->eflags;
	for (unsigned i = 0; i < insn->operand_count && n < MOVES * 2; i++) {
		unsigned flags = 0;
		uint64_t addr;

		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(insn, &op[i], r->rip, &ctx, &addr)))
			continue;
		if (op[i].mem.segment == ZYDIS_REGISTER_FS)
			addr += r->fs_base;
		if (op[i].mem.segment == ZYDIS_REGISTER_GS)
			addr += r->gs_base;
		if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			flags |= COMM_ACCESS_READ;
		if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			flags |= COMM_ACCESS_WRITE;
		if (op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		    insn->meta.category != ZYDIS_CATEGORY_STRINGOP) {
			flags |= COMM_ACCESS_IMPLICIT;
			if (flags & COMM_ACCESS_WRITE)
				addr -= op[i].size / 8;
			if (insn->mnemonic == ZYDIS_MNEMONIC_LEAVE)
				addr = r->rbp;
		}
		/* pop computes an address with the new rsp */
		if (insn->mnemonic == ZYDIS_MNEMONIC_POP && i == 0 &&
		    op[i].mem.base == ZYDIS_REGISTER_RSP)
			addr += op[i].size / 8;
		ret[n].addr = addr;
		ret[n].size_bytes = op[i].size / 8;
		ret[n].flags = flags;
		n++;
	}
	return n;
}

static bool plausible(uint64_t v)
{
	return v >= PAGE && v < 1ULL << 47;
}

static void add_chunk(pid_t pid, struct comm_sample *s, uint64_t addr, uint32_t len)
{
	struct comm_chunk *c = &s->chunk[s->n_chunks];

	if (s->n_chunks == COMM_SAMPLE_CHUNKS || s->data_bytes + len > COMM_SAMPLE_DATA_BYTES ||
	    !read_child(pid, addr, s->data + s->data_bytes, len))
		return;
	c->addr = addr;
	c->len_bytes = len;
	c->offset = s->data_bytes;
	s->n_chunks++;
	s->data_bytes += len;
}

static void take_sample(pid_t pid, const struct user_regs_struct *r, struct comm_sample *s,
			bool pointers)
{
	memset(s, 0, offsetof(struct comm_sample, data));
	for (unsigned i = 0; i < COMM_NREGS; i++)
		s->reg[i] = reg_of(r, i);
	s->known = (1U << COMM_NREGS) - 1;
	s->ip = r->rip;
	s->flags = r->eflags & ~0x100ULL;
	s->mode_bits = 64;
	add_chunk(pid, s, r->rsp - 128, 512);
	add_chunk(pid, s, r->rip & ~63ULL, 64);
	for (unsigned i = 0; pointers && i < COMM_NGPR; i++) {
		uint64_t line = s->reg[i] & ~63ULL;
		bool dup = false;

		if (!plausible(s->reg[i]))
			continue;
		for (unsigned j = 0; j < s->n_chunks; j++)
			dup |= s->chunk[j].addr == line && s->chunk[j].len_bytes == 64;
		if (!dup)
			add_chunk(pid, s, line, 64);
	}
}

static void tell(const struct comm_burst_access *a, const char *why, const uint8_t *code,
		 const struct user_regs_struct *r)
{
	print_error("insn %u ip %lx (real %llx): %lx size %lu flags %x: ", a->insn, a->ip, r->rip,
		    a->addr, a->size_bytes, a->flags);
	complain(why, code, 15);
}

/*
 * Steps the child along the burst.  0: went through; 1: a signal or an endless
 * rep got in the way; -1: the child is gone.
 */
static int follow(pid_t pid, const struct comm_burst *b, struct totals *t)
{
	uint32_t at = 0;

	for (uint32_t i = 0; at < b->n_accesses; i++) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		struct user_regs_struct r, after;
		ZydisDecodedInstruction insn;
		struct move move[MOVES * 2];
		uint64_t repeats = 1;
		ZydisDecoder decoder;
		unsigned n;
		uint8_t code[16];
		int err;

		if (ptrace(PTRACE_GETREGS, pid, 0, &r) < 0 || !get_code(pid, r.rip, code))
			return -1;
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, 15, &insn, op)))
			return 1;
		n = real_moves(&r, &insn, op, move);
		if (insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
			/* The burst must have ended here. */
			t->wrong += b->n_accesses - at;
			print_error("ran past a system call\n");
			return 1;
		}
		err = step(pid);
		if (err)
			return err;
		if (ptrace(PTRACE_GETREGS, pid, 0, &after) < 0)
			return -1;
		if (after.rip == r.rip && insn.meta.category != ZYDIS_CATEGORY_STRINGOP &&
		    insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE) {
			/* Reported, but not made: about one in a million on a busy host. */
			t->idle_steps++;
			err = step(pid);
			if (err)
				return err;
		}
		t->steps++;
		if (insn.meta.category == ZYDIS_CATEGORY_STRINGOP &&
		    (insn.attributes &
		     (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))) {
			for (unsigned j = 0;; j++) {
				if (ptrace(PTRACE_GETREGS, pid, 0, &after) < 0)
					return -1;
				if (after.rip != r.rip)
					break;
				if (j == REP_STEPS)
					return 1;
				err = step(pid);
				if (err)
					return err;
			}
			repeats = r.rcx - after.rcx;
		}
		for (; at < b->n_accesses && b->access[at].insn == i; at++) {
			const struct comm_burst_access *a = &b->access[at];
			bool found = false;

			t->checked++;
			if (a->ip != r.rip) {
				t->wrong++;
				tell(a, "other flow", code, &r);
				return 1;
			}
			for (unsigned j = 0; j < n; j++) {
				uint64_t size = move[j].size_bytes * repeats, addr = move[j].addr;

				if (repeats != 1 && (r.eflags & COMM_FLAG_DF))
					addr -= (repeats - 1) * move[j].size_bytes;
				if (a->addr == addr && a->size_bytes == size &&
				    (a->flags & move[j].flags &
				     (COMM_ACCESS_READ | COMM_ACCESS_WRITE)))
					found = true;
			}
			if (!found) {
				t->wrong++;
				tell(a, "wrong access", code, &r);
				for (unsigned j = 0; j < n; j++)
					print_error("   real %lx size %lu x %lu flags %x\n",
						    move[j].addr, move[j].size_bytes, repeats,
						    move[j].flags);
			}
		}
		if (at < b->n_accesses && b->access[at].insn < i) {
			t->wrong++;
			return 1;
		}
	}
	return 0;
}

struct target {
	struct comm_decoder *decoder;
	struct comm_space_table *table;
	uint64_t now_ns;
	pid_t pid;
};

static void count_burst(struct totals *t, int with, const struct comm_burst *b)
{
	t->accesses[with] += b->n_accesses;
	t->unknown[with] += b->n_unknown;
	t->insns[with] += b->n_insns;
	t->end[with][b->end]++;
}

/* One sample, two bursts, one walk. */
static int probe(struct target *target, struct totals *t)
{
	static struct comm_burst with, without;
	static struct comm_sample sample;
	struct user_regs_struct r;
	struct comm_space *space;

	if (ptrace(PTRACE_GETREGS, target->pid, 0, &r) < 0)
		return -1;
	/* In the kernel: not what a sample of user code looks like. */
	if ((long long)r.orig_rax >= 0) {
		t->in_kernel++;
		return 0;
	}
	target->now_ns += 1000000000ULL * 10;
	comm_space_changed(target->table, (uint32_t)target->pid);
	space = comm_space_get(target->table, (uint32_t)target->pid);
	take_sample(target->pid, &r, &sample, false);
	comm_burst_run(target->decoder, space, target->now_ns, &sample, &without);
	take_sample(target->pid, &r, &sample, true);
	comm_burst_run(target->decoder, space, target->now_ns, &sample, &with);
	count_burst(t, 0, &without);
	count_burst(t, 1, &with);
	t->bursts++;
	return follow(target->pid, &with, t);
}

static void report(const char *name, const struct totals *t)
{
	print_message("%s: %lu bursts, %lu accesses checked, %lu wrong, %lu steps, %lu abandoned, "
		      "%lu stops in the kernel, %lu idle steps\n",
		      name, t->bursts, t->checked, t->wrong, t->steps, t->abandoned, t->in_kernel,
		      t->idle_steps);
	for (int with = 0; with < 2; with++) {
		print_message(
			"  %s pointer lines: %.2f accesses, %.2f instructions, %.2f unknown; ends",
			with ? "with   " : "without", (double)t->accesses[with] / (double)t->bursts,
			(double)t->insns[with] / (double)t->bursts,
			(double)t->unknown[with] / (double)t->bursts);
		for (int e = 0; e < COMM_BURST_END_MAX; e++)
			if (t->end[with][e])
				print_message(" %s %.1f%%",
					      comm_burst_end_name((enum comm_burst_end)e),
					      100.0 * (double)t->end[with][e] / (double)t->bursts);
		print_message("\n");
	}
}

/* What compilers seldom emit, for ever.  Both buffers hold a page. */
static void specials(uint8_t *from, uint8_t *to)
{
	for (uint64_t i = 0;; i++) {
		for (unsigned j = 0; j < 64; j++)
			from[j] = to[j] = (uint8_t)(i >> (j & 7));
		from[i % 64]++;
		__asm__ volatile(
			"sub $256, %%rsp\n"
			"mov %0, %%rsi\nmov %1, %%rdi\nmov $37, %%ecx\nrep movsb\n"
			"mov $5, %%ecx\nrep stosq\n"
			"std\nmov $3, %%ecx\nrep movsq\nmov $9, %%ecx\nrep stosw\ncld\n"
			"mov %0, %%rsi\nmov %1, %%rdi\nmov $20, %%ecx\nrepe cmpsb\n"
			"setb %%al\nmov (%%rdi), %%edx\n"
			"mov %0, %%rdi\nmov $30, %%ecx\nrepne scasb\nmov (%%rdi,%%rcx), %%edx\n"
			"mov %0, %%rsi\nmov %1, %%rdi\nlodsw\nstosl\nmovsw\ncmpsq\nscasw\n"
			"xor %%ecx, %%ecx\nrep movsb\n"
			"push %%rbp\nenter $32, $0\nmovq $5, -8(%%rbp)\nleave\npop %%rbp\n"
			"cmp %%rsi, %%rdi\npushfq\npopfq\npushq (%%rsi)\npopq 8(%%rdi)\n"
			"push %%rsp\npop %%rax\nmov (%%rax), %%rdx\npush $-3\npopw (%%rdi)\n"
			"add $6, %%rsp\npushw %%dx\npopw %%dx\n"
			"mov $4, %%ecx\n1: add %%rcx, (%%rdi,%%rcx,8)\nloop 1b\n"
			"jrcxz 2f\nud2\n2: mov $3, %%ecx\n3: cmp (%%rdi), %%al\nloopne 3b\n"
			"mov %1, %%rbx\nmovzbl %%al, %%eax\nxlat\nand $255, %%eax\n"
			"bts %%rax, (%%rdi)\nbtl $3, (%%rdi)\nmov %%rdi, %%rdx\n"
			"lock xadd %%rcx, (%%rdx)\nxchg %%rcx, 8(%%rdx)\n"
			"lock cmpxchg %%rcx, (%%rdx)\nlock incl 4(%%rdx)\nmov (%%rdx), %%ecx\n"
			"mov %%rdx, %%rsi\nmov %1, %%r8\nlock cmpxchg16b (%%r8)\n"
			"movups (%%r8), %%xmm0\npextrw $1, %%xmm0, %%ecx\n"
			"movntdq %%xmm0, 16(%%r8)\nmovhps %%xmm0, 40(%%r8)\n"
			"fildl (%%r8)\nfistpll 48(%%r8)\nstmxcsr 56(%%r8)\nfnstcw 60(%%r8)\n"
			"mov 32(%%r8,%%rcx,1), %%al\nbswap %%ecx\n"
			"lea 5f(%%rip), %%rax\npush %%rcx\ncall *%%rax\njmp 6f\n"
			"5: mov 8(%%rsp), %%rcx\nret $8\n6: mov %%fs:0, %%rax\nmov (%%rax), %%rcx\n"
			"mov %1, %%rcx\naddr32 movl 64(%%ecx), %%edx\n"
			"add $256, %%rsp\n"
			:
			: "r"(from), "r"(to)
			: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "xmm0", "memory", "cc");
	}
}

/* argv NULL: specials() instead of a program. */
static pid_t launch(char *const argv[])
{
	int gate[2];
	pid_t pid;

	assert_return_code(pipe(gate), errno);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char c;

		close(gate[1]);
		/* Nothing comes: the end of the file opens the gate. */
		if (read(gate[0], &c, 1) || !freopen("/dev/null", "w", stdout) ||
		    !freopen("/dev/null", "w", stderr))
			_exit(126);
		if (!argv) {
			uint8_t *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

			if (page != MAP_FAILED)
				specials(page + 256, page + PAGE + 256);
			_exit(125);
		}
		execvp(argv[0], argv);
		_exit(127);
	}
	close(gate[0]);
	assert_return_code(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC),
			   errno);
	/* Stopped, as run_on() wants it. */
	assert_return_code(ptrace(PTRACE_INTERRUPT, pid, 0, 0), errno);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(gate[1]);
	return pid;
}

/* Lets the child run a random while, then stops it wherever it is. */
static bool run_on(pid_t pid, unsigned max_us)
{
	int status, sig = 0;

	if (ptrace(PTRACE_CONT, pid, 0, 0) < 0)
		return false;
	usleep((useconds_t)(draw() % max_us));
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
		return false;
	for (;;) {
		if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
			return true;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig == SIGTRAP || sig == SIGSTOP || sig == SIGCONT)
			sig = 0;
		if (ptrace(PTRACE_CONT, pid, 0, sig) < 0)
			return false;
	}
}

static void run_program(const char *name, char *const argv[], double limit_s)
{
	struct target target = {.now_ns = 1};
	struct comm_inspect inspect;
	double until = seconds() + limit_s;
	struct totals t;

	memset(&t, 0, sizeof(t));
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	assert_int_equal(comm_space_table_create(&inspect, &target.table), 0);
	assert_int_equal(comm_decoder_create(&inspect, &target.decoder), 0);
	while (seconds() < until && t.wrong < 10) {
		unsigned n = 0;

		target.pid = launch(argv);
		while (seconds() < until && t.wrong < 10 && run_on(target.pid, 3000)) {
			int err = probe(&target, &t);

			n++;
			if (err < 0)
				break;
			t.abandoned += err > 0;
		}
		kill(target.pid, SIGKILL);
		while (waitpid(target.pid, NULL, 0) > 0)
			;
		comm_space_drop(target.table, (uint32_t)target.pid);
		if (!n)
			break;
	}
	report(name, &t);
	comm_decoder_destroy(target.decoder);
	comm_space_table_destroy(target.table);
	comm_inspect_destroy(&inspect);
	assert_int_equal(t.wrong, 0);
	assert_true(t.checked > 100);
}

static bool installed(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", name);
	if (!system(command))
		return true;
	print_message("%s is not installed\n", name);
	return false;
}

static const double PROGRAM_S = 8;

static void test_specials(void **state)
{
	(void)state;
	run_program("special instructions", NULL, PROGRAM_S / 2);
}

static void test_xz(void **state)
{
	char *argv[] = {"xz", "-T1", "-k", "-c", "/proc/self/exe", NULL};
	char path[256];
	ssize_t n;

	(void)state;
	if (!installed("xz"))
		skip();
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	assert_true(n > 0);
	path[n] = 0;
	argv[4] = path;
	run_program("xz", argv, PROGRAM_S);
}

static void test_python(void **state)
{
	char path[256] = "";
	char *argv[] = {path, "-c",
			"d={}\nfor i in range(10**9):\n d[i%1000]=str(i)\n"
			" if i%7==0: d[i%13]=[x*x for x in range(i%20)]\n"
			" if i%11==0: sorted(map(str,range(20)))",
			NULL};
	FILE *who;

	(void)state;
	if (!installed("python3"))
		skip();
	/* Not a wrapper script. */
	who = popen("python3 -c 'import sys; print(sys.executable)'", "r");
	assert_non_null(who);
	assert_non_null(fgets(path, sizeof(path), who));
	path[strcspn(path, "\n")] = 0;
	pclose(who);
	run_program("python3", argv, PROGRAM_S);
}

static void test_sqlite(void **state)
{
	char *argv[] = {
		"sqlite3", ":memory:",
		"create table t(a integer primary key,b text,c real);"
		"with recursive n(i) as (select 1 union all select i+1 from n where i<100000) "
		"insert into t select i, hex(i*7919), i/3.0 from n;"
		"create index x on t(b);"
		"select sum(c),count(*),max(b) from t where b like '%5%' group by a%17;"
		"select count(*) from t x join t y on x.b=y.b;",
		NULL};

	(void)state;
	if (!installed("sqlite3"))
		skip();
	run_program("sqlite3", argv, PROGRAM_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions), cmocka_unit_test(test_specials),
		cmocka_unit_test(test_xz),	     cmocka_unit_test(test_python),
		cmocka_unit_test(test_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
