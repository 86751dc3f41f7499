/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts over code written by hand, one instruction class after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made_code.h"
#include "timing.h"

static void test_moves(void **state)
{
	/* mov rax,[rbx+rcx*8+16]; mov [rbx],ecx; movzx edx, word [rip+0x10]; lea (none) */
	const struct comm_burst *b =
		RUN(*state, "\x48\x8b\x44\xcb\x10\x89\x0b\x0f\xb7\x15\x10\x00\x00\x00\x48\x8d\x03");

	ENDS(b, 3, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP + 8 + 16, 8, R);
	ACCESS(b, 1, HEAP, 4, W);
	ACCESS(b, 2, TEXT + 14 + 0x10, 2, R);
	assert_int_equal(b->access[1].ip, TEXT + 5);
	assert_int_equal(b->access[1].insn, 1);
}

/* A PEBS record: the first instruction has run, and its flags may be missing. */
static void test_after(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	w->sample.known |= COMM_SAMPLE_AFTER;
	/* mov rax,[rbx]; mov [rax+8],ecx; jz +0: rax is what the load gave */
	w->sample.reg[COMM_RAX] = HEAP + 64;
	b = RUN_AT(w, 0, "\x48\x8b\x03\x89\x48\x08\x74\x00\x89\x0b");
	ENDS(b, 2, 3, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP + 72, 4, W);
	assert_true(b->access[0].ip == TEXT + 3 && b->access[0].nth == 0 && b->access[1].nth == 1);
	w->sample.known |= (uint32_t)COMM_SAMPLE_NO_FLAGS;
	ENDS(run(w), 1, 1, COMM_BURST_BRANCH);
	/* An access of an unknown address counts in the positions. */
	w->sample.known &= ~(1u << COMM_RAX);
	b = RUN_AT(w, 64, "\x48\x8b\x03\x89\x48\x08\x89\x0b");
	ENDS(b, 1, 2, COMM_BURST_UNSUPPORTED);
	assert_int_equal(b->access[0].nth, 1);
	/* Where a return, a call or a rep leads is not behind it. */
	ENDS(RUN_AT(w, 128, "\xc3\x89\x0b"), 0, 0, COMM_BURST_INDIRECT);
	ENDS(RUN_AT(w, 192, "\xff\x13\x89\x0b"), 0, 0, COMM_BURST_INDIRECT);
	ENDS(RUN_AT(w, 256, "\xf3\xa4\x89\x0b"), 0, 0, COMM_BURST_INDIRECT);
}

static void test_operand(void **state)
{
	struct world *w = *state;
	uint16_t flags = 0;
	uint32_t bytes = 0;

	memcpy(w->image[1], "\xf0\x48\xff\x03\x89\x0b\x48\x8d\x03", 9);
	/* lock inc [rbx]; mov [rbx],ecx; lea rax,[rbx] */
	assert_true(comm_decoder_operand(w->decoder, w->space, 1000, TEXT, R, &bytes, &flags));
	assert_true(bytes == 8 && flags == (R | COMM_ACCESS_ATOMIC));
	assert_true(comm_decoder_operand(w->decoder, w->space, 1000, TEXT + 4, W, &bytes, &flags));
	assert_true(bytes == 4 && flags == W);
	assert_false(comm_decoder_operand(w->decoder, w->space, 1000, TEXT + 4, R, &bytes, &flags));
	assert_false(comm_decoder_operand(w->decoder, w->space, 1000, TEXT + 6, R, &bytes, &flags));
	assert_false(comm_decoder_operand(w->decoder, w->space, 1000, HEAP, R, &bytes, &flags));
}

static void test_absolute_address(void **state)
{
	/* movabs rax,[0x123456789abc] */
	const struct comm_burst *b = RUN(*state, "\x48\xa1\xbc\x9a\x78\x56\x34\x12\x00\x00");

	ENDS(b, 1, 1, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, 0x123456789abc, 8, R);
}

static void test_segments(void **state)
{
	/* mov rax,fs:[0x28]; mov rax,gs:[0x28] (base not known) */
	const struct comm_burst *b =
		RUN(*state, "\x64\x48\x8b\x04\x25\x28\0\0\0\x65\x48\x8b\x04\x25\x28\0\0\0");

	ENDS(b, 1, 2, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, 0x700028, 8, R);
	assert_int_equal(b->n_unknown, 1);
}

static void test_loaded_pointer(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	/* mov rax,[rbx]; mov rcx,[rax+8] */
	b = RUN(w, "\x48\x8b\x03\x48\x8b\x48\x08");
	ENDS(b, 1, 2, COMM_BURST_UNSUPPORTED);
	assert_int_equal(b->n_unknown, 1);
	know_word(w, HEAP, 0x650000);
	b = run(w);
	ENDS(b, 2, 2, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 1, 0x650008, 8, R);
}

static void test_stack(void **state)
{
	/* push rcx; push 5; pop rax; pop rdx; mov rsi,[rbx+rax*8]; mov rsi,[rbx+rdx*8] */
	const struct comm_burst *b =
		RUN(*state, "\x51\x6a\x05\x58\x5a\x48\x8b\x34\xc3\x48\x8b\x34\xd3");

	ENDS(b, 6, 6, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, STACK - 8, 8, W | I);
	ACCESS(b, 1, STACK - 16, 8, W | I);
	ACCESS(b, 2, STACK - 16, 8, R | I);
	ACCESS(b, 3, STACK - 8, 8, R | I);
	ACCESS(b, 4, HEAP + 40, 8, R);
	ACCESS(b, 5, HEAP + 8, 8, R);
}

static uint64_t call_of(const struct comm_burst *b, int access)
{
	assert_in_range(b->access[access].call, 1, b->n_calls);
	return b->call[b->access[access].call - 1].ip;
}

static void test_call_and_return(void **state)
{
	/* call +1; hlt; push rbp; mov rbp,rsp; leave; ret */
	const struct comm_burst *b = RUN(*state, "\xe8\x01\0\0\0\xf4\x55\x48\x89\xe5\xc9\xc3");

	ENDS(b, 4, 5, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, STACK - 8, 8, W | I);
	ACCESS(b, 1, STACK - 16, 8, W | I);
	ACCESS(b, 2, STACK - 16, 8, R | I);
	ACCESS(b, 3, STACK - 8, 8, R | I);
	assert_int_equal(b->access[3].ip, TEXT + 11);
	/* What is between the call and the return is in the function that is called. */
	assert_int_equal(b->access[0].call, 0);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(call_of(b, i), TEXT);
	assert_int_equal(b->access[3].returns, 0);
}

static void test_return_into_a_caller(void **state)
{
	/* lea rax,[rip+2]; push rax; ret; mov rax,[rsp]; hlt */
	const struct comm_burst *b =
		RUN(*state, "\x48\x8d\x05\x02\0\0\0\x50\xc3\x48\x8b\x04\x24\xf4");

	assert_int_equal(b->n_accesses, 3);
	assert_int_equal(b->access[1].returns, 0);
	assert_int_equal(b->access[2].returns, 1);
	assert_int_equal(b->access[2].call, 0);
}

static void test_endless_recursion(void **state)
{
	/* call 0 */
	const struct comm_burst *b = RUN(*state, "\xe8\xfb\xff\xff\xff");

	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_int_equal(call_of(b, 10), TEXT);
	/* Each call is within the one before. */
	for (uint16_t call = b->access[10].call, depth = 10; call; depth--) {
		assert_int_equal(call, depth);
		call = b->call[call - 1].within;
	}
	assert_int_equal(b->access[100].call, COMM_BURST_LOST);
}

static void test_return_to_nowhere(void **state)
{
	const struct comm_burst *b = RUN(*state, "\xc3");

	ENDS(b, 1, 1, COMM_BURST_INDIRECT);
}

static void test_strings(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	w->sample.reg[COMM_RCX] = 100;
	w->sample.reg[COMM_RSI] = HEAP;
	w->sample.reg[COMM_RDI] = HEAP + 0x10000;
	/* rep movsq; mov rax,[rsi]; mov rax,[rbx+rcx] */
	b = RUN(w, "\xf3\x48\xa5\x48\x8b\x06\x48\x8b\x04\x0b");
	ENDS(b, 4, 3, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 800, R | P);
	ACCESS(b, 1, HEAP + 0x10000, 800, W | P);
	ACCESS(b, 2, HEAP + 800, 8, R);
	ACCESS(b, 3, HEAP, 8, R);
	/* It was sampled amid its elements: the rest takes time, and is moved in the middle of that. */
	assert_true(b->cycles > 800 / 31.0f && b->cycles < 800 / 4.0f);
	assert_true(b->access[0].cycle > b->cycles * 0.3f && b->access[0].cycle < b->cycles * 0.6f);
	assert_true(b->access[1].cycle == b->access[0].cycle);

	/* std; rep stosb */
	memcpy(w->image[1] + 0x100, "\xfd\xf3\xaa", 3);
	w->sample.ip = TEXT + 0x100;
	b = run(w);
	ENDS(b, 1, 2, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP + 0x10000 - 99, 100, W | P);

	w->sample.reg[COMM_RCX] = 0;
	b = run(w);
	ENDS(b, 0, 2, COMM_BURST_UNSUPPORTED);
}

static void test_string_compare(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	know(w, HEAP, "abcdefgX", 8);
	know(w, HEAP + 64, "abcdefgY", 8);
	w->sample.reg[COMM_RCX] = 20;
	w->sample.reg[COMM_RSI] = HEAP;
	w->sample.reg[COMM_RDI] = HEAP + 64;
	/* repe cmpsb; mov al,[rbx+rcx]; jb over a hlt; mov rax,[rdi] */
	b = RUN(w, "\xf3\xa6\x8a\x04\x0b\x72\x01\xf4\x48\x8b\x07");
	ENDS(b, 4, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 8, R | P);
	ACCESS(b, 1, HEAP + 64, 8, R | P);
	ACCESS(b, 2, HEAP + 12, 1, R);
	ACCESS(b, 3, HEAP + 72, 8, R);
	/* beyond known memory, nothing is emitted and the registers become unknown */
	w->sample.n_chunks = 0;
	b = run(w);
	ENDS(b, 0, 2, COMM_BURST_BRANCH);
	assert_int_equal(b->n_unknown, 2);
}

/* What a burst would take of a core that never waits for memory nor mispredicts. */
static float modelled(const struct comm_burst *b)
{
	return b->cycles / COMM_TIMING_SLOWDOWN;
}

/*
 * Loads that follow a list take the latency of the second-level cache; those from a
 * small table, of the first.
 */
static void test_follows(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	w->sample.reg[COMM_RCX] = 1000;
	w->sample.reg[COMM_RAX] = 0;
	/* l: mov rbx,[rbx]; dec rcx; jne l; m: mov rdx,[rbx+rax*8]; mov rax,rdx; dec rcx; jne m */
	b = RUN(w, "\x48\x8b\x1b\x48\xff\xc9\x75\xf8"
		   "\x48\x8b\x14\xc3\x48\x89\xd0\x48\xff\xc9\x75\xf4");
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_true(modelled(b) > COMM_BURST_INSNS / 3 * 13);
	w->sample.ip = TEXT + 8;
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_true(modelled(b) > COMM_BURST_INSNS / 4 * 13);
	/* rax stays 0 */
	know_word(w, HEAP, 0);
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_true(modelled(b) < COMM_BURST_INSNS / 4 * 8);
}

/* Vectors of new lines come at the rate of memory, those of lines that were met before not. */
static void test_wide_loads(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	/* l: vmovdqu ymm0,[rsi]; vmovdqu ymm1,[rsi+32]; add rsi,64; jmp l */
	w->sample.reg[COMM_RSI] = HEAP;
	b = RUN(w, "\xc5\xfe\x6f\x06\xc5\xfe\x6f\x4e\x20\x48\x83\xc6\x40\xeb\xf1");
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_int_equal(b->access[2].addr, HEAP + 64);
	assert_true(modelled(b) > COMM_BURST_INSNS / 4 * 5 &&
		    modelled(b) < COMM_BURST_INSNS / 4 * 6);
	/* l: vmovdqu ymm0,[rsi]; vmovdqu ymm1,[rsi+32]; jmp l */
	memcpy(w->image[1] + 0x100, "\xc5\xfe\x6f\x06\xc5\xfe\x6f\x4e\x20\xeb\xf5", 11);
	w->sample.ip = TEXT + 0x100;
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_true(modelled(b) < COMM_BURST_INSNS / 3 * 2);
	/* l: mov rax,[rsi]; mov rcx,[rsi+32]; add rsi,64; jmp l */
	memcpy(w->image[1] + 0x200, "\x48\x8b\x06\x48\x8b\x4e\x20\x48\x83\xc6\x40\xeb\xf3", 13);
	w->sample.ip = TEXT + 0x200;
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_true(modelled(b) < COMM_BURST_INSNS / 4 * 2);
}

/* Lines that are written before they are read, each once. */
static void test_filled_lines(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	/* l: mov [rsi],rax; mov [rsi+8],rax; add rsi,64; jmp l */
	w->sample.reg[COMM_RSI] = HEAP;
	b = RUN(w, "\x48\x89\x06\x48\x89\x46\x08\x48\x83\xc6\x40\xeb\xf3");
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_int_equal(b->n_filled, COMM_BURST_INSNS / 4);
	/* l: add [rsi],rax; mov [rsi+8],rax; add rsi,64; jmp l */
	memcpy(w->image[1] + 0x100, "\x48\x01\x06\x48\x89\x46\x08\x48\x83\xc6\x40\xeb\xf3", 13);
	w->sample.ip = TEXT + 0x100;
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_int_equal(b->n_filled, 0);
}

static void test_branches(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	/* l: mov rax,[rbx+rcx*8]; dec rcx; jne l */
	w->sample.reg[COMM_RCX] = 10;
	b = RUN(w, "\x48\x8b\x04\xcb\x48\xff\xc9\x75\xf7");
	ENDS(b, 10, 30, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 9, HEAP + 8, 8, R);
	w->sample.reg[COMM_RCX] = 1000;
	b = run(w);
	assert_int_equal(b->end, COMM_BURST_FULL);
	assert_int_equal(b->n_insns, COMM_BURST_INSNS);
	assert_true(b->cycles > COMM_BURST_INSNS / 3 && b->cycles < COMM_BURST_INSNS);
	w->sample.known &= ~(1U << COMM_RCX);
	b = run(w);
	ENDS(b, 0, 2, COMM_BURST_BRANCH);
}

static void test_jump_table(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;
	uint64_t to = TEXT + 0x40;

	memcpy(w->image[2] + 8, &to, 8);
	memcpy(w->image[1] + 0x40, "\x48\x8b\x03", 3);
	/* jmp [rcx*8+RODATA] */
	b = RUN(w, "\xff\x24\xcd\x00\x20\x40\x00");
	ENDS(b, 2, 2, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, RODATA + 8, 8, R);
	ACCESS(b, 1, HEAP, 8, R);
}

static void test_relro(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;
	uint64_t to = TEXT + 0x40;

	memcpy(w->image[3], &to, 8);
	memcpy(w->image[1] + 0x40, "\x48\x8b\x03", 3);
	/* jmp [rip+...] through a slot made read-only after relocation */
	b = RUN(w, "\xff\x25\xfa\x1f\x00\x00");
	ENDS(b, 2, 2, COMM_BURST_UNSUPPORTED);
	/* as long as the mapping is writable, the slot may change */
	w->map[3].writable = true;
	comm_space_changed(w->table, 7);
	comm_burst_run(w->decoder, w->space, 1ULL << 40, &w->sample, &w->burst);
	ENDS(b, 1, 1, COMM_BURST_INDIRECT);
}

static void test_wild_store(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	know_word(w, HEAP, HEAP + 64);
	w->sample.known &= ~(1U << COMM_RAX);
	/* mov rcx,[rbx]; mov [rcx],rcx; mov [rax],rcx; mov rcx,[rbx]; mov rcx,[rcx] */
	b = RUN(w, "\x48\x8b\x0b\x48\x89\x09\x48\x89\x08\x48\x8b\x0b\x48\x8b\x09");
	ENDS(b, 3, 5, COMM_BURST_UNSUPPORTED);
	assert_int_equal(b->n_unknown, 2);
}

static void test_store_then_load(void **state)
{
	/* mov [rbx],rsp; mov byte [rbx],0; mov rax,[rbx]; mov rax,[rax]; vector store; again */
	const struct comm_burst *b = RUN(*state, "\x48\x89\x23\xc6\x03\x08\x48\x8b\x03\x48\x8b\x00"
						 "\x0f\x11\x03\x48\x8b\x03\x48\x8b\x00");

	ENDS(b, 6, 7, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 3, (STACK & ~0xff) | 8, 8, R);
	ACCESS(b, 4, HEAP, 16, W);
	assert_int_equal(b->n_unknown, 1);
}

static void test_partial_registers(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	w->sample.known &= ~(1U << COMM_RAX);
	/* mov rcx,rax; and ecx,0; mov ch,2; movzx edx,ch; mov rsi,[rbx+rcx]; mov rsi,[rbx+rdx] */
	b = RUN(w, "\x48\x89\xc1\x83\xe1\x00\xb5\x02\x0f\xb6\xd5\x48\x8b\x34\x0b\x48\x8b\x34\x13");
	ENDS(b, 2, 6, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP + 0x200, 8, R);
	ACCESS(b, 1, HEAP + 2, 8, R);
}

static void test_vectors(void **state)
{
	/*
	 * vmovdqu ymm0,[rbx]; vmovdqu64 zmm0{k1},[rbx] (masked); vpgatherdd;
	 * addsd xmm0,[rbx+8]; movd eax,xmm0; mov rcx,[rax]; fld qword [rbx]; prefetch
	 */
	const struct comm_burst *b =
		RUN(*state, "\xc5\xfe\x6f\x03\x62\xf1\xfe\x49\x6f\x03\xc4\xe2\x75\x90\x04\x13"
			    "\xf2\x0f\x58\x43\x08\x66\x0f\x7e\xc0\x48\x8b\x08\xdd\x03\x0f\x18\x0b");

	ENDS(b, 3, 8, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 32, R);
	ACCESS(b, 1, HEAP + 8, 8, R);
	ACCESS(b, 2, HEAP, 8, R);
	assert_int_equal(b->n_unknown, 3);
}

/* Of a vector the lanes that a mask register chooses, where it is known what is in it. */
static void test_masks(void **state)
{
	/*
	 * mov esi,0x6f; kmovw k1,esi; vmovdqu64 [rbx]{k1},zmm0; vmovdqu64 zmm1{k1}{z},[rbx+0x40];
	 * vpcompressd [rbx]{k1},zmm0; vpexpandd zmm2{k1}{z},[rbx]; vmovdqu8 [rbx]{k1},xmm0;
	 * vmovdqu64 [rbx]{k2},zmm0; kxnorb k2,k2,k2; the same store; kxorb k2,k2,k2; the same;
	 * vpcmpeqd k1,zmm0,zmm1; vmovdqu64 [rbx]{k1},zmm0
	 */
	const struct comm_burst *b = RUN(
		*state, "\xbe\x6f\x00\x00\x00\xc5\xf8\x92\xce\x62\xf1\xfe\x49\x7f\x03\x62\xf1\xfe"
			"\xc9\x6f\x4b\x01\x62\xf2\x7d\x49\x8b\x03\x62\xf2\x7d\xc9\x89\x13\x62\xf1"
			"\x7f\x09\x7f\x03\x62\xf1\xfe\x4a\x7f\x03\xc5\xed\x46\xd2\x62\xf1\xfe\x4a"
			"\x7f\x03\xc5\xed\x47\xd2\x62\xf1\xfe\x4a\x7f\x03\x62\xf1\x7d\x48\x76\xc9"
			"\x62\xf1\xfe\x49\x7f\x03");

	ENDS(b, 9, 14, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 32, W);
	ACCESS(b, 1, HEAP + 40, 16, W);
	ACCESS(b, 2, HEAP + 64, 32, R);
	ACCESS(b, 3, HEAP + 104, 16, R);
	ACCESS(b, 4, HEAP, 24, W);
	ACCESS(b, 5, HEAP, 24, R);
	ACCESS(b, 6, HEAP, 4, W);
	ACCESS(b, 7, HEAP + 5, 2, W);
	ACCESS(b, 8, HEAP, 64, W);
	assert_int_equal(b->n_unknown, 2);
}

/* What a vector chooses, or more than one place, or what need not be a lane. */
static void test_unknown_lanes(void **state)
{
	/*
	 * kmovw k1,esi; vpmaskmovd [rbx],ymm1,ymm0; vmaskmovps ymm0,ymm1,[rbx]; maskmovdqu xmm0,xmm1;
	 * vpscatterdd [rbx+zmm0*4]{k1},zmm1, which leaves k1 0; vmovdqu64 [rbx]{k1},zmm0; kmovw k1,esi;
	 * vpgatherdd zmm2{k1},[rbx+zmm0*4]; kmovw k1,esi; vaddpd zmm1{k1},zmm1,[rbx];
	 * vaddpd zmm1{k1},zmm1,[rbx]{1to8}; vmovdqu64 zmm1,[rbx]
	 */
	const struct comm_burst *b = RUN(
		*state, "\xc5\xf8\x92\xce\xc4\xe2\x75\x8e\x03\xc4\xe2\x75\x2c\x03\x66\x0f\xf7\xc1"
			"\x62\xf2\x7d\x49\xa0\x0c\x83\x62\xf1\xfe\x49\x7f\x03\xc5\xf8\x92\xce\x62"
			"\xf2\x7d\x49\x90\x14\x83\xc5\xf8\x92\xce\x62\xf1\xf5\x49\x58\x0b\x62\xf1"
			"\xf5\x59\x58\x0b\x62\xf1\xfe\x48\x6f\x0b");

	ENDS(b, 1, 12, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 64, R);
	assert_int_equal(b->n_unknown, 8);
}

/* Which system call it is, the number in eax says. */
static void test_yields(void **state)
{
	/* mov rdx,[rdi]; mov eax,N; syscall */
	const struct comm_burst *b = RUN(*state, "\x48\x8b\x17\xb8\x18\x00\x00\x00\x0f\x05");

	ENDS(b, 1, 2, COMM_BURST_SYSCALL);
	assert_true(b->yields);
	b = RUN_AT(*state, 64, "\x48\x8b\x17\xb8\x17\x00\x00\x00\x0f\x05");
	ENDS(b, 1, 2, COMM_BURST_SYSCALL);
	assert_false(b->yields);
	/* rdtsc; syscall */
	b = RUN_AT(*state, 128, "\x0f\x31\x0f\x05");
	ENDS(b, 0, 1, COMM_BURST_SYSCALL);
	assert_false(b->yields);
}

static void test_unknown_results(void **state)
{
	/* rdtsc; cpuid; mov rdx,[rdi]; mov rdx,[rax]; syscall */
	const struct comm_burst *b =
		RUN(*state, "\x0f\x31\x0f\xa2\x48\x8b\x17\x48\x8b\x10\x0f\x05");

	ENDS(b, 1, 4, COMM_BURST_SYSCALL);
	assert_int_equal(b->n_unknown, 1);
}

static void test_arithmetic(void **state)
{
	/* mov eax,1000; mov esi,7; xor edx,edx; div esi; imul rax,rdx; shl rax,3; mov rcx,[rbx+rax] */
	const struct comm_burst *b = RUN(
		*state, "\xb8\xe8\x03\x00\x00\xbe\x07\x00\x00\x00\x31\xd2\xf7\xf6\x48\x0f\xaf\xc2"
			"\x48\xc1\xe0\x03\x48\x8b\x0c\x03");

	ENDS(b, 1, 7, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP + 142 * 6 * 8, 8, R);
}

static void test_ends(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	ENDS(RUN(w, "\x06"), 0, 0, COMM_BURST_UNDECODED);
	/* xor edx,edx; div edx: the thread gets a signal */
	w->sample.ip = TEXT + 0x100;
	memcpy(w->image[1] + 0x100, "\x31\xd2\xf7\xf2", 4);
	ENDS(run(w), 0, 1, COMM_BURST_UNSUPPORTED);
	w->sample.ip = HEAP;
	ENDS(run(w), 0, 0, COMM_BURST_NO_TEXT);
	w->sample.mode_bits = 32;
	b = run(w);
	ENDS(b, 0, 0, COMM_BURST_MODE32);
	for (int e = 0; e < COMM_BURST_END_MAX; e++)
		assert_non_null(comm_burst_end_name((enum comm_burst_end)e));
}

static void test_generated_code_changes(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	memcpy(w->jit, "\x48\x8b\x03", 3); /* mov rax,[rbx] */
	w->sample.ip = JIT;
	know(w, JIT, w->jit, 64);
	b = run(w);
	ENDS(b, 1, 1, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 8, R);

	memcpy(w->jit, "\x48\x89\x0b", 3); /* mov [rbx],rcx */
	memcpy(w->sample.data, w->jit, 64);
	b = run(w);
	ENDS(b, 1, 1, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 8, W);

	/* the sample has the old code, which has been overwritten since */
	memcpy(w->sample.data, "\x48\x01\x0b", 3);
	ENDS(run(w), 0, 0, COMM_BURST_CHANGED);
}

static void test_cache_and_counters(void **state)
{
	struct world *w = *state;
	uint64_t known, all;
	unsigned reads;

	/* mov rax,[rbx]; mov rcx,[rax] */
	RUN(w, "\x48\x8b\x03\x48\x8b\x08");
	reads = w->text_reads;
	for (int i = 0; i < 9; i++)
		run(w);
	assert_int_equal(w->text_reads, reads);
	comm_decoder_known(w->decoder, w->space, 1000, TEXT, &known, &all);
	assert_int_equal(known, 10);
	assert_int_equal(all, 10);
	know_word(w, HEAP, HEAP);
	run(w);
	comm_decoder_known(w->decoder, w->space, 1000, TEXT + 3, &known, &all);
	assert_int_equal(known, 1);
	assert_int_equal(all, 11);
	/* the same instruction from inside the line is the same entry */
	w->sample.ip = TEXT + 3;
	w->sample.reg[COMM_RAX] = HEAP;
	run(w);
	comm_decoder_known(w->decoder, w->space, 1000, TEXT + 3, &known, &all);
	assert_int_equal(known, 2);
	comm_decoder_known(w->decoder, w->space, 1000, TEXT + 1, &known, &all);
	assert_int_equal(all, 0);
}

static void test_hostile_chunks(void **state)
{
	struct world *w = *state;
	struct comm_sample *s = &w->sample;

	know_word(w, HEAP, HEAP);
	s->chunk[0].offset = UINT32_MAX;
	s->n_chunks = 255;
	for (unsigned i = 1; i < COMM_SAMPLE_CHUNKS; i++) {
		s->chunk[i].addr = i & 1 ? UINT64_MAX - 3 : HEAP;
		s->chunk[i].len_bytes = i & 2 ? UINT32_MAX : 4096;
		s->chunk[i].offset = i & 4 ? 4096 : 1;
	}
	/* mov rax,[rbx]; mov rcx,[rax] */
	RUN(w, "\x48\x8b\x03\x48\x8b\x08");
	ENDS(&w->burst, 1, 2, COMM_BURST_UNSUPPORTED);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_moves),
		T(test_after),
		T(test_operand),
		T(test_absolute_address),
		T(test_segments),
		T(test_loaded_pointer),
		T(test_stack),
		T(test_call_and_return),
		T(test_return_into_a_caller),
		T(test_endless_recursion),
		T(test_return_to_nowhere),
		T(test_strings),
		T(test_wide_loads),
		T(test_filled_lines),
		T(test_string_compare),
		T(test_follows),
		T(test_branches),
		T(test_jump_table),
		T(test_relro),
		T(test_wild_store),
		T(test_store_then_load),
		T(test_partial_registers),
		T(test_vectors),
		T(test_masks),
		T(test_unknown_lanes),
		T(test_unknown_results),
		T(test_yields),
		T(test_arithmetic),
		T(test_ends),
		T(test_generated_code_changes),
		T(test_cache_and_counters),
		T(test_hostile_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
