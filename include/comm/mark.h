/* SPDX-License-Identifier: MIT */
/*
 * Marks: a program tells which part of its work it is at, and commprof (commd) tells who
 * communicates with whom by these parts.  Header only, for C and C++ on x86-64 Linux: nothing
 * is linked, and no library is looked for.  A mark is a few stores into memory of the thread
 * itself, which a sample reads; nobody is called, whether somebody profiles or not.
 *
 *	{
 *		COMM_REGION("parse");		C and C++: until the end of the block
 *		...
 *	}
 *
 *	struct comm_mark mark = comm_mark_begin("send");
 *	...
 *	comm_mark_end(mark);			as long as no other block fits
 *
 * A region belongs to the thread that began it, and whatever it calls until the end is inside,
 * regions as well.  An end restores what was there at its begin: regions that were left
 * without an end (longjmp(), a forgotten one) end with the one around them.  Of regions inside
 * each other the outermost COMM_MARK_DEPTH are told apart; deeper ones count for the last of
 * these.  A child of fork() goes on inside.
 *
 * A name is read by others, some time later: it must stay as it is until the process ends.
 * A literal does.  At most 63 bytes of it are shown; bytes but printable ASCII as '?'.
 *
 * All modules of a process (program and libraries) should share the variable
 * comm_mark_thread: they do if the program is marked itself and was linked with the libraries,
 * or with -rdynamic.  Of several, only those of the program are seen, or of the first
 * library.  A library loaded by dlopen() needs COMM_MARK_BYTES of glibc's spare static TLS.
 */
#ifndef COMM_MARK_H
#define COMM_MARK_H

#include <stdint.h>

#if !defined(__x86_64__) || !defined(__linux__) || !defined(__ELF__)
#error "comm/mark.h: x86-64 Linux only"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { COMM_MARK_DEPTH = 8, COMM_MARK_VERSION = 1 };

/* The regions that a thread is in, outermost first: name[0] to name[depth - 1]. */
struct comm_mark_stack {
	uint64_t depth; /* may exceed COMM_MARK_DEPTH: the names of those deeper are not kept */
	const char *name[COMM_MARK_DEPTH];
};

enum { COMM_MARK_BYTES = sizeof(struct comm_mark_stack) };

/*
 * Where commd finds a module's marks: an ELF note of owner "commprof" and this type holds the
 * distance, in 8 bytes, from these bytes to the struct comm_mark_module.
 */
enum { COMM_MARK_NOTE = 2 };

struct comm_mark_module {
	uint32_t version; /* COMM_MARK_VERSION; 0: the module has not been initialised yet */
	uint32_t depth;	  /* COMM_MARK_DEPTH */
	int64_t stack;	  /* of any thread: its struct comm_mark_stack less its thread pointer */
};

/*
 * Weak, so that it does not matter how many files of a program include this.  Initial-exec:
 * at the same distance from the thread pointer in all threads, and found without a call.
 */
extern __thread struct comm_mark_stack comm_mark_thread
	__attribute__((weak, visibility("default"), tls_model("initial-exec")));
__thread struct comm_mark_stack comm_mark_thread
	__attribute__((weak, visibility("default"), tls_model("initial-exec"))) = {0, {0}};

extern struct comm_mark_module comm_mark_module __attribute__((weak, visibility("hidden")));
struct comm_mark_module comm_mark_module
	__attribute__((weak, visibility("hidden"), used)) = {0, 0, 0};

__asm__(".pushsection .note.commprof.mark,\"aG\",@note,comm_mark_note,comdat\n"
	".balign 4\n"
	".long 9, 8, 2\n"
	".asciz \"commprof\"\n"
	".balign 4\n"
	".quad comm_mark_module - .\n"
	".popsection\n");

static void __attribute__((constructor, used)) comm_mark_register(void)
{
	char *thread_pointer;

	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	comm_mark_module.depth = COMM_MARK_DEPTH;
	comm_mark_module.stack = (int64_t)((char *)&comm_mark_thread - thread_pointer);
	/* Last: who reads a version finds the rest.  Partner: libcomm/target/marks.c */
	__atomic_store_n(&comm_mark_module.version, (uint32_t)COMM_MARK_VERSION, __ATOMIC_RELEASE);
}

/*
 * Built with -fsanitize=thread and linked with libcomm-exact, which counts every access, a
 * program tells that of each mark; marks themselves are no accesses.
 */
#ifdef __SANITIZE_THREAD__
void comm_exact_mark(const struct comm_mark_stack *stack) __attribute__((weak));
#define COMM_MARK_TELL() (comm_exact_mark ? comm_exact_mark(&comm_mark_thread) : (void)0)
#define COMM_MARK_FUNCTION static __attribute__((unused, no_sanitize("thread")))
#else
#define COMM_MARK_TELL() ((void)0)
#define COMM_MARK_FUNCTION static inline __attribute__((unused))
#endif

/* A region that has begun; what was there before it. */
struct comm_mark {
	uint64_t depth;
};

/* A signal or a sample in between must find a name before it is counted. */
#define COMM_MARK_BARRIER() __asm__ volatile("" ::: "memory")

COMM_MARK_FUNCTION struct comm_mark comm_mark_begin(const char *name)
{
	struct comm_mark_stack *stack = &comm_mark_thread;
	struct comm_mark mark = {stack->depth};

	if (mark.depth < COMM_MARK_DEPTH)
		stack->name[mark.depth] = name;
	COMM_MARK_BARRIER();
	stack->depth = mark.depth + 1;
	COMM_MARK_BARRIER();
	COMM_MARK_TELL();
	return mark;
}

COMM_MARK_FUNCTION void comm_mark_end(struct comm_mark mark)
{
	COMM_MARK_BARRIER();
	comm_mark_thread.depth = mark.depth;
	COMM_MARK_BARRIER();
	COMM_MARK_TELL();
}

COMM_MARK_FUNCTION void comm_mark_leave(const struct comm_mark *mark)
{
	comm_mark_end(*mark);
}

#define COMM_MARK_NAME_(line) comm_mark_of_line_##line
#define COMM_MARK_NAME(line) COMM_MARK_NAME_(line)
/* From here to the end of the block, however it is left. */
#define COMM_REGION(name)                               \
	const struct comm_mark COMM_MARK_NAME(__LINE__) \
		__attribute__((cleanup(comm_mark_leave), unused)) = comm_mark_begin(name)

#ifdef __cplusplus
}

namespace comm
{
/* The block's region: comm::region r("parse"); */
class region
{
	struct comm_mark mark_;

      public:
	explicit region(const char *name) : mark_(comm_mark_begin(name))
	{
	}
	~region()
	{
		comm_mark_end(mark_);
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;
};
} // namespace comm
#endif
#endif
