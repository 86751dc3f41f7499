// SPDX-License-Identifier: GPL-2.0-or-later
#include "draw.h"

#include "pub_tool_aspacehl.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_vki.h"

#include "output.h"

enum { SEED = 1 };

static VgFile *file;
static UInt period, seed = SEED;
static Bool is_mapped; /* the mappings of now are in the file */

void comm_draw_init(const HChar *path, UInt one_in)
{
	HChar *expanded = VG_(expand_file_name)("--draw-out", path);

	file = VG_(fopen)(expanded, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY, 0600);
	if (!file) {
		VG_(umsg)("commexact: cannot write %s\n", expanded);
		VG_(exit)(1);
	}
	VG_(free)(expanded);
	period = one_in;
}

/* From a half to one and a half of the period, so that no loop is in step with it. */
UInt comm_draw_distance(void)
{
	return 1 + period / 2 + VG_(random)(&seed) % period;
}

/* All mappings: those that were there before have the same line again, and cover what ended. */
static void write_mappings(ULong time_ns)
{
	Int n;
	Addr *start = VG_(get_segment_starts)(SkFileC | SkAnonC | SkShmC, &n);

	for (Int i = 0; i < n; i++) {
		const NSegment *segment = VG_(am_find_nsegment)(start[i]);
		const HChar *path = segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;

		VG_(fprintf)
		(file, "map %llx %x %lx %lx %x %x %llx %llx %llx %s\n", time_ns,
		 (UInt)VG_(getpid)(), segment->start, segment->end + 1,
		 (segment->hasR ? VKI_PROT_READ : 0u) | (segment->hasW ? VKI_PROT_WRITE : 0u) |
			 (segment->hasX ? VKI_PROT_EXEC : 0u),
		 segment->kind != SkShmC, path ? (ULong)segment->offset : 0, segment->dev,
		 segment->ino, path ? path : "");
	}
	VG_(free)(start);
	is_mapped = True;
}

void comm_draw_access(const struct comm_vg_thread *thread, Bool store, ULong time_ns, Addr ip,
		      Addr addr, UInt bytes)
{
	if (!file)
		return;
	if (!is_mapped)
		write_mappings(time_ns);
	VG_(fprintf)
	(file, "%s %llx %x %x %lx %lx %x\n", store ? "store" : "load", time_ns, thread->pid,
	 thread->tid, ip, addr, bytes);
}

void comm_draw_mapped(void)
{
	is_mapped = False;
}

void comm_draw_thread(const struct comm_vg_thread *thread)
{
	if (file)
		VG_(fprintf)(file, "thread %x %x %s\n", thread->pid, thread->tid, thread->name);
}

void comm_draw_forked(void)
{
	file = NULL;
}

void comm_draw_finish(void)
{
	if (file)
		VG_(fclose)(file);
	file = NULL;
}
