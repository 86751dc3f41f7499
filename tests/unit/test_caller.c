// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callers, found of this very process: a timer interrupts functions anywhere, in their first and
 * last instructions, too, the handler takes what a sample has, and libgcc's unwinder, which reads
 * the same .eh_frame from memory, says who called.
 */
#include "caller.h"
#include "clock.h"

#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	TAKEN_MAX = 1000,
	CAPTURED = COMM_SAMPLE_DATA_BYTES, /* printf() has large frames */
	BELOW = 128,			   /* as bpf/capture.bpf.c captures the red zone */
	DEPTH = 32,
};

/* What one interrupt met. */
struct taken {
	uint64_t reg[COMM_NREGS], ip;
	uint8_t stack[CAPTURED];
	uint16_t captured_bytes; /* less where the stack ends */
	void *back[DEPTH];	 /* as the unwinder says */
	int n;
};

static struct taken taken[TAKEN_MAX];
static volatile sig_atomic_t n_taken;
static volatile long sink;
static uint64_t stack_top;
static struct comm_inspect inspect;
static struct comm_sites *sites;
static struct comm_space_table *spaces;
static struct comm_space *space;

#define ALONE __attribute__((noinline, noclone, noipa))

/* As the kernel does, which knows nothing of what a sanitizer keeps between variables. */
__attribute__((no_sanitize("address"))) static void copy_stack(void *to, const volatile char *from,
							       size_t n)
{
	char *byte = to;

	for (size_t i = 0; i < n; i++)
		byte[i] = from[i];
}

static void on_timer(int sig, siginfo_t *info, void *ctx)
{
	const greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	struct taken *t = &taken[n_taken];
	uint64_t left_bytes = stack_top - ((uint64_t)g[REG_RSP] - BELOW);

	(void)sig, (void)info;
	if (n_taken == TAKEN_MAX)
		return;
	t->captured_bytes = (uint16_t)(left_bytes < CAPTURED ? left_bytes : CAPTURED);
	t->ip = (uint64_t)g[REG_RIP];
	t->reg[COMM_RSP] = (uint64_t)g[REG_RSP];
	t->reg[COMM_RBP] = (uint64_t)g[REG_RBP];
	copy_stack(t->stack, (const volatile char *)g[REG_RSP] - BELOW, t->captured_bytes);
	t->n = backtrace(t->back, DEPTH);
	n_taken++;
}

ALONE static long leaf(long n)
{
	return sink = (sink + n) % 1000;
}

/* The compiler keeps rbx and more for it, and rsp moves while it pushes them. */
ALONE static long pushes(long a, long b, long c)
{
	long x = leaf(a), y = leaf(b), z = leaf(c);

	return x * y + y * z + leaf(x + z);
}

ALONE static long recursive(long n)
{
	return n ? recursive(n - 1) + leaf(n) : leaf(n);
}

/* An array whose size is not known: rbp is the frame pointer. */
ALONE static long with_frame_pointer(long n)
{
	volatile char array[n + 1];

	array[n] = (char)leaf(n);
	return array[n] + leaf(n);
}

ALONE static long in_library(long n)
{
	char text[64];

	snprintf(text, sizeof(text), "%ld %ld", n, leaf(n));
	return strtol(text, NULL, 10);
}

ALONE static void all_functions(long n)
{
	sink += pushes(n, n + 1, n + 2) + recursive(5) + with_frame_pointer(n % 50) + in_library(n);
}

static int setup(void **state)
{
	const struct sigaction action = {.sa_sigaction = on_timer,
					 .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	void *first[2];

	(void)state;
	/* The unwinder allocates when it is first used. */
	assert_true(backtrace(first, 2) > 0);
	stack_top = (uint64_t)getauxval(AT_EXECFN); /* the program's name is at the top */
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (long n = 0; n_taken < TAKEN_MAX; n++)
		all_functions(n);
	setitimer(ITIMER_PROF, &never, NULL);
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	assert_int_equal(comm_sites_create(&inspect, &sites), 0);
	assert_int_equal(comm_space_table_create(&inspect, &spaces), 0);
	space = comm_space_get(spaces, (uint32_t)getpid());
	comm_inspect_live_prefetch(&inspect, (uint32_t)getpid(), false,
				   comm_clock_now_ns() + 300000000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	comm_space_table_destroy(spaces);
	comm_sites_destroy(sites);
	comm_inspect_destroy(&inspect);
	return 0;
}

static struct comm_sample sample_of(const struct taken *t)
{
	struct comm_sample s = {
		.ip = t->ip,
		.mode_bits = 64,
		.known = 1u << COMM_RSP | 1u << COMM_RBP,
		.n_chunks = 1,
		.data_bytes = t->captured_bytes,
		.chunk[0] = {t->reg[COMM_RSP] - BELOW, t->captured_bytes, 0},
	};

	memcpy(s.reg, t->reg, sizeof(s.reg));
	memcpy(s.data, t->stack, CAPTURED);
	return s;
}

/* The unwinder's return addresses, behind the one that was interrupted; *ret_n 0: it lost it. */
static void *const *truth_of(const struct taken *t, int *ret_n)
{
	for (int i = 0; i < t->n; i++)
		if ((uint64_t)(uintptr_t)t->back[i] == t->ip) {
			*ret_n = t->n - i - 1;
			return &t->back[i + 1];
		}
	*ret_n = 0;
	return NULL;
}

static bool has_frames(const void *function, uint64_t now_ns)
{
	return comm_sites_frame(sites, space, (uint64_t)(uintptr_t)function, now_ns).kind !=
	       COMM_FRAME_UNKNOWN;
}

/* Nothing that is said may be wrong, and nearly all is to be said. */
static void agrees_with_the_unwinder(void **state)
{
	unsigned int n_said = 0, n_true = 0, n_frames = 0, n_all = 0;
	uint64_t now_ns = comm_clock_now_ns();

	(void)state;
	/* Files are read by another process: until all are there, callers are unknown. */
	for (int i = 0; i < 3000 && !(has_frames(leaf, now_ns) && has_frames(snprintf, now_ns) &&
				      has_frames(_cmocka_run_group_tests, now_ns));
	     i++) {
		usleep(100000);
		now_ns += 20000000000ull;
	}
	for (int i = 0; i < n_taken; i++) {
		struct comm_sample s = sample_of(&taken[i]);
		uint64_t said[COMM_CALLERS_MAX];
		unsigned int n;
		int n_truth;
		bool all;
		void *const *truth = truth_of(&taken[i], &n_truth);

		if (!n_truth)
			continue;
		n = comm_callers_find(sites, space, now_ns, &s, COMM_CALLERS_MAX, said, &all);
		n_true++;
		n_said += n > 0;
		n_frames += n;
		for (unsigned int k = 0; k < n && (int)k < n_truth; k++)
			assert_int_equal(said[k], (uint64_t)(uintptr_t)truth[k]);
		if (all)
			assert_int_equal(n, n_truth);
		n_all += all;
	}
	print_message("%u of %u have a caller, %u all of them, %.1f callers each\n", n_said, n_true,
		      n_all, (double)n_frames / (n_true ? n_true : 1));
	assert_true(n_true > TAKEN_MAX / 2);
	assert_true(n_said > n_true * 9 / 10);
	assert_true(n_frames > 2 * n_true);
	/* What is deep down in printf() has more than 4 KiB of stack around it. */
	assert_true(n_all > n_true / 10);
}

static unsigned int find(const struct comm_sample *s)
{
	uint64_t said[COMM_CALLERS_MAX];
	bool all;

	return comm_callers_find(sites, space, comm_clock_now_ns(), s, COMM_CALLERS_MAX, said,
				 &all);
}

/* What the stack holds is the target's: whatever it is, nothing but code is called a caller. */
static void hostile_stacks(void **state)
{
	static const uint8_t fill[] = {0, 0xff, 0x41, 0x7f};
	const uint64_t data = (uint64_t)(uintptr_t)taken;

	(void)state;
	for (int i = 0; i < n_taken; i += 20) {
		struct comm_sample s = sample_of(&taken[i]);

		for (size_t k = 0; k < sizeof(fill); k++) {
			memset(s.data, fill[k], CAPTURED);
			assert_int_equal(find(&s), 0);
		}
		/* Addresses of data, not of code. */
		for (size_t at = 0; at < CAPTURED; at += sizeof(data))
			memcpy(s.data + at, &data, sizeof(data));
		assert_int_equal(find(&s), 0);
		s = sample_of(&taken[i]);
		s.reg[COMM_RSP] = s.reg[COMM_RBP] = UINT64_MAX - 8;
		assert_int_equal(find(&s), 0);
		s = sample_of(&taken[i]);
		s.chunk[0] = (struct comm_chunk){UINT64_MAX - 100, UINT32_MAX, UINT32_MAX - 8};
		assert_int_equal(find(&s), 0);
		s = sample_of(&taken[i]);
		s.known = 0;
		assert_int_equal(find(&s), 0);
		s = sample_of(&taken[i]);
		s.known |= COMM_SAMPLE_AFTER;
		assert_int_equal(find(&s), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_unwinder),
		cmocka_unit_test(hostile_stacks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
