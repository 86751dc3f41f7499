// SPDX-License-Identifier: GPL-2.0-or-later
/* What bursts know: of words that atomic instructions load and exchange, and what they lacked to go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made_code.h"

static void test_read_modify_write(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	/* add [rbx],rcx; lock inc dword [rbx]; xchg [rbx],rcx; mov rax,[rcx] */
	b = RUN(w, "\x48\x01\x0b\xf0\xff\x03\x48\x87\x0b\x48\x8b\x01");
	ENDS(b, 6, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 8, R);
	ACCESS(b, 1, HEAP, 8, W);
	ACCESS(b, 2, HEAP, 4, R | A);
	ACCESS(b, 3, HEAP, 4, W | A);
	ACCESS(b, 4, HEAP, 8, R | A);
	ACCESS(b, 5, HEAP, 8, W | A);
	/* What xchg loads was not captured. */
	assert_int_equal(b->n_unknown, 1);
	know_word(w, HEAP, 0x650000);
	b = run(w);
	ENDS(b, 7, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 6, 0x650000 + COMM_RCX + 1, 8, R);
}

static void test_exchange(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	know_word(w, HEAP, 0x650000);
	/* xchg [rbx],rcx; mov rax,[rcx]; mov rax,[rbx]; mov rax,[rax] */
	b = RUN(w, "\x48\x87\x0b\x48\x8b\x01\x48\x8b\x03\x48\x8b\x00");
	ENDS(b, 5, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 2, 0x650000, 8, R);
	ACCESS(b, 4, COMM_RCX, 8, R);
}

static void test_locked_add(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	know_word(w, HEAP, 0x650000);
	/* lock xadd [rbx],rcx; mov rax,[rcx]; mov rax,[rbx]; mov rax,[rax] */
	b = RUN(w, "\xf0\x48\x0f\xc1\x0b\x48\x8b\x01\x48\x8b\x03\x48\x8b\x00");
	ENDS(b, 5, 4, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 0, HEAP, 8, R | A);
	ACCESS(b, 1, HEAP, 8, W | A);
	ACCESS(b, 2, 0x650000, 8, R);
	ACCESS(b, 4, 0x650000 + COMM_RCX, 8, R);
}

/* lock cmpxchg [rbx],rcx; mov rdx,[rbx]; mov rdx,[rdx]; mov rdx,[rax]; jne +1; mov rsi,[rdi]; hlt */
#define COMPARE "\xf0\x48\x0f\xb1\x0b\x48\x8b\x13\x48\x8b\x12\x48\x8b\x10\x75\x03\x48\x8b\x37\xf4"

static void test_locked_compare(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	b = RUN(w, COMPARE);
	ENDS(b, 3, 4, COMM_BURST_BRANCH); /* neither word is known */
	ACCESS(b, 0, HEAP, 8, R | A);
	ACCESS(b, 1, HEAP, 8, W | A);
	assert_int_equal(b->n_unknown, 2);
	know_word(w, HEAP, COMM_RAX);
	b = run(w);
	ENDS(b, 6, 6, COMM_BURST_UNSUPPORTED);
	ACCESS(b, 3, COMM_RCX, 8, R); /* exchanged */
	ACCESS(b, 4, COMM_RAX, 8, R);
	ACCESS(b, 5, COMM_RDI, 8, R);
}

static void test_locked_compare_fails(void **state)
{
	struct world *w = *state;
	const struct comm_burst *b;

	know_word(w, HEAP, 0x650000);
	b = RUN(w, COMPARE);
	ENDS(b, 4, 5, COMM_BURST_UNSUPPORTED); /* it writes nothing */
	ACCESS(b, 0, HEAP, 8, R | A);
	ACCESS(b, 1, HEAP, 8, R);
	ACCESS(b, 2, 0x650000, 8, R); /* what was there stays, and is in rax */
	ACCESS(b, 3, 0x650000, 8, R);
}

/* Which value a burst lacked to go on. */
static void test_lacked(void **state)
{
	struct world *w = *state;

	/* mov rax,[rbx+16]; mov rdx,[rbx]; add rax,5; test rax,rax; je */
	RUN_AT(w, 64, "\x48\x8b\x43\x10\x48\x8b\x13\x48\x83\xc0\x05\x48\x85\xc0\x74\x00");
	assert_int_equal(run(w)->end, COMM_BURST_BRANCH);
	assert_int_equal(run(w)->lacked, HEAP + 16);
	/* The same, but the pointer to what is tested: mov rax,[rbx+16]; cmp [rax],ecx; je */
	RUN_AT(w, 128, "\x48\x8b\x43\x10\x39\x08\x74\x00");
	assert_int_equal(run(w)->end, COMM_BURST_BRANCH);
	assert_int_equal(run(w)->lacked, HEAP + 16);
	know_word(w, HEAP + 16, 0x650000);
	assert_int_equal(run(w)->lacked, 0x650000);
	/* mov [rbx+8],rdx, of which nothing is known; cmp [rbx+8],ecx; je */
	w->sample.known &= ~(1U << COMM_RDX);
	RUN_AT(w, 192, "\x48\x89\x53\x08\x39\x4b\x08\x74\x00");
	assert_int_equal(run(w)->end, COMM_BURST_BRANCH);
	assert_int_equal(run(w)->lacked, 0);
	/* jmp [rbx+32]; mov rax,[rbx+40] and call rax */
	RUN_AT(w, 256, "\xff\x63\x20");
	assert_int_equal(run(w)->end, COMM_BURST_INDIRECT);
	assert_int_equal(run(w)->lacked, HEAP + 32);
	RUN_AT(w, 320, "\x48\x8b\x43\x28\xff\xd0");
	assert_int_equal(run(w)->end, COMM_BURST_INDIRECT);
	assert_int_equal(run(w)->lacked, HEAP + 40);
	/* mov rdx,[rbx]; test [rbx+32],ecx, which has no effect; cmp rdx,rcx; je */
	RUN_AT(w, 512, "\x48\x8b\x13\x85\x4b\x20\x48\x39\xca\x74\x00");
	assert_int_equal(run(w)->lacked, HEAP);
	/* cmp [rbx],ecx; setne al; test al,al; je */
	RUN_AT(w, 576, "\x39\x0b\x0f\x95\xc0\x84\xc0\x74\x00");
	assert_int_equal(run(w)->lacked, HEAP);
	/* mov rdx,[rbx+40]; cmp rdx,[rbx+16], which is known; je */
	RUN_AT(w, 640, "\x48\x8b\x53\x28\x48\x3b\x53\x10\x74\x00");
	assert_int_equal(run(w)->lacked, HEAP + 40);
	/* mov [rdx],ecx, which may be anywhere; cmp [rbx],ecx; je */
	RUN_AT(w, 704, "\x89\x0a\x39\x0b\x74\x00");
	assert_int_equal(run(w)->lacked, 0);
	/* A burst that ends for another reason lacked nothing. */
	RUN_AT(w, 384, "\x48\x8b\x43\x28");
	assert_int_equal(run(w)->lacked, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_read_modify_write),    T(test_exchange),
		T(test_locked_add),	      T(test_locked_compare),
		T(test_locked_compare_fails), T(test_lacked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
