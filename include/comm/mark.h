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
 *	COMM_STOP();				nothing of the process is sampled
 *	COMM_START();				... until then
 *
 *	COMM_OBJECT(ptr, bytes, "ring");	this memory has a name of its own in reports
 *	COMM_OBJECT(ptr, 0, NULL);		no more: before it is freed, or used for other data
 *
 *	COMM_FRAME();				in the main loop: another frame begins
 *
 * A frame is a round of work that a program does again and again: an image, a step of a simulation, a
 * batch.  Reports tell what is read in the frame in which it was written, and what later.  Frames are of
 * the whole process, and one thread at a time marks them: of two at once, one may not count.
 *
 * Memory of one name is one object, wherever it is.  Again with the same ptr, it has the new size
 * and name.  COMM_MARK_OBJECTS pieces may have a name at a time; more are passed over.
 *
 * COMM_STOP() and COMM_START() are of the whole process, whichever thread calls them; a child of fork() has a state of
 * its own, that of its parent at first.  Twice is once.  A process begins started.
 *
 * A name is read by others, some time later: it must stay as it is until the process ends.
 * A literal does.  At most 63 bytes of it are shown, as UTF-8; other bytes and control characters as "\\xNN".
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

enum { COMM_MARK_DEPTH = 8, COMM_MARK_OBJECTS = 64, COMM_MARK_VERSION = 3 };

/* The regions that a thread is in, outermost first: name[0] to name[depth - 1]. */
struct comm_mark_stack {
	uint64_t depth; /* may exceed COMM_MARK_DEPTH: the names of those deeper are not kept */
	const char *name[COMM_MARK_DEPTH];
	/*
	 * Since version 3: how many have begun at each depth.  Who looks twice at a running thread and
	 * finds the same count knows that it was in no other region there in between.
	 */
	uint32_t begun[COMM_MARK_DEPTH];
};

/*
 * In place of a name, an address of code: it is shown as function and line, "main:42".  For those
 * who mark what others wrote and know no name for it.
 */
#define COMM_MARK_CODE(address) ((const char *)((uintptr_t)(address) | (uintptr_t)1 << 63))

struct comm_mark_object {
	const void *start; /* NULL: free */
	uint64_t bytes;	   /* 0: not filled in, or going */
	const char *name;
};

/* What all threads have together.  BPF programs read what stands before the objects at once. */
struct comm_mark_process {
	uint32_t stopped; /* not 0: nothing is to be sampled */
	uint32_t changes; /* of the objects */
	uint64_t frame;	  /* how many have begun */
	struct comm_mark_object object[COMM_MARK_OBJECTS];
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
	const struct comm_mark_process *process; /* since version 2 */
};

/*
 * Weak, so that it does not matter how many files of a program include this.  Initial-exec:
 * at the same distance from the thread pointer in all threads, and found without a call.
 */
extern __thread struct comm_mark_stack comm_mark_thread
	__attribute__((weak, visibility("default"), tls_model("initial-exec")));
__thread struct comm_mark_stack comm_mark_thread
	__attribute__((weak, visibility("default"), tls_model("initial-exec"))) = {0, {0}, {0}};

extern struct comm_mark_process comm_mark_process __attribute__((weak, visibility("default")));
struct comm_mark_process comm_mark_process
	__attribute__((weak, visibility("default"))) = {0, 0, 0, {{0, 0, 0}}};

extern struct comm_mark_module comm_mark_module __attribute__((weak, visibility("hidden")));
struct comm_mark_module comm_mark_module
	__attribute__((weak, visibility("hidden"), used)) = {0, 0, 0, 0};

__asm__(".pushsection .note.commprof.mark,\"aG\",@note,comm_mark_note,comdat\n"
	".balign 4\n"
	".weak comm_mark_note\n"
	".hidden comm_mark_note\n"
	"comm_mark_note:\n"
	".long 9, 8, 2\n"
	".asciz \"commprof\"\n"
	".balign 4\n"
	".quad comm_mark_module - .\n"
	".popsection\n");

extern const char comm_mark_note[] __attribute__((visibility("hidden")));

static void __attribute__((constructor, used)) comm_mark_register(void)
{
	char *thread_pointer;

	/* With --gc-sections a linker keeps the note only if something refers to it. */
	__asm__ volatile("" : : "r"(comm_mark_note));
	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	comm_mark_module.depth = COMM_MARK_DEPTH;
	comm_mark_module.stack = (int64_t)((char *)&comm_mark_thread - thread_pointer);
	comm_mark_module.process = &comm_mark_process;
	/* Last: who reads a version finds the rest.  Partner: libcomm/process/marks.c */
	__atomic_store_n(&comm_mark_module.version, (uint32_t)COMM_MARK_VERSION, __ATOMIC_RELEASE);
}

/*
 * Built with -fsanitize=thread and linked with libcomm-exact, which counts every access, a
 * program tells that of each mark; marks themselves are no accesses.
 */
#ifdef __SANITIZE_THREAD__
void comm_exact_mark(const struct comm_mark_stack *stack) __attribute__((weak));
void comm_exact_frame(uint64_t frame) __attribute__((weak));
void comm_exact_stop(uint32_t stopped) __attribute__((weak));
void comm_exact_name(const void *start, uint64_t bytes, const char *name) __attribute__((weak));
#define COMM_MARK_TELL_NAME(start, bytes, name) \
	(comm_exact_name ? comm_exact_name(start, bytes, name) : (void)0)
#define COMM_MARK_TELL_STOP(stopped) (comm_exact_stop ? comm_exact_stop(stopped) : (void)0)
#define COMM_MARK_TELL_FRAME(frame) (comm_exact_frame ? comm_exact_frame(frame) : (void)0)
#define COMM_MARK_TELL() (comm_exact_mark ? comm_exact_mark(&comm_mark_thread) : (void)0)
#define COMM_MARK_FUNCTION static __attribute__((unused, no_sanitize("thread")))
#else
#define COMM_MARK_TELL() ((void)0)
#define COMM_MARK_TELL_FRAME(frame) ((void)0)
#define COMM_MARK_TELL_STOP(stopped) ((void)0)
#define COMM_MARK_TELL_NAME(start, bytes, name) ((void)0)
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

	if (mark.depth < COMM_MARK_DEPTH) {
		stack->name[mark.depth] = name;
		stack->begun[mark.depth]++;
	}
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

COMM_MARK_FUNCTION void comm_mark_stop(uint32_t stopped)
{
	__atomic_store_n(&comm_mark_process.stopped, stopped, __ATOMIC_RELAXED);
	COMM_MARK_TELL_STOP(stopped);
}

/* No locked instruction, which would cost ten times as much. */
COMM_MARK_FUNCTION void comm_mark_frame(void)
{
	uint64_t *frame = &comm_mark_process.frame;
	uint64_t next = __atomic_load_n(frame, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(frame, next, __ATOMIC_RELAXED);
	COMM_MARK_TELL_FRAME(next);
}

/* Of threads that name the same ptr at once, one wins. */
COMM_MARK_FUNCTION void comm_mark_object(const void *start, uint64_t bytes, const char *name)
{
	struct comm_mark_process *process = &comm_mark_process;
	struct comm_mark_object *object = 0;

	for (int i = 0; i < COMM_MARK_OBJECTS && !object; i++)
		if (__atomic_load_n(&process->object[i].start, __ATOMIC_RELAXED) == start)
			object = &process->object[i];
	for (int i = 0; i < COMM_MARK_OBJECTS && !object && start && bytes; i++) {
		const void *none = 0;

		if (__atomic_compare_exchange_n(&process->object[i].start, &none, start, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			object = &process->object[i];
	}
	if (!object || !start)
		return;
	/* No name is read with the size of another object. */
	__atomic_store_n(&object->bytes, (uint64_t)0, __ATOMIC_RELEASE);
	object->name = name;
	__atomic_store_n(&object->bytes, bytes, __ATOMIC_RELEASE);
	if (!bytes)
		__atomic_store_n(&object->start, (const void *)0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&process->changes, 1, __ATOMIC_RELEASE);
	COMM_MARK_TELL_NAME(start, bytes, name);
}

#define COMM_OBJECT(ptr, bytes, name) comm_mark_object(ptr, bytes, name)

#define COMM_FRAME() comm_mark_frame()

#define COMM_START() comm_mark_stop(0)
#define COMM_STOP() comm_mark_stop(1)

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
