// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The calls that gcc 12 places before each access, in its names and types
 * (gcc/tsan.cc, sanitizer.def).
 */
#include <stdbool.h>

#include "call.h"
#include "exact.h"
#include "lock.h"
#include "thread.h"

/* The compiler's own declarations use its built-in types. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

/* Behind the call that came before the access. */
#define PC ((uint64_t)__builtin_return_address(0))

#define read_bytes(p, len_bytes) comm_exact_read_now((uint64_t)(p), len_bytes, PC)
#define write_bytes(p, len_bytes) comm_exact_write_now((uint64_t)(p), len_bytes, PC)

void __tsan_init(void)
{
	comm_exact_init();
}

#define PLAIN(n)                                \
	void __tsan_read##n(void *p)            \
	{                                       \
		read_bytes(p, n);               \
	}                                       \
	void __tsan_write##n(void *p)           \
	{                                       \
		write_bytes(p, n);              \
	}                                       \
	void __tsan_volatile_read##n(void *p)   \
	{                                       \
		read_bytes(p, n);               \
	}                                       \
	void __tsan_volatile_write##n(void *p)  \
	{                                       \
		write_bytes(p, n);              \
	}                                       \
	void __tsan_unaligned_read##n(void *p)  \
	{                                       \
		read_bytes(p, n);               \
	}                                       \
	void __tsan_unaligned_write##n(void *p) \
	{                                       \
		write_bytes(p, n);              \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, unsigned long len_bytes)
{
	if (len_bytes)
		read_bytes(p, len_bytes);
}

void __tsan_write_range(void *p, unsigned long len_bytes)
{
	if (len_bytes)
		write_bytes(p, len_bytes);
}

void __tsan_vptr_read(void **p)
{
	read_bytes(p, sizeof(*p));
}

void __tsan_vptr_update(void **p, void *value)
{
	(void)value;
	write_bytes(p, sizeof(*p));
}

/* An access says by itself where it is: only calls that are to be told apart are followed. */
void __tsan_func_entry(void *caller)
{
	(void)caller;
	if (__builtin_expect(comm_exact_calls_wanted, 0))
		comm_exact_call_begin(PC, (uint64_t)__builtin_dwarf_cfa());
}

void __tsan_func_exit(void)
{
	if (__builtin_expect(comm_exact_calls_wanted, 0))
		comm_exact_call_end((uint64_t)__builtin_dwarf_cfa());
}

/*
 * Atomics: always sequentially consistent, which is never weaker than asked.
 * A compare-exchange that fails is a read.
 */
#define BEGIN(p) uint64_t *lock = comm_lock_begin((uint64_t)(p), comm_exact_thread()->slot)
#define CALLED (PC | COMM_EXACT_CALLEE)
#define READ(p) comm_exact_read_now((uint64_t)(p), sizeof(*(p)), CALLED)
#define WRITE(p) comm_exact_write_now((uint64_t)(p), sizeof(*(p)), CALLED)
#define END() comm_lock_end(lock)

#define FETCH(n, type, op, expression)                                          \
	type __tsan_atomic##n##_fetch_##op(volatile type *p, type v, int order) \
	{                                                                       \
		type old;                                                       \
		BEGIN(p);                                                       \
		(void)order;                                                    \
		old = *p;                                                       \
		while (!swap##n(p, &old, expression))                           \
			;                                                       \
		READ(p);                                                        \
		WRITE(p);                                                       \
		END();                                                          \
		return old;                                                     \
	}

/*
 * A read of what the instruction has read before takes no lock: it shows that nobody else had it meanwhile.  Not
 * a first one: that is noted, and might be by then of what was written after it.
 */
#define LOAD_AGAIN(n, type)                                                                     \
	static inline __attribute__((always_inline)) bool load_again##n(const volatile type *p, \
									type *ret, uint64_t pc) \
	{                                                                                       \
		uint64_t *lock, before, was;                                                    \
		struct comm_exact_read *r;                                                      \
		if (!comm_exact_is_quick(comm_exact_quick_read, (uint64_t)p, sizeof(*p)))       \
			return false;                                                           \
		lock = comm_lock_of((uint64_t)p);                                               \
		before = __atomic_load_n(lock, __ATOMIC_ACQUIRE);                               \
		*ret = load##n(p);                                                              \
		was = __atomic_load_n(comm_cell((uint64_t)p), __ATOMIC_ACQUIRE);                \
		r = comm_exact_read_again(comm_exact_quick_read, (uint64_t)p, was, pc);         \
		if (!r || was != r->cell || !comm_lock_is_free(before) ||                       \
		    __atomic_load_n(lock, __ATOMIC_ACQUIRE) != before)                          \
			return false;                                                           \
		r->edge->bytes += sizeof(*p);                                                   \
		return true;                                                                    \
	}

#define ATOMIC(n, type)                                                                           \
	type __tsan_atomic##n##_load(const volatile type *p, int order)                           \
	{                                                                                         \
		type v;                                                                           \
		(void)order;                                                                      \
		if (load_again##n(p, &v, CALLED))                                                 \
			return v;                                                                 \
		BEGIN(p);                                                                         \
		v = load##n(p);                                                                   \
		READ(p);                                                                          \
		END();                                                                            \
		return v;                                                                         \
	}                                                                                         \
	void __tsan_atomic##n##_store(volatile type *p, type v, int order)                        \
	{                                                                                         \
		BEGIN(p);                                                                         \
		(void)order;                                                                      \
		store##n(p, v);                                                                   \
		WRITE(p);                                                                         \
		END();                                                                            \
	}                                                                                         \
	FETCH(n, type, add, old + v)                                                              \
	FETCH(n, type, sub, old - v)                                                              \
	FETCH(n, type, and, old &v)                                                               \
	FETCH(n, type, or, old | v)                                                               \
	FETCH(n, type, xor, old ^ v)                                                              \
	FETCH(n, type, nand, ~(old & v))                                                          \
	type __tsan_atomic##n##_exchange(volatile type *p, type v, int order)                     \
	{                                                                                         \
		type old;                                                                         \
		BEGIN(p);                                                                         \
		(void)order;                                                                      \
		old = *p;                                                                         \
		while (!swap##n(p, &old, v))                                                      \
			;                                                                         \
		READ(p);                                                                          \
		WRITE(p);                                                                         \
		END();                                                                            \
		return old;                                                                       \
	}                                                                                         \
	static inline __attribute__((always_inline)) bool exchange##n(                            \
		volatile type *p, type *expected, type v, uint64_t pc)                            \
	{                                                                                         \
		bool done;                                                                        \
		BEGIN(p);                                                                         \
		done = swap##n(p, expected, v);                                                   \
		comm_exact_read_now((uint64_t)p, sizeof(*p), pc);                                 \
		if (done)                                                                         \
			comm_exact_write_now((uint64_t)p, sizeof(*p), pc);                        \
		END();                                                                            \
		return done;                                                                      \
	}                                                                                         \
	bool __tsan_atomic##n##_compare_exchange_strong(volatile type *p, type *expected, type v, \
							int order, int failure)                   \
	{                                                                                         \
		(void)order, (void)failure;                                                       \
		return exchange##n(p, expected, v, CALLED);                                       \
	}                                                                                         \
	bool __tsan_atomic##n##_compare_exchange_weak(volatile type *p, type *expected, type v,   \
						      int order, int failure)                     \
	{                                                                                         \
		(void)order, (void)failure;                                                       \
		return exchange##n(p, expected, v, CALLED);                                       \
	}                                                                                         \
	type __tsan_atomic##n##_compare_exchange_val(volatile type *p, type expected, type v,     \
						     int order, int failure)                      \
	{                                                                                         \
		(void)order, (void)failure;                                                       \
		exchange##n(p, &expected, v, CALLED);                                             \
		return expected;                                                                  \
	}

#define MACHINE(n, type)                                                                    \
	static inline bool swap##n(volatile type *p, type *expected, type v)                \
	{                                                                                   \
		return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, \
						   __ATOMIC_SEQ_CST);                       \
	}                                                                                   \
	static inline void store##n(volatile type *p, type v)                               \
	{                                                                                   \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                   \
	}                                                                                   \
	static inline type load##n(const volatile type *p)                                  \
	{                                                                                   \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                \
	}

typedef unsigned __int128 u128;

/* cmpxchg16b by itself, not through libatomic, which may use a lock. */
static inline bool swap128(volatile u128 *p, u128 *expected, u128 v)
{
	u128 old = __sync_val_compare_and_swap(p, *expected, v);
	bool done = old == *expected;

	*expected = old;
	return done;
}

static inline void store128(volatile u128 *p, u128 v)
{
	u128 old = *p;

	while (!swap128(p, &old, v))
		;
}

static inline u128 load128(const volatile u128 *p)
{
	return __sync_val_compare_and_swap((volatile u128 *)p, 0, 0);
}

MACHINE(8, uint8_t)
MACHINE(16, uint16_t)
MACHINE(32, uint32_t)
MACHINE(64, uint64_t)

LOAD_AGAIN(8, uint8_t)
LOAD_AGAIN(16, uint16_t)
LOAD_AGAIN(32, uint32_t)
LOAD_AGAIN(64, uint64_t)
LOAD_AGAIN(128, u128)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
ATOMIC(128, u128)

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
