/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a burst, and how close the timing model is: small loops that run here,
 * once on the processor and once in the emulator.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#include "burst.h"
#include "clock.h"
#include "codecache.h"

enum { RUNS = 9, NATIVE_RUNS = 101, BURSTS = 20000, ITERATIONS = 20000, ARRAY = 512 };

struct frame {
	uint64_t a[ARRAY];
	double f[ARRAY];
	uint64_t chain[ARRAY];
};

/*
 * rdi: array, rsi: iterations, rdx: 0, rcx: 1.  A burst starts at the label NAME_loop;
 * .b counts the instructions of one iteration.
 */
#define LOOP(name, body)                                                                           \
	void name(void *array, uint64_t n, uint64_t zero, uint64_t one);                           \
	extern const char name##_loop[];                                                           \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                \
		"xor %eax, %eax\nxor %r8d, %r8d\nxor %r9d, %r9d\nxor %r10d, %r10d\n"               \
		"mov $7, %r11\npush %rbx\n"                                                        \
		".globl " #name "_loop\n.balign 32\n" #name "_loop:\n" body "dec %rsi\njne " #name \
		"_loop\npop %rbx\nret\n")

LOOP(l_alu_chain, "add %rcx, %rax\nadd %rcx, %rax\nadd %rcx, %rax\nadd %rcx, %rax\n"
		  "add %rcx, %rax\nadd %rcx, %rax\nadd %rcx, %rax\nadd %rcx, %rax\n");
LOOP(l_load_sum, "mov %rsi, %r8\nand $511, %r8d\nadd (%rdi,%r8,8), %rax\n"
		 "xor $8, %r8d\nadd (%rdi,%r8,8), %r9\n");
LOOP(l_store_fill, "mov %rsi, %r8\nand $510, %r8d\nmov %rsi, (%rdi,%r8,8)\n"
		   "mov %rsi, 8(%rdi,%r8,8)\n");
LOOP(l_pointer, "mov 8192(%rdi,%rax,8), %rax\n");
LOOP(l_rmw, "addq %rcx, (%rdi)\n");
LOOP(l_mul_chain, "imul %r11, %rax\nimul %r11, %rax\n");
LOOP(l_div, "mov %rsi, %rax\nxor %edx, %edx\ndiv %r11\nmov %rax, %r8\n");
LOOP(l_lock, "lock addq %rcx, (%rdi)\n");
LOOP(l_fp_add, "movsd 4096(%rdi), %xmm1\naddsd %xmm1, %xmm0\naddsd %xmm1, %xmm0\n");
LOOP(l_stencil, "mov %rsi, %r8\nand $255, %r8d\nmovsd 4096(%rdi,%r8,8), %xmm0\n"
		"addsd 4104(%rdi,%r8,8), %xmm0\naddsd 4112(%rdi,%r8,8), %xmm0\n"
		"mulsd %xmm2, %xmm0\nmovsd %xmm0, (%rdi,%r8,8)\n");

static const struct {
	const char *name, *start;
	void (*run)(void *array, uint64_t n, uint64_t zero, uint64_t one);
	unsigned insns;
} loop[] = {
	{"8 dependent adds", l_alu_chain_loop, l_alu_chain, 10},
	{"2 loads summed", l_load_sum_loop, l_load_sum, 7},
	{"2 stores", l_store_fill_loop, l_store_fill, 6},
	{"pointer chase", l_pointer_loop, l_pointer, 3},
	{"add to one word", l_rmw_loop, l_rmw, 3},
	{"2 dependent multiplies", l_mul_chain_loop, l_mul_chain, 4},
	{"64-bit division", l_div_loop, l_div, 6},
	{"locked add", l_lock_loop, l_lock, 3},
	{"2 dependent fp adds", l_fp_add_loop, l_fp_add, 5},
	{"3-point stencil", l_stencil_loop, l_stencil, 9},
};

enum { LOOPS = sizeof(loop) / sizeof(loop[0]) };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static double native_cycles(unsigned i, struct frame *frame)
{
	double v[NATIVE_RUNS];

	for (int run = 0; run < NATIVE_RUNS; run++) {
		uint64_t before = __rdtsc();

		loop[i].run(frame, ITERATIONS, 0, 1);
		v[run] = (double)(__rdtsc() - before) / ITERATIONS;
	}
	return median(v, NATIVE_RUNS);
}

static void fill_sample(struct comm_sample *s, unsigned i, struct frame *frame)
{
	memset(s, 0, sizeof(*s));
	s->reg[COMM_RDI] = (uint64_t)frame;
	s->reg[COMM_RSI] = 1 << 20;
	s->reg[COMM_RCX] = 1;
	s->reg[COMM_R11] = 7;
	s->reg[COMM_RSP] = (uint64_t)&s;
	s->known = (1U << COMM_NREGS) - 1;
	s->ip = (uint64_t)loop[i].start;
	s->mode_bits = 64;
	/* The data of the pointer chase: words that point to themselves. */
	s->chunk[0].addr = (uint64_t)frame->chain;
	s->chunk[0].len_bytes = 64;
	s->n_chunks = 1;
	s->data_bytes = 64;
}

int main(void)
{
	static struct comm_burst burst;
	static struct comm_sample sample[LOOPS];
	struct frame *frame = aligned_alloc(4096, (sizeof(*frame) + 4095) & ~4095UL);
	struct comm_space_table *table;
	struct comm_decoder *decoder;
	struct comm_codecache *cache;
	struct comm_segment seg;
	struct comm_space *space;
	struct comm_inspect inspect;
	double v[RUNS], native[LOOPS], model[LOOPS], clock;
	uint64_t insns = 0, accesses = 0;

	if (!frame || comm_inspect_live_create(&inspect) ||
	    comm_space_table_create(&inspect, &table) || comm_decoder_create(&inspect, &decoder) ||
	    comm_codecache_create(&inspect, &cache))
		return 1;
	memset(frame, 0, sizeof(*frame));
	space = comm_space_get(table, (uint32_t)getpid());

	for (unsigned i = 0; i < LOOPS; i++) {
		fill_sample(&sample[i], i, frame);
		native[i] = native_cycles(i, frame);
		comm_burst_run(decoder, space, 1, &sample[i], &burst);
		model[i] = (double)burst.cycles * loop[i].insns / burst.n_insns;
		if (burst.end != COMM_BURST_FULL)
			fprintf(stderr, "%s: ended with %s after %u\n", loop[i].name,
				comm_burst_end_name(burst.end), burst.n_insns);
		insns += burst.n_insns;
		accesses += burst.n_accesses;
	}
	printf("%-24s %10s %10s %8s\n", "loop", "TSC ticks", "model", "ratio*");
	clock = model[0] / native[0]; /* loop 0 takes eight cycles an iteration on every machine */
	for (unsigned i = 0; i < LOOPS; i++)
		printf("%-24s %10.2f %10.2f %8.2f\n", loop[i].name, native[i], model[i],
		       model[i] / native[i] / clock);
	printf("* model / measured, over that of the first loop, %.2f: clock over TSC\n\n", clock);

	for (int run = 0; run < RUNS; run++) {
		uint64_t before = comm_clock_thread_ns();

		for (unsigned i = 0; i < BURSTS; i++)
			comm_burst_run(decoder, space, 1, &sample[i % LOOPS], &burst);
		v[run] = (double)(comm_clock_thread_ns() - before) / BURSTS;
	}
	printf("warm: %.0f ns a burst of %.0f instructions and %.0f accesses, %.0f bursts/s, "
	       "%.2f ns an instruction\n",
	       median(v, RUNS), (double)insns / LOOPS, (double)accesses / LOOPS,
	       1e9 / median(v, RUNS), median(v, RUNS) * LOOPS / (double)insns);

	/* Cold: this program's own code, each time as if it had changed. */
	if (!comm_codecache_segment(cache, space, 1, (uint64_t)(uintptr_t)&main, &seg))
		return 1;
	for (int run = 0; run < RUNS; run++) {
		uint64_t before = comm_clock_thread_ns(), at = (uint64_t)(uintptr_t)&main, n = 0;

		for (unsigned i = 0; i < 100; i++) {
			uint32_t p = comm_codecache_find(cache, &seg, at);

			if (!p)
				break;
			for (;; p++) {
				const struct comm_uop *u = &comm_codecache_uops(cache)[p];

				at = u->at + seg.delta + u->len_bytes;
				if (u->op == COMM_OP_GOTO)
					break;
				n++;
				if (comm_insn_ends_block(u))
					break;
			}
		}
		v[run] = (double)(comm_clock_thread_ns() - before) / (double)n;
		comm_codecache_forget(cache, &seg);
	}
	printf("cold: %.0f ns to read, decode and keep an instruction\n", median(v, RUNS));

	comm_codecache_destroy(cache);
	comm_decoder_destroy(decoder);
	comm_space_table_destroy(table);
	comm_inspect_destroy(&inspect);
	free(frame);
	return 0;
}
