// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bursts against the processor: a traced program is stopped, the burst is
 * computed from what a sample would hold, then the program is single-stepped
 * through the same instructions and every emitted access is compared with the
 * one that the real registers give.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "burst.h"
#include "clock.h"
#include "emu.h"
#include "traced.h"

enum {
	MOVES = 2, /* most accesses of one instruction */
	REP_STEPS = 4096,
	CHECKED_MIN = 100, /* accesses to compare for each program */
};

static double seconds(void)
{
	return (double)comm_clock_now_ns() / 1e9;
}

struct totals {
	uint64_t bursts, checked, wrong, abandoned, steps, in_kernel, idle_steps, long_steps;
	uint64_t accesses[2], unknown[2], insns[2], end[2][COMM_BURST_END_MAX];
};

struct move {
	uint64_t addr, size_bytes;
	unsigned flags;
	unsigned lane_bytes; /* of a masked one */
};

static bool get_code(pid_t pid, uint64_t ip, uint8_t code[16])
{
	memset(code, 0x90, 16);
	return read_child(pid, ip, code, 16) || read_child(pid, ip, code, PAGE - (ip & (PAGE - 1)));
}

/* The addresses that the processor is about to access, by the manual and the real registers. */
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
		ret[n].lane_bytes = op[i].element_size / 8;
		n++;
	}
	return n;
}

/* What an opmask register holds.  False: the kernel or the processor does not tell. */
static bool real_mask(pid_t pid, ZydisRegister reg, uint64_t *ret)
{
	enum { STATE_OPMASK = 5 };
	static uint8_t state[1 << 14];
	struct iovec io = {state, sizeof(state)};
	unsigned size, offset, c, d;
	size_t at;

	if (!__get_cpuid_count(0xd, STATE_OPMASK, &size, &offset, &c, &d) || !size ||
	    ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &io) < 0)
		return false;
	at = offset + 8 * (size_t)(reg - ZYDIS_REGISTER_K0);
	if (at + 8 > io.iov_len)
		return false;
	memcpy(ret, state + at, 8);
	return true;
}

/* Whether an access is one run of the lanes that are chosen, with none beside it. */
static bool is_run(const struct comm_burst_access *a, const struct move *move, uint64_t mask)
{
	uint64_t first = (a->addr - move->addr) / move->lane_bytes;
	uint64_t end = (a->addr + a->size_bytes - move->addr) / move->lane_bytes;
	uint64_t lanes = move->size_bytes / move->lane_bytes;

	if (a->addr < move->addr || end > lanes || first >= end ||
	    (a->addr - move->addr) % move->lane_bytes || a->size_bytes % move->lane_bytes)
		return false;
	for (uint64_t i = first; i < end; i++)
		if (!(mask >> i & 1))
			return false;
	return (!first || !(mask >> (first - 1) & 1)) && (end == lanes || !(mask >> end & 1));
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

/* Whether an instruction that was executed at r can have led to an address: where a jump goes by its operand, is not asked. */
static bool leads_to(const struct user_regs_struct *r, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *op, uint64_t ip)
{
	uint64_t target;

	if (ip == r->rip + insn->length || insn->meta.category == ZYDIS_CATEGORY_STRINGOP)
		return true;
	if (insn->meta.category != ZYDIS_CATEGORY_COND_BR)
		return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		       insn->meta.category == ZYDIS_CATEGORY_CALL ||
		       insn->meta.category == ZYDIS_CATEGORY_RET;
	return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, &op[0], r->rip, &target)) &&
	       ip == target;
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
		uint64_t repeats = 1, mask = 0;
		bool masked;
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
		masked = insn.avx.mask.reg > ZYDIS_REGISTER_K0 &&
			 insn.avx.mask.reg <= ZYDIS_REGISTER_K7 &&
			 real_mask(pid, insn.avx.mask.reg, &mask);
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
			/*
			 * A step that was reported without the instruction having run:
			 * about one in a million on a busy host.
			 */
			t->idle_steps++;
			err = step(pid);
			if (err)
				return err;
		}
		if (ptrace(PTRACE_GETREGS, pid, 0, &after) < 0)
			return -1;
		if (!leads_to(&r, &insn, op, after.rip)) {
			/* A step of two instructions: about one in 100,000 in a guest of PVM on an AMD CPU. */
			t->long_steps++;
			return 1;
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
				if ((masked ? is_run(a, &move[j], mask)
					    : a->addr == addr && a->size_bytes == size) &&
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
		      "%lu stops in the kernel, %lu idle steps, %lu long ones\n",
		      name, t->bursts, t->checked, t->wrong, t->steps, t->abandoned, t->in_kernel,
		      t->idle_steps, t->long_steps);
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
	/* run_on() expects the child to be stopped. */
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
		/* Any other stop, of a signal or of exec(), took the interrupt that was pending. */
		if (ptrace(PTRACE_CONT, pid, 0, sig) < 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
			return false;
	}
}

/* However busy the machine is, enough must have been compared. */
static bool wants_more(const struct totals *t, double until)
{
	return seconds() < until || t->checked <= CHECKED_MIN;
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
	while (wants_more(&t, until) && t.wrong < 10) {
		unsigned n = 0;

		target.pid = launch(argv);
		while (wants_more(&t, until) && t.wrong < 10 && run_on(target.pid, 3000)) {
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
	assert_true(t.checked > CHECKED_MIN);
	assert_true(t.long_steps * 1000 < t.steps);
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
		cmocka_unit_test(test_specials),
		cmocka_unit_test(test_xz),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_sqlite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
