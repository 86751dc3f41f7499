/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "marked.h"

#include <stddef.h>
#include <stdint.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_guest.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#include "image.h"
#include "marks.h"
#include "trace.h"

enum {
	MODULES_MAX = 256, /* of more, marks are not seen */
	NOTES_BYTES_MAX = 4096,
	STACK_MAX = 1 << 30, /* a thread's variables are nearer to its pointer */
};

struct module {
	Addr start;  /* of its file's mapping; 0: free */
	Addr record; /* 0: it makes no marks */
	Bool is_program;
};

static const HChar owner[] = "commprof";

static struct comm_trace *trace;
static struct module modules[MODULES_MAX];
static struct {
	Addr start, end;
	Bool makes_marks;
} last; /* mapping that was asked for */
static struct {
	Bool is_known, is_programs;
	Long stack;
	Addr process;
} marks;

void comm_marked_init(struct comm_trace *of)
{
	trace = of;
}

void comm_marked_thread(ThreadId tid)
{
	ULong thread_pointer = 0;

	if (!marks.is_known)
		return;
	VG_(get_shadow_regs_area)
	(tid, (UChar *)&thread_pointer, 0, offsetof(VexGuestAMD64State, guest_FS_CONST),
	 sizeof(thread_pointer));
	trace->marks = (struct comm_tool_marks_place){thread_pointer + marks.stack, marks.process};
}

/* What the note in n bytes leads to; 0: there is none. */
static Addr find_note(const UChar *notes, SizeT n, SizeT align)
{
	SizeT at = 0;

	align = align == 8 ? 8 : 4;
	while (at < n && n - at >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *head = (const Elf64_Nhdr *)(notes + at);
		SizeT name = at + sizeof(*head), data;

		if (head->n_namesz > n || head->n_descsz > n)
			return 0;
		data = (name + head->n_namesz + align - 1) & ~(align - 1);
		if (data + head->n_descsz > n)
			return 0;
		if (head->n_type == COMM_MARKS_NOTE && head->n_namesz == sizeof(owner) &&
		    head->n_descsz == sizeof(Long) &&
		    !VG_(memcmp)(notes + name, owner, sizeof(owner)))
			return (Addr)(notes + data) + *(const Long *)(notes + data);
		at = (data + head->n_descsz + align - 1) & ~(align - 1);
	}
	return 0;
}

static Addr find_record(const struct comm_image *image)
{
	Addr record = 0;

	for (UInt i = 0; i < image->n_segments && !record; i++) {
		const Elf64_Phdr *s = &image->segment[i];
		Addr at = image->bias + s->p_vaddr;

		if (s->p_type == PT_NOTE && s->p_filesz <= NOTES_BYTES_MAX &&
		    comm_image_is_readable(at, s->p_filesz))
			record = find_note((const UChar *)at, s->p_filesz, s->p_align);
	}
	return record;
}

static Bool is_program(const NSegment *mapping)
{
	struct vg_stat st;

	return VG_(args_the_exename) && !sr_isError(VG_(stat)(VG_(args_the_exename), &st)) &&
	       st.dev == mapping->dev && st.ino == mapping->ino;
}

/* NULL: none, or no place for it. */
static struct module *module_of(const NSegment *mapping, Addr ip)
{
	struct comm_image image;
	struct module *free = NULL;

	if (!comm_image_find(ip, &image))
		return NULL;
	for (UInt i = 0; i < MODULES_MAX; i++) {
		if (modules[i].start == image.start)
			return &modules[i];
		if (!modules[i].start && !free)
			free = &modules[i];
	}
	if (free)
		*free = (struct module){image.start, find_record(&image), is_program(mapping)};
	return free;
}

/* A constructor of the module fills the record in. */
static void read_record(const struct module *module)
{
	struct comm_marks_module_layout record;

	if (marks.is_known && (marks.is_programs || !module->is_program))
		return;
	if (!comm_image_is_readable(module->record, sizeof(record)))
		return;
	VG_(memcpy)(&record, (const void *)module->record, sizeof(record));
	if (record.version < COMM_MARKS_VERSION_FIRST || record.version > COMM_MARKS_VERSION ||
	    record.depth != COMM_MARKS_DEPTH || record.stack > STACK_MAX ||
	    record.stack < -STACK_MAX)
		return;
	marks.is_known = True;
	marks.is_programs = module->is_program;
	marks.stack = record.stack;
	marks.process = record.process ? record.process : COMM_MARKS_NOWHERE;
	comm_marked_thread(VG_(get_running_tid)());
}

Bool comm_marked_code(Addr ip)
{
	const NSegment *mapping = VG_(am_find_nsegment)(ip);
	const struct module *module;

	if (!mapping || mapping->kind != SkFileC)
		return False;
	if (mapping->start == last.start && mapping->end == last.end && !last.makes_marks)
		return False;
	module = module_of(mapping, ip);
	last.start = mapping->start;
	last.end = mapping->end;
	last.makes_marks = module && module->record;
	if (last.makes_marks)
		read_record(module);
	return last.makes_marks;
}

void comm_marked_unmapped(Addr start, SizeT bytes)
{
	last.end = 0;
	for (UInt i = 0; i < MODULES_MAX; i++)
		if (modules[i].start - start < bytes)
			modules[i].start = 0;
}
