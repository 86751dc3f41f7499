/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commexact: a Valgrind tool that says, exactly, who wrote the data that a
 * thread reads.  Threads are serialised by Valgrind, so the order of accesses
 * is one that could have been, not the one that would have been.
 */
#include <stdint.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "array.h"
#include "call.h"
#include "draw.h"
#include "instrument.h"
#include "mapping.h"
#include "mark.h"
#include "marked.h"
#include "memory.h"
#include "moves.h"
#include "object.h"
#include "output.h"
#include "program.h"
#include "region.h"
#include "site.h"
#include "text.h"
#include "trace.h"
#include "turn.h"

enum {
	NO_THREAD = 0xffffffff,
	PR_SET_NAME = 15,
	NAME_BYTES = 16,
	FUTEX_OPERATION = 0x7f, /* the rest of the word are flags */
};

/* futex() operations that only compare or do not even look at the word. */
static const UInt futex_compares[] = {0 /* WAIT */,	   1 /* WAKE */,
				      3 /* REQUEUE */,	   4 /* CMP_REQUEUE */,
				      9 /* WAIT_BITSET */, 10 /* WAKE_BITSET */};

static struct comm_trace trace;
static struct comm_array threads; /* of all processes: struct comm_vg_thread */
static UInt *number_of;		  /* dense number of each of Valgrind's thread slots */
static Bool *compares;		  /* of each slot: is in such a futex() */
static Bool *waits;		  /* of each slot: is in a system call */
/* Of all processes, on memory that they share. */
static struct {
	uint32_t threads, waiting; /* these are in system calls */
	uint64_t since_ns;	   /* when the last one of them came to wait */
} * pauses;

static Int granularity_bytes = 8, callers, draw_period;
static Long phase_instructions;
static Bool by_line, start_counting = True, objects = True, kernel_reads = True;
static const HChar *calls, *function, *out_path = "commexact.out.%p",
				      *draw_path = "commexact.drawn.%p";

static Bool option(const HChar *arg)
{
	if (VG_BINT_CLO(arg, "--granularity", granularity_bytes, 1, COMM_SHADOW_MAX_GRANULE)) {
		if (granularity_bytes & (granularity_bytes - 1))
			VG_(fmsg_bad_option)(arg, "--granularity must be a power of two\n");
	} else if (VG_STR_CLO(arg, "--exact-out", out_path)) {
		/* Now, not when the file is made, at the end of a run that took hours. */
		if (!*out_path)
			VG_(fmsg_bad_option)(arg, "--exact-out wants the name of a file\n");
	} else if (VG_BINT_CLO(arg, "--draw", draw_period, 1, 1 << 30)) {
	} else if (VG_STR_CLO(arg, "--draw-out", draw_path)) {
	} else if (VG_STR_CLO(arg, "--calls", calls)) {
	} else if (VG_STR_CLO(arg, "--function", function)) {
	} else if (VG_BINT_CLO(arg, "--callers", callers, 1, 16)) {
	} else if (VG_BOOL_CLO(arg, "--lines", by_line)) {
	} else if (VG_BOOL_CLO(arg, "--objects", objects)) {
	} else if (VG_BOOL_CLO(arg, "--kernel-reads", kernel_reads)) {
	} else if (VG_BOOL_CLO(arg, "--start", start_counting)) {
	} else if (VG_BINT_CLO(arg, "--phase-instructions", phase_instructions, 1,
			       0x7fffffffffffffffll)) {
	} else {
		return False;
	}
	return True;
}

static void usage(void)
{
	VG_(printf)
	("    --granularity=BYTES       remember writers per so many bytes, 1..4096 [8]\n"
	 "    --exact-out=FILE          result file, %%p is the process id [commexact.out.%%p]\n"
	 "    --objects=no|yes          tell data objects apart [yes]\n"
	 "    --lines=no|yes            tell source lines apart, not only functions [no]\n"
	 "    --calls=FN                each call of FN, a name or a pattern, is a region\n"
	 "    --function=FN             count what FN reads alone, a name or a pattern [all]\n"
	 "    --callers=N               in place of that: tell N callers of each function\n"
	 "    --phase-instructions=N    begin a new phase every N instructions\n"
	 "    --draw=N                  draw one in N loads and one in N stores, too [none]\n"
	 "    --draw-out=FILE           where to (draw.h) [commexact.drawn.%%p]\n"
	 "    --start=no|yes            count from the beginning, or from a marker [yes]\n"
	 "    --kernel-reads=no|yes     count what system calls read [yes]\n"
	 "  For threads to take turns fairly, add --fair-sched=yes.\n");
}

static void debug_usage(void)
{
}

static void end_phase(void)
{
	comm_output_phase(NULL);
	/* From here: each is as long at least, also where the one before ended late. */
	trace.phase_end = trace.instructions + phase_instructions;
}

/* A thread's name, as the kernel has it. */
static void read_name(struct comm_vg_thread *thread)
{
	HChar path[64], name[NAME_BYTES];
	Int fd, n;

	VG_(sprintf)(path, "/proc/self/task/%u/comm", thread->tid);
	fd = VG_(fd_open)(path, VKI_O_RDONLY, 0);
	if (fd < 0)
		return;
	n = VG_(read)(fd, name, sizeof(name) - 1);
	VG_(close)(fd);
	if (n <= 0)
		return;
	if (name[n - 1] == '\n')
		n--;
	name[n] = 0;
	/* Until somebody sets another one, it is that of the tool's own file. */
	if (!VG_(strncmp)(name, "commexact-", 10))
		VG_(strlcpy)(name, comm_program_name(), sizeof(name));
	VG_(strlcpy)(thread->name, name, sizeof(thread->name));
}

static struct comm_vg_thread *thread_at(UInt n)
{
	return comm_array_at(&threads, n);
}

/* Runs in the thread itself. */
static UInt number(ThreadId tid)
{
	struct comm_vg_thread *thread;
	UInt n;

	if (number_of[tid] != NO_THREAD)
		return number_of[tid];
	n = comm_array_add(&threads, 1);
	thread = thread_at(n);
	*thread = (struct comm_vg_thread){.number = n,
					  .tid = VG_(gettid)(),
					  .pid = VG_(getpid)(),
					  .start_ns = comm_output_now_ns()};
	comm_trace_add_thread(&trace, n);
	__atomic_fetch_add(&pauses->threads, 1, __ATOMIC_ACQ_REL);
	read_name(thread);
	number_of[tid] = n;
	if (objects)
		comm_object_stack(thread->tid, VG_(get_SP)(tid));
	return n;
}

static void start_code(ThreadId tid, ULong blocks)
{
	comm_turn_begin();
	comm_trace_run_thread(&trace, number(tid));
	comm_marked_thread(tid);
}

static void stop_code(ThreadId tid, ULong blocks)
{
	comm_trace_flush(&trace);
	comm_turn_end();
}

static void begin_wait(ThreadId tid)
{
	waits[tid] = True;
	if (__atomic_add_fetch(&pauses->waiting, 1, __ATOMIC_ACQ_REL) ==
	    __atomic_load_n(&pauses->threads, __ATOMIC_ACQUIRE))
		pauses->since_ns = comm_output_now_ns();
}

/* What passed while all threads waited passed for all. */
static void end_wait(ThreadId tid)
{
	if (!waits[tid])
		return;
	waits[tid] = False;
	if (__atomic_fetch_sub(&pauses->waiting, 1, __ATOMIC_ACQ_REL) ==
	    __atomic_load_n(&pauses->threads, __ATOMIC_ACQUIRE))
		comm_trace_waited(&trace, comm_output_now_ns() - pauses->since_ns);
}

static void thread_exit(ThreadId tid)
{
	UInt n = number_of[tid];

	if (n == NO_THREAD)
		return;
	comm_trace_flush(&trace);
	read_name(thread_at(n));
	thread_at(n)->end_ns = comm_output_now_ns();
	number_of[tid] = NO_THREAD;
	end_wait(tid);
	if (__atomic_sub_fetch(&pauses->threads, 1, __ATOMIC_ACQ_REL) ==
	    __atomic_load_n(&pauses->waiting, __ATOMIC_ACQUIRE))
		pauses->since_ns = comm_output_now_ns();
}

static void deliver_signal(ThreadId tid, Int signal, Bool alt_stack)
{
	/* Only memory faults interrupt a segment: all else happens between. */
	if (signal == VKI_SIGSEGV || signal == VKI_SIGBUS)
		comm_trace_flush_fault(&trace, VG_(get_IP)(tid));
	else
		comm_trace_flush(&trace);
}

static UInt kernel_site(CorePart part, ThreadId tid)
{
	return comm_site_channel(part == Vg_CoreSysCall ? comm_moves_channel(tid)
							: COMM_CHANNEL_KERNEL);
}

static void kernel_wrote(CorePart part, ThreadId tid, Addr addr, SizeT bytes)
{
	/* Valgrind says that a futex() writes its word, whatever it does. */
	if (part == Vg_CoreClientReq || !bytes || (part == Vg_CoreSysCall && compares[tid]))
		return;
	comm_turn_begin();
	comm_trace_write(&trace, number(tid), kernel_site(part, tid), addr, bytes);
	comm_turn_end();
}

static void kernel_reads_memory(CorePart part, ThreadId tid, const HChar *what, Addr addr,
				SizeT bytes)
{
	/* What a system call is given may be a bad address. */
	if (!kernel_reads || part != Vg_CoreSysCall || !bytes || compares[tid] ||
	    !comm_instrument_reads(kernel_site(part, tid)) ||
	    !VG_(am_is_valid_for_client)(addr, bytes, VKI_PROT_READ))
		return;
	comm_turn_begin();
	comm_trace_read(&trace, number(tid), kernel_site(part, tid), addr, bytes);
	comm_turn_end();
}

static void kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr addr)
{
	SizeT bytes = 0;

	if (part != Vg_CoreSysCall)
		return;
	while (VG_(am_is_valid_for_client)(addr + bytes, 1, VKI_PROT_READ) &&
	       ((const HChar *)addr)[bytes++])
		;
	if (bytes)
		kernel_reads_memory(part, tid, what, addr, bytes);
}

static void new_mapping(Addr addr, SizeT bytes, Bool r, Bool w, Bool x, ULong info)
{
	comm_trace_flush(&trace);
	comm_draw_mapped();
	comm_mapping_gone(addr, bytes);
}

static void new_brk(Addr addr, SizeT bytes, ThreadId tid)
{
	comm_trace_flush(&trace);
	comm_draw_mapped();
	comm_mapping_gone(addr, bytes);
}

static void old_mapping(Addr addr, SizeT bytes)
{
	comm_trace_flush(&trace);
	comm_object_unmapped(addr, bytes);
	comm_marked_unmapped(addr, bytes);
	comm_mapping_gone(addr, bytes);
}

static void moved_mapping(Addr from, Addr to, SizeT bytes)
{
	comm_trace_flush(&trace);
	comm_draw_mapped();
	comm_mapping_moved(from, to, bytes);
}

static void phase_marker(Addr name)
{
	HChar kept[64];
	UInt n = 0;

	while (n < sizeof(kept) - 1 && VG_(am_is_valid_for_client)(name + n, 1, VKI_PROT_READ) &&
	       ((const HChar *)name)[n]) {
		kept[n] = ((const HChar *)name)[n];
		n++;
	}
	kept[n] = 0;
	comm_output_phase(kept);
}

static Bool client_request(ThreadId tid, UWord *arg, UWord *ret)
{
	if (!VG_IS_TOOL_USERREQ('C', 'P', arg[0]))
		return False;
	*ret = 0;
	comm_trace_flush(&trace);
	switch (arg[0]) {
	case COMM_EXACT_REQUEST_START:
		trace.counting = true;
		return True;
	case COMM_EXACT_REQUEST_STOP:
		trace.counting = false;
		return True;
	case COMM_EXACT_REQUEST_PHASE:
		phase_marker(arg[1]);
		return True;
	case COMM_EXACT_REQUEST_ALLOCATED:
		if (objects && VG_(am_is_valid_for_client)(arg[1], arg[2], VKI_PROT_READ))
			comm_object_allocated(tid, arg[1], arg[2], arg[3]);
		return True;
	}
	return False;
}

static void write_result(void)
{
	comm_trace_flush(&trace);
	for (UInt i = 0; i < comm_array_count(&threads); i++) {
		if (!thread_at(i)->end_ns && thread_at(i)->pid == (UInt)VG_(getpid)())
			read_name(thread_at(i));
		comm_draw_thread(thread_at(i));
	}
	comm_draw_finish();
	comm_output_finish();
}

static void before_syscall(ThreadId tid, UInt syscall, UWord *args, UInt n_args)
{
	struct vg_stat st;

	comm_moves_begin(tid, number(tid), syscall, args);
	compares[tid] = False;
	for (UInt i = 0; syscall == __NR_futex && i < sizeof(futex_compares) / sizeof(UInt); i++)
		compares[tid] |= (args[1] & FUTEX_OPERATION) == futex_compares[i];
	/* Another program takes our place without asking: this is the last chance. */
	if (syscall == __NR_execve && VG_(am_is_valid_for_client)(args[0], 1, VKI_PROT_READ) &&
	    !sr_isError(VG_(stat)((const HChar *)args[0], &st)))
		write_result();
	begin_wait(tid);
}

static void after_syscall(ThreadId tid, UInt syscall, UWord *args, UInt n_args, SysRes result)
{
	end_wait(tid);
	compares[tid] = False;
	comm_moves_end(tid, number(tid), syscall, args, result);
	if (syscall == __NR_prctl && args[0] == PR_SET_NAME && number_of[tid] != NO_THREAD)
		read_name(thread_at(number_of[tid]));
	if (!sr_isError(result))
		comm_mapping_syscall(syscall, args, sr_Res(result));
}

static void forked(ThreadId tid)
{
	comm_turn_forked();
	comm_trace_forked(&trace);
	comm_moves_forked();
	comm_output_forked();
	comm_draw_forked();
	/* The other threads are the parent's; their slots will be used again. */
	for (UInt i = 0; i < VG_N_THREADS; i++) {
		number_of[i] = NO_THREAD;
		waits[i] = False;
	}
}

static void name_object(uint32_t i, const struct comm_marks_object *piece)
{
	if (objects)
		comm_object_named(i, piece);
}

static uint32_t draw(enum comm_trace_kind kind, uint64_t time_ns, uint64_t ip, uint64_t addr,
		     uint32_t bytes)
{
	comm_draw_access(thread_at(trace.thread), kind == COMM_TRACE_WRITE, time_ns, ip, addr,
			 bytes);
	return comm_draw_distance();
}

static void begin_draw(void)
{
	comm_draw_init(draw_path, draw_period);
	trace.draw = draw;
	trace.to_draw[COMM_TRACE_READ] = comm_draw_distance();
	trace.to_draw[COMM_TRACE_WRITE] = comm_draw_distance();
}

static void after_options(void)
{
	number_of = VG_(malloc)("comm.number_of", VG_N_THREADS * sizeof(*number_of));
	waits = VG_(calloc)("comm.waits", VG_N_THREADS, sizeof(*waits));
	compares = VG_(calloc)("comm.compares", VG_N_THREADS, sizeof(*compares));
	for (UInt i = 0; i < VG_N_THREADS; i++)
		number_of[i] = NO_THREAD;
	comm_turn_init();
	pauses = comm_mem_map_shared(sizeof(*pauses));
	comm_text_init();
	comm_array_init(&threads, sizeof(struct comm_vg_thread), COMM_TRACE_THREADS);
	comm_trace_init(&trace, granularity_bytes);
	comm_mapping_init(&trace.shadow);
	comm_moves_init(&trace);
	trace.counting = start_counting;
	trace.by_object = objects;
	trace.find_object = comm_object_find;
	trace.end_phase = end_phase;
	if (phase_instructions)
		trace.phase_end = phase_instructions;
	comm_site_init(by_line);
	comm_regions_init();
	comm_calls_init(calls, callers);
	trace.begin_call = comm_calls_begin;
	trace.has_paths = callers;
	trace.region_of = comm_region_marked;
	trace.name_object = name_object;
	comm_marked_init(&trace);
	trace.calls_deep = callers ? COMM_CALL_PATHS_DEEP : COMM_CALLS_DEEP;
	/*
	 * Each instruction sets its registers: else a read whose result nothing uses has been left out before the tool
	 * sees the code, and where a call begins and returns the stack's top is not known.
	 */
	VG_(clo_vex_control).iropt_register_updates_default = VG_(clo_px_file_backed) =
		VexRegUpdAllregsAtEachInsn;
	comm_object_init(&trace.shadow);
	comm_output_init(&trace, &threads, out_path);
	comm_instrument_init(&trace, function);
	if (draw_period)
		begin_draw();
}

static void finish(Int exit_code)
{
	write_result();
	if (VG_(clo_stats))
		VG_(umsg)
	("commexact: %llu accesses, %llu chunks, %u cells, %u actors, %u reader sets\n",
	 (ULong)trace.accesses, (ULong)trace.shadow.n_chunks, comm_array_count(&trace.table.cells),
	 comm_array_count(&trace.table.actors), trace.shadow.n_sets);
}

static void before_options(void)
{
	VG_(details_name)("commexact");
	VG_(details_version)("1");
	VG_(details_description)("who wrote the data that a thread reads");
	VG_(details_copyright_author)("Copyright (C) 2025, the commprof authors.");
	VG_(details_bug_reports_to)("the commprof authors");
	VG_(details_avg_translation_sizeB)(400);
	VG_(basic_tool_funcs)(after_options, comm_instrument, finish);
	VG_(needs_command_line_options)(option, usage, debug_usage);
	VG_(needs_client_requests)(client_request);
	VG_(needs_superblock_discards)(comm_instrument_discard);
	VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
	VG_(track_start_client_code)(start_code);
	VG_(track_stop_client_code)(stop_code);
	VG_(track_pre_thread_ll_exit)(thread_exit);
	VG_(track_pre_deliver_signal)(deliver_signal);
	VG_(track_post_mem_write)(kernel_wrote);
	VG_(track_pre_mem_read)(kernel_reads_memory);
	VG_(track_pre_mem_read_asciiz)(kernel_reads_string);
	VG_(track_new_mem_mmap)(new_mapping);
	VG_(track_new_mem_brk)(new_brk);
	VG_(track_die_mem_munmap)(old_mapping);
	VG_(track_die_mem_brk)(old_mapping);
	VG_(track_copy_mem_remap)(moved_mapping);
	VG_(atfork)(NULL, NULL, forked);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
